"""Predictions -> scores: one number an item, higher where a label is worth more.

A score is computed from predictions alone and does not depend on the proposal that turns it into
probabilities: any score goes with any proposal.

    proba     [N, C]       items, classes
    samples   [N, K, C]    items, posterior samples, classes
"""

from levelled.scores.distance import geometric
from levelled.scores.expected import expected_loss, gradient_norm, root_mean_squared_loss
from levelled.scores.uncertainty import bald, entropy, least_confidence, margin, variation_ratio

__all__ = [
    "bald",
    "entropy",
    "expected_loss",
    "geometric",
    "gradient_norm",
    "least_confidence",
    "margin",
    "root_mean_squared_loss",
    "variation_ratio",
]
