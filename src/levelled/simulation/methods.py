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
from levelled.campaigns.figures.figures import Subject, estimate_subject
from levelled.campaigns.figures.figures import read_once as read_figure
from levelled.campaigns.figures.settled import SettledDraws
from levelled.draws import Draws
from levelled.errors import InputError
from levelled.estimators import Estimate
from levelled.estimators.intervals.limits import plan_looks
from levelled.estimators.moments import estimator_shares, moments, ramp_of
from levelled.looks import SHARE, PlannedLook
from levelled.samplers import FrozenProposal
from levelled.simulation.campaigns import term_variances
from levelled.simulation.known import KnownLosses


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
        shares = estimator_shares(estimator, self.draws.pool_size, n, ramp_of(self.draws))
        return float(shares**2 @ self.variances[:n])


def draw_frozen(
    known: KnownLosses, frozen: FrozenProposal, budget: int, rng: Generator
) -> Trajectory:
    """Draws by weights that never change."""
    draws = frozen.draw(budget, seed=int(rng.integers(2**63)))
    return Trajectory(draws, term_variances(frozen, known.losses, draws.index))


LEVEL = 0.95  # the default of a campaign
LOOKS = 5  # the default of a campaign
_TESTING_FLOOR = 0.1  # Active Testing is measured with it: without a floor a weight may be huge


class Reading(NamedTuple):
    """An estimate at a budget: error, exact variance, width of the interval, and if that holds.

    The variance of a ratio is that of the mean of its linearised values, by the estimator that is
    shown. Its error is NaN where the labels leave it undefined.
    """

    error: float
    variance: float
    width: float
    covers: bool
    """True if the interval contains the risk; with planned looks, if all of theirs do."""
    linear: float = np.nan
    """The error of an estimate of the mean of linearised values that is exactly unbiased."""
    linear_variance: float = np.nan


Columns = Sequence[FloatArray] | FloatArray
"""Losses and ones, or numerators and denominators."""
Method = Callable[[KnownLosses, Sequence[int], Generator], list[Reading]]
"""Labels of known losses drawn up to the largest budget, and a reading at each of them."""


def uniform(known: KnownLosses, budgets: Sequence[int], rng: Generator) -> list[Reading]:
    """Random labels and their mean or plug-in ratio, with an interval that is read once."""
    base, subject, readings = *_run("uniform", known, budgets, rng), []
    for n in budgets:
        est = read_figure(base.first(n), subject, LEVEL, "auto")
        linear, exact = float(known.losses[base.rows[:n]].mean()), known.uniform_variance(n)
        linear -= float(known.losses.mean())
        readings.append(_reading(known, est, exact, linear, exact))
    return readings


def static(known: KnownLosses, budgets: Sequence[int], rng: Generator) -> list[Reading]:
    """A static campaign, with planned looks."""
    return _read_looks("static", known, budgets, rng)


def adaptive(known: KnownLosses, budgets: Sequence[int], rng: Generator) -> list[Reading]:
    """An adaptive campaign, with planned looks."""
    return _read_looks("adaptive", known, budgets, rng)


def with_known(begun: KnownLosses) -> Method:
    """An adaptive campaign that begins with known labels."""

    def read(known: KnownLosses, budgets: Sequence[int], rng: Generator) -> list[Reading]:
        return _read_looks("adaptive", begun, budgets, rng)

    return read


def guaranteed(known: KnownLosses, budgets: Sequence[int], rng: Generator) -> list[Reading]:
    """An adaptive campaign with a finite-sample guarantee, whose interval covers at every label."""
    if known.is_ratio:
        raise InputError(f"The guarantee is for errors: leave guaranteed out for {known.metric}.")
    campaign = known.campaign_of("guaranteed")
    base, subject = _run("guaranteed", known, budgets, rng)
    variances, readings = campaign.term_variances(base, subject), []
    for budget in budgets:
        settings = replace(base.state.settings, budget=budget)
        own = replace(
            base.first(budget),
            state=replace(base.state, settings=settings),
            cache=replace(base.cache, games={}),
        )
        est = estimate_subject(own, subject, LEVEL)
        # What its interval rejects once stays rejected, so that it covers at every label.
        exact, linear = campaign.exact_variance(own, variances), campaign.linear_error(own, subject)
        readings.append(_reading(known, est, exact, linear, exact))
    return readings


