"""Planned looks: sharp intervals at numbers of labels that were fixed beforehand.

An interval that may be read after every label pays for looks nobody takes. Where a budget is fixed
beforehand, a few looks are planned at shares of it, and each gets a part of the error rate by the
rule of O'Brien and Fleming (1979): with t_k the share of the information at look k,

    alpha_k = 2 - 2 Phi(C / sqrt(t_k)),    P(max_k sqrt(t_k) |Z_k| > C) = alpha

where Z_k are the standardised estimates, correlated by sqrt(t_j / t_k). Early looks get little, so
the last one is hardly wider than an interval that is read once. A changed budget spreads what is
left of alpha over its looks by the spending function of Lan and DeMets (1983),

    A(t) = 2 - 2 Phi(z / sqrt(t)),    A(1) = alpha
"""

from collections.abc import Sequence
from functools import cache
from math import ceil, pi
from typing import NamedTuple

import numpy as np

from levelled._check import FloatArray

Limits = tuple[FloatArray | float, FloatArray | float]

SHARE = 0.9
"""The part of the error rate that goes to the looks; betting between them has the rest."""

_LEAST = 1e-12
_NODES, _REACH, _BEYOND = 192, 9.0, 40.0
"""Nodes of the integration, the standard deviations beyond which nothing is left, and a bound
beyond every critical value."""


class PlannedLook(NamedTuple):
    """A reading of the estimate after `n` settled draws, with error rate `alpha` of its own."""

    n: int
    alpha: float

    @property
    def level(self) -> float:
        """The confidence level of its interval, at most 1 - 1e-12: numbers have no more digits.

        Where the budget is nearly the whole pool, early looks have next to no error rate.
        """
        return 1 - max(self.alpha, _LEAST)


def plan_looks(budget: int, pool_size: int, count: int, alpha: float) -> tuple[PlannedLook, ...]:
    """Looks at 1/count, 2/count, ... of the budget that together err at most with rate `alpha`.

    >>> [round(look.alpha, 4) for look in plan_looks(500, 10**6, 5, 0.045)]
    [0.0, 0.001, 0.0072, 0.0199, 0.0374]
    """
    from scipy.optimize import brentq
    from scipy.special import ndtr

    sizes = _sizes(0, budget, count)
    t = _information(sizes, pool_size, budget)
    if len(sizes) == 1:
        return (PlannedLook(sizes[0], alpha),)
    C = brentq(lambda c: _crossing(np.full(len(t), c), t) - alpha, 0.0, _BEYOND)
    alphas = 2 * ndtr(-C / np.sqrt(t))
    return tuple(PlannedLook(n, float(a)) for n, a in zip(sizes, alphas, strict=True))


def replan_looks(
    taken: Sequence[PlannedLook], budget: int, pool_size: int, count: int, alpha: float
) -> tuple[PlannedLook, ...]:
    """Return the looks taken, then looks up to a new budget with what is left of the error rate.

    What the looks taken have spent stays spent. Once the last look of a budget was taken nothing
    is left for later ones, and the looks taken are returned as they are.

    >>> first = plan_looks(100, 10**6, 2, 0.045)[:1]
    >>> [look.n for look in replan_looks(first, 300, 10**6, 2, 0.045)]
    [50, 175, 300]
    """
    from scipy.optimize import brentq
    from scipy.special import ndtr, ndtri

    done = taken[-1].n if taken else 0
    sizes = _sizes(done, budget, count)
    t = _information([*(look.n for look in taken), *sizes], pool_size, budget)
    bounds = [np.sqrt(t[at]) * -ndtri(look.alpha / 2) for at, look in enumerate(taken)]
    spent = _crossing(np.array(bounds), t[: len(taken)]) if taken else 0.0
    if not sizes or spent >= alpha * (1 - 1e-6):
        return tuple(taken)
    spending = 2 * ndtr(ndtri(alpha / 2) / np.sqrt(t))
    before = spending[len(taken) - 1] if taken else 0.0
    share = (spending[len(taken) :] - before) / (alpha - before)
    looks = list(taken)
    for n, target in zip(sizes, spent + (alpha - spent) * share, strict=True):
        now = t[: len(looks) + 1]

        def excess(bound: float, target: float = target, now: FloatArray = now) -> float:
            return _crossing(np.array([*bounds, bound]), now) - target

        bounds.append(brentq(excess, 0.0, _BEYOND))
        looks.append(PlannedLook(n, float(2 * ndtr(-bounds[-1] / np.sqrt(now[-1])))))
    return tuple(looks)


def plan_without_budget(pool_size: int, alpha: float) -> tuple[PlannedLook, ...]:
    """Looks at 50, 100, 200, ... labels, the k-th with error rate 6 alpha / (pi k)^2.

    >>> [(look.n, round(look.alpha, 4)) for look in plan_without_budget(300, 0.045)]
    [(50, 0.0274), (100, 0.0068), (200, 0.003)]
    """
    sizes = [n for k in range(60) if (n := 50 * 2**k) < pool_size]
    return tuple(PlannedLook(n, 6 * alpha / (pi * k) ** 2) for k, n in enumerate(sizes, 1))


def cut_limits(look: Limits, watched: Limits) -> Limits:
    """The limits of a look, cut to those of an interval that may be watched.

    Where the two do not meet, those of the watched interval alone. All may be arrays.

    >>> low, high = cut_limits((0.1, 0.3), (np.array([0.0, 0.2, 0.4]), np.array([1.0, 0.5, 0.6])))
    >>> low, high
    (array([0.1, 0.2, 0.4]), array([0.3, 0.3, 0.6]))
    """
    low, high = np.maximum(look[0], watched[0]), np.minimum(look[1], watched[1])
    apart = low > high
    return np.where(apart, watched[0], low), np.where(apart, watched[1], high)


def _sizes(done: int, budget: int, count: int) -> list[int]:
    """`count` evenly spaced numbers of draws after `done`, the last of them the budget."""
    return sorted({done + ceil(k * (budget - done) / count) for k in range(1, count + 1)} - {done})


def _information(sizes: Sequence[int], pool_size: int, budget: int) -> FloatArray:
    """Information N m / (N - m) at each look, as a share of that at the budget.

    At the whole pool it is infinite; shares of the labels then stand for it.
    """
    m = np.array(sizes, dtype=np.float64)
    if budget >= pool_size:
        return m / budget
    return m / (pool_size - m) * ((pool_size - budget) / budget)


def _crossing(bounds: FloatArray, t: FloatArray) -> float:
    """P(|B(t_k)| > bounds_k for some k) of a Brownian motion B, by recursive integration."""
    x, w = _quadrature()
    nodes, mass = np.zeros(1), np.ones(1)
    for bound, at, step in zip(bounds, t, np.diff(t, prepend=0.0), strict=True):
        reach = min(bound, _REACH * np.sqrt(at))
        new = x * reach
        density = np.exp(-((new[:, None] - nodes) ** 2) / (2 * step)) / np.sqrt(2 * np.pi * step)
        nodes, mass = new, reach * w * (density @ mass)
    return 1 - float(mass.sum())


@cache
def _quadrature() -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes, weights
