"""Synthetic pools with known losses, for measuring the coverage of intervals.

In most pools each item has a rate or mean of its own; a predictor gives it times a factor
lognormal(-.125, .5), which has mean one. In the pools of an overconfident classifier the predictor
is what the model itself expects, and the draws are the default ones of a campaign. A pool is a
function of its size and a generator.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from levelled import losses as loss_of
from levelled._check import FloatArray
from levelled.losses import Loss
from levelled.scores import expected_loss, root_mean_squared_loss

__all__ = ["KINDS", "POOLS", "LossPool"]


@dataclass(frozen=True, slots=True, eq=False)
class LossPool:
    """Losses, a predictor of them, and the bounds that may be declared."""

    losses: FloatArray
    predictor: FloatArray
    bounds: tuple[float, float]
    score: FloatArray | None = None
    """The interest of each item, where that is not the predictor."""

    @property
    def interest(self) -> FloatArray:
        """The values in proportion to which items are drawn, above the floor."""
        return self.predictor if self.score is None else self.score


def _noisy(values: FloatArray, rng: Generator) -> FloatArray:
    return values * rng.lognormal(-0.125, 0.5, len(values))


def _errors(a: float, b: float) -> Callable[[int, Generator], LossPool]:
    def make(size: int, rng: Generator) -> LossPool:
        rate = rng.beta(a, b, size)
        errors = (rng.random(size) < rate).astype(float)
        return LossPool(errors, np.clip(_noisy(rate, rng), 1e-4, 0.98), (0.0, 1.0))

    return make


def _partly_invisible(size: int, rng: Generator) -> LossPool:
    """5% errors, of which a third happen where the predictor sees nothing."""
    rate = rng.beta(0.2, 3.8, size)
    errors = (rng.random(size) < rate).astype(float)
    hidden = rng.random(size) < 1 / 3
    seen = np.where(hidden, rng.permutation(rate), rate)
    return LossPool(errors, np.clip(_noisy(seen, rng), 1e-4, 0.98), (0.0, 1.0))


def _log_losses(size: int, rng: Generator) -> LossPool:
    mean = rng.lognormal(-1.5, 1.0, size)
    return LossPool(mean * rng.gamma(0.5, 2.0, size), _noisy(mean, rng), (0.0, np.inf))


def _squared(size: int, rng: Generator) -> LossPool:
    mean = rng.gamma(2.0, 0.5, size)
    return LossPool(mean * rng.chisquare(1, size), _noisy(mean, rng), (0.0, np.inf))


def _brier(size: int, rng: Generator) -> LossPool:
    """Dense and bounded: 2 (1 - p)^2 for labels that follow slightly overconfident p."""
    p = rng.beta(4.0, 1.0, size)
    right = rng.random(size) < 0.9 * p + 0.03
    losses = np.where(right, 2 * (1 - p) ** 2, 2 * p**2)
    return LossPool(losses, _noisy(2 * p * (1 - p) + 0.01, rng), (0.0, 2.0))


def _overconfident(loss: Loss, cap: float | None = None) -> Callable[[int, Generator], LossPool]:
    """3% errors of a classifier whose logits are 2.5 times too large.

    Most losses are nearly 0 (a Brier loss of 1e-8), a few nearly as large as they can be, and the
    model expects hardly any of these.
    """

    def make(size: int, rng: Generator) -> LossPool:
        logit = rng.normal(4.3, 1.5, size)
        right = rng.random(size) < 1 / (1 + np.exp(-logit))
        wrong = 1 / (1 + np.exp(2.5 * logit))
        proba = np.stack([1 - wrong, wrong], axis=1)
        label = np.where(right, 0, 1)
        if loss == "zero_one":
            losses, most = loss_of.zero_one(label, proba.argmax(axis=1)), 1.0
        elif loss == "brier":
            losses, most = loss_of.brier(label, proba), 2.0
        else:
            losses, most = loss_of.log_loss(label, proba, cap=cap), float(cap or np.inf)
        score = root_mean_squared_loss(proba, loss=loss, cap=cap)
        return LossPool(losses, expected_loss(proba, loss=loss, cap=cap), (0.0, most), score)

    return make


def _capped(
    make: Callable[[int, Generator], LossPool], cap: float
) -> Callable[[int, Generator], LossPool]:
    """The losses of another pool, cut at a cap that is declared."""

    def make_capped(size: int, rng: Generator) -> LossPool:
        pool = make(size, rng)
        capped = np.minimum(pool.losses, cap)
        return LossPool(capped, np.minimum(pool.predictor, cap), (0.0, cap))

    return make_capped


def _difference(
    a: float, b: float, *, unseen: bool = False
) -> Callable[[int, Generator], LossPool]:
    """Two models that disagree on some items, with rates from Beta(a, b); one is right more often.

    If `unseen`, the predictor knows nothing of where they disagree.
    """

    def make(size: int, rng: Generator) -> LossPool:
        rate = rng.beta(a, b, size)
        disagree = rng.random(size) < rate
        losses = np.where(disagree, np.where(rng.random(size) < 0.65, 1.0, -1.0), 0.0)
        seen = rng.permutation(rate) if unseen else rate
        return LossPool(losses, np.clip(_noisy(seen, rng), 1e-4, 0.98), (-1.0, 1.0))

    return make


POOLS: dict[str, Callable[[int, Generator], LossPool]] = {
    "errors 5%": _errors(0.2, 3.8),
    "errors 0.5%": _errors(0.05, 9.95),
    "errors 5%, a third unseen": _partly_invisible,
    "overconfident, errors": _overconfident("zero_one"),
    "overconfident, Brier": _overconfident("brier"),
    "overconfident, log loss up to 10": _overconfident("log_loss", 10.0),
    "Brier": _brier,
    "log loss up to 3": _capped(_log_losses, 3.0),
    "squared error up to 9": _capped(_squared, 9.0),
    "difference of two models": _difference(0.3, 3.4),
    "difference in 1%": _difference(0.1, 9.9),
    "difference in 1%, unseen": _difference(0.1, 9.9, unseen=True),
    "heavy log loss": _log_losses,
    "squared error": _squared,
}

_UNBOUNDED = ("heavy log loss", "squared error")
_KIND = {"errors": "0/1 losses", "difference": "differences of 0/1 losses"}

KINDS = {
    name: next(
        (kind for word, kind in _KIND.items() if word in name),
        "losses without a bound" if name in _UNBOUNDED else "losses with a bound",
    )
    for name in POOLS
}
"""The kind of loss of each pool."""
