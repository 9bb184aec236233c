"""Wrong words of `levelled gate` at the limit, watched after each label, and its power.

The limit of a claim is the true value, where wrong words are most likely, and any word counts
as wrong. Power is measured with a limit at some distance from the truth. A campaign decides by the
values next to the limit; here that value itself is tested, in all campaigns at once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled._check import FloatArray, IntArray
from levelled._optional import optional
from levelled.campaigns.figures.figures import EARLY
from levelled.draws import Draws
from levelled.estimators.intervals.hedged import COLUMNS
from levelled.reports import plots
from levelled.simulation import KnownLosses, known_losses
from levelled.simulation.methods import LEVEL
from levelled_studies.betting_truth import hedged_rejected_at, rejected_at
from levelled_studies.study import Claim, Plot, Row, Study, StudySettings

__all__ = ["STUDIES", "GateSettings"]

_PASS, _CONCENTRATION = 0.95, 2.0
"""The share of passes in a pool, and how alike the chances of its items are."""
_REPAIRED, _BROKEN = 0.67, 0.01
"""The shares of wrong and of right predictions that the second model changes."""
_ALLOWANCE = 3.0
_KINDS = ("random", "static", "adaptive", "finite")
_CAMPAIGNS = {"random": "uniform", "finite": "guaranteed"}
"""The methods of `levelled simulate` that have another name."""


@dataclass(frozen=True, slots=True)
class GateSettings(StudySettings):
    """The size of pools and budgets, the number of campaigns, and the distance for the power."""

    pool_size: int = 1000
    budget: int = 400
    trajectories: int = 2000
    a_pool: int = 20
    """Campaigns in the same pool."""
    distance: float = 0.03


class GateRun(NamedTuple):
    """The draws of a campaign up to its budget, and what its gate needs to know."""

    risk: float
    losses: FloatArray
    gain: float
    """The risk less that of a second model."""
    gains: FloatArray
    """The same for each draw."""
    draws: Draws


Rejected = Callable[[GateSettings, list[GateRun], float], IntArray]


def tasks(settings: GateSettings) -> list[str]:
    """The first metric of a campaign, and the kind of its draws."""
    return [f"{metric} {kind}" for metric in ("share:pass", "error") for kind in _KINDS]


def run(settings: GateSettings, task: str, rng: Generator) -> pa.Table:
    """The share of wrong words at the limit, and the labels that a claim takes."""
    metric, kind = task.split()
    runs = []
    for at, one in enumerate(rng.spawn(settings.trajectories)):
        if at % settings.a_pool == 0:
            known = known_losses(_make_pool(settings.pool_size, one), "y", metric)
        runs.append(_run_campaign(settings, known, kind, one))
    rows = [_row(settings, f"{metric} {_side(metric)}", kind, runs, _limit_rejected)]
    if metric == "error":
        rows.append(_row(settings, "better than", kind, runs, _margin_rejected))
    return pa.Table.from_pylist(rows)


def _run_campaign(settings: GateSettings, known: KnownLosses, kind: str, rng: Generator) -> GateRun:
    """A campaign up to its budget."""
    campaign = known.campaign_of(_CAMPAIGNS.get(kind, kind))
    draws = campaign.run(settings.budget, int(rng.integers(2**31))).draws
    gains = _gains(known, rng)
    losses = known.losses[draws.index]
    return GateRun(known.risk, losses, float(gains.mean()), gains[draws.index], draws)


def _make_pool(pool_size: int, rng: Generator) -> pa.Table:
    """Items with a chance to pass that a judge predicts, of which exactly a share does pass."""
    chance = rng.beta(_CONCENTRATION * _PASS, _CONCENTRATION * (1 - _PASS), pool_size)
    passes = np.zeros(pool_size, dtype=bool)
    passes[np.argsort(rng.random(pool_size) - chance)[: round(_PASS * pool_size)]] = True
    label = np.where(passes, "pass", "fail")
    columns = {"proba_pass": chance, "proba_fail": 1 - chance}
    return pa.table({"id": np.arange(pool_size), **columns, "y": label})


def _gains(known: KnownLosses, rng: Generator) -> FloatArray:
    """The losses less those of a second model, which are mostly smaller."""
    wrong, chance = known.losses == 1, rng.random(len(known))
    second = np.where(wrong, chance >= _REPAIRED, chance < _BROKEN)
    return known.losses - second


def _side(metric: str) -> str:
    return "at least" if metric == "share:pass" else "at most"


def _limit_rejected(settings: GateSettings, runs: list[GateRun], distance: float) -> IntArray:
    """The label at which each campaign excludes a limit at this distance on the claim's side."""
    N, design = settings.pool_size, _design(runs)
    losses, q = np.stack([one.losses for one in runs]), _probabilities(runs)
    risk = np.array([one.risk for one in runs])
    limit = risk - distance if risk.mean() > 0.5 else risk + distance
    if not set(COLUMNS) <= design.keys():
        return rejected_at(limit, losses, q, N, (0.0, 1.0), LEVEL, design=design)
    late, early = (1 - share * (1 - LEVEL) for share in (1 - EARLY, EARLY))
    by_hedging = hedged_rejected_at(limit, losses, q, N, settings.budget, late, design=design)
    by_betting = rejected_at(limit, losses, q, N, (0.0, 1.0), early, design=design)
    both = np.stack([by_hedging, by_betting])
    return np.where(both.all(axis=0), both.min(axis=0), both.max(axis=0))  # 0 is never


