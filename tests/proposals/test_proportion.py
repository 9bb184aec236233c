from functools import partial

import numpy as np
import pytest

from contracts.proposals import PositiveScoresContract
from levelled.errors import InputError, ProposalError
from levelled.proposals import boltzmann, power, proportional


class TestProportional(PositiveScoresContract):
    propose = staticmethod(proportional)


class TestPower(PositiveScoresContract):
    propose = staticmethod(partial(power, exponent=2.0))


class TestFlatPower(PositiveScoresContract):
    propose = staticmethod(partial(power, exponent=0.0))


class TestSteepPower(PositiveScoresContract):
    propose = staticmethod(partial(power, exponent=1e6))


def test_probabilities_are_shares_of_the_score() -> None:
    np.testing.assert_array_equal(proportional([1, 2, 5]), [0.125, 0.25, 0.625])


def test_scores_whose_sum_overflows_still_have_shares() -> None:
    np.testing.assert_allclose(proportional([1e308, 1e308, 2e307]), [5 / 11, 5 / 11, 1 / 11])


def test_one_score_of_zero_among_others_is_refused_unless_allowed() -> None:
    with pytest.raises(ProposalError, match="probability 0 to 1 of 3"):
        proportional([1.0, 0.0, 3.0])
    np.testing.assert_array_equal(proportional([1.0, 0.0, 3.0], allow_zero=True), [0.25, 0, 0.75])


def test_negative_scores_are_sent_elsewhere() -> None:
    with pytest.raises(InputError, match="boltzmann or rank"):
        proportional([1.0, -1.0])


def test_power_one_is_proportional() -> None:
    np.testing.assert_array_equal(power([1, 2, 5], 1), proportional([1, 2, 5]))


def test_power_is_a_boltzmann_proposal_on_the_log_of_the_score() -> None:
    scores = np.array([0.1, 2.0, 5.0])
    np.testing.assert_allclose(power(scores, 3), boltzmann(np.log(scores), 3), rtol=1e-13)


@pytest.mark.parametrize("exponent", [-1.0, np.nan, np.inf])
def test_the_exponent_is_a_number_of_at_least_zero(exponent: float) -> None:
    with pytest.raises(InputError, match="exponent"):
        power([1.0, 2.0], exponent)
