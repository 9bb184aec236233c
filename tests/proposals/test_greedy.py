from functools import partial

import numpy as np
import pytest

from contracts.proposals import SignedScoresContract
from levelled.errors import InputError, ProposalError
from levelled.proposals import epsilon_greedy


class TestEpsilonGreedy(SignedScoresContract):
    propose = staticmethod(partial(epsilon_greedy, epsilon=0.1))


class TestGreedy(SignedScoresContract):
    propose = staticmethod(partial(epsilon_greedy, epsilon=0.0))


def test_the_paper_s_example() -> None:
    # Appendix C.1: 1 - epsilon + epsilon / n for the best, epsilon / n for the others.
    p = epsilon_greedy([0.3, 0.9, 0.1, 0.2, 0.0], epsilon=0.1)
    np.testing.assert_allclose(p, [0.02, 0.92, 0.02, 0.02, 0.02], rtol=1e-14)


def test_items_tied_at_the_top_share_the_greedy_part() -> None:
    p = epsilon_greedy([2.0, 2.0, 1.0, 0.0], epsilon=0.4)
    np.testing.assert_allclose(p, [0.4, 0.4, 0.1, 0.1], rtol=1e-14)


def test_epsilon_one_is_uniform() -> None:
    np.testing.assert_allclose(epsilon_greedy([2.0, 1.0], epsilon=1), 0.5, rtol=1e-15)


def test_epsilon_zero_is_refused_unless_allowed() -> None:
    with pytest.raises(ProposalError, match="probability 0 to 1 of 2"):
        epsilon_greedy([2.0, 1.0], epsilon=0)
    np.testing.assert_array_equal(epsilon_greedy([2.0, 1.0], 0, allow_zero=True), [1, 0])


@pytest.mark.parametrize("epsilon", [-0.1, 1.1, np.nan])
def test_epsilon_is_a_probability(epsilon: float) -> None:
    with pytest.raises(InputError, match="epsilon must be between 0 and 1"):
        epsilon_greedy([2.0, 1.0], epsilon)
