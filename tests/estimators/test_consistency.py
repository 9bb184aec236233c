"""Theorems 2 and 5 at the size of a study: the error vanishes as the budget grows."""

import numpy as np
import pytest

from levelled._check import FloatArray
from levelled.estimators.estimate import running_lure, running_naive, running_pure
from levelled_studies.trajectories import frozen
from paths import Running

BUDGETS = [20, 80, 320, 1280]


def errors(estimator: Running, budget: int, seed: int) -> FloatArray:
    """The errors of 800 estimates from half of a pool."""
    rng = np.random.default_rng([seed, budget])
    N = 2 * budget
    losses = rng.gamma(2.0, 0.5, N)
    weights = 0.3 + losses * rng.uniform(0.5, 1.5, N)
    drawn = frozen(weights, budget, 800, control=losses, bound=np.inf, rng=rng)
    return estimator(losses[drawn.index], drawn.probability, N)[:, -1] - losses.mean()


@pytest.mark.parametrize("estimator", [running_pure, running_lure])
def test_the_mean_squared_error_falls_with_the_budget_at_a_fixed_share_of_the_pool(
    estimator: Running, seed: int
) -> None:
    """It falls about as 1/M, so by 4 at each step; 2 is asked for.

    The log of a ratio of two means of 800 squares has a standard error of about 0.07, and log 2
    is ten of them: a false alarm is rarer than one run in 10**12.
    """
    squares = [np.mean(errors(estimator, budget, seed) ** 2) for budget in BUDGETS]
    assert (np.divide(squares[1:], squares[:-1]) < 0.5).all()


def test_the_naive_error_stays(seed: int) -> None:
    assert min(errors(running_naive, budget, seed).mean() for budget in BUDGETS) > 0.1
