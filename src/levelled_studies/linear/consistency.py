"""Errors as the budget grows at a fixed share of the pool (ours; Theorems 2 and 5, section 2)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled._check import FloatArray
from levelled.reports.numbers import with_error
from levelled.reports.plots import BLACK, COLOURS, DASHES, Axes, canvas, footnote, legend, title
from levelled_studies.linear import data
from levelled_studies.linear.experiment import draw, geometric
from levelled_studies.linear.fits import fit, running_moments
from levelled_studies.linear.pictures import small_print
from levelled_studies.linear.settings import LinearSettings, presets
from levelled_studies.objectives import RUNNING
from levelled_studies.study import Claim, Plot, Study
from levelled_studies.tables import Curve, curves, summarise

__all__ = ["STUDIES"]

POOL, LABELS = 101, 30


@dataclass(frozen=True, slots=True)
class ConsistencySettings(LinearSettings):
    """Factors by which the paper's pool, and a budget of 30, are enlarged."""

    scales: tuple[int, ...] = (1, 2, 4, 8)


def run(settings: ConsistencySettings, task: str, rng: Generator) -> pa.Table:
    """Squared errors of the estimates, and excess risks of the fitted lines, at one size.

    Every trajectory has a pool of its own, of independent points, as in the theorems; errors
    are against the population. The fixed line is the population's best, and the risk that a
    fitted line has above its risk is its "excess".
    """
    scale = int(task)
    N, M, R = POOL * scale, LABELS * scale, settings.trajectories
    unseen = data.unseen()
    best = data.best_line(unseen)
    lowest = float(unseen.risk(best))
    pools = data.sample_points((R, N), rng=rng)
    losses = pools.squared_errors(best)
    draws = draw(geometric(), pools.x, losses, M, R, rng=rng)
    x, y, drawn_losses = (
        np.take_along_axis(values, draws.index, axis=1) for values in (pools.x, pools.y, losses)
    )
    moments = running_moments(x, y, draws.probability, N, least=M)
    series = {}
    for name, running in RUNNING.items():
        error = lowest - running(drawn_losses, draws.probability, N)[:, -1:]
        series[f"{name} error"] = error
        series[f"{name} squared error"] = error**2
        series[f"{name} excess"] = unseen.risk(fit(moments[name])) - lowest
    table = summarise(series, [M])
    return table.add_column(0, "pool", [[N] * len(table)])


def figures(table: pa.Table, settings: ConsistencySettings) -> Mapping[str, Plot]:
    """Mean squared error of the estimates, and excess risk of the fits, against the budget."""
    series = curves(table)
    figure, (upper, lower) = canvas(rows=2, height=4.6)
    _panel(upper, series, "squared error", "mean squared error")
    _panel(lower, series, "excess", "excess risk")
    title(upper, "estimates of a fixed line's risk")
    title(lower, "lines trained on what was drawn")
    lower.set_xlabel("labels $M$")
    legend(upper, "center right")
    footnote(figure, small_print(settings, "M/N = 30/101", "random pools"))
    return {"consistency": figure}


def _panel(axes: Axes, series: Mapping[str, Curve], quantity: str, label: str) -> None:
    for name, colour in COLOURS.items():
        curve = series[f"{name} {quantity}"]
        axes.errorbar(
            curve.labels,
            curve.mean,
            2 * curve.stderr,
            color=colour,
            linestyle=DASHES[name],
            marker="o",
            markersize=3,
            label=name,
        )
    base = series[f"LURE {quantity}"]
    guide = base.mean[0] * 0.6 * base.labels[0] / base.labels
    axes.plot(base.labels, guide, color=BLACK, linestyle="--", linewidth=0.7, label="slope $-1$")
    axes.set(xscale="log", yscale="log", ylabel=label)
    axes.set_xticks(base.labels, [str(m) for m in base.labels])
    axes.minorticks_off()


def claims(table: pa.Table, settings: ConsistencySettings) -> list[Claim]:
    """Rates of convergence, and where the unweighted line ends."""
    series = curves(table)
    return [
        _vanishes(series, "PURE", "section 3.1, Theorem 2"),
        _vanishes(series, "LURE", "section 3.2, Theorem 5"),
        _naive_stays(series),
        _training(series),
    ]


def _vanishes(series: Mapping[str, Curve], name: str, where: str) -> Claim:
    mse, error = series[f"{name} squared error"], series[f"{name} error"]
    rate, stderr = slope(mse)
    last = int(mse.labels[-1])
    return Claim(
        f"{name.lower()}-consistent",
        where,
        f"The mean squared error of R_{name} tends to 0 as M grows with N/M fixed.",
        f"{mse.text(int(mse.labels[0]))} at M = {mse.labels[0]}, {mse.text(last)} at {last}: it "
        f"falls as M to the power {with_error(rate, stderr)}; bias there {error.text(last)}",
        "holds" if rate + 4 * stderr < -0.5 else "does not hold",
        "The bound in its proof falls with the power -1. It holds if the power is below -1/2 by 4 "
        "standard errors.",
    )


def slope(curve: Curve) -> tuple[float, float]:
    """The power of M by which a mean falls, by weighted least squares on log scales."""
    x, y = np.log(curve.labels), np.log(curve.mean)
    weight = (curve.mean / curve.stderr) ** 2
    x = x - np.sum(weight * x) / weight.sum()
    information = np.sum(weight * x**2)
    return float(np.sum(weight * x * y) / information), float(1 / np.sqrt(information))


def _naive_stays(series: Mapping[str, Curve]) -> Claim:
    error = series["naive error"]
    first, last = int(error.labels[0]), int(error.labels[-1])
    return Claim(
        "naive-inconsistent",
        "section 3.3",
        "The choice of proposal affects the bias of the naive risk estimator (which more labels at "
        "a fixed share of the pool do not remove).",
        f"true risk less estimate {error.text(first)} at M = {first}, {error.text(last)} at {last}",
        "holds" if np.all(error.mean < -4 * error.stderr) else "does not hold",
        "It holds if the error is below 0 by 4 standard errors at each M.",
    )


def _training(series: Mapping[str, Curve]) -> Claim:
    naive, lure = series["naive excess"], series["LURE excess"]
    stays, falls = slope(naive), slope(lure)
    last = int(naive.labels[-1])
    held = [_stays(naive.mean), falls[0] + 4 * falls[1] < -0.5]
    return Claim(
        "naive-training-inconsistent",
        "section 2",
        "With M/N fixed and M growing, optimising the naive risk does not give the parameters "
        "that minimise the population risk.",
        f"excess risk of the naive line {naive.text(int(naive.labels[0]))} at M = "
        f"{naive.labels[0]} and {naive.text(last)} at {last}; of LURE's {lure.text(last)}, falling "
        f"as M to the power {with_error(*falls)} (naive: {with_error(*stays)})",
        "holds" if all(held) else "holds partly" if any(held) else "does not hold",
        "Two things are asked for: the naive excess risk does not halve, and LURE's falls faster "
        "than M to the power -1/2, by 4 standard errors.",
    )


def _stays(excess: FloatArray) -> bool:
    return bool(excess[-1] > excess[0] / 2)


STUDIES = {
    "linear-consistency": Study(
        name="linear-consistency",
        title="Ours: error against the budget at a fixed share of the pool",
        presets=presets(
            ConsistencySettings(), ConsistencySettings(trajectories=200, scales=(1, 2, 4))
        ),
        tasks=lambda settings: [str(scale) for scale in settings.scales],
        run=run,
        figures=figures,
        claims=claims,
    )
}
