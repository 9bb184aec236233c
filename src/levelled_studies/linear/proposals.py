"""Error of each estimate, from a uniform to the optimal proposal (ours; Theorem 7)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled._check import FloatArray
from levelled.reports.numbers import with_error
from levelled.reports.plots import COLOURS, DASHES, Axes, canvas, footnote, legend
from levelled_studies.linear import experiment
from levelled_studies.linear.pictures import small_print
from levelled_studies.linear.settings import BUDGETS, LinearSettings, presets
from levelled_studies.study import Claim, Plot, Study
from levelled_studies.tables import compact

__all__ = ["STUDIES"]

GEOMETRIC = "geometric"
LABELS = (10, 30, 60)
AT = 30


@dataclass(frozen=True, slots=True)
class ProposalSettings(LinearSettings):
    """Shares of the optimal proposal in a mixture with the uniform one."""

    shares: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)


def tasks(settings: ProposalSettings) -> list[str]:
    """One for each share, and the paper's own proposal."""
    return [*(f"{share:g}" for share in settings.shares), GEOMETRIC]


def run(settings: ProposalSettings, task: str, rng: Generator) -> pa.Table:
    """Bias, spread and root mean squared error of each estimate under one proposal."""
    geometric = task == GEOMETRIC
    rule = experiment.geometric() if geometric else experiment.near_optimal(float(task))
    errors = experiment.risk_errors(experiment.run(rule, settings, rng=rng))
    rows = [
        {"proposal": task, "series": name, "labels": labels} | _row(error[:, at])
        for name, error in errors.items()
        for labels, at in zip(LABELS, np.searchsorted(BUDGETS, LABELS), strict=True)
    ]
    return pa.Table.from_pylist(rows)


def _row(errors: FloatArray) -> dict[str, float]:
    """`variance_stderr` and `mse_stderr` are those of the two means of squares."""
    R = len(errors)
    squares, deviations = errors**2, (errors - errors.mean()) ** 2 * (R / (R - 1))
    columns = {
        "bias": errors.mean(),
        "variance": deviations.mean(),
        "variance_stderr": deviations.std(ddof=1) / np.sqrt(R),
        "mse": squares.mean(),
        "mse_stderr": squares.std(ddof=1) / np.sqrt(R),
        "largest_error": np.abs(errors).max(),
    }
    return {name: float(compact(value)[0]) for name, value in columns.items()}


def _column(
    table: pa.Table, series: str, column: str, shares: Sequence[float], labels: int = AT
) -> FloatArray:
    """One figure of one estimator, for each share."""
    rows = {
        row["proposal"]: row[column]
        for row in table.to_pylist()
        if row["series"] == series and row["labels"] == labels
    }
    return np.array([rows[f"{share:g}"] for share in shares])


def _geometric(table: pa.Table, series: str, column: str) -> float:
    value: float = next(
        row[column]
        for row in table.to_pylist()
        if (row["proposal"], row["series"], row["labels"]) == (GEOMETRIC, series, AT)
    )
    return value


def figures(table: pa.Table, settings: ProposalSettings) -> Mapping[str, Plot]:
    """Standard deviation, and root mean squared error, against the share of the optimum."""
    figure, (upper, lower) = canvas(rows=2, height=4.4)
    _panel(upper, table, settings, "variance", "standard deviation")
    _panel(lower, table, settings, "mse", "root mean squared error")
    lower.set_xlabel("share of the optimal proposal, the rest uniform")
    lower.annotate(
        "exact", (1, 0), (0.8, 0.05), fontsize=7, arrowprops={"arrowstyle": "-", "linewidth": 0.5}
    )
    legend(upper, "upper right")
    footnote(figure, small_print(settings, f"M = {AT}"))
    return {"proposals": figure}


