"""Weights to train with, and the weighted loss of a torch model.

R_LURE, the levelled unbiased risk estimator, and R_PURE, the plain one, are weighted means of the
losses of drawn items that estimate the mean loss over the pool without bias.
"""

from types import ModuleType
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, choice, floats
from levelled._optional import optional
from levelled.draws import Draws, check_draws
from levelled.errors import InputError
from levelled.estimators import lure_weights, naive_weights, pure_weights

if TYPE_CHECKING:
    from torch import Tensor

_WEIGHTS = {"lure": lure_weights, "pure": pure_weights, "none": naive_weights}
KINDS = tuple(_WEIGHTS)


def training_weights(
    draws: Draws | tuple[ArrayLike, ArrayLike, int],
    kind: Literal["lure", "pure", "none"] = "lure",
    normalise: Literal["mean", "sum"] = "mean",
) -> FloatArray:
    """A weight for each drawn item, with which the training loss estimates that of the pool.

    `draws` may be a tuple (index, probability, pool_size), in the order of drawing. The weights
    depend on the number of draws: compute them anew when labels are added.

    `normalise` names the divisor of the weighted losses:

        "mean"   by M:        R_LURE = 1/M sum_m v_m L_m;  weights average one in expectation
        "sum"    by nothing:  v_m / sum v, which sum to one

    "mean" is unbiased, and keeps a penalty such as scikit-learn's C at the strength it
    has without weights. "sum" is for weighted averages (`numpy.average`, the metrics of
    scikit-learn); it has a bias of about 1/M.

    >>> draws = Draws([2, 0], [0.5, 0.25], pool_size=4)
    >>> training_weights(draws).round(3)
    array([0.667, 1.333])
    >>> training_weights(draws, "pure", normalise="sum").round(3)
    array([0.429, 0.571])
    >>> training_weights(([2, 0], [0.5, 0.25], 4)).round(3)
    array([0.667, 1.333])
    """
    choice("kind", kind, KINDS)
    choice("normalise", normalise, ("mean", "sum"))
    if isinstance(draws, tuple) and len(draws) == 3:
        draws = Draws(*draws)  # type: ignore[arg-type]  # made into arrays there
    check_draws(draws)
    weights = _WEIGHTS[kind](draws)
    return weights if normalise == "mean" else weights / weights.sum()


def weighted_loss(losses: "Tensor", weights: ArrayLike) -> "Tensor":
    """The mean of weighted losses of a torch model, ready for `backward`.

        1/M sum_m v_m L_m

    `losses` are those of each example, `reduction="none"` in torch; `weights` are the
    `training_weights` of the same examples, which are constants. In a mini-batch the mean is
    over the batch, and its expectation over random batches is the mean over all M. Losses of
    half precision, which a large weight would make infinite, are averaged in float32.

    >>> torch = optional("torch", extra="torch")
    >>> weighted_loss(torch.tensor([3.0, 6.0]), [0.5, 1.5])
    tensor(5.2500)
    """
    torch = optional("torch", extra="torch")
    _check_losses(torch, losses)
    if isinstance(weights, torch.Tensor):
        weights = weights.detach().cpu().double().numpy()  # NumPy knows no bfloat16
    values = floats("weights", np.asarray(weights), ndim=1)
    if len(values) != len(losses):
        raise InputError(f"{len(losses)} losses need {len(losses)} weights, not {len(values)}.")
    precision = torch.promote_types(losses.dtype, torch.float32)
    scale = torch.as_tensor(values, dtype=precision, device=losses.device)
    mean: Tensor = (scale * losses).mean()
    return mean


def _check_losses(torch: ModuleType, losses: "Tensor") -> None:
    if not isinstance(losses, torch.Tensor) or losses.ndim != 1:
        shape = tuple(getattr(losses, "shape", ()))
        raise InputError(
            f"losses must be a torch tensor with one loss an example; this is a "
            f"{type(losses).__name__} of shape {shape}. Give the loss reduction='none'."
        )
    if not losses.is_floating_point():
        raise InputError(
            f"losses must be of a floating type to be learned from; they are {losses.dtype}."
        )
    if not len(losses):
        raise InputError("There are no losses to average: leave empty batches out.")
