import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import ArrayLike, DTypeLike
from scipy.special import entr

import levelled.scores
from levelled._check import FloatArray
from levelled.errors import InputError
from levelled.scores import bald, entropy, least_confidence, margin, variation_ratio

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


def posterior(seed: int, shape: tuple[int, int, int] = (300, 8, 5)) -> FloatArray:
    n, k, c = shape
    p = np.random.default_rng(seed).dirichlet(np.full(c, 0.3), size=(n, k))
    p[0] = np.eye(c)[np.arange(k) % c]  # zeros and ones
    return p


def direct(p: FloatArray) -> FloatArray:
    return np.asarray(entr(p.mean(axis=1)).sum(axis=-1) - entr(p).sum(axis=-1).mean(axis=-1))


def test_bald_is_entropy_of_the_mean_minus_mean_of_the_entropies(seed: int) -> None:
    p = posterior(seed)
    np.testing.assert_allclose(bald(p), direct(p), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("shape", [(5000, 20, 10), (3, 400, 300), (1, 1, 2), (70_000, 1, 2)])
def test_blocks_do_not_show_in_the_result(shape: tuple[int, int, int], seed: int) -> None:
    p = posterior(seed, shape)
    np.testing.assert_allclose(bald(p), direct(p), rtol=1e-10, atol=1e-13)


def test_samples_that_contradict_each_other_carry_the_most_information() -> None:
    contradict, agree, unsure = np.eye(2), np.eye(2)[[0, 0]], np.full((2, 2), 0.5)
    found = bald(np.stack([contradict, agree, unsure]))
    np.testing.assert_allclose(found, [np.log(2), 0, 0], atol=1e-15)


@pytest.mark.parametrize(("dtype", "off"), [(np.float32, 3e-6), (np.float16, 3e-3)])
def test_narrow_floats_lose_only_their_own_digits(dtype: DTypeLike, off: float, seed: int) -> None:
    p = posterior(seed)
    found = bald(p.astype(dtype))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, direct(p), rtol=0, atol=off)


def test_rounding_never_makes_information_negative(seed: int) -> None:
    same = np.repeat(posterior(seed, (2000, 1, 7)), 9, axis=1).astype(np.float32)
    same /= same.sum(axis=-1, keepdims=True)
    found = bald(same)
    assert found.min() >= 0
    assert found.max() <= 1e-6


def test_the_axes_may_have_been_transposed(seed: int) -> None:
    p = posterior(seed)
    other_way = np.ascontiguousarray(p.transpose(1, 0, 2)).transpose(1, 0, 2)
    np.testing.assert_array_equal(bald(other_way), bald(p))


@pytest.mark.parametrize("transposed", [False, True])
def test_bald_needs_little_memory_beside_its_input(transposed: bool) -> None:
    p = np.full((40_000, 20, 10), 0.1, np.float32)
    if transposed:
        p = np.ascontiguousarray(p.transpose(1, 0, 2)).transpose(1, 0, 2)
    tracemalloc.start()
    bald(p)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak <= 0.1 * p.nbytes


def test_variation_ratio_is_the_share_outvoted() -> None:
    votes = np.array([[0, 0, 1, 2], [1, 1, 1, 1], [0, 1, 2, 2]])
    np.testing.assert_array_equal(variation_ratio(np.eye(3)[votes]), [0.5, 0, 0.5])


def test_variation_ratio_agrees_with_counting_by_hand(seed: int) -> None:
    p = posterior(seed, (9000, 8, 5))
    by_hand = [1 - np.bincount(row).max() / 8 for row in p.argmax(axis=2)]
    np.testing.assert_array_equal(variation_ratio(p), by_hand)


@pytest.mark.parametrize(
    ("samples", "says"),
    [
        ([[0.5, 0.5]], r"axes \[N, K, C\]"),
        (np.empty((3, 0, 2)), "one sample"),
        ([[[0.5, 0.6]]], "sum to one"),
        ([[[1.5, -0.5]]], "smallest is -0.5"),
        ([[[np.nan, 1.0]]], "smallest is nan"),
        ([[[np.inf, 1.0]]], "sums to inf"),
        ([[[1.0]]], "two classes"),
        ([[["a", "b"]]], "samples must be"),
    ],
)
def test_what_is_no_posterior_sample_is_refused(samples: ArrayLike, says: str) -> None:
    for score in (bald, variation_ratio):
        with pytest.raises(InputError, match=says):
            score(samples)


def test_a_bad_row_is_found_in_any_block() -> None:
    p = np.full((50_000, 2, 2), 0.5, np.float32)
    p[49_999, 1] = [3e38, 3e38]
    with pytest.raises(InputError, match="sums to inf"):
        bald(p)


def test_no_samples_have_no_scores() -> None:
    assert bald(np.empty((0, 3, 2))).shape == (0,)
    assert variation_ratio(np.empty((0, 3, 2))).shape == (0,)


def test_the_public_names_are_there() -> None:
    assert levelled.scores.__all__ == sorted(levelled.scores.__all__)
    assert all(callable(getattr(levelled.scores, name)) for name in levelled.scores.__all__)
