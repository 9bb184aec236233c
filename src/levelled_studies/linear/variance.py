"""Figure 5a: the variance of each estimate of a fixed line's risk."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled._check import FloatArray
from levelled.estimators import lure
from levelled.reports.numbers import with_error
from levelled.reports.plots import COLOURS, DASHES, canvas, footnote, legend
from levelled_studies.linear import experiment
from levelled_studies.linear.pictures import small_print
from levelled_studies.linear.settings import BUDGETS, LinearSettings, presets
from levelled_studies.study import Claim, Plot, Study
from levelled_studies.tables import Curve, at_budgets, curves, summarise, verdict
from levelled_studies.trajectories import Trajectories

__all__ = ["STUDIES", "conditional_variances", "pure_and_lure"]

WHERE = "appendix C.1, Figure 5a"
LAST = 95
"""Beyond it nearly the whole pool is drawn, and what is left of the variance says little."""


def run(settings: LinearSettings, task: str, rng: Generator) -> pa.Table:
    """Squared deviations of each estimate, and the variances that the theorems give.

    Series "PURE given the draws" and "LURE given the draws" are Theorems 1 and 3 with the
    conditional variances averaged over trajectories; each has the same mean as the squared
    deviations of the estimate, and far less noise. "F" is F_m of appendix B.6, at m labels.
    """
    result = experiment.run(experiment.geometric(), settings, rng=rng)
    N, R = len(result.pool), settings.trajectories
    variances = conditional_variances(result.draws, np.broadcast_to(result.losses, (R, N)))
    pure, levelled = (second[:, BUDGETS - 1] for second in pure_and_lure(variances, N))
    series = {
        name: (error - error.mean(axis=0)) ** 2 * (R / (R - 1))
        for name, error in experiment.risk_errors(result).items()
    }
    series |= {
        "PURE given the draws": pure,
        "LURE given the draws": levelled,
        "PURE - LURE given the draws": pure - levelled,
    }
    m = np.arange(1, variances.shape[1] + 1)
    F = variances / ((N - m + 1) / N) ** 2
    return pa.concat_tables([summarise(series, BUDGETS), summarise({"F": F}, m)])


def conditional_variances(draws: Trajectories, losses: FloatArray) -> FloatArray:
    """Var[w_m L_m | the draws before it] along each trajectory, [R, M], from losses [R, N].

    The mean of w_m L_m is the pool risk less 1/N times the losses drawn.
    """
    N = losses.shape[1]
    seen = np.take_along_axis(losses, draws.index, axis=1)
    before = np.cumsum(seen, axis=1) - seen
    mean = losses.mean(axis=1, keepdims=True) - before / N
    return np.maximum(draws.design["weighted_square"] - mean**2, 0)  # rounding may go below


def pure_and_lure(variances: FloatArray, pool_size: int) -> tuple[FloatArray, FloatArray]:
    """The second terms of Theorems 1 and 3 after 1, ..., M labels, along each trajectory.

        1/M^2 sum_m e_m    and    1/M^2 sum_m c_m^2 e_m,    c_m = (N - M) d_m

    from the conditional variances e_m [R, M], M < N; d_m does not depend on M.
    """
    N, M = pool_size, np.arange(1.0, variances.shape[1] + 1)
    d = lure.levels(N, len(M)) / (N - len(M))
    return np.cumsum(variances, axis=1) / M**2, np.cumsum(d**2 * variances, axis=1) * (
        (N - M) / M
    ) ** 2


def figures(table: pa.Table, settings: LinearSettings) -> Mapping[str, Plot]:
    """Variance over trajectories against the budget, on a log scale."""
    series = curves(table)
    figure, axes = canvas()
    for name, colour in COLOURS.items():
        curve = series[name]
        axes.plot(curve.labels, curve.mean, color=colour, linestyle=DASHES[name], label=name)
    axes.set_yscale("log")
    axes.set(xlabel="labels $M$", ylabel="variance of the estimate")
    legend(axes, "lower left")
    footnote(figure, small_print(settings))
    return {"figure-5a": figure}


def claims(table: pa.Table, settings: LinearSettings) -> list[Claim]:
    """Claims on the variance of each estimate, and on the assumption of Theorem 4."""
    series = curves(table)
    return [_naive_is_lowest(series), _lure_below_pure(series), _assumption(series)]


def _naive_is_lowest(series: Mapping[str, Curve]) -> Claim:
    naive, best = series["naive"], series["LURE"]
    lowest = naive.mean < np.minimum(best.mean, series["PURE"].mean)
    at = naive.at(30)
    return Claim(
        "naive-varies-least",
        WHERE,
        "For linear regression the biased estimator has the lowest variance.",
        f"at M = 30 {with_error(naive.mean[at], naive.stderr[at])} against "
        f"{with_error(best.mean[at], best.stderr[at])} for R_LURE",
        verdict(lowest),
        f"Lowest at {at_budgets(naive.labels, lowest)}."
        + ("" if lowest.all() else " With fewer labels R_LURE has both no bias and less variance."),
    )


def _lure_below_pure(series: Mapping[str, Curve]) -> Claim:
    pure, levelled = series["PURE"], series["LURE"]
    exact = series["PURE - LURE given the draws"]
    asked = pure.labels <= LAST
    below = (levelled.mean < pure.mean)[asked] & (exact.mean > 4 * exact.stderr)[asked]
    ratio = levelled.mean / pure.mean
    return Claim(
        "lure-below-pure",
        WHERE,
        "R_LURE improves on R_PURE.",
        f"Var R_LURE / Var R_PURE is {ratio[pure.at(10)]:.3f} at M = 10, {ratio[pure.at(30)]:.3f} "
        f"at 30, {ratio[pure.at(60)]:.3f} at 60 and {ratio[pure.at(90)]:.3f} at 90; the difference "
        f"by Theorems 1 and 3 is at least {exact.z[asked].min():.0f} standard errors above 0",
        verdict(below),
        "" if below.all() else f"Lower at {at_budgets(pure.labels[asked], below)}.",
    )


def _assumption(series: Mapping[str, Curve]) -> Claim:
    F = series["F"].mean
    held = np.array([_is_sufficiently_good(F[:M]) for M in BUDGETS])
    return Claim(
        "theorem-4-assumption",
        "appendix B.6",
        "The assumption of Theorem 4, F_m >= F_(M-m+1) for m <= M/2, should hold in practice for "
        "sensible acquisition strategies.",
        f"F_m is {F[0]:.4f} at m = 1, {F[9]:.4f} at 10, {F[29]:.4f} at 30 and {F[89]:.4f} at 90; "
        f"the assumption holds at {at_budgets(BUDGETS, held)}",
        verdict(held),
        "It is sufficient for R_LURE to vary less than R_PURE, not necessary.",
    )


def _is_sufficiently_good(F: FloatArray) -> bool:
    half = len(F) // 2
    return bool((F[:half] >= F[::-1][:half]).all())


STUDIES = {
    "linear-variance": Study(
        name="linear-variance",
        title="Figure 5a: variance of risk estimates for a fixed line",
        presets=presets(LinearSettings(), LinearSettings(trajectories=200)),
        tasks=lambda settings: ("geometric",),
        run=run,
        figures=figures,
        claims=claims,
    )
}
