from typing import Any

import numpy as np
import pytest

from levelled.errors import InputError
from levelled.losses import Loss, Normal
from levelled.scores import entropy, expected_loss, least_confidence, root_mean_squared_loss


def test_a_model_that_is_believed_expects_what_it_is_unsure_of(seed: int) -> None:
    p = np.random.default_rng(seed).dirichlet(np.ones(4), size=30)
    np.testing.assert_allclose(expected_loss(p), least_confidence(p), atol=1e-15)
    np.testing.assert_allclose(expected_loss(p, loss="log_loss"), entropy(p), rtol=1e-12)
    np.testing.assert_allclose(expected_loss(p, loss="brier"), 1 - (p**2).sum(axis=1), rtol=1e-12)


def test_a_second_model_judges_the_first_one_s_answer() -> None:
    answer, other = [[0.9, 0.1], [0.3, 0.7]], [[0.36, 0.64], [0.5, 0.5]]
    np.testing.assert_allclose(expected_loss(answer, other), [0.64, 0.5])
    np.testing.assert_allclose(expected_loss([0, 1], other), [0.64, 0.5])
    np.testing.assert_allclose(root_mean_squared_loss(answer, other), [0.8, 0.5**0.5])


def test_numbers_are_judged_by_a_normal_or_by_values() -> None:
    normal = Normal(np.array([1.0]), np.array([2.0]))
    np.testing.assert_allclose(expected_loss([0.0], normal, loss="squared"), [5.0])
    np.testing.assert_allclose(root_mean_squared_loss([0.0], normal, loss="absolute"), [np.sqrt(5)])
    np.testing.assert_allclose(expected_loss([0.0], [[1.0, -3.0]], loss="absolute"), [2.0])


def test_proportional_to_the_root_is_the_draw_of_least_variance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, other = rng.dirichlet(np.ones(3), size=20), rng.dirichlet(np.ones(3), size=20)
    root = root_mean_squared_loss(p, other, loss="brier")

    def second_moment(score: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        return float((root**2 / (score / score.sum())).sum())

    best = second_moment(root)
    assert best == pytest.approx(root.sum() ** 2, rel=1e-12)
    assert second_moment(expected_loss(p, other, loss="brier")) > best
    assert all(second_moment(root * rng.uniform(0.9, 1.1, 20)) > best for _ in range(100))


def test_a_cap_bounds_the_log_loss() -> None:
    p, other = [[1.0, 0.0]], [[0.5, 0.5]]
    np.testing.assert_allclose(expected_loss(p, other, cap=6, loss="log_loss"), [3.0])
    np.testing.assert_allclose(root_mean_squared_loss(p, other, cap=6, loss="log_loss"), [18**0.5])


@pytest.mark.parametrize("loss", ["zero_one", "squared", "absolute"])
def test_answers_alone_expect_nothing(loss: Loss) -> None:
    with pytest.raises(InputError, match="give label"):
        expected_loss([0, 1], loss=loss)


@pytest.mark.parametrize(
    ("answer", "label", "says"),
    [
        ([[0.5, 0.5]], [[0.2, 0.3, 0.5]], "make them equal"),
        ([[0.5, 0.5], [1.0]], None, "answer must be an array"),
        ([[0.5, 0.6]], None, "sum to one"),
        ([0, 5], [[0.5, 0.5], [0.5, 0.5]], "from 0 to 1"),
    ],
)
def test_answers_and_labels_that_do_not_fit_are_refused(
    answer: Any,  # noqa: ANN401
    label: Any,  # noqa: ANN401
    says: str,
) -> None:
    for score in (expected_loss, root_mean_squared_loss):
        with pytest.raises(InputError, match=says):
            score(answer, label)
