"""Active learning: choose items to label, train on them with weights, and decide when to stop."""

from typing import TYPE_CHECKING

from levelled._optional import lazy_names

if TYPE_CHECKING:
    from levelled.learning.learner import ActiveLearner
    from levelled.learning.training import Blend, Stopping, blend, training_weights, weighted_loss

__all__ = ["ActiveLearner", "Blend", "Stopping", "blend", "training_weights", "weighted_loss"]

# The learner alone needs scikit-learn; weights serve a torch model without it.
__getattr__ = lazy_names(
    __name__,
    {
        "levelled.learning.learner": "ActiveLearner",
        "levelled.learning.training": "Blend Stopping blend training_weights weighted_loss",
    },
)
