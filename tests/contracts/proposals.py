"""What every proposal promises, written once. Inherit and say which proposal."""

from itertools import product
from random import Random
from typing import ClassVar, Protocol

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from levelled._check import BoolArray, FloatArray
from levelled.errors import InputError, ProposalError

EXTREMES = [0.0, 5e-324, 1e-308, 1e-20, 1.0, 1.0 + 2**-52, 2.0, 1e20, 1e308]

quietly = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[
        HealthCheck.differing_executors,  # the classes that inherit
        HealthCheck.too_slow,
    ],
)


class Propose(Protocol):
    def __call__(
        self, scores: ArrayLike, /, *, left: ArrayLike | None = None, allow_zero: bool = False
    ) -> FloatArray: ...


def pools(*, signed: bool) -> st.SearchStrategy[FloatArray]:
    """Scores of up to 30 items: ordinary ones, extreme ones, and many ties."""
    extremes = EXTREMES + ([-value for value in EXTREMES] if signed else [])
    ordinary = st.floats(-50 if signed else 0, 50)
    one = st.lists(st.one_of(st.sampled_from(extremes), ordinary), min_size=1, max_size=30)
    same = st.builds(
        lambda value, n: [value] * n,
        st.sampled_from(extremes),
        st.integers(min_value=1, max_value=30),
    )
    return st.one_of(one, same).map(np.array)


def batches() -> st.SearchStrategy[tuple[FloatArray, BoolArray]]:
    """Rows of scores of at least 0, and in each row at least one item that is left."""

    def batch(shape: tuple[int, int]) -> st.SearchStrategy[tuple[FloatArray, BoolArray]]:
        n = shape[0] * shape[1]
        scores = st.lists(
            st.one_of(st.sampled_from(EXTREMES), st.floats(0, 50)), min_size=n, max_size=n
        )
        left = st.lists(st.booleans(), min_size=n, max_size=n)
        return st.tuples(scores, left).map(lambda drawn: _batch(*drawn, shape))

    return st.tuples(st.integers(1, 4), st.integers(1, 12)).flatmap(batch)


def _batch(
    scores: list[float], left: list[bool], shape: tuple[int, int]
) -> tuple[FloatArray, BoolArray]:
    mask = np.array(left).reshape(shape)
    mask[:, 0] |= ~mask.any(axis=1)
    return np.array(scores).reshape(shape), mask


class ProposalContract:
    """What every proposal promises of scores that are at least 0."""

    propose: ClassVar[Propose]

    @given(scores=pools(signed=False))
    @quietly
    def test_probabilities_sum_to_one_whatever_the_scores(self, scores: FloatArray) -> None:
        probabilities = self.propose(scores, allow_zero=True)
        assert probabilities.dtype == np.float64
        assert probabilities.shape == scores.shape
        assert (probabilities >= 0).all()
        assert abs(probabilities.sum() - 1) <= 1e-12

    @given(scores=pools(signed=False))
    @quietly
    def test_an_item_is_left_out_only_if_that_is_allowed(self, scores: FloatArray) -> None:
        allowed = self.propose(scores, allow_zero=True)
        if (allowed > 0).all():
            np.testing.assert_array_equal(self.propose(scores), allowed)
        else:
            with pytest.raises(ProposalError, match=f"probability 0 to .* of {len(scores)} "):
                self.propose(scores)

    @given(scores=pools(signed=False))
    @quietly
    def test_a_higher_score_never_has_a_lower_probability(self, scores: FloatArray) -> None:
        ordered = self.propose(np.sort(scores), allow_zero=True)
        assert (ordered[1:] >= ordered[:-1] * (1 - 1e-12)).all()

    @given(scores=pools(signed=False), shuffle=st.randoms(use_true_random=False))
    @quietly
    def test_the_order_of_the_items_does_not_matter(
        self, scores: FloatArray, shuffle: Random
    ) -> None:
        order = list(range(len(scores)))
        shuffle.shuffle(order)
        np.testing.assert_allclose(
            self.propose(scores[order], allow_zero=True),
            self.propose(scores, allow_zero=True)[order],
            rtol=1e-9,
            atol=1e-300,
        )

    @given(scores=pools(signed=False))
    @quietly
    def test_the_scores_are_left_as_they_were(self, scores: FloatArray) -> None:
        before = scores.copy()
        result = self.propose(scores, allow_zero=True)
        result[:] = -1
        np.testing.assert_array_equal(scores, before)

    @given(batch=batches())
    @quietly
    def test_a_batch_of_rows_gives_the_same_as_each_row_by_itself(
        self, batch: tuple[FloatArray, BoolArray]
    ) -> None:
        scores, _ = batch
        rows = [self.propose(row, allow_zero=True) for row in scores]
        np.testing.assert_array_equal(self.propose(scores, allow_zero=True), rows)
        twice = self.propose(np.stack([scores, scores]), allow_zero=True)
        np.testing.assert_array_equal(twice, [rows, rows])

    @given(batch=batches())
    @quietly
    def test_items_that_are_not_left_count_for_nothing(
        self, batch: tuple[FloatArray, BoolArray]
    ) -> None:
        scores, left = batch
        scores[~left] = np.nan
        probabilities = self.propose(scores, left=left, allow_zero=True)
        assert (probabilities[~left] == 0).all()
        for row, scores_, left_ in zip(probabilities, scores, left, strict=True):
            alone = self.propose(scores_[left_], allow_zero=True)
            np.testing.assert_allclose(row[left_], alone, rtol=1e-9, atol=1e-300)

    def test_an_item_that_is_not_left_may_have_probability_zero(self) -> None:
        probabilities = self.propose([2.0, 2.0, 7.0], left=[True, True, False])
        np.testing.assert_allclose(probabilities, [0.5, 0.5, 0], rtol=1e-12)

    @pytest.mark.parametrize("left", [[True], [1, 0], [[True, False]], [False, False], True])
    def test_a_mask_that_does_not_fit_the_scores_is_refused(self, left: ArrayLike) -> None:
        with pytest.raises(InputError, match="left"):
            self.propose([1.0, 2.0], left=left, allow_zero=True)

    def test_equal_scores_have_equal_probabilities(self) -> None:
        for value, n in product(EXTREMES, [1, 2, 1000]):
            np.testing.assert_allclose(self.propose(np.full(n, value)), 1 / n, rtol=1e-12)

    @pytest.mark.parametrize(
        "scores", [[1.0, np.nan], [1.0, np.inf], [], [[], []], 1.0, ["a", "b"], [[1.0], [1, 2]]]
    )
    def test_scores_that_are_no_row_of_numbers_are_refused(self, scores: ArrayLike) -> None:
        with pytest.raises(InputError, match=r"\w{3}.*\.$"):
            self.propose(scores, allow_zero=True)


class PositiveScoresContract(ProposalContract):
    """A proposal that takes scores of at least 0 only."""

    @pytest.mark.parametrize("scores", [[1.0, -1e-300], [-1.0, -2.0], [1.0, -np.inf]])
    def test_negative_scores_are_refused(self, scores: list[float]) -> None:
        with pytest.raises(InputError):
            self.propose(scores, allow_zero=True)


class SignedScoresContract(ProposalContract):
    """A proposal that takes scores of any sign."""

    @given(scores=pools(signed=True))
    @quietly
    def test_negative_scores_are_scores_too(self, scores: FloatArray) -> None:
        probabilities = self.propose(np.sort(scores), allow_zero=True)
        assert abs(probabilities.sum() - 1) <= 1e-12
        assert (probabilities[1:] >= probabilities[:-1] * (1 - 1e-12)).all()
