"""Coverage of the interval of `levelled demo`, measured over many seeds."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled.demo import digits_pool, label_all, start, truth
from levelled.reports.plots import canvas, footnote
from levelled_studies.study import Claim, Plot, Study, StudySettings

__all__ = ["STUDIES", "DemoSettings"]


@dataclass(frozen=True, slots=True)
class DemoSettings(StudySettings):
    """The number of campaigns, and of labels that each of them buys."""

    trajectories: int = 200
    labels: int = 200
    batch: int = 25
    """Campaigns in one task."""


def tasks(settings: DemoSettings) -> list[str]:
    """Batches of seeds."""
    batch = min(settings.batch, settings.trajectories)
    return [f"seeds {first}" for first in range(0, settings.trajectories, batch)]


def run(settings: DemoSettings, task: str, rng: Generator) -> pa.Table:
    """The final interval of each campaign of a batch, beside the truth."""
    first = int(task.split()[1])
    last = min(first + settings.batch, settings.trajectories)
    rows = []
    with TemporaryDirectory() as folder:
        pool = Path(folder) / "pool.parquet"
        answers = digits_pool(pool)
        truth_ = truth(pool, answers)
        for seed in range(first, last):
            campaign = start(
                pool, f"sqlite:///{folder}/{seed}.db", labels=settings.labels, seed=seed
            )
            for figures in label_all(campaign, answers, batch=settings.labels):
                est = figures[0].estimate
            rows.append(
                {
                    "seed": seed,
                    "truth": truth_,
                    "value": est.value,
                    "low": est.low,
                    "high": est.high,
                }
            )
    return pa.Table.from_pylist(rows)


def claims(table: pa.Table, settings: DemoSettings) -> list[Claim]:
    """The claim that the demo's interval contains the truth in at least 95% of the seeds."""
    truth_, low, high = (table[name].to_numpy() for name in ("truth", "low", "high"))
    holds = (low <= truth_) & (truth_ <= high)
    return [
        Claim(
            "demo",
            "Levelled, demo",
            f"The interval of the demo, {settings.labels} labels, contains the truth in at least "
            f"95% "
            f"of the seeds.",
            f"{holds.mean():.3f} of {len(holds)} seeds",
            "holds" if holds.mean() >= 0.95 else "does not hold",
        )
    ]


def figures(table: pa.Table, settings: DemoSettings) -> dict[str, Plot]:
    """Every campaign's estimate and interval, in order of the estimate."""
    value, low, high = (table[name].to_numpy() for name in ("value", "low", "high"))
    truth_ = float(table["truth"][0].as_py())
    order = np.argsort(value)
    fig, axes = canvas(height=3.0)
    place = np.arange(len(order))
    missed = (truth_ < low[order]) | (truth_ > high[order])
    axes.vlines(place[~missed], low[order][~missed], high[order][~missed], color="#009E73", lw=0.6)
    axes.vlines(place[missed], low[order][missed], high[order][missed], color="#D55E00", lw=1.2)
    axes.plot(place, value[order], ".", color="black", markersize=1.5)
    axes.axhline(truth_, color="black", linestyle="--", linewidth=0.8)
    axes.set(xlabel="campaigns, by their estimate", ylabel="error rate")
    footnote(fig, f"{len(order)} campaigns of {settings.labels} labels; dashed: the truth")
    return {"demo": fig}


STUDIES = {
    "demo": Study(
        name="demo",
        title="Coverage of the interval of the demo's campaign",
        presets={
            "smoke": DemoSettings(trajectories=4, labels=40, batch=2),
            "cpu": DemoSettings(),
            "paper": DemoSettings(),
        },
        tasks=tasks,
        run=run,
        figures=figures,
        claims=claims,
    )
}
