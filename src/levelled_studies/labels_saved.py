"""Labels that a campaign saves on real pools, as its user sees it, against random labels.

A campaign with the default design (half uniform, half in proportion to the root mean squared loss)
shows an interval at its budget. Random labels would give Clopper and Pearson's, for
n = M (N - 1) / (N - M) because the pool is finite. The labels saved are the squared ratio of the
two mean widths: how many times as many random labels would be needed for the same width. A second
part compares `worth`, which a campaign tells from its labels alone, with its true value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled._check import FloatArray
from levelled._optional import optional
from levelled.draws import Draws
from levelled.estimators import estimate
from levelled.estimators.intervals.betting import betting_interval
from levelled.estimators.intervals.limits import clopper_pearson, cut_limits, plan_looks
from levelled.estimators.moments import moments, uniform_probability
from levelled.looks import SHARE
from levelled.metrics.named import ERROR
from levelled.predictions import PoolPredictions
from levelled.proposals import mixture, proportional
from levelled_studies.interval_cells import LEVEL
from levelled_studies.interval_claims import make_claim
from levelled_studies.look_subjects import BETWEEN
from levelled_studies.real_pools import RealPool, load_real_pool
from levelled_studies.study import Claim, Plot, Row, Study, StudySettings
from levelled_studies.trajectories import Trajectories, frozen

__all__ = ["STUDIES", "SavedSettings"]

FEW = "few errors"
FLOOR, N_LOOKS, CHUNK = 0.5, 5, 50


@dataclass(frozen=True, slots=True)
class SavedSettings(StudySettings):
    """Real pools, budgets, and repetitions."""

    trajectories: int = 300
    for_variance: int = 2000
    """Further repetitions, from which the true variance of the estimate is computed."""
    pools: tuple[str, ...] = ("spam", "imdb", "adult", "mnist", "fashion-mnist")
    budgets: tuple[int, ...] = (100, 500)
    few: tuple[tuple[int, int], ...] = ((1, 100), (2, 200), (3, 500))
    """Errors and uniform labels, of a pool of 10,000."""


def tasks(settings: SavedSettings) -> list[str]:
    """The pools, and the intervals of few errors."""
    return [*settings.pools, FEW]


def run(settings: SavedSettings, task: str, rng: Generator) -> pa.Table:
    """One row for each budget of a pool, or for each number of few errors."""
    if task == FEW:
        return pa.Table.from_pylist([_few_errors(*pair) for pair in settings.few])
    pool = load_real_pool(task)
    weights, control = _design(pool)
    values: dict[int, list[FloatArray]] = {budget: [] for budget in settings.budgets}
    for done in range(0, settings.for_variance, CHUNK):
        count = min(CHUNK, settings.for_variance - done)
        draws = _draw(weights, control, settings.budgets[-1], count, rng)
        for budget, own in values.items():
            own.append(_values(pool, draws, budget))
    draws = _draw(weights, control, settings.budgets[-1], settings.trajectories, rng)
    return pa.Table.from_pylist(
        [_campaigns(pool, draws, budget, np.concatenate(values[budget])) for budget in values]
    )


def _few_errors(errors: int, labels: int) -> Row:
    """The width of `estimate` after few errors in uniform labels, beside Clopper and Pearson's."""
    N = 10_000
    draws = Draws(np.arange(labels), uniform_probability(N, labels), N)
    est = estimate((np.arange(labels) < errors).astype(np.float64), draws)
    low, high = clopper_pearson(errors, labels, LEVEL)
    return {
        "pool": f"{errors} error{'s' * (errors > 1)} in {labels} uniform labels",
        "pool_size": N,
        "labels": labels,
        "width_once": est.high - est.low,
        "width_random": float(high - low),
    }


def _design(pool: RealPool) -> tuple[FloatArray, FloatArray]:
    """The weights of a campaign for the error rate, and the errors that its model expects."""
    classes = tuple(map(str, range(pool.pred.shape[1])))
    predictions = PoolPredictions(len(pool), classes, proba=pool.pred)
    control = ERROR.control(predictions)
    assert control is not None
    score = proportional(ERROR.score(predictions), allow_zero=True)
    return mixture(score, share=FLOOR), control


