"""Misses of the interval of `--guarantee finite`, over all labels, against hostile labels too.

The proof of the hedged interval needs the risk to be fixed, and each draw to follow its
probabilities. The labels of items that are not drawn yet may move: a hostile labeller moves the
errors that are left between rounds, after seeing the predictor, and keeps their number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled._check import BoolArray, FloatArray, choice
from levelled._optional import optional
from levelled.campaigns.drawing.learner import learner_of
from levelled.campaigns.log.state import CampaignState
from levelled.draws import Draws
from levelled.estimators.intervals.hedged import COLUMNS
from levelled.labels import Label
from levelled.reports import plots
from levelled.simulation import KnownCampaign
from levelled.simulation.methods import LEVEL
from levelled.sources import open_pool
from levelled_studies.betting_truth import hedged_rejected_at
from levelled_studies.study import Claim, Plot, Study, StudySettings

__all__ = ["STUDIES", "GuaranteeSettings", "move_errors"]

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


@dataclass(frozen=True, eq=False)
class HostileCampaign(KnownCampaign):
    """A campaign whose labeller moves the errors of items not drawn yet, before each round."""

    labeller: str = "ordinary"
    wrong: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    """True for the items with an error by now; changed in place."""
    budget: int = 0

    def tell(self, before: CampaignState, after: CampaignState) -> list[Label]:
        """The labels of a round, whose errors have moved before it was drawn."""
        learner = learner_of(self.pool, self.settings)
        (run,) = learner.runs()
        plain = after.rounds[-1].predictor
        assert plain is not None
        chances = learner.chances(learner.restore(plain), run).chance
        drawn = [item.row for item in before.draws]
        move_errors(self.labeller, self.wrong, 1 - chances[:, 0], drawn, self.budget)
        return ["b" if self.wrong[item.row] else "a" for item in after.draws[len(drawn) :]]


def move_errors(
    labeller: str, wrong: BoolArray, predicted: FloatArray, drawn: Sequence[int], budget: int
) -> None:
    """Move the errors of items that are not drawn yet, in place, and keep their number."""
    order = _LABELLERS[labeller](predicted, len(drawn) / budget)
    if order is not None:
        left = np.delete(np.arange(len(wrong)), drawn)
        n = int(wrong[left].sum())
        wrong[left] = False
        wrong[left[np.argsort(order[left], kind="stable")[:n]]] = True


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
    wrong = rng.random(N) < chance
    risk = float(wrong.mean())
    columns = {"id": np.arange(N), "pred": np.full(N, "a"), "loss_hat": chance}
    pool = open_pool(pa.table(columns), classes=["a", "b"])
    labels = np.where(wrong, "b", "a").tolist()
    options: dict[str, Any] = {"kind": "adaptive", "guarantee": "finite", "budget": M}
    campaign = HostileCampaign.of(pool, labels, **options)
    campaign = replace(campaign, labeller=labeller, wrong=wrong, budget=M)
    base = campaign.run(M, int(rng.integers(2**31)))
    losses = np.array([one == "b" for one in base.labels], dtype=np.float64)
    return risk, losses, base.draws


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
