"""Claims and plots of the benchmark `label-efficiency`."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from levelled._check import FloatArray
from levelled._optional import optional
from levelled.reports import plots
from levelled.simulation.plotting import scale_factors
from levelled_studies.efficiency.peers import PACKAGES
from levelled_studies.study import Claim, Plot, Row, Ruling

__all__ = ["claims", "figures", "rule_coverage"]

SIX = ("fashion-mnist-strong", "mnist-strong", "credit-card", "adult", "imdb", "spam")
"""The real pools of 0/1 losses over which medians are taken."""
PEERS = ("static", "active-testing", "ppi", "with-replacement")
OURS = "adaptive"
_ALLOWANCE = 3.0
"""Standard errors in the method's favour."""
_RARE = 0.005
"""Risks below this are left out where the worst cell is judged."""
_MANY = 400
"""Repetitions from which on a coverage is known well enough."""
_MISSES = 0.85
"""Widths of intervals that hold less often are not compared."""
_COLOURS = ("#009E73", "#0072B2", "#D55E00", "#CC79A7", "#E69F00")
"""Of adaptive campaigns and their peers."""
_WHERE = "Levelled, label efficiency"


def claims(table: pa.Table, settings: Any) -> list[Claim]:  # noqa: ANN401
    """Each bar of the benchmark: met, or not.

    Label factors and coverages have three standard errors of allowance.
    """
    rows = table.to_pylist()
    ours = [row for row in rows if row["method"] == OURS]
    large = [row for row in ours if row["budget"] >= 100]
    return [
        _median("six pools, 500 labels", ours, 500, 2.1),
        _median("six pools, 100 labels", ours, 100, 1.9),
        _to_the_limit(ours),
        _worst("worst label factor", "label_factor", large, "From 100 labels on"),
        *(_against(peer, rows) for peer in PEERS),
        _median_width(ours),
        _worst(
            "worst width factor",
            "width_factor",
            [row for row in ours if row["budget"] == 500],
            "At 500 labels",
        ),
        _unbiased(ours),
        _coverage(large),
        _packages(rows),
    ]


def _factor(row: Row) -> tuple[float, float]:
    """The label factor with its standard error; from squared errors where no other is known."""
    if row["label_factor"] is not None:
        return row["label_factor"], row["label_factor_se"]
    return row["label_factor_mse"], row["label_factor_mse_se"]


def _allowed(row: Row) -> float:
    value, stderr = _factor(row)
    return value + _ALLOWANCE * stderr


def _rule(measured: Iterable[float], holds: Callable[[Sequence[float]], bool]) -> Ruling:
    values = list(measured)
    if not values:
        return "cannot tell"
    return "holds" if holds(values) else "does not hold"


def _median(name: str, ours: Sequence[Row], budget: int, bar: float) -> Claim:
    own = [row for row in ours if row["task"] in SIX and row["budget"] == budget]
    listed = ", ".join(f"{row['task']} {_text(row)}" for row in own)
    middle = f"median {np.median([_factor(row)[0] for row in own]):.2f}: " if own else ""
    return Claim(
        name,
        _WHERE,
        f"The median label factor of adaptive campaigns over six real pools is at least {bar} at "
        f"{budget} labels.",
        f"{middle}{listed}",
        _rule(map(_allowed, own), lambda values: float(np.median(values)) >= bar),
    )


def _to_the_limit(ours: Sequence[Row]) -> Claim:
    own = [row for row in ours if row["task"] in SIX and row["budget"] == 500 and row["limit"] < 5]
    shares = [_factor(row)[0] / row["limit"] for row in own]
    listed = ", ".join(
        f"{row['task']} {share:.2f} of {row['limit']:.2f}"
        for row, share in zip(own, shares, strict=True)
    )
    middle = f"median {np.median(shares):.2f}: " if own else ""
    return Claim(
        "share of the limit",
        _WHERE,
        "Where the limit of the label factor is below 5, adaptive campaigns reach at least .85 of "
        "it at 500 labels, in the median of six real pools.",
        f"{middle}{listed}",
        _rule(
            (_allowed(row) / row["limit"] for row in own),
            lambda values: float(np.median(values)) >= 0.85,
        ),
    )


def _worst(name: str, key: str, ours: Sequence[Row], when: str) -> Claim:
    own = [row for row in ours if row["risk"] >= _RARE and row[key] is not None]
    slack = _ALLOWANCE if key == "label_factor" else 0.0
    low = sorted(own, key=lambda row: float(row[key]))[:3]
    return Claim(
        name,
        _WHERE,
        f"{when}, no {key.replace('_', ' ')} of an adaptive campaign is below .80 "
        f"where the risk is at least .5%.",
        ", ".join(f"{row['task']} at {row['budget']}: {row[key]:.2f}" for row in low),
        _rule(
            (row[key] + slack * row["label_factor_se"] for row in own),
            lambda values: min(values) >= 0.8,
        ),
    )


