"""Models trained on drawn labels: which to label next, how to weight them, and when to stop."""

from levelled.learning.learner import ActiveLearner
from levelled.learning.stopping import Stopping
from levelled.learning.weights import training_weights, weighted_loss

__all__ = ["ActiveLearner", "Stopping", "training_weights", "weighted_loss"]
