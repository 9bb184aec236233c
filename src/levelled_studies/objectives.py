"""The three objectives of the paper: the naive mean of the losses, R_PURE and R_LURE."""

from collections.abc import Callable, Mapping

from levelled._check import FloatArray
from levelled.draws import Draws
from levelled.estimators import lure_weights, pure_weights
from levelled.estimators.estimate import running_lure, running_naive, running_pure

__all__ = ["RUNNING", "WEIGHTS"]

WEIGHTS: Mapping[str, Callable[[Draws], FloatArray] | None] = {
    "naive": None,
    "PURE": pure_weights,
    "LURE": lure_weights,
}
"""The weights of the drawn items in training; None trains without any."""

RUNNING = {"naive": running_naive, "PURE": running_pure, "LURE": running_lure}
"""The estimate of the risk after 1, ..., M labels, [..., M]."""
