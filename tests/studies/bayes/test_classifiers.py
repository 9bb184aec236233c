import copy
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

pytest.importorskip("torch")

import torch
from sklearn.base import clone, is_classifier
from sklearn.model_selection import cross_val_predict

import levelled as lv
from levelled import models
from levelled.errors import InputError
from levelled_studies.bayes import DropoutClassifier, RadialClassifier
from studies.bayes.samples import QUICK, pictures, points

Kind = type[RadialClassifier] | type[DropoutClassifier]
KINDS: list[tuple[Kind, dict[str, Any]]] = [
    (RadialClassifier, {}),
    (DropoutClassifier, {"rate": 0.1}),
    (DropoutClassifier, {"rate": 0.1, "consistent": True}),
]
every_kind = pytest.mark.parametrize(("kind", "extra"), KINDS)


@every_kind
def test_rows_of_features_are_learned_with_their_names(kind: Kind, extra: dict[str, Any]) -> None:
    X, y = points()
    model = kind("mlp", **QUICK, **extra).fit(X, y)
    assert model.classes_.tolist() == ["ash", "elm", "oak"]
    assert np.mean(model.predict(X) == y) >= 0.9


@every_kind
def test_images_are_learned(kind: Kind, extra: dict[str, Any]) -> None:
    X, y = pictures()
    model = kind("cnn", **QUICK, **extra).fit(X, y, validation=(X, y))
    assert np.mean(model.predict(X) == y) >= 0.9


@every_kind
def test_samples_are_distributions_that_scores_take(kind: Kind, extra: dict[str, Any]) -> None:
    X, y = pictures()
    model = kind("cnn", **QUICK | {"max_steps": 2}, **extra).fit(X, y)
    samples = model.sample_proba(X, 5)
    assert samples.shape == (24, 5, 2)
    assert samples.dtype == np.float32
    assert model.sample_proba(X).shape == (24, 6, 2)
    assert lv.scores.bald(samples).shape == (24,)
    assert np.ptp(samples, axis=1).max() > 1e-6  # samples differ


@every_kind
def test_predict_proba_is_the_mean_over_samples(kind: Kind, extra: dict[str, Any]) -> None:
    X, y = points()
    model = kind("mlp", **QUICK, **extra).fit(X, y)
    mean = model.sample_proba(X, 4).mean(axis=1)
    np.testing.assert_allclose(model.predict_proba(X), mean, atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), model.classes_[mean.argmax(axis=1)])


@every_kind
def test_a_seed_gives_the_same_model_whatever_else_is_random(
    kind: Kind, extra: dict[str, Any]
) -> None:
    X, y = pictures()
    first = kind("cnn", seed=3, **QUICK, **extra).fit(X, y, validation=(X, y))
    torch.manual_seed(99)
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    again = kind("cnn", seed=3, **QUICK, **extra).fit(X, y, validation=(X, y))
    other = kind("cnn", seed=4, **QUICK, **extra).fit(X, y, validation=(X, y))
    samples = first.sample_proba(X, 3)
    np.testing.assert_array_equal(samples, again.sample_proba(X, 3))
    assert first.validation_losses_ == again.validation_losses_
    assert not np.array_equal(samples, other.sample_proba(X, 3))
    assert torch.equal(before, torch.get_rng_state())
    assert torch.get_num_threads() == threads


def test_blocks_do_not_show_in_the_samples() -> None:
    X, y = pictures(150)
    model = RadialClassifier("cnn", **QUICK).fit(X[:20], y[:20])
    whole = model.sample_proba(X, 11)
    parts = [model.sample_proba(X[:70], 11), model.sample_proba(X[70:], 11)]
    np.testing.assert_allclose(whole, np.concatenate(parts), atol=1e-5)


@every_kind
def test_the_same_number_of_samples_are_the_same_samples(kind: Kind, extra: dict[str, Any]) -> None:
    X, y = points()
    model = kind("mlp", **QUICK, **extra).fit(X, y)
    np.testing.assert_array_equal(model.sample_proba(X, 7), model.sample_proba(X, 7))


