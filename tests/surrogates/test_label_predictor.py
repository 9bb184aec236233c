"""The predictor of labels: exact small cases, and laws it keeps whatever the labels."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from levelled._check import FloatArray, IntArray
from levelled.errors import InputError
from levelled.surrogates import label_predictor as module
from levelled.surrogates.covariates import ColumnMoments
from levelled.surrogates.label_predictor import (
    LabelColumns,
    LabelPredictor,
    LabelScaling,
    MultinomialRidge,
    fit_label_predictor,
    prior_label_predictor,
)

GOLDEN: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "label_predictor_golden.json").read_text()
)["cases"]
SLOPES = module._Terms(slopes=True)
CLASS_SLOPES = module._Terms(class_slopes=True)
STEPS = module._Terms(steps=True)


def as_they_are(scaling: LabelScaling, n_features: int) -> LabelScaling:
    """The same scaling with features that are not standardised."""
    moments = ColumnMoments()
    moments.add(np.vstack([np.ones(n_features), -np.ones(n_features)]))
    return replace(scaling, features=moments)


def golden_columns(case: dict[str, Any]) -> tuple[LabelColumns, LabelScaling]:
    proba = tuple(np.array(table) for table in case["proba"])
    X = np.array(case["features"])
    columns = LabelColumns(proba, proba[0].argmax(axis=1), X)
    return columns, as_they_are(LabelScaling.of(lambda: [columns], len(columns)), X.shape[1])


def golden_ridge(case: dict[str, Any], terms: module._Terms) -> MultinomialRidge:
    columns, scaling = golden_columns(case)
    weights = np.array(case["weights"])
    labelled = module._Labelled.of(columns.at(np.array(case["rows"])), scaling)
    return labelled.ridge(terms, np.array(case["labels"]), weights / weights.mean())


def made_pool(
    seed: int, n: int, n_classes: int, n_tables: int = 1, n_features: int = 3
) -> tuple[LabelColumns, IntArray]:
    """A pool with labels that follow its probabilities and the sign of a feature."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features)) if n_features else None
    logits = 2 * rng.normal(size=(n, n_classes))
    tables = []
    for _ in range(n_tables):
        p = np.exp(logits + 0.5 * rng.normal(size=logits.shape))
        tables.append(p / p.sum(axis=1, keepdims=True))
    truth = logits.copy()
    if X is not None:
        truth[:, 0] += 2 * X[:, 0]
    labels = (truth + rng.gumbel(size=logits.shape)).argmax(axis=1)
    return LabelColumns(tuple(tables), tables[0].argmax(axis=1), X), labels


def fitted(
    columns: LabelColumns, labels: IntArray, rows: IntArray, weights: FloatArray | None = None
) -> tuple[LabelPredictor, LabelScaling]:
    scaling = LabelScaling.of(lambda: [columns], len(columns))
    w = np.ones(len(rows)) if weights is None else weights
    return fit_label_predictor(columns.at(rows), scaling, labels[rows], w), scaling


@pytest.mark.parametrize("case", GOLDEN)
def test_the_coefficients_are_the_golden_ones(case: dict[str, Any]) -> None:
    ridge = golden_ridge(case, SLOPES)
    np.testing.assert_allclose(ridge.prior, case["expected"]["prior"], atol=1e-7)
    b = ridge.fit(ridge.prior)
    np.testing.assert_allclose(b, case["expected"]["coefficients"], atol=1e-4)
    assert ridge.objective(b) == pytest.approx(case["expected"]["objective"], abs=1e-8)


@pytest.mark.parametrize("case", GOLDEN)
def test_the_chances_are_the_golden_ones_before_the_background(case: dict[str, Any]) -> None:
    columns, scaling = golden_columns(case)
    ridge = golden_ridge(case, SLOPES)
    shares, fits = np.ones(1), [ridge.fit(ridge.prior)]
    predictor = LabelPredictor(*module._unpack(shares, fits, [SLOPES], scaling), 0.0, 0.1)
    np.testing.assert_allclose(
        predictor.predict(columns.at(np.arange(5)), scaling),
        case["expected"]["softmax_first_five"],
        atol=1e-4,
    )


