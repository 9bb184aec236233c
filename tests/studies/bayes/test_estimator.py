"""The classifiers are estimators: they pass the checks of scikit-learn."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")

from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import estimator_checks_generator

from levelled.errors import InputError, InputTypeError
from levelled_studies.bayes import DropoutClassifier, RadialClassifier
from studies.bayes.samples import pictures, points

SMALL: dict[str, Any] = {
    "max_steps": 60,
    "learning_rate": 0.02,
    "training_samples": 2,
    "test_samples": 4,
}
Classifier = RadialClassifier | DropoutClassifier


def expected_failures(model: Classifier) -> dict[str, str]:
    """The checks that a network trained by random batches cannot pass, and why."""
    failures = {
        "check_sample_weight_equivalence_on_dense_data": (
            "batches are drawn at random, so an item of weight 2 and an item given twice are in "
            "different batches: the models agree in distribution, not digit by digit"
        ),
    }
    if isinstance(model, DropoutClassifier) and not model.consistent:
        own_units = (
            "each item has its own dropout by its place among the items; consistent=True passes"
        )
        failures["check_methods_sample_order_invariance"] = own_units
        failures["check_methods_subset_invariance"] = own_units
    return failures


def every_check() -> list[Any]:
    models: list[Classifier] = [
        RadialClassifier("mlp", **SMALL),
        DropoutClassifier("mlp", **SMALL),
        DropoutClassifier("mlp", rate=0.1, consistent=True, **SMALL),
    ]
    return [
        check
        for model in models
        for check in estimator_checks_generator(
            model,
            expected_failed_checks=expected_failures(model),
            mark="xfail",
        )
    ]


@pytest.mark.parametrize(("estimator", "check"), every_check())
def test_scikit_learns_own_checks_pass(
    estimator: Classifier, check: Callable[[Classifier], None]
) -> None:
    check(estimator)


def test_a_classifier_that_is_not_fitted_says_so_in_the_error_of_scikit_learn() -> None:
    model = RadialClassifier("mlp")
    with pytest.raises(NotFittedError, match="RadialClassifier"):
        model.predict([[1.0, 2.0]])
    for name in ("n_features_in_", "feature_names_in_"):
        assert not hasattr(model, name)


def test_features_are_counted_in_rows_and_images() -> None:
    X, y = points()
    assert RadialClassifier("mlp", max_steps=1).fit(X, y).n_features_in_ == 2
    images, label = pictures()
    assert RadialClassifier("cnn", max_steps=1).fit(images, label).n_features_in_ == 16 * 16
    colours = np.stack([images] * 3, axis=-1)
    assert RadialClassifier("cnn", max_steps=1).fit(colours, label).n_features_in_ == 3 * 16 * 16


def test_columns_keep_their_names_and_their_order(tmp_path: Any) -> None:  # noqa: ANN401
    pd = pytest.importorskip("pandas")
    X, y = points()
    frame = pd.DataFrame(X, columns=["height", "width"])
    model = RadialClassifier("mlp", max_steps=1).fit(frame, y)
    model.save(tmp_path / "model.pt")
    for one in (model, RadialClassifier.load(tmp_path / "model.pt")):
        assert one.feature_names_in_.tolist() == ["height", "width"]
        np.testing.assert_array_equal(one.predict(frame), one.predict(X))
        with pytest.raises(InputError, match=r"column 0.*'width'.*'height'"):
            one.predict(frame[["width", "height"]])
    assert not hasattr(model.fit(X, y), "feature_names_in_")


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ([[1.0, {}], [0.0, 1.0]], InputTypeError, r"\bX\b.*numbers"),
        ([[1.0 + 2.0j], [0.0]], InputError, "Complex data"),
        ([1.0, 2.0], InputError, r"X.reshape\(1, -1\)"),
        (np.zeros((2, 0)), InputError, "minimum of 1"),
        ([[np.nan], [0.0]], InputError, r"\bX\b.*finite.* 1 of 2"),
        (np.zeros((2, 1, 1, 1, 1)), InputError, "X must be .N, D., .N, H, W. or"),
    ],
)
def test_data_that_a_network_cannot_take_is_refused_on_one_line(
    X: Any,  # noqa: ANN401
    error: type[InputError],
    message: str,
) -> None:
    with pytest.raises(error, match=message) as caught:
        RadialClassifier("mlp", **SMALL).fit(X, [0, 1])
    assert "\n" not in str(caught.value)


def test_sparse_data_is_refused_with_the_way_to_make_it_dense() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(InputError, match=r"Sparse.*X\.toarray\(\)"):
        RadialClassifier("mlp").fit(sparse.eye(4).tocsr(), [0, 1, 0, 1])


def test_labels_that_are_quantities_are_refused_and_whole_numbers_as_objects_are_not() -> None:
    X, _ = points(4)
    with pytest.raises(InputError, match=r"0\.5.*regressor"):
        RadialClassifier("mlp").fit(X, [0.5, 1.0, 0.0, 1.0])
    y = np.array([3, 5, 3, 5], dtype=object)
    assert RadialClassifier("mlp", max_steps=1).fit(X, y).classes_.tolist() == [3, 5]
