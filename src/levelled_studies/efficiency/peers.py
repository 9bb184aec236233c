"""Methods of others: re-implemented from their papers, or by their packages where installed."""

import importlib
import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.random import Generator

from levelled import proposals
from levelled._check import FloatArray, IntArray
from levelled._optional import optional
from levelled.campaigns.drawing.learner import Drive, learner_of
from levelled.metrics.named import RATIOS
from levelled.simulation import METHODS, KnownLosses, Method, Reading, applicable_methods
from levelled.simulation.methods import LEVEL, draw_frozen, read_once, read_weighted

__all__ = [
    "PACKAGES",
    "REIMPLEMENTED",
    "methods_for",
    "quantile_strata",
    "stratified_variance",
]

_STRATA = 20
_EPSILON = 0.1
_CLUSTERS = 10
_SAMPLE = 5_000
"""Items that decide the clusters of ssepy."""


def methods_for(known: KnownLosses) -> dict[str, Method]:
    """All methods that apply to these losses, packages that are not installed left out."""
    methods = {name: METHODS[name] for name in applicable_methods(known)}
    if known.is_ratio and known.of_class is not None:
        return methods | {"oasis": oasis}
    if known.expected is None or not known.is_share:
        return methods
    methods |= REIMPLEMENTED
    return methods | {
        name: method for name, (module, method) in PACKAGES.items() if find_spec(module)
    }


def oasis(known: KnownLosses, budgets: Sequence[int], rng: Generator) -> list[Reading]:
    """Adaptive importance sampling over strata (OASIS; Marchant and Rubinstein, 2017).

    Strata are quantiles of the expected loss, or for a ratio of the chance of its class; the error
    rate of each, or the share of the class, has a Beta posterior that begins there. A draw takes a
    stratum in proportion to its size times `_stratum_spread`, with a share of 0.1 by size alone,
    then any of its items, with replacement.
    """
    stratum, sizes, prior = quantile_strata(known)
    share = sizes / sizes.sum()
    target = known.losses if known.of_class is None else known.of_class.positive
    squares, mean = np.bincount(stratum, known.losses**2) / sizes, float(known.losses.mean())
    order = np.argsort(stratum, kind="stable")
    starts = np.cumsum(sizes) - sizes
    ones, zeros = 2 * prior, 2 * (1 - prior)
    M = max(budgets)
    rows, weights, spread = np.empty(M, dtype=np.int64), np.empty(M), np.empty(M)
    for m in range(M):
        aim = share * _stratum_spread(known, ones / (ones + zeros))
        v = _EPSILON * share + (1 - _EPSILON) * aim / aim.sum()
        k = int(np.searchsorted(np.cumsum(v), rng.random() * v.sum()))
        rows[m] = order[starts[k] + rng.integers(sizes[k])]
        ones[k] += target[rows[m]]
        zeros[k] += 1 - target[rows[m]]
        weights[m] = share[k] / v[k]
        spread[m] = float((share**2 / v) @ squares) - mean**2
    return [
        read_weighted(known, rows[:n], weights[:n], float(spread[:n].mean()) / n) for n in budgets
    ]


def _stratum_spread(known: KnownLosses, p: FloatArray) -> FloatArray:
    """The standard deviation of 0/1 losses of rate p; of a ratio, that of A - theta D.

    For a ratio p is the share of the class, and theta the ratio that these shares imply.
    """
    if known.of_class is None:
        return np.sqrt(p * (1 - p))
    _, sizes, _ = quantile_strata(known)
    columns, predicted = RATIOS[known.of_class.ratio].columns, _predicted_shares(known)
    A, D = columns(p, predicted, 1.0)
    theta = float(sizes @ A) / max(float(sizes @ D), 1e-12)
    spread = np.zeros(len(p))
    for value, part in ((1.0, predicted), (0.0, 1 - predicted)):
        A, D = columns(np.array([1.0, 0.0]), np.full(2, value), 1.0)
        positive, negative = (A - theta * D) ** 2
        spread += part * np.sqrt(p * positive + (1 - p) * negative)
    return spread


