from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, DTypeLike
from scipy.stats import foldnorm

from levelled._check import FloatArray
from levelled.errors import InputError, LossError
from levelled.losses import (
    Loss,
    Normal,
    absolute,
    brier,
    expected,
    log_loss,
    root_mean_square,
    squared,
    zero_one,
)


def distributions(seed: int, n: int = 40, classes: int = 4) -> FloatArray:
    return np.random.default_rng(seed).dirichlet(np.full(classes, 0.5), size=n)


def normal(mean: list[float], sd: list[float]) -> Normal:
    return Normal(np.array(mean), np.array(sd))


def test_zero_one_counts_wrong_predictions() -> None:
    np.testing.assert_array_equal(zero_one([0, 1, 2, 2], [0, 2, 2, 1]), [0, 1, 0, 1])


def test_labels_may_be_text_of_any_make() -> None:
    told = np.array(["ham", "spam"], dtype=object)
    np.testing.assert_array_equal(zero_one(told, ["ham", "ham"]), [0, 1])


@pytest.mark.parametrize(
    ("labels", "predicted"),
    [
        (["1", "0"], [1, 0]),
        ([1.0, np.nan], [1.0, 2.0]),
        ([1, 0], [1, 0, 1]),
        ([[1, 0]], [[1, 0]]),
        (np.array([None, "a"]), ["a", "a"]),
        ([[1], [1, 2]], [1, 2]),
    ],
)
def test_labels_that_cannot_be_compared_are_refused(labels: Any, predicted: Any) -> None:  # noqa: ANN401
    with pytest.raises(InputError):
        zero_one(labels, predicted)


def test_log_loss_is_minus_the_log_of_the_label_s_probability() -> None:
    p = [[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]]
    np.testing.assert_allclose(log_loss([2, 0], p), -np.log([0.5, 0.1]), rtol=1e-15)


def test_probability_zero_needs_a_declared_bound() -> None:
    p = [[1.0, 0.0], [0.5, 0.5]]
    with pytest.raises(LossError, match="cap=10"):
        log_loss([1, 0], p)
    np.testing.assert_allclose(log_loss([1, 0], p, cap=10), [10, np.log(2)])
    np.testing.assert_array_equal(log_loss([1, 0], p, cap=0.5), [0.5, 0.5])


def test_a_probability_rounded_above_one_costs_nothing() -> None:
    p = np.array([[1 + 2e-7, 0.0]], np.float32)
    assert p[0, 0] > 1
    loss = log_loss([0], p)
    assert loss[0] == 0
    assert not np.signbit(loss[0])


def test_brier_is_the_squared_distance_to_the_label(seed: int) -> None:
    p = distributions(seed)
    labels = np.arange(40) % 4
    by_hand = ((p - np.eye(4)[labels]) ** 2).sum(axis=1)
    np.testing.assert_allclose(brier(labels, p), by_hand, rtol=1e-14)


def test_brier_stays_in_its_bounds_when_probabilities_are_rounded() -> None:
    p = np.array([[1 + 2e-7, 0.0]], np.float32)
    assert brier([1], p)[0] == 2
    assert expected(p, [[0.0, 1.0]], loss="brier")[0] == 2


def test_squared_and_absolute_errors() -> None:
    np.testing.assert_array_equal(squared([1.0, -2.0], [3.0, -2.5]), [4, 0.25])
    np.testing.assert_array_equal(absolute([1.0, -2.0], [3.0, -2.5]), [2, 0.5])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_any_width_of_float_gives_float64(dtype: DTypeLike) -> None:
    p = np.array([[0.5, 0.25, 0.25], [0.125, 0.125, 0.75]], dtype)
    np.testing.assert_allclose(log_loss([0, 1], p), -np.log([0.5, 0.125]), rtol=1e-15)
    for result in (
        log_loss([0, 1], p),
        brier([0, 1], p),
        squared([0, 1], p[:, 0]),
        expected(p, p, loss="brier"),
        root_mean_square(p, p, loss="log_loss"),
    ):
        assert result.dtype == np.float64


