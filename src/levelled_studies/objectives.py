"""What a model can minimise: the plain mean of its losses, R_PURE or R_LURE."""

from collections.abc import Callable, Mapping

from levelled._check import FloatArray
from levelled.draws import Draws
from levelled.estimators import lure_weights, pure_weights

__all__ = ["OBJECTIVES"]

OBJECTIVES: Mapping[str, Callable[[Draws], FloatArray] | None] = {
    "naive": None,
    "PURE": pure_weights,
    "LURE": lure_weights,
}
"""The weights that the drawn points have in each."""