@cache
def _predicted_shares(known: KnownLosses) -> FloatArray:
    """The share of each stratum that is predicted to be of the class."""
    assert known.of_class is not None
    stratum, sizes, _ = quantile_strata(known)
    return np.asarray(np.bincount(stratum, known.of_class.predicted) / sizes)


def surrogate_mean(known: KnownLosses, budgets: Sequence[int], rng: Generator) -> list[Reading]:
    """The mean of a surrogate's predictions (Active Surrogate Estimators; Kossen et al., 2022).

    The surrogate is the predictor of an adaptive campaign without weights, fitted to labels in
    proportion to the expected loss; labelled items count with their own loss. It is not unbiased
    and has no interval.
    """
    assert known.expected is not None
    assert known.campaign is not None
    campaign = known.campaign
    learner = learner_of(campaign.pool, campaign.settings)
    (run,) = learner.runs()
    drive = Drive(campaign.settings.metrics[0], campaign.settings.models[0])
    weights = proposals.mixture(proposals.proportional(known.expected, allow_zero=True), share=0.1)
    frozen = replace(known.static, weights=weights, control=None, bound=None)
    order = draw_frozen(known, frozen, max(budgets), rng).draws.index
    readings = []
    for n in budgets:
        rows = order[:n]
        chances = learner.chances(
            learner.fit(rows, [campaign.labels[row] for row in rows], np.ones(n)), run
        )
        losses = learner.influence(drive, run, chances)
        predicted = np.einsum("nj,nj->n", chances.chance, losses)
        predicted[rows] = known.losses[rows]
        error = float(predicted.mean()) - known.risk
        readings.append(Reading(error, np.nan, np.nan, False))
    return readings


def ppi_python(known: KnownLosses, budgets: Sequence[int], rng: Generator) -> list[Reading]:
    """The package ppi-python: the tuned mean and its interval."""
    package = importlib.import_module("ppi_py")

    def estimate(L: FloatArray, f: FloatArray, rest: FloatArray, _: IntArray) -> Any:  # noqa: ANN401
        value = np.ravel(package.ppi_mean_pointestimate(L, f, rest))[0]
        low, high = package.ppi_mean_ci(L, f, rest, alpha=1 - LEVEL)
        return value, np.ravel(low)[0], np.ravel(high)[0]

    return _prediction_powered(known, budgets, rng, estimate)


def truescore(known: KnownLosses, budgets: Sequence[int], rng: Generator) -> list[Reading]:
    """The package truescore: its prediction-powered estimate and interval."""
    package, expected = importlib.import_module("truescore"), known.expected

    def estimate(L: FloatArray, f: FloatArray, _: FloatArray, rows: IntArray) -> Any:  # noqa: ANN401
        est = package.ppi_estimate(expected, L, rows, alpha=1 - LEVEL)
        return est.point, est.low, est.high

    return _prediction_powered(known, budgets, rng, estimate)


def ssepy(known: KnownLosses, budgets: Sequence[int], rng: Generator) -> list[Reading]:
    """The package ssepy: strata by k-means, Neyman allocation, tuned difference estimator.

    It draws with global random numbers, which are seeded here. The exact variance is that of its
    strata at its coefficient.
    """
    package = importlib.import_module("ssepy")
    tune = importlib.import_module("ssepy.model_performance_evaluator").compute_lambda_star
    L, f = known.losses, known.expected
    assert f is not None
    readings = []
    for n in budgets:
        seed = int(rng.integers(2**31))
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        evaluator = package.ModelPerformanceEvaluator(f, n)
        evaluator.stratify_data(_clusters(known))
        evaluator.allocate_budget("neyman")
        rows = evaluator.sample("ssrs")
        value, variance = evaluator.compute_estimate(L[rows], "df", tune_power=True)
        rest = np.delete(f, rows)
        c = tune(rest[:, None], L[rows, None], f[rows, None])[0]
        exact = stratified_variance(
            L - c * f, evaluator.strata_labels, evaluator.samples_per_stratum
        )
        readings.append(read_once(known, float(value[0]), exact, float(variance[0])))
    return readings