def test_the_arguments_are_left_as_they_were() -> None:
    p = np.array([[0.5, 0.5], [1.0, 0.0]])
    before = p.copy()
    brier([0, 1], p)
    log_loss([0, 1], p, cap=5)
    expected(p, p, loss="log_loss")
    np.testing.assert_array_equal(p, before)


@pytest.mark.parametrize(
    ("labels", "proba", "says"),
    [
        ([0], [[0.5, 0.6]], "sum to one.*1.1"),
        ([0], [[1.5, -0.5]], "smallest is -0.5"),
        ([0], [[np.nan, 0.5]], "smallest is nan"),
        ([0], [[np.inf, 0.5]], "sums to inf"),
        ([0], [[1.0]], "two classes"),
        ([0], [0.5, 0.5], "axes"),
        ([2], [[0.5, 0.5]], "from 0 to 1"),
        ([-1], [[0.5, 0.5]], "from 0 to 1"),
        ([0.0], [[0.5, 0.5]], "whole numbers"),
        (["spam"], [[0.5, 0.5]], "whole numbers"),
        ([0, 1], [[0.5, 0.5]], "labels.* 2, proba.* 1"),
        ([0], [["a", "b"]], "proba must be"),
        ([0], [[0.5, 0.5], [1.0]], "proba must be"),
    ],
)
def test_predictions_that_are_no_probabilities_are_refused(
    labels: Any,  # noqa: ANN401
    proba: Any,  # noqa: ANN401
    says: str,
) -> None:
    for loss in (log_loss, brier):
        with pytest.raises(InputError, match=says):
            loss(labels, proba)


@pytest.mark.parametrize(
    "attempt",
    [
        partial(squared, [1e200], [-1e200]),
        partial(absolute, [1e308], [-1e308]),
        partial(expected, [0.0], [[1e200, 0.0]], loss="squared"),
        partial(root_mean_square, [0.0], normal([1e100], [1.0]), loss="squared"),
        partial(expected, [1e308], normal([-1e308], [0.0]), loss="absolute"),
    ],
)
def test_losses_too_large_to_write_down_are_refused(attempt: Callable[[], FloatArray]) -> None:
    with pytest.raises(LossError, match="larger unit"):
        attempt()


def of_every_label(loss: Loss, pred: Any, n: int, classes: int) -> FloatArray:  # noqa: ANN401
    known: dict[str, Callable[..., FloatArray]]
    known = {"zero_one": zero_one, "log_loss": log_loss, "brier": brier}
    return np.stack([known[loss](np.full(n, c), pred) for c in range(classes)], axis=1)


@pytest.mark.parametrize("loss", ["zero_one", "log_loss", "brier"])
def test_moments_are_sums_over_the_labels_that_may_turn_out(loss: Loss, seed: int) -> None:
    p, label = distributions(seed) * 0.99 + 0.0025, distributions(seed + 1)
    pred: Any = p.argmax(axis=1) if loss == "zero_one" else p
    each = of_every_label(loss, pred, *p.shape)
    np.testing.assert_allclose(expected(pred, label, loss=loss), (label * each).sum(1), rtol=1e-12)
    np.testing.assert_allclose(
        root_mean_square(pred, label, loss=loss) ** 2, (label * each**2).sum(1), rtol=1e-12
    )


def test_a_label_without_chance_costs_nothing_even_at_probability_zero() -> None:
    p = [[1.0, 0.0], [0.5, 0.5]]
    np.testing.assert_allclose(expected(p, p, loss="log_loss"), [0, np.log(2)], rtol=1e-15)


def test_a_label_the_model_calls_impossible_needs_a_bound() -> None:
    with pytest.raises(LossError, match="1 of 2"):
        expected([[1.0, 0.0]], [[0.9, 0.1]], loss="log_loss")
    capped = expected([[1.0, 0.0]], [[0.9, 0.1]], cap=20, loss="log_loss")
    np.testing.assert_allclose(capped, [2.0], rtol=1e-15)


