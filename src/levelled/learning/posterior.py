"""Samples of a model's posterior: committees, bootstraps, the trees of a forest, Bayesian networks.

samples   [N, K, C]    items, posterior samples, classes
          [N, K]       for numbers
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from levelled._check import FloatArray, IntArray
from levelled.errors import InputError
from levelled.models import (
    Model,
    PredictionTask,
    Rows,
    aligned_proba,
    fit_copy,
    last_step,
    model_kind,
    seeded_copy,
    take,
)

__all__ = [
    "Ensemble",
    "check_proba",
    "check_samples",
    "n_samples",
    "sampler",
    "trained_copy",
]

_SAMPLES = 20
"""Samples of a model that can make any number of them."""

Ensemble = int | Sequence[Model] | None
Sampler = Callable[[Rows], FloatArray]
"""Rows -> samples of their predictions."""


def sampler(
    model: Model, ensemble: Ensemble, task: PredictionTask, X: Rows, *, rng: Generator
) -> Sampler:
    """Train on the labelled rows, and return a function that samples predictions of other rows.

    A list of models is a committee, each trained on all labels. A model with `sample_proba(X, K)`
    samples by itself. A number is that many copies of the model, each trained on labels drawn
    with replacement. Without any of these the trees of a forest are samples.
    """
    y = task.labels
    if not isinstance(ensemble, int | None):
        return _of_members([trained_copy(one, task, X, y, rng=rng) for one in ensemble], task)
    if hasattr(model, "sample_proba"):
        return _of_network(trained_copy(model, task, X, y, rng=rng), ensemble or _SAMPLES)
    if ensemble is not None:
        chosen = [_resample(task, rng) for _ in range(ensemble)]
        members = [trained_copy(model, task, take(X, at), y[at], rng=rng) for at in chosen]
        return _of_members(members, task)
    return _of_forest(trained_copy(model, task, X, y, rng=rng), task)


def check_samples(model: Model, ensemble: Ensemble) -> None:
    """Refuse a model without samples of its posterior."""
    last = last_step(model)
    if ensemble is None and not hasattr(model, "sample_proba") and not _is_forest(last):
        raise InputError(
            f"This score needs samples of the model's posterior, and {type(last).__name__} has "
            f"none. Give ensemble=10 for ten bootstrap copies of it, or ensemble=[...] for a "
            f"committee."
        )


def n_samples(model: Model, ensemble: Ensemble) -> int:
    """The number of samples of each prediction."""
    if ensemble is None:
        return _SAMPLES if hasattr(model, "sample_proba") else 100  # trees, as a rule
    return ensemble if isinstance(ensemble, int) else len(ensemble)


def check_proba(model: Model) -> None:
    """Refuse a model that gives no probabilities."""
    if not hasattr(model, "predict_proba"):
        name = type(model).__name__
        instead = 'score="variance" with an ensemble of regressors'
        if model_kind(model) == "classifier":
            instead = f"scikit-learn's CalibratedClassifierCV({name}()) as the model"
        raise InputError(
            f"{name} gives no probabilities (predict_proba), which this score needs. Use "
            f'{instead}, score="geometric" on numeric features, or a function of your own.'
        )


def trained_copy(
    model: Model, task: PredictionTask, X: Rows, y: NDArray[Any], *, rng: Generator
) -> Model:
    """A copy of the model, trained without weights."""
    return fit_copy(seeded_copy(model, int(rng.integers(2**31))), task, X, y, None)


def _resample(task: PredictionTask, rng: Generator) -> IntArray:
    """Places of labels drawn with replacement; two classes remain if there are classes."""
    n = len(task.labels)
    while True:
        at = rng.integers(n, size=n)
        if task.classes is None or len(np.unique(task.labels[at])) > 1:
            return at


def _of_members(members: Sequence[Model], task: PredictionTask) -> Sampler:
    def sample(X: Rows) -> FloatArray:
        if task.classes is None:
            return np.stack([np.asarray(one.predict(X), np.float64) for one in members], axis=1)
        for one in members:
            check_proba(one)
        # Members that were trained on other labels may know other classes.
        return np.stack([aligned_proba(one, X, task.classes) for one in members], axis=1)

    return sample


def _of_network(network: Any, n_samples: int) -> Sampler:  # noqa: ANN401
    def sample(X: Rows) -> FloatArray:
        proba = network.sample_proba(X, n_samples)
        return np.asarray(proba.detach().cpu().numpy() if hasattr(proba, "detach") else proba)

    return sample


def _of_forest(model: Any, task: PredictionTask) -> Sampler:  # noqa: ANN401
    """The trees of a forest, which may be the last step of a pipeline."""

    def sample(X: Rows) -> FloatArray:
        forest, inputs = _at_last_step(model, X)
        # Trees are fitted on plain arrays, and would warn about names of columns.
        inputs = inputs if hasattr(inputs, "tocsr") else np.asarray(inputs, dtype=np.float32)
        method = "predict" if task.classes is None else "predict_proba"
        return np.stack([getattr(tree, method)(inputs) for tree in forest.estimators_], axis=1)

    return sample


def _at_last_step(model: Any, X: Rows) -> tuple[Any, Rows]:  # noqa: ANN401
    """The last step of a trained model, however deep, and the rows as they reach it."""
    if hasattr(model, "best_estimator_"):  # of a search, that which it chose
        return _at_last_step(model.best_estimator_, X)
    if getattr(model, "steps", None):
        inputs = model[:-1].transform(X) if len(model.steps) > 1 else X
        return _at_last_step(model.steps[-1][1], inputs)
    return model, X


def _is_forest(model: object) -> bool:
    ensemble = sys.modules.get("sklearn.ensemble")  # a forest of scikit-learn has imported it
    return ensemble is not None and isinstance(
        model,
        ensemble.RandomForestClassifier
        | ensemble.RandomForestRegressor
        | ensemble.ExtraTreesClassifier
        | ensemble.ExtraTreesRegressor,
    )
