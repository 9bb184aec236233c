"""The expected loss of a prediction, and the expected gradient of that loss.

The label is not known yet, only its distribution: that of a second model, or the model's own.
"""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, as_array, choice, floats, same_length
from levelled.errors import InputError
from levelled.losses import (
    Loss,
    Normal,
    check_distributions,
    distributions,
    expected,
    reals,
    root_mean_square,
)


def expected_loss(
    pred: ArrayLike,
    label: ArrayLike | Normal | None = None,
    *,
    loss: Loss = "zero_one",
    cap: float | None = None,
) -> FloatArray:
    """E[L], the expected loss of each prediction of the model under test.

    `pred` is class indices [N] or probabilities [N, C] for `zero_one` (which takes the most
    probable class), probabilities for `log_loss` and `brier`, numbers [N] for `squared` and
    `absolute`. `label` is a distribution of the label: the probabilities [N, C] of a second model
    (a surrogate) or [N, K, C] of an ensemble of K, which are averaged; for numbers a
    `levelled.losses.Normal`, or values [N, K] such as the predictions of an ensemble. Without it
    the model's own probabilities are used.

    Drawing in proportion to it is the proposal of Active Testing (Kossen et al., 2021, ICML),
    with a surrogate as `label`. If its probabilities are right, `root_mean_squared_loss` is better.

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
    proposal of the paper (Theorem 7). Arguments as for `expected_loss`.

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

    It tells how far one more label would move the model. `pred` is the model's p [N, C] or f [N].
    `label` is a distribution of the label: r [N, C] or [N, K, C] of an ensemble, p itself by
    default, or for `squared` a `levelled.losses.Normal` or values [N, K]. With the `features`
    [N, D] that enter a linear last layer, the gradient is that in the layer's weights: an outer
    product, whose length is the one above times |features|.

    >>> gradient_norm([[0.5, 0.5], [1.0, 0.0]]).round(3)
    array([0.707, 0.   ])
    >>> gradient_norm([1.0], [[0.0, 2.0]], loss="squared", features=[[3.0, 4.0]])
    array([10.])
    """
    choice("loss", loss, ("log_loss", "squared"))
    if loss == "log_loss":
        length = _softmax_length(pred, pred if label is None else _average_members(label))
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


def _softmax_length(pred: ArrayLike, label: ArrayLike | Normal) -> FloatArray:
    # |p - e_c|^2 is the Brier loss of label c, so its root is averaged.
    if isinstance(label, Normal):
        raise InputError("log_loss is a loss of classes: label must be their probabilities [N, C].")
    p, chance = distributions("pred", pred), distributions("label", label)
    if p.shape != chance.shape:
        raise InputError(f"pred has shape {p.shape} and label {chance.shape}: make them equal.")
    p = p.astype(np.float64)
    square = np.einsum("nc,nc->n", p, p)[:, None] - 2 * p + 1
    return np.einsum("nc,nc->n", chance, np.sqrt(np.maximum(square, 0)))


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