def test_small_maps_of_many_features_are_no_images_with_channels_first() -> None:
    X = np.random.default_rng(0).normal(size=(6, 4, 4, 64))
    model = RadialClassifier("mlp", **QUICK).fit(X, [0, 1] * 3)
    assert model.scaling_.std.shape == (64,)


def test_bytes_and_floats_channels_or_none_are_the_same_images() -> None:
    X, y = pictures()
    model = RadialClassifier("cnn", **QUICK).fit(X, y)
    same = RadialClassifier("cnn", **QUICK).fit(X[..., None].astype(np.float64), y)
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(X[..., None]))
    scaled = RadialClassifier("cnn", **QUICK).fit(X / 255, y)
    np.testing.assert_allclose(model.predict_proba(X), scaled.predict_proba(X / 255), atol=1e-3)


def test_the_scaling_may_be_given() -> None:
    X, y = pictures()
    model = RadialClassifier("mlp", **QUICK).fit(X, y)
    given = RadialClassifier("mlp", scaling=(X.mean(), X.std()), **QUICK).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), given.predict_proba(X), atol=1e-4)
    with pytest.raises(InputError, match=r"deviation.*scaling"):
        RadialClassifier("mlp", scaling=(0.5, 0.0), **QUICK).fit(X, y)
    with pytest.raises(InputError, match=r"\(mean, std\)"):
        RadialClassifier("mlp", scaling=(0.5,), **QUICK).fit(X, y)  # type: ignore[arg-type]


@pytest.mark.parametrize("constant", [0.0, 0.7, 1e6 / 3])
def test_a_column_that_does_not_vary_is_only_centred(constant: float) -> None:
    X, y = points()
    X = np.column_stack([X, np.full(len(X), constant)])
    model = RadialClassifier("mlp", **QUICK).fit(X, y)
    np.testing.assert_array_equal(model.scaling_.std, [*X.std(axis=0)[:2], 1])
    near = X + np.array([0, 0, 1e-7])
    np.testing.assert_allclose(model.predict_proba(near), model.predict_proba(X), atol=1e-4)


def test_rounding_is_no_variation_and_anything_more_is() -> None:
    X, y = points()
    rounded = np.where(np.arange(len(X)) % 2, 0.1 + 0.2, 0.3)
    small = 0.3 + 1e-12 * np.arange(len(X))
    X = np.column_stack([X, rounded, small])
    std = RadialClassifier("mlp", **QUICK).fit(X, y).scaling_.std
    np.testing.assert_array_equal(std[[0, 1, 3]], X.std(axis=0)[[0, 1, 3]])
    assert std[2] == 1


@pytest.mark.parametrize("far", [1e16, 1e300])
def test_values_too_far_from_those_of_training_are_refused(far: float) -> None:
    X, y = points()
    model = RadialClassifier("mlp", **QUICK).fit(X, y)
    with pytest.raises(InputError, match=r"deviations.*mean"):
        model.predict(X + far)


def test_weights_count_as_repetitions_do() -> None:
    X, y = points(3)
    weights = np.array([2.0, 0.0, 1.0])
    settings = {**QUICK, "scaling": (0.0, 1.0), "classes": ["ash", "elm", "oak"]}
    weighted = RadialClassifier("mlp", **settings).fit(X, y, sample_weight=weights)
    again = [0, 0, 2]
    repeated = RadialClassifier("mlp", **settings).fit(X[again], y[again])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-4)


def test_classes_without_a_label_yet_are_predicted_too() -> None:
    X, y = pictures()
    model = RadialClassifier("cnn", classes=range(10), **QUICK).fit(X, y + 3)
    assert model.predict_proba(X).shape == (24, 10)
    assert model.predict_proba(X)[:, 3:5].sum() > model.predict_proba(X)[:, 5:].sum()
    alone = RadialClassifier("cnn", classes=[0, 1], **QUICK).fit(X, np.zeros(24, int))
    assert (alone.predict(X) == 0).all()


