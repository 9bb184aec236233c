"""How much a set of draws can be trusted, before and after the labels are known."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray
from levelled.draws import Draws
from levelled.errors import InputError
from levelled.estimators import lure, pure
from levelled.estimators.intervals.fixed import ranked_weights
from levelled.estimators.loss_sample import checked_losses

__all__ = ["Diagnosis", "design_size", "diagnose", "effective_size", "thin_warning"]


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    """What the weights of a set of draws are worth, and who carries the uncertainty.

    `effective_size` is how many uniform labels the realised weights are worth. It looks best
    exactly while the rare huge weight has not come up yet, so decisions are made by
    `design_size`, which counts all that could have been drawn; it is None for draws without
    the design column "dispersion". `heaviest` is the pool index of the largest weight.
    `variance_share` says, draw by draw, how much of the estimated variance is its doing.
    """

    effective_size: float
    design_size: float | None
    max_weight: float
    heaviest: int
    variance_share: FloatArray


def diagnose(losses: ArrayLike, draws: Draws) -> Diagnosis:
    """Look behind an estimate: sizes, the largest weight and whose, shares of the variance.

    >>> found = diagnose([1.0, 0.0, 1.0], Draws([4, 1, 0], [0.5, 0.01, 0.3], pool_size=9))
    >>> found.heaviest, round(found.effective_size, 1)
    (1, 1.2)
    """
    losses = checked_losses(losses, draws)
    N, M = draws.pool_size, len(draws)
    if not M:
        raise InputError("There is nothing to diagnose before the first label.")
    weights = lure.lure_weights(draws)
    shares = lure.levels(N, M) / M
    a = pure.terms(losses, draws.probability, N)
    squares = (shares * (a - np.sum(shares * a))) ** 2
    return Diagnosis(
        effective_size=effective_size(weights),
        design_size=design_size(draws) if "dispersion" in (draws.design or {}) else None,
        max_weight=float(weights.max()),
        heaviest=int(draws.index[weights.argmax()]),
        variance_share=squares / squares.sum() if squares.any() else squares,
    )


def effective_size(weights: FloatArray) -> float:
    """Kish's size, (sum w)^2 / sum w^2: equal weights count fully."""
    square = float(np.sum(weights**2))
    return float(weights.sum()) ** 2 / square if square > 0 else 0.0


def design_size(draws: Draws) -> float:
    """How many uniform labels the design is worth: M over the mean of its dispersions.

        D_m = sum_{n not yet drawn} 1 / ((N - m + 1)^2 q_m(n)),    1 for uniform draws

    Without the column "dispersion" each D_m is replaced by w~_m^2, of which it is the mean.
    """
    design = draws.design or {}
    weights = ranked_weights(draws.probability, draws.pool_size)
    return len(draws) / float(np.mean(design.get("dispersion", weights**2)))


def thin_warning(draws: Draws, size: float) -> str:
    """Why few labels are worth even fewer, and what to do about it."""
    weights = np.sort(ranked_weights(draws.probability, draws.pool_size))[::-1]
    share = np.cumsum(weights) / weights.sum()
    heavy = int(np.searchsorted(share, 0.5)) + 1
    told = f"{len(draws)} labels behave like {max(size, 1):.0f}"
    if heavy <= max(3, len(draws) // 10):
        items = "1 item carries" if heavy == 1 else f"{heavy} items carry"
        told += f", because {items} {share[heavy - 1]:.0%} of the weight"
    else:
        told += ", because some items of the pool have hardly any chance to be drawn"
    return told + ": raise the floor of the proposal"
