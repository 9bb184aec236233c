"""Misses of the interval of `--guarantee finite`, over all labels, against hostile labels too.

The proof of the hedged interval needs the risk to be fixed, and each draw to follow its
probabilities. The labels of items that are not drawn yet may move: a hostile labeller moves the
errors that are left between rounds, after seeing the predictor, and keeps their number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled._check import FloatArray, IntArray, choice
from levelled._optional import optional
from levelled.draws import Draws
from levelled.estimators.intervals.hedged import COLUMNS
from levelled.reports import plots
from levelled.samplers import FrozenProposal, RunProposal
from levelled.simulation import KnownLosses
from levelled.simulation.methods import LEVEL, draw_in_rounds
from levelled.surrogates import Covariates, Driver, LossPredictor, LossRun
from levelled.surrogates.driver import GUARANTEED_FLOOR
from levelled_studies.betting_truth import hedged_rejected_at
from levelled_studies.study import Claim, Plot, Study, StudySettings

__all__ = ["STUDIES", "GuaranteeSettings"]

_MEAN, _CONCENTRATION = 0.05, 2.0
"""Of the chances of an error in a pool."""
_ALLOWANCE = 3.0


@dataclass(frozen=True, slots=True)
class GuaranteeSettings(StudySettings):
    """The size of pools and budgets, the number of campaigns, and who labels."""

    pool_size: int = 2000
    budget: int = 200
    trajectories: int = 1000
    labellers: tuple[str, ...] = ("ordinary", "hiding", "turning")


def _stay(predicted: FloatArray, progress: float) -> FloatArray | None:
    """Errors stay where they are: as often as the model predicts."""
    return None


def _hide(predicted: FloatArray, progress: float) -> FloatArray:
    """Errors are where the predictor expects the fewest."""
    return predicted


def _turn(predicted: FloatArray, progress: float) -> FloatArray:
    """Errors are where the predictor expects the most, and after half the budget the fewest."""
    return predicted if progress >= 0.5 else -predicted


_LABELLERS: dict[str, Callable[[FloatArray, float], FloatArray | None]] = {
    "ordinary": _stay,
    "hiding": _hide,
    "turning": _turn,
}
"""The order in which a labeller gives the items left an error; None leaves labels alone."""


class HostileDriver(Driver):
    """A driver that moves the errors of items not drawn yet, each time it makes a proposal.

    `labels` are the 0/1 losses of the pool, changed in place.
    """

    def __init__(self, pool: Covariates, *, labels: FloatArray, labeller: str, budget: int) -> None:
        super().__init__(len(pool), lambda: [LossRun(pool)])
        self.labels, self.labeller, self.budget = labels, labeller, budget

    def proposal(
        self,
        predictor: LossPredictor,
        drawn: IntArray,
        floor: float | None,
        shares: Sequence[float] = (),
    ) -> RunProposal:
        """The proposal for the items that are not drawn yet, whose errors have just moved."""
        proposal = super().proposal(predictor, drawn, floor, shares)
        frozen = proposal.whole()
        assert frozen.control is not None
        order = _LABELLERS[self.labeller](frozen.control, len(drawn) / self.budget)
        if order is not None:
            left = int(self.labels[frozen.rows].sum())
            self.labels[frozen.rows] = 0.0
            self.labels[frozen.rows[np.argsort(order, kind="stable")[:left]]] = 1.0
        return proposal


def tasks(settings: GuaranteeSettings) -> list[str]:
    """The labellers."""
    return list(settings.labellers)


def run(settings: GuaranteeSettings, task: str, rng: Generator) -> pa.Table:
    """The share of campaigns whose interval excludes the risk at some label."""
    choice("The name of a labeller", task, tuple(_LABELLERS))
    N, M = settings.pool_size, settings.budget
    campaigns = [_campaign(settings, task, one) for one in rng.spawn(settings.trajectories)]
    risks, losses, draws = zip(*campaigns, strict=True)
    design = {name: np.stack([(own.design or {})[name] for own in draws]) for name in COLUMNS}
    q = np.stack([own.probability for own in draws])
    when = hedged_rejected_at(np.array(risks), np.stack(losses), q, N, M, LEVEL, design=design)
    share = float((when > 0).mean())
    row = {
        "labels": task,
        "pool_size": N,
        "budget": M,
        "risk": float(np.mean(risks)),
        "repetitions": settings.trajectories,
        "misses": share,
        "misses_se": float(np.sqrt(share * (1 - share) / settings.trajectories)),
        "misses_before_the_budget": float(((when > 0) & (when < M)).mean()),
    }
    return pa.Table.from_pylist([row])


def _campaign(
    settings: GuaranteeSettings, labeller: str, rng: Generator
) -> tuple[float, FloatArray, Draws]:
    """The risk, the losses and the draws of one campaign in a pool of its own."""
    N, M = settings.pool_size, settings.budget
    chance = rng.beta(_CONCENTRATION * _MEAN, _CONCENTRATION * (1 - _MEAN), N)
    labels = (rng.random(N) < chance).astype(np.float64)
    risk = float(labels.mean())
    driver = HostileDriver(Covariates.of(chance), labels=labels, labeller=labeller, budget=M)
    uniform = FrozenProposal(np.arange(N), N, np.ones(N))
    known = KnownLosses("error", labels, (0.0, 1.0), uniform, driver, labels)
    draws = draw_in_rounds(known, M, rng, GUARANTEED_FLOOR).draws
    return risk, labels[draws.index], draws


def claims(table: pa.Table, settings: GuaranteeSettings) -> list[Claim]:
    """The bar of the guarantee: at most 5% of the campaigns miss, whoever labels."""
    rows = table.to_pylist()
    worst = max(row["misses"] for row in rows)
    bar = 1 - LEVEL
    slack = _ALLOWANCE * np.sqrt(bar * LEVEL / settings.trajectories)
    return [
        Claim(
            "misses of the hedged interval",
            "Levelled, intervals",
            "A 95% interval with a finite-sample guarantee excludes the risk at any label in at "
            "most 5% of the campaigns, also where the labels are chosen against the predictor.",
            ", ".join(f"{r['labels']} {r['misses']:.1%} ± {r['misses_se']:.1%}" for r in rows),
            "holds" if worst <= bar + slack else "does not hold",
        )
    ]


def figures(table: pa.Table, settings: Any) -> dict[str, Plot]:  # noqa: ANN401
    """The share of misses of each labeller beside the level."""
    rows = table.to_pylist()
    figure = optional("matplotlib.figure", extra="plots").Figure(
        figsize=(4.6, 1.0 + 0.35 * len(rows)), layout="constrained"
    )
    axes = figure.add_subplot()
    axes.axvline(1 - LEVEL, color=plots.BLACK, linewidth=0.8, linestyle="--")
    y = range(len(rows))[::-1]
    misses, stderr = ([row[key] for row in rows] for key in ("misses", "misses_se"))
    axes.barh(y, misses, xerr=stderr, height=0.55, color="#0072B2", error_kw={"linewidth": 0.8})
    axes.set_yticks(y, [row["labels"] for row in rows], fontsize=8)
    axes.set_xlim(0, max(0.055, *(m + 2 * s for m, s in zip(misses, stderr, strict=True))))
    axes.tick_params(axis="x", labelsize=7)
    axes.set_xlabel("campaigns whose interval ever excludes the risk", fontsize=8)
    return {"misses": figure}


FULL = GuaranteeSettings()
SMOKE = GuaranteeSettings(pool_size=200, budget=30, trajectories=4)

STUDIES = {
    "guarantee": Study(
        name="guarantee",
        title="Misses of the interval with a finite-sample guarantee, with hostile labels too",
        presets={"smoke": SMOKE, "cpu": FULL, "paper": FULL},
        tasks=tasks,
        run=run,
        figures=figures,
        claims=claims,
    )
}
