"""Repetitions of each method on known losses: label factors, widths, bias and coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import SeedSequence

from levelled._check import FloatArray, choice, whole
from levelled.errors import InputError
from levelled.estimators.intervals.limits import clopper_pearson
from levelled.reports import plots
from levelled.simulation.known import KnownLosses, known_losses
from levelled.simulation.methods import LEVEL, METHODS, SLOW, Method, with_known
from levelled.sources import read_answers

if TYPE_CHECKING:
    from levelled.backends import Backend


_MOST_REPETITIONS = 1_000_000  # guard: a slip of the keyboard
Row = dict[str, Any]


def simulate(
    pool: Any,  # noqa: ANN401
    label: str,
    metric: str = "error",
    *,
    methods: str | Sequence[str] = "all",
    budgets: Sequence[int] = (100, 500),
    repetitions: int = 200,
    features: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    id_column: str = "id",
    known: Any = None,  # noqa: ANN401
    seed: int = 0,
    backend: Backend = map,
) -> list[Row]:
    """Simulate methods on a pool whose labels are known: one row for each method and budget.

    The methods are

        uniform             random labels
        static, adaptive    campaigns of these kinds
        guaranteed          an adaptive campaign with a finite-sample guarantee; slow, so it is not
                            among "all"
        active-testing      Active Testing (Kossen et al., 2021) by the expected loss
        ppi                 prediction-powered inference, tuned
        with-replacement    importance sampling with replacement, by the weights of static (Ganti
                            and Gray, 2012)

    In a row, `label_factor` is the variance of the mean of that many random labels over the
    variance of the method: 2 means that half the labels give the same precision. It rests on exact
    conditional variances; `label_factor_mse` on squared errors, which are noisier. `width_factor`
    is (width of random labels / width of the interval shown at the budget)^2, where random labels
    have Clopper and Pearson's interval for 0/1 losses. Campaigns plan five looks, and `coverage`
    is the share of repetitions in which all of them hold; other intervals are read once, at the
    budget. `bias_z` is the mean error over its standard error.

    A ratio theta = sum A / sum D, such as an F1, is measured by its linearised values
    (A - theta D) / mean(D) at the true theta: `label_factor` is the ratio of the variances of their
    estimated means, to first order that of the ratio, and `bias_z` is of these means, which are
    unbiased, while a ratio has a bias of the order 1 / budget. `label_factor_mse` compares the
    squared errors of the ratios themselves, and is None if one of them was undefined. Random labels
    have the ratio of the sample, and `width_factor` is against its interval.

    Parameters
    ----------
    pool, metric, features, classes, id_column : As for `create_campaign`.
    label : The column of the labels.
    methods : Their names; "all" are those that the pool has the columns for.
    budgets : Numbers of labels at which estimates are read.
    repetitions : Times that each method draws anew.
    known : A file or frame with the ids of items whose labels somebody has already: one more
        method, "with-known", is an adaptive campaign that begins with them.
    seed : The seed of all random numbers.
    backend : A function like `map` that runs the repetitions (`levelled.backends`).

    >>> import pyarrow as pa
    >>> y = ["ham", "spam"] * 50
    >>> table = pa.table({"id": range(100), "pred": ["ham"] * 100, "y": y})
    >>> [row] = simulate(table, "y", methods="uniform", budgets=[20], repetitions=50)
    >>> row["method"], round(row["label_factor"], 3), row["coverage"] > 0.8
    ('uniform', 1.0, True)
    """
    columns: Row = {"features": features, "classes": classes, "id_column": id_column}
    losses = known_losses(pool, label, metric, **columns)
    names = applicable_methods(losses) if methods == "all" else check_methods(methods)
    chosen = {name: METHODS[name] for name in names}
    chosen |= method_with_known(known, pool, label, metric, **columns)
    return repeat_methods(losses, chosen, budgets, repetitions, seed=seed, backend=backend)


def method_with_known(
    known: Any,  # noqa: ANN401
    pool: Any,  # noqa: ANN401
    label: str,
    metric: str,
    **columns: Any,  # noqa: ANN401
) -> dict[str, Method]:
    """The method "with-known" of `simulate`, if there are known labels."""
    if known is None:
        return {}
    ids = [one.id for one in read_answers(known) if one.id is not None and one.label is not None]
    return {"with-known": with_known(known_losses(pool, label, metric, **columns, known=ids))}


def applicable_methods(known: KnownLosses) -> list[str]:
    """The methods for which these losses have what they need, but for slow ones."""
    without = {*SLOW, *(() if known.can_adapt else ("adaptive",))}
    if known.expected is None:
        without |= {"active-testing", "ppi"}
    return [name for name in METHODS if name not in without]


def repeat_methods(
    known: KnownLosses,
    methods: Mapping[str, Method],
    budgets: Sequence[int],
    repetitions: int,
    *,
    seed: int,
    backend: Backend = map,
) -> list[Row]:
    """A row for each method and budget, as `simulate` describes them.

    The random numbers of a repetition depend on the seed, its number and the name of the method
    alone: neither on the other methods nor on the number of workers.

    Parameters
    ----------
    known : The losses of the pool.
    methods : Ways to draw and estimate, under their names.
    budgets, repetitions, seed, backend : As for `simulate`.
    """
    sizes = check_budgets(budgets, len(known))
    n = whole("repetitions", repetitions, least=2)
    if n > _MOST_REPETITIONS:
        raise InputError(f"{n} repetitions are too many: choose at most {_MOST_REPETITIONS}.")
    seeds = SeedSequence(whole("seed", seed, least=0)).spawn(n)
    everything = {"uniform": METHODS["uniform"], **methods}  # others are measured by it
    one = partial(_one_repetition, known, everything, sizes)
    table = np.array([*backend(one, seeds)], dtype=np.float64)  # [repetition, method, budget, 6]
    widths = [_reference_width(known, budget, table[:, 0, k, 2]) for k, budget in enumerate(sizes)]
    return [
        _row(known, name, budget, widths[k], table[:, [0, at], k])
        for at, name in enumerate(everything)
        for k, budget in enumerate(sizes)
        if name in methods
    ]


def _one_repetition(
    known: KnownLosses, methods: Mapping[str, Method], budgets: Sequence[int], seed: SeedSequence
) -> list[Any]:
    """The readings of each method at each budget."""
    words = seed.generate_state(4).tolist()
    return [
        method(known, budgets, np.random.default_rng([*name.encode(), *words]))
        for name, method in methods.items()
    ]


def _row(known: KnownLosses, name: str, budget: int, reference: float, readings: FloatArray) -> Row:
    """The row of a method from its readings and those of random labels, [repetition, 2, 6]."""
    errors, variances, widths, covers, *linear = readings[:, 1].T
    of_uniform: FloatArray | float = known.uniform_variance(budget)
    factor, factor_se = _factor(of_uniform, variances)
    if known.is_ratio:  # no formula gives the squared error of a ratio exactly
        of_uniform = readings[:, 0, 0] ** 2
    by_errors, by_errors_se = _factor(of_uniform, errors**2)
    width = widths.mean()
    wide = np.isfinite(reference) and width > 0
    return {
        "method": name,
        "budget": budget,
        "label_factor": factor,
        "label_factor_se": factor_se,
        "label_factor_mse": by_errors,
        "label_factor_mse_se": by_errors_se,
        "width_factor": float((reference / width) ** 2) if wide else None,
        "bias_z": _bias_z(*linear) if known.is_ratio else _bias_z(errors, variances),
        "coverage": None if np.isnan(width) else float(covers.mean()),
        "repetitions": len(errors),
    }


def _bias_z(errors: FloatArray, variances: FloatArray) -> float | None:
    """The mean error over its standard error, from the exact variance where it is known.

    The spread of a few estimates says little where a rare error makes most of the variance.
    """
    variance = float(variances.mean())
    if np.isnan(variance):
        variance = float(errors.var(ddof=1))
    return float(errors.mean() / np.sqrt(variance / len(errors))) if variance > 0 else None


def _factor(
    of_uniform: FloatArray | float, variances: FloatArray
) -> tuple[float | None, float | None]:
    """The mean of random labels over that of a method, and its standard error (delta method).

    Both None where a value is missing: a method does not tell its variance, or a repetition left
    the ratio undefined.
    """
    above, below = float(np.mean(of_uniform)), float(variances.mean())
    if not (below > 0 and above >= 0):
        return None, None
    factor = above / below
    spread = np.std(of_uniform - factor * variances, ddof=1) / below
    return factor, float(spread / np.sqrt(len(variances)))


def _reference_width(known: KnownLosses, budget: int, widths: FloatArray) -> float:
    """The width of the interval of random labels.

    For 0/1 losses it is Clopper and Pearson's at the true risk, with n = M (N - 1) / (N - M)
    because of the finite pool; for others the mean width of the method uniform.
    """
    if not known.is_share:
        return float(widths.mean())
    N = len(known)
    n = budget * (N - 1) / (N - budget)
    low, high = clopper_pearson(known.risk * n, n, LEVEL)
    return float(high - low)


def check_methods(methods: str | Sequence[str]) -> list[str]:
    """Return the names of methods, refusing one that there is not."""
    names = methods.split(",") if isinstance(methods, str) else methods
    if not names:
        raise InputError(f"Name a method: {', '.join(METHODS)}, or all.")
    return [choice("A method", name, (*METHODS,)) for name in dict.fromkeys(names)]


def check_budgets(budgets: Sequence[int], pool_size: int) -> list[int]:
    """Return the budgets in order, refusing what leaves nothing to estimate."""
    sizes = sorted({whole("A budget", budget, least=5) for budget in budgets})
    if not sizes:
        raise InputError("Name a budget, for example 100.")
    if sizes[-1] >= pool_size:
        raise InputError(
            f"A budget of {sizes[-1]} labels leaves nothing to estimate in a pool of {pool_size} "
            f"items: choose fewer."
        )
    return sizes


_COLOURS = ("#000000", "#0072B2", "#009E73", "#D55E00", "#CC79A7", "#E69F00", "#56B4E9", "#999999")
"""Of Okabe and Ito's palette, which colour-blind readers can tell apart, and grey."""
_MARKERS = "osD^vPX*"
_KEYS = ("label_factor", "width_factor")
_POOR = 0.9  # for display: coverage below which a marker is open
_WIDE = 8.0
"""Factors that differ by more are on a log scale."""


