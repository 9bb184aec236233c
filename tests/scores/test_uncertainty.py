from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy.special import entr

import levelled.scores
from levelled._check import FloatArray
from levelled.errors import InputError
from levelled.scores import entropy, least_confidence, margin

Score = Callable[[ArrayLike], FloatArray]
ALL: list[Score] = [entropy, margin, least_confidence]


def test_entropy_is_minus_the_sum_of_p_log_p(seed: int) -> None:
    p = np.random.default_rng(seed).dirichlet(np.full(7, 0.3), size=50)
    np.testing.assert_allclose(entropy(p), entr(p).sum(axis=1), rtol=1e-12, atol=1e-15)


def test_entropy_runs_from_zero_to_the_log_of_the_number_of_classes() -> None:
    certain = entropy([[0.0, 1.0, 0.0]])
    assert certain[0] == 0
    assert not np.signbit(certain[0])
    np.testing.assert_allclose(entropy(np.full((1, 5), 0.2)), np.log(5), rtol=1e-15)


def test_margin_is_one_for_a_tie_and_zero_for_certainty() -> None:
    p = [[0.4, 0.2, 0.4], [0.0, 1.0, 0.0], [0.5, 0.2, 0.3]]
    np.testing.assert_allclose(margin(p), [1, 0, 0.8], rtol=1e-15)


def test_least_confidence_is_the_chance_of_being_wrong() -> None:
    np.testing.assert_allclose(
        least_confidence([[0.2, 0.7, 0.1], [0.0, 0.0, 1.0]]), [0.3, 0.0], rtol=1e-15
    )


@pytest.mark.parametrize("score", ALL)
def test_the_surest_item_is_the_least_interesting(score: Score) -> None:
    found = score([[0.5, 0.5], [0.6, 0.4], [0.9, 0.1], [1.0, 0.0]])
    assert (np.diff(found) < 0).all()
    assert found[-1] == 0


@pytest.mark.parametrize("score", ALL)
def test_float32_is_taken_and_float64_given(score: Score, seed: int) -> None:
    p = np.random.default_rng(seed).dirichlet(np.ones(5), size=20)
    found = score(p.astype(np.float32))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, score(p), atol=1e-6)


@pytest.mark.parametrize("score", ALL)
@pytest.mark.parametrize("proba", [[[0.9, 0.2]], [[2.0, -1.0]], [[np.nan, 1.0]], [0.5, 0.5]])
def test_what_is_no_probability_is_refused(score: Score, proba: ArrayLike) -> None:
    with pytest.raises(InputError, match="proba must"):
        score(proba)


@pytest.mark.parametrize("score", ALL)
def test_no_items_have_no_scores(score: Score) -> None:
    assert score(np.empty((0, 3))).shape == (0,)


def test_the_public_names_are_there() -> None:
    assert levelled.scores.__all__ == sorted(levelled.scores.__all__)
    assert all(callable(getattr(levelled.scores, name)) for name in levelled.scores.__all__)