def _against(peer: str, rows: Sequence[Row]) -> Claim:
    at = {(row["task"], row["method"]): row for row in rows if row["budget"] == 500}
    pairs = [
        (at[task, OURS], row)
        for (task, method), row in at.items()
        if method == peer and (task, OURS) in at
    ]
    behind = [
        f"{ours['task']} ({_text(ours)}, {_text(other)})"
        for ours, other in pairs
        if _allowed(ours) < 0.97 * _factor(other)[0]
    ]
    told = f"{len(pairs) - len(behind)} of {len(pairs)} tasks"
    return Claim(
        f"against {peer}",
        _WHERE,
        f"At 500 labels adaptive campaigns are ahead of {peer}, or within 3% of it, on at least "
        f"80% of the tasks.",
        told + (f"; behind on {', '.join(behind)}" if behind else ""),
        _rule([len(behind)] * bool(pairs), lambda values: values[0] <= 0.2 * len(pairs)),
    )


def _median_width(ours: Sequence[Row]) -> Claim:
    own = [row for row in ours if row["task"] in SIX and row["budget"] == 500]
    widths = [row["width_factor"] for row in own]
    listed = ", ".join(f"{row['task']} {row['width_factor']:.2f}" for row in own)
    return Claim(
        "width shown",
        _WHERE,
        "The median width factor of adaptive campaigns over six real pools, with planned looks, is "
        "at least 1.8 at 500 labels.",
        (f"median {np.median(widths):.2f}: " if own else "") + listed,
        _rule(widths, lambda values: float(np.median(values)) >= 1.8),
    )


def _unbiased(ours: Sequence[Row]) -> Claim:
    z = [abs(row["bias_z"]) for row in ours if row["bias_z"] is not None]
    return Claim(
        "unbiased",
        _WHERE,
        "The mean error of adaptive campaigns is within four standard errors of 0 in every cell.",
        f"largest |z| {max(z, default=0):.1f} of {len(z)} cells",
        _rule(z, lambda values: max(values) < 4),
    )


def _coverage(large: Sequence[Row]) -> Claim:
    low = sorted(large, key=lambda row: float(row["coverage"]))[:3]
    lowest = ", ".join(f"{row['task']} at {row['budget']}: {row['coverage']:.3f}" for row in low)
    values = np.array([row["coverage"] for row in large])
    n = large[0]["repetitions"] if large else 0
    verdict = rule_coverage(values, n)
    return Claim(
        "coverage of all planned looks",
        _WHERE,
        "From 100 labels on, the intervals of all five planned looks hold at once in at least 92% "
        "of the repetitions of every cell, and in 94.5% on average.",
        f"mean {values.mean():.3f}; lowest {lowest}" if large else "",
        verdict,
        f"{n} repetitions are too few to tell" if verdict == "cannot tell" else "",
    )


def rule_coverage(values: FloatArray, repetitions: int) -> Ruling:
    """The verdict on coverages; an allowance decides only where there are many repetitions."""
    if not len(values):
        return "cannot tell"
    slack = _ALLOWANCE * np.sqrt(0.92 * 0.08 / repetitions)
    mean, least = float(values.mean()), float(values.min())
    if least + slack < 0.92 or mean + slack / np.sqrt(len(values)) < 0.945:
        return "does not hold"
    return "holds" if least >= 0.92 or repetitions >= _MANY else "cannot tell"


def _packages(rows: Sequence[Row]) -> Claim:
    there = {row["method"] for row in rows}
    missing = [name for name in PACKAGES if name not in there]
    return Claim(
        "packages of others",
        _WHERE,
        "Packages of others run on the same pools.",
        "in this run: " + (", ".join(name for name in PACKAGES if name in there) or "none"),
        "holds partly" if missing else "holds",
        f"not installed: {', '.join(missing)}" if missing else "",
    )


def _text(row: Row) -> str:
    value, stderr = _factor(row)
    return f"{value:.2f} ± {stderr:.2f}"


def figures(table: pa.Table, settings: Any) -> dict[str, Plot]:  # noqa: ANN401
    """Label and width factors of all methods on all tasks, and against the number of labels."""
    rows = table.to_pylist()
    budget = 500 if any(row["budget"] == 500 for row in rows) else max(r["budget"] for r in rows)
    at = [row for row in rows if row["budget"] == budget and row["method"] != "uniform"]
    limits = [row | {"method": "limit", "label_factor": row["limit"]} for row in at]
    by_method = sorted(at, key=lambda row: row["method"] != OURS)
    return {
        "label-factors": _grid(
            [*by_method, *(row for row in limits if row["limit"])],
            _label,
            f"label factor at {budget} labels; in bold: within 3% of the best; ~ by squared errors",
        ),
        "width-factors": _grid(
            [row for row in by_method if row["coverage"] is not None],
            _width,
            f"width factor at {budget} labels; grey: the interval holds so often only",
        ),
        "budgets": _against_labels(rows),
    }


