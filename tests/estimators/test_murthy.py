from collections import defaultdict

import numpy as np
import pytest

import levelled as lv
from levelled._check import FloatArray, IntArray
from levelled.errors import DrawsError
from levelled.estimators.lure import murthy_weights
from levelled.estimators.moments import uniform_probability
from levelled_studies.exact import every_path
from paths import Weights

SCORES = np.array([0.3, 1.0, 0.05, 4.0, 0.7, 2.0])
LOSSES = np.array([3.0, -1.0, 0.5, 8.0, 2.0, 0.1])


def frozen(drawn: tuple[int, ...], left: IntArray) -> FloatArray:
    return SCORES[left] / SCORES[left].sum()


@pytest.mark.parametrize("weights", [lv.lure_weights, lv.pure_weights])
@pytest.mark.parametrize("budget", [1, 2, 3, 5, 6])
def test_murthy_is_the_mean_of_lure_and_of_pure_over_all_orders_of_the_same_set(
    budget: int, weights: Weights
) -> None:
    chances: dict[frozenset[int], float] = defaultdict(float)
    sums: dict[frozenset[int], float] = defaultdict(float)
    estimates: dict[frozenset[int], list[float]] = defaultdict(list)
    for draws, chance in every_path(6, budget, frozen):
        drawn, losses = frozenset(draws.index.tolist()), LOSSES[draws.index]
        chances[drawn] += chance
        sums[drawn] += chance * float(np.mean(weights(draws) * losses))
        estimates[drawn].append(float(np.mean(murthy_weights(draws) * losses)))
    for drawn, values in estimates.items():
        np.testing.assert_allclose(values, sums[drawn] / chances[drawn], atol=1e-9)


@pytest.mark.parametrize(
    ("pool_size", "budget"),
    [(8, 1), (100, 50), (1000, 500), (1000, 999), (10**6, 1000), (10**12, 10)],
)
def test_uniform_draws_weigh_one_however_many_there_are(pool_size: int, budget: int) -> None:
    draws = lv.Draws(np.arange(budget), uniform_probability(pool_size, budget), pool_size)
    np.testing.assert_allclose(murthy_weights(draws), 1, atol=1e-9)


def test_murthy_is_an_estimator_of_estimate() -> None:
    draws = lv.Draws(np.array([3, 5, 1]), np.array([4 / 8.05, 2 / 4.05, 1 / 2.05]), 6)
    est = lv.estimate(LOSSES[draws.index], draws, "murthy")
    weights = murthy_weights(draws)
    assert est.value == pytest.approx(np.mean(weights * LOSSES[draws.index]))
    assert est.max_weight == weights.max()


def test_probabilities_that_no_frozen_scores_give_are_refused() -> None:
    with pytest.raises(DrawsError, match="never changed"):
        murthy_weights(lv.Draws(np.array([0, 1]), np.array([1.0, 0.5]), 6))
