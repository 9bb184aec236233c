"""Figures of predicted probabilities: calibration in bins, and the area under the ROC curve."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from levelled import losses
from levelled._check import BoolArray, FloatArray, choice, floats, same_length
from levelled.draws import Draws, check_draws
from levelled.errors import InputError
from levelled.estimators import lure
from levelled.estimators.intervals.limits import t_quantile, wilson
from levelled.estimators.lure import ranked_weights
from levelled.estimators.moments import Moments, design_size, effective_size, moments
from levelled.estimators.record import Estimate, align, cells, footnotes
from levelled.labels import Class, class_names, class_numbers, is_class
from levelled.metrics.averages import label_columns
from levelled.metrics.ratios import (
    MOST,
    Limits,
    Look,
    Pairs,
    draws_ratio,
    figure_estimate,
    make_estimate,
    undefined_estimate,
)


@dataclass(frozen=True, slots=True)
class Bin:
    """The items whose confidence is in [low, high): their mean confidence and their accuracy."""

    low: float
    high: float
    pool_size: int
    n_labels: int
    share: float
    """Of the pool; known, not estimated."""
    confidence: float
    """The mean over the pool; known, not estimated."""
    accuracy: Estimate

    @property
    def name(self) -> str:
        """Its range in words."""
        return f"{self.low:.3g} to {self.high:.3g}"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Bins of confidence, and the expected calibration error over them."""

    bins: tuple[Bin, ...]
    error: Estimate

    def as_dicts(self) -> list[dict[str, Any]]:
        """One dict of plain values a bin, ready for JSON or a data frame."""
        return [
            {"from": bin_.low, "to": bin_.high, "share": bin_.share, "confidence": bin_.confidence}
            | bin_.accuracy.as_dict()
            | {"pool_size": bin_.pool_size, "n_labels": bin_.n_labels}
            for bin_ in self.bins
        ]

    def __str__(self) -> str:
        header = ["confidence", "share", "labels", "mean", "accuracy", "low", "high"]
        rows = [
            [
                bin_.name,
                f"{bin_.share:.3f}",
                f"{bin_.n_labels}",
                f"{bin_.confidence:.3f}",
                *cells(bin_.accuracy),
            ]
            for bin_ in self.bins
        ]
        notes = footnotes((bin_.name, bin_.accuracy) for bin_ in self.bins)
        return f"{align(header, rows)}\nexpected calibration error {self.error}{notes}"


def calibration(
    labels: ArrayLike,
    proba: ArrayLike,
    draws: Draws,
    pool_proba: ArrayLike,
    *,
    classes: Sequence[Class] | None = None,
    positive: Class | None = None,
    bins: int | ArrayLike = 10,
    level: float = 0.95,
    interval: str = "auto",
) -> Calibration:
    """Accuracy against confidence, bin by bin, and the expected calibration error.

        ECE = sum_b share_b |accuracy_b - confidence_b|

    With probabilities [M, C] (and [N, C] for the pool) the confidence is that of the most
    probable class, with probabilities [M] that of the `positive` class. The share of the pool in
    a bin and its confidence follow from `pool_proba`; only the accuracy is estimated.

    The estimated ECE is biased upwards, because noise in a bin counts as miscalibration. Its
    interval is what the intervals of all bins, holding at once, allow.

    Parameters
    ----------
    labels : The label of each drawn item, in the order of the draws.
    proba : Probabilities [M, C] of the drawn items, or those [M] of the `positive` class.
    draws : The draws, as a sampler made them.
    pool_proba : The same of all items, in the order of the pool.
    classes : The names of the columns.
    positive : The class that probabilities [M] are of.
    bins : The number of bins of equal width, or edges rising from 0 to 1.
    level : The confidence of the interval.
    interval : That of each accuracy: "auto", "wilson", "betting" or "none".

    >>> draws = Draws([4, 1, 0, 3], [0.2, 1 / 4, 1 / 3, 1 / 2], pool_size=5)
    >>> pool = np.array([0.9, 0.2, 0.3, 0.8, 0.9])
    >>> bins = calibration([1, 0, 1, 0], pool[draws.index], draws, pool, positive=1, bins=2).bins
    >>> [(b.share, round(b.confidence, 3), round(b.accuracy.value, 3)) for b in bins]
    [(0.4, 0.25, 0.0), (0.6, 0.867, 0.667)]
    """
    check_draws(draws, labels=labels, proba=proba)
    look = Look(draws, level, interval)
    hit, confidence = _confidence(labels, proba, draws, pool_proba, classes, positive)
    edges = floats("bins", bins)
    if edges.ndim == 0 and edges >= 1 and edges == np.floor(edges):
        edges = np.linspace(0, 1, int(edges) + 1)
    rising = edges.ndim == 1 and len(edges) > 1 and bool((np.diff(edges) > 0).all())
    if not rising or edges[0] != 0 or edges[-1] != 1:
        raise InputError(
            f"bins must be a number of bins, or edges rising from 0 to 1; it is {bins!r}."
        )
    # Without the outer edges, so that a confidence of 1 is in the last bin.
    place = np.searchsorted(edges[1:-1], confidence, side="right")
    filled = np.unique(place)
    strict = replace(look, level=1 - (1 - look.level) / len(filled))
    found, sure, residuals = [], [], np.zeros(len(draws))
    for at in filled:
        members, inside = place == at, (place == at)[draws.index]
        pairs = Pairs.over_part(hit, inside, int(members.sum()), draws, "label in this bin")
        sure.append(figure_estimate([pairs], strict))
        one = Bin(
            low=float(edges[at]),
            high=float(edges[at + 1]),
            pool_size=int(members.sum()),
            n_labels=int(inside.sum()),
            share=float(members.mean()),
            confidence=float(confidence[members].mean()),
            accuracy=figure_estimate([pairs], look),
        )
        found.append(one)
        if one.accuracy.value is not None:
            # The residuals of the error: each bin's, by its share and the sign of its gap.
            sign = np.sign(one.accuracy.value - one.confidence)
            ratio = draws_ratio(pairs.numerator, pairs.denominator, draws)
            residuals += one.share * sign * ratio.residuals
    return Calibration(tuple(found), _error(found, sure, residuals, look))


