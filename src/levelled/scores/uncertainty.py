"""Uncertainty of one predictive distribution [N, C], or of posterior samples [N, K, C].

`entropy`, `margin` and `least_confidence` are described by Settles (2009, TR 1648, section 3.1).
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray
from levelled.errors import InputError
from levelled.losses import Reals, check_distributions, distributions, reals

_BLOCK = 2**16  # numbers in a block, so that it and its logarithms stay in a core's cache


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
    rows = max(1, min(n_items, _BLOCK // (n_samples * n_classes)))
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
    rows = max(1, _BLOCK // (n_samples * n_classes))
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
