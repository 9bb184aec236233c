"""Value, variance and limits of a ratio of two pool means, such as precision.

    theta = A / D,    theta^ = sum_m v_m A_m / sum_m v_m D_m

with the weights v_m of R_LURE. Its error is, to first order, that of the mean of the residuals
(A_m - theta^ D_m) / Dbar, Dbar = mean(v D), so their variance is the variance of theta^. All
arrays are [..., M], so that a thousand trajectories are one call.

Where the pool mean of D is known exactly, Dbar is estimated all the same: among draws that happen
to hold few units with D > 0 the estimate is worse, and mean(v D) reflects that. With the exact
mean the same width covers less (precision, 3% positives, 100 labels: 0.94 instead of 0.98).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from levelled._check import BoolArray, FloatArray
from levelled.draws import Draws
from levelled.estimators import lure
from levelled.estimators.intervals.anytime import wilson
from levelled.estimators.intervals.fixed import t_quantile
from levelled.estimators.moments import Moments, moments

MOST = 4.0
"""The largest effective sample, in multiples of Kish's size, that a variance may imply."""


@dataclass(frozen=True, slots=True, eq=False)
class RatioMoments:
    """A ratio estimated from M draws, for one trajectory or many at once."""

    value: FloatArray
    """theta^, or 0 where no unit with D > 0 has been drawn."""
    residual: Moments
    """Moments of the residuals (A - theta^ D) / Dbar."""
    residuals: FloatArray
    denominator: FloatArray
    """Dbar, or 0."""
    size: FloatArray
    """Kish's size of the units with D > 0: the number of uniform draws that is as precise."""
    count: FloatArray
    """The number of units with D > 0."""
    minority: FloatArray
    """The units with A > 0 or those with A < D, whichever are fewer, each counted as its weight
    over the largest weight."""

    @property
    def defined(self) -> BoolArray:
        """True where a unit with D > 0 has been drawn, so that there is a ratio."""
        return self.count > 0


def ratio_moments(
    numerator: FloatArray,
    denominator: FloatArray,
    probability: FloatArray,
    pool_size: int,
    max_weight: FloatArray | None = None,
) -> RatioMoments:
    """The estimate of a ratio from draws [..., M], and all that its interval needs.

    `max_weight` is the design column: the largest 1 / (N q) that each draw could have had. Units
    are then counted by their weight beside the heaviest that could have been drawn, because the
    rare heavy ones are those that have not come up yet; without it, beside the heaviest drawn.

    >>> ratio = ratio_moments(np.array([1.0, 0, 0]), np.array([1.0, 1, 0]), np.full(3, 0.1), 10)
    >>> round(float(ratio.value), 3), round(float(ratio.size), 3)
    (0.477, 1.996)
    """
    v = lure.weights(probability, pool_size)
    top, bottom = np.sum(v * numerator, axis=-1), np.sum(v * denominator, axis=-1)
    value = top / np.where(bottom > 0, bottom, 1.0)
    mean = bottom / v.shape[-1]
    scale = np.where(bottom > 0, mean, 1.0)
    residuals = (numerator - value[..., None] * denominator) / scale[..., None]
    units = v * (denominator > 0)
    heaviest = np.max(units, axis=-1, keepdims=True)
    if max_weight is not None:
        possible = lure.weights(1 / (pool_size * max_weight), pool_size)
        heaviest = np.maximum(heaviest, np.max(possible, axis=-1, keepdims=True))
    relative = units / np.where(heaviest > 0, heaviest, 1.0)
    minority = np.minimum(
        np.sum(relative * (numerator > 0), axis=-1),
        np.sum(relative * (numerator < denominator), axis=-1),
    )
    count, squares = np.sum(relative, axis=-1), np.sum(relative**2, axis=-1)
    kish = count**2 / np.where(squares > 0, squares, 1.0)
    return RatioMoments(
        value=np.asarray(value),
        residual=moments(residuals, probability, pool_size),
        residuals=residuals,
        denominator=np.asarray(mean),
        size=np.asarray(kish if max_weight is None else np.minimum(kish, count)),
        count=np.asarray(np.sum(denominator > 0, axis=-1)),
        minority=np.asarray(minority),
    )


