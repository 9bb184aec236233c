from functools import partial

import numpy as np
import pytest

from contracts.proposals import PositiveScoresContract, SignedScoresContract
from levelled.errors import InputError, ProposalError
from levelled.proposals import boltzmann


class TestBoltzmann(SignedScoresContract):
    propose = staticmethod(partial(boltzmann, beta=1.0))


class TestHotBoltzmann(SignedScoresContract):
    propose = staticmethod(partial(boltzmann, beta=1e308))


class TestFlatBoltzmann(SignedScoresContract):
    propose = staticmethod(partial(boltzmann, beta=0.0))


class TestBoltzmannOfShares(PositiveScoresContract):
    propose = staticmethod(partial(boltzmann, beta=10_000.0, normalise="sum"))


class TestBoltzmannOfZScores(SignedScoresContract):
    propose = staticmethod(partial(boltzmann, beta=3.0, normalise="z"))


def test_odds_are_the_exponential_of_the_difference() -> None:
    p = boltzmann([1.0, 4.0, 2.5], beta=0.5)
    np.testing.assert_allclose(p[1:] / p[0], np.exp([1.5, 0.75]), rtol=1e-14)


def test_sum_divides_the_scores_by_their_sum() -> None:
    scores = np.array([1.0, 2.0, 5.0])
    np.testing.assert_allclose(
        boltzmann(scores, 7, normalise="sum"), boltzmann(scores / 8, 7), rtol=1e-14
    )


def test_z_standardises_the_scores() -> None:
    scores = np.array([1.0, 2.0, 5.0])
    z = (scores - scores.mean()) / scores.std()
    np.testing.assert_allclose(boltzmann(scores, 2, normalise="z"), boltzmann(z, 2), rtol=1e-14)


@pytest.mark.parametrize(("scale", "shift"), [(1e300, 0.0), (1e-300, 0.0), (3.0, 1e6)])
def test_z_does_not_depend_on_the_unit_of_the_scores(scale: float, shift: float) -> None:
    scores = np.array([1.0, 2.0, 5.0])
    np.testing.assert_allclose(
        boltzmann(scores * scale + shift, 2, normalise="z"),
        boltzmann(scores, 2, normalise="z"),
        rtol=1e-8,
    )


def test_nearly_equal_scores_keep_their_order_under_z() -> None:
    p = boltzmann([1.0, 1.0 + 2**-51], beta=1, normalise="z")
    np.testing.assert_allclose(p[1] / p[0], np.exp(2), rtol=1e-12)


def test_all_zero_scores_are_uniform_under_every_normalisation() -> None:
    for normalise in ("none", "sum", "z"):
        np.testing.assert_array_equal(boltzmann(np.zeros(4), 9, normalise), np.full(4, 0.25))


@pytest.mark.parametrize("beta", [0.0, 1.0])
def test_minus_infinity_has_no_weight(beta: float) -> None:
    with pytest.raises(ProposalError, match="probability 0 to 1 of 3"):
        boltzmann([0.0, 0.0, -np.inf], beta)
    allowed = boltzmann([0.0, 0.0, -np.inf], beta, allow_zero=True)
    np.testing.assert_array_equal(allowed, [0.5, 0.5, 0])


def test_an_exponential_that_underflows_is_refused() -> None:
    with pytest.raises(ProposalError, match="mixture"):
        boltzmann([0.0, -1000.0], beta=1)


def test_nothing_but_minus_infinity_is_refused() -> None:
    with pytest.raises(InputError, match="could be drawn"):
        boltzmann([-np.inf, -np.inf], beta=1, allow_zero=True)


@pytest.mark.parametrize("beta", [-1.0, np.nan, np.inf, "hot"])
def test_beta_is_a_number_of_at_least_zero(beta: float) -> None:
    with pytest.raises(InputError, match="beta"):
        boltzmann([0.0, 1.0], beta)


def test_an_unknown_normalisation_is_refused() -> None:
    with pytest.raises(InputError, match="none, sum, z"):
        boltzmann([0.0, 1.0], 1, normalise="max")  # type: ignore[arg-type]
