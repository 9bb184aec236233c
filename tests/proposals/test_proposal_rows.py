import numpy as np
import pytest
from numpy.typing import ArrayLike

import levelled.proposals
from contracts.proposals import ProposalContract, Propose
from levelled._check import FloatArray
from levelled.errors import ProposalError
from levelled.proposals import checked, proportional, rank, uniform


def test_rounded_probabilities_are_made_to_sum_to_one() -> None:
    p = checked(np.array([0.1, 0.2, 0.7], np.float32))
    assert p.dtype == np.float64
    assert abs(p.sum() - 1) <= 1e-15


def test_zeros_are_refused_with_the_way_out() -> None:
    with pytest.raises(ProposalError, match=r"mixture\(probabilities, share=0.05\)"):
        checked([0.0, 1.0])
    np.testing.assert_array_equal(checked([0.0, 1.0], allow_zero=True), [0, 1])


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ([0.2, 0.2], "these sum to 0.4"),
        ([1.2, -0.2], "the smallest is -0.2"),
        ([], "no item left"),
        ([1.7e308, 1.7e308], "inf"),
    ],
)
def test_what_is_no_distribution_is_refused(wrong: list[float], says: str) -> None:
    with pytest.raises(ProposalError, match=says):
        checked(wrong, allow_zero=True)


def test_probabilities_of_items_that_are_not_left_are_refused() -> None:
    with pytest.raises(ProposalError, match="not left"):
        checked([0.5, 0.5], left=[True, False])
    np.testing.assert_array_equal(checked([1.0, 0.0], left=[True, False]), [1, 0])


def test_one_bad_row_is_enough_to_refuse_a_batch() -> None:
    with pytest.raises(ProposalError, match=r"these sum to 0\.8"):
        checked([[0.5, 0.5], [0.4, 0.4]])


def too_much(
    scores: ArrayLike, /, *, left: ArrayLike | None = None, allow_zero: bool = False
) -> FloatArray:
    return uniform(np.size(scores)) * (1 + 1e-9)


def upside_down(
    scores: ArrayLike, /, *, left: ArrayLike | None = None, allow_zero: bool = False
) -> FloatArray:
    return rank(-np.asarray(scores), 1, allow_zero=allow_zero)


def first_come(
    scores: ArrayLike, /, *, left: ArrayLike | None = None, allow_zero: bool = False
) -> FloatArray:
    return proportional(np.arange(np.size(scores)) + 1.0)


def careless(
    scores: ArrayLike, /, *, left: ArrayLike | None = None, allow_zero: bool = False
) -> FloatArray:
    return proportional(scores, allow_zero=True)


def over_all_rows(
    scores: ArrayLike, /, *, left: ArrayLike | None = None, allow_zero: bool = False
) -> FloatArray:
    array = np.asarray(scores)
    return proportional(array.ravel(), allow_zero=True).reshape(array.shape)


def everyone(
    scores: ArrayLike, /, *, left: ArrayLike | None = None, allow_zero: bool = False
) -> FloatArray:
    return proportional(np.nan_to_num(np.asarray(scores)) + 1, allow_zero=True)


def in_place(
    scores: ArrayLike, /, *, left: ArrayLike | None = None, allow_zero: bool = False
) -> FloatArray:
    array = np.asarray(scores)
    array[:] = 1 / array.size
    return array


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (too_much, "test_probabilities_sum_to_one_whatever_the_scores"),
        (careless, "test_an_item_is_left_out_only_if_that_is_allowed"),
        (upside_down, "test_a_higher_score_never_has_a_lower_probability"),
        (first_come, "test_the_order_of_the_items_does_not_matter"),
        (first_come, "test_equal_scores_have_equal_probabilities"),
        (in_place, "test_the_scores_are_left_as_they_were"),
        (over_all_rows, "test_a_batch_of_rows_gives_the_same_as_each_row_by_itself"),
        (everyone, "test_items_that_are_not_left_count_for_nothing"),
    ],
)
def test_the_contract_notices_a_broken_promise(broken: Propose, promise: str) -> None:
    contract = type("Broken", (ProposalContract,), {"propose": staticmethod(broken)})()
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        getattr(contract, promise)()


def test_the_public_names_are_there() -> None:
    assert levelled.proposals.__all__ == sorted(levelled.proposals.__all__)
    assert all(callable(getattr(levelled.proposals, name)) for name in levelled.proposals.__all__)
