"""What training needs of a model, and where the weights go."""

import copy
import inspect
import sys
from contextlib import suppress
from typing import Any, Literal, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled._check import FloatArray
from levelled.errors import InputError
from levelled.models.asking import asked
from levelled.models.rows import Rows, copied, n_rows

__all__ = [
    "Model",
    "aligned_proba",
    "check_model",
    "fit",
    "fresh",
    "kind_of",
    "last_step",
    "proba",
    "seeded",
    "takes_weights",
    "wants_columns",
]


class Model(Protocol):
    """Anything that can be fitted and asked; `predict_proba` and `classes_` make a classifier."""

    def fit(self, X: Any, y: Any) -> Any:  # noqa: ANN401
        """Learn from rows and their labels; most models take `sample_weight` as well."""

    def predict(self, X: Any) -> Any:  # noqa: ANN401
        """One answer a row."""


def fresh(model: Model) -> Model:
    """A copy that has learned nothing yet; `model` itself stays as it is.

    A model that knows its parameters is made anew with them, by scikit-learn's `clone` where that
    is about; another is copied deeply.
    """
    return asked(model, "be copied", lambda: _copied(model))


def _copied(model: Model) -> Model:
    if not hasattr(model, "get_params"):
        return copy.deepcopy(model)
    base = sys.modules.get("sklearn.base")  # an estimator of scikit-learn has imported it
    if base is not None:
        return cast(Model, base.clone(model))
    return type(model)(**copy.deepcopy(model.get_params(deep=False)))


def check_model(name: str, model: object) -> None:
    """Refuse what cannot be fitted or asked.

    Some models, such as stacks, show that they can `predict` only once they are fitted.
    """
    if isinstance(model, type):
        raise InputError(
            f"{name} must be an object, and {model.__name__} is a class: write {model.__name__}()."
        )
    lacking = [
        method
        for method in ("fit", "predict")
        if not (hasattr(model, method) or hasattr(type(model), method))
    ]
    if lacking:
        raise InputError(
            f"{name} must have fit and predict; {type(model).__name__} has no "
            f"{' and no '.join(lacking)}."
        )


def kind_of(model: Model) -> Literal["classifier", "regressor"] | None:
    """What a model is, where it can be told before there are labels."""
    base = sys.modules.get("sklearn.base")  # an estimator of scikit-learn has imported it
    if base is not None and isinstance(model, base.BaseEstimator):
        return "classifier" if base.is_classifier(model) else "regressor"
    return "classifier" if hasattr(model, "predict_proba") else None


def wants_columns(model: Any) -> bool:  # noqa: ANN401
    """Whether a model is known to take no inputs but rows of features: some of scikit-learn's."""
    while getattr(model, "steps", None):
        model = model.steps[0][1]
    if not type(model).__module__.startswith("sklearn.") or not hasattr(model, "__sklearn_tags__"):
        return False
    tags = model.__sklearn_tags__()
    return tags.input_tags.two_d_array and not (tags.no_validation or tags.input_tags.one_d_array)


def seeded(model: Model, seed: int) -> Model:
    """A copy that has learned nothing, whose randomness starts at `seed` where it was left open.

    Every parameter `random_state` that is None is set, also inside pipelines; the same labels
    then give the same model.
    """
    copied: Any = fresh(model)
    if not hasattr(copied, "get_params"):
        return cast(Model, copied)
    left_open = [
        name
        for name, value in copied.get_params().items()
        if value is None and name.rpartition("__")[2] == "random_state"
    ]
    return cast(Model, copied.set_params(**dict.fromkeys(left_open, seed)))


def takes_weights(model: Model) -> bool:
    """Whether `fit` has an argument for `sample_weight`, by its name or by taking any name.

    A model that takes any name hands it on, perhaps to one that knows of no weights: whether it
    can be fitted with them is only known once it was.
    """
    last = last_step(model)
    try:
        known = inspect.signature(last.fit).parameters
    except (TypeError, ValueError):  # written in C, without a signature
        return False
    open_ended = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in known.values())
    return "sample_weight" in known or open_ended


def fit(model: Model, X: Rows, y: ArrayLike, weights: FloatArray | None = None) -> Model:
    """Fit `model` in place, with a weight for each row if given, and return it.

    In a pipeline the weights go to its last step, also where the pipeline is being tuned. The
    model gets copies of everything, so that it may change what it is given. One that gives
    probabilities and does not name their classes is taken to have them sorted.
    """
    labels = np.array(y)
    model.fit(copied(X), labels.copy(), **_weights(model, weights))
    if hasattr(model, "predict_proba") and not hasattr(model, "classes_"):
        with suppress(AttributeError):  # which whoever asks for probabilities will be told
            _fitted_last_step(model).classes_ = np.unique(labels)
    return model


def _fitted_last_step(model: Any) -> Any:  # noqa: ANN401
    """Of pipelines and searches, which take their classes from it."""
    if hasattr(model, "best_estimator_"):
        return _fitted_last_step(model.best_estimator_)
    return _fitted_last_step(model.steps[-1][1]) if getattr(model, "steps", None) else model


def _weights(model: Model, weights: FloatArray | None) -> dict[str, FloatArray]:
    """The weights under the name that `fit` knows them by."""
    if weights is None:
        return {}
    if not takes_weights(model):
        raise InputError(
            f"{type(last_step(model)).__name__} takes no sample_weight, so its training cannot be "
            f'corrected. Choose a model that takes them, or train without: weights="none".'
        )
    return {_weight_name(model): np.array(weights)}


def proba(model: Model, X: Rows) -> FloatArray:
    """Probabilities [N, C] of the classes that a fitted model knows."""
    known: Any = model
    found = np.asarray(known.predict_proba(X), dtype=np.float64)
    if found.shape != (n_rows(X), len(known.classes_)):
        raise InputError(
            f"{type(model).__name__} gives probabilities of shape {found.shape} for {n_rows(X)} "
            f"rows and {len(known.classes_)} classes: its fit must set classes_, the class of "
            f"each column of predict_proba."
        )
    return found


def aligned_proba(model: Model, X: Rows, classes: NDArray[Any]) -> FloatArray:
    """Probabilities [N, C] of `classes`, in their order; 0 for those the model never saw.

    Of a model that was told of further classes, these are the probabilities given that the label
    is none of those.
    """
    found, seen = proba(model, X), np.asarray(model.classes_)  # type: ignore[attr-defined]
    if np.array_equal(seen, classes):
        return found
    known = np.isin(seen, classes)
    wanted = np.zeros((len(found), len(classes)))
    wanted[:, np.searchsorted(classes, seen[known])] = found[:, known]
    if known.all():
        return wanted
    mass = wanted.sum(axis=1, keepdims=True)
    return np.where(mass > 0, wanted / np.where(mass > 0, mass, 1), 1 / len(classes))


def last_step(model: Any) -> Any:  # noqa: ANN401
    """What learns at the end of pipelines and searches, as it was given; else the model itself."""
    return _path_to_last_step(model)[1]


def _weight_name(model: Any) -> str:  # noqa: ANN401
    """The name of the argument that reaches the last step, however deep the pipelines."""
    return f"{_path_to_last_step(model)[0]}sample_weight"


def _path_to_last_step(model: Any) -> tuple[str, Any]:  # noqa: ANN401
    if getattr(model, "steps", None):
        name, step = model.steps[-1]
        path, last = _path_to_last_step(step)
        return f"{name}__{path}", last
    if hasattr(model, "refit") and hasattr(model, "estimator"):  # a search hands arguments on
        return _path_to_last_step(model.estimator)
    return "", model