def factor_table(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """The titles and the rows of a table for people."""
    return ["method", "labels", "label factor", "width factor", "bias z", "coverage"], [
        [
            row["method"],
            f"{row['budget']:,}",
            _cell(row["label_factor"], row["label_factor_se"]),
            _cell(row["width_factor"]),
            "–" if row["bias_z"] is None else f"{row['bias_z']:+.1f}",  # noqa: RUF001
            _cell(row["coverage"]),
        ]
        for row in rows
    ]


def plot_factors(rows: Sequence[Row], *, about: str) -> Any:  # noqa: ANN401
    """Label factors above, width factors below, against the number of labels, by method.

    Widths of intervals that hold in less than 90% of the repetitions have open markers.
    """
    plot, panels = plots.canvas(rows=2, height=4.6)
    names = list(dict.fromkeys(row["method"] for row in rows))
    for at, name in enumerate(names):
        own = [row for row in rows if row["method"] == name]
        colour, marker = _COLOURS[at % len(_COLOURS)], _MARKERS[at % len(_MARKERS)]
        for axes, key in zip(panels, _KEYS, strict=True):
            _draw_curve(axes, own, key, colour, marker)
    for axes, key in zip(panels, _KEYS, strict=True):
        axes.axhline(1.0, color=plots.BLACK, linestyle="--", linewidth=0.6)
        axes.set_ylabel(key.replace("_", " "))
        scale_factors(axes, [row[key] for row in rows if row[key]])
    panels[1].set_xlabel("labels")
    panels[1].set_xscale("log")
    budgets = sorted({row["budget"] for row in rows})
    panels[1].set_xticks(budgets, [f"{one:,}" for one in budgets])
    panels[1].minorticks_off()
    lines = panels[0].get_legend_handles_labels()
    plot.legend(*lines, loc="outside upper center", ncols=3, fontsize=7, frameon=False)
    plots.footnote(plot, f"{about}\nopen: the interval holds in less than {_POOR:.0%} of them")
    return plot


def _draw_curve(axes: plots.Axes, rows: Sequence[Row], key: str, colour: str, marker: str) -> None:
    """Draw the factors of one method, label factors with their standard errors."""
    there = [row for row in rows if row[key]]
    budgets, factors = ([row[name] for row in there] for name in ("budget", key))
    axes.plot(budgets, factors, color=colour, linewidth=1.2, label=rows[0]["method"])
    for row in there:
        poor = key == "width_factor" and row["coverage"] < _POOR
        axes.plot(
            row["budget"], row[key], marker, ms=4, color=colour, mfc="white" if poor else colour
        )
        if key == "label_factor":
            low, high = (row[key] + side * row["label_factor_se"] for side in (-1, 1))
            axes.vlines(row["budget"], low, high, color=colour, linewidth=1.2)


def scale_factors(axes: plots.Axes, values: Sequence[float]) -> None:
    """Put factors that differ much on a log scale, with ticks such as 0.5 and 20."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if not values or max(values) <= _WIDE * min(values):
        return
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _cell(value: float | None, stderr: float | None = None) -> str:
    if value is None:
        return "–"  # noqa: RUF001
    digits = 2 if value < 100 else 0
    return f"{value:.{digits}f}" + (f" ± {stderr:.{digits}f}" if stderr is not None else "")
