"""Predictions -> scores: one number an item, higher where a label is worth more.

A score is computed from predictions alone and does not depend on the proposal that turns it into
probabilities: any score goes with any proposal.

    proba     [N, C]       items, classes
    samples   [N, K, C]    items, posterior samples, classes

`expected_loss` and its kin are of a label that is not known yet, only its distribution: that of a
second model, or the model's own.

`entropy`, `margin` and `least_confidence` are described by Settles (2009, TR 1648, section 3.1).
"""

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, as_array, choice, floats, same_length
from levelled.errors import InputError
from levelled.losses import (
    Loss,
    Normal,
    Reals,
    check_distributions,
    distributions,
    expected,
    reals,
    root_mean_square,
)

__all__ = [
    "bald",
    "entropy",
    "expected_loss",
    "geometric",
    "gradient_norm",
    "least_confidence",
    "margin",
    "root_mean_squared_loss",
    "variation_ratio",
]

_NUMBERS = 2**16  # numbers in a block, so that it and its logarithms stay in a core's cache
_DISTANCES = 2**18  # distances held at once: 2 MB, which stay in a core's cache


def entropy(proba: ArrayLike) -> FloatArray:
    """Entropy of the predictive distribution, in nats: from 0 to log C.

        H = -sum_c p_c log p_c,    0 log 0 = 0

    >>> entropy([[0.5, 0.5], [1.0, 0.0]]).round(3)
    array([0.693, 0.   ])
    """
    p = distributions("proba", proba)
    return np.maximum(0.0 - _sum_p_log_p(p.astype(np.float64)), 0)


def margin(proba: ArrayLike) -> FloatArray:
    """One minus the lead of the most probable class: from 0 (certain) to 1 (tied).

        1 - (p_(1) - p_(2)),    p_(1) >= p_(2) >= ...

    The margin itself is p_(1) - p_(2); it is reversed so that higher is more interesting.

    >>> margin([[0.5, 0.5, 0.0], [0.75, 0.25, 0.0]])
    array([1. , 0.5])
    """
    p = distributions("proba", proba)
    second, first = np.partition(p, -2, axis=1)[:, -2:].astype(np.float64).T
    return np.clip(1 - (first - second), 0, 1)


def least_confidence(proba: ArrayLike) -> FloatArray:
    """The probability that the most probable class is wrong, according to the model.

        1 - max_c p_c

    >>> least_confidence([[0.5, 0.5], [0.75, 0.25]])
    array([0.5 , 0.25])
    """
    p = distributions("proba", proba)
    return np.clip(1 - p.max(axis=1).astype(np.float64), 0, 1)


