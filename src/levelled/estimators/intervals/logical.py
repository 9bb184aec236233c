"""Limits on the pool risk that are certain, whatever the losses of the items not drawn."""

import numpy as np

from levelled._check import FloatArray
from levelled.errors import InputError, LossError

Bounds = tuple[float, float]
LARGEST = 1e100
"""A larger loss cannot be squared and summed."""
UNBOUNDED: Bounds = (0.0, np.inf)
"""Losses that are never negative, and of which nothing else is known."""

_ULPS = 4 * np.finfo(np.float64).eps


def logical_limits(
    total: FloatArray, budget: int, pool_size: int, bounds: Bounds
) -> tuple[FloatArray, FloatArray]:
    """The range of pool risks that the losses seen so far leave possible.

        [(S_M + A (N - M)) / N,  (S_M + B (N - M)) / N]    for losses in [A, B]

    Either bound may be infinite. Every interval is cut to this range.

    >>> low, high = logical_limits(np.array(2.0), 5, 10, (0.0, 1.0))
    >>> float(low), float(high)
    (0.2, 0.7)
    """
    unseen = pool_size - budget
    if unseen == 0:
        return total / pool_size, total / pool_size
    low, high = ((total + bound * unseen) / pool_size for bound in bounds)
    # The rounding of a sum depends on the order of its terms, unless it is a count.
    exact = (budget == 1) | (total == np.floor(total))
    slack = np.where(exact, 0.0, _ULPS * np.abs(total) / pool_size)
    return low - slack, high + slack


def bounds_of(losses: FloatArray, declared: Bounds | None = None) -> Bounds:
    """The declared bounds of the losses; without them [0, 1] for 0/1 losses, else no upper one.

    Losses outside the declared bounds are refused.

    >>> bounds_of(np.array([0.0, 1.0, 1.0]))
    (0.0, 1.0)
    >>> bounds_of(np.array([0.2, 3.0]))
    (0.0, inf)
    """
    if declared is not None:
        bounds = as_bounds(declared)
        check_bounds(losses, bounds)
        return bounds
    if np.isin(losses, (0, 1)).all():
        return 0.0, 1.0
    return (-np.inf if (losses < 0).any() else 0.0), np.inf


def check_bounds(losses: FloatArray, bounds: Bounds) -> None:
    """Refuse losses outside the declared bounds, because the interval would not hold."""
    low, high = bounds
    outside = losses[(losses < low) | (losses > high)]
    if outside.size:
        raise LossError(
            f"{outside.size} of {losses.size} losses lie outside the declared bounds "
            f"[{low:g}, {high:g}], the first is {outside[0]:g}. An interval that relies on "
            f"those bounds would not hold: declare wider ones, or cap the loss itself."
        )


def as_bounds(bounds: tuple[float, float]) -> Bounds:
    """Return `bounds` as two ordered numbers."""
    try:
        low, high = (float(bound) for bound in bounds)
    except (TypeError, ValueError) as wrong:
        raise InputError(
            f"bounds must be two numbers such as (0, 1); they are {bounds!r}."
        ) from wrong
    if not low < high or (np.isfinite(high) and high > LARGEST):
        raise InputError(
            f"The lower of the bounds must be below the upper, and that at most {LARGEST:g} or "
            f"infinite; they are {bounds!r}."
        )
    return low, high
