"""Figure 2a: the naive estimate of a fixed line's risk is biased, R_PURE and R_LURE are not."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled.reports.plots import canvas, footnote, legend, reference
from levelled_studies.linear import data, experiment
from levelled_studies.linear.pictures import against_budget, small_print
from levelled_studies.linear.settings import BUDGETS, LinearSettings, presets
from levelled_studies.study import Claim, Plot, Study
from levelled_studies.tables import Curve, at_budgets, curves, summarise, verdict

__all__ = ["STUDIES", "bias_figure", "biased_claim", "unbiased_claim"]

AT = 30
"""The budget at which single figures are told."""


def run(settings: LinearSettings, task: str, rng: Generator) -> pa.Table:
    """The error of each estimate after each budget."""
    result = experiment.run(experiment.geometric(), settings, rng=rng)
    return summarise(experiment.risk_errors(result), BUDGETS)


def figures(table: pa.Table, settings: LinearSettings) -> Mapping[str, Plot]:
    """The true risk less its estimate, mean and one standard deviation."""
    return {"figure-2a": bias_figure(curves(table), settings)}


def bias_figure(series: Mapping[str, Curve], settings: LinearSettings) -> Plot:
    """Figure 2a, or 6a, from its curves."""
    figure, axes = canvas()
    reference(axes, 0, "no bias")
    against_budget(axes, series, shading="sd")
    axes.set_ylabel("true risk \N{MINUS SIGN} estimate")
    legend(axes, "lower right")
    footnote(figure, small_print(settings) + "; shading ±1 s.d.")
    return figure


def claims(table: pa.Table, settings: LinearSettings) -> list[Claim]:
    """Claims on the bias, its sign, and the variance of the estimates."""
    series = curves(table)
    where = "section 6, Figure 2a"
    return [
        biased_claim(series["naive"], where),
        _sign(series["naive"], where),
        unbiased_claim(series, where),
        _high_variance(series, where),
    ]


def biased_claim(naive: Curve, where: str) -> Claim:
    """The unweighted risk is biased while M < N."""
    far = np.abs(naive.z) > 4
    at = naive.at(AT)
    return Claim(
        "naive-biased",
        where,
        "While M < N the unweighted risk is biased.",
        f"true risk ({_truth():.4f}) less estimate: {naive.text(AT)} at M = {AT}, "
        f"{abs(naive.z[at]):.0f} standard errors",
        verdict([abs(naive.z[at]) > 10, *far]),
        f"Told from zero by 4 standard errors at {at_budgets(naive.labels, far)}; at M = {AT} 10 "
        f"are asked for.",
    )


def _sign(naive: Curve, where: str) -> Claim:
    over = naive.mean < 0
    last = f"{naive.text(int(naive.labels[-1]))} at M = {naive.labels[-1]}"
    return Claim(
        "naive-overestimates",
        f"{where}, caption",
        "The unweighted risk overestimates, because active learning samples the hardest points.",
        f"overestimates at {at_budgets(naive.labels, over)}; true risk less estimate {last}",
        verdict(over),
        "Judged by the sign of the mean at each M.",
    )


def unbiased_claim(series: Mapping[str, Curve], where: str) -> Claim:
    """R_PURE and R_LURE are unbiased throughout."""
    worst = {name: float(np.abs(series[name].z).max()) for name in ("PURE", "LURE")}
    return Claim(
        "weighted-unbiased",
        where,
        "R_PURE and R_LURE are unbiased throughout.",
        f"{series['PURE'].text(AT)} and {series['LURE'].text(AT)} at M = {AT}; at most "
        f"{worst['PURE']:.1f} and {worst['LURE']:.1f} standard errors from 0 at any M",
        verdict([z < 4 for z in worst.values()]),
        f"{len(series['PURE'].labels)} correlated budgets were looked at; 4 standard errors were "
        f"allowed.",
    )


def _high_variance(series: Mapping[str, Curve], where: str) -> Claim:
    lure, naive = series["LURE"], series["naive"]
    losses = data.pool().squared_errors(data.best_line(data.pool()))
    uniform = np.sqrt(losses.var(ddof=1) / lure.labels * (1 - lure.labels / len(losses)))
    high, poor = lure.sd > naive.sd, lure.sd > uniform
    at = lure.at(AT)
    return Claim(
        "high-variance",
        where,
        "R_PURE and R_LURE have high variance because the proposal is rather poor.",
        f"s.d. at M = {AT}: {lure.sd[at]:.4f} for R_LURE, {naive.sd[at]:.4f} for the unweighted "
        f"risk, {uniform[at]:.4f} for uniform draws",
        verdict([*high, *poor]),
        f"R_LURE varies more than the unweighted risk at {at_budgets(lure.labels, high)}, but more "
        f"than uniform draws would at {at_budgets(lure.labels, poor)}: for estimating this risk "
        f"the proposal is far from optimal, yet better than uniform.",
    )


def _truth() -> float:
    pool = data.pool()
    return float(pool.risk(data.best_line(pool)))


STUDIES = {
    "linear-bias": Study(
        name="linear-bias",
        title="Figure 2a: bias of risk estimates for a fixed line",
        presets=presets(LinearSettings(), LinearSettings(trajectories=200)),
        tasks=lambda settings: ("geometric",),
        run=run,
        figures=figures,
        claims=claims,
    )
}
