"""Value, variance and limits of a ratio of two pool means, such as precision.

    theta = A / D,    theta^ = sum_m v_m A_m / sum_m v_m D_m

with the weights v_m of R_LURE. Its error is, to first order, that of the mean of the residuals
(A_m - theta^ D_m) / Dbar, Dbar = mean(v D), so their variance is the variance of theta^. All
arrays are [..., M], so that a thousand trajectories are one call.

Where the pool mean of D is known exactly, Dbar is estimated all the same: among draws that happen
to hold few units with D > 0 the estimate is worse, and mean(v D) reflects that. With the exact
mean the same width covers less (precision, 3% positives, 100 labels: 0.94 instead of 0.98).

A share has Wilson's limits. For a ratio that is none, the mean of A - theta D is 0 at the true
theta, and the limits are where that cannot be excluded (Fieller, 1954).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import LARGEST, BoolArray, FloatArray, between, choice, floats, same_length
from levelled.draws import Draws, check_draws
from levelled.errors import InputError, LossError
from levelled.estimators import lure
from levelled.estimators.intervals.betting import RatioBetting
from levelled.estimators.intervals.limits import (
    DF_OF_ERROR,
    signed_cp_safe,
    square_and_add,
    t_quantile,
    wilson,
)
from levelled.estimators.moments import (
    POOR,
    THIN,
    GivenValues,
    Moments,
    design_size,
    effective_size,
    heaviest_size,
    moments,
    thin_warning,
    worth,
)
from levelled.estimators.record import Estimate

MOST = 4.0
"""The largest effective sample, in multiples of Kish's size, that a variance may imply.