def _error(
    bins: Sequence[Bin], sure: Sequence[Estimate], residuals: FloatArray, look: Look
) -> Estimate:
    """The expected calibration error, with the limits that the intervals `sure` allow at once."""
    value = low = high = unlabelled = 0.0
    for bin_, limits in zip(bins, sure, strict=True):
        far = max(abs(limits.low - bin_.confidence), abs(limits.high - bin_.confidence))
        near = max(limits.low - bin_.confidence, bin_.confidence - limits.high, 0.0)
        low, high = low + bin_.share * near, high + bin_.share * far
        if bin_.accuracy.value is None:
            unlabelled += bin_.share
        else:
            value += bin_.share * abs(bin_.accuracy.value - bin_.confidence)
    biased = "biased upwards: noise in a bin counts as miscalibration"
    note = f"bins with {unlabelled:.1%} of the pool have no label yet and count as calibrated"
    spread = moments(residuals, look.draws.probability, look.draws.pool_size).variance
    return replace(
        undefined_estimate(look, (low, high), ""),
        value=value,
        stderr=float(np.sqrt(spread)) if len(look.draws) > 1 else None,
        ess=effective_size(lure.lure_weights(look.draws)),
        interval="bins" if low < high else "point",
        warnings=(biased,) * (low < high) + (note,) * (unlabelled > 0),
    )


def _confidence(
    labels: ArrayLike,
    proba: ArrayLike,
    draws: Draws,
    pool_proba: ArrayLike,
    classes: Sequence[Class] | None,
    positive: Class | None,
) -> tuple[FloatArray, FloatArray]:
    """1 for each drawn item that was predicted rightly, and the confidence of every pool item."""
    p, pool = floats("proba", proba), floats("pool_proba", pool_proba)
    label = class_names("labels", labels)
    same_length(labels=label, proba=np.atleast_1d(p), draws=draws.index)
    if len(np.atleast_1d(pool)) != draws.pool_size or pool.shape[1:] != p.shape[1:]:
        raise InputError(
            f"pool_proba must have a row like those of proba for each of the {draws.pool_size} "
            f"items of the pool; its shape is {pool.shape}, that of proba {p.shape}."
        )
    if not np.allclose(pool[draws.index], p, rtol=0, atol=1e-6):  # one may have 32 bits
        raise InputError(
            "pool_proba and proba differ at drawn items. pool_proba goes by item, proba by draw: "
            "proba = pool_proba[draws.index]."
        )
    if p.ndim == 2:
        losses.check_distributions("pool_proba", pool)
        column = label_columns(labels, p, classes)
        y = losses.class_indices("labels", column, n_classes=p.shape[1])
        best = pool.argmax(axis=1)
        return (best[draws.index] == y).astype(np.float64), np.minimum(pool.max(axis=1), 1)
    if positive is None or not ((pool >= 0) & (pool <= 1)).all():
        raise InputError(
            "Give probabilities [M, C], or the probabilities [M] of one class, between 0 and 1, "
            "and the name of that class as positive."
        )
    return is_class(label, positive).astype(np.float64), pool


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

    A pair is weighted by the product of two weights, so the proposal should have a floor of at
    least 0.5.

    Parameters
    ----------
    labels : The label of each drawn item, in the order of the draws.
    scores : Scores [M] of the `positive` class, or [M, C], a column for each of `classes`.
    draws : The draws, as a sampler made them.
    positive : The class that scores [M] are of, against the rest.
    classes : The classes of the columns; the result is the plain mean over them.
    level : The confidence of the interval.
    interval : "auto", "wilson" (for a number of labels fixed beforehand) or "none".

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
    values, residuals, sizes = [], [], []
    for _, is_positive, score in sides:
        # A positive item is above a share F of the negatives and a negative one below a share G of
        # the positives. The first-order residual is (F - AUC) / mean(v pos) for the one,
        # (G - AUC) / mean(v neg) for the other.
        pos, neg = weights * is_positive, weights * ~is_positive
        above, below = _below(score, neg), 1 - _below(score, pos)
        area = float(np.clip(np.sum(pos * above) / pos.sum(), 0, 1))
        residual = np.where(is_positive, (above - area) / pos.mean(), (below - area) / neg.mean())
        values.append(area)
        residuals.append(residual)
        sizes.append(min(effective_size(pos), effective_size(neg)))  # Kish's, of the smaller side
    value, size = float(np.mean(values)), len(sides) * min(sizes)
    joint = moments(np.mean(residuals, axis=0), draws.probability, N)

    def asymptotic() -> Limits | None:
        return None if draws.excluded else _limits(value, joint, size, look.level)

    possible = (value, value) if len(draws) == N else (0.0, 1.0)
    units, methods = np.ones(len(draws), dtype=bool), {"wilson": asymptotic}
    estimate = make_estimate(look, value, joint.variance, units, possible, methods)
    # With a floor of 0.5 no weight exceeds 2, and the effective sample is half the labels or more.
    largest = float(ranked_weights(draws.probability, N).max())
    if design_size(draws) >= 0.5 * len(draws) and largest <= 2.2:
        return estimate
    note = "AUC weighs pairs of items: give the proposal a floor of at least 0.5"
    return replace(estimate, warnings=(*estimate.warnings, note))


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
