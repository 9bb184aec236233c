"""The area under the ROC curve of scores that rank positive items above the others."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import BoolArray, FloatArray, choice, floats, same_length
from levelled.draws import Draws, check_draws
from levelled.errors import InputError
from levelled.estimators import lure
from levelled.estimators.diagnostics import design_size, effective_size
from levelled.estimators.intervals.anytime import wilson
from levelled.estimators.intervals.fixed import ranked_weights, t_quantile
from levelled.estimators.moments import Moments, moments
from levelled.estimators.record import Estimate
from levelled.labels import Class, class_names, class_numbers, is_class
from levelled.metrics.linearised import MOST
from levelled.metrics.ratio import Limits, Look, make_estimate, undefined_estimate


def auc(
    labels: ArrayLike,
    scores: ArrayLike,
    draws: Draws,
    *,
    positive: Class | None = None,
    classes: Sequence[Class] | None = None,
    level: float = 0.95,
    interval: str = "auto",
) -> Estimate:
    """The chance that a positive item has a higher score than a negative one; ties count half.

        AUC^ = sum_{i pos, j neg} v_i v_j (1[s_i > s_j] + 1[s_i = s_j] / 2) / (sum v_i sum v_j)

    `scores` [M] goes with the `positive` class against the rest; scores [M, C], one column for
    each of `classes`, give the plain mean over the classes, each against the rest. The interval
    is Wilson's, for a number of labels fixed beforehand. A pair is weighted by the product of
    two weights, so the proposal should have a floor of at least 0.5.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> auc(["spam", "ham", "spam", "ham"], [0.9, 0.6, 0.5, 0.1], draws, positive="spam").value
    0.75
    """
    choice("interval", interval, ("auto", "wilson", "none"))
    check_draws(draws, labels=labels, scores=scores)
    look = Look(draws, level, interval)
    sides = _sides(labels, scores, draws, positive, classes)
    for name, is_positive, _ in sides:
        if is_positive.all() or not is_positive.any():
            what = f"label other than {name!r}" if is_positive.any() else f"label {name!r}"
            final = len(draws) == draws.pool_size
            return undefined_estimate(look, (0.0, 1.0), what, final=final)
    weights, N = lure.lure_weights(draws), draws.pool_size
    areas = [_area(is_positive, score, weights) for _, is_positive, score in sides]
    values, residuals, sizes = zip(*areas, strict=True)
    value, size = float(np.mean(values)), len(areas) * min(sizes)
    joint = moments(np.mean(residuals, axis=0), draws.probability, N)

    def asymptotic() -> Limits | None:
        return None if draws.excluded else _limits(value, joint, size, look.level)

    possible = (value, value) if len(draws) == N else (0.0, 1.0)
    units, methods = np.ones(len(draws), dtype=bool), {"wilson": asymptotic}
    estimate = make_estimate(look, value, joint.variance, units, possible, methods)
    return replace(estimate, warnings=(*estimate.warnings, *_floor_notes(draws)))


def _area(
    is_positive: BoolArray, score: FloatArray, weights: FloatArray
) -> tuple[float, FloatArray, float]:
    """The area by sorting, its first-order residuals, and Kish's size of its smaller side.

    A positive item is above a share F of the negatives and a negative one below a share G of the
    positives. The residual is (F - AUC) / mean(v pos) for the one, (G - AUC) / mean(v neg) for
    the other.
    """
    pos, neg = weights * is_positive, weights * ~is_positive
    above, below = _below(score, neg), 1 - _below(score, pos)
    value = float(np.clip(np.sum(pos * above) / pos.sum(), 0, 1))
    residuals = np.where(is_positive, (above - value) / pos.mean(), (below - value) / neg.mean())
    return value, residuals, min(effective_size(pos), effective_size(neg))


def _below(score: FloatArray, weights: FloatArray) -> FloatArray:
    """The share of the weight that lies below each score; weight at the score counts half."""
    order = np.argsort(score, kind="stable")
    ordered = score[order]
    total = np.append(0.0, np.cumsum(weights[order]))
    left = total[np.searchsorted(ordered, score, side="left")]
    right = total[np.searchsorted(ordered, score, side="right")]
    return (left + right) / 2 / total[-1]


def _limits(value: float, joint: Moments, size: float, level: float) -> Limits:
    """Wilson's interval with t_df at n = AUC (1 - AUC) / V^, at most 4 times the `size`.

    The variance of an area is at most AUC (1 - AUC) / k with k the smaller of the two sides, and
    comes near it where a few positives are ranked at the very bottom. Those may not have been
    seen yet, so the effective sample is at most 4 k labels. (On the logit scale without
    that limit an area of 0.998 was covered 0.87 of the time.) Where the ranking is perfect so
    far, the interval is Clopper and Pearson's for k labels.
    """
    if not 0 < value < 1:
        reach = float(((1 - level) / 2) ** (1 / size))
        return (reach, 1.0) if value == 1 else (0.0, 1 - reach)
    most = MOST * size / (1 - joint.budget / joint.pool_size)
    n = value * (1 - value) / max(float(joint.variance), value * (1 - value) / most)
    quantile = t_quantile(joint.df, (1 + level) / 2)
    low, high = wilson(np.asarray(value), np.asarray(n), quantile)
    return float(low), float(high)


def _sides(
    labels: ArrayLike,
    scores: ArrayLike,
    draws: Draws,
    positive: Class | None,
    classes: Sequence[Class] | None,
) -> list[tuple[Class, BoolArray, FloatArray]]:
    """For each positive class: its name, which items have it, and their scores."""
    label, score = class_names("labels", labels), floats("scores", scores)
    same_length(labels=label, scores=np.atleast_1d(score), draws=draws.index)
    if score.ndim == 1 and positive is not None:
        if classes is not None:
            class_numbers("labels", label, classes)
            class_numbers("positive", [positive], classes)
        return [(positive, is_class(label, positive), score)]
    if score.ndim == 2 and classes is not None and score.shape[1] == len(classes):
        numbers = class_numbers("labels", label, classes)
        return [(name, numbers == c, score[:, c]) for c, name in enumerate(classes)]
    raise InputError(
        f"Give scores [M] with the positive class, or scores [M, C] with the names of their C "
        f"classes; scores have shape {score.shape}."
    )


def _floor_notes(draws: Draws) -> tuple[str, ...]:
    """A warning unless the draws look like a proposal with a floor of 0.5.

    With such a floor no weight exceeds 2, and the effective sample is at least half the labels.
    """
    largest = float(ranked_weights(draws.probability, draws.pool_size).max())
    if design_size(draws) >= 0.5 * len(draws) and largest <= 2.2:
        return ()
    return ("AUC weighs pairs of items: give the proposal a floor of at least 0.5",)