It guards areas under a curve near 1 (`curves`). On the pools of the study ratios 2 makes the
intervals 0.8% wider and 8 changes nothing.
"""


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
    open_share: FloatArray | float = 1.0
    """The share of the denominator that is not known without draws."""
    known: FloatArray | float = 0.0
    """The part of the ratio that is: the sum of A over them, over the whole denominator."""
    given: FloatArray | float = 0.0
    """The residuals of items that are known without draws, summed before each draw."""

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
    known: FloatArray | None = None,
) -> RatioMoments:
    """The estimate of a ratio from draws [..., M], and all that its interval needs.

    `max_weight` is the design column: the largest 1 / (N q) that each draw could have had. Units
    are then counted by their weight beside the heaviest that could have been drawn, because the
    rare heavy ones are those that have not come up yet; without it, beside the heaviest drawn.
    `known` [2, ..., M] are A and D of items that are known without a draw, summed before each one.

    >>> ratio = ratio_moments(np.array([1.0, 0, 0]), np.array([1.0, 1, 0]), np.full(3, 0.1), 10)
    >>> round(float(ratio.value), 3), round(float(ratio.size), 3)
    (0.477, 1.996)
    """
    v = lure.weights(probability, pool_size)
    M = v.shape[-1]
    top, bottom = np.sum(v * numerator, axis=-1), np.sum(v * denominator, axis=-1)
    known_top, known_bottom, given = np.zeros(()), np.zeros(()), np.zeros(())
    if known is not None:
        known_top, known_bottom = known @ (lure.levels(pool_size, M) / pool_size)
        top, bottom = top + known_top, bottom + known_bottom
    whole = np.where(bottom > 0, bottom, 1.0)
    value = top / whole
    scale = np.where(bottom > 0, bottom / M, 1.0)
    residuals = (numerator - value[..., None] * denominator) / scale[..., None]
    if known is not None:
        given = (known[0] - value[..., None] * known[1]) / scale[..., None]
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
        residual=moments(residuals, probability, pool_size, given=given),
        residuals=residuals,
        denominator=np.asarray(bottom / M),
        size=np.asarray(kish if max_weight is None else np.minimum(kish, count)),
        count=np.asarray(np.sum(denominator > 0, axis=-1)),
        minority=np.asarray(minority),
        open_share=1 - known_bottom / whole,
        known=known_top / whole,
        given=given,
    )


def draws_ratio(
    numerator: FloatArray, denominator: FloatArray, draws: Draws, known: FloatArray | None = None
) -> RatioMoments:
    """`ratio_moments` of draws, with the column `max_weight` of their design."""
    most, N = (draws.design or {}).get("max_weight"), draws.pool_size
    return ratio_moments(numerator, denominator, draws.probability, N, most, known)


def wilson_limits(ratio: RatioMoments, level: float) -> tuple[FloatArray, FloatArray]:
    """Wilson's interval with t_df for a ratio with 0 <= A <= D, for 2 <= M < N.

        n = theta^ (1 - theta^) / V,    at most 4 k
        V = (1 - lambda) V^ + lambda max(V^, theta^ (1 - theta^) / k),    lambda = 1 / (1 + u)

    V^ is the variance of the residuals and k Kish's size. The fewer and lighter the units u on
    the rarer side (A = 0, or A < D), the less V^ counts: heavy ones may not have been drawn
    yet. (Without lambda a recall was covered 0.90 of the time where a third of the errors were
    such that the proposal did not expect them.) Without any spread the interval is Clopper and
    Pearson's for k labels, so [0, 0] and [1, 1] cannot occur. Where a part of the denominator is
    known without draws, all of this is of the rest.
    """
    share = np.where(np.asarray(ratio.open_share) > 0, ratio.open_share, 1.0)
    theta = np.clip((ratio.value - ratio.known) / share, 0.0, 1.0)
    inside = (ratio.minority > 0) & (theta > 0) & (theta < 1)
    binomial = np.where(inside, theta * (1 - theta), 0.25)
    fraction = ratio.residual.budget / ratio.residual.pool_size
    size = np.where(ratio.defined, ratio.size, 1.0)
    # The binomial sample that misses what is rare as often as k units without replacement do.
    unseen_size = size * (-np.log1p(-fraction) / fraction)
    V, doubt = ratio.residual.variance / share**2, 1 / (1 + ratio.minority)
    blended = (1 - doubt) * V + doubt * np.maximum(V, binomial / unseen_size)
    n = binomial / np.maximum(blended, binomial * (1 - fraction) / (MOST * size))
    low, high = wilson(theta, n, t_quantile(ratio.residual.df, (1 + level) / 2))
    # Clopper and Pearson's interval for labels that were all on one side.
    reach, top = ((1 - level) / 2) ** (1 / unseen_size), theta > 0.5
    least, most = np.where(top, reach, 0.0), np.where(top, 1.0, 1 - reach)
    low, high = np.where(inside, low, least), np.where(inside, high, most)
    return ratio.known + share * low, ratio.known + share * high


def combine_ratios(
    parts: Sequence[RatioMoments], probability: FloatArray, signs: Sequence[float] | None = None
) -> tuple[FloatArray, FloatArray, Moments]:
    """The value, the residuals and their moments of 1/K sum_p s_p theta_p, K the number of s_p = 1.

    Without `signs` it is the plain mean of the ratios, as in a macro average. The residual of the
    mean is the mean of the residuals.
    """
    signs = [1.0] * len(parts) if signs is None else signs
    K, pairs = sum(sign > 0 for sign in signs), [*zip(signs, parts, strict=True)]
    value = np.asarray(sum(sign * part.value for sign, part in pairs) / K)
    residuals = np.asarray(sum(sign * part.residuals for sign, part in pairs) / K)
    given = np.asarray(sum(sign * np.asarray(part.given) for sign, part in pairs) / K)
    pool_size = parts[0].residual.pool_size
    return value, residuals, moments(residuals, probability, pool_size, given=given)


def mean_limits(
    parts: Sequence[RatioMoments], probability: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """An interval for the plain mean of K ratios with 0 <= A <= D, from those of the ratios.

        low = theta^ - max(t_df sqrt(V^), sqrt(sum_k (theta^_k - low_k)^2) / K)

    and high likewise, with V^ the variance of the mean and low_k, high_k the limits of
    `wilson_limits` (the square-and-add method of Zou and Donner, 2008). Those allow for the skew
    of a ratio near 0 or 1, and for classes without spread after a few units; V^ allows for the
    ratios varying together. One ratio has the limits of `wilson_limits`.
    """
    if len(parts) == 1:
        return wilson_limits(parts[0], level)
    value, _, joint = combine_ratios(parts, probability)
    half = t_quantile(joint.df, (1 + level) / 2) * np.sqrt(joint.variance)
    down, up = np.zeros_like(value), np.zeros_like(value)
    for part in parts:
        low, high = wilson_limits(part, level)
        down, up = down + (part.value - low) ** 2, up + (high - part.value) ** 2
    lowest, highest = (np.maximum(half, np.sqrt(reach) / len(parts)) for reach in (down, up))
    return np.maximum(value - lowest, 0.0), np.minimum(value + highest, 1.0)


FORMS = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]])
"""A, D and A - D: their variances give that of A - theta D for every theta."""


def with_covariance(variances: FloatArray) -> FloatArray:
    """The variances of A and D and their covariance, from the variances of A, D and A - D."""
    VA, VD, difference = variances
    with np.errstate(invalid="ignore"):  # infinite after one draw
        return np.array([VA, VD, (VA + VD - difference) / 2])


def middle_and_half(A: float, D: float, variances: FloatArray) -> tuple[float, float] | None:
    """The middle and half the width of the limits; None where D is not clear of 0.

        (A - theta D)^2 <= V(theta),    V quadratic in theta

    `variances` are those of A and D and their covariance, times t^2.

    >>> middle_and_half(0.1, 0.5, np.zeros(3))
    (0.2, 0.0)
    """
    VA, VD, VAD = variances.tolist()
    square = D**2 - VD
    if square <= 0 or D <= 0:
        return None
    middle = (A * D - VAD) / square
    return middle, float(np.sqrt(max(middle**2 - (A**2 - VA) / square, 0.0)))


Limits = tuple[float, float]
Unseen = Sequence[tuple[int, Sequence[tuple[float, float]]]]
"""Items without a label, in groups: how many, and the pairs (A, D) that each may turn out as."""

_UNEVEN = 0.01  # a choice; a note depends on it, and no figure
"""Weights that differ by less are those of uniform draws: probabilities may be rounded."""

_FIXED = ("wilson", "cp_safe")


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """One reading of an estimate: after these draws, at this level, by this method."""

    draws: Draws
    level: float
    interval: str

    def __post_init__(self) -> None:
        check_draws(self.draws)
        if not len(self.draws):
            raise InputError("An estimate needs at least one label.")
        object.__setattr__(self, "level", between("level", self.level, 0, 1, open_=True))


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """The numerator A and denominator D of each drawn item, and those that the others may have.

    `what` names what must be seen for the ratio to be defined; `denominator_mean` is the pool
    mean of D, where it follows from predictions or slices. `is_share` is False for a ratio that
    is no share of anything, such as that of kappa: its interval is Fieller's, not Wilson's.
    """

    numerator: FloatArray
    denominator: FloatArray
    unseen: Unseen
    what: str
    denominator_mean: float | None = None
    is_share: bool = True
    known: Limits = (0.0, 0.0)
    """A and D of items outside of the pool of the draws, summed; the ratio is over both."""
    given: GivenValues | None = None
    """A and D [2, K] of items of the pool that became known without a draw."""

    @property
    def known_before(self) -> FloatArray | None:
        """A and D of all items that are known without a draw, summed before each draw [2, M]."""
        if self.given is None and not any(self.known):
            return None
        later = 0.0 if self.given is None else self.given.before(len(self.numerator))
        return np.array(self.known)[:, None] + np.zeros(len(self.numerator)) + later

    @property
    def total(self) -> Limits:
        """The sums of A and of D over all items that are known, drawn or not."""
        given = np.zeros(2) if self.given is None else self.given.values.sum(axis=-1)
        drawn = np.array([self.numerator.sum(), self.denominator.sum()])
        A, D = (drawn + given + self.known).tolist()
        return A, D

    @classmethod
    def over_part(
        cls, values: FloatArray, inside: BoolArray, size: int, draws: Draws, what: str
    ) -> "Pairs":
        """The mean of values in [0, 1] over a part of the pool with `size` items in all."""
        D = inside.astype(np.float64)
        unseen = [(size - int(inside.sum()), [(0.0, 1.0), (1.0, 1.0)])]
        return cls(values * D, D, unseen, what, size / draws.pool_size)

    @property
    def most(self) -> float:
        """The largest D an item may have."""
        return max(d for _, pairs in self.unseen for _, d in pairs)

    @property
    def settled(self) -> bool:
        """True if no item without a label can add to the denominator."""
        return not any(count and d for count, pairs in self.unseen for _, d in pairs)

    @property
    def possible(self) -> Limits:
        """The least and the largest ratio that the labels so far leave possible.

        A ratio of sums is largest and smallest where all items of a group turn out alike.

        >>> unseen = [(5, [(0, 0), (0, 1), (1, 1)])]
        >>> Pairs(np.array([1.0, 1, 0]), np.ones(3), unseen, "label").possible
        (0.25, 0.875)
        """
        seen_A, seen_D = self.total
        counts, ratios = [n for n, _ in self.unseen], []
        for outcome in product(*(pairs for _, pairs in self.unseen)):
            A = seen_A + sum(n * a for n, (a, _) in zip(counts, outcome, strict=True))
            D = seen_D + sum(n * d for n, (_, d) in zip(counts, outcome, strict=True))
            if D > 0:
                ratios.append(A / D)
        return (min(ratios), max(ratios)) if ratios else (0.0, 1.0)


def ratio(
    numerator: ArrayLike,
    denominator: ArrayLike,
    draws: Draws,
    *,
    most: float = 1.0,
    level: float = 0.95,
    interval: str = "auto",
) -> Estimate:
    """A ratio of your own, sum of A over sum of D in the whole pool, with 0 <= A <= D <= `most`.

        theta^ = sum_m v_m A_m / sum_m v_m D_m

    with the weights v_m of R_LURE. Before any item with D > 0 has been drawn it is undefined;
    its value is then None, and its limits say what is possible.

    Parameters
    ----------
    numerator, denominator : A and D of each drawn item, in the order of the draws.
    draws : The draws, as a sampler made them.
    most : The largest D that an item may have.
    level : The confidence of the interval.
    interval : "auto", "wilson" (for a number of labels fixed beforehand), "betting" (for any
        number, however often one looks) or "none".

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> print(ratio([1, 0, 1, 0], [1, 1, 1, 0], draws))
    0.6667 [0.1111, 0.9474], 95% confidence; 4 labels of 20 (lure, wilson)
    """
    check_draws(draws, numerator=numerator, denominator=denominator)
    A = floats("numerator", numerator, ndim=1, largest=LARGEST)
    D = floats("denominator", denominator, ndim=1, largest=LARGEST)
    same_length(numerator=A, denominator=D, draws=draws.index)
    most = between("most", most, 0, LARGEST, open_=True)
    wrong = np.flatnonzero((A < 0) | (A > D) | (most < D))
    if wrong.size:
        raise LossError(
            f"A ratio needs 0 <= numerator <= denominator <= {most:g} (most) for every item; "
            f"{wrong.size} of {len(A)} are not so, the first is {A[wrong[0]]:g} of "
            f"{D[wrong[0]]:g}."
        )
    unseen = [(draws.pool_size - len(draws), [(0.0, 0.0), (0.0, most), (most, most)])]
    pairs = Pairs(A, D, unseen, "denominator above 0")
    return figure_estimate([pairs], Look(draws, level, interval))


def figure_estimate(
    parts: Sequence[Pairs], look: Look, signs: Sequence[float] | None = None
) -> Estimate:
    """The estimate of a mean of K ratios, or of K differences of two, from the same draws.

        theta = 1/K sum_p s_p A_p / D_p,    K parts with s_p = 1

    One part is a ratio, several are a macro average, and a difference has the parts of two models
    in turn, with the `signs` 1 and -1. While one of the ratios is undefined, so is the figure.

    >>> from levelled.metrics.named import RATIOS
    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> label, pred = np.array([1.0, 1, 0, 0]), np.array([[1.0, 1, 0, 0], [1.0, 0, 0, 0]])
    >>> both = [RATIOS["recall"].pairs("spam", label, p, 20) for p in pred]
    >>> figure_estimate(both, Look(draws, 0.95, "auto"), signs=(1, -1)).value
    0.5
    """
    draws, first, signs = look.draws, parts[0], [1.0] * len(parts) if signs is None else signs
    fixed = "cp_safe" if min(signs) < 0 else "wilson" if first.is_share else "fieller"
    betting = ("betting",) * (len(parts) == 1)
    choice("interval", look.interval, ("auto", fixed, *betting, "none"))
    ends = [(sign, *part.possible) for sign, part in zip(signs, parts, strict=True)]
    K = sum(sign > 0 for sign in signs)
    low = sum(low if sign > 0 else -high for sign, low, high in ends) / K
    high = sum(high if sign > 0 else -low for sign, low, high in ends) / K
    for part in parts:
        if not part.total[1] > 0:
            return undefined_estimate(look, (low, high), part.what, final=part.settled)
    ratios = [draws_ratio(one.numerator, one.denominator, draws, one.known_before) for one in parts]
    value, residuals, joint = combine_ratios(ratios, draws.probability, signs)
    units = np.any([part.denominator > 0 for part in parts], axis=0)

    def asymptotic() -> Limits | None:
        if (
            len(parts) == 1 and not units.any()
        ):  # all that is known of the ratio was known without draws
            return None
        if fixed == "cp_safe":
            return _difference_limits(parts, ratios, look, float(value), joint)
        if fixed == "fieller":
            limits = _fieller_limits(first, ratios[0], look)
        else:
            limits = mean_limits(ratios, draws.probability, look.level)
        rarest, most = min(float(one.denominator) for one in ratios), max(p.most for p in parts)
        return None if limits is None else widen_for_excluded(limits, rarest, most, draws)

    methods = {fixed: asymptotic, "betting": lambda: _betting_limits(first, look)}
    est = make_estimate(look, value, joint.variance, units, (low, high), methods)
    return replace(est, worth=worth(joint, residuals, draws.probability))


def _fieller_limits(
    pairs: Pairs, found: RatioMoments, look: Look
) -> tuple[FloatArray, FloatArray] | None:
    """The theta for which the mean of A - theta D may be 0; None where D is not clear of 0."""
    draws, known = look.draws, pairs.known_before
    values = FORMS @ np.stack([pairs.numerator, pairs.denominator])
    given = 0.0 if known is None else FORMS @ known
    spread = moments(values, draws.probability, draws.pool_size, given=given)
    # The variances count as known from 2 labels for each one on the rarer side.
    df = np.clip(np.minimum(found.residual.df, DF_OF_ERROR * found.minority), 1.0, None)
    t = float(t_quantile(df, (1 + look.level) / 2))
    A, D = spread.value[:2].tolist()
    solved = middle_and_half(A, D, t**2 * with_covariance(spread.variance))
    if solved is None:
        return None
    middle, half = solved
    return np.asarray(middle - half), np.asarray(middle + half)


def _betting_limits(pairs: Pairs, look: Look) -> Limits | None:
    draws = look.draws
    if draws.excluded:
        return None
    watch = RatioBetting(draws.pool_size, pairs.most, look.level, pairs.denominator_mean)
    weights = (draws.design or {}).get("max_weight", [None] * len(draws))
    watch.give(pairs.known, 0)
    rows = zip(pairs.numerator, pairs.denominator, draws.probability, weights, strict=True)
    for a, d, q, max_weight in rows:
        if pairs.given is not None:
            watch.give(*pairs.given.at(len(watch) + 1))
        watch.update(a, d, q, max_weight=max_weight)
    return watch.interval()


_CLASSES_OF_AN_ITEM = 3
"""A label and two predictions are of three classes at most."""


def _difference_limits(
    parts: Sequence[Pairs],
    ratios: Sequence[RatioMoments],
    look: Look,
    value: float,
    joint: Moments,
) -> Limits:
    """The limits of a difference of ratios theta_i = A_i / D_i of two models, or of their means.

    With t = (theta_1 + theta_2) / 2 and D = (D_1 + D_2) / 2,

        theta_1 - theta_2 = mean(e) / D,    e = (A_1 - A_2) - t (D_1 - D_2)

    An item that both models predict alike has e = 0, so all that is common cancels. The limits are
    those of the mean of the signed losses e / D (`signed_cp_safe`), widened where the linearised
    difference, whose residuals have the moments `joint`, has a larger variance: t and D are
    estimated too.

    Where few units or few differences have been seen, these limits may be wider than those of the
    two models apart, put together by `square_and_add`. That takes them for independent, and ratios
    from the same labels only vary more alike, so the narrower of the limits is taken on each side.
    """
    draws, K = look.draws, len(parts) // 2
    q, N = draws.probability, draws.pool_size
    losses, reaches = np.zeros(len(draws)), []
    for at in range(0, len(parts), 2):
        (one, other), (a, b) = parts[at : at + 2], ratios[at : at + 2]
        t, D = float(a.value + b.value) / 2, float(a.denominator + b.denominator) / 2
        e = one.numerator - other.numerator - t * (one.denominator - other.denominator)
        losses += e / (K * D)
        outcomes = [pair for side in (one, other) for _, each in side.unseen for pair in each]
        reach = [0.0, *(A - t * d for A, d in outcomes)]
        reaches.append((max(reach) - min(reach)) / (K * D))
    bound = sum(sorted(reaches)[-_CLASSES_OF_AN_ITEM:])
    size, V = heaviest_size(draws), joint.variance
    low, high = signed_cp_safe(
        losses, q, N, look.level, bounds=(-bound, bound), size=size, variance=V
    )
    if any(np.any(a.given - b.given) for a, b in zip(ratios[::2], ratios[1::2], strict=True)):
        # The part of the difference that is known without draws.
        exact = value - np.mean(lure.lure_weights(draws) * losses)
        low, high = low + exact, high + exact
    first, second = (
        (combine_ratios(side, q)[0], *mean_limits(side, q, look.level))
        for side in (ratios[::2], ratios[1::2])
    )
    apart = square_and_add(first, second)
    limits = float(np.maximum(low, apart[0])), float(np.minimum(high, apart[1]))
    if not draws.excluded:
        return limits
    # The most by which items that could never be drawn may move the difference.
    hidden = [draws.excluded * one.most for one in parts]
    seen = [N * float(one.denominator) for one in ratios]
    shares = [some / (some + rest) for some, rest in zip(hidden, seen, strict=True)]
    slack = 2 * sum(shares) / len(shares)
    return limits[0] - slack, limits[1] + slack


def make_estimate(
    look: Look,
    value: FloatArray | float,
    variance: FloatArray,
    units: BoolArray,
    possible: Limits,
    methods: Mapping[str, Callable[[], Limits | None]],
) -> Estimate:
    """The estimate with this value and the interval of `look` ("auto": the first of `methods`).

    The interval is cut to what is possible. `units` are the draws that count in it.
    """
    draws = look.draws
    method = next(iter(methods)) if look.interval == "auto" else look.interval
    (low, high), method, warnings = _limits(possible, method, methods, draws)
    spread = None if len(draws) < 2 else float(np.sqrt(variance))
    weights = lure.lure_weights(draws)[units]
    heaviest = float(weights.max()) if len(weights) else 0.0
    return replace(
        undefined_estimate(look, (low, high), ""),
        value=float(value),
        stderr=0.0 if method == "point" else spread,
        ess=effective_size(weights),
        max_weight=heaviest,
        interval=method,
        warnings=warnings,
    )


def undefined_estimate(look: Look, limits: Limits, what: str, *, final: bool = False) -> Estimate:
    """An estimate without a value, only with the limits of what is possible."""
    low, high = limits
    note = f"no {what} seen yet: undefined so far, between {low:.4g} and {high:.4g}"
    if final:
        note = f"no {what} in the whole pool: undefined"
    return Estimate(
        value=None,
        low=low,
        high=high,
        level=look.level,
        stderr=None,
        n_labels=len(look.draws),
        pool_size=look.draws.pool_size,
        ess=0.0,
        max_weight=float(lure.lure_weights(look.draws).max()),
        estimator="lure",
        interval="undefined",
        warnings=(note,),
    )


def widen_for_excluded(
    limits: tuple[FloatArray | float, FloatArray | float],
    denominator: float,
    most: float,
    draws: Draws,
) -> Limits:
    """Limits widened for any values of the items that could never be drawn."""
    low, high = (float(limit) for limit in limits)
    drawable = draws.pool_size * denominator
    total = drawable + draws.excluded * most
    return low * drawable / total, (high * drawable + total - drawable) / total


def _thin_notes(draws: Draws) -> tuple[str, ...]:
    """Warnings where items had little chance of being drawn, or it is not known how little."""
    notes, size = [], design_size(draws)
    weights = lure.ranked_weights(draws.probability, draws.pool_size)
    if size < min(POOR, 0.8 * len(draws)):
        note = thin_warning(draws, size)
        notes.append(note if size >= THIN else f"{note}; until then do not rely on this interval")
    if "max_weight" not in (draws.design or {}) and np.ptp(weights) > _UNEVEN:
        notes.append(
            "these draws do not say how heavy an item they could have drawn, so the interval "
            "relies on the heaviest one that was drawn: use levelled.samplers.with_design"
        )
    return tuple(notes)


def translate_fixed(method: str, interval: str) -> str:
    """`interval`, where both "wilson" and "cp_safe" become this `method`.

    Both hold for a number of labels fixed beforehand, Wilson's for a ratio and `cp_safe` for an
    average. Where a figure may be computed either way, callers may use either name.
    """
    choice("interval", interval, ("auto", *_FIXED, "betting", "none"))
    return method if interval in _FIXED else interval


def _limits(
    possible: Limits, method: str, methods: Mapping[str, Callable[[], Limits | None]], draws: Draws
) -> tuple[Limits, str, tuple[str, ...]]:
    """Limits, the method they came from, and warnings about them."""
    if possible[0] == possible[1]:
        return possible, "point", ()
    if method == "none":
        return possible, "none", ()
    if len(draws) < 2 and method != "betting":
        note = "one label shows no spread; the interval is what is logically possible"
        return possible, "logical", (note,)
    limits = methods[method]()
    warnings = () if method == "betting" else _thin_notes(draws)
    if draws.excluded:
        note = (
            f"{draws.excluded} of {draws.pool_size} items could never be drawn; the interval "
            f"allows for whatever they are"
        )
        warnings = (*warnings, note)
    if limits is None or max(limits[0], possible[0]) > min(limits[1], possible[1]):
        note = f"no {method} interval after these labels; this one is what is logically possible"
        return possible, "logical", (*warnings, note)
    return (max(limits[0], possible[0]), min(limits[1], possible[1])), method, warnings
