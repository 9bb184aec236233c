"""Ratios with a predictor: exactly unbiased parts, and limits that follow from them."""

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

from levelled._check import BoolArray, FloatArray, IntArray
from levelled.draws import Draws
from levelled.metrics.named import RATIOS
from levelled.metrics.predicted import PredictedRatio, predicted_ratio_estimate
from levelled.metrics.ratios import Look, Pairs
from levelled.samplers import ClassChance, FrozenProposal
from paths import expectation

Ratio = Literal["precision", "recall", "f1"]

Y = np.array([1.0, 1, 0, 0, 1, 0, 0, 1])
P = np.array([True, False, True, False, True, False, False, True])
N = len(Y)


def chances(drawn: tuple[int, ...] | IntArray) -> FloatArray:
    """A predictor refitted after every label: it depends on all labels so far."""
    seen = Y[list(drawn)].sum() if len(drawn) else 0.5
    return 0.1 + 0.8 * (1 + np.arange(N) * (1 + seen)) / (1 + N * (1 + seen)) * P


def propose(drawn: tuple[int, ...], left: IntArray) -> FloatArray:
    h = chances(drawn)[left]
    weights = np.sqrt(h * (1 - h)) + 0.1 * len(drawn)
    return weights / weights.sum()


def with_columns(draws: Draws) -> Draws:
    """The draws with the design columns of each step's own proposal."""
    parts = []
    for m in range(len(draws)):
        drawn = draws.index[:m]
        left = np.delete(np.arange(N), drawn)
        positive = ClassChance(chances(tuple(drawn))[left], P[left])
        proposal = FrozenProposal(left, N, propose(tuple(drawn), left), positive=positive)
        parts.append(proposal.fixed(draws.index[m : m + 1]).design or {})
    design = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return replace(draws, design=design)


def labelled(ratio: Ratio, draws: Draws) -> tuple[Pairs, BoolArray]:
    y, p = Y[draws.index], P[draws.index]
    return RATIOS[ratio].pairs("spam", y, p.astype(float), N, int(P.sum())), p


def whole_pool(ratio: Ratio) -> tuple[float, float]:
    A, D = RATIOS[ratio].columns(Y, P.astype(float), 1.0)
    return float(A.mean()), float(D.mean())


@pytest.mark.parametrize("budget", [1, 2, 3])
@pytest.mark.parametrize("ratio", ["precision", "recall", "f1"])
def test_numerator_and_denominator_are_unbiased_with_a_refit_after_every_label(
    ratio: Ratio, budget: int
) -> None:
    def both(draws: Draws) -> FloatArray:
        with_design = with_columns(draws)
        found = PredictedRatio.of(*labelled(ratio, draws), with_design)
        return np.array([found.numerator, found.denominator])

    np.testing.assert_allclose(
        expectation(both, N, budget, propose), whole_pool(ratio), rtol=0, atol=1e-10
    )


def test_variances_are_unbiased_for_every_theta() -> None:
    theta, A, D = 0.4, *whole_pool("f1")

    def squares(draws: Draws) -> FloatArray:
        found = PredictedRatio.of(*labelled("f1", draws), with_columns(draws))
        error = found.numerator - A - theta * (found.denominator - D)
        VA, VD, VAD = found.observed
        return np.array([VA - 2 * theta * VAD + theta**2 * VD, error**2])

    estimated, true = expectation(squares, N, 3, propose)
    assert estimated == pytest.approx(true, abs=1e-10)


@pytest.mark.parametrize("ratio", ["precision", "recall", "f1"])
def test_once_all_is_labelled_the_ratio_is_exact(ratio: Ratio) -> None:
    order = np.array([3, 1, 4, 0, 7, 5, 2, 6])
    draws, left = Draws(order, np.ones(N), N), np.arange(N)
    for m, item in enumerate(order):
        q = propose(tuple(order[:m]), left)[left == item][0]
        draws = replace(draws, probability=np.r_[draws.probability[:m], q, np.ones(N - m - 1)])
        left = left[left != item]
    pairs, p = labelled(ratio, draws)
    est = predicted_ratio_estimate(pairs, p, Look(with_columns(draws), 0.95, "auto"))
    A, D = whole_pool(ratio)
    assert est.value == pytest.approx(A / D, abs=1e-12)
    assert est.interval == "point"
    assert est.low == est.high