def _margin_rejected(settings: GateSettings, runs: list[GateRun], distance: float) -> IntArray:
    """The label at which each campaign excludes a margin at this distance below the gain."""
    gains, margin = np.stack([one.gains for one in runs]), [one.gain - distance for one in runs]
    design = {name: values for name, values in _design(runs).items() if name == "max_weight"}
    q, N = _probabilities(runs), settings.pool_size
    return rejected_at(margin, gains, q, N, (-1.0, 1.0), LEVEL, design=design)


def _probabilities(runs: list[GateRun]) -> FloatArray:
    return np.stack([one.draws.probability for one in runs])


def _design(runs: list[GateRun]) -> dict[str, FloatArray]:
    """The design columns of all draws, [trajectories, M]."""
    names = runs[0].draws.design or {}
    return {name: np.stack([(one.draws.design or {})[name] for one in runs]) for name in names}


def _row(
    settings: GateSettings, claim: str, kind: str, runs: list[GateRun], rejected: Rejected
) -> Row:
    wrong = float((rejected(settings, runs, 0.0) > 0).mean())
    when = rejected(settings, runs, settings.distance)
    spent = np.where(when > 0, when, settings.budget)
    return {
        "claim": claim,
        "draws": kind,
        "pool_size": settings.pool_size,
        "budget": settings.budget,
        "repetitions": len(runs),
        "wrong": wrong,
        "wrong_se": float(np.sqrt(wrong * (1 - wrong) / len(runs))),
        "distance": settings.distance,
        "shown": float((when > 0).mean()),
        "labels_median": float(np.median(spent)),
        "labels_mean": float(spent.mean()),
    }


def claims(table: pa.Table, settings: GateSettings) -> list[Claim]:
    """The bar of the gate, and what choosing the labels is worth for it."""
    rows = table.to_pylist()
    worst = max(rows, key=lambda row: row["wrong"])
    bar = 1 - LEVEL
    slack = _ALLOWANCE * np.sqrt(bar * LEVEL / settings.trajectories)
    shown = {(row["claim"], row["draws"]): row["shown"] for row in rows}
    limits = [c for c in dict.fromkeys(row["claim"] for row in rows) if c != "better than"]
    more = all(shown[claim, "finite"] > shown[claim, "random"] for claim in limits)
    told = (f"{c}: {shown[c, 'finite']:.0%} and {shown[c, 'random']:.0%}" for c in limits)
    return [
        Claim(
            "wrong words of the gate",
            "Levelled, gate",
            "At 95%, a claim whose limit is the true value gets a word at any label in at most 5% "
            "of the campaigns.",
            f"at most {worst['wrong']:.1%} ± {worst['wrong_se']:.1%} ({worst['claim']}, "
            f"{worst['draws']})",
            "holds" if worst["wrong"] <= bar + slack else "does not hold",
        ),
        Claim(
            "power of the gate",
            "Levelled, gate",
            f"A campaign with a finite-sample guarantee shows a claim whose limit is "
            f"{settings.distance:g} away within its budget more often than random labels do.",
            f"{'; '.join(told)} within {settings.budget} labels",
            "holds" if more else "does not hold",
        ),
    ]


def figures(table: pa.Table, settings: Any) -> dict[str, Plot]:  # noqa: ANN401
    """Wrong words beside the level, and claims shown within the budget."""
    rows = table.to_pylist()
    figure = optional("matplotlib.figure", extra="plots").Figure(
        figsize=(7.2, 1.0 + 0.24 * len(rows)), layout="constrained"
    )
    left, right = figure.subplots(1, 2, sharey=True)
    y = range(len(rows))[::-1]
    wrong, stderr = ([row[key] for row in rows] for key in ("wrong", "wrong_se"))
    left.axvline(1 - LEVEL, color=plots.BLACK, linewidth=0.8, linestyle="--")
    left.barh(y, wrong, xerr=stderr, height=0.6, color="#D55E00", error_kw={"linewidth": 0.8})
    left.set_yticks(y, [f"{row['claim']}, {row['draws']}" for row in rows], fontsize=7)
    left.set_xlabel("campaigns with a word at the limit", fontsize=8)
    right.barh(y, [row["shown"] for row in rows], height=0.6, color="#0072B2")
    right.set_xlim(0, 1)
    away = f"shown within {settings.budget} labels, limit {settings.distance:g} away"
    right.set_xlabel(away, fontsize=8)
    for axes in (left, right):
        axes.tick_params(axis="x", labelsize=7)
    return {"gate": figure}


FULL = GateSettings()
SMOKE = GateSettings(pool_size=200, budget=30, trajectories=4)

STUDIES = {
    "gate": Study(
        name="gate",
        title="Wrong words of the gate at the limit, watched after each label, and its power",
        presets={"smoke": SMOKE, "cpu": FULL, "paper": FULL},
        tasks=tasks,
        run=run,
        figures=figures,
        claims=claims,
    )
}
