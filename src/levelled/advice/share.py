"""How far to correct training: the share of a corrected model in a blend with a plain one.

f0 is the model trained plainly, f1 the one trained with weights w, and a blend predicts
(1 - share) f0 + share f1. Two measurements give the share, because the first knows nothing of the
labels that a model has not seen, and the second is noisy.

- On the labels: weights gain G = mean w (L[f0] - L[f1]) on the labels that both were fitted to.
  Where plain training is right and there is nothing to correct, G is not 0: it is half of the
  variance that uneven weights add. With M labels that are worth n even ones, that chance gain is

      OFB (1 - n/M) / 2,    OFB = mean w (L_cv[f1] - L[f1]),    n = (sum w)^2 / sum w^2

  with L_cv the loss under a model that was trained without the item. The share is the part of
  the gain that chance does not explain.
- Held out: the a at which (1 - a) f0 + a f1 has the lowest weighted loss on items that neither
  model has seen, with its standard error.

The share is their mean, the first counted as 16 observations of standard error 1.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from levelled._check import FloatArray
from levelled.advice.verdict import Measured
from levelled.estimators.diagnostics import effective_size

_PRIOR = 16.0  # observations that the share on the labels counts as
_NEAR = 0.05  # a share this close to 0 or 1 is rounded to it
_LEAST = 2.0  # overfitting bias in units of risk / M: that of two parameters
_FAR = 10.0  # a share of the log loss is sought between -10 and 10


def inclusion_weights(hazards: FloatArray) -> FloatArray:
    """Weights in inverse proportion to the chance of having been drawn by now, of mean one.

        pi_i = 1 - exp(-h_i),    h_i = sum over batches of k p_i

    with p_i the probability of item i to be the next draw, had it still been in the pool, when a
    batch of k was drawn. They vary less than the weights of R_LURE, which know only the
    probability at the one step at which an item was drawn.

    >>> inclusion_weights(np.array([0.1, 0.2, 0.4])).round(2)
    array([1.65, 0.87, 0.48])
    """
    weights: FloatArray = -1 / np.expm1(-hazards)
    return weights / weights.mean()


class LabelGain(NamedTuple):
    """The gain of weights on the labels that both models were fitted to."""

    value: float
    chance: float
    """The gain that chance alone would give: overfitting bias (1 - n/M) / 2."""
    overfitting_bias: Measured

    @property
    def share(self) -> float:
        """The part of the gain that chance does not explain."""
        return max(0.0, 1 - self.chance / self.value) if self.value > 0 else 0.0


def measure_gain(
    plain: FloatArray, corrected: FloatArray, held_out: FloatArray, weights: FloatArray
) -> LabelGain:
    """The gain of weights on the labels, and what chance alone would give.

    `plain` and `corrected` are the losses of the labels under the two models that were fitted to
    all of them, `held_out` those under corrected models that were trained without the label. The
    overfitting bias is taken to be at least 2/M of the held-out risk.

    >>> losses = np.array([0.4, 0.2, 0.3]), np.array([0.1, 0.1, 0.2]), np.array([0.2, 0.3, 0.3])
    >>> gain = measure_gain(*losses, weights=np.array([1.5, 0.5, 1.0]))
    >>> round(gain.value, 3), round(gain.chance, 3), round(gain.share, 2)
    (0.2, 0.012, 0.94)
    """
    M = len(weights)
    excess = weights * (held_out - corrected)
    least = _LEAST / M * float(np.mean(weights * held_out))
    bias = Measured(max(float(excess.mean()), least), float(np.std(excess, ddof=1) / np.sqrt(M)))
    return LabelGain(
        value=float(np.mean(weights * (plain - corrected))),
        chance=bias.value * (1 - effective_size(weights) / M) / 2,
        overfitting_bias=bias,
    )


def squared_share(
    labels: FloatArray, plain: FloatArray, corrected: FloatArray, weights: FloatArray
) -> Measured | None:
    """The share at which held-out predictions have the lowest squared error or Brier score.

        a = sum w d (y - f0) / sum w d^2,    d = f1 - f0

    with the standard error of a weighted regression. Predictions are numbers [M], or
    probabilities [M, C] with labels that are 1 for the class and 0 for the others. None if the
    two models predict the same.

    >>> y, f0, f1 = np.array([1.0, 2.0, 4.0]), np.zeros(3), np.array([1.0, 2.0, 3.0])
    >>> print(squared_share(y, f0, f1, np.ones(3)))
    1.21 (+-0.12)
    """
    y, f0, f1 = (each.reshape(len(weights), -1) for each in (labels, plain, corrected))
    d = f1 - f0
    curvature = weights * np.einsum("mc,mc->m", d, d)
    if not curvature.any():
        return None
    value = float(np.sum(weights * np.einsum("mc,mc->m", d, y - f0)) / curvature.sum())
    slope = weights * np.einsum("mc,mc->m", d, y - f0 - value * d)
    return Measured(value, _sandwich(slope, curvature))


def log_loss_share(
    plain: FloatArray, corrected: FloatArray, weights: FloatArray
) -> Measured | None:
    """The share at which held-out probabilities have the lowest log loss.

        a = argmin -sum w log((1 - a) f0_y + a f1_y)

    with a sandwich standard error. `plain` and `corrected` are the probabilities that the models
    give to the label of each item, none of them 0. None if they are the same.

    >>> share = log_loss_share(np.array([0.5, 0.5, 0.5]), np.array([0.9, 0.7, 0.4]), np.ones(3))
    >>> share is not None and 1 < share.value < 10
    True
    """
    more = corrected / plain - 1
    if not more.any():
        return None

    def slopes(share: float) -> FloatArray:
        return weights * more / (1 + share * more)

    lowest = max(-_FAR, -1 / max(more.max(), 1 / _FAR))
    highest = min(_FAR, -1 / min(more.min(), -1 / _FAR))
    inside = 1e-9 * (highest - lowest)
    lowest, highest = lowest + inside, highest - inside
    value = _root(lambda share: float(slopes(share).sum()), lowest, highest)
    slope = slopes(value)
    return Measured(value, _sandwich(slope, slope**2 / weights))


def combine_shares(on_labels: float, held_out: Measured) -> float:
    """The share of the corrected model, from both measurements; 0 and 1 where it is near them.

        (16 s + a / se^2) / (16 + 1 / se^2)

    with s the share on the labels and a +- se that of held-out items.

    >>> round(combine_shares(0.68, Measured(0.48, 0.44)), 2)
    0.63
    >>> combine_shares(0.0, Measured(-0.3, 0.5)), combine_shares(0.9, Measured(1.5, 0.2))
    (0.0, 1.0)
    """
    count = _PRIOR * held_out.stderr**2
    share = (count * on_labels + held_out.value) / (count + 1)
    return 0.0 if share < _NEAR else 1.0 if share > 1 - _NEAR else share


def _sandwich(slope: FloatArray, curvature: FloatArray) -> float:
    """sd(slope) / (sqrt(M) mean curvature), the standard error of a minimum."""
    return float(np.std(slope, ddof=1) / np.sqrt(len(slope)) / curvature.mean())


def _root(decreasing: Callable[[float], float], low: float, high: float) -> float:
    """Where a decreasing function is 0, or the end of the range that is nearest to it."""
    if decreasing(low) <= 0:
        return low
    return high if decreasing(high) >= 0 else float(brentq(decreasing, low, high))
