"""Figure 3a: lines trained on actively drawn points, with and without corrective weights."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled._check import FloatArray
from levelled.reports.numbers import with_error
from levelled.reports.plots import canvas, footnote, legend, reference
from levelled_studies.linear import data, experiment
from levelled_studies.linear.pictures import against_budget, small_print
from levelled_studies.linear.replacement import (
    count_different,
    draw_again,
    fit_importance_weighted,
)
from levelled_studies.linear.settings import BUDGETS, LinearSettings, presets
from levelled_studies.study import Claim, Plot, Study
from levelled_studies.tables import Curve, at_budgets, curves, summarise, verdict

__all__ = ["STUDIES", "better_claim", "fitted_errors", "ideal_risk", "training_figure"]

WHERE = "section 6, Figure 3a"
WITHOUT, WITH = "geometric", "with replacement"
DIFFERENT = "different points"
SMALL = 50
"""Up to here the number of labels counts as small: half of the pool."""
AT = 30


def run(settings: LinearSettings, task: str, rng: Generator) -> pa.Table:
    """The test error of the line that each objective prefers after each budget.

    The second task draws with replacement by the same proposal; every draw counts in M, and the
    series "different points" tells how many labels that needs.
    """
    if task == WITHOUT:
        result = experiment.run(experiment.geometric(), settings, rng=rng)
        return summarise(fitted_errors(result), BUDGETS)
    pool, least = data.pool(), int(BUDGETS[0])
    draws = draw_again(
        experiment.geometric(), pool.x, int(BUDGETS[-1]), settings.trajectories, rng=rng
    )
    line = fit_importance_weighted(pool, draws, least=least)
    labels = count_different(draws.index)[:, least - 1 :].astype(float)
    return summarise({WITH: data.unseen().risk(line), DIFFERENT: labels}, BUDGETS)


def fitted_errors(result: experiment.Experiment) -> Mapping[str, FloatArray]:
    """Test errors of each objective, and by how much weights lower them on the same draws."""
    errors = {name: fit.unseen for name, fit in experiment.fit_lines(result).items()}
    gains = {f"naive - {name}": errors["naive"] - errors[name] for name in ("PURE", "LURE")}
    return errors | gains


def ideal_risk() -> float:
    """The test error of the line fitted to the whole pool."""
    return float(data.unseen().risk(data.best_line(data.pool())))


def figures(table: pa.Table, settings: LinearSettings) -> Mapping[str, Plot]:
    """Test error against the budget, mean and one standard deviation."""
    return {"figure-3a": training_figure(curves(table), settings)}


def training_figure(series: Mapping[str, Curve], settings: LinearSettings) -> Plot:
    """Figure 3a, or 6b, from its curves."""
    figure, axes = canvas()
    against_budget(axes, series, shading="sd")
    if WITH in series:
        other = series[WITH]
        axes.plot(other.labels, other.mean, color="#CC79A7", linestyle="-.", label=WITH)
    reference(axes, ideal_risk(), "ideal: all labels")
    axes.set_ylabel("test MSE of the fitted line")
    axes.set_ylim(bottom=0)
    legend(axes, "upper right")
    footnote(figure, small_print(settings) + "; shading ±1 s.d.")
    return figure


def claims(table: pa.Table, settings: LinearSettings) -> list[Claim]:
    """Claims on the test error with weights, and on its distance from the ideal."""
    series = curves(table)
    return [
        better_claim(series, WHERE),
        _near_the_ideal(series["LURE"]),
        _with_replacement(series),
    ]


def better_claim(series: Mapping[str, Curve], where: str) -> Claim:
    """Models trained with the weights have lower population risk."""
    gain = {name: series[f"naive - {name}"] for name in ("PURE", "LURE")}
    labels = series["naive"].labels
    better = np.minimum(gain["PURE"].z, gain["LURE"].z) > 4
    at = series["naive"].at(AT)
    text = ", ".join(f"{series[name].mean[at]:.3f} {name}" for name in ("naive", "PURE", "LURE"))
    return Claim(
        "training-improves",
        where,
        "Lines trained with R_PURE or R_LURE have lower population risk than those trained "
        "without weights.",
        f"test MSE at M = {AT}: {text}, ideal {ideal_risk():.3f}; LURE gains "
        f"{gain['LURE'].text(AT)}",
        verdict(better[labels <= SMALL]),
        f"Both are better by 4 standard errors at {at_budgets(labels, better)}.",
    )


def _near_the_ideal(lure: Curve) -> Claim:
    excess = lure.mean / ideal_risk() - 1
    near = excess < 0.1
    return Claim(
        "nearly-optimal",
        WHERE,
        "Even with small numbers of acquired points the test loss is nearly optimal.",
        f"R_LURE is {excess[lure.at(10)]:.0%} above the ideal at M = 10, {excess[lure.at(20)]:.0%} "
        f"at 20, {excess[lure.at(30)]:.1%} at 30 and {excess[lure.at(50)]:.1%} at 50 (standard "
        f"error at M = 30: {lure.stderr[lure.at(30)] / ideal_risk():.1%})",
        verdict(near),
        f"Within a tenth of the ideal at {at_budgets(lure.labels, near)}.",
    )


def _with_replacement(series: Mapping[str, Curve]) -> Claim:
    """Lines from draws without replacement are better, draw for draw and label for label."""
    other, lure, different = series[WITH], series["LURE"], series[DIFFERENT]
    labels = lure.labels[lure.labels <= min(SMALL, different.mean[-1])]
    by_labels = np.interp(labels, different.mean, other.mean)
    stderr = np.hypot(np.interp(labels, different.mean, other.stderr), lure.stderr[: len(labels)])
    gain = by_labels - lure.mean[: len(labels)]
    at = lure.at(AT)
    draws = np.interp(AT, different.mean, different.labels)
    return Claim(
        "with-replacement",
        "section 5, on Ganti and Gray (2012)",
        "Sampling with replacement, which keeps plain importance weights unbiased, wastes labels: "
        "lines trained with R_LURE have lower population risk for the same number of labels.",
        f"{AT} draws with replacement hold {different.mean[at]:.1f} different points and give the "
        f"test MSE {other.mean[at]:.3f} (R_LURE {lure.mean[at]:.3f}); {AT} different points take "
        f"{draws:.0f} draws and give {by_labels[at]:.4f}: R_LURE gains "
        f"{with_error(gain[at], stderr[at])}",
        verdict(gain > 4 * stderr),
        f"Label for label, repeats being free, R_LURE is better by 4 standard errors at "
        f"{at_budgets(labels, gain > 4 * stderr)}, of M up to {labels[-1]}.",
    )


STUDIES = {
    "linear-training": Study(
        name="linear-training",
        title="Figure 3a: test error of lines trained on actively drawn points",
        presets=presets(LinearSettings(), LinearSettings(trajectories=200)),
        tasks=lambda settings: (WITHOUT, WITH),
        run=run,
        figures=figures,
        claims=claims,
    )
}
