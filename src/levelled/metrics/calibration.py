"""Calibration: accuracy against confidence in bins, and the expected calibration error."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from levelled import losses
from levelled._check import FloatArray, IntArray, floats, same_length
from levelled.draws import Draws, check_draws
from levelled.errors import InputError
from levelled.estimators import lure
from levelled.estimators.diagnostics import effective_size
from levelled.estimators.moments import moments
from levelled.estimators.record import Estimate
from levelled.labels import Class, class_names, is_class
from levelled.metrics.linearised import draws_ratio
from levelled.metrics.pool_averages import label_columns
from levelled.metrics.ratio import Look, Pairs, ratio_estimate, undefined_estimate
from levelled.metrics.table import align, cells, footnotes


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
    probable class, and `classes` names the columns. With probabilities [M] it is that of the
    `positive` class. The share of the pool in a bin and its confidence follow from `pool_proba`;
    only the accuracy is estimated. `bins` is a number of equal widths, or edges
    from 0 to 1.

    The estimated ECE is biased upwards, because noise in a bin counts as miscalibration. Its
    interval is what the intervals of all bins, holding at once, allow.

    >>> draws = Draws([4, 1, 0, 3], [0.2, 1 / 4, 1 / 3, 1 / 2], pool_size=5)
    >>> pool = np.array([0.9, 0.2, 0.3, 0.8, 0.9])
    >>> bins = calibration([1, 0, 1, 0], pool[draws.index], draws, pool, positive=1, bins=2).bins
    >>> [(b.share, round(b.confidence, 3), round(b.accuracy.value, 3)) for b in bins]
    [(0.4, 0.25, 0.0), (0.6, 0.867, 0.667)]
    """
    check_draws(draws, labels=labels, proba=proba)
    look = Look(draws, level, interval)
    hit, confidence = _confidence(labels, proba, draws, pool_proba, classes, positive)
    return _by_bins(hit, confidence, _edges(bins), look)


def _by_bins(hit: FloatArray, confidence: FloatArray, edges: FloatArray, look: Look) -> Calibration:
    draws, place = look.draws, np.searchsorted(edges[1:-1], confidence, side="right")
    filled = np.unique(place)
    strict = replace(look, level=1 - (1 - look.level) / len(filled))
    bins, sure = [], []
    for at in filled:
        members, inside = place == at, (place == at)[draws.index]
        pairs = Pairs.over_part(hit, inside, int(members.sum()), draws, "label in this bin")
        sure.append(ratio_estimate(pairs, strict))
        bins.append(
            Bin(
                low=float(edges[at]),
                high=float(edges[at + 1]),
                pool_size=int(members.sum()),
                n_labels=int(inside.sum()),
                share=float(members.mean()),
                confidence=float(confidence[members].mean()),
                accuracy=ratio_estimate(pairs, look),
            )
        )
    residuals = _residuals(hit, place[draws.index], bins, filled, draws)
    return Calibration(tuple(bins), _error(bins, sure, residuals, look))


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


def _residuals(
    hit: FloatArray, place: IntArray, bins: Sequence[Bin], filled: IntArray, draws: Draws
) -> FloatArray:
    """The residuals of the error: each bin's, by its share and the sign of its gap."""
    total = np.zeros(len(draws))
    for bin_, at in zip(bins, filled, strict=True):
        if bin_.accuracy.value is not None:
            D = (place == at).astype(np.float64)
            ratio = draws_ratio(hit * D, D, draws)
            sign = np.sign(bin_.accuracy.value - bin_.confidence)
            total += bin_.share * sign * ratio.residuals
    return total


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
    if not np.allclose(pool[draws.index], p, rtol=0, atol=1e-6):
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


def _edges(bins: int | ArrayLike) -> FloatArray:
    edges = floats("bins", bins)
    if edges.ndim == 0 and edges >= 1 and edges == np.floor(edges):
        return np.linspace(0, 1, int(edges) + 1)
    rising = edges.ndim == 1 and len(edges) > 1 and bool((np.diff(edges) > 0).all())
    if rising and edges[0] == 0 and edges[-1] == 1:
        return edges
    raise InputError(f"bins must be a number of bins, or edges rising from 0 to 1; it is {bins!r}.")