def _draw(
    weights: FloatArray, control: FloatArray, budget: int, repetitions: int, rng: Generator
) -> Trajectories:
    return frozen(weights, budget, repetitions, control=control, bound=1.0, rng=rng)


def _values(pool: RealPool, draws: Trajectories, budget: int) -> FloatArray:
    losses = pool.errors[draws.index[:, :budget]]
    return moments(losses, draws.probability[:, :budget], len(pool)).value


def _campaigns(pool: RealPool, draws: Trajectories, budget: int, values: FloatArray) -> Row:
    """Widths, coverage and worth of many campaigns with the same budget."""
    N, losses = len(pool), pool.errors
    truth = float(losses.mean())
    look = plan_looks(budget, N, N_LOOKS, SHARE * (1 - LEVEL))[-1]
    once, shown, holds, worth = [], [], [], []
    for own in draws.draws(N):
        drawn = own[:budget]
        loss = losses[drawn.index]
        read = estimate(loss, drawn)
        final = estimate(loss, drawn, level=1 - look.alpha)
        q, design = drawn.probability, drawn.design
        watched = betting_interval(loss, q, N, (0, 1), BETWEEN, design=design)
        low, high = cut_limits((final.low, final.high), watched)
        once.append(read.high - read.low)
        shown.append(float(high - low))
        holds.append(bool(low <= truth <= high))
        worth.append(np.nan if read.worth is None else read.worth)
    s2, V = truth * (1 - truth), float(np.mean((values - truth) ** 2))
    true_worth = s2 / (V + s2 / N)
    random = _random_width(int(losses.sum()), N, budget)
    return {
        "pool": pool.name,
        "pool_size": N,
        "labels": budget,
        "truth": truth,
        "repetitions": len(shown),
        "width_shown": float(np.mean(shown)),
        "width_once": float(np.mean(once)),
        "width_random": random,
        "saved": (random / float(np.mean(shown))) ** 2,
        "coverage": float(np.mean(holds)),
        "true_worth": true_worth,
        "worth_ratio": float(np.nanmean(worth)) / true_worth,
        "worth_told": float(np.mean(np.isfinite(worth))),
    }


def _random_width(errors: int, pool_size: int, budget: int) -> float:
    """The expected width of Clopper and Pearson's interval after uniform labels."""
    from scipy.stats import hypergeom

    seen = np.arange(max(0, budget - pool_size + errors), min(errors, budget) + 1)
    n = budget * (pool_size - 1) / (pool_size - budget)
    low, high = clopper_pearson(n * seen / budget, n, LEVEL)
    return float(np.sum(hypergeom.pmf(seen, pool_size, errors, budget) * (high - low)))


