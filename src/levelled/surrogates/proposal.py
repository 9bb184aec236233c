"""Probabilities in proportion to the spread of each item's loss, with a floor that falls."""

import numpy as np

from levelled._check import FloatArray

_LEAST_FLOOR, _FIRST_FLOOR, _HALVED_AT = 0.2, 0.75, 10.0
_STEPS = 100
_BLOCK = 1 << 20
"""Items added up at once, so that intermediate results need little memory."""
GUARANTEED_FLOOR = 0.75
"""The floor where an interval must hold whatever the predictor is worth: errors hidden where the
floor is c are found no sooner than in 1 / c times the labels of uniform draws."""


def floor_after(errors: float) -> float:
    """The floor of the proposal once so many errors have been found.

    The more evidence there is, the more the predictor is trusted with.

    >>> [round(floor_after(n), 3) for n in (0, 10, 100)]
    [0.75, 0.375, 0.2]
    """
    return max(_LEAST_FLOOR, _FIRST_FLOOR / (1 + errors / _HALVED_AT))


def water_filled(spread: FloatArray, floor: float) -> FloatArray:
    """Probabilities in proportion to max(spread, t), with t so that the least is floor / N.

    Small spreads are lifted, and large ones keep their proportions.

    >>> water_filled(np.array([0.0, 0.1, 0.4]), 0.5).round(3)
    array([0.167, 0.167, 0.667])
    """
    return water_fill(spread.copy(), floor)


def water_fill(spread: FloatArray, floor: float) -> FloatArray:
    """The same as `water_filled` in the memory of `spread`, which is overwritten."""
    np.maximum(spread, _water_level(spread, floor), out=spread)
    total = spread.sum()
    if not total > 0:
        spread[:] = 1 / len(spread)
        return spread
    spread /= total
    return spread


def _water_level(spread: FloatArray, floor: float) -> float:
    """The level t of `water_filled`, by Newton's method on a convex, piecewise linear function."""
    n, t = len(spread), 0.0
    for _ in range(_STEPS):
        total, count = _above(spread, t)
        slope = n / floor - (n - count)
        new = total / slope if slope > 0 else float(spread.max())
        if new <= t * (1 + 1e-12):
            break
        t = new
    return t


def _above(spread: FloatArray, t: float) -> tuple[float, int]:
    """The sum and the number of spreads above t."""
    total, count = 0.0, 0
    for start in range(0, len(spread), _BLOCK):
        some = spread[start : start + _BLOCK]
        above = some > t
        total += float(some[above].sum())
        count += int(np.count_nonzero(above))
    return total, count