def large_pool(seed: int, budget: int = 120, doubt: float = 1.0) -> tuple[Pairs, BoolArray, Draws]:
    """Draws from 2,000 items by chances that are right, or too near to 0 and 1 (`doubt` < 1)."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(-1, 3, 2000)
    h, known = (1 / (1 + np.exp(-logit / at)) for at in (doubt, 1.0))
    y, p = (rng.random(2000) < known).astype(float), h > 0.5
    spread = np.sqrt(h * (1 - h))
    proposal = FrozenProposal(
        np.arange(2000), 2000, np.maximum(spread, 0.1), positive=ClassChance(h, p)
    )
    draws = proposal.draw(budget, seed=seed)
    at = draws.index
    pairs = RATIOS["f1"].pairs("spam", y[at], p[at].astype(float), 2000, int(p.sum()))
    return pairs, p[at], draws


def test_a_residual_of_0_is_excluded_outside_of_the_limits_and_not_inside() -> None:
    ratio = PredictedRatio.of(*large_pool(1))
    limits = ratio.limits(0.95)
    assert limits is not None
    low, high = limits
    reach = [
        (ratio.numerator - theta * ratio.denominator) / np.sqrt(ratio.variance(theta))
        for theta in (low, ratio.value, high)
    ]
    assert reach[1] == pytest.approx(0, abs=1e-9)
    assert 1.6 < -reach[2] < reach[0] < 2.8  # they lean away from 1


def test_counting_units_in_dozens_changes_nothing() -> None:
    pairs, p, draws = large_pool(2)
    dozens = Pairs(
        12 * pairs.numerator,
        12 * pairs.denominator,
        [(n, [(12 * a, 12 * d) for a, d in of_part]) for n, of_part in pairs.unseen],
        pairs.what,
    )
    look = Look(draws, 0.95, "auto")
    one, twelve = (predicted_ratio_estimate(each, p, look) for each in (pairs, dozens))
    assert one.interval == "fieller"
    for name in ("value", "low", "high", "stderr", "worth"):
        assert getattr(twelve, name) == pytest.approx(getattr(one, name), rel=1e-9), name


def test_chances_that_are_right_make_the_interval_narrower_than_plain_draws_do() -> None:
    pairs, p, draws = large_pool(3)
    est = predicted_ratio_estimate(pairs, p, Look(draws, 0.95, "auto"))
    assert est.worth is not None
    assert est.worth > 1.5 * len(draws)
    assert est.estimator == "ramped"


def test_without_a_clear_denominator_the_plain_ratio_is_shown_with_a_note() -> None:
    h, p = np.full(50, 0.3), np.arange(50) < 1
    proposal = FrozenProposal(np.arange(50), 50, np.ones(50), positive=ClassChance(h, p))
    draws = proposal.fixed(np.array([0, 7, 3]))
    pairs = Pairs(
        np.array([1.0, 0, 0]),
        np.array([1.0, 0, 0]),
        [(0, RATIOS["recall"].outcomes((1.0,))), (47, RATIOS["recall"].outcomes((0.0,)))],
        "label 'spam'",
    )
    est = predicted_ratio_estimate(pairs, p[draws.index], Look(draws, 0.95, "auto"))
    assert est.interval == "wilson"
    assert "does not use" in est.warnings[-1]


def test_before_any_unit_is_seen_the_ratio_is_undefined() -> None:
    h, p = np.full(50, 0.3), np.zeros(50, dtype=bool)
    proposal = FrozenProposal(np.arange(50), 50, np.ones(50), positive=ClassChance(h, p))
    draws = proposal.fixed(np.array([0, 7, 3]))
    pairs = RATIOS["recall"].pairs("spam", np.zeros(3), np.zeros(3), 50, 0)
    est = predicted_ratio_estimate(pairs, p[draws.index], Look(draws, 0.95, "auto"))
    assert est.value is None
    assert est.interval == "undefined"


def test_errors_that_the_predictor_expected_say_less_of_the_variance_than_others() -> None:
    pairs, p, draws = large_pool(4)
    heaviest = {"max_weight": 1 / (2000 * draws.probability)}
    even = replace(draws, design={**(draws.design or {}), **heaviest})
    found, counted = (PredictedRatio.of(pairs, p, each) for each in (draws, even))
    errors = np.count_nonzero(pairs.numerator < pairs.denominator)
    assert counted.rarer == errors
    assert 0 < found.rarer < 0.6 * errors
