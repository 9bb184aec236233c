import numpy as np
import pytest
from numpy.typing import ArrayLike

from contracts.proposals import PositiveScoresContract
from levelled._check import FloatArray
from levelled.errors import InputError, ProposalError
from levelled.proposals import boltzmann, mixture, proportional, uniform


def floored(scores: ArrayLike, *, allow_zero: bool = False) -> FloatArray:
    return mixture(proportional(scores, allow_zero=True), share=0.1, allow_zero=allow_zero)


class TestMixture(PositiveScoresContract):
    propose = staticmethod(floored)


@pytest.mark.parametrize("n", [1, 3, 10, 999_983])
def test_uniform_probabilities_are_equal_and_sum_to_one(n: int) -> None:
    p = uniform(n)
    assert len(p) == n
    assert p.min() == p.max()
    assert abs(p.sum() - 1) <= 1e-12


@pytest.mark.parametrize("n", [0, -1, 2.5, "many"])
def test_uniform_needs_a_whole_number_of_items(n: int) -> None:
    with pytest.raises(InputError, match="n must be"):
        uniform(n)


def test_a_mixture_is_a_floor_plus_the_rest() -> None:
    np.testing.assert_allclose(
        mixture([0.5, 0.3, 0.2, 0.0], share=0.2), [0.45, 0.29, 0.21, 0.05], rtol=1e-14
    )


@pytest.mark.parametrize("share", [0.01, 0.5, 1.0])
def test_no_item_falls_below_the_floor(share: float) -> None:
    p = mixture(boltzmann([0.0, 500.0, 3000.0], 1, allow_zero=True), share)
    assert p.min() == pytest.approx(share / 3, rel=1e-12)


def test_without_a_floor_zeros_are_refused_unless_allowed() -> None:
    with pytest.raises(ProposalError, match="probability 0 to 1 of 2"):
        mixture([1.0, 0.0], share=0)
    np.testing.assert_array_equal(mixture([1.0, 0.0], share=0, allow_zero=True), [1, 0])


@pytest.mark.parametrize("wrong", [[0.5, 0.6], [1.5, -0.5], [], [0.5, np.nan], [1e308, 1e308]])
def test_what_is_no_distribution_is_refused(wrong: list[float]) -> None:
    with pytest.raises(InputError):
        mixture(wrong, share=0.1)


@pytest.mark.parametrize("share", [-0.1, 1.1, np.nan])
def test_the_share_is_between_zero_and_one(share: float) -> None:
    with pytest.raises(InputError, match="share must be between 0 and 1"):
        mixture([0.5, 0.5], share)
