"""Figure 6: the same two pictures with an epsilon-greedy proposal."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
from numpy.random import Generator

from levelled_studies.linear import experiment
from levelled_studies.linear.bias import bias_figure, biased_claim, unbiased_claim
from levelled_studies.linear.settings import BUDGETS, LinearSettings, presets
from levelled_studies.linear.training import better_claim, fitted_errors, training_figure
from levelled_studies.study import Claim, Plot, Study
from levelled_studies.tables import curves, summarise, verdict

__all__ = ["STUDIES"]

GREEDY, LEFT = "epsilon-greedy", "geometric-left"
BIAS, TEST = "bias", "test MSE"


@dataclass(frozen=True, slots=True)
class EpsilonSettings(LinearSettings):
    """The probability of drawing any point instead of the farthest."""

    epsilon: float = 0.1


def run(settings: EpsilonSettings, task: str, rng: Generator) -> pa.Table:
    """Errors of the estimates and of the fitted lines, under one proposal."""
    if task == GREEDY:
        rule = experiment.greedy(settings.epsilon)
    else:
        rule = experiment.geometric(over="left")
    result = experiment.run(rule, settings, rng=rng)
    step = 1 if task == GREEDY else 10  # the other reading is not drawn
    shown = slice(None, None, step)
    parts = {
        quantity: summarise({name: all_[:, shown] for name, all_ in errors.items()}, BUDGETS[shown])
        for quantity, errors in (
            (BIAS, experiment.risk_errors(result)),
            (TEST, fitted_errors(result)),
        )
    }
    return pa.concat_tables(
        table.add_column(0, "proposal", [[task] * len(table)]).add_column(
            1, "quantity", [[quantity] * len(table)]
        )
        for quantity, table in parts.items()
    )


def figures(table: pa.Table, settings: EpsilonSettings) -> Mapping[str, Plot]:
    """Figures 6a and 6b."""
    return {
        "figure-6a": bias_figure(curves(table, proposal=GREEDY, quantity=BIAS), settings),
        "figure-6b": training_figure(curves(table, proposal=GREEDY, quantity=TEST), settings),
    }


def claims(table: pa.Table, settings: EpsilonSettings) -> list[Claim]:
    """The claims of Figures 2a and 3a for this proposal, and for another reading of the paper."""
    return [*_of(table, GREEDY), _other_reading(table)]


def _of(table: pa.Table, proposal: str) -> list[Claim]:
    bias = curves(table, proposal=proposal, quantity=BIAS)
    test = curves(table, proposal=proposal, quantity=TEST)
    where = "appendix C.1, Figure 6"
    return [
        biased_claim(bias["naive"], f"{where}a"),
        unbiased_claim(bias, f"{where}a"),
        better_claim(test, f"{where}b"),
    ]


def _other_reading(table: pa.Table) -> Claim:
    checks = _of(table, LEFT)
    test = curves(table, proposal=LEFT, quantity=TEST)
    at = test["LURE"].at(30)
    return Claim(
        "other-reading",
        "Levelled, on appendix C.1",
        "The result does not depend on how its 'normalized scores' are read: z-scores over the "
        "points left give the same as z-scores over the whole pool.",
        f"test MSE at M = 30: {test['naive'].mean[at]:.3f} naive, {test['PURE'].mean[at]:.3f} "
        f"PURE, {test['LURE'].mean[at]:.3f} LURE",
        verdict([claim.verdict == "holds" for claim in checks]),
        "The other studies take them over the whole pool.",
    )


STUDIES = {
    "linear-epsilon-greedy": Study(
        name="linear-epsilon-greedy",
        title="Figure 6: the same with an epsilon-greedy proposal",
        presets=presets(EpsilonSettings(), EpsilonSettings(trajectories=200)),
        tasks=lambda settings: (GREEDY, LEFT),
        run=run,
        figures=figures,
        claims=claims,
    )
}
