"""Labels that somebody chose beforehand: as known labels of a campaign, and as a random sample.

Each repetition chooses labels of a real pool anew: by small margins, by confidence, of one class,
or the oldest ones, among twice as many that fit best. As known labels they must leave the estimate
unbiased, its interval valid and no wider than without them. As a random sample they must be
refused.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled._check import FloatArray, IntArray
from levelled.campaigns import Campaign, create_campaign
from levelled.errors import CampaignError
from levelled.reports.plots import canvas, footnote
from levelled.sources import Pool, open_pool
from levelled_studies.interval_claims import make_claim
from levelled_studies.real_pools import RealPool, load_real_pool
from levelled_studies.study import Claim, Plot, Row, Study, StudySettings

__all__ = ["STUDIES", "KnownSettings"]

NONE, RANDOM = "none", "random"


@dataclass(frozen=True, slots=True)
class KnownSettings(StudySettings):
    """Real pools, known and new labels, and repetitions."""

    pools: tuple[str, ...] = (
        *("digits", "bbc-news", "spam", "imdb", "adult", "adult-tree", "fashion-mnist", "mnist"),
    )
    trajectories: int = 200
    known: int = 300
    labels: int = 100


def tasks(settings: KnownSettings) -> list[str]:
    """The pools."""
    return [*settings.pools]


def run(settings: KnownSettings, task: str, rng: Generator) -> pa.Table:
    """One row for each way in which known labels were chosen; none of them, and at random too."""
    real = load_real_pool(task)
    day = _days(real, rng)
    pool, labels = _open(real, day), [f"{one}" for one in real.label]
    choices = {NONE: None, **CHOICES, RANDOM: _at_random}
    rows = []
    with TemporaryDirectory() as folder:
        for name, choose in choices.items():
            found = [
                _repeat(Path(folder), pool, labels, settings, seed, rng, real, day, choose)
                for seed in range(settings.trajectories)
            ]
            rows.append(_row(task, name, real, settings, np.array(found)))
    return pa.Table.from_pylist(rows)


def _open(real: RealPool, day: FloatArray) -> Pool:
    columns = {"id": [f"r{at}" for at in range(len(real))], "day": day}
    columns |= {f"proba_{k}": p for k, p in enumerate(real.pred.T)}
    columns |= {f"f_{k}": x for k, x in enumerate(real.features.T)}
    return open_pool(pa.table(columns), features=["f_*"], hide=["day"])


def _days(real: RealPool, rng: Generator) -> FloatArray:
    """The day of each item: items change with time, so it goes along with a feature."""
    first = real.features[:, 0]
    scaled = (first - first.mean()) / max(float(first.std()), 1e-9)
    return np.round(100 * (scaled + rng.normal(0, 1, len(real))))


Choose = Callable[[RealPool, FloatArray, int, Generator], IntArray]


def _near(order: FloatArray, n: int, rng: Generator) -> IntArray:
    """n items at random among the 2 n with the least values."""
    return rng.choice(np.argsort(order, kind="stable")[: 2 * n], n, replace=False)


def _by_margin(real: RealPool, day: FloatArray, n: int, rng: Generator) -> IntArray:
    top = np.sort(real.pred, axis=1)
    return _near(top[:, -1] - top[:, -2], n, rng)


def _by_confidence(real: RealPool, day: FloatArray, n: int, rng: Generator) -> IntArray:
    return _near(-real.pred.max(axis=1), n, rng)


def _by_class(real: RealPool, day: FloatArray, n: int, rng: Generator) -> IntArray:
    """Items of one predicted class, chosen anew, and others only where it has too few."""
    predicted = real.pred.argmax(axis=1)
    other = predicted != rng.choice(np.unique(predicted))
    return np.argsort(other + rng.random(len(real)) / 2, kind="stable")[:n]


def _by_date(real: RealPool, day: FloatArray, n: int, rng: Generator) -> IntArray:
    return _near(day, n, rng)


def _at_random(real: RealPool, day: FloatArray, n: int, rng: Generator) -> IntArray:
    return rng.choice(len(real), n, replace=False)


CHOICES: Mapping[str, Choose] = {
    "margin": _by_margin,
    "confidence": _by_confidence,
    "class": _by_class,
    "date": _by_date,
}


def _repeat(
    folder: Path,
    pool: Pool,
    labels: list[str],
    settings: KnownSettings,
    seed: int,
    rng: Generator,
    real: RealPool,
    day: FloatArray,
    choose: Choose | None,
) -> list[float]:
    """Value, width and coverage of one campaign, at the end and at all looks, and the refusal.

    Parameters
    ----------
    folder : For the files of the campaign.
    pool, labels : The pool, and the labels of its items.
    settings : Those of the study.
    seed : That of the campaign.
    rng : For the choice of the known labels.
    real, day : The pool as the choice sees it.
    choose : The way in which known labels are chosen, if there are any.
    """
    truth, refused = float(real.errors.mean()), 0.0
    given: dict[str, Any] = {}
    path = folder / "known.csv"
    if choose is not None:
        rows = choose(real, day, min(settings.known, len(real) // 4), rng).tolist()
        path.write_text("id,label\n" + "".join(f"r{at},{labels[at]}\n" for at in rows))
        given["known"] = path
        try:
            create_campaign("s", pool, storage=folder / "s.db", seed=seed, random_sample=path)
        except CampaignError:
            refused = 1.0
        (folder / "s.db").unlink(missing_ok=True)
    db = folder / "c.db"
    campaign = create_campaign("c", pool, storage=db, seed=seed, budget=settings.labels, **given)
    limits = [*_label(campaign, labels, settings.labels)]
    db.unlink()
    value, low, high = limits[-1]
    every = all(one[1] <= truth <= one[2] for one in limits)
    return [value, high - low, low <= truth <= high, every, refused]


def _label(
    campaign: Campaign, labels: list[str], budget: int
) -> Iterator[tuple[float, float, float]]:
    """Label all of the budget, and read the figure at each of five looks."""
    while asks := campaign.ask(max(budget // 5, 1)):
        campaign.tell_all(
            [{"draw": one.draw, "label": labels[int(str(one.id)[1:])]} for one in asks]
        )
        est = campaign.estimate()[0].estimate
        yield est.value or 0.0, est.low, est.high


def _row(task: str, choice: str, real: RealPool, settings: KnownSettings, found: FloatArray) -> Row:
    value, width, held, every, refused = found.T
    truth, n = float(real.errors.mean()), len(found)
    return {
        "pool": task,
        "choice": choice,
        "labels": settings.labels,
        "truth": truth,
        "mean": float(value.mean()),
        "z": float((value.mean() - truth) / (value.std(ddof=1) / np.sqrt(n))),
        "width": float(width.mean()),
        "width_se": float(width.std(ddof=1) / np.sqrt(n)),
        "coverage": float(held.mean()),
        "coverage_of_all_looks": float(every.mean()),
        "refused_as_sample": None if choice == NONE else float(refused.mean()),
        "repetitions": n,
    }


def claims(table: pa.Table, settings: KnownSettings) -> list[Claim]:
    """The bars of known labels, and of the test of random samples."""
    rows = table.to_pylist()
    chosen = [row for row in rows if row["choice"] in CHOICES]
    alone = {row["pool"]: row for row in rows if row["choice"] == NONE}
    worst = max(chosen, key=lambda row: abs(row["z"]))
    n = settings.trajectories
    least = min(chosen, key=lambda row: row["coverage"])
    bar = 0.93 - 3 * float(np.sqrt(0.93 * 0.07 / n))
    pooled = float(np.mean([row["coverage"] for row in chosen]))
    ratios = [_ratio(row, alone[row["pool"]]) for row in chosen]
    widest = int(np.argmax([ratio for ratio, _ in ratios]))
    ratio, error = ratios[widest]
    beyond = sum(one > 1 + 2 * se for one, se in ratios)
    refused = min(chosen, key=lambda row: row["refused_as_sample"])
    random = max(row["refused_as_sample"] for row in rows if row["choice"] == RANDOM)
    return [
        make_claim(
            "known-labels-unbiased",
            f"{settings.known} known labels, however they were chosen, leave the estimate of "
            f"{settings.labels} new ones unbiased: |z| < 4 on every pool.",
            f"largest |z| {abs(worst['z']):.2f} ({_name(worst)})",
            "holds" if abs(worst["z"]) < 4 else "does not hold",
        ),
        make_claim(
            "known-labels-coverage",
            "The interval shown at the budget contains the truth in 93% of the campaigns, by three "
            "standard errors on each pool.",
            f"least {least['coverage']:.3f} ({_name(least)}), mean {pooled:.3f}",
            "holds" if least["coverage"] >= bar else "does not hold",
        ),
        make_claim(
            "known-labels-width",
            "The interval is no wider than that of as many new labels without the known ones.",
            f"{np.mean([one for one, _ in ratios]):.2f} times on average, at most {ratio:.2f} "
            f"+- {error:.2f} ({_name(chosen[widest])}); more than 1 beyond two standard errors in "
            f"{beyond} of {len(ratios)} cells",
            "holds" if not beyond else "does not hold",
        ),
        make_claim(
            "known-labels-refused",
            "Labels of chosen items are refused as a random sample in 99% of the repetitions, and "
            "those of random items never.",
            f"at least {refused['refused_as_sample']:.3f} ({_name(refused)}); random ones "
            f"{random:.3f}",
            "holds" if refused["refused_as_sample"] >= 0.99 and random == 0 else "does not hold",
        ),
    ]


def _ratio(row: Row, alone: Row) -> tuple[float, float]:
    """The width over that without known labels, and its standard error."""
    ratio = row["width"] / alone["width"]
    errors = row["width_se"] / row["width"], alone["width_se"] / alone["width"]
    return ratio, ratio * float(np.hypot(*errors))


def _name(row: Row) -> str:
    return f"{row['pool']}, by {row['choice']}"


def figures(table: pa.Table, settings: KnownSettings) -> dict[str, Plot]:
    """The width with known labels over that without, for each pool and way to choose them."""
    rows = table.to_pylist()
    alone = {row["pool"]: row["width"] for row in rows if row["choice"] == NONE}
    fig, axes = canvas(height=0.3 * len(alone) + 1.4)
    colours = dict(zip(CHOICES, ("#0072B2", "#D55E00", "#009E73", "#CC79A7"), strict=True))
    for place, pool in enumerate(alone):
        for row in rows:
            if row["pool"] == pool and row["choice"] in colours:
                label = row["choice"] if place == 0 else None
                ratio = row["width"] / alone[pool]
                axes.plot(ratio, place, "o", color=colours[row["choice"]], label=label)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(range(len(alone)), [*alone])
    axes.set(xlabel="width with known labels / width without them", xlim=(0, 1.1))
    axes.legend(title="chosen by", title_fontsize=8, frameon=False, loc="lower left", fontsize=8)
    footnote(
        fig,
        f"{settings.known} known and {settings.labels} new labels, {settings.trajectories} "
        f"campaigns each",
    )
    return {"known-labels": fig}


STUDIES = {
    "known-labels": Study(
        name="known-labels",
        title="Labels that somebody chose beforehand, as known labels and as a random sample",
        presets={
            "smoke": KnownSettings(pools=("digits",), trajectories=3, known=60, labels=20),
            "cpu": KnownSettings(),
            "paper": KnownSettings(),
        },
        tasks=tasks,
        run=run,
        figures=figures,
        claims=claims,
    )
}