def active_testing(known: KnownLosses, budgets: Sequence[int], rng: Generator) -> list[Reading]:
    """Active Testing (Kossen et al., 2021): in proportion to the expected loss, R_LURE.

    A tenth of the probability is uniform; the interval is the normal one. Of a ratio the loss is
    an error in predicting its class, and the weights give the ratio of two means.
    """
    loss = _expected(known, "active-testing")
    if known.of_class is not None:
        loss = np.abs(known.of_class.predicted - known.of_class.chance)
    weights = proposals.proportional(loss, allow_zero=True)
    weights = proposals.mixture(weights, share=_TESTING_FLOOR)
    plain = replace(known.static, weights=weights, control=None, bound=None)
    trajectory = draw_frozen(known, plain, max(budgets), rng)
    q, N, readings = trajectory.draws.probability, len(known), []
    for n in budgets:

        def of(values: FloatArray, q: FloatArray = q[:n]) -> tuple[float, float]:
            summary = moments(values, q, N)
            return float(summary.value), float(summary.variance)

        values = known.values[:, trajectory.draws.index[:n]]
        readings.append(read_values(known, values, of, trajectory.variance("lure", n)))
    return readings


def ppi(known: KnownLosses, budgets: Sequence[int], rng: Generator) -> list[Reading]:
    """Prediction-powered inference, tuned (PPI++): random labels, less what predictions explain.

        R^ = mean(L - c f) + c mean_pool(f),    c = cov(L, f) / var_pool(f), between 0 and 1

    f is the expected loss. The exact variance is that of R^ at its c; the interval is normal, with
    the correction for a finite pool. A ratio is that of two such means with the same c, which is
    the best for A - theta D at the ratio theta of the random labels.
    """
    f, N, expected = _expected(known, "ppi"), len(known), known.expected_values
    assert expected is not None
    order, readings = rng.permutation(N)[: max(budgets)], []
    for n in budgets:
        rows, left = order[:n], (1 - n / N) / n
        values = known.values[:, rows]
        c = _tune(values, expected, rows, known.is_ratio)
        rest = [L - c * (g[rows] - g.mean()) for L, g in zip(values, expected, strict=True)]
        exact = left * float((known.losses - c * f).var(ddof=1))

        def of(values: FloatArray, left: float = left) -> tuple[float, float]:
            return float(values.mean()), left * float(values.var(ddof=1))

        readings.append(read_values(known, rest, of, exact))
    return readings


def _tune(values: Columns, expected: Columns, rows: IntArray, is_ratio: bool) -> float:
    """The coefficient c of PPI++ from labelled values and the expected ones of all items."""
    L, f = values[0], expected[0]
    if is_ratio and values[1].any():
        theta = values[0].sum() / values[1].sum()
        L, f = (own[0] - theta * own[1] for own in (values, expected))
    spread = float(f.var())
    return float(np.clip(np.cov(L, f[rows])[0, 1] / spread, 0, 1)) if spread > 0 else 0.0


def with_replacement(known: KnownLosses, budgets: Sequence[int], rng: Generator) -> list[Reading]:
    """Importance sampling with replacement by the weights of a static campaign.

    The estimate is the mean of L / (N q) (Hansen and Hurwitz, 1943; in active learning Ganti and
    Gray, UPAL, 2012), or the ratio of two such means, the interval normal. An item that is drawn
    again counts as a label again.
    """
    q, N = known.static.weights / known.static.weights.sum(), len(known)
    spread = float(q @ (known.losses / (N * q)) ** 2) - float(known.losses.mean()) ** 2
    rows = rng.choice(N, size=max(budgets), p=q)
    return [read_weighted(known, rows[:n], 1 / (N * q[rows[:n]]), spread / n) for n in budgets]


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