def test_a_class_that_only_the_validation_set_shows_is_one() -> None:
    X, y = points()
    two = y != "oak"
    model = RadialClassifier("mlp", **QUICK).fit(X[two], y[two], validation=(X, y))
    assert model.classes_.tolist() == ["ash", "elm", "oak"]


def test_it_goes_with_what_trains_models_here_and_in_scikit_learn() -> None:
    X, y = points()
    model = RadialClassifier("mlp", seed=5, **QUICK)
    assert is_classifier(model)
    copied = clone(model.fit(X, y))
    assert copied.get_params() == model.get_params()
    assert not hasattr(copied, "classes_")
    assert models.takes_weights(model)
    fitted = models.fit(models.untrained_copy(model), X, y, np.ones(len(y)))
    proba = models.aligned_proba(fitted, X, np.array(["ash", "elm", "fir", "oak"]))
    np.testing.assert_array_equal(proba[:, [0, 1, 3]], model.predict_proba(X))
    assert np.mean(cross_val_predict(model, X, y, cv=2) == y) >= 0.9


def test_parameters_are_set_by_name() -> None:
    model = RadialClassifier("mlp").set_params(seed=9, patience=2)
    assert (model.seed, model.get_params()["patience"]) == (9, 2)
    with pytest.raises(ValueError, match="'layers'"):
        model.set_params(layers=3)


@pytest.mark.parametrize(
    ("X", "y", "extra", "says"),
    [
        (np.zeros((4, 14, 14)), [0, 1, 0, 1], {}, r"14 x 14.*small"),
        (np.zeros((4, 9)), [0, 1, 0, 1], {}, r"X must hold images, .*\(4, 9\)"),
        (np.zeros((2, 1, 28, 28)), [0, 1], {}, r"first.*np.moveaxis\(X, 1"),
        (np.zeros((2, 3, 32, 32)), [0, 1], {"network": "mlp"}, r"channels.*first"),
        (np.zeros((2, 13, 32, 32)), [0, 1], {}, r"channels.*last"),
        (np.zeros(4), [0, 1, 0, 1], {"network": "mlp"}, r"X must be \[N, D\]"),
        (np.zeros((4, 0)), [0, 1, 0, 1], {"network": "mlp"}, "minimum of 1"),
        (np.full((2, 3), np.nan), [0, 1], {"network": "mlp"}, r"6 of 6.*NaN"),
        ([["a"], ["b"]], [0, 1], {"network": "mlp"}, r"\bX\b.*numbers"),
        ([[1, 2], [3]], [0, 1], {"network": "mlp"}, r"\bX\b.*array"),
        (np.zeros((2, 3)), [0, 1, 1], {"network": "mlp"}, "X has 2 items, y 3 labels"),
        (np.zeros((0, 3)), [], {"network": "mlp"}, "X has 0 items"),
        (np.zeros((2, 3)), [0, 0], {"network": "mlp"}, r"Two classes.* 0"),
        (np.zeros((2, 3)), [0, np.nan], {"network": "mlp"}, r"\by\b.*gaps"),
        (np.zeros((2, 3)), [0, 5], {"network": "mlp", "classes": [0, 1]}, r"\by\b.* 5,.*none"),
        (np.zeros((2, 3)), [0, 1], {"network": "tree"}, r"network.*cnn, mlp"),
        (np.zeros((2, 3)), [0, 1], {"network": "mlp", "seed": -1}, r"seed.*at least 0"),
        (np.zeros((2, 3)), [0, 1], {"network": "mlp", "device": "abacus"}, "device 'abacus'"),
        (np.zeros((2, 3)), [0, 1], {"network": "mlp", "device": None}, "it is None"),
        (np.zeros((2, 3)), [0, 1], {"network": "mlp", "kl_scale": -1}, "kl_scale"),
        (np.zeros((2, 3)), [0, 1], {"network": "mlp", "prior_scale": 0}, "prior_scale must be"),
        (np.zeros((2, 3)), [0, 1], {"network": "mlp", "initial_rho": "x"}, "initial_rho must be"),
    ],
)
def test_what_cannot_be_learned_is_refused_in_words(
    X: ArrayLike, y: ArrayLike, extra: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        RadialClassifier(**{"network": "cnn", **extra}).fit(X, y)


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ([1.0], r"sample_weight.* 1 .* 3 "),
        ([1.0, -1.0, 1.0], "the least is -1"),
        ([0.0, 0.0, 0.0], "not all zero"),
        ([1.0, np.inf, 1.0], r"sample_weight.*finite"),
        ([1.0, 1e30, 1.0], r"sample_weight.* 1e\+15"),
    ],
)
def test_weights_that_are_none_are_refused(weights: list[float], says: str) -> None:
    X, y = points(3)
    with pytest.raises(InputError, match=says):
        RadialClassifier("mlp").fit(X, y, sample_weight=weights)