def _panel(
    axes: Axes, table: pa.Table, settings: ProposalSettings, column: str, label: str
) -> None:
    for name, colour in COLOURS.items():
        root = np.sqrt(_column(table, name, column, settings.shares))
        axes.plot(settings.shares, root, color=colour, linestyle=DASHES[name], label=name)
        axes.plot(-0.14, np.sqrt(_geometric(table, name, column)), "o", color=colour, ms=4)
    axes.axvline(-0.07, color="#bbbbbb", linewidth=0.6)
    axes.set_xticks([-0.14, 0, 0.25, 0.5, 0.75, 1], ["geo-\nmetric", "0", "", "0.5", "", "1"])
    axes.set_xlim(-0.22, 1.03)
    axes.set_ylim(bottom=0)
    axes.set_ylabel(label)


def claims(table: pa.Table, settings: ProposalSettings) -> list[Claim]:
    """Claims on the optimal proposal and on mixtures with it."""
    shares = settings.shares
    return [_exact(table), _falls(table, shares), _relatively_better(table, shares)]


def _exact(table: pa.Table) -> Claim:
    worst = max(
        _column(table, name, "largest_error", [1.0], labels)[0]
        for name in ("PURE", "LURE")
        for labels in LABELS
    )
    return Claim(
        "optimal-is-exact",
        "section 4, Theorem 7",
        "Under the optimal proposal R_PURE and R_LURE equal the pool risk exactly, for any M.",
        f"the largest error at M = 10, 30 and 60 is {worst:.0e}",
        "holds" if worst < 1e-10 else "does not hold",
        "Rounding only: less than 1e-10 is asked for.",
    )


def _falls(table: pa.Table, shares: Sequence[float]) -> Claim:
    variance = _column(table, "LURE", "variance", shares)
    error = _column(table, "LURE", "variance_stderr", shares)
    naive = _column(table, "naive", "variance", shares)
    below = [
        share for share, ours, theirs in zip(shares, variance, naive, strict=True) if ours < theirs
    ]
    return Claim(
        "weights-reduce-variance",
        "section 4",
        "With a well-chosen proposal the variance of the unbiased estimators is lower than that "
        "of the naive one.",
        f"Var R_LURE at M = {AT}: {with_error(variance[0], error[0])} with uniform draws, "
        f"{with_error(variance[len(shares) // 2], error[len(shares) // 2])} with a share of "
        f"{shares[len(shares) // 2]:g} of the optimum, {variance[-1]:.0e} at the optimum; naive "
        f"{naive[0]:.5f}, {naive[len(shares) // 2]:.5f}, {naive[-1]:.5f}",
        "holds" if shares[-2] in below else "does not hold",
        f"Lower at shares of {', '.join(f'{share:g}' for share in below)}; judged at "
        f"{shares[-2]:g}.",
    )


def _relatively_better(table: pa.Table, shares: Sequence[float]) -> Claim:
    ratio = _column(table, "LURE", "mse", shares) / _column(table, "naive", "mse", shares)
    falls = bool((np.diff(ratio) < 0).all())
    text = ", ".join(f"{value:.2g}" for value in ratio[:-1])
    return Claim(
        "rule-of-thumb-1",
        "section 8, first rule of thumb",
        "The more closely the proposal approaches the optimal one, the relatively better R_LURE "
        "will be to the naive estimator.",
        f"mean squared error of R_LURE over that of the naive one at M = {AT}, from uniform "
        f"upwards: {text}, 0",
        "holds" if falls else "holds partly" if ratio[-2] < ratio[0] else "does not hold",
        "It falls at every step." if falls else "It falls, not at every step.",
    )


STUDIES = {
    "linear-proposals": Study(
        name="linear-proposals",
        title="Ours: error of risk estimates, from a uniform to the optimal proposal",
        presets=presets(
            ProposalSettings(), ProposalSettings(trajectories=200, shares=(0.0, 0.5, 0.9, 1.0))
        ),
        tasks=tasks,
        run=run,
        figures=figures,
        claims=claims,
    )
}
