"""The predictor of labels that are numbers."""

import json

import numpy as np
import pytest

from levelled._check import FloatArray
from levelled.errors import InputError
from levelled.surrogates import number_predictor as module
from levelled.surrogates.number_predictor import (
    NumberColumns,
    NumberPredictor,
    NumberScaling,
    fit_number_predictor,
    prior_number_predictor,
)


def made_pool(
    seed: int, n: int = 400, n_models: int = 1, with_loss: bool = False
) -> tuple[NumberColumns, FloatArray]:
    """Predictions that miss a feature, and labels whose spread grows with another one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    truth = 3 * rng.normal(size=n)
    pred = tuple(truth + 0.3 * rng.normal(size=n) for _ in range(n_models))
    sd = np.exp(0.8 * X[:, 1])
    labels = truth + 1.5 * X[:, 0] + sd * rng.normal(size=n)
    return NumberColumns(pred, X, sd**2 if with_loss else None), labels


def fitted(
    columns: NumberColumns, labels: FloatArray, n: int
) -> tuple[NumberPredictor, NumberScaling]:
    scaling = NumberScaling.of(lambda: [columns], len(columns))
    first = slice(n)
    return fit_number_predictor(columns.at(first), scaling, labels[first], np.ones(n)), scaling


@pytest.mark.parametrize("n_models", [1, 3])
@pytest.mark.parametrize("with_loss", [False, True])
def test_predictions_come_back_from_json_bit_by_bit(n_models: int, with_loss: bool) -> None:
    columns, labels = made_pool(0, n_models=n_models, with_loss=with_loss)
    predictor, scaling = fitted(columns, labels, 150)
    again = NumberPredictor.from_json(json.loads(json.dumps(predictor.to_json())))
    for one, other in zip(
        again.predict(columns, scaling), predictor.predict(columns, scaling), strict=True
    ):
        np.testing.assert_array_equal(one, other)
        assert np.isfinite(one).all()


def test_before_any_label_the_mean_prediction_stands_and_the_spread_is_one_number() -> None:
    columns, _ = made_pool(1, n_models=2)
    scaling = NumberScaling.of(lambda: [columns], 400)
    mean, sd = prior_number_predictor(scaling).predict(columns, scaling)
    np.testing.assert_allclose(mean, np.mean(columns.pred, axis=0))
    np.testing.assert_allclose(sd, np.std(np.mean(columns.pred, axis=0)))


@pytest.mark.parametrize(("scale", "shift"), [(1e6, 0.0), (1e-6, 0.0), (1.0, 50.0), (1e3, -7e3)])
def test_numbers_may_be_of_any_scale(scale: float, shift: float) -> None:
    columns, labels = made_pool(2, with_loss=True)
    predictor, scaling = fitted(columns, labels, 150)
    assert columns.loss_hat is not None
    other_columns = NumberColumns(
        (scale * columns.pred[0] + shift,), columns.features, scale**2 * columns.loss_hat
    )
    other, other_scaling = fitted(other_columns, scale * labels + shift, 150)
    mean, sd = predictor.predict(columns, scaling)
    other_mean, other_sd = other.predict(other_columns, other_scaling)
    np.testing.assert_allclose(other_mean, scale * mean + shift, rtol=1e-6, atol=1e-6 * scale)
    np.testing.assert_allclose(other_sd, scale * sd, rtol=1e-6)


def test_mean_and_spread_follow_the_features() -> None:
    columns, labels = made_pool(3)
    predictor, scaling = fitted(columns, labels, 300)
    assert columns.features is not None
    mean, sd = predictor.predict(columns, scaling)
    assert np.corrcoef(mean - columns.pred[0], columns.features[:, 0])[0, 1] > 0.9
    assert np.corrcoef(np.log(sd), columns.features[:, 1])[0, 1] > 0.8
    rest = slice(300, 400)
    missed = labels[rest] - mean[rest]
    assert np.mean(missed**2) < np.mean((labels[rest] - columns.pred[0][rest]) ** 2)


def test_labels_left_out_are_exactly_those_of_a_refit() -> None:
    rng = np.random.default_rng(4)
    table = np.column_stack([np.ones(20), rng.normal(size=(20, 2))])
    y, w = rng.normal(size=20), 0.5 + rng.random(20)
    prior, penalty = np.array([0.0, 1.0, 0.0]), np.array([0.02, 2.0, 10.0])
    _, missed = module._linear(table, y, w, prior, penalty)
    for i in range(20):
        keep = np.arange(20) != i
        b, _ = module._linear(table[keep], y[keep], w[keep], prior, penalty)
        assert missed[i] == pytest.approx(y[i] - table[i] @ b, abs=1e-12)


def test_the_log_variance_is_stationary() -> None:
    rng = np.random.default_rng(5)
    table = np.column_stack([np.ones(60), rng.normal(size=(60, 2))])
    squares, w = rng.normal(size=60) ** 2, 0.5 + rng.random(60)
    prior, penalty = np.zeros(3), np.array([0.02, 2.0, 10.0])
    b, _ = module._log_linear(table, squares, w, prior, penalty)
    slope = table.T @ (w / 2 * (squares * np.exp(-table @ b) - 1)) - penalty * (b - prior)
    np.testing.assert_allclose(slope, 0, atol=1e-5)


def test_the_order_of_labels_does_not_matter() -> None:
    columns, labels = made_pool(6)
    scaling = NumberScaling.of(lambda: [columns], 400)
    rows, weights = np.arange(100), 0.5 + np.arange(100) / 100
    one = fit_number_predictor(columns.at(rows), scaling, labels[rows], weights)
    back = rows[::-1]
    other = fit_number_predictor(columns.at(back), scaling, labels[back], weights[::-1])
    for a, b in zip(one.predict(columns, scaling), other.predict(columns, scaling), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_known_labels_that_contradict_the_drawn_ones_are_not_believed() -> None:
    columns, labels = made_pool(7)
    scaling = NumberScaling.of(lambda: [columns], 400)
    told = labels[:200].copy()
    told[100:] += 40
    rows = np.arange(200)
    fit = fit_number_predictor(columns.at(rows), scaling, told, np.ones(200), n_drawn=100)
    alone = fit_number_predictor(columns.at(rows[:100]), scaling, told[:100], np.ones(100))
    assert fit.to_json() == alone.to_json()


def test_numbers_that_are_all_alike_or_predicted_exactly_are_survived() -> None:
    columns, _ = made_pool(8)
    for labels in (np.full(400, 3.0), columns.pred[0]):
        predictor, scaling = fitted(columns, labels, 50)
        mean, sd = predictor.predict(columns, scaling)
        assert np.isfinite(mean).all()
        assert (sd > 0).all()
    constant = NumberColumns((np.full(50, 2.0),))
    predictor, scaling = fitted(constant, np.full(50, 2.0), 20)
    mean, sd = predictor.predict(constant, scaling)
    np.testing.assert_allclose(mean, 2.0)
    assert (sd > 0).all()


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(InputError, match="shape"):
        NumberColumns((np.ones(2), np.ones(3)))
    with pytest.raises(InputError, match="version"):
        NumberPredictor.from_json({"version": 1})


def test_items_far_out_are_not_extrapolated_to() -> None:
    columns, labels = made_pool(7)
    X = np.asarray(columns.features).copy()
    X[300:310] *= 1e4
    columns = NumberColumns(columns.pred, X)
    predictor, scaling = fitted(columns, labels, 150)
    mean, sd = predictor.predict(columns, scaling)
    shift, labelled = mean - columns.mean, slice(150)
    assert shift.min() >= shift[labelled].min() - 1e-9
    assert shift.max() <= shift[labelled].max() + 1e-9
    assert sd.max() <= sd[labelled].max() * (1 + 1e-9)
    assert np.abs(shift).max() < 5 * np.std(labels)