def bald(samples: ArrayLike) -> FloatArray:
    """Mutual information between an item's label and the model's parameters, in nats.

        I = H(mean_k p_k) - mean_k H(p_k),    H(p) = -sum_c p_c log p_c

    Bayesian active learning by disagreement (Houlsby et al., 2011): high where each sample is
    certain and they contradict each other. float32 samples are computed with in float32, so
    differences of about 1e-6 are rounding. Beside the result it needs no memory that grows with N.

    >>> agree, contradict = [[0.5, 0.5], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]]
    >>> bald([agree, contradict]).round(3)
    array([0.   , 0.693])
    """
    p = _samples(samples)
    n_items, n_samples, n_classes = p.shape
    width = np.result_type(p, np.float32)  # float16 has too few digits to take a difference
    rows = max(1, min(n_items, _NUMBERS // (n_samples * n_classes)))
    scratch = np.empty((rows, n_samples * n_classes), width)
    average = np.full(n_samples, 1 / n_samples, width)
    information = np.empty(n_items)
    for start, block in _blocks(p, rows):
        part = block.astype(width, copy=False)
        flat = part.reshape(len(part), -1)
        of_mean = _sum_p_log_p(average @ part)
        of_each = _sum_p_log_p(flat, scratch[: len(part)])
        information[start : start + rows] = of_each / n_samples - of_mean
    return np.maximum(information, 0, out=information)


def variation_ratio(samples: ArrayLike) -> FloatArray:
    """The share of posterior samples whose most probable class is not the most common one.

        1 - max_c #{k : argmax p_k = c} / K

    Of equally probable classes the first counts.

    >>> variation_ratio([[[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]]])
    array([0.25])
    """
    p = _samples(samples)
    n_items, n_samples, n_classes = p.shape
    rows = max(1, _NUMBERS // (n_samples * n_classes))
    winners = np.empty(n_items)
    for start, block in _blocks(p, rows):
        cell = block.argmax(axis=2) + np.arange(len(block))[:, None] * n_classes
        votes = np.bincount(cell.ravel(), minlength=len(block) * n_classes)
        winners[start : start + rows] = votes.reshape(-1, n_classes).max(axis=1)
    return 1 - winners / n_samples


def _samples(samples: ArrayLike) -> Reals:
    p = reals("samples", samples, axes="NKC")
    if not p.shape[1]:
        raise InputError(f"samples must hold one sample an item or more; its shape is {p.shape}.")
    return p


def _blocks(p: Reals, rows: int) -> Iterator[tuple[int, Reals]]:
    for start in range(0, len(p), rows):
        # A whole transposed array would be copied too; a block at a time costs nothing.
        block = np.ascontiguousarray(p[start : start + rows])
        check_distributions("samples", block)
        yield start, block


def _sum_p_log_p(rows: Reals, scratch: Reals | None = None) -> Reals:
    """Sum of p log p along each row, with 0 log 0 = 0 and no temporaries beside `scratch`."""
    # Below the smallest normal number p log p rounds to 0 whatever the log.
    logs = np.maximum(rows, np.finfo(rows.dtype).tiny, out=scratch)
    np.log(logs, out=logs)
    return np.einsum("ij,ij->i", rows, logs)


def geometric(
    X_left: ArrayLike, X_drawn: ArrayLike, norm: Literal["squared", "absolute"] = "squared"
) -> FloatArray:
    """The summed distance from each item left to all items drawn.

        s_j = sum_k |x_j - x_k|^2    or    s_j = sum_k |x_j - x_k|,    k drawn, j left

    The linear-regression experiments of the paper (appendix C.1): squared distances for the
    Boltzmann proposal, absolute ones for the epsilon-greedy. Items are numbers [N] or features
    [..., N, D] with Euclidean distance, and the same leading axes for the items drawn; the scores
    are [..., N]. Nothing drawn yet: every score is 0.

    >>> geometric([0.0, 1.0, 3.0], [1.0, 2.0])
    array([5., 1., 5.])
    >>> geometric([0.0, 1.0, 3.0], [1.0, 2.0], norm="absolute")
    array([3., 1., 3.])
    """
    choice("norm", norm, ("squared", "absolute"))
    left, drawn = _features("X_left", X_left), _features("X_drawn", X_drawn)
    if left.shape[:-2] != drawn.shape[:-2]:
        raise InputError(
            f"X_left and X_drawn must have the same axes before items and features; their shapes "
            f"are {left.shape} and {drawn.shape}."
        )
    if not drawn.shape[-2]:
        return np.zeros(left.shape[:-1])
    if left.shape[-1] != drawn.shape[-1]:
        raise InputError(
            f"X_left has {left.shape[-1]} features and X_drawn {drawn.shape[-1]}: distances need "
            f"the same."
        )
    with np.errstate(over="ignore", invalid="ignore"):
        scores = _squared(left, drawn) if norm == "squared" else _absolute(left, drawn)
    if not np.isfinite(scores).all():
        raise InputError(
            "The distances are too large for a floating-point number. Standardise the features."
        )
    return scores


def _features(name: str, values: ArrayLike) -> FloatArray:
    array = floats(name, values)
    if array.ndim == 1:
        array = array[:, None]
    if not array.ndim:
        raise InputError(f"{name} must be numbers [N] or features [..., N, D]; it is one number.")
    return array


def _squared(left: FloatArray, drawn: FloatArray) -> FloatArray:
    # Around the drawn items' mean the cross terms vanish, and nothing large cancels.
    mean = drawn.mean(axis=-2, keepdims=True)
    off, within = left - mean, drawn - mean
    around = np.sum(within**2, axis=(-2, -1))[..., None]
    return np.einsum("...nd,...nd->...n", off, off) * drawn.shape[-2] + around


def _absolute(left: FloatArray, drawn: FloatArray) -> FloatArray:
    from scipy.spatial.distance import cdist

    if left.ndim > 2:
        return np.stack([_absolute(*each) for each in zip(left, drawn, strict=True)])
    rows = max(1, _DISTANCES // len(drawn))
    parts = [cdist(left[at : at + rows], drawn).sum(axis=1) for at in range(0, len(left), rows)]
    return np.concatenate([np.zeros(0), *parts])


def expected_loss(
    pred: ArrayLike,
    label: ArrayLike | Normal | None = None,
    *,
    loss: Loss = "zero_one",
    cap: float | None = None,
) -> FloatArray:
    """E[L], the expected loss of each prediction of the model under test.

    Drawing in proportion to it is the proposal of Active Testing (Kossen et al., 2021, ICML),
    with a surrogate as `label`. If its probabilities are right, `root_mean_squared_loss` is better.

    Parameters
    ----------
    pred : Class indices [N] or probabilities [N, C] for "zero_one" (which takes the most probable
        class), probabilities for "log_loss" and "brier", numbers [N] for "squared" and "absolute".
    label : A distribution of the label: the probabilities [N, C] of a second model (a surrogate) or
        [N, K, C] of an ensemble of K, which are averaged; for numbers a `levelled.losses.Normal`,
        or values [N, K] such as the predictions of an ensemble. Without it the model's own
        probabilities are used.
    loss : The name of the loss.
    cap : The most that "log_loss" can be, which a probability of 0 makes necessary.

    >>> expected_loss([[0.9, 0.1], [0.6, 0.4]])
    array([0.1, 0.4])
    >>> expected_loss([[0.9, 0.1], [0.6, 0.4]], [[0.5, 0.5], [0.25, 0.75]])
    array([0.5 , 0.75])
    >>> ensemble = [[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.5, 0.5]]]    # 2 items, 2 members
    >>> expected_loss([[0.9, 0.1], [0.6, 0.4]], ensemble)
    array([0.25, 0.75])
    >>> expected_loss([1.0, 5.0], [[0.0, 2.0], [5.0, 5.0]], loss="squared")
    array([1., 0.])
    """
    return expected(*_prediction_and_label(pred, label, loss), loss=loss, cap=cap)


def root_mean_squared_loss(
    pred: ArrayLike,
    label: ArrayLike | Normal | None = None,
    *,
    loss: Loss = "zero_one",
    cap: float | None = None,
) -> FloatArray:
    """sqrt(E[L^2]), the score that measures a risk with the fewest labels.

    The variance of a weighted draw is a sum of E[L_n^2] / q_n, and that is smallest for q_n in
    proportion to sqrt(E[L_n^2]); where labels are certain this is the loss itself, the optimal
    proposal of the paper (Theorem 7).

    Parameters
    ----------
    pred, label, loss, cap : As for `expected_loss`.

    >>> root_mean_squared_loss([[0.91, 0.09], [0.64, 0.36]])
    array([0.3, 0.6])
    """
    return root_mean_square(*_prediction_and_label(pred, label, loss), loss=loss, cap=cap)


def gradient_norm(
    pred: ArrayLike,
    label: ArrayLike | Normal | None = None,
    *,
    loss: Literal["log_loss", "squared"] = "log_loss",
    features: ArrayLike | None = None,
) -> FloatArray:
    """Expected length of the loss's gradient (Settles, 2009, TR 1648, section 3.3).

        log_loss    sum_c r_c |p - e_c|    in the logits of a softmax p; e_c is class c alone
        squared     2 E|f - y|             in the number f

    It tells how far one more label would move the model.

    Parameters
    ----------
    pred : The model's p [N, C] or f [N].
    label : A distribution of the label: r [N, C] or [N, K, C] of an ensemble, p itself by default,
        or for "squared" a `levelled.losses.Normal` or values [N, K].
    loss : "log_loss" or "squared".
    features : Those [N, D] that enter a linear last layer. The gradient is then that in the layer's
        weights: an outer product, whose length is the one above times |features|.

    >>> gradient_norm([[0.5, 0.5], [1.0, 0.0]]).round(3)
    array([0.707, 0.   ])
    >>> gradient_norm([1.0], [[0.0, 2.0]], loss="squared", features=[[3.0, 4.0]])
    array([10.])
    """
    choice("loss", loss, ("log_loss", "squared"))
    if loss == "log_loss":
        chances = pred if label is None else _average_members(label)
        if isinstance(chances, Normal):
            raise InputError(
                "log_loss is a loss of classes: label must be their probabilities [N, C]."
            )
        p, chance = distributions("pred", pred), distributions("label", chances)
        if p.shape != chance.shape:
            raise InputError(f"pred has shape {p.shape} and label {chance.shape}: make them equal.")
        p = p.astype(np.float64)
        # |p - e_c|^2 is the Brier loss of label c, so its root is averaged.
        square = np.einsum("nc,nc->n", p, p)[:, None] - 2 * p + 1
        length = np.einsum("nc,nc->n", chance, np.sqrt(np.maximum(square, 0)))
    elif label is None:
        raise InputError(
            "The squared loss needs a distribution of the label: a levelled.losses.Normal, or "
            "values [N, K]."
        )
    else:
        length = 2 * expected(pred, label, loss="absolute")
    return length if features is None else _times_features(length, features)


def _prediction_and_label(
    pred: ArrayLike, label: ArrayLike | Normal | None, loss: Loss
) -> tuple[ArrayLike, ArrayLike | Normal]:
    """Fill in the model's own probabilities for the label, and the predicted class."""
    array = as_array("pred", pred)
    if label is None:
        if loss in ("squared", "absolute") or array.ndim != 2:
            raise InputError(
                f"The {loss} loss of these predictions cannot be expected without a distribution "
                f"of the label: give label, or probabilities [N, C] as pred to use the model's own."
            )
        label = array
    elif loss not in ("squared", "absolute"):
        label = _average_members(label)
    if loss != "zero_one" or array.ndim != 2:
        return array, label
    if not isinstance(label, Normal) and array.shape != as_array("label", label).shape:
        raise InputError(
            f"pred has shape {array.shape} and label {np.shape(label)}: make them equal."
        )
    return distributions("pred", array).argmax(axis=1), label


def _average_members(label: ArrayLike | Normal) -> ArrayLike | Normal:
    """The mean distribution of an ensemble [N, K, C]; any other label as it is."""
    if isinstance(label, Normal) or as_array("label", label).ndim != 3:
        return label
    members = reals("label", label, axes="NKC")
    if not members.shape[1]:
        raise InputError(f"label must hold one member or more; its shape is {members.shape}.")
    check_distributions("label", members)
    return members.mean(axis=1, dtype=np.float64)


def _times_features(length: FloatArray, features: ArrayLike) -> FloatArray:
    array = floats("features", features, ndim=2)
    same_length(features=array, pred=length)
    with np.errstate(over="ignore"):
        outer = length * np.sqrt(np.einsum("nd,nd->n", array, array))
    if not np.isfinite(outer).all():
        raise InputError(
            f"The gradients are too large for a floating-point number; features reach "
            f"{np.abs(array).max():.3g}. Standardise them."
        )
    return np.asarray(outer)