Estimator = Callable[[FloatArray], tuple[float, float]]
"""The estimated pool mean of some values, one for each label, and the variance of that mean."""


def read_values(known: KnownLosses, values: Columns, of: Estimator, exact: float) -> Reading:
    """The reading of a mean of losses, or of a ratio of two means, with the normal interval.

    `values` are those of `KnownLosses.values`. A ratio without a denominator is undefined.
    """
    if not known.is_ratio:
        value, variance = of(values[0])
        return read_once(known, value, exact, variance)
    A, D = values
    top, bottom = of(A)[0], of(D)[0]
    linear = (top - known.risk * bottom) / float(known.values[1].mean())
    if bottom <= 0:
        return Reading(np.nan, exact, 1.0, True, linear, exact)
    _, variance = of((A - top / bottom * D) / bottom)
    reading = read_once(known, top / bottom, exact, variance)
    return reading._replace(linear=linear, linear_variance=exact)


def read_weighted(known: KnownLosses, rows: IntArray, weights: FloatArray, exact: float) -> Reading:
    """The reading of a mean of weighted values that were drawn with replacement."""

    def of(values: FloatArray) -> tuple[float, float]:
        each = weights * values
        return float(each.mean()), float(each.var(ddof=1)) / len(each)

    return read_values(known, known.values[:, rows], of, exact)


def read_once(known: KnownLosses, value: float, exact: float, variance: float) -> Reading:
    """The reading of an estimate with its exact variance, and the normal interval of another."""
    from scipy.special import ndtri

    half = float(ndtri((1 + LEVEL) / 2)) * variance**0.5
    error = value - known.risk
    return Reading(error, exact, 2 * half, abs(error) <= half)


def _run(
    name: str, known: KnownLosses, budgets: Sequence[int], rng: Generator
) -> tuple[SettledDraws, Subject]:
    """The labels of a campaign up to the largest budget, and its first figure."""
    campaign = known.campaign_of(name)
    return campaign.run(max(budgets), int(rng.integers(2**31))), campaign.subject()


def _read_looks(
    name: str, known: KnownLosses, budgets: Sequence[int], rng: Generator
) -> list[Reading]:
    """The reading of the last planned look at each budget; it covers if those of all looks do.

    Betting between the looks is left out; it could only narrow the intervals.
    """
    campaign, readings = known.campaign_of(name), []
    base, subject = _run(name, known, budgets, rng)
    variances = campaign.term_variances(base, subject)
    for budget in budgets:
        covers = True
        for look in planned_looks(budget, base.draws.pool_size):
            est = read_figure(base.first(look.n), subject, look.level, "auto")
            covers &= est.low <= known.risk <= est.high
        own = base.first(budget)
        exact, linear = campaign.exact_variance(own, variances), campaign.linear_error(own, subject)
        readings.append(_reading(known, est, exact, linear, exact)._replace(covers=covers))
    return readings


def _reading(
    known: KnownLosses,
    est: Estimate,
    exact: float,
    linear: float = np.nan,
    linear_variance: float = np.nan,
) -> Reading:
    error = np.nan if est.value is None else est.value - known.risk
    covers = est.low <= known.risk <= est.high
    return Reading(error, exact, est.high - est.low, covers, linear, linear_variance)


@cache
def planned_looks(budget: int, pool_size: int) -> tuple[PlannedLook, ...]:
    """The looks that a campaign plans over a budget."""
    return plan_looks(budget, pool_size, LOOKS, SHARE * (1 - LEVEL))


def _expected(known: KnownLosses, method: str) -> FloatArray:
    if known.expected is None:
        raise InputError(
            f"The method {method} needs the expected loss of each item: columns proba_<class>, "
            f"surrogate_<class>, or loss_hat."
        )
    return known.expected
