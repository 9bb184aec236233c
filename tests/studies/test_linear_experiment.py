"""Many trajectories at once draw as `levelled.scores` and `levelled.proposals` say of one."""

import numpy as np
import pytest

from bounds import hoeffding
from levelled import proposals, scores
from levelled._check import FloatArray, IntArray
from levelled.estimators import lure
from levelled_studies.linear import data
from levelled_studies.linear.experiment import Rule, draw, geometric, greedy, near_optimal
from levelled_studies.linear.variance import pure_and_lure
from levelled_studies.trajectories import Trajectories

POOL = data.pool()
LOSSES = POOL.squared_errors(data.best_line(POOL))


def over_the_pool(drawn: IntArray, left: IntArray) -> FloatArray:
    score = scores.geometric(POOL.x, POOL.x[drawn])
    p = proposals.boltzmann(score, beta=1, normalise="z")
    return p[left] / p[left].sum()


def over_what_is_left(drawn: IntArray, left: IntArray) -> FloatArray:
    score = scores.geometric(POOL.x[left], POOL.x[drawn])
    return proposals.boltzmann(score, beta=1, normalise="z")


def farthest(drawn: IntArray, left: IntArray) -> FloatArray:
    score = scores.geometric(POOL.x[left], POOL.x[drawn], norm="absolute")
    return proposals.epsilon_greedy(score, 0.1)


def part_optimal(drawn: IntArray, left: IntArray) -> FloatArray:
    return proposals.mixture(proposals.optimal(LOSSES[left]), share=0.3)


CASES = [
    pytest.param(geometric(), over_the_pool, id="geometric"),
    pytest.param(geometric(over="left"), over_what_is_left, id="geometric, left"),
    pytest.param(greedy(0.1), farthest, id="epsilon-greedy"),
    pytest.param(near_optimal(0.7), part_optimal, id="near-optimal"),
]


def drawn_by(rule: Rule, budget: int = 101, repetitions: int = 3, seed: int = 0) -> Trajectories:
    rng = np.random.default_rng(seed)
    return draw(rule, POOL.x, LOSSES, budget, repetitions, rng=rng)


@pytest.mark.parametrize(("rule", "one"), CASES)
def test_probabilities_and_conditional_moments_are_those_of_one_trajectory(
    rule: Rule, one: object
) -> None:
    assert callable(one)
    found = drawn_by(rule)
    for index, q, mean, square, weighted in zip(
        found.index,
        found.probability,
        *(found.design[name] for name in ("mean", "square", "weighted_square")),
        strict=True,
    ):
        assert sorted(index.tolist()) == list(range(101))
        for m in (0, 1, 2, 5, 30, 70, 99, 100):
            left = np.setdiff1d(np.arange(101), index[:m])
            p = one(index[:m], left)
            losses = LOSSES[left]
            assert q[m] == pytest.approx(p[left == index[m]].item(), rel=1e-9)
            assert mean[m] == pytest.approx(p @ losses, rel=1e-9)
            assert square[m] == pytest.approx(p @ losses**2, rel=1e-9)
            assert weighted[m] == pytest.approx(np.sum(losses**2 / p) / 101**2, rel=1e-9)


def test_the_first_draw_is_uniform_for_scores_that_are_all_equal() -> None:
    for rule in (geometric(), greedy()):
        np.testing.assert_allclose(drawn_by(rule, budget=1).probability, 1 / 101)


def test_points_are_drawn_with_the_probabilities_written_down(seed: int) -> None:
    n, share = 20_000, 0.7
    found = drawn_by(near_optimal(share), budget=1, repetitions=n, seed=seed)
    counts = np.bincount(found.index[:, 0], minlength=101) / n
    bound = hoeffding(n, comparisons=101, alarm=1e-9)  # fails at most 1 run in 10**9
    expected = (1 - share) / 101 + share * LOSSES / LOSSES.sum()
    np.testing.assert_allclose(counts, expected, rtol=0, atol=bound)


def test_every_trajectory_can_have_a_pool_of_its_own() -> None:
    x = np.stack([POOL.x, POOL.x[::-1], -POOL.x])
    found = draw(geometric(), x, x**2, 20, 3, rng=np.random.default_rng(0))
    alone = [
        draw(geometric(), pool, pool**2, 20, 3, rng=np.random.default_rng(0)).index[row]
        for row, pool in enumerate(x)
    ]
    np.testing.assert_array_equal(found.index, alone)


def test_draws_do_not_depend_on_how_many_there_are_to_come() -> None:
    short, long = drawn_by(geometric(), budget=10), drawn_by(geometric(), budget=50)
    np.testing.assert_array_equal(short.index, long.index[:, :10])


def test_the_second_terms_of_theorems_1_and_3_come_from_cumulative_sums() -> None:
    given = np.random.default_rng(0).random((2, 100))
    pure, levelled = pure_and_lure(given, 101)
    for M in (1, 2, 50, 100):
        c = lure.levels(101, M)
        np.testing.assert_allclose(pure[:, M - 1], given[:, :M].sum(axis=1) / M**2)
        np.testing.assert_allclose(levelled[:, M - 1], (c**2 * given[:, :M]).sum(axis=1) / M**2)
