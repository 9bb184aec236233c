"""Labels that `levelled plan` says are needed, beside those that are: real pools with labels.

The labels needed are found by simulation: the number at which the interval that a campaign with
the default proposal shows at its budget is as wide as wanted, in the median over trajectories.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled._check import FloatArray, IntArray
from levelled.estimators.intervals.limits import cp_safe, effective, plan_looks
from levelled.estimators.lure import ranked_weights
from levelled.estimators.moments import moments
from levelled.looks import SHARE
from levelled.metrics.named import Metric, parse_metric
from levelled.metrics.planning import Pilot, PlanRequest, plan_pool
from levelled.metrics.ratios import ratio_moments, wilson_limits
from levelled.predictions import Categorical, PoolPredictions
from levelled.proposals import mixture, proportional
from levelled.reports.plots import canvas, footnote
from levelled_studies.real_pools import RealPool, load_real_pool
from levelled_studies.study import Claim, Plot, Row, Study, StudySettings
from levelled_studies.tables import verdict
from levelled_studies.trajectories import frozen

__all__ = ["STUDIES", "PlanningSettings"]

LEVEL, LOOKS, FLOOR = 0.95, 5, 0.5
_CLOSE = (0.7, 1.3)
_ROUNDS = 9
ALL = (
    "fashion-mnist",
    "mnist",
    "cifar-10",
    "adult",
    "adult-tree",
    "credit-card",
    "imdb",
    "spam",
    "bbc-news",
    "digits",
)


@dataclass(frozen=True, slots=True)
class PlanningSettings(StudySettings):
    """The pools, the wanted widths, and the repetitions of each part."""

    pools: tuple[str, ...] = ALL
    f1_pools: tuple[str, ...] = ("adult", "imdb", "spam")
    width: float = 0.04
    f1_width: float = 0.1
    trajectories: int = 60
    pilots: int = 8
    pilot_labels: tuple[int, ...] = (50, 100)
    resampled: int = 20
    """Pools of `resampled_size` items drawn with replacement from each pool."""
    resampled_size: int = 1500


def tasks(settings: PlanningSettings) -> list[str]:
    """Pools x metrics, by name."""
    errors = [f"{pool}; error" for pool in settings.pools]
    return errors + [f"{pool}; f1:1" for pool in settings.f1_pools]


def run(settings: PlanningSettings, task: str, rng: Generator) -> pa.Table:
    """The labels needed and the plans for one pool, and for pools resampled from it."""
    name, metric = task.split("; ")
    width = settings.width if metric == "error" else settings.f1_width
    request = PlanRequest(parse_metric(metric), width, LEVEL, LOOKS)
    pool = load_real_pool(name)
    rows = [*_plans(settings, LabelledPool.of(pool), request, settings.pilots, rng)]
    last = replace(settings, pilot_labels=settings.pilot_labels[-1:])
    for number in range(settings.resampled if metric == "error" else 0):
        at = rng.integers(len(pool), size=min(settings.resampled_size, len(pool)))
        resampled = LabelledPool.of(pool, at)
        plans = _plans(last, resampled, request, 1, rng)
        rows.extend({**row, "resampled": number + 1} for row in plans)
    own = {"pool": name, "metric": metric, "width": width}
    return pa.Table.from_pylist([{**own, "resampled": 0, **row} for row in rows])


@dataclass(frozen=True, slots=True, eq=False)
class LabelledPool:
    """Predictions, labels by number, and the weights of the default proposal."""

    predictions: PoolPredictions
    label: IntArray
    weights: FloatArray

    @classmethod
    def of(cls, pool: RealPool, rows: IntArray | slice = slice(None)) -> "LabelledPool":
        proba, label = pool.pred[rows], pool.label[rows].astype(np.int64)
        classes = tuple(map(str, range(proba.shape[1])))
        pred = Categorical(classes, proba.argmax(axis=1))
        predictions = PoolPredictions(len(label), classes, pred=pred, proba=proba)
        score = parse_metric("error").score(predictions)
        return cls(predictions, label, mixture(proportional(score, allow_zero=True), FLOOR))

    def __len__(self) -> int:
        return len(self.label)

    def values(self, metric: Metric) -> tuple[FloatArray, FloatArray | None]:
        """The losses of all items, and a ratio's denominators."""
        names = np.array(self.predictions.classes)
        pred = self.predictions.class_index
        assert pred is not None
        values = metric.values(names[self.label].tolist(), names[pred].tolist())
        return values.losses, values.denominators


