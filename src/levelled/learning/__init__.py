"""Active learning: choose items to label, train on them with weights, and decide when to stop."""

from levelled.learning.learner import ActiveLearner
from levelled.learning.training import Blend, Stopping, blend, training_weights, weighted_loss

__all__ = ["ActiveLearner", "Blend", "Stopping", "blend", "training_weights", "weighted_loss"]
