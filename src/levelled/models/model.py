"""What training needs of a model, and where the weights go."""

import copy
import inspect
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled._check import FloatArray
from levelled.errors import InputError
from levelled.models.rows import Rows

__all__ = [
    "Model",
    "aligned_proba",
    "fit",
    "fresh",
    "gives_proba",
    "seeded",
    "takes_weights",
]


class Model(Protocol):
    """Anything that can be fitted and asked; `predict_proba` and `classes_` make a classifier."""

    def fit(self, X: Any, y: Any) -> Any:  # noqa: ANN401
        """Learn from rows and their labels; most models take `sample_weight` as well."""

    def predict(self, X: Any) -> Any:  # noqa: ANN401
        """One answer a row."""


def fresh(model: Model) -> Model:
    """A copy that has learned nothing yet; `model` itself stays as it is.

    scikit-learn's `clone` where the model knows its parameters, else a deep copy.
    """
    if hasattr(model, "get_params"):
        from sklearn.base import clone

        return cast(Model, clone(model))
    return copy.deepcopy(model)


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
    last = _last_step(model)
    try:
        known = inspect.signature(last.fit).parameters
    except (TypeError, ValueError):  # written in C, without a signature
        return False
    open_ended = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in known.values())
    return "sample_weight" in known or open_ended


def fit(model: Model, X: Rows, y: ArrayLike, weights: FloatArray | None = None) -> Model:
    """Fit `model` in place, with a weight for each row if given, and return it.

    In a pipeline the weights go to its last step, also where the pipeline is being tuned.
    """
    if weights is None:
        model.fit(X, y)
        return model
    if not takes_weights(model):
        raise InputError(
            f"{type(_last_step(model)).__name__} takes no sample_weight, so its training cannot be "
            f'corrected. Choose a model that takes them, or train without: weights="none".'
        )
    model.fit(X, y, **{_weight_name(model): weights})
    return model


def gives_proba(model: Model) -> bool:
    """Whether a fitted model can say how likely each class is."""
    return hasattr(model, "predict_proba") and hasattr(model, "classes_")


def aligned_proba(model: Model, X: Rows, classes: NDArray[Any]) -> FloatArray:
    """Probabilities [N, C] of `classes`, in their order; 0 for those the model never saw.

    Of a model that was told of further classes, these are the probabilities given that the label
    is none of those.
    """
    found = np.asarray(model.predict_proba(X), dtype=np.float64)  # type: ignore[attr-defined]
    seen = np.asarray(model.classes_)  # type: ignore[attr-defined]
    if np.array_equal(seen, classes):
        return found
    known = np.isin(seen, classes)
    proba = np.zeros((len(found), len(classes)))
    proba[:, np.searchsorted(classes, seen[known])] = found[:, known]
    if known.all():
        return proba
    mass = proba.sum(axis=1, keepdims=True)
    return np.where(mass > 0, proba / np.where(mass > 0, mass, 1), 1 / len(classes))


def _last_step(model: Any) -> Any:  # noqa: ANN401
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