def test_normal_moments_of_the_squared_loss_are_exact() -> None:
    # Five Gauss-Hermite nodes integrate polynomials up to degree nine exactly.
    nodes, weights = np.polynomial.hermite_e.hermegauss(5)
    weights /= weights.sum()
    pred, label = np.array([1.0, 0.0, -3.0]), Normal(np.array([1.5, 0, 2]), np.array([2, 1, 0.1]))
    errors = label.mean[:, None] + label.sd[:, None] * nodes - pred[:, None]
    np.testing.assert_allclose(expected(pred, label, loss="squared"), errors**2 @ weights)
    np.testing.assert_allclose(
        root_mean_square(pred, label, loss="squared"), np.sqrt(errors**4 @ weights)
    )


def test_normal_moments_of_the_absolute_loss_are_those_of_the_folded_normal() -> None:
    pred, label = np.array([1.0, 0.0, -3.0]), Normal(np.array([1.5, 0, 2]), np.array([2, 1, 0.1]))
    folded = foldnorm(np.abs(label.mean - pred) / label.sd, scale=label.sd)
    np.testing.assert_allclose(expected(pred, label, loss="absolute"), folded.mean(), rtol=1e-12)
    np.testing.assert_allclose(
        root_mean_square(pred, label, loss="absolute") ** 2, folded.moment(2), rtol=1e-12
    )


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_a_label_that_is_certain_costs_its_loss(loss: Loss) -> None:
    labels, pred = np.array([1.0, 2.0, -4.0]), np.array([1.0, 0.5, 1e-9])
    known = {"squared": squared, "absolute": absolute}[loss](labels, pred)
    certain: list[ArrayLike | Normal] = [Normal(labels, np.zeros(3)), labels[:, None]]
    for label in certain:
        np.testing.assert_allclose(expected(pred, label, loss=loss), known, rtol=1e-15)
        np.testing.assert_allclose(root_mean_square(pred, label, loss=loss), known, rtol=1e-15)


def test_values_of_the_label_are_equally_likely() -> None:
    values = [[0.0, 1.0, 5.0]]
    np.testing.assert_allclose(expected([1.0], values, loss="absolute"), [5 / 3])
    np.testing.assert_allclose(root_mean_square([1.0], values, loss="squared"), [np.sqrt(257 / 3)])


@pytest.mark.parametrize(
    ("loss", "pred", "label", "says"),
    [
        ("hinge", [0], [[0.5, 0.5]], "zero_one.*log_loss"),
        ("zero_one", [0], normal([0.0], [1.0]), "loss of classes"),
        ("zero_one", [[0.5, 0.5]], [[0.5, 0.5]], "class indices"),
        ("zero_one", [0, 1], [[0.5, 0.5]], "pred.* 2, label.* 1"),
        ("brier", [[0.5, 0.5]], [[0.2, 0.3, 0.5]], "make them equal"),
        ("squared", [0.0], [1.0], "2 axes"),
        ("squared", [0.0], [[]], "a value or more"),
        ("squared", [0.0, 1.0], normal([0.0], [1.0]), "labels.* 1, pred.* 2"),
        ("squared", [np.nan], normal([0.0], [1.0]), "finite"),
    ],
)
def test_moments_that_make_no_sense_are_refused(
    loss: Any,  # noqa: ANN401
    pred: Any,  # noqa: ANN401
    label: Any,  # noqa: ANN401
    says: str,
) -> None:
    with pytest.raises(InputError, match=says):
        expected(pred, label, loss=loss)


def test_only_the_log_loss_has_a_cap() -> None:
    with pytest.raises(InputError, match="brier takes none"):
        expected([[0.5, 0.5]], [[0.5, 0.5]], cap=1, loss="brier")


def test_a_standard_deviation_is_not_negative() -> None:
    with pytest.raises(InputError, match="at least 0"):
        normal([0.0], [-1.0])