def draws_ratio(numerator: FloatArray, denominator: FloatArray, draws: Draws) -> RatioMoments:
    """`ratio_moments` of draws, with the column `max_weight` of their design."""
    design = draws.design or {}
    return ratio_moments(
        numerator, denominator, draws.probability, draws.pool_size, design.get("max_weight")
    )


def wilson_limits(ratio: RatioMoments, level: float) -> tuple[FloatArray, FloatArray]:
    """Wilson's interval with t_df for a ratio with 0 <= A <= D, for 2 <= M < N.

        n = theta^ (1 - theta^) / V,    at most 4 k
        V = (1 - lambda) V^ + lambda max(V^, theta^ (1 - theta^) / k),    lambda = 1 / (1 + u)

    V^ is the variance of the residuals and k Kish's size. The fewer and lighter the units u on
    the rarer side (A = 0, or A < D), the less V^ counts: heavy ones may not have been drawn
    yet. (Without lambda a recall was covered 0.90 of the time where a third of the errors were
    such that the proposal did not expect them.) Without any spread the interval is Clopper and
    Pearson's for k labels, so [0, 0] and [1, 1] cannot occur.
    """
    theta = ratio.value
    inside = (ratio.minority > 0) & (theta > 0) & (theta < 1)
    binomial = np.where(inside, theta * (1 - theta), 0.25)
    n = binomial / _variance(ratio, binomial)
    low, high = wilson(theta, n, t_quantile(ratio.residual.df, (1 + level) / 2))
    # Clopper and Pearson's interval for labels that were all on one side.
    reach, top = ((1 - level) / 2) ** (1 / _unseen_size(ratio)), theta > 0.5
    least, most = np.where(top, reach, 0.0), np.where(top, 1.0, 1 - reach)
    return np.where(inside, low, least), np.where(inside, high, most)


def mean_of_ratios(
    parts: Sequence[RatioMoments], probability: FloatArray
) -> tuple[FloatArray, Moments]:
    """The plain mean of several ratios, as in a macro average, and the moments of its residuals.

    The residual of the mean is the mean of the residuals.
    """
    residuals = np.mean([part.residuals for part in parts], axis=0)
    value = np.mean([part.value for part in parts], axis=0)
    return np.asarray(value), moments(residuals, probability, parts[0].residual.pool_size)


def mean_limits(
    parts: Sequence[RatioMoments], value: FloatArray, joint: Moments, level: float
) -> tuple[FloatArray, FloatArray]:
    """An interval for the plain mean of K ratios with 0 <= A <= D, from those of the ratios.

        low = theta^ - max(t_df sqrt(V^), sqrt(sum_k (theta^_k - low_k)^2) / K)

    and high likewise, with V^ the variance of the mean and low_k, high_k the limits of
    `wilson_limits` (the square-and-add method of Zou and Donner, 2008). Those allow for the skew
    of a ratio near 0 or 1, and for classes without spread after a few units; V^ allows for the
    ratios varying together.
    """
    K = len(parts)
    half = t_quantile(joint.df, (1 + level) / 2) * np.sqrt(joint.variance)
    down, up = np.zeros_like(value), np.zeros_like(value)
    for part in parts:
        low, high = wilson_limits(part, level)
        down, up = down + (part.value - low) ** 2, up + (high - part.value) ** 2
    lowest, highest = (np.maximum(half, np.sqrt(reach) / K) for reach in (down, up))
    return np.maximum(value - lowest, 0.0), np.minimum(value + highest, 1.0)


def _variance(ratio: RatioMoments, binomial: FloatArray) -> FloatArray:
    """The variance of a ratio, at least the binomial one where few units are on the rarer side."""
    V, fraction = ratio.residual.variance, ratio.residual.budget / ratio.residual.pool_size
    doubt = 1 / (1 + ratio.minority)
    size = np.where(ratio.defined, ratio.size, 1.0)
    by_size = np.maximum(V, binomial / _unseen_size(ratio))
    return np.maximum((1 - doubt) * V + doubt * by_size, binomial * (1 - fraction) / (MOST * size))


def _unseen_size(ratio: RatioMoments) -> FloatArray:
    """The binomial sample that misses what is rare as often as k units without replacement do."""
    fraction = ratio.residual.budget / ratio.residual.pool_size
    return np.where(ratio.defined, ratio.size, 1.0) * (-np.log1p(-fraction) / fraction)