@pytest.mark.parametrize("terms", [SLOPES, CLASS_SLOPES, STEPS])
@pytest.mark.parametrize("case", GOLDEN)
def test_labels_left_out_are_nearly_those_of_a_refit(
    case: dict[str, Any], terms: module._Terms
) -> None:
    ridge = golden_ridge(case, terms)
    b = ridge.fit(ridge.prior)
    refits = []
    for i in range(len(ridge.labels)):
        weights = ridge.weights.copy()
        weights[i] = 0
        without = replace(ridge, weights=weights)
        refits.append(without.eta(without.fit(b))[i])
    exact = np.array(refits)
    change, left = (
        eta - eta.mean(axis=1, keepdims=True) for eta in (exact - ridge.eta(b), ridge.left_out(b))
    )
    centred = exact - exact.mean(axis=1, keepdims=True)
    # A first-order step: within a tenth of the largest change that leaving a label out makes.
    assert np.abs(left - centred).max() < 0.1 * np.abs(change).max()


@pytest.mark.parametrize("terms", [SLOPES, STEPS])
def test_many_classes_take_the_same_step_in_the_coefficients(terms: module._Terms) -> None:
    columns, labels = made_pool(3, 40, 60)
    scaling = LabelScaling.of(lambda: [columns], 40)
    ridge = module._Labelled.of(columns, scaling).ridge(terms, labels, np.ones(40))
    b = ridge.fit(ridge.prior)
    assert len(b) < 60
    # As many idle coefficients as it takes to have more coefficients than classes.
    idle = np.zeros((40, 60, 60))
    wide = replace(
        ridge,
        table=np.concatenate([ridge.table, idle], axis=2),
        prior=np.concatenate([ridge.prior, np.zeros(60)]),
        penalty=np.concatenate([ridge.penalty, np.ones(60)]),
    )
    theirs = wide.left_out(np.concatenate([b, np.zeros(60)]))
    np.testing.assert_allclose(ridge.left_out(b), theirs, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_blocks_of_class_slopes_are_those_of_a_whole_table(n_classes: int) -> None:
    columns, labels = made_pool(4, 50, n_classes)
    scaling = LabelScaling.of(lambda: [columns], 50)
    ridge = module._Labelled.of(columns, scaling).ridge(CLASS_SLOPES, labels, np.ones(50))
    assert ridge.X is not None
    whole = np.einsum("cd,ie->icde", np.eye(n_classes), ridge.X).reshape(50, n_classes, -1)
    dense = replace(ridge, X=None, table=np.concatenate([ridge.table, whole], axis=2))
    b, theirs = ridge.fit(ridge.prior), dense.fit(ridge.prior)
    np.testing.assert_allclose(b, theirs, atol=1e-8)
    np.testing.assert_allclose(ridge.left_out(b), dense.left_out(theirs), atol=1e-8)


def test_the_mean_error_before_any_label_is_that_of_the_averaged_probabilities() -> None:
    columns, _ = made_pool(1, 500, 3, n_tables=2)
    scaling = LabelScaling.of(lambda: [columns], 500)
    prior = replace(prior_label_predictor(scaling), background=0.0)
    chances = prior.predict(columns, scaling)
    error = 1 - chances[np.arange(500), columns.pred]
    averaged = np.mean(columns.proba, axis=0)[np.arange(500), columns.pred]
    assert error.mean() == pytest.approx(1 - averaged.mean(), abs=1e-6)


def test_the_scaling_does_not_depend_on_the_runs() -> None:
    columns, _ = made_pool(1, 300, 3)
    whole = LabelScaling.of(lambda: [columns], 300)
    parts = LabelScaling.of(lambda: [columns.at(slice(0, 70)), columns.at(slice(70, 300))], 300)
    assert parts.alpha == whole.alpha
    assert parts.prior_error == whole.prior_error
    np.testing.assert_array_equal(parts.edges, whole.edges)
    assert parts.features is not None
    assert whole.features is not None
    np.testing.assert_allclose(parts.features.sd, whole.features.sd)


@pytest.mark.parametrize(("n_classes", "n_tables"), [(2, 1), (2, 3), (5, 1), (5, 2), (60, 1)])
def test_chances_sum_to_one_and_come_back_from_json_bit_by_bit(
    n_classes: int, n_tables: int
) -> None:
    columns, labels = made_pool(2, 400, n_classes, n_tables)
    predictor, scaling = fitted(columns, labels, np.arange(120))
    chances = predictor.predict(columns, scaling)
    np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-12)
    assert chances.min() >= 0.999e-5 / (n_classes - 1)
    own = chances[np.arange(400), columns.pred]
    assert own.min() >= 0.999e-4
    assert own.max() <= 1 - 0.999e-5
    again = LabelPredictor.from_json(json.loads(json.dumps(predictor.to_json())))
    np.testing.assert_array_equal(again.predict(columns, scaling), chances)