def claims(table: pa.Table, settings: SavedSettings) -> list[Claim]:
    """The bars of labels saved, of `worth`, and of the width after few errors."""
    rows = table.to_pylist()
    real = [row for row in rows if row["saved"] is not None]
    few = [row for row in rows if row["saved"] is None]
    last = [row for row in real if row["labels"] == settings.budgets[-1]]
    median = float(np.median([row["saved"] for row in last]))
    least = {
        labels: min((row for row in real if row["labels"] == labels), key=lambda row: row["saved"])
        for labels in settings.budgets
    }
    bars = dict(zip(settings.budgets, (0.75, 0.85), strict=False))
    ratios = {row["pool"]: row["worth_ratio"] for row in last}
    widest = max(row["width_once"] / row["width_random"] for row in few)
    M = settings.budgets[-1]
    return [
        make_claim(
            "labels-saved",
            f"With {M} labels, as many random labels with Clopper and Pearson's interval would "
            f"have to be at least 1.3 times as many for the width that a campaign shows (median "
            f"of the pools).",
            f"{median:.2f} ({_listed({row['pool']: row['saved'] for row in last})})",
            "holds" if median >= 1.3 else "does not hold",
        ),
        make_claim(
            "labels-saved-least",
            "On no pool does a campaign need many more labels than random ones: the labels saved "
            "are never below " + ", ".join(f"{bar} with {n}" for n, bar in bars.items()) + ".",
            ", ".join(f"{row['saved']:.2f} with {n} ({row['pool']})" for n, row in least.items()),
            "holds"
            if all(least[n]["saved"] >= bar for n, bar in bars.items())
            else "does not hold",
        ),
        make_claim(
            "worth",
            f"The mean of `worth` over campaigns of {M} labels is 0.9 to 1.1 times the number of "
            f"random labels that are truly as precise, on every pool.",
            _listed(ratios),
            "holds" if all(0.9 <= ratio <= 1.1 for ratio in ratios.values()) else "does not hold",
            f"The true number is from the variance of {settings.for_variance:,} estimates.",
        ),
        make_claim(
            "few-errors",
            "After few errors in uniform labels the interval is at most 1.1 times as wide as "
            "Clopper and Pearson's.",
            _listed({row["pool"]: row["width_once"] / row["width_random"] for row in few}),
            "holds" if widest <= 1.1 else "does not hold",
        ),
    ]


def _listed(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in values.items())


def figures(table: pa.Table, settings: SavedSettings) -> Mapping[str, Plot]:
    """Labels saved on each pool, one dot a budget, the pool that saves most at the top."""
    plt = optional("matplotlib.pyplot", extra="plots")
    rows = [row for row in table.to_pylist() if row["saved"] is not None]
    last = max(row["labels"] for row in rows)
    order = sorted((row for row in rows if row["labels"] == last), key=lambda row: row["saved"])
    pools = [row["pool"] for row in order]
    fig, axes = plt.subplots(figsize=(9, 0.65 * len(pools) + 1.8), layout="constrained")
    for row in rows:
        at, final = pools.index(row["pool"]), row["labels"] == last
        _saved_dot(axes, row, at, final=final, top=at == len(pools) - 1)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_yticks(range(len(pools)), _names(order), fontsize=12)
    axes.set_ylim(-0.6, len(pools) - 0.4)
    axes.tick_params(axis="x", labelsize=11)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, 1.12 * max(1.0, *(row["saved"] for row in rows)))
    axes.set_xlabel("random labels needed for the same width / labels", fontsize=13)
    axes.grid(axis="x", alpha=0.25)
    axes.spines[["top", "right", "left"]].set_visible(False)
    title = "left of the line: random labels are better; right of it: the campaign saves labels"
    axes.set_title(title, fontsize=12, loc="left")
    plt.close(fig)
    return {"labels-saved": fig}


def _names(rows: Sequence[Row]) -> list[str]:
    return [f"{row['pool']}\n{row['truth']:.1%} errors" for row in rows]


def _saved_dot(axes: Plot, row: Row, at: int, *, final: bool, top: bool) -> None:
    """A dot with its number, below the line for the smaller budgets; the top one says which."""
    colour = "#0072B2" if final else "#777777"
    axes.scatter(row["saved"], at, s=130, color=colour, zorder=3)
    axes.annotate(
        f"{row['saved']:.2f}" + (f" with {row['labels']} labels" if top else ""),
        (row["saved"], at),
        xytext=(0, 10 if final else -18),
        textcoords="offset points",
        ha="center",
        fontsize=11,
        color=colour,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        zorder=2,
    )


FULL = SavedSettings()
SMOKE = SavedSettings(trajectories=4, for_variance=40, pools=("digits",), budgets=(20, 40))

STUDIES = {
    "labels-saved": Study(
        name="labels-saved",
        title="Labels saved on real pools, as a user sees them",
        presets={"smoke": SMOKE, "cpu": FULL, "paper": FULL},
        tasks=tasks,
        run=run,
        figures=figures,
        claims=claims,
    )
}
