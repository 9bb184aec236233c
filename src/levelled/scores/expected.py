"""What an item's label is expected to cost: the interest of whoever measures a model."""

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, as_array
from levelled.errors import InputError
from levelled.losses import Loss, Normal, distributions, expected, root_mean_square

__all__ = ["expected_loss", "root_mean_squared_loss"]


def expected_loss(
    answer: ArrayLike,
    label: ArrayLike | Normal | None = None,
    *,
    loss: Loss = "zero_one",
    cap: float | None = None,
) -> FloatArray:
    """E[L]: what the model's answer is expected to cost.

    `answer` is what the model under test says: class indices [N] or probabilities [N, C] for
    `zero_one` (whose answer is then the most probable class), probabilities for `log_loss` and
    `brier`, numbers [N] for `squared` and `absolute`. `label` is a distribution of the label: the
    probabilities [N, C] of a second model, or a `levelled.losses.Normal` or values [N, K] for
    numbers. Without it the model's own probabilities are believed.

    >>> expected_loss([[0.9, 0.1], [0.6, 0.4]])
    array([0.1, 0.4])
    >>> expected_loss([[0.9, 0.1], [0.6, 0.4]], [[0.5, 0.5], [0.25, 0.75]])
    array([0.5 , 0.75])
    """
    return expected(*_filled_in(answer, label, loss), loss=loss, cap=cap)


def root_mean_squared_loss(
    answer: ArrayLike,
    label: ArrayLike | Normal | None = None,
    *,
    loss: Loss = "zero_one",
    cap: float | None = None,
) -> FloatArray:
    """sqrt(E[L^2]): the interest that measures a risk with the fewest labels.

    The variance of a weighted draw is a sum of E[L_n^2] / q_n, and that is smallest for q_n in
    proportion to sqrt(E[L_n^2]); where labels are certain this is the loss itself, the optimal
    proposal of the paper (Theorem 7). Arguments as for `expected_loss`.

    >>> root_mean_squared_loss([[0.91, 0.09], [0.64, 0.36]])
    array([0.3, 0.6])
    """
    return root_mean_square(*_filled_in(answer, label, loss), loss=loss, cap=cap)


def _filled_in(
    answer: ArrayLike, label: ArrayLike | Normal | None, loss: Loss
) -> tuple[ArrayLike, ArrayLike | Normal]:
    """Believe the model's own probabilities if nobody else's are there; answer with the largest."""
    said = as_array("answer", answer)
    if label is None:
        if loss in ("squared", "absolute") or said.ndim != 2:
            raise InputError(
                f"The {loss} loss of these answers cannot be expected without a distribution of "
                f"the label: give label, or answer with probabilities [N, C] to believe the "
                f"model's own."
            )
        label = said
    if loss != "zero_one" or said.ndim != 2:
        return said, label
    if not isinstance(label, Normal) and said.shape != as_array("label", label).shape:
        raise InputError(
            f"answer has shape {said.shape} and label {np.shape(label)}: make them equal."
        )
    return distributions("answer", said).argmax(axis=1), label
