"""Models by name: models of scikit-learn that suit a few hundred labels, or a user's own."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from levelled._optional import import_attribute, optional
from levelled.errors import InputError, LevelledError
from levelled.models import Model, error_line

MOST_CLASSES = 20
"""Whole numbers of more different values than this are numbers to be predicted, not classes."""


def make_model(name: str, labels: Sequence[Any]) -> Model:
    """The model of that name, for these labels: a classifier, or a regressor for numbers.

    A name is logistic, ridge, forest or boosting, or package.module:name of a user's model or of
    a function that makes one.
    """
    if ":" in name:
        return _import_model(name)
    if name not in _MODELS:
        raise InputError(
            f"model= must be one of {', '.join(_MODELS)}, or package.module:name for a model of "
            f"your own; it is {name!r}."
        )
    return _MODELS[name](labels)


@contextmanager
def catch_errors(name: str, warn: Callable[[str], object]) -> Iterator[None]:
    """Turn errors of the model into an `InputError` of one line, and pass each warning on once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)  # for those who write models
        try:
            yield
        except (LevelledError, OSError):
            raise
        except (Exception, SystemExit) as error:
            raise InputError(f"model={name!r} failed: {_one_line(error)}") from error
    messages = [f"{each.category.__name__}: {_one_line(each.message)}" for each in caught]
    for message in dict.fromkeys(messages):
        warn(message)


def _import_model(name: str) -> Model:
    """A user's model, or the result of their function; modules may be in the working folder."""
    module, _, attribute = name.partition(":")
    try:
        thing = import_attribute(module, attribute)
    except (Exception, SystemExit) as error:  # somebody else's module may raise anything
        raise InputError(
            f"model={name!r} cannot be imported: {_one_line(error)} Give package.module:name, of "
            f"an installed package or of a file in this folder."
        ) from error
    if _is_model(thing):
        return cast(Model, thing)
    if not callable(thing):
        raise InputError(
            f"model={name!r} is a {type(thing).__name__}: neither a model, which has fit and "
            f"predict, nor a function that makes one."
        )
    try:
        model: Any = thing()
    except (Exception, SystemExit) as error:
        raise InputError(f"model={name!r} could not make a model: {_one_line(error)}") from error
    if not _is_model(model):
        raise InputError(
            f"model={name!r} made {_short(model)}, which is no model: a model has fit and predict."
        )
    return cast(Model, model)


def _is_model(thing: object) -> bool:
    return not isinstance(thing, type) and hasattr(thing, "fit") and hasattr(thing, "predict")


def _make_logistic(labels: Sequence[Any]) -> Model:
    if not _are_classes(labels):
        raise InputError(
            f"logistic tells classes apart, and the labels are numbers of {len(set(labels))} "
            f"values, such as {(_fractions(labels) or labels)[0]:g}. Use ridge, forest or boosting "
            f"to predict them, or write classes as text."
        )
    return _on_scaled_features(_sklearn("linear_model").LogisticRegression(max_iter=1000))


def _make_ridge(labels: Sequence[Any]) -> Model:
    text = next((label for label in labels if isinstance(label, str)), None)
    if text is not None:
        raise InputError(
            f"ridge predicts numbers, and there is a label {_short(text)}. To tell classes apart "
            f"use logistic, forest or boosting."
        )
    return _on_scaled_features(_sklearn("linear_model").Ridge())


def _make_forest(labels: Sequence[Any]) -> Model:
    kind = "Classifier" if _are_classes(labels) else "Regressor"
    return cast(Model, getattr(_sklearn("ensemble"), f"RandomForest{kind}")())


def _make_boosting(labels: Sequence[Any]) -> Model:
    kind = "Classifier" if _are_classes(labels) else "Regressor"
    make = getattr(_sklearn("ensemble"), f"HistGradientBoosting{kind}")
    # Its own default, 20 items a leaf, would not split the first 40 labels even once.
    return cast(Model, make(max_iter=50, min_samples_leaf=5))


_MODELS: dict[str, Callable[[Sequence[Any]], Model]] = {
    "logistic": _make_logistic,
    "ridge": _make_ridge,
    "forest": _make_forest,
    "boosting": _make_boosting,
}


def _are_classes(labels: Sequence[Any]) -> bool:
    """True for text, and for whole numbers of few values."""
    if any(isinstance(label, str) for label in labels):
        return True
    return not _fractions(labels) and len(set(labels)) <= MOST_CLASSES


def _fractions(labels: Sequence[Any]) -> list[float]:
    return [one for one in labels if isinstance(one, float) and not one.is_integer()]


def _on_scaled_features(model: Any) -> Model:  # noqa: ANN401
    """The model on features of mean 0 and variance 1, so that units of features do not matter."""
    scaler = _sklearn("preprocessing").StandardScaler()
    return cast(Model, _sklearn("pipeline").make_pipeline(scaler, model))


def _sklearn(part: str) -> Any:  # noqa: ANN401
    return optional(f"sklearn.{part}", extra="sklearn")


def _one_line(error: BaseException | str) -> str:
    return f"{error_line(error)[:300].rstrip('.:')}."


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
