"""Intervals for a number of labels that was fixed beforehand.

All take the `Moments` of an estimate, of any shape: a thousand trajectories are one call.
"""

import numpy as np

from levelled._check import FloatArray
from levelled.estimators.moments import Moments, moments

_LARGEST_EXPONENT = 700.0  # exp of more than that overflows
_ROUNDING = 1e-14  # a variance of shares below this is rounding
_EVEN = 1e-12
NO_VARIANCE = 1e-24  # rounding leaves less than this where every term is equal


def t_interval(moments: Moments, level: float) -> tuple[FloatArray, FloatArray]:
    """The symmetric interval, for losses of either sign.

    R^ -+ t_df sqrt(V^), with Satterthwaite's degrees of freedom.
    """
    half = t_quantile(moments.df, (1 + level) / 2) * np.sqrt(moments.variance)
    return moments.value - half, moments.value + half


def log_t_interval(
    moments: Moments, level: float, *, quantile: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """The interval on the log scale, for positive losses: R^ exp(-+ t_df sqrt(V^) / R^).

    A few large losses make the estimate right-skewed; the log takes the skew out. `quantile`
    replaces t_df where the interval is to hold at more than one time. The estimate must be
    positive.
    """
    t = t_quantile(moments.df, (1 + level) / 2) if quantile is None else quantile
    exponent = np.minimum(t * np.sqrt(moments.variance) / moments.value, _LARGEST_EXPONENT)
    return moments.value * np.exp(-exponent), moments.value * np.exp(exponent)


def effective(
    moments: Moments,
    losses: FloatArray,
    weights: FloatArray,
    level: float,
    *,
    design_size: float | None = None,
    population: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """The binomial sample that weighted losses in [0, 1] amount to: their share, and its size.

    With p the estimate, n_0 = p (1 - p) / V^ is the size that the variance implies and Kish's
    size k, at most that of the design, the one that the weights w~_m imply. The fewer errors
    have been seen, and the smaller their weights beside the largest, the less reliable V^ is, so
    the two are blended:

        1/n = (1 - lambda)/n_0 + lambda/min(k, n_0),  lambda = (1 + sum w~_m L_m / max w~)^-2

    and n is shrunk by (z / t_df)^2, with the degrees of freedom of `_error_df`. Errors are
    counted by their weight beside the largest, so that the interval also holds where the
    predictor behind the proposal misses a part of the errors: those few then carry most of the
    variance.
    """
    N, M = moments.pool_size, moments.budget
    fraction, most = M / N, M if design_size is None else min(M, design_size)
    kish = np.minimum(weights.sum(axis=-1) ** 2 / np.sum(weights**2, axis=-1), most)
    if population:  # labelling more of a finite pool does not make it more certain
        share = np.clip(moments.value, 0, 1)
    else:
        kish = kish * (-np.log1p(-fraction) / fraction)
        share = np.clip(moments.value, moments.total / N, (moments.total + N - M) / N)
    share = np.where(moments.total == 0, 0.0, share)
    errors = weights * losses
    count = errors.sum(axis=-1) / np.maximum(weights.max(axis=-1), 1)
    return share, binomial_size(share, moments.variance, kish, count, _error_df(errors), level)


def binomial_size(
    share: FloatArray,
    variance: FloatArray,
    kish: FloatArray,
    errors: FloatArray,
    df: FloatArray,
    level: float,
) -> FloatArray:
    """The n of `effective`; `errors` is the sum of w~_m L_m / max w~."""
    from scipy.special import ndtri

    informative = (variance > _ROUNDING) & (share > 0) & (share < 1)
    n0 = np.where(informative, share * (1 - share) / np.where(informative, variance, 1), kish)
    doubt = (1 + errors) ** -2.0
    size = 1 / ((1 - doubt) / n0 + doubt / np.minimum(kish, n0))
    upper = (1 + level) / 2
    shrink = (float(ndtri(upper)) / t_quantile(df, upper)) ** 2
    return np.where(informative, size * shrink, size)


def _error_df(errors: FloatArray) -> FloatArray:
    """Degrees of freedom for the unevenness of the weighted losses e that are above 0.

        df = 2 / r,    r = sum e^4 / (sum e^2)^2 - 1 / count

    Equal ones lose nothing: the binomial distribution allows for their number already.
    """
    squares = errors**2
    total, count = squares.sum(axis=-1), np.maximum(np.count_nonzero(errors, axis=-1), 1)
    r = np.sum(squares**2, axis=-1) / np.where(total > 0, total, 1) ** 2 - 1 / count
    return np.where(r > _EVEN, np.maximum(2 / np.maximum(r, _EVEN), 1), np.inf)


def cp_safe(
    moments: Moments,
    losses: FloatArray,
    weights: FloatArray,
    level: float,
    *,
    design_size: float | None = None,
    population: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """Clopper and Pearson's interval for the effective binomial sample, for losses in [0, 1].

    `weights` are w~_m = 1 / ((N - m + 1) q_m). It holds where no error has been seen yet and
    where a normal approximation would be far off. Widened by half an item on either side.
    """
    share, size = effective(
        moments, losses, weights, level, design_size=design_size, population=population
    )
    low, high = clopper_pearson(size * share, size, level)
    half_item = 1 / (2 * moments.pool_size)
    return low - half_item, high + half_item


def clopper_pearson(
    x: FloatArray | float, n: FloatArray | float, level: float
) -> tuple[FloatArray, FloatArray]:
    """Clopper and Pearson's interval for x errors in n labels; neither need be whole.

    >>> low, high = clopper_pearson(1, 100, 0.95)
    >>> round(float(low), 5), round(float(high), 5)
    (0.00025, 0.05446)
    """
    from scipy.special import betaincinv

    x, n, tail = np.asarray(x), np.asarray(n), (1 - level) / 2
    none, all_ = x <= 0, n - x <= 0
    low = np.where(none, 0, betaincinv(np.where(none, 1, x), n - x + 1, tail))
    high = np.where(all_, 1, betaincinv(x + 1, np.where(all_, 1, n - x), 1 - tail))
    return low, high


def signed_cp_safe(
    losses: FloatArray,
    probability: FloatArray,
    pool_size: int,
    level: float,
    *,
    bounds: tuple[float, float],
    size: float,
    variance: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Limits of the mean of losses of either sign within `bounds`, such as differences of losses.

    The positive parts and the negative parts have intervals of their own by `cp_safe`, which
    `square_and_add` puts together as if they were independent. Where the `variance` V of the mean
    is larger than the sum S of the parts' variances, z^2 (V - S) is added to the square of either
    side. V is that of the losses, unless more than the losses is uncertain.

    `size` is the number of uniform labels that would be as likely to show an item of the heaviest
    weight. Two models may differ just where the proposal hardly looks, so an item whose
    difference has not been seen may be such a one.
    """
    from scipy.special import ndtri

    least, most = bounds
    weights = ranked_weights(probability, pool_size)
    parts, spread = [], np.zeros(losses.shape[:-1])
    for part, bound in ((np.maximum(losses, 0), most), (np.maximum(-losses, 0), -least)):
        unit = part / bound if bound > 0 else part
        found = moments(unit, probability, pool_size)
        low, high = cp_safe(found, unit, weights, level, design_size=size)
        scale = max(bound, 0.0)
        parts.append((scale * found.value, scale * np.maximum(low, 0), scale * np.minimum(high, 1)))
        spread = spread + scale**2 * found.variance
    V = moments(losses, probability, pool_size).variance if variance is None else variance
    more = float(ndtri((1 + level) / 2)) * np.sqrt(np.maximum(V - spread, 0))
    value, (low, high) = parts[0][0] - parts[1][0], square_and_add(*parts)
    return value - np.hypot(value - low, more), value + np.hypot(high - value, more)


def square_and_add(
    gain: tuple[FloatArray, FloatArray, FloatArray], loss: tuple[FloatArray, FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """The interval of a difference p - r from (p, low, high) and (r, low, high).

    The lower limit is p - r - hypot(p - low_p, high_r - r), the upper one its mirror image (the
    square-and-add method of Newcombe, 1998). A t interval of the differences fails while few of
    them have been seen.
    """
    (p, p_low, p_high), (r, r_low, r_high) = gain, loss
    return p - r - np.hypot(p - p_low, r_high - r), p - r + np.hypot(p_high - p, r - r_low)


def ranked_weights(probability: FloatArray, pool_size: int) -> FloatArray:
    """The weights w~_m = 1 / ((N - m + 1) q_m), of mean one at every step, one if uniform."""
    left = pool_size - np.arange(float(probability.shape[-1]))
    return 1 / (left * probability)


def t_quantile(df: FloatArray, probability: FloatArray | float) -> FloatArray:
    """The quantile of Student's t."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(df, probability))