@pytest.mark.parametrize(
    ("validation", "says"),
    [
        (5, r"validation.*pair"),
        ((np.zeros((2, 2)), ["ash"]), "X has 2 items, y 1 labels"),
        ((np.zeros((1, 3)), ["ash"]), "X has 3 features, but"),
    ],
)
def test_a_validation_set_that_does_not_fit_is_refused(
    validation: tuple[ArrayLike, ArrayLike], says: str
) -> None:
    X, y = points(6)
    with pytest.raises(InputError, match=says):
        RadialClassifier("mlp").fit(X, y, validation=validation)


def test_predictions_need_a_fitted_model_and_inputs_like_those_of_training() -> None:
    with pytest.raises(AttributeError, match="RadialClassifier"):  # in full, in test_estimator.py
        RadialClassifier().predict(np.zeros((1, 28, 28)))
    X, y = points()
    model = RadialClassifier("mlp", **QUICK).fit(X, y)
    with pytest.raises(InputError, match=r"3 features.*RadialClassifier.* 2"):
        model.predict(np.zeros((1, 3)))
    with pytest.raises(InputError, match=r"n_samples.*at least 1"):
        model.sample_proba(X, 0)
    assert model.sample_proba(X[:0], 3).shape == (0, 3, 3)


@pytest.mark.parametrize("learning_rate", [1e3, 1e30])
@pytest.mark.parametrize("validated", [False, True])
def test_a_network_whose_training_diverges_is_refused(
    validated: bool, learning_rate: float
) -> None:
    X, y = points()
    model = RadialClassifier("mlp", max_steps=50, learning_rate=learning_rate)
    with pytest.raises(InputError, match="Training diverged"):
        model.fit(X, y, validation=(X, y) if validated else None)


def test_a_failed_fit_leaves_the_model_as_it_was() -> None:
    X, y = points()
    model = RadialClassifier("mlp", **QUICK).fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(InputError):
        model.fit(X, y, sample_weight=[1.0])
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize("rate", [1.0, -0.1, 1.5])
def test_a_dropout_rate_that_leaves_nothing_is_refused(rate: float) -> None:
    X, y = points()
    with pytest.raises(InputError, match="rate must be"):
        DropoutClassifier("mlp", rate=rate).fit(X, y)


def test_a_model_can_be_copied() -> None:
    X, y = points()
    model = RadialClassifier("mlp", **QUICK).fit(X, y)
    np.testing.assert_array_equal(copy.deepcopy(model).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(("package", "extra"), [("torch", "torch"), ("sklearn", "sklearn")])
def test_without_a_package_the_error_says_how_to_install_it(package: str, extra: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; import levelled_studies.bayes"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"pip install 'levelled[{extra}]'" in told.stderr


def test_scikit_learn_can_cross_validate_a_network() -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, 3)) + 4 * y[:, None]
    model = RadialClassifier("mlp", max_steps=40, learning_rate=0.01, training_samples=2)
    found = selection.cross_val_score(model, X, y, cv=3)
    assert found.mean() > 0.8
    right = model.fit(X, y).predict(X) == y
    assert model.score(X, y) == pytest.approx(right.mean())
