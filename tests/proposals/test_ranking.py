from functools import partial

import numpy as np
import pytest
from scipy.stats import rankdata

from contracts.proposals import SignedScoresContract
from levelled.errors import InputError
from levelled.proposals import rank


class TestRank(SignedScoresContract):
    propose = staticmethod(partial(rank, exponent=1.0))


class TestFlatRank(SignedScoresContract):
    propose = staticmethod(partial(rank, exponent=0.0))


class TestSteepRank(SignedScoresContract):
    propose = staticmethod(partial(rank, exponent=5000.0))


def test_probabilities_fall_with_the_rank() -> None:
    np.testing.assert_allclose(rank([5.0, 9.0, 7.0], 2) * 49, [4, 36, 9], rtol=1e-14)


def test_tied_items_share_their_mean_rank() -> None:
    # Ranks 1, 2.5, 2.5 and 4.
    np.testing.assert_allclose(
        rank([3.0, 9.0, 3.0, 1.0], 1), np.array([0.4, 1, 0.4, 0.25]) / 2.05, rtol=1e-14
    )


def test_ranks_agree_with_scipy(seed: int) -> None:
    scores = np.random.default_rng(seed).integers(0, 40, 200).astype(float)
    weights = 1 / rankdata(-scores)
    np.testing.assert_allclose(rank(scores, 1), weights / weights.sum(), rtol=1e-12)


def test_only_the_order_of_the_scores_matters() -> None:
    scores = np.array([0.2, -3.0, 1.5, 0.2])
    np.testing.assert_array_equal(rank(np.exp(scores), 1.5), rank(scores, 1.5))


def test_the_exponent_is_at_least_zero() -> None:
    with pytest.raises(InputError, match="exponent"):
        rank([1.0, 2.0], -1)