REIMPLEMENTED: dict[str, Method] = {"oasis": oasis, "surrogate-mean": surrogate_mean}
"""Methods re-implemented from their papers, besides those of `levelled simulate`."""
PACKAGES: dict[str, tuple[str, Method]] = {
    "ppi-python": ("ppi_py", ppi_python),
    "ssepy": ("ssepy", ssepy),
    "truescore": ("truescore", truescore),
}
"""Methods by packages: the module of each, and its method."""


def _prediction_powered(
    known: KnownLosses,
    budgets: Sequence[int],
    rng: Generator,
    estimate: Any,  # noqa: ANN401
) -> list[Reading]:
    """Readings of a prediction-powered estimate from random labels.

    It is mean(L) - c (mean(f) - mean_pool(f)); the exact variance is that at the c it implies.
    """
    f, N = known.expected, len(known)
    assert f is not None
    order, readings = rng.permutation(N), []
    for n in budgets:
        rows = np.sort(order[:n])
        L = known.losses[rows]
        value, low, high = estimate(L, f[rows], f[order[n:]], rows)
        gap = float(f[rows].mean() - f.mean())
        c = (float(L.mean()) - value) / gap if abs(gap) > 1e-12 else 0.0
        exact = (1 - n / N) / n * float((known.losses - c * f).var(ddof=1))
        covers = bool(low <= known.risk <= high)
        readings.append(Reading(float(value) - known.risk, exact, float(high - low), covers))
    return readings


def stratified_variance(values: FloatArray, strata: IntArray, n_drawn: IntArray) -> float:
    """The variance of the stratified mean of values, with so many draws from each stratum."""
    total = 0.0
    for name, n in zip(np.unique(strata), n_drawn, strict=True):
        own = values[strata == name]
        if n > 0 and len(own) > 1:
            total += len(own) ** 2 * (1 - n / len(own)) * float(own.var(ddof=1)) / n
    return total / len(values) ** 2


@cache
def quantile_strata(known: KnownLosses) -> tuple[IntArray, IntArray, FloatArray]:
    """The stratum of each item, the size of each stratum, and its mean expected loss or chance."""
    expected = known.expected if known.of_class is None else known.of_class.chance
    assert expected is not None
    rank = np.argsort(np.argsort(expected, kind="stable"), kind="stable")
    mass = np.cumsum(np.sqrt(np.sort(expected) + 1e-4))  # cumulative root frequencies
    codes = np.minimum((_STRATA * mass / mass[-1]).astype(np.int64), _STRATA - 1)
    _, stratum = np.unique(codes[rank], return_inverse=True)
    sizes = np.bincount(stratum)
    prior = np.clip(np.bincount(stratum, expected) / sizes, 1e-3, 1 - 1e-3)
    return stratum, sizes, prior


class _Labels:
    """Clusters that were found before, in the shape that ssepy expects."""

    def __init__(self, labels: IntArray, centres: FloatArray) -> None:
        self.labels, self.cluster_centers_ = labels, centres

    def fit(self, _: FloatArray) -> "_Labels":
        return self

    def predict(self, _: FloatArray) -> IntArray:
        return self.labels


@cache
def _clusters(known: KnownLosses) -> _Labels:
    assert known.expected is not None
    X = known.expected[:, None]
    kmeans = optional("sklearn.cluster", extra="sklearn").KMeans
    fitted = kmeans(_CLUSTERS, n_init=1, random_state=0).fit(X[:: max(len(X) // _SAMPLE, 1)])
    return _Labels(fitted.predict(X), fitted.cluster_centers_)
