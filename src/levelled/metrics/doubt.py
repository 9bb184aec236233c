"""Possible true label distributions of a pool, given a model's probabilities.

A model's probabilities say how sure it is, not how often it is right. Networks are mostly too
sure, regularised linear models and forests not sure enough, and trees and naive Bayes give
probabilities near 0 and 1 to whatever they predict. A `Doubt` is a grid of distributions

    p'_c  =  (1 - eps) p_c^b / sum_k p_k^b  +  eps / C

with b below 1 where the model is too sure and above 1 where it is not sure enough; eps is the
share of items of which it knows nothing. Each has a weight: a prior, and the likelihood of the
labels that are there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from levelled._check import FloatArray, IntArray

LEAST = 1e-6
"""Probabilities below this one are not believed."""

_POWERS = np.geomspace(0.1, 10.0, 26)
_UNKNOWN = np.array([0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.6])
_TYPICAL_POWER, _POWER_SPREAD = 0.8, 0.6
"""Temperatures of 1.3 to 2.5 (b = 0.4 to 0.8) are usual for networks, b = 1 to 3 for others."""
_TYPICAL_ERROR, _ERROR_SPREAD = 0.08, 1.5
_SCALE_SPREAD = 0.5
_BELIEF_SPREAD = 0.15


@dataclass(frozen=True, slots=True, eq=False)
class Doubt:
    """A grid of powers b and shares eps, each with the logarithm of its weight."""

    power: FloatArray
    unknown: FloatArray
    log_weight: FloatArray

    @classmethod
    def prior(cls) -> "Doubt":
        """The grid before anything is known of the pool."""
        power, unknown = (grid.ravel() for grid in np.meshgrid(_POWERS, _UNKNOWN))
        distance = np.log(power / _TYPICAL_POWER) / _POWER_SPREAD
        return cls(power, unknown, _student(distance) - 0.5 * np.log(unknown))

    def __iter__(self) -> Iterator[tuple[float, float]]:
        yield from zip(self.power.tolist(), self.unknown.tolist(), strict=True)

    def typical(self, error: FloatArray) -> "Doubt":
        """The grid weighted by how usual the error rate is that each distribution implies.

        The prior of its logit is Student's t with three degrees of freedom around 8%: most
        models that are evaluated err in 2% to 25% of the cases, and some far less.
        """
        distance = _logit(error) - _logit(np.asarray(_TYPICAL_ERROR))
        return self._times(_student(distance / _ERROR_SPREAD))

    def seen(
        self, log_proba: FloatArray, pred: IntArray, wrong: FloatArray, weight: FloatArray
    ) -> "Doubt":
        """The grid weighted by the likelihood of labels: 1 where the prediction was `wrong`.

        With the weights of the draws the likelihood is that of the whole pool, so that the
        distributions that fit it best are those that fit the pool best.
        """
        own = np.arange(len(pred)), pred
        right = np.clip([flatten(log_proba, *each)[own] for each in self], 1e-12, 1 - 1e-12)
        return self._times(
            np.log1p(-right) @ (weight * wrong) + np.log(right) @ (weight * (1 - wrong))
        )

    def _times(self, log_weight: FloatArray) -> "Doubt":
        return replace(self, log_weight=self.log_weight + log_weight)


def flatten(log_proba: FloatArray, power: float, unknown: float) -> FloatArray:
    """The distributions p' [N, C] of the module's formula, from log p.

    >>> flatten(np.log([[0.9, 0.1]]), 0.5, 0.0).round(2)
    array([[0.75, 0.25]])
    """
    logits = power * log_proba
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    proba = odds / odds.sum(axis=1, keepdims=True)
    return np.asarray((1 - unknown) * proba + unknown / log_proba.shape[1])


def loss_scales() -> tuple[FloatArray, FloatArray]:
    """Factors by which losses of numbers may be larger than expected, and their log weights."""
    scales = np.geomspace(0.2, 5.0, 25)
    return scales, _student(np.log(scales) / _SCALE_SPREAD)


def believe(values: FloatArray, expected: float, *, is_share: bool) -> FloatArray:
    """The log weights of values under a user's belief: normal on a logit or a log scale."""
    scale = _logit if is_share else np.log
    distance = scale(values) - scale(np.asarray(expected))
    return np.asarray(-0.5 * (distance / _BELIEF_SPREAD) ** 2)


def weighted_quantiles(
    values: FloatArray, weights: FloatArray, quantiles: Sequence[float]
) -> FloatArray:
    """Quantiles of weighted values, interpolated between them.

    >>> weighted_quantiles(np.array([3.0, 1.0, 2.0]), np.ones(3), [0.0, 0.5, 1.0])
    array([1., 2., 3.])
    """
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) - weights[order] / 2
    return np.interp(quantiles, reached / weights.sum(), values[order])


def _student(distance: FloatArray) -> FloatArray:
    """The log density of Student's t with three degrees of freedom, up to a constant."""
    return np.asarray(-2 * np.log1p(distance**2 / 3))


def _logit(value: FloatArray) -> FloatArray:
    inside = np.clip(value, LEAST, 1 - LEAST)
    return np.asarray(np.log(inside / (1 - inside)))
