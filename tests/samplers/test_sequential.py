from collections import Counter
from itertools import islice, product

import numpy as np
import pytest
from numpy.random import Generator, default_rng
from numpy.typing import ArrayLike

from levelled import Draws, lure_weights
from levelled._check import FloatArray, IntArray
from levelled.errors import InputError, ProposalError
from levelled.proposals import proportional, uniform
from levelled.samplers import Draw, adaptive, sequential

SCORES = np.array([1.0, 2.0, 3.0, 4.0])


def by_score(left: IntArray) -> FloatArray:
    return proportional(SCORES[left])


class Told(Generator):
    """A generator that says what it is told to."""

    def __new__(cls, *_: float) -> "Told":
        return super().__new__(cls)

    def __init__(self, *numbers: float) -> None:
        super().__init__(np.random.PCG64(0))
        self.numbers = iter(numbers)

    def random(self, *_: object, **__: object) -> float:  # type: ignore[override]
        return next(self.numbers)


def test_ordered_draws_follow_the_proposal() -> None:
    grid = (np.arange(60) + 0.5) / 60  # evenly spread, so that shares are exact to 2/60
    seen = Counter(
        tuple(draw.index for draw in islice(sequential(by_score, 4, rng=Told(*u)), 2))
        for u in product(grid, grid)
    )
    for first, second in product(range(4), range(4)):
        chance = SCORES[first] / 10 * SCORES[second] / (10 - SCORES[first])
        share = seen[first, second] / 3600
        assert share == pytest.approx(chance if first != second else 0.0, abs=2 / 60)


def test_each_draw_has_the_probability_it_was_proposed_with(seed: int) -> None:
    left = [0, 1, 2, 3]
    for index, probability in sequential(by_score, 4, rng=default_rng(seed)):
        assert probability == pytest.approx(SCORES[index] / SCORES[left].sum(), rel=1e-14)
        left.remove(index)
    assert left == []


def test_the_proposal_is_asked_again_before_every_draw(seed: int) -> None:
    asked: list[list[int]] = []

    def propose(left: IntArray) -> FloatArray:
        asked.append(left.tolist())
        return uniform(len(left))

    draws = sequential(propose, 3, rng=default_rng(seed))
    assert asked == []
    first = next(draws)
    assert asked == [[0, 1, 2]]
    assert first.probability == 1 / 3
    next(draws)
    assert asked[1] == [item for item in range(3) if item != first.index]


def test_collected_draws_are_draws(seed: int) -> None:
    even = sequential(lambda left: uniform(len(left)), 9, rng=default_rng(seed))
    index, probability = zip(*islice(even, 5), strict=True)
    draws = Draws(np.array(index), np.array(probability), pool_size=9)
    np.testing.assert_allclose(lure_weights(draws), 1, rtol=1e-12)


@pytest.mark.parametrize("u", [0.0, 0.5, 1 - 2.0**-53])
def test_an_item_of_probability_zero_is_never_drawn(u: float) -> None:
    def propose(left: IntArray) -> list[float]:
        return [0.0, *[0.1] * 10, 0.0, 0.0]

    draws = sequential(propose, 13, rng=Told(u), allow_zero=True)
    assert 0 < next(draws).index < 11


def test_probabilities_that_miss_one_by_rounding_are_made_exact() -> None:
    draw = next(sequential(lambda left: [0.25 + 1e-10, 0.75], 2, rng=Told(0.1)))
    assert draw == Draw(0, (0.25 + 1e-10) / (1 + 1e-10))


@pytest.mark.parametrize(
    ("proposed", "message"),
    [
        ([0.5, 0.5], r"\b2\b.*\b3\b.*left"),
        ([0.5, 0.5, 0.5], "sum to one"),
        ([1.5, -0.5, 0.0], "at least 0"),
        ([0.5, 0.5, np.nan], "must be finite"),
        ([0.5, 0.5, 0.0], "probability 0 to 1 of 3"),
        ([[0.5, 0.25, 0.25]], "one axis"),
        ("abc", "array of numbers"),
    ],
)
def test_a_proposal_that_is_no_distribution_is_refused(proposed: ArrayLike, message: str) -> None:
    with pytest.raises(InputError, match=message):
        next(sequential(lambda left: proposed, 3, rng=default_rng(0)))


def test_a_wrong_pool_size_is_refused_at_once() -> None:
    with pytest.raises(InputError, match=r"pool_size.*at least 1"):
        sequential(by_score, 0, rng=default_rng(0))


def test_a_proposal_cannot_change_what_is_left() -> None:
    def propose(left: IntArray) -> FloatArray:
        left[0] = 7
        return uniform(len(left))

    with pytest.raises(ValueError, match="read-only"):
        next(sequential(propose, 3, rng=default_rng(0)))


def test_zeros_may_be_allowed() -> None:
    with pytest.raises(ProposalError, match="allow_zero=True"):
        next(sequential(lambda left: [1.0, 0.0], 2, rng=default_rng(0)))
    draws = sequential(lambda left: [1.0, 0.0], 2, rng=default_rng(0), allow_zero=True)
    assert next(draws) == Draw(0, 1.0)


def test_items_without_a_chance_are_counted_as_excluded() -> None:
    scores = np.array([1.0, 2.0, 0.0, 1.0, 0.0])
    rng = np.random.default_rng(0)
    draws = adaptive(lambda left: scores[left] / scores[left].sum(), 3, 5, rng=rng, allow_zero=True)
    assert draws.excluded == 2
    assert sorted(draws.index.tolist()) == [0, 1, 3]


def test_a_missing_generator_is_refused() -> None:
    with pytest.raises(InputError, match="default_rng"):
        sequential(lambda left: np.ones(len(left)), 3, rng=None)  # type: ignore[arg-type]
