"""Coverage of adaptive campaigns: how often all planned looks contain the risk at once.

Each repetition draws the largest budget once. Its first draws serve the smaller budgets, each with
planned looks of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled._optional import optional
from levelled.campaigns.figures.figures import Subject, read_once
from levelled.campaigns.figures.settled import SettledDraws
from levelled.looks import PlannedLook
from levelled.reports import plots
from levelled.simulation.methods import LEVEL, planned_looks
from levelled_studies.efficiency.pools import IMAGES, MISLEADING, load_losses
from levelled_studies.efficiency.report import rule_coverage
from levelled_studies.study import Claim, Plot, Row, Study, StudySettings

__all__ = ["STUDIES", "CoverageSettings"]

_LEAST = 0.92
_COLOURS = ("#E69F00", "#0072B2", "#009E73", "#CC79A7")
"""Of the budgets."""


@dataclass(frozen=True, slots=True)
class CoverageSettings(StudySettings):
    """The pools, the numbers of labels, and the number of campaigns in each pool."""

    pools: tuple[str, ...] = (
        *IMAGES,
        "adult",
        "adult-tree",
        "errors-0.1%",
        "imdb",
        "spam",
        "bbc-news",
        "digits",
        "judge",
        "fashion-mnist-strong brier",
        "prevalence-1%",
        *MISLEADING,
    )
    budgets: tuple[int, ...] = (100, 200, 500)
    trajectories: int = 100


class Seen(NamedTuple):
    """The looks of one campaign with one budget."""

    too_low: bool
    """True if the interval of some look lies below the risk."""
    too_high: bool
    width: float
    """The width at the last look."""
    warned: bool
    """True if the last look comes with a warning."""


def tasks(settings: CoverageSettings) -> list[str]:
    """The pools."""
    return list(settings.pools)


def run(settings: CoverageSettings, task: str, rng: Generator) -> pa.Table:
    """The coverage of all planned looks at once in one pool, for each budget."""
    known = load_losses(task, settings.seed)
    plans = [planned_looks(budget, len(known)) for budget in settings.budgets]
    campaign = known.campaign_of("adaptive")
    subject, campaigns = campaign.subject(), []
    for one in rng.spawn(settings.trajectories):
        base = campaign.run(max(settings.budgets), int(one.integers(2**31)))
        campaigns.append([_read(known.risk, base, subject, looks) for looks in plans])
    about = {"task": task, "pool_size": len(known), "metric": known.metric, "risk": known.risk}
    columns = zip(settings.budgets, zip(*campaigns, strict=True), strict=True)
    return pa.Table.from_pylist([about | _summarise(budget, own) for budget, own in columns])


def _read(risk: float, base: SettledDraws, subject: Subject, looks: Sequence[PlannedLook]) -> Seen:
    """The planned looks at these draws."""
    found = [read_once(base.first(look.n), subject, look.level, "auto") for look in looks]
    last = found[-1]
    below, above = min(one.high for one in found) < risk, max(one.low for one in found) > risk
    return Seen(below, above, last.high - last.low, bool(last.warnings))


def _summarise(budget: int, campaigns: Sequence[Seen]) -> Row:
    too_low, too_high, width, warned = np.array(campaigns, dtype=np.float64).T
    covers = (too_low == 0) & (too_high == 0)
    coverage, n = float(covers.mean()), len(campaigns)
    return {
        "budget": budget,
        "coverage": coverage,
        "coverage_se": float(np.sqrt(coverage * (1 - coverage) / n)),
        "too_low": float(too_low.mean()),
        "too_high": float(too_high.mean()),
        "warned": float(warned.mean()),
        "width": float(width.mean()),
        "repetitions": n,
    }


def claims(table: pa.Table, settings: CoverageSettings) -> list[Claim]:
    """The bar of the coverage; a cell in which most campaigns are warned need not meet it."""
    rows = table.to_pylist()
    silent = [row for row in rows if row["warned"] < 0.5]
    values = np.array([row["coverage"] for row in silent])
    lowest = sorted(silent, key=lambda row: float(row["coverage"]))[:3]
    listed = ", ".join(
        f"{row['task']} at {row['budget']}: {row['coverage']:.3f} ± {row['coverage_se']:.3f}"
        for row in lowest
    )
    verdict = rule_coverage(values, settings.trajectories)
    return [
        Claim(
            "coverage of all planned looks",
            "Levelled, intervals",
            "From 100 labels on, the intervals of all five planned looks of an adaptive campaign "
            "contain the risk at once in at least 92% of the campaigns of every cell without a "
            "warning, and in 94.5% on average.",
            f"mean {values.mean():.3f} of {len(silent)} cells; lowest {listed}" if silent else "",
            verdict,
            f"{settings.trajectories} campaigns are too few to tell"
            if verdict == "cannot tell"
            else "",
        )
    ]


def figures(table: pa.Table, settings: Any) -> dict[str, Plot]:  # noqa: ANN401
    """The coverage of every cell with its standard error."""
    rows = table.to_pylist()
    names = list(dict.fromkeys(row["task"] for row in rows))[::-1]
    figure = optional("matplotlib.figure", extra="plots").Figure(
        figsize=(6.4, 1.4 + 0.24 * len(names)), layout="constrained"
    )
    axes = figure.add_subplot()
    axes.axvspan(0, _LEAST, color="#D55E00", alpha=0.12, linewidth=0)
    axes.axvline(LEVEL, color=plots.BLACK, linewidth=0.7, linestyle="--")
    budgets = sorted({row["budget"] for row in rows})
    for at, (budget, colour) in enumerate(zip(budgets, _COLOURS, strict=False)):
        own = [row for row in rows if row["budget"] == budget]
        y = [names.index(row["task"]) + 0.22 * (len(budgets) / 2 - 0.5 - at) for row in own]
        x, stderr = ([row[key] for row in own] for key in ("coverage", "coverage_se"))
        mean = float(np.mean(x))
        axes.errorbar(
            x, y, xerr=stderr, fmt="o", markersize=3.5, linewidth=0.8, color=colour,
            label=f"{budget} labels: {mean:.3f} on average",
        )  # fmt: skip
    lowest = min(row["coverage"] - 2 * row["coverage_se"] for row in rows)
    axes.set_xlim(min(lowest, _LEAST - 0.02), 1.005)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.tick_params(axis="x", labelsize=7)
    axes.grid(axis="y", linewidth=0.3)
    axes.set_xlabel("all five planned looks contain the risk (share of campaigns)", fontsize=8)
    figure.legend(loc="outside upper center", ncols=len(budgets), fontsize=7, frameon=False)
    return {"coverage": figure}


CPU = CoverageSettings()
PAPER = CoverageSettings(pools=(*CPU.pools, "credit-card"), trajectories=400)
SMOKE = CoverageSettings(pools=("useless",), budgets=(20, 40), trajectories=3)

STUDIES = {
    "adaptive-coverage": Study(
        name="adaptive-coverage",
        title="How often all planned looks of an adaptive campaign contain the risk at once",
        presets={"smoke": SMOKE, "cpu": CPU, "paper": PAPER},
        tasks=tasks,
        run=run,
        figures=figures,
        claims=claims,
    )
}
