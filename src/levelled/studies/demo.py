"""A whole evaluation campaign on real data, with a labeller who knows the answers.

The data are scikit-learn's handwritten digits: a logistic regression fitted on 150 of them is to
be judged on the other 1,647. The study `demo` runs the campaign of `levelled demo` with many
seeds and counts how often its interval, watched until the end, holds the truth.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.random import Generator

from levelled.campaigns import Campaign, Figure, create_campaign
from levelled.studies.digits import judged_digits
from levelled.studies.plots import canvas, footnote
from levelled.studies.study import Claim, Settings, Study
from levelled.studies.study import Figure as Picture

__all__ = ["STUDIES", "DemoSettings", "digits_pool", "label_all", "start", "truth"]

METRICS = ("error", "f1:8")


@dataclass(frozen=True, slots=True)
class DemoSettings(Settings):
    """How many campaigns are run, and how many labels each of them buys."""

    trajectories: int = 200
    labels: int = 200
    batch: int = 25
    """Campaigns in one task."""


def digits_pool(path: Path) -> dict[str, str]:
    """Write a pool file of predicted probabilities; return the labels nobody has paid for yet."""
    judged = judged_digits()
    ink = judged.images.sum(axis=1)
    names = [f"digit-{number}" for number in judged.numbers]
    columns = {"id": names, "ink": np.where(ink > np.median(ink), "dark", "light")}
    columns |= {f"proba_{digit}": judged.proba[:, digit] for digit in range(10)}
    pq.write_table(pa.table(columns), path)
    return dict(zip(names, judged.labels.astype(str).tolist(), strict=True))


def truth(path: Path, answers: Mapping[str, str]) -> float:
    """The error rate that the campaign does not know."""
    table = pq.read_table(path)
    proba = np.stack([table[f"proba_{digit}"].to_numpy() for digit in range(10)], axis=1)
    labels = np.array([int(answers[name]) for name in table["id"].to_pylist()])
    return float(np.mean(proba.argmax(axis=1) != labels))


def start(pool: Path, storage: str, *, labels: int, seed: int) -> Campaign:
    """Create the campaign, or go on with it if it is there."""
    return create_campaign(
        "digits",
        pool,
        list(METRICS),
        storage=storage,
        seed=seed,
        budget=labels,
        slices=["ink"],
        load_if_exists=True,
    )


def label_all(
    campaign: Campaign, answers: Mapping[str, str], *, batch: int
) -> Iterator[list[Figure]]:
    """Answer batch by batch, as one labeller would; yields what can be read after each."""
    while asks := campaign.ask(batch, owner="demo"):
        campaign.tell_all(
            [{"draw": ask.draw, "label": answers[str(ask.id)]} for ask in asks], owner="demo"
        )
        yield campaign.estimate()


def tasks(settings: DemoSettings) -> list[str]:
    """Batches of seeds."""
    batch = min(settings.batch, settings.trajectories)
    return [f"seeds {first}" for first in range(0, settings.trajectories, batch)]


def run(settings: DemoSettings, task: str, rng: Generator) -> pa.Table:
    """The final interval of each campaign of a batch, and whether it holds the truth."""
    first = int(task.split()[1])
    last = min(first + settings.batch, settings.trajectories)
    rows = []
    with TemporaryDirectory() as folder:
        pool = Path(folder) / "pool.parquet"
        answers = digits_pool(pool)
        known = truth(pool, answers)
        for seed in range(first, last):
            campaign = start(
                pool, f"sqlite:///{folder}/{seed}.db", labels=settings.labels, seed=seed
            )
            for figures in label_all(campaign, answers, batch=settings.labels):
                est = figures[0].estimate
            rows.append(
                {"seed": seed, "truth": known, "value": est.value, "low": est.low, "high": est.high}
            )
    return pa.Table.from_pylist(rows)


def claims(table: pa.Table, settings: DemoSettings) -> list[Claim]:
    """The demo's interval contains the truth in at least 95% of the seeds."""
    known, low, high = (table[name].to_numpy() for name in ("truth", "low", "high"))
    holds = (low <= known) & (known <= high)
    return [
        Claim(
            "demo",
            "Levelled, demo",
            f"The interval of the demo, {settings.labels} labels, holds the truth in at least 95% "
            f"of the seeds.",
            f"{holds.mean():.3f} of {len(holds)} seeds",
            "holds" if holds.mean() >= 0.95 else "does not hold",
        )
    ]


def figures(table: pa.Table, settings: DemoSettings) -> dict[str, Picture]:
    """Every campaign's estimate and interval, in order of the estimate."""
    value, low, high = (table[name].to_numpy() for name in ("value", "low", "high"))
    known = float(table["truth"][0].as_py())
    order = np.argsort(value)
    fig, axes = canvas(height=3.0)
    place = np.arange(len(order))
    missed = (known < low[order]) | (known > high[order])
    axes.vlines(place[~missed], low[order][~missed], high[order][~missed], color="#009E73", lw=0.6)
    axes.vlines(place[missed], low[order][missed], high[order][missed], color="#D55E00", lw=1.2)
    axes.plot(place, value[order], ".", color="black", markersize=1.5)
    axes.axhline(known, color="black", linestyle="--", linewidth=0.8)
    axes.set(xlabel="campaigns, by their estimate", ylabel="error rate")
    footnote(fig, f"{len(order)} campaigns of {settings.labels} labels; dashed: the truth")
    return {"demo": fig}


STUDIES = {
    "demo": Study(
        name="demo",
        title="How often the interval of the demo's campaign holds the truth",
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
