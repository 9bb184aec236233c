import numpy as np
import pytest
from numpy.typing import ArrayLike

from levelled.errors import InputError
from levelled.scores import geometric


@pytest.mark.parametrize("features", [1, 3])
def test_distances_are_summed_over_the_drawn_items(features: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    left, drawn = rng.normal(size=(30, features)), rng.normal(size=(7, features))
    apart = np.linalg.norm(left[:, None] - drawn, axis=2)
    np.testing.assert_allclose(geometric(left, drawn), (apart**2).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(geometric(left, drawn, "absolute"), apart.sum(axis=1), rtol=1e-12)


def test_many_pairs_are_taken_in_blocks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    left, drawn = rng.normal(size=3000), rng.normal(size=200)
    by_hand = np.abs(left[:, None] - drawn).sum(axis=1)
    np.testing.assert_allclose(geometric(left, drawn, norm="absolute"), by_hand, rtol=1e-12)


@pytest.mark.parametrize("norm", ["squared", "absolute"])
def test_leading_axes_are_pools_of_their_own(norm: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    left, drawn = rng.normal(size=(2, 3, 20, 2)), rng.normal(size=(2, 3, 4, 2))
    scores = geometric(left, drawn, norm)  # type: ignore[arg-type]
    for at in np.ndindex(2, 3):
        alone = geometric(left[at], drawn[at], norm)  # type: ignore[arg-type]
        np.testing.assert_allclose(scores[at], alone, rtol=1e-12)
    assert not geometric(left, drawn[..., :0, :], norm).any()  # type: ignore[arg-type]


def test_squared_distances_far_from_the_origin_do_not_cancel() -> None:
    far = 1e9
    np.testing.assert_allclose(geometric([far, far + 1], [far, far + 3]), [9, 5], rtol=1e-12)


@pytest.mark.parametrize("norm", ["squared", "absolute"])
def test_before_the_first_draw_no_item_is_favoured(norm: str) -> None:
    np.testing.assert_array_equal(geometric([1.0, 5.0], [], norm), [0, 0])  # type: ignore[arg-type]


@pytest.mark.parametrize("norm", ["squared", "absolute"])
def test_nothing_left_has_no_scores(norm: str) -> None:
    assert geometric([], [1.0], norm).shape == (0,)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("left", "drawn", "norm", "says"),
    [
        ([[1.0, 2.0]], [[1.0]], "squared", "2 features and X_drawn 1"),
        ([1.0], [2.0], "cubic", "norm"),
        ([np.nan], [1.0], "squared", "X_left.*finite"),
        ([[[1.0]]], [1.0], "squared", "features"),
        ([1e200], [-1e200], "squared", "too large"),
        ([1e308], [-1e308], "absolute", "too large"),
    ],
)
def test_distances_that_make_no_sense_are_refused(
    left: ArrayLike, drawn: ArrayLike, norm: str, says: str
) -> None:
    with pytest.raises(InputError, match=says):
        geometric(left, drawn, norm)  # type: ignore[arg-type]
