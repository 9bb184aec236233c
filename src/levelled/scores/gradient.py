"""How far one more label would move the model: the expected length of the loss's gradient."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, choice, floats, same_length
from levelled.errors import InputError
from levelled.losses import Normal, distributions, expected

__all__ = ["gradient_norm"]


def gradient_norm(
    answer: ArrayLike,
    label: ArrayLike | Normal | None = None,
    *,
    loss: Literal["log_loss", "squared"] = "log_loss",
    features: ArrayLike | None = None,
) -> FloatArray:
    """Expected gradient length (Settles, 2009, TR 1648, section 3.3) in what the model puts out.

        log_loss    sum_c r_c |p - e_c|    in the logits of a softmax p; e_c is class c alone
        squared     2 E|f - y|             in the number f

    `answer` is the model's p [N, C] or f [N]. `label` says how the label is distributed: r [N, C],
    p itself if nothing is given, or for `squared` a `levelled.losses.Normal` or values [N, K].
    With the `features` [N, D] that enter a linear last layer, the gradient is that in the layer's
    weights: an outer product, whose length is the one above times |features|.

    >>> gradient_norm([[0.5, 0.5], [1.0, 0.0]]).round(3)
    array([0.707, 0.   ])
    >>> gradient_norm([1.0], [[0.0, 2.0]], loss="squared", features=[[3.0, 4.0]])
    array([10.])
    """
    choice("loss", loss, ("log_loss", "squared"))
    if loss == "log_loss":
        length = _softmax_length(answer, answer if label is None else label)
    elif label is None:
        raise InputError(
            "The squared loss needs a distribution of the label: a levelled.losses.Normal, or "
            "values [N, K]."
        )
    else:
        length = 2 * expected(answer, label, loss="absolute")
    return length if features is None else _through_layer(length, features)


def _through_layer(length: FloatArray, features: ArrayLike) -> FloatArray:
    reach = floats("features", features, ndim=2)
    same_length(features=reach, answer=length)
    with np.errstate(over="ignore"):
        outer = length * np.sqrt(np.einsum("nd,nd->n", reach, reach))
    if not np.isfinite(outer).all():
        raise InputError(
            f"The gradients are too large for a floating-point number; features reach "
            f"{np.abs(reach).max():.3g}. Standardise them."
        )
    return np.asarray(outer)


def _softmax_length(answer: ArrayLike, label: ArrayLike | Normal) -> FloatArray:
    # |p - e_c|^2 is the Brier loss of label c, so its root is what is averaged.
    if isinstance(label, Normal):
        raise InputError("log_loss is a loss of classes: label must be their probabilities [N, C].")
    p, chance = distributions("answer", answer), distributions("label", label)
    if p.shape != chance.shape:
        raise InputError(f"answer has shape {p.shape} and label {chance.shape}: make them equal.")
    p = p.astype(np.float64)
    square = np.einsum("nc,nc->n", p, p)[:, None] - 2 * p + 1
    return np.einsum("nc,nc->n", chance, np.sqrt(np.maximum(square, 0)))