def test_coefficients_of_another_version_are_refused() -> None:
    columns, _ = made_pool(2, 20, 2)
    plain = prior_label_predictor(LabelScaling.of(lambda: [columns], 20)).to_json()
    with pytest.raises(InputError, match="version"):
        LabelPredictor.from_json({**plain, "version": 1})


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_order_of_labels_does_not_matter(n_classes: int) -> None:
    columns, labels = made_pool(5, 300, n_classes)
    rows = np.arange(100)
    weights = 0.5 + np.arange(100) / 100
    one, scaling = fitted(columns, labels, rows, weights)
    other, _ = fitted(columns, labels, rows[::-1], weights[::-1])
    np.testing.assert_allclose(
        one.predict(columns, scaling), other.predict(columns, scaling), atol=1e-7
    )


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_order_of_classes_does_not_matter(n_classes: int) -> None:
    columns, labels = made_pool(6, 300, n_classes)
    order = np.roll(np.arange(n_classes), 1)
    place = np.argsort(order)
    turned = LabelColumns((columns.proba[0][:, order],), place[columns.pred], columns.features)
    one, scaling = fitted(columns, labels, np.arange(100))
    other, turned_scaling = fitted(turned, place[labels], np.arange(100))
    np.testing.assert_allclose(
        one.predict(columns, scaling)[:, order], other.predict(turned, turned_scaling), atol=1e-7
    )


def test_a_warm_start_ends_at_the_same_place() -> None:
    columns, labels = made_pool(7, 300, 3)
    before, scaling = fitted(columns, labels, np.arange(50))
    rows = np.arange(100)
    cold = fit_label_predictor(columns.at(rows), scaling, labels[rows], np.ones(100))
    warm = fit_label_predictor(columns.at(rows), scaling, labels[rows], np.ones(100), before)
    np.testing.assert_allclose(
        warm.predict(columns, scaling), cold.predict(columns, scaling), atol=1e-7
    )


def test_known_labels_that_contradict_the_drawn_ones_are_not_believed() -> None:
    columns, labels = made_pool(8, 400, 2)
    scaling = LabelScaling.of(lambda: [columns], 400)
    n, rows = 100, np.arange(200)
    told = labels[rows].copy()
    told[n:] = 1 - columns.pred[n:200]  # every known item is an error, and chosen for it
    weights = np.ones(200)
    with_known = fit_label_predictor(columns.at(rows), scaling, told, weights, n_drawn=n)
    alone = fit_label_predictor(columns.at(rows[:n]), scaling, told[:n], weights[:n])
    assert with_known.to_json() == alone.to_json()


