"""Differences of ratios, such as the F1 of two models, paired on the same labels.

For two models with theta_i = A_i / D_i, pool means A_i and D_i, t = (theta_1 + theta_2) / 2 and
D = (D_1 + D_2) / 2,

    theta_1 - theta_2 = mean(e) / D,    e = (A_1 - A_2) - t (D_1 - D_2)

An item that both models predict alike has e = 0, so all that is common cancels. The limits are
those of the mean of the signed losses e / D (`signed_cp_safe`), widened where the linearised
difference, whose residuals are (A_1 - theta_1 D_1) / D_1 - (A_2 - theta_2 D_2) / D_2, has a larger
variance: t and D are estimated too.

Where few units or few differences have been seen, these limits may be wider than those of the two
ratios apart, put together by `square_and_add`. That takes the ratios for independent, and ratios
from the same labels only vary more alike, so the narrower of the two limits is taken on each side.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from levelled._check import FloatArray, choice
from levelled.draws import Draws
from levelled.estimators.diagnostics import heaviest_size
from levelled.estimators.intervals.fixed import signed_cp_safe, square_and_add
from levelled.estimators.moments import moments, worth
from levelled.estimators.record import Estimate
from levelled.metrics.linearised import (
    RatioMoments,
    draws_ratio,
    mean_limits,
    mean_of_ratios,
    wilson_limits,
)
from levelled.metrics.ratio import Limits, Look, Pairs, make_estimate, undefined_estimate

_CLASSES_OF_AN_ITEM = 3
"""A label and two predictions are of three classes at most."""

Both = tuple[Pairs, Pairs]


def ratio_difference(parts: Sequence[Both], look: Look) -> Estimate:
    """The ratio of the first of two models minus that of the second, from the same draws.

    `parts` holds the pairs of both, or one entry for each class of a macro average, whose
    differences are averaged. While one of the ratios is undefined, so is the difference.

    >>> from levelled.metrics.classification import pairs_of
    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> label = np.array([1.0, 1, 0, 0])
    >>> first = pairs_of("recall", "spam", label, np.array([1.0, 1, 0, 0]), 20, None)
    >>> second = pairs_of("recall", "spam", label, np.array([1.0, 0, 0, 0]), 20, None)
    >>> ratio_difference([(first, second)], Look(draws, 0.95, "auto")).value
    0.5
    """
    choice("interval", look.interval, ("auto", "cp_safe", "none"))
    possible = _possible(parts)
    for pairs in (one for both in parts for one in both):
        if not pairs.denominator.any():
            return undefined_estimate(look, possible, pairs.what, final=pairs.settled)
    draws = look.draws
    q, N = draws.probability, draws.pool_size
    ratios = [
        [draws_ratio(one.numerator, one.denominator, draws) for one in both] for both in parts
    ]
    residuals = np.mean([a.residuals - b.residuals for a, b in ratios], axis=0)
    joint = moments(residuals, q, N)
    losses, bound = _signed_losses(parts, ratios)

    def limits() -> Limits:
        low, high = signed_cp_safe(
            losses,
            q,
            N,
            look.level,
            bounds=(-bound, bound),
            size=heaviest_size(draws),
            variance=joint.variance,
        )
        apart_low, apart_high = _apart(ratios, look)
        low, high = np.maximum(low, apart_low), np.minimum(high, apart_high)
        slack = _slack_of_excluded(parts, ratios, draws)
        return float(low) - slack, float(high) + slack

    value = np.mean([a.value - b.value for a, b in ratios], axis=0)
    units = np.any([one.denominator > 0 for both in parts for one in both], axis=0)
    est = make_estimate(look, value, joint.variance, units, possible, {"cp_safe": limits})
    return replace(est, worth=worth(joint, residuals, q))


def _possible(parts: Sequence[Both]) -> Limits:
    """Limits of the difference that the labels so far leave possible."""
    limits = [(one.possible, other.possible) for one, other in parts]
    low = np.mean([first[0] - second[1] for first, second in limits])
    high = np.mean([first[1] - second[0] for first, second in limits])
    return float(low), float(high)


def _signed_losses(
    parts: Sequence[Both], ratios: Sequence[Sequence[RatioMoments]]
) -> tuple[FloatArray, float]:
    """The losses whose mean is the difference, and the largest size that one may have."""
    K = len(parts)
    losses, most = np.zeros(len(parts[0][0].numerator)), []
    for (one, other), (a, b) in zip(parts, ratios, strict=True):
        middle, scale = float(a.value + b.value) / 2, float(a.denominator + b.denominator) / 2
        e = one.numerator - other.numerator - middle * (one.denominator - other.denominator)
        losses += e / (K * scale)
        outcomes = [pair for side in (one, other) for _, each in side.unseen for pair in each]
        reach = [0.0, *(A - middle * D for A, D in outcomes)]
        most.append((max(reach) - min(reach)) / (K * scale))
    return losses, sum(sorted(most)[-_CLASSES_OF_AN_ITEM:])


def _apart(ratios: Sequence[Sequence[RatioMoments]], look: Look) -> tuple[FloatArray, FloatArray]:
    """Limits of the difference from the intervals of the two ratios or macro averages."""
    sides = []
    for models in zip(*ratios, strict=True):
        if len(models) == 1:
            value, limits = models[0].value, wilson_limits(models[0], look.level)
        else:
            value, joint = mean_of_ratios(models, look.draws.probability)
            limits = mean_limits(models, value, joint, look.level)
        sides.append((value, *limits))
    return square_and_add(sides[0], sides[1])


def _slack_of_excluded(
    parts: Sequence[Both], ratios: Sequence[Sequence[RatioMoments]], draws: Draws
) -> float:
    """The most by which items that could never be drawn may move the difference."""
    if not draws.excluded:
        return 0.0
    shares = [
        draws.excluded
        * pairs.most
        / (draws.excluded * pairs.most + draws.pool_size * float(found.denominator))
        for both, pair in zip(parts, ratios, strict=True)
        for pairs, found in zip(both, pair, strict=True)
    ]
    return 2 * sum(shares) / len(shares)
