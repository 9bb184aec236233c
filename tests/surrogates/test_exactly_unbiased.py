"""The adaptive estimate, exactly: its mean and variance are summed over every path of draws."""

from functools import cache, partial

import numpy as np
import pytest

from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.estimators import Moments, moments
from levelled.estimators.moments import estimator_shares
from levelled.samplers import FrozenProposal
from levelled.simulation.campaigns import term_variances
from levelled.surrogates import (
    AverageAim,
    ClassShare,
    Covariates,
    Driver,
    LossPredictor,
    LossRun,
    RatioAim,
    fit_predictor,
)
from levelled_studies.exact import every_path

ERRORS = np.array([0.0, 1.0, 0.0, 1.0, 0.0, 0.0])
COVARIATES = Covariates.of(
    [0.05, 0.4, 0.1, 0.02, 0.3, 0.2],
    features=[[0.0], [1.0], [0.5], [2.0], [-1.0], [0.3]],
    groups=[0, 0, 1, 1, 0, 1],
)
RECALL = RatioAim(
    ClassShare(np.array([True, False, False, True, False, False]), np.full(6, 0.5)),
    np.array([[[0.0, 0.0], [1.0, 1.0]], [[0.0, 0.0], [0.0, 1.0]]]),
    has_control=False,
)
N, M = len(ERRORS), 4
BALANCED = (AverageAim(0.0, 1.0, 0.0, True), RECALL)
DRIVERS = {
    "first": Driver(N, lambda: [LossRun(COVARIATES)]),
    "worst": Driver(N, lambda: [LossRun(COVARIATES, aims=BALANCED)]),
}


@cache
def proposal(drawn: tuple[int, ...], drive: str = "first") -> FrozenProposal:
    """The proposal after these draws: the predictor is fitted after every single label."""
    rows, driver = np.array(drawn, dtype=np.int64), DRIVERS[drive]
    predictor: LossPredictor = driver.first_predictor
    if drawn:
        q = [
            proposal(drawn[:m], drive).fixed(rows[m : m + 1]).probability[0]
            for m in range(len(drawn))
        ]
        weights = 1 / ((N - np.arange(len(drawn))) * np.array(q))
        predictor = fit_predictor(COVARIATES, rows, ERRORS[rows], weights)
    floor = driver.floor(ERRORS[rows])
    shares = driver.shares(predictor, rows, floor)
    return driver.proposal(predictor, rows, floor, shares).whole()


def propose(drawn: tuple[int, ...], left: IntArray, drive: str = "first") -> FloatArray:
    weights = proposal(drawn, drive).weights
    return weights / weights.sum()


def read(draws: Draws, drive: str, losses: FloatArray = ERRORS) -> Moments:
    path = tuple(draws.index.tolist())
    steps = [proposal(path[:m], drive).fixed(draws.index[m : m + 1]).design or {} for m in range(M)]
    control, left = (
        np.array([step[name][0] for step in steps]) for name in ("control", "control_left")
    )
    own = losses[draws.index]
    return moments(
        own, draws.probability, N, estimator="ramped", control=control, control_left=left
    )


def exact_variance(draws: Draws, drive: str) -> float:
    """sum u_m^2 v_m of one path, as simulations compute it."""
    path = tuple(draws.index.tolist())
    each = [
        term_variances(proposal(path[:m], drive), ERRORS, draws.index[m : m + 1]) for m in range(M)
    ]
    return float(estimator_shares("ramped", N, M) ** 2 @ np.concatenate(each))


def test_the_proposal_depends_on_the_labels() -> None:
    after_error, after_none = proposal((1,)), proposal((2,))
    assert not np.allclose(after_error.weights[-3:], after_none.weights[-3:], rtol=0.01)


def test_draws_that_balance_metrics_are_other_draws() -> None:
    first, worst = (proposal((1, 2), drive).weights for drive in DRIVERS)
    assert not np.allclose(first, worst, rtol=0.01)


@pytest.mark.parametrize("drive", DRIVERS)
def test_the_adaptive_estimate_and_its_variance_are_exactly_unbiased(drive: str) -> None:
    every = every_path(N, M, partial(propose, drive=drive))
    paths = [(read(draws, drive), draws, chance) for draws, chance in every]
    mean = sum(chance * float(one.value) for one, _, chance in paths)
    variance = sum(chance * float(one.value - mean) ** 2 for one, _, chance in paths)
    assert mean == pytest.approx(ERRORS.mean(), abs=1e-10)
    assert sum(
        chance * exact_variance(draws, drive) for _, draws, chance in paths
    ) == pytest.approx(variance, abs=1e-10)


def test_an_estimate_whose_predictor_uses_the_label_of_its_own_draw_is_biased() -> None:
    def cheating(draws: Draws) -> float:
        path = tuple(draws.index.tolist())
        steps = [proposal(path[: m + 1]) for m in range(M)]  # one label too many
        left = np.array([step.control.sum() for step in steps if step.control is not None])
        own = ERRORS[draws.index]
        control = own * 0.5  # what a predictor that knows the label would say
        a = (own - control) / draws.probability + np.cumsum(own) - own + left + control
        return float(estimator_shares("ramped", N, M) @ a / N)

    mean = sum(chance * cheating(draws) for draws, chance in every_path(N, M, propose))
    assert abs(mean - ERRORS.mean()) > 0.01
