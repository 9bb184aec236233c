from typing import Any

import numpy as np
import pytest

from levelled._check import FloatArray
from levelled.errors import InputError
from levelled.losses import Loss, Normal
from levelled.scores import (
    entropy,
    expected_loss,
    gradient_norm,
    least_confidence,
    root_mean_squared_loss,
)

HALVES = [[0.5, 0.5]]


def test_a_model_that_is_believed_expects_what_it_is_unsure_of(seed: int) -> None:
    p = np.random.default_rng(seed).dirichlet(np.ones(4), size=30)
    np.testing.assert_allclose(expected_loss(p), least_confidence(p), atol=1e-15)
    np.testing.assert_allclose(expected_loss(p, loss="log_loss"), entropy(p), rtol=1e-12)
    np.testing.assert_allclose(expected_loss(p, loss="brier"), 1 - (p**2).sum(axis=1), rtol=1e-12)


def test_a_second_model_judges_the_first_one_s_predictions() -> None:
    pred, other = [[0.9, 0.1], [0.3, 0.7]], [[0.36, 0.64], [0.5, 0.5]]
    np.testing.assert_allclose(expected_loss(pred, other), [0.64, 0.5])
    np.testing.assert_allclose(expected_loss([0, 1], other), [0.64, 0.5])
    np.testing.assert_allclose(root_mean_squared_loss(pred, other), [0.8, 0.5**0.5])


@pytest.mark.parametrize("loss", ["zero_one", "log_loss", "brier"])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_an_ensemble_judges_by_its_mean_distribution(loss: Loss, kind: type, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pred = rng.dirichlet(np.ones(3), size=8)
    members: FloatArray = rng.dirichlet(np.ones(3), size=(8, 5)).astype(kind)
    for score in (expected_loss, root_mean_squared_loss):
        found = score(pred, members, loss=loss)
        np.testing.assert_allclose(found, score(pred, members.mean(axis=1), loss=loss), rtol=1e-5)
    # The expected loss is linear in the distribution: the mean of what the members expect.
    each = [expected_loss(pred, members[:, k], loss=loss) for k in range(5)]
    np.testing.assert_allclose(expected_loss(pred, members, loss=loss), np.mean(each, 0), rtol=1e-5)
    length = gradient_norm(pred, members)
    np.testing.assert_allclose(length, gradient_norm(pred, members.mean(axis=1)), rtol=1e-5)


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
def test_predictions_alone_expect_nothing(loss: Loss) -> None:
    with pytest.raises(InputError, match="give label"):
        expected_loss([0, 1], loss=loss)


@pytest.mark.parametrize(
    ("pred", "label", "says"),
    [
        ([[0.5, 0.5]], [[0.2, 0.3, 0.5]], "make them equal"),
        ([[0.5, 0.5], [1.0]], None, "pred.*array"),
        ([[0.5, 0.6]], None, "sum to one"),
        ([0, 5], [[0.5, 0.5], [0.5, 0.5]], "from 0 to 1"),
        (HALVES, [[[0.5, 0.6]]], "sum to one"),
        (HALVES, [[[0.2, 0.3, 0.5]]], "make them equal"),
        (HALVES, np.zeros((1, 0, 2)), "one member"),
    ],
)
def test_predictions_and_labels_that_do_not_fit_are_refused(
    pred: Any,  # noqa: ANN401
    label: Any,  # noqa: ANN401
    says: str,
) -> None:
    for score in (expected_loss, root_mean_squared_loss):
        with pytest.raises(InputError, match=says):
            score(pred, label)


def softmax_loss(weights: FloatArray, features: FloatArray, label: int) -> float:
    logits = weights @ features
    return float(np.log(np.exp(logits).sum()) - logits[label])


def length_of_gradient(weights: FloatArray, features: FloatArray, label: int) -> float:
    """By central differences in every weight of the layer."""
    step, total = 1e-5, 0.0
    for place in np.ndindex(*weights.shape):
        move = np.zeros_like(weights)
        move[place] = step
        rise = softmax_loss(weights + move, features, label) - softmax_loss(
            weights - move, features, label
        )
        total += (rise / (2 * step)) ** 2
    return float(np.sqrt(total))


def test_it_is_the_expected_length_of_the_last_layer_s_gradient(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights, features = rng.normal(size=(4, 3)), rng.normal(size=3)
    p = np.exp(weights @ features) / np.exp(weights @ features).sum()
    by_label = np.array([length_of_gradient(weights, features, c) for c in range(4)])
    found = gradient_norm(p[None], features=features[None])
    np.testing.assert_allclose(found, [p @ by_label], rtol=1e-7)
    other = rng.dirichlet(np.ones(4))
    found = gradient_norm(p[None], other[None], features=features[None])
    np.testing.assert_allclose(found, [other @ by_label], rtol=1e-7)


def test_without_features_it_is_the_gradient_in_the_logits() -> None:
    # p = (0.8, 0.2): |p - e_1| = 0.2 sqrt 2 and |p - e_2| = 0.8 sqrt 2.
    found = gradient_norm([[0.8, 0.2]])
    np.testing.assert_allclose(found, [2 * 0.8 * 0.2 * np.sqrt(2)], rtol=1e-14)


def test_a_certain_prediction_would_move_nothing() -> None:
    np.testing.assert_array_equal(gradient_norm([[0.0, 1.0, 0.0]]), [0.0])


def test_the_squared_loss_moves_with_twice_the_error() -> None:
    np.testing.assert_allclose(gradient_norm([1.0], [[0.0, 4.0]], loss="squared"), [4.0])
    normal = Normal(np.array([1.0]), np.array([3.0]))
    np.testing.assert_allclose(
        gradient_norm([1.0], normal, loss="squared"), [6 * np.sqrt(2 / np.pi)]
    )


@pytest.mark.parametrize(
    ("arguments", "options", "says"),
    [
        ([HALVES], {"loss": "zero_one"}, "log_loss.*squared"),
        ([[1.0]], {"loss": "squared"}, "needs a distribution"),
        ([HALVES, Normal(np.zeros(1), np.ones(1))], {}, "loss of classes"),
        ([HALVES, [[0.2, 0.3, 0.5]]], {}, "make them equal"),
        ([HALVES], {"features": [[1.0], [2.0]]}, "features has 2"),
        ([HALVES], {"features": [1.0]}, "2 axes"),
        ([HALVES], {"features": [[1e200]]}, "Standardise"),
    ],
)
def test_gradients_that_make_no_sense_are_refused(
    arguments: list[Any], options: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        gradient_norm(*arguments, **options)
