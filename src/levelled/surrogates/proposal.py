"""Proposals that follow the spread of each item's loss, with a floor that falls.

For several metrics, the one that loses most by the proposal loses as little as it can. As the
predictor expects it, the estimate of metric k has the variance

    V_k(q) = 1/N^2 sum_n s_k(n)^2 / q(n)

with s_k^2 the variance of a loss, or its mean square where the estimate has no control. Let V*_k
be its smallest value, that of a proposal for this metric alone. The largest V_k(q) / V*_k is
smallest at some q in proportion to sqrt(sum_k a_k s_k^2), with shares a_k that make these ratios
equal for all metrics with a_k > 0.
"""

from dataclasses import dataclass

import numpy as np

from levelled._check import BoolArray, FloatArray, IntArray
from levelled.samplers import ClassChance

# A floor from the running variance of the estimate did worse than one that falls with the errors.
_LEAST_FLOOR, _FIRST_FLOOR, _HALVED_AT = 0.2, 0.75, 10.0
_STEPS = 100
_BLOCK = 1 << 20
"""Items added up at once, so that intermediate results need little memory."""
GUARANTEED_FLOOR = 0.75
"""The floor where an interval must hold whatever the predictor is worth: errors hidden where the
floor is c are found no sooner than in 1 / c times the labels of uniform draws."""
_BALANCING_STEPS, _GAP = 200, 1e-3
_SAMPLED = 20_000
"""About so many items decide the shares."""


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


@dataclass(frozen=True, slots=True, eq=False)
class ClassShare:
    """Where a class is predicted, and its share among the other classes where it is not."""

    predicted: BoolArray
    among_others: FloatArray

    def chance(self, error: FloatArray, rows: IntArray) -> ClassChance:
        """The chance of the class for these rows of the run, from their predicted errors.

        >>> spam = ClassShare(np.array([True, False, False]), np.array([0.0, 1.0, 0.5]))
        >>> spam.chance(np.array([0.1, 0.2, 0.2]), np.arange(3)).chance
        array([0.9, 0.2, 0.1])
        """
        predicted, share = self.predicted[rows], self.among_others[rows]
        return ClassChance(np.where(predicted, 1 - error, share * error), predicted)


@dataclass(frozen=True, slots=True, eq=False)
class LearntClass:
    """Where a class is predicted whose own chance is learnt, not that of an error."""

    predicted: BoolArray

    def chance(self, learnt: FloatArray, rows: IntArray) -> ClassChance:
        """The chance of the class for these rows of the run, which is what was learnt."""
        return ClassChance(learnt, self.predicted[rows])


@dataclass(frozen=True, slots=True, eq=False)
class AverageAim:
    """The mean of a loss that is `base` without an error and `effect` more with one.

    `noise` is the variance of the loss given an error. `has_control` is True where the estimate of
    the metric uses the predictor.
    """

    base: FloatArray | float
    effect: FloatArray | float
    noise: FloatArray | float
    has_control: bool

    def moments(self, error: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mean and the variance of each item's loss, from the errors predicted in the pool."""
        variance = self.effect**2 * error * (1 - error) + self.noise * error
        return self.base + self.effect * error, variance


@dataclass(frozen=True, slots=True, eq=False)
class RatioAim:
    """A ratio theta = A / D of one class, whose loss is its influence A - theta D.

    `outcomes` [2, 2, 2] are A and D of an item predicted to be of the class and of another one,
    each if its label is not of the class and if it is. theta is what the errors predict.
    """

    share: ClassShare
    outcomes: FloatArray
    has_control: bool

    def moments(self, error: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mean and the variance of each item's influence.

        >>> mail = ClassShare(np.array([True, False]), np.array([0.0, 1.0]))
        >>> recall = RatioAim(mail, np.array([[[0, 0], [1, 1]], [[0, 0], [0, 1.0]]]), True)
        >>> [column.round(3).tolist() for column in recall.moments(np.array([0.2, 0.2]))]
        [[0.16, -0.16], [0.006, 0.102]]
        """
        h = self.share.chance(error, np.arange(len(error))).chance
        base, effect = self.outcomes[:, 0], self.outcomes[:, 1] - self.outcomes[:, 0]
        part = np.where(self.share.predicted, 0, 1)
        A, D = (base[part] + effect[part] * h[:, None]).sum(axis=0).tolist()
        influence = np.array([1.0, -A / D if D else 0.0])
        slope = (effect @ influence)[part]
        return (base @ influence)[part] + slope * h, slope**2 * h * (1 - h)


Aim = AverageAim | RatioAim
"""A metric that draws are to serve, whose loss follows from the chance of an error."""


def importance_of(aim: Aim, error: FloatArray, left: IntArray) -> FloatArray:
    """s^2 of the items left over its mean, for one metric; 0 for one that cannot vary."""
    mean, variance = (column[left] for column in aim.moments(error))
    square = variance if aim.has_control else variance + mean**2
    return square / max(float(square.mean()), np.finfo(float).tiny)


def balanced_shares(importance: FloatArray, floor: float) -> FloatArray:
    """The shares a [K] under which the largest V_k / V*_k is smallest, from s_k^2 [K, N].

    For given shares the best proposal with a floor is a water-filled one. Its V_k / V*_k are the
    slope of a concave function of a_k V*_k, homogeneous of degree 1. Shares grow in proportion
    to them until the largest ratio is their mean, but for 1 in 1,000.

    >>> balanced_shares(np.array([[1.0, 1.0, 4.0], [1.0, 9.0, 1.0]]), 0.2).round(2)
    array([0.61, 0.39])
    """
    some = importance[:, :: max(importance.shape[1] // _SAMPLED, 1)]
    alone = np.array([s @ (1 / water_filled(np.sqrt(s), floor)) for s in some])
    units = np.divide(1, alone, out=np.zeros(len(some)), where=alone > 0)
    shares = np.full(len(some), 1 / len(some))
    for _ in range(_BALANCING_STEPS):
        balanced = water_filled(np.sqrt((shares * units) @ some), floor)
        ratios = units * (some @ (1 / balanced))
        mean = float(shares @ ratios)
        if ratios.max() <= (1 + _GAP) * mean:
            break
        shares = shares * ratios / mean
    total = float((shares * units).sum())
    return shares * units / total if total > 0 else shares
