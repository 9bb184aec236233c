"""How unsure one predictive distribution is (Settles, 2009, TR 1648, section 3.1)."""

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray
from levelled.losses import Reals, distributions

__all__ = ["entropy", "least_confidence", "margin", "sum_p_log_p"]


def entropy(proba: ArrayLike) -> FloatArray:
    """Entropy of the predictive distribution, in nats: from 0 to log C.

        H = -sum_c p_c log p_c,    0 log 0 = 0

    >>> entropy([[0.5, 0.5], [1.0, 0.0]]).round(3)
    array([0.693, 0.   ])
    """
    p = distributions("proba", proba)
    return np.maximum(0.0 - sum_p_log_p(p.astype(np.float64)), 0)


def margin(proba: ArrayLike) -> FloatArray:
    """How close the second most probable class comes to the first: from 0 (sure) to 1 (tied).

        1 - (p_(1) - p_(2)),    p_(1) >= p_(2) >= ...

    The margin itself is p_(1) - p_(2); it is turned round so that higher is more interesting.

    >>> margin([[0.5, 0.5, 0.0], [0.75, 0.25, 0.0]])
    array([1. , 0.5])
    """
    p = distributions("proba", proba)
    second, first = np.partition(p, -2, axis=1)[:, -2:].astype(np.float64).T
    return np.clip(1 - (first - second), 0, 1)


def least_confidence(proba: ArrayLike) -> FloatArray:
    """The chance, in the model's own eyes, that its most probable class is wrong.

        1 - max_c p_c

    >>> least_confidence([[0.5, 0.5], [0.75, 0.25]])
    array([0.5 , 0.25])
    """
    p = distributions("proba", proba)
    return np.clip(1 - p.max(axis=1).astype(np.float64), 0, 1)


def sum_p_log_p(rows: Reals, scratch: Reals | None = None) -> Reals:
    """Sum of p log p along each row, with 0 log 0 = 0 and no temporaries beside `scratch`."""
    # Below the smallest normal number p log p rounds to 0 whatever the log.
    logs = np.maximum(rows, np.finfo(rows.dtype).tiny, out=scratch)
    np.log(logs, out=logs)
    return np.einsum("ij,ij->i", rows, logs)
