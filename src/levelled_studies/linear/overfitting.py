"""Figure 4a: overfitting bias of fitted lines, beside active learning bias."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled.reports.plots import BLACK, COLOURS, canvas, footnote, legend
from levelled_studies.linear import data, experiment
from levelled_studies.linear.pictures import against_budget, small_print
from levelled_studies.linear.settings import BUDGETS, LinearSettings, presets
from levelled_studies.study import Claim, Plot, Study
from levelled_studies.tables import Curve, at_budgets, curves, summarise, verdict

__all__ = ["STUDIES"]

WHERE = "section 7, Figure 4a"
AT = 30
MUCH = 3.0
"""The factor from which one bias counts as much larger than another."""


def run(settings: LinearSettings, task: str, rng: Generator) -> pa.Table:
    """The overfitting bias of each objective, and the active learning bias of the same draws.

        B_OFB = r - R_LURE(theta*),    theta* the line that the objective prefers

    r is the risk of that line on 10,100 points of the population. "ALB" is the error of the
    unweighted risk of a fixed line, as in `linear-bias`.
    """
    result = experiment.run(experiment.geometric(), settings, rng=rng)
    lines = experiment.fit_lines(result)
    overfitting = {name: fit.unseen - fit.lure for name, fit in lines.items()}
    return summarise(overfitting | {"ALB": experiment.risk_errors(result)["naive"]}, BUDGETS)


def figures(table: pa.Table, settings: LinearSettings) -> Mapping[str, Plot]:
    """Overfitting bias against the budget, median and quartiles; ALB for its scale."""
    series = curves(table)
    figure, axes = canvas()
    axes.axhline(0, color=BLACK, linewidth=0.5)
    against_budget(axes, series, shading="quartiles")
    alb = series["ALB"]
    axes.plot(
        alb.labels, alb.mean, color=BLACK, linestyle="--", linewidth=0.8, label="ALB (Figure 2a)"
    )
    axes.set_ylabel(r"overfitting bias $r - R_{\mathrm{LURE}}(\theta^*)$")
    legend(axes, "lower right")
    footnote(figure, small_print(settings) + "; median, shading IQR")
    return {"figure-4a": figure}


def claims(table: pa.Table, settings: LinearSettings) -> list[Claim]:
    """Claims on the sizes and the signs of overfitting bias and active learning bias."""
    series = curves(table)
    return [_small(series), _signs(series)]


def _small(series: Mapping[str, Curve]) -> Claim:
    alb = np.abs(series["ALB"].mean)
    largest = np.max([np.abs(series[name].median) for name in COLOURS], axis=0)
    ratio = alb / largest
    much = ratio > MUCH
    at = series["ALB"].at(AT)
    text = ", ".join(f"{series[name].median[at]:+.4f} {name}" for name in COLOURS)
    return Claim(
        "overfitting-is-small",
        WHERE,
        "For linear regression B_OFB is small for all three objectives when contrasted to the "
        "active learning bias: ALB >> OFB.",
        f"median B_OFB at M = {AT}: {text}; ALB {series['ALB'].text(AT)}; the ratio is "
        f"{ratio[at]:.1f}, and {ratio[0]:.1f} at M = 10",
        verdict(much),
        f"ALB is more than {MUCH:g} times the largest of the three at {at_budgets(BUDGETS, much)}; "
        f"as the pool runs out both vanish.",
    )


def _signs(series: Mapping[str, Curve]) -> Claim:
    positive = np.min([series[name].median for name in COLOURS], axis=0) > 0
    negative = series["ALB"].mean < 0
    lure = series["LURE"]
    return Claim(
        "opposite-signs",
        "section 7",
        "B_OFB is usually positive and ALB generally negative.",
        f"the median of B_OFB is positive for all three at {at_budgets(BUDGETS, positive)}, the "
        f"mean of ALB negative at {at_budgets(BUDGETS, negative)}; mean B_OFB of LURE at M = {AT}: "
        f"{lure.text(AT)}",
        verdict([*positive, *negative]),
        f"The pool has 5 of its 101 points in the hard cluster, the population 4.8%, so the pool's "
        f"risk is {_offset():.4f} above the population's: that much B_OFB lies below 0 where the "
        f"pool is nearly used up.",
    )


def _offset() -> float:
    pool = data.pool()
    ideal = data.best_line(pool)
    return float(pool.risk(ideal) - data.unseen().risk(ideal))


STUDIES = {
    "linear-overfitting": Study(
        name="linear-overfitting",
        title="Figure 4a: overfitting bias of lines trained on actively drawn points",
        presets=presets(LinearSettings(), LinearSettings(trajectories=200)),
        tasks=lambda settings: ("geometric",),
        run=run,
        figures=figures,
        claims=claims,
    )
}
