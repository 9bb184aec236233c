from typing import Any

import numpy as np
import pytest

from levelled._check import FloatArray
from levelled.errors import InputError
from levelled.losses import Normal
from levelled.scores import gradient_norm

HALVES = [[0.5, 0.5]]


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


def test_a_certain_answer_would_move_nothing() -> None:
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
        ([HALVES], {"loss": "zero_one"}, "one of log_loss, squared"),
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
