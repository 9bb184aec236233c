"""The share of a corrected model: each measurement, and how the two make one number."""

from itertools import product

import numpy as np
import pytest

from levelled._check import FloatArray
from levelled.advice.evidence import (
    Measured,
    combine_shares,
    inclusion_weights,
    log_loss_share,
    measure_gain,
    squared_share,
)
from levelled.estimators.moments import effective_size

WEIGHTS = np.array([0.3, 0.5, 0.8, 1.0, 1.1, 1.3, 1.4, 1.6])


def numbers(seed: int = 0) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Labels and the predictions of two models."""
    rng = np.random.default_rng(seed)
    plain, corrected, noise = rng.normal(size=(3, 8))
    return 0.4 * plain + 0.6 * corrected + noise, plain, corrected


def test_items_with_the_same_chance_have_weight_one() -> None:
    np.testing.assert_allclose(inclusion_weights(np.full(5, 0.7)), 1, rtol=1e-15)


def test_weights_are_inverse_to_small_hazards_and_to_one_for_large_ones() -> None:
    small = inclusion_weights(np.array([1e-9, 2e-9]))
    assert small[0] / small[1] == pytest.approx(2)
    np.testing.assert_allclose(inclusion_weights(np.array([50.0, 1e300, np.inf])), 1)
    assert inclusion_weights(np.array([0.1, 2.0])).mean() == pytest.approx(1)


def test_with_nothing_to_correct_weights_gain_half_of_the_variance_they_add() -> None:
    """All labels of mean 0 and variance 1: the weighted mean against the plain one."""
    M, n = len(WEIGHTS), effective_size(WEIGHTS)
    gains = []
    for signs in product([-1.0, 1.0], repeat=M):
        y = np.array(signs)
        plain, corrected = (y - y.mean()) ** 2, (y - np.average(y, weights=WEIGHTS)) ** 2
        gains.append(measure_gain(plain, corrected, corrected, WEIGHTS).value)
    assert np.mean(gains) == pytest.approx(1 / n - 1 / M, abs=1e-12)
    # The mean is one parameter: its overfitting bias is 2/n, of which this is half of 1 - n/M.
    overfitting = measure_gain(np.zeros(M), np.zeros(M), np.full(M, 2 / n), WEIGHTS)
    assert overfitting.chance == pytest.approx(np.mean(gains), abs=1e-12)


def test_the_share_on_the_labels_is_what_chance_does_not_explain() -> None:
    plain, corrected = np.full(8, 0.9), np.full(8, 0.5)
    gain = measure_gain(plain, corrected, np.full(8, 1.5), WEIGHTS)
    assert gain.value == pytest.approx(0.4)
    assert gain.overfitting_bias.value == pytest.approx(1.0)
    assert gain.chance == pytest.approx((1 - effective_size(WEIGHTS) / 8) / 2)
    assert gain.share == pytest.approx(1 - gain.chance / 0.4)
    assert measure_gain(plain, corrected, np.full(8, 1.5), np.ones(8)).share == 1


@pytest.mark.parametrize("plain", [0.5, 0.4])
def test_without_a_gain_on_the_labels_there_is_no_share(plain: float) -> None:
    half = np.full(8, 0.5)
    assert measure_gain(np.full(8, plain), half, half, WEIGHTS).share == 0


def test_overfitting_is_at_least_that_of_two_parameters() -> None:
    losses = np.full(8, 0.5)
    gain = measure_gain(losses + 1, losses, losses - 0.1, WEIGHTS)
    assert gain.overfitting_bias.value == pytest.approx(2 / 8 * 0.4)


def test_the_held_out_share_is_a_weighted_regression() -> None:
    y, plain, corrected = numbers()
    root, d = np.sqrt(WEIGHTS), corrected - plain
    expected = np.linalg.lstsq((root * d)[:, None], root * (y - plain))[0][0]
    share = squared_share(y, plain, corrected, WEIGHTS)
    assert share is not None
    assert share.value == pytest.approx(expected)
    slope = WEIGHTS * d * (y - plain - expected * d)
    error = np.std(slope, ddof=1) / np.sqrt(8) / np.mean(WEIGHTS * d**2)
    assert share.stderr == pytest.approx(error)


def test_two_classes_have_the_share_of_one_probability() -> None:
    rng = np.random.default_rng(1)
    plain, corrected = rng.uniform(size=(2, 8))
    y = np.arange(8) % 2
    one = squared_share(y.astype(float), plain, corrected, WEIGHTS)
    labels, first, second = (np.stack([1 - p, p], axis=1) for p in (y, plain, corrected))
    assert squared_share(labels, first, second, WEIGHTS) == pytest.approx(one)


def test_the_share_of_the_log_loss_is_where_it_is_lowest() -> None:
    rng = np.random.default_rng(2)
    plain, corrected = rng.uniform(0.1, 0.9, size=(2, 8))
    share = log_loss_share(plain, corrected, WEIGHTS)
    assert share is not None

    def loss(a: float) -> float:
        return float(-np.sum(WEIGHTS * np.log((1 - a) * plain + a * corrected)))

    for step in (-1e-3, 1e-3):
        assert loss(share.value) < loss(share.value + step)
    assert 0 < share.stderr < np.inf


def test_the_share_of_the_log_loss_stays_where_all_probabilities_are_positive() -> None:
    better = log_loss_share(np.full(8, 0.4), np.full(8, 0.5), WEIGHTS)
    worse = log_loss_share(np.full(8, 0.5), np.full(8, 0.4), WEIGHTS)
    assert better is not None
    assert worse is not None
    assert better.value == pytest.approx(10)
    assert worse.value == pytest.approx(-10)


def test_models_that_predict_the_same_have_no_held_out_share() -> None:
    y, plain, _ = numbers()
    assert squared_share(y, plain, plain.copy(), WEIGHTS) is None
    assert log_loss_share(np.full(8, 0.3), np.full(8, 0.3), WEIGHTS) is None


@pytest.mark.parametrize(
    ("on_labels", "held_out", "share"),
    [
        (0.68, Measured(0.48, 0.44), (16 * 0.68 + 0.48 / 0.44**2) / (16 + 1 / 0.44**2)),
        (0.5, Measured(0.3, 0.0), 0.3),
        (0.5, Measured(0.3, 1e9), 0.5),
        (0.04, Measured(0.04, 0.2), 0.0),
        (0.96, Measured(0.96, 0.2), 1.0),
        (0.0, Measured(-4.0, 0.5), 0.0),
        (1.0, Measured(4.0, 0.5), 1.0),
    ],
)
def test_both_measurements_make_one_share(
    on_labels: float, held_out: Measured, share: float
) -> None:
    assert combine_shares(on_labels, held_out) == pytest.approx(share)
