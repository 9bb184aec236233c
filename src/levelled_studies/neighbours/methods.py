"""Estimators and designs of other papers, in the form that `levelled simulate` repeats.

All but Active Testing draw by the weights of a static campaign, so that they differ in how they
draw and weight alone, not in what they know.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np
from numpy.random import Generator

from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.estimators import lure_weights, pure_weights
from levelled.estimators.lure import murthy_weights
from levelled.proposals import mixture, proportional
from levelled.samplers import FrozenProposal
from levelled.scores import expected_loss, root_mean_squared_loss
from levelled.simulation import METHODS, KnownLosses, Method, Reading
from levelled.simulation.methods import draw_frozen
from levelled_studies.efficiency.peers import REIMPLEMENTED, quantile_strata, stratified_variance

__all__ = [
    "BIASED",
    "EXPECTED",
    "ROOT",
    "draws_for_different",
    "free_repeats",
    "inclusion_probabilities",
    "murthy",
    "neighbours",
    "neyman_allocation",
    "poisson",
    "stratified",
]

_FLOOR = 0.1
_HALVINGS = 100
EXPECTED = "Active Testing, ensemble"
ROOT = "R_LURE, root of the ensemble's E[L^2]"
BIASED = ("naive", "importance weights", "importance weights, normalised", "surrogate mean")
"""Methods whose mean is not the risk; their label factors are those of squared errors."""


def neighbours(known: KnownLosses, pred: FloatArray, ensemble: FloatArray) -> dict[str, Method]:
    """The methods by name, for a pool with predictions [N, C] and a surrogate [N, K, C]."""
    expected = np.stack([expected_loss(pred, ensemble), np.ones(len(known))])
    judged = replace(known, expected_values=expected)
    root = mixture(proportional(root_mean_squared_loss(pred, ensemble), allow_zero=True), _FLOOR)
    rooted = replace(known, static=_plain(known, root))
    return {
        "uniform": METHODS["uniform"],
        "naive": partial(_read, weigh=lambda draws, _: np.ones(len(draws))),
        "R_LURE": partial(_read, weigh=lambda draws, _: lure_weights(draws), estimator="lure"),
        "R_PURE": partial(_read, weigh=lambda draws, _: pure_weights(draws), estimator="pure"),
        "Murthy": murthy,
        "with replacement": METHODS["with-replacement"],
        "with replacement, repeats free": free_repeats,
        "Poisson": poisson,
        "importance weights": partial(_read, weigh=lambda draws, p: _importance(draws, p)),
        "importance weights, normalised": partial(_read, weigh=_normalised_importance),
        "stratified": stratified,
        "regression": METHODS["ppi"],
        "Active Testing, own": METHODS["active-testing"],
        EXPECTED: _with(judged, METHODS["active-testing"]),
        ROOT: _with(rooted, partial(_read, weigh=lambda d, _: lure_weights(d), estimator="lure")),
        "surrogate mean": REIMPLEMENTED["surrogate-mean"],
    }


def _with(known: KnownLosses, method: Method) -> Method:
    """The method on these losses, whatever it is given: they know another proposal."""

    def read(_: KnownLosses, budgets: Sequence[int], rng: Generator) -> list[Reading]:
        return method(known, budgets, rng)

    return read


def _plain(known: KnownLosses, weights: FloatArray | None = None) -> FrozenProposal:
    chosen = known.static.weights if weights is None else weights
    return replace(known.static, weights=chosen, control=None, bound=None)


def _read(
    known: KnownLosses,
    budgets: Sequence[int],
    rng: Generator,
    *,
    weigh: Callable[[Draws, FloatArray], FloatArray],
    estimator: str | None = None,
) -> list[Reading]:
    """The weighted mean of losses drawn without replacement, without an interval.

    `weigh` is given the draws and their frozen shares p. The exact variance is known where
    `estimator` names an unbiased one.
    """
    frozen = _plain(known)
    trajectory = draw_frozen(known, frozen, max(budgets), rng)
    shares = frozen.weights / frozen.weights.sum()
    readings = []
    for n in budgets:
        draws = trajectory.draws[:n]
        weights = weigh(draws, shares[draws.index])
        value = float(np.mean(weights * known.losses[draws.index]))
        exact = trajectory.variance(estimator, n) if estimator else np.nan
        readings.append(_reading(known, value, exact))
    return readings


def _reading(known: KnownLosses, value: float, exact: float) -> Reading:
    return Reading(value - known.risk, exact, np.nan, False)


def _importance(draws: Draws, shares: FloatArray) -> FloatArray:
    """1/(N p): the ratio of densities, as if draws had been independent."""
    return 1 / (draws.pool_size * shares)


def _normalised_importance(draws: Draws, shares: FloatArray) -> FloatArray:
    weights = _importance(draws, shares)
    return weights / weights.mean()


def murthy(known: KnownLosses, budgets: Sequence[int], rng: Generator) -> list[Reading]:
    """Murthy's estimator (1957), the mean of R_LURE over all orders of the drawn set.

    Its variance is that of R_LURE less E[(R_LURE - Murthy)^2], because it is the mean of R_LURE
    given the set.
    """
    trajectory = draw_frozen(known, _plain(known), max(budgets), rng)
    readings = []
    for n in budgets:
        draws = trajectory.draws[:n]
        losses = known.losses[draws.index]
        value = float(np.mean(murthy_weights(draws) * losses))
        apart = float(np.mean(lure_weights(draws) * losses)) - value
        readings.append(_reading(known, value, trajectory.variance("lure", n) - apart**2))
    return readings


def free_repeats(known: KnownLosses, budgets: Sequence[int], rng: Generator) -> list[Reading]:
    """Draws with replacement where an item drawn again costs nothing.

    There are as many draws as give M different items on average (Ganti and Gray, 2012, reuse the
    labels that they have); a number between two whole ones is one of them by chance.
    """
    q, N = known.static.weights / known.static.weights.sum(), len(known)
    each = known.losses / (N * q)
    spread = float(q @ each**2) - known.risk**2
    readings = []
    for n in budgets:
        wanted = draws_for_different(q, n)
        low, rest = int(wanted), wanted % 1
        drawn = rng.choice(N, size=low + int(rng.random() < rest), p=q)
        exact = spread * ((1 - rest) / low + rest / (low + 1))
        readings.append(_reading(known, float(each[drawn].mean()), exact))
    return readings


def draws_for_different(q: FloatArray, n: int) -> float:
    """The number of draws with replacement that hold n different items on average.

    >>> round(draws_for_different(np.full(100, 0.01), 10), 3)
    10.483
    """
    low, high = 0.0, float(n)
    while _count_different(q, high) < n:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _count_different(q, middle) < n else (low, middle)
    return high


def _count_different(q: FloatArray, n_draws: float) -> float:
    return float(-np.expm1(n_draws * np.log1p(-q)).sum())


def poisson(known: KnownLosses, budgets: Sequence[int], rng: Generator) -> list[Reading]:
    """Items asked for one by one, each with a probability of its own, weighted by its inverse.

        R^ = 1/N sum over the labelled of L / pi,    variance 1/N^2 sum L^2 (1 - pi) / pi

    Importance weighted active learning (Beygelzimer et al., 2009) does so with a stream; M labels
    are asked for on average (Horvitz and Thompson, 1952, with Poisson sampling).
    """
    readings = []
    for n in budgets:
        chance = inclusion_probabilities(known.static.weights, n)
        asked = rng.random(len(known)) < chance
        value = float((known.losses[asked] / chance[asked]).sum()) / len(known)
        exact = float((known.losses**2 * (1 - chance) / chance).sum()) / len(known) ** 2
        readings.append(_reading(known, value, exact))
    return readings


def inclusion_probabilities(weights: FloatArray, n: int) -> FloatArray:
    """Probabilities in proportion to the weights, cut at one, that sum to n.

    >>> inclusion_probabilities(np.array([1.0, 1.0, 8.0]), 2)
    array([0.5, 0.5, 1. ])
    """
    low, high = 0.0, n / float(weights.min())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(middle * weights, 1).sum() < n else (low, middle)
    return np.minimum(high * weights, 1)


def stratified(known: KnownLosses, budgets: Sequence[int], rng: Generator) -> list[Reading]:
    """Strata of similar expected loss with Neyman's allocation (Cochran, 1977, chapter 5).

        n_h in proportion to N_h sqrt(e_h (1 - e_h)),    at least 2

    e_h is the mean expected loss of stratum h, whose size is N_h.
    """
    stratum, sizes, _ = quantile_strata(known)
    readings = []
    for n in budgets:
        counts = _allocation(known, n)
        value = 0.0
        for h, (size, count) in enumerate(zip(sizes, counts, strict=True)):
            drawn = rng.choice(np.flatnonzero(stratum == h), size=count, replace=False)
            value += size / len(known) * float(known.losses[drawn].mean())
        readings.append(_reading(known, value, stratified_variance(known.losses, stratum, counts)))
    return readings


@cache
def _allocation(known: KnownLosses, n: int) -> IntArray:
    _, sizes, expected = quantile_strata(known)
    return neyman_allocation(sizes, np.sqrt(expected * (1 - expected)), n)


def neyman_allocation(sizes: IntArray, spread: FloatArray, n: int) -> IntArray:
    """Numbers of labels of each stratum that sum to n and give the least variance.

    Each label goes where it lowers sum (size spread)^2 / n_h most; every stratum has two, or all
    of its items.

    >>> neyman_allocation(np.array([100, 100, 10]), np.array([0.1, 0.3, 0.0]), 42)
    array([10, 30,  2])
    """
    counts = np.minimum(sizes, 2)
    while counts.sum() < n:
        gain = sizes * spread / np.sqrt(counts * (counts + 1))
        counts[np.where(counts < sizes, gain, -1).argmax()] += 1
    return counts
