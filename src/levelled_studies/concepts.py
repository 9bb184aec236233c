"""Draw the plot of docs/concepts.md: weights make the drawn items resemble the pool.

python -m levelled_studies.concepts docs/
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from levelled._check import FloatArray
from levelled.draws import Draws
from levelled.estimators import lure_weights
from levelled.proposals import mixture, proportional
from levelled.reports.plots import BLACK, COLOURS, canvas, footnote, legend
from levelled.samplers import race

__all__ = ["Repetitions", "plot", "repeat", "write"]

POOL_SIZE = 5_000
LABELS = 200
FLOOR = 0.1
SEED = 0


@dataclass(frozen=True, slots=True, eq=False)
class Repetitions:
    """Estimates of one pool's error rate, from many independent sets of draws."""

    chance: FloatArray
    """The chance that the model is wrong on each item of the pool."""
    risk: float
    """The true error rate of the pool."""
    naive: FloatArray
    lure: FloatArray
    drawn: FloatArray
    """The chance of error of every drawn item, of all repetitions."""
    weights: FloatArray
    """The weight that R_LURE gives to each of them."""


def repeat(repetitions: int, *, seed: int = SEED) -> Repetitions:
    """Draw and label 200 of 5,000 items in each repetition, likely errors more often."""
    rng = np.random.default_rng(seed)
    chance = rng.beta(1, 5, POOL_SIZE)
    losses = (rng.random(POOL_SIZE) < chance).astype(np.float64)
    probability = mixture(proportional(chance), FLOOR)
    draws = [race(probability, LABELS, seed=seed + n) for n in range(repetitions)]
    weights = [lure_weights(one) for one in draws]
    return Repetitions(
        chance=chance,
        risk=float(losses.mean()),
        naive=np.array([losses[one.index].mean() for one in draws]),
        lure=np.array([_mean(v, losses, one) for v, one in zip(weights, draws, strict=True)]),
        drawn=np.concatenate([chance[one.index] for one in draws]),
        weights=np.concatenate(weights),
    )


def _mean(weights: FloatArray, losses: FloatArray, draws: Draws) -> float:
    return float(np.mean(weights * losses[draws.index]))


def plot(result: Repetitions) -> Any:  # noqa: ANN401
    """Plot the items (pool, drawn, weighted) above and the estimates from them below."""
    figure, (items, estimates) = canvas(rows=2, height=4.2)
    bins = np.linspace(0, 0.8, 25)
    items.hist(result.chance, bins, density=True, color="#BBBBBB", label="pool")
    naive = {"histtype": "step", "color": COLOURS["naive"], "density": True, "linestyle": "--"}
    lure = {"histtype": "step", "color": COLOURS["LURE"], "density": True}
    items.hist(result.drawn, bins, label="drawn, unweighted", **naive)
    items.hist(result.drawn, bins, weights=result.weights, label="drawn, weighted", **lure)
    items.set_ylabel("density of items")
    items.set_xlabel("chance that the model is wrong on the item")
    items.tick_params(labelbottom=True)
    legend(items, "upper right")

    fine = np.arange(-0.5, 0.8 * LABELS, 2) / LABELS  # the naive mean is a whole number of 1/M
    estimates.hist(result.naive, fine, label="naive mean", **naive)
    estimates.hist(result.lure, fine, label="R_LURE", **lure)
    estimates.axvline(
        result.risk, color=BLACK, linestyle=":", linewidth=1.0, label="true error rate"
    )
    estimates.set_ylabel("density of estimates")
    estimates.set_xlabel("estimated error rate of the pool")
    legend(estimates, "upper right")
    footnote(figure, f"N = {POOL_SIZE:,}, M = {LABELS}, {len(result.lure):,} repetitions")
    return figure


def write(folder: Path, repetitions: int = 2_000) -> Path:
    """Write the plot into `folder` and return its path."""
    path = folder / "concepts.png"
    plot(repeat(repetitions)).savefig(path, dpi=200)
    return path


if __name__ == "__main__":
    write(Path(sys.argv[1]))