def _plans(
    settings: PlanningSettings,
    pool: LabelledPool,
    request: PlanRequest,
    pilots: int,
    rng: Generator,
) -> Iterator[Row]:
    """A plan from the predictions, then some from labels, each beside the labels needed."""
    wrong = pool.values(parse_metric("error"))[0]
    first = plan_pool(request, pool.predictions, pool.weights)
    needed = _labels_needed(pool, request, first.likely, settings.trajectories, rng)
    losses, D = pool.values(request.metric)
    truth = float(losses.sum() / (len(pool) if D is None else D.sum()))
    for labels in (0, *settings.pilot_labels):
        for _ in range(pilots if labels else 1):
            plan = first
            if labels:
                at = _draw(pool, labels, 1, rng)[0][0]
                pilot = Pilot(at, wrong[at], 1 / pool.weights[at])
                plan = plan_pool(request, pool.predictions, pool.weights, pilot)
            yield {
                "pool_size": len(pool),
                "labels": labels,
                "truth": truth,
                "expected": plan.expected,
                "needed": needed,
                "low": plan.low,
                "likely": plan.likely,
                "high": plan.high,
                "uniform": plan.uniform,
            }


def _draw(
    pool: LabelledPool, budget: int, trajectories: int, rng: Generator
) -> tuple[IntArray, FloatArray, FloatArray, float]:
    """Rows and probabilities of draws [R, M], the largest possible weights, the design's size."""
    zero = np.zeros(len(pool))
    draws = frozen(pool.weights, budget, trajectories, control=zero, bound=1.0, rng=rng)
    size = budget / float(draws.design["dispersion"].mean())
    return draws.index, draws.probability, draws.design["max_weight"], size


def _labels_needed(
    pool: LabelledPool, request: PlanRequest, start: int, trajectories: int, rng: Generator
) -> float:
    """The budget at which the median width is the wanted one, between budgets on a log scale.

    The width goes with sqrt(1/M - 1/N), or with 1/M while there are hardly any errors.
    """
    N, M = len(pool), float(np.clip(start, 10, len(pool) - 1))
    wider, narrower = (5.0, 1.0), (N - 1.0, 1e-3)
    for _ in range(_ROUNDS):
        width = _median_width(pool, request, round(M), trajectories, rng)
        if width > request.width:
            wider = (M, width)
        else:
            narrower = (M, width)
        widths = np.log([narrower[1], wider[1]])
        M = float(np.exp(np.interp(np.log(request.width), widths, np.log([narrower[0], wider[0]]))))
    return M


def _median_width(
    pool: LabelledPool, request: PlanRequest, budget: int, trajectories: int, rng: Generator
) -> float:
    """The median width of the interval at the last planned look."""
    N, (losses, D) = len(pool), pool.values(request.metric)
    level = 1 - plan_looks(budget, N, LOOKS, SHARE * (1 - LEVEL))[-1].alpha
    index, q, max_weight, size = _draw(pool, budget, trajectories, rng)
    drawn = losses[index]
    if D is None:
        weights = ranked_weights(q, N)
        low, high = cp_safe(effective(moments(drawn, q, N), drawn, weights, level, size), N, level)
    else:
        low, high = wilson_limits(ratio_moments(drawn, D[index], q, N, max_weight), level)
    low, high = np.maximum(low, drawn.sum(axis=1) / N if D is None else 0), np.minimum(high, 1)
    return float(np.median(high - low))


def claims(table: pa.Table, settings: PlanningSettings) -> list[Claim]:
    """The claims on plans from predictions and from labels, and on resampled pools."""
    rows = [row for row in table.to_pylist() if row["metric"] == "error"]
    whole = [row for row in rows if row["resampled"] == 0]
    share = 6 / 8
    found = [_close_claim(whole, labels, share) for labels in (0, *settings.pilot_labels)]
    found += [_range_claim(whole, labels, "real pools") for labels in (0, *settings.pilot_labels)]
    again = [row for row in rows if row["resampled"]]
    if again:
        sources = (0, settings.pilot_labels[-1])
        found += [_range_claim(again, labels, "resampled pools") for labels in sources]
    return found


