"""The benchmark `label-efficiency`: every method on every pool, against peers and the limit."""

from dataclasses import dataclass

import pyarrow as pa
from numpy.random import Generator

from levelled.simulation import repeat_methods
from levelled_studies.efficiency.peers import methods_for
from levelled_studies.efficiency.plotting import figures
from levelled_studies.efficiency.pools import IMAGES, MISLEADING, load_task
from levelled_studies.efficiency.report import claims
from levelled_studies.study import Study, StudySettings

__all__ = ["STUDIES", "EfficiencySettings"]


@dataclass(frozen=True, slots=True)
class EfficiencySettings(StudySettings):
    """The pools, the numbers of labels, and how often each method is repeated."""

    pools: tuple[str, ...] = (
        *IMAGES,
        "adult",
        "credit-card",
        "imdb",
        "spam",
        "fashion-mnist-strong brier",
        "amount",
        "prevalence-1%",
        *MISLEADING,
        "errors-0.1%",
        "judge",
        "credit-card f1",
        "credit-card recall",
        "spam f1",
        "spam recall",
    )
    budgets: tuple[int, ...] = (50, 100, 200, 500, 1000)
    repetitions: int = 40
    ratio_repetitions: int = 100
    """The repetitions of ratios, whose squared errors and coverage are noisier."""


def tasks(settings: EfficiencySettings) -> list[str]:
    """The pools."""
    return list(settings.pools)


def run(settings: EfficiencySettings, task: str, rng: Generator) -> pa.Table:
    """The rows of `levelled simulate` for one pool and all methods, and its limit."""
    known, limit = load_task(task, settings.seed)
    about = {"task": task, "pool_size": len(known), "metric": known.metric, "risk": known.risk}
    rows = repeat_methods(
        known,
        methods_for(known),
        [budget for budget in settings.budgets if budget < len(known)],
        settings.repetitions if not known.is_ratio else settings.ratio_repetitions,
        seed=int(rng.integers(2**32)),
    )
    return pa.Table.from_pylist([{**about, "limit": limit, **row} for row in rows])


CPU = EfficiencySettings()
PAPER = EfficiencySettings(repetitions=400, ratio_repetitions=400)
SMOKE = EfficiencySettings(
    pools=("digits", "useless", "digits recall"),
    budgets=(20, 40),
    repetitions=3,
    ratio_repetitions=3,
)

STUDIES = {
    "label-efficiency": Study(
        name="label-efficiency",
        title="How many labels each method saves, against peers and the limit",
        presets={"smoke": SMOKE, "cpu": CPU, "paper": PAPER},
        tasks=tasks,
        run=run,
        figures=figures,
        claims=claims,
    )
}
