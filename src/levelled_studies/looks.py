"""Planned looks: coverage of all that a campaign shows, and its width at the budget.

A campaign with a budget reads its figures at planned looks, each with an error rate of its own,
and by betting in between. Each repetition draws the largest budget once, and smaller budgets are
its prefixes. In some repetitions the interval is followed label by label, to the budget and to the
first label at which it is narrower than a width that was wanted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled._check import BoolArray, FloatArray, IntArray
from levelled.estimators import Estimate
from levelled.estimators.intervals.limits import cut_limits, plan_looks
from levelled.looks import SHARE, PlannedLook
from levelled_studies.interval_cells import LEVEL
from levelled_studies.interval_claims import claim_at_least, make_claim
from levelled_studies.interval_plots import looks_plot
from levelled_studies.intervals import draw_losses
from levelled_studies.look_subjects import Limits, Subject, average, f1_score
from levelled_studies.pools import KINDS, POOLS
from levelled_studies.ratios import CLASS_POOLS, FLOORS
from levelled_studies.study import Claim, Row, Ruling, Study, StudySettings

__all__ = ["STUDIES", "LookSettings"]


@dataclass(frozen=True, slots=True)
class LookSettings(StudySettings):
    """Repetitions of every cell, pools, budgets, and the number of looks."""

    trajectories: int = 500
    per_pool: int = 100
    paths_per_pool: int = 20
    """Repetitions of each pool in which the interval is followed label by label."""
    pool_size: int = 10_000
    budgets: tuple[int, ...] = (100, 200, 500)
    looks: int = 5
    slack: float = 1.3
    """The width at which labelling stops, in multiples of the median width at the budget, and at
    most 0.8 of the largest possible one."""
    pools: tuple[str, ...] = (
        "errors 5%",
        "errors 0.5%",
        "overconfident, Brier",
        "log loss up to 3",
        "difference in 1%",
    )


def tasks(settings: LookSettings) -> list[str]:
    """Pools x floors, by name."""
    return [f"{pool}; {floor}" for pool in settings.pools for floor in ("floor 0.1", "floor 0.5")]


def run(settings: LookSettings, task: str, rng: Generator) -> pa.Table:
    """Coverage and width of what is shown, for each budget of one task."""
    name, proposal = task.split("; ")
    repetitions: dict[int, list[Repetitions]] = {budget: [] for budget in settings.budgets}
    for done in range(0, settings.trajectories, settings.per_pool):
        count = min(settings.per_pool, settings.trajectories - done)
        subject = _draw(name, proposal, settings, count, rng)
        for budget, own in _read_looks(subject, settings):
            repetitions[budget].append(own)
    about = {"kind": KINDS.get(name, "F1"), "pool": name, "pool_size": settings.pool_size}
    return pa.Table.from_pylist(
        [
            about | {"proposal": proposal, "method": "looks", "labels": budget} | _summarise(own)
            for budget, own in repetitions.items()
        ]
    )


def _draw(
    name: str, proposal: str, settings: LookSettings, repetitions: int, rng: Generator
) -> Subject:
    N, budget = settings.pool_size, settings.budgets[-1]
    if name in POOLS:
        pool = POOLS[name](N, rng)
        return average(pool, draw_losses(proposal, pool, budget, repetitions, rng))
    classes = CLASS_POOLS[name](N, rng)
    return f1_score(classes, classes.draw(FLOORS[proposal], budget, repetitions, rng))


@dataclass(frozen=True, slots=True, eq=False)
class Repetitions:
    """What the repetitions of one pool have shown, up to one budget."""

    holds: BoolArray
    """True where every look holds, and betting at every label up to the budget."""
    last_holds: BoolArray
    warned: BoolArray
    """True where the last look comes with a warning."""
    ratio: FloatArray
    """The width shown at the budget over that of an interval read once; of the paths only."""
    stop_holds: BoolArray
    stopped_at: IntArray
    design_size: float


def _read_looks(subject: Subject, settings: LookSettings) -> Iterator[tuple[int, Repetitions]]:
    truth, N, when = subject.truth, subject.pool_size, subject.rejected_at()
    rows = list(subject.draws.draws(N))
    paths = [subject.follow(row) for row in range(min(settings.paths_per_pool, len(rows)))]
    for budget in settings.budgets:
        looks = plan_looks(budget, N, settings.looks, SHARE * (1 - LEVEL))
        found = [
            [subject.read(draws[: look.n], 1 - look.alpha) for look in looks] for draws in rows
        ]
        holds = np.array([[est.low <= truth <= est.high for est in own] for own in found])
        once = [subject.read(draws[:budget], LEVEL) for draws in rows[: len(paths)]]
        widths = np.array([est.high - est.low for est in once])
        shown = [
            _shown(own, looks, (low[:budget], high[:budget]))
            for own, (low, high) in zip(found, paths, strict=False)
        ]
        wanted = min(settings.slack * float(np.median(widths)), 0.8 * subject.span)
        stops = np.array([_stop(high - low, wanted) for low, high in shown], dtype=np.int64)
        ends = [(low[at], high[at]) for (low, high), at in zip(shown, stops, strict=True)]
        yield (
            budget,
            Repetitions(
                holds.all(axis=1) & ((when == 0) | (when > budget)),
                holds[:, -1],
                np.array([bool(own[-1].warnings) for own in found]),
                np.array([high[-1] - low[-1] for low, high in shown]) / widths,
                np.array([low <= truth <= high for low, high in ends], dtype=bool),
                stops + 1,
                subject.draws.design_size(budget),
            ),
        )


def _shown(found: Sequence[Estimate], looks: Sequence[PlannedLook], watched: Limits) -> Limits:
    """The limits that a campaign shows after 1, 2, ... labels."""
    low, high = (limit.copy() for limit in watched)
    ends = [*(look.n for look in looks[1:]), len(low) + 1]
    for est, look, end in zip(found, looks, ends, strict=True):
        at = slice(look.n - 1, end - 1)
        low[at], high[at] = cut_limits((est.low, est.high), (watched[0][at], watched[1][at]))
    return low, high


def _stop(widths: FloatArray, wanted: float) -> int:
    """The position of the first label with a width below the wanted one, or of the last."""
    narrow = np.flatnonzero(widths < wanted)
    return int(narrow[0]) if len(narrow) else len(widths) - 1


def _summarise(repetitions: Sequence[Repetitions]) -> Row:
    def mean(name: str) -> float | None:
        values = np.concatenate([getattr(own, name) for own in repetitions])
        return float(values.mean()) if len(values) else None

    return {
        "repetitions": sum(len(own.holds) for own in repetitions),
        "coverage": mean("holds"),
        "last_coverage": mean("last_holds"),
        "warned": mean("warned"),
        "width_ratio": mean("ratio"),
        "paths": sum(len(own.stop_holds) for own in repetitions),
        "stop_coverage": mean("stop_holds"),
        "stop_labels": mean("stopped_at"),
        "design_size": float(np.mean([own.design_size for own in repetitions])),
    }


def claims(table: pa.Table, settings: LookSettings) -> list[Claim]:
    """The bars of planned looks."""
    rows = table.to_pylist()
    every = f"all {settings.looks} planned looks, and betting at every label between them,"
    found = [
        claim_at_least(
            rows,
            "all-looks",
            f"What a campaign shows holds at once: {every} contain the truth with frequency 0.945 "
            f"or more in every cell.",
            0.945,
            column="coverage",
        ),
        claim_at_least(
            [row | {"repetitions": row["paths"]} for row in rows if row["paths"]],
            "stop",
            "Where labelling stops at the first label whose interval is narrower than a wanted "
            "width, that interval contains the truth with frequency 0.945 or more in every cell.",
            0.945,
            column="stop_coverage",
        ),
    ]
    found.append(_width_claim([row for row in rows if row["width_ratio"] is not None]))
    return [claim for claim in found if claim is not None]


def _width_claim(rows: Sequence[Row]) -> Claim | None:
    """The claim that a planned look at the budget costs little width; None without any rows."""
    if not rows:
        return None
    ratios = [row["width_ratio"] for row in rows]
    wide = [row for row in rows if row["width_ratio"] > 1.08]
    where = ", ".join(dict.fromkeys(row["pool"] for row in wide))
    verdict: Ruling = "holds" if not wide else "does not hold"
    if wide and np.median(ratios) <= 1.08:
        verdict = "holds partly"
    return make_claim(
        "width-at-the-budget",
        "The interval shown at the budget is at most 1.08 times as wide, on average, as one that "
        "is read once, in every cell.",
        f"{min(ratios):.3f} to {max(ratios):.3f}, median {np.median(ratios):.3f}",
        verdict,
        f"Wider in {len(wide)} of {len(rows)} cells, where hardly any label shows an error or a "
        f"difference ({where})."
        if wide
        else "",
    )


FULL = LookSettings()
SMOKE = LookSettings(
    trajectories=6,
    per_pool=6,
    paths_per_pool=2,
    pool_size=200,
    budgets=(20,),
    pools=("errors 5%", "positives 10%"),
)

STUDIES = {
    "looks": Study(
        name="looks",
        title="Planned looks: coverage of all that is shown, and width at the budget",
        presets={"smoke": SMOKE, "cpu": FULL, "paper": FULL},
        tasks=tasks,
        run=run,
        figures=looks_plot,
        claims=claims,
    )
}
