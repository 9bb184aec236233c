"""Diagnostics of a set of draws: effective sizes, largest weights, shares of the variance."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray
from levelled.draws import Draws
from levelled.errors import InputError
from levelled.estimators import lure, pure
from levelled.estimators.intervals.fixed import ranked_weights
from levelled.estimators.loss_sample import check_losses


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    """The number of uniform labels that draws are worth, and the items that carry the uncertainty.

    `effective_size` is the number of uniform labels that the realised weights are worth. It is
    largest while the rare huge weight has not been drawn yet, so decisions are made by
    `design_size`, which counts all that could have been drawn; it is None for draws without
    the design column "dispersion". `heaviest` is the pool index of the largest weight.
    `variance_share` is the share of each draw in the estimated variance.
    """

    effective_size: float
    design_size: float | None
    max_weight: float
    heaviest: int
    variance_share: FloatArray


def diagnose(losses: ArrayLike, draws: Draws) -> Diagnosis:
    """The effective sizes, the largest weight and the shares of the variance of an estimate.

    >>> diagnosis = diagnose([1.0, 0.0, 1.0], Draws([4, 1, 0], [0.5, 0.01, 0.3], pool_size=9))
    >>> diagnosis.heaviest, round(diagnosis.effective_size, 1)
    (1, 1.2)
    """
    losses = check_losses(losses, draws)
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
    """Kish's effective size, (sum w)^2 / sum w^2: equal weights count fully."""
    square = float(np.sum(weights**2))
    return float(weights.sum()) ** 2 / square if square > 0 else 0.0


def design_size(draws: Draws) -> float:
    """The number of uniform labels that the design is worth: M over the mean of its dispersions.

        D_m = sum_{n not yet drawn} 1 / ((N - m + 1)^2 q_m(n)),    1 for uniform draws

    Without the column "dispersion" each D_m is replaced by w~_m^2, of which it is the mean.
    """
    design = draws.design or {}
    weights = ranked_weights(draws.probability, draws.pool_size)
    return len(draws) / float(np.mean(design.get("dispersion", weights**2)))


def heaviest_size(draws: Draws) -> float:
    """The number of uniform labels as likely to show one of the items that are drawn least.

    M over the largest weight w~_m that could have been drawn, at most `design_size`. Without the
    column "max_weight" it is the largest that was drawn.

    >>> heaviest_size(Draws([2, 0], [0.5, 0.25], 4, design={"max_weight": np.array([4.0, 2.0])}))
    0.5
    """
    N, M = draws.pool_size, len(draws)
    heaviest = float(ranked_weights(draws.probability, N).max())
    if (column := (draws.design or {}).get("max_weight")) is not None:
        heaviest = max(heaviest, float(np.max(N * column / (N - np.arange(float(M))))))
    return min(M / heaviest, design_size(draws))


def thin_warning(draws: Draws, size: float) -> str:
    """A sentence on why the labels are worth only `size` uniform ones, and what to do about it."""
    weights = np.sort(ranked_weights(draws.probability, draws.pool_size))[::-1]
    share = np.cumsum(weights) / weights.sum()
    heavy = int(np.searchsorted(share, 0.5)) + 1
    text = f"{len(draws)} labels behave like {max(size, 1):.0f}"
    if heavy <= max(3, len(draws) // 10):
        items = "1 item carries" if heavy == 1 else f"{heavy} items carry"
        text += f", because {items} {share[heavy - 1]:.0%} of the weight"
    else:
        text += ", because some items of the pool have hardly any chance of being drawn"
    return text + ": raise the floor of the proposal"
