"""Ways of choosing labels and estimating from them, each as it would be used.

A method draws once at the largest budget; its first draws serve the smaller ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from levelled import proposals
from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.errors import InputError
from levelled.estimators import estimate
from levelled.estimators.intervals.fixed import ranked_weights
from levelled.estimators.intervals.looks import SHARE, PlannedLook, plan_looks
from levelled.estimators.moments import estimator_shares, moments
from levelled.samplers import FrozenProposal
from levelled.simulation.known import KnownLosses
from levelled.surrogates import next_round_size
from levelled.surrogates.proposal import GUARANTEED_FLOOR

__all__ = [
    "LEVEL",
    "METHODS",
    "SLOW",
    "Method",
    "Reading",
    "Trajectory",
    "draw_frozen",
    "draw_in_rounds",
    "read_once",
    "term_variances",
]

LEVEL = 0.95
_LOOKS = 5
_TESTING_FLOOR = 0.1


class Reading(NamedTuple):
    """An estimate at a budget: error, exact variance, width of the interval, and if that holds."""

    error: float
    variance: float
    width: float
    covers: bool
    """True if the interval contains the risk; with planned looks, if all of theirs do."""


Method = Callable[[KnownLosses, Sequence[int], Generator], list[Reading]]
"""Labels of known losses drawn up to the largest budget, and a reading at each of them."""


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """Draws, and the variance of each term of the estimate given the draws before it.

    A simulation knows the losses of all items, so these variances are exact. Their sum with
    squared shares has the variance of the estimate as its mean.
    """

    draws: Draws
    variances: FloatArray

    def variance(self, estimator: str, n: int) -> float:
        """sum_m u_m^2 v_m of an estimate from the first n draws."""
        shares = estimator_shares(estimator, self.draws.pool_size, n)
        return float(shares**2 @ self.variances[:n])


def term_variances(frozen: FrozenProposal, losses: FloatArray, drawn: IntArray) -> FloatArray:
    """The variance v_m of each term a_m, given the draws before it.

        v_m = N^-2 (sum (L - g)^2 / q_m - (sum (L - g))^2),    over the items left

    `losses` are those of the whole pool, g is the control of the proposal, or 0 without one.

    >>> uniform = FrozenProposal(np.arange(4), 4, np.ones(4))
    >>> term_variances(uniform, np.array([1.0, 0.0, 0.0, 0.0]), np.array([1, 2]))
    array([0.1875, 0.125 ])
    """
    rest = losses[frozen.rows] - (0.0 if frozen.control is None else frozen.control)
    at = np.searchsorted(frozen.rows, drawn)
    columns = np.stack([frozen.weights, rest**2 / frozen.weights, rest])
    taken = columns[:, at]
    weight, square, total = columns.sum(axis=1)[:, None] - (np.cumsum(taken, axis=1) - taken)
    return np.asarray(np.maximum(weight * square - total**2, 0) / frozen.pool_size**2)


def draw_frozen(
    known: KnownLosses, frozen: FrozenProposal, budget: int, rng: Generator
) -> Trajectory:
    """Draws by weights that never change."""
    draws = frozen.draw(budget, seed=_seed(rng))
    return Trajectory(draws, term_variances(frozen, known.losses, draws.index))


def draw_in_rounds(
    known: KnownLosses, budget: int, rng: Generator, floor: float | None = None
) -> Trajectory:
    """Draws of an adaptive campaign, whose predictor is fitted anew before each round.

    The floor falls with the errors found, unless it is given.
    """
    driver, targets = known.driver, known.targets
    assert driver is not None
    assert targets is not None
    rows, q = np.empty(0, dtype=np.int64), np.empty(0)
    parts: list[Draws] = []
    variances: list[FloatArray] = []
    predictor = driver.first_predictor
    while len(rows) < budget:
        if len(rows):
            weights = ranked_weights(q, len(known))
            predictor = driver.fit(rows, targets[rows], weights, predictor)
        share = driver.floor(targets[rows]) if floor is None else floor
        frozen = driver.proposal(predictor, rows, share)
        n = min(next_round_size(len(rows)), budget - len(rows))
        parts.append(frozen.draw(n, seed=_seed(rng)))
        variances.append(term_variances(frozen, known.losses, parts[-1].index))
        rows = np.concatenate([rows, parts[-1].index])
        q = np.concatenate([q, parts[-1].probability])
    design = {
        name: np.concatenate([(part.design or {})[name] for part in parts])
        for name in parts[0].design or {}
    }
    draws = Draws(rows, q, len(known), design=design)
    return Trajectory(draws, np.concatenate(variances))


def uniform(known: KnownLosses, budgets: Sequence[int], rng: Generator) -> list[Reading]:
    """Random labels and their mean, with an interval that is read once."""
    frozen = replace(known.static, weights=np.ones(len(known)), control=None, bound=None)
    draws = frozen.draw(max(budgets), seed=_seed(rng))
    readings = []
    for n in budgets:
        losses = known.losses[draws.index[:n]]
        est = estimate(losses, draws[:n], level=LEVEL, bounds=known.bounds)
        covers = est.low <= known.risk <= est.high
        error = float(losses.mean()) - known.risk
        readings.append(Reading(error, known.uniform_variance(n), est.high - est.low, covers))
    return readings


def static(known: KnownLosses, budgets: Sequence[int], rng: Generator) -> list[Reading]:
    """A static campaign: R_LURE with planned looks."""
    plain = replace(known.static, control=None, bound=None)
    return _read_looks(known, draw_frozen(known, plain, max(budgets), rng), "lure", budgets)


def adaptive(known: KnownLosses, budgets: Sequence[int], rng: Generator) -> list[Reading]:
    """An adaptive campaign, with planned looks."""
    _require_driver(known, "adaptive")
    return _read_looks(known, draw_in_rounds(known, max(budgets), rng), "ramped", budgets)


def guaranteed(known: KnownLosses, budgets: Sequence[int], rng: Generator) -> list[Reading]:
    """An adaptive campaign with a finite-sample guarantee, whose interval covers at every label."""
    _require_driver(known, "guaranteed")
    trajectory = draw_in_rounds(known, max(budgets), rng, GUARANTEED_FLOOR)
    readings = []
    for budget in budgets:
        draws = trajectory.draws[:budget]
        est = estimate(
            known.losses[draws.index],
            draws,
            "ramped",
            level=LEVEL,
            interval="hedged",
            bounds=known.bounds,
            budget=budget,
        )
        assert est.value is not None
        error, exact = est.value - known.risk, trajectory.variance("ramped", budget)
        covers = est.low <= known.risk <= est.high  # what is once rejected stays so
        readings.append(Reading(error, exact, est.high - est.low, covers))
    return readings


def active_testing(known: KnownLosses, budgets: Sequence[int], rng: Generator) -> list[Reading]:
    """Active Testing (Kossen et al., 2021): in proportion to the expected loss, R_LURE.

    A tenth of the probability is uniform; the interval is the normal one.
    """
    weights = proposals.proportional(_expected(known, "active-testing"), allow_zero=True)
    weights = proposals.mixture(weights, share=_TESTING_FLOOR)
    plain = replace(known.static, weights=weights, control=None, bound=None)
    trajectory = draw_frozen(known, plain, max(budgets), rng)
    readings = []
    for n in budgets:
        index = trajectory.draws.index[:n]
        q = trajectory.draws.probability[:n]
        summary = moments(known.losses[index], q, len(known))
        exact = trajectory.variance("lure", n)
        readings.append(read_once(known, float(summary.value), exact, float(summary.variance)))
    return readings


def ppi(known: KnownLosses, budgets: Sequence[int], rng: Generator) -> list[Reading]:
    """Prediction-powered inference, tuned (PPI++): random labels, less what predictions explain.

        R^ = mean(L - c f) + c mean_pool(f),    c = cov(L, f) / var_pool(f), between 0 and 1

    f is the expected loss. The exact variance is that of R^ at its c; the interval is normal, with
    the correction for a finite pool.
    """
    f, N = _expected(known, "ppi"), len(known)
    order, spread = rng.permutation(N)[: max(budgets)], float(f.var())
    readings = []
    for n in budgets:
        L, g = known.losses[order[:n]], f[order[:n]]
        c = float(np.clip(np.cov(L, g)[0, 1] / spread, 0, 1)) if spread > 0 else 0.0
        left = (1 - n / N) / n
        exact = left * float((known.losses - c * f).var(ddof=1))
        value = float((L - c * g).mean() + c * f.mean())
        readings.append(read_once(known, value, exact, left * float((L - c * g).var(ddof=1))))
    return readings


def with_replacement(known: KnownLosses, budgets: Sequence[int], rng: Generator) -> list[Reading]:
    """Importance sampling with replacement by the weights of a static campaign.

    The estimate is the mean of L / (N q) (Hansen and Hurwitz, 1943), the interval normal. An item
    that is drawn again counts as a label again.
    """
    q, N = known.static.weights / known.static.weights.sum(), len(known)
    each = known.losses / (N * q)
    spread = float(q @ each**2) - known.risk**2
    values = each[rng.choice(N, size=max(budgets), p=q)]
    return [
        read_once(known, float(v.mean()), spread / len(v), float(v.var(ddof=1)) / len(v))
        for v in (values[:n] for n in budgets)
    ]


METHODS: dict[str, Method] = {
    "uniform": uniform,
    "static": static,
    "adaptive": adaptive,
    "guaranteed": guaranteed,
    "active-testing": active_testing,
    "ppi": ppi,
    "with-replacement": with_replacement,
}
"""The methods by name."""
SLOW = ("guaranteed",)
"""Methods that are simulated only if they are named."""


def read_once(known: KnownLosses, value: float, exact: float, variance: float) -> Reading:
    """The reading of an estimate with its exact variance, and the normal interval of another."""
    from scipy.special import ndtri

    half = float(ndtri((1 + LEVEL) / 2)) * variance**0.5
    error = value - known.risk
    return Reading(error, exact, 2 * half, abs(error) <= half)


def _read_looks(
    known: KnownLosses, trajectory: Trajectory, estimator: str, budgets: Sequence[int]
) -> list[Reading]:
    """The reading of the last planned look at each budget; it covers if those of all looks do.

    Betting between the looks is left out; it could only narrow the intervals.
    """
    readings = []
    for budget in budgets:
        covers = True
        for look in _looks(budget, len(known)):
            draws = trajectory.draws[: look.n]
            losses, level = known.losses[draws.index], 1 - look.alpha
            est = estimate(losses, draws, estimator, level=level, bounds=known.bounds)
            covers &= est.low <= known.risk <= est.high
        assert est.value is not None
        error, exact = est.value - known.risk, trajectory.variance(estimator, budget)
        readings.append(Reading(error, exact, est.high - est.low, covers))
    return readings


@cache
def _looks(budget: int, pool_size: int) -> tuple[PlannedLook, ...]:
    return plan_looks(budget, pool_size, _LOOKS, SHARE * (1 - LEVEL))


def _require_driver(known: KnownLosses, method: str) -> None:
    if known.driver is None:
        raise InputError(
            f"The method {method} needs something to learn the {known.metric} from: columns "
            f"proba_<class>, surrogate_<class>, loss_hat, or features (f_*, embedding)."
        )


def _expected(known: KnownLosses, method: str) -> FloatArray:
    if known.expected is None:
        raise InputError(
            f"The method {method} needs the expected loss of each item: columns proba_<class>, "
            f"surrogate_<class>, or loss_hat."
        )
    return known.expected


def _seed(rng: Generator) -> int:
    return int(rng.integers(2**63))