def _source(labels: int) -> str:
    return f"{labels} labels" if labels else "the predictions alone"


def _close_claim(rows: list[Row], labels: int, share: float) -> Claim:
    """The claim that the likely number is close to the one needed, on six of eight pools."""
    pools = list(dict.fromkeys(row["pool"] for row in rows))
    ratios = [
        float(
            np.median(
                [
                    row["needed"] / row["likely"]
                    for row in rows
                    if row["pool"] == pool and row["labels"] == labels
                ]
            )
        )
        for pool in pools
    ]
    close = [_CLOSE[0] <= ratio <= _CLOSE[1] for ratio in ratios]
    listed = ", ".join(f"{pool} {ratio:.2f}" for pool, ratio in zip(pools, ratios, strict=True))
    return Claim(
        f"likely-{labels}",
        "Levelled, plan",
        f"Planned from {_source(labels)}, labels needed over the likely number are within 0.7 "
        f"to 1.3 on three quarters of the real pools.",
        f"{sum(close)} of {len(close)}: {listed}",
        "holds" if np.mean(close) >= share else "does not hold",
    )


def _range_claim(rows: list[Row], labels: int, where: str) -> Claim:
    """The claim that the stated range contains the number needed in 90% of the cases."""
    own = [row for row in rows if row["labels"] == labels]
    held = [row["low"] <= row["needed"] <= row["high"] for row in own]
    wide = float(np.median([row["high"] / row["low"] for row in own]))
    return Claim(
        f"range-{labels}-{where.split()[0]}",
        "Levelled, plan",
        f"Planned from {_source(labels)}, the stated range contains the labels needed in at "
        f"least 90% of the plans for {where}.",
        f"{sum(held)} of {len(held)}; the high end is {wide:.1f} times the low one in the median",
        verdict([np.mean(held) >= 0.9]),
    )


def figures(table: pa.Table, settings: PlanningSettings) -> dict[str, Plot]:
    """Labels needed over the likely number, with the stated range, for each pool."""
    rows = [row for row in table.to_pylist() if row["resampled"] == 0]
    names = list(dict.fromkeys((row["pool"], row["metric"]) for row in rows))
    fig, axes = canvas(height=0.9 + 0.32 * len(names))
    colours = dict(
        zip((0, *settings.pilot_labels), ("#D55E00", "#0072B2", "#009E73"), strict=False)
    )
    for place, name in enumerate(names):
        for shift, labels in enumerate(colours):
            own = [
                row
                for row in rows
                if (row["pool"], row["metric"], row["labels"]) == (*name, labels)
            ]
            low, likely, high = (
                np.median([row[column] / row["needed"] for row in own])
                for column in ("low", "likely", "high")
            )
            y = place + 0.25 * (shift - 1)
            axes.plot([low, high], [y, y], color=colours[labels], linewidth=1.2)
            axes.plot(likely, y, "o", color=colours[labels], markersize=4)
    for labels, colour in colours.items():
        axes.plot([], [], "o-", color=colour, markersize=4, label=f"{labels} labels")
    axes.axvspan(1 / _CLOSE[1], 1 / _CLOSE[0], color="0.9", zorder=0)
    axes.axvline(1, color="black", linestyle="--", linewidth=0.8)
    axes.set(xscale="log", xlabel="labels planned / labels needed")
    axes.set_yticks(
        range(len(names)), [pool if metric == "error" else f"{pool}, F1" for pool, metric in names]
    )
    axes.invert_yaxis()
    axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=3, frameon=False, fontsize=7)
    footnote(fig, "plans from so many labels: likely number, stated range; grey: within 0.7 to 1.3")
    return {"planning": fig}


FULL = PlanningSettings()
SMOKE = PlanningSettings(
    pools=("digits",),
    f1_pools=("digits",),
    width=0.1,
    f1_width=0.3,
    trajectories=10,
    pilots=2,
    pilot_labels=(50,),
    resampled=1,
    resampled_size=500,
)

STUDIES = {
    "planning": Study(
        name="planning",
        title="Labels planned and labels needed, on real pools",
        presets={"smoke": SMOKE, "cpu": FULL, "paper": FULL},
        tasks=tasks,
        run=run,
        figures=figures,
        claims=claims,
    )
}