def _label(row: Row) -> tuple[float, str]:
    """The label factor; that by squared errors, which is noisy, as text."""
    if row["label_factor"] is None:
        return np.nan, f"~{row['label_factor_mse']:.1f}"
    return row["label_factor"], ""


def _width(row: Row) -> tuple[float, str]:
    """The width factor, or the coverage of an interval that does not hold."""
    if row["coverage"] < _MISSES or row["width_factor"] is None:
        return np.nan, f"{row['coverage']:.0%}"
    return row["width_factor"], ""


def _grid(rows: Sequence[Row], value: Callable[[Row], tuple[float, str]], title: str) -> Plot:
    """A table of colours: green saves labels, red wastes them; a text stands in for no number."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    cells = {(row["task"], row["method"]): value(row) for row in rows}
    grid = np.array(
        [[cells.get((task, name), (np.nan, ""))[0] for name in methods] for task in tasks]
    )
    figure = optional("matplotlib.figure", extra="plots").Figure(
        figsize=(1.7 + 0.62 * len(methods), 1.5 + 0.25 * len(tasks)), layout="constrained"
    )
    axes = figure.add_subplot()
    axes.imshow(np.log2(grid), cmap="RdYlGn", vmin=-2, vmax=2, aspect="auto", alpha=0.8)
    ours = np.array([name != "limit" for name in methods])
    for y, task in enumerate(tasks):
        best = np.nanmax(np.where(ours, grid[y], np.nan), initial=0)
        for x, name in enumerate(methods):
            number, text = cells.get((task, name), (np.nan, ""))
            if np.isfinite(number):
                bold = bool(ours[x]) and number >= 0.97 * best
                text = f"{number:.2f}" if number < 10 else f"{number:.0f}"
                _write_cell(axes, x, y, text, plots.BLACK, bold)
            else:
                _write_cell(axes, x, y, text, "#888888", False)
    if not ours.all():
        axes.axvline(len(methods) - 1.5, color=plots.BLACK, linewidth=1.2)
    axes.set_xticks(range(len(methods)), methods, rotation=35, ha="right", fontsize=7)
    axes.set_yticks(range(len(tasks)), tasks, fontsize=7)
    axes.set_title(title, fontsize=8, loc="left")
    return figure


def _write_cell(axes: Any, x: int, y: int, text: str, colour: str, bold: bool) -> None:  # noqa: ANN401
    weight = "bold" if bold else "normal"
    axes.text(x, y, text, ha="center", va="center", fontsize=7, fontweight=weight, color=colour)


def _against_labels(rows: Sequence[Row]) -> Plot:
    """The label factor of each task against the number of labels, a panel each."""
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    across = min(4, len(tasks))
    down = -(-len(tasks) // across)
    figure = optional("matplotlib.figure", extra="plots").Figure(
        figsize=(2.1 * across, 1.6 * down + 0.4), layout="constrained"
    )
    panels = figure.subplots(down, across, squeeze=False, sharex=True).ravel()
    for axes, task in zip(panels, tasks, strict=False):
        _panel(axes, [row for row in rows if row["task"] == task])
        axes.set_title(task, fontsize=7, loc="left")
        axes.tick_params(labelsize=6, which="both")
    for axes in panels[len(tasks) :]:
        axes.set_visible(False)
    lines = panels[0].get_legend_handles_labels()
    figure.legend(*lines, loc="outside lower center", ncols=5, fontsize=7, frameon=False)
    figure.supylabel("label factor against the number of labels (dotted: the limit)", fontsize=7)
    return figure


def _panel(axes: plots.Axes, rows: Sequence[Row]) -> None:
    shown = []
    for name, colour in zip((OURS, *PEERS), _COLOURS, strict=True):
        curve = [row for row in rows if row["method"] == name]
        factors = [_factor(row)[0] for row in curve]
        width = 1.8 if name == OURS else 1.0
        budgets = [row["budget"] for row in curve]
        axes.plot(budgets, factors, color=colour, linewidth=width, label=name)
        shown += factors
    if rows[0]["limit"] is not None and rows[0]["limit"] < 2 * max(shown):
        axes.axhline(rows[0]["limit"], color=plots.BLACK, linestyle=":", linewidth=0.9)
    axes.axhline(1.0, color=plots.BLACK, linestyle="--", linewidth=0.6)
    scale_factors(axes, shown)
    axes.set_xscale("log")
    ticks = sorted({row["budget"] for row in rows})[::2]
    axes.set_xticks(ticks, [f"{one:,}" for one in ticks])
    axes.minorticks_off()
