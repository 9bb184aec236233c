"""From drawn losses to an estimate with an interval."""

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, between, choice, floats, same_length
from levelled.draws import Draws
from levelled.errors import InputError
from levelled.estimators import lure, naive, pure
from levelled.estimators.intervals.fixed import t_interval
from levelled.estimators.intervals.logical import bounds_of, check_bounds, logical_limits
from levelled.estimators.moments import Moments, moments
from levelled.estimators.record import Estimate

__all__ = ["estimate"]

_WEIGHTS = {
    "lure": lure.lure_weights,
    "pure": pure.pure_weights,
    "naive": naive.naive_weights,
}


def estimate(
    losses: ArrayLike,
    draws: Draws,
    estimator: str = "lure",
    level: float = 0.95,
    interval: str = "auto",
    bounds: tuple[float, float] | None = None,
) -> Estimate:
    """The average loss over the whole pool, from the losses of the drawn items.

    `losses` go in the order of `draws`. `bounds` are limits no loss can pass, such as (0, 1):
    they narrow the interval, and a loss outside them is an error. `interval="none"` leaves the
    interval out and still gives the standard error.

    >>> draws = Draws([4, 1, 0, 7], [0.4, 0.2, 0.3, 0.1], pool_size=20)
    >>> print(estimate([1.0, 0.0, 1.0, 0.0], draws))
    0.1241 [0.1, 0.2365] at 0.95 (lure, t; 4 labels of 20, worth 3)
    """
    losses = floats("losses", losses, ndim=1)
    same_length(losses=losses, draws=draws.index)
    if not len(losses):
        raise InputError("An estimate needs at least one label.")
    level = between("level", level, 0, 1, open_=True)
    choice("estimator", estimator, tuple(_WEIGHTS))
    method = {"auto": "t"}.get(interval, choice("interval", interval, ("auto", "t", "none")))
    if bounds is not None:
        check_bounds(losses, bounds)
    found = moments(losses, draws.probability, draws.pool_size, estimator=estimator)
    limits = _limits(found, method, level, draws.excluded, bounds or bounds_of(losses))
    weights = _WEIGHTS[estimator](draws)
    return Estimate(
        value=float(found.value),
        low=limits[0],
        high=limits[1],
        level=level,
        stderr=float(np.sqrt(found.variance)) if found.budget > 1 else None,
        n_labels=found.budget,
        n_pool=found.pool_size,
        ess=_effective_size(weights),
        max_weight=float(weights.max()),
        estimator=estimator,
        interval=method,
        warnings=_warnings(found, estimator, draws.excluded),
    )


def _limits(
    found: Moments, method: str, level: float, excluded: int, bounds: tuple[float, float]
) -> tuple[float, float]:
    """The interval for what can be drawn, widened by what cannot."""
    drawable = found.pool_size - excluded
    lowest, highest = logical_limits(found.total, found.budget, drawable, bounds)
    lowest, highest = (limit * (drawable / found.pool_size) for limit in (lowest, highest))
    low, high = lowest, highest
    if method == "t" and found.budget > 1:
        low, high = t_interval(found, level)
        low, high = np.maximum(low, lowest), np.minimum(high, highest)
        if low > high:
            low, high = lowest, highest
    if excluded:
        low = low + bounds[0] * excluded / found.pool_size
        high = high + bounds[1] * excluded / found.pool_size
    return float(low), float(high)


def _effective_size(weights: FloatArray) -> float:
    return float(weights.sum() ** 2 / np.sum(weights**2))


def _warnings(found: Moments, estimator: str, excluded: int) -> tuple[str, ...]:
    told = []
    if estimator == "naive":
        told.append("the naive estimate is biased unless the draws were uniform")
    if found.budget == 1:
        told.append("one label shows no spread; the interval is what is logically possible")
    elif not found.exact:
        told.append("the standard error is only rough with two labels, or with one item left")
    if excluded:
        told.append(
            f"{excluded} of {found.pool_size} items could never be drawn; the interval allows "
            f"for any loss of theirs"
        )
    return tuple(told)