def test_known_labels_like_the_drawn_ones_are_believed() -> None:
    columns, labels = made_pool(8, 800, 2)
    scaling = LabelScaling.of(lambda: [columns], 800)
    rows = np.arange(400)
    fit = fit_label_predictor(columns.at(rows), scaling, labels[rows], np.ones(400), n_drawn=40)
    alone = fit_label_predictor(columns.at(rows[:40]), scaling, labels[:40], np.ones(40))
    assert fit.to_json() != alone.to_json()


def test_known_labels_alone_leave_level_and_background_as_expected() -> None:
    columns, labels = made_pool(8, 200, 3)
    scaling = LabelScaling.of(lambda: [columns], 200)
    rows = np.arange(50)
    fit = fit_label_predictor(columns.at(rows), scaling, labels[rows], np.ones(50), n_drawn=0)
    assert (fit.level, fit.background) == (scaling.prior_error, 0.1)


def test_saturated_confidences_are_corrected_by_features_of_each_class() -> None:
    """A model that is certain of every item is wrong where a feature says so."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(600, 2))
    labels = (X[:, 0] > 0).astype(np.int64)
    wrong = np.abs(X[:, 0]) < 0.25
    pred = np.where(wrong, 1 - labels, labels)
    columns = LabelColumns((np.eye(2)[pred],), pred, X)
    predictor, scaling = fitted(columns, labels, np.arange(300))
    chances = predictor.predict(columns, scaling)
    assert np.isfinite(chances).all()
    assert len(predictor.class_slopes)
    error = 1 - chances[np.arange(600), pred]
    assert error[300:][wrong[300:]].mean() > 3 * error[300:][~wrong[300:]].mean()


def test_tables_of_32_bits_give_nearly_the_same_chances() -> None:
    columns, labels = made_pool(10, 300, 5)
    predictor, scaling = fitted(columns, labels, np.arange(150))
    assert columns.features is not None
    short = LabelColumns(
        (columns.proba[0].astype(np.float32),), columns.pred, columns.features.astype(np.float32)
    )
    np.testing.assert_allclose(
        predictor.predict(short, scaling), predictor.predict(columns, scaling), atol=1e-5
    )


def test_beside_verdicts_features_are_always_used() -> None:
    columns, labels = made_pool(11, 300, 2)
    verdicts = LabelColumns(
        (np.where(np.eye(2)[columns.pred] == 1, 0.9, 0.1),), columns.pred, columns.features
    )
    scaling = LabelScaling.of(lambda: [verdicts], 300, from_verdicts=True)
    assert scaling.start.tolist() == [1.0]
    rows = np.arange(30)
    fit = fit_label_predictor(verdicts.at(rows), scaling, labels[rows], np.ones(30))
    assert len(fit.slopes) or len(fit.class_slopes)
    assert not len(fit.steps)


def test_labels_that_are_all_right_do_not_make_an_error_impossible() -> None:
    columns, _ = made_pool(12, 200, 3, n_features=0)
    predictor, scaling = fitted(columns, columns.pred, np.arange(60))
    error = 1 - predictor.predict(columns, scaling)[np.arange(200), columns.pred]
    assert error.min() >= 0.999e-5
    assert predictor.level >= 0.2 / 60


def test_huge_weights_are_survived() -> None:
    columns, labels = made_pool(13, 200, 3)
    weights = np.full(60, 1e-9)
    weights[0] = 1e9
    predictor, scaling = fitted(columns, labels, np.arange(60), weights)
    assert np.isfinite(predictor.predict(columns, scaling)).all()


def test_tables_of_different_shapes_are_refused() -> None:
    with pytest.raises(InputError, match="shape"):
        LabelColumns((np.ones((2, 2)), np.ones((2, 3))), np.zeros(2, dtype=np.int64))
    with pytest.raises(InputError, match="features"):
        LabelColumns((np.ones((1, 2)),), np.zeros(1, dtype=np.int64), np.array([[np.nan]]))
