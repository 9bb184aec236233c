"""Losses of each labelled item under a model that was trained without it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from levelled._check import FloatArray, IntArray
from levelled.models import Answers, Model, Rows, TrainingTask, fitted, take

__all__ = ["Crossed", "crossed", "folds_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Crossed:
    """Losses in the order of the draws, of models trained one way."""

    held_out: FloatArray
    """Under a model that has not seen the item."""
    training: FloatArray
    """Under the model of all items."""
    answers: Answers
    """What the models that have not seen the items said of them."""
    model: Model
    """The model of all items."""


def folds_of(problem: TrainingTask, folds: int, *, rng: Generator) -> IntArray:
    """The fold of each item, at random; every class is spread over the folds evenly.

    >>> folds_of(TrainingTask(np.arange(4.0), None, "squared"), 2, rng=np.random.default_rng(0))
    array([1, 0, 0, 1])
    """
    M = len(problem.labels)
    order = rng.permutation(M)
    if problem.classes is not None:
        order = order[np.argsort(problem.labels[order], kind="stable")]
    fold = np.empty(M, dtype=np.int64)
    fold[order] = np.arange(M) % folds
    return fold


def crossed(
    model: Model,
    problem: TrainingTask,
    X: Rows,
    fold: IntArray,
    weights: Mapping[str, FloatArray | None],
) -> dict[str, Crossed]:
    """Cross-fit the model once with each set of weights, on the same folds.

    The weights are those of the full draw; a training set of some folds takes its part of them.
    """
    return {name: _crossed(model, problem, X, fold, own) for name, own in weights.items()}


def _crossed(
    model: Model, problem: TrainingTask, X: Rows, fold: IntArray, weights: FloatArray | None
) -> Crossed:
    y = problem.labels
    places, parts = [], []
    for at in np.unique(fold):
        learn, ask = np.flatnonzero(fold != at), np.flatnonzero(fold == at)
        own = None if weights is None else weights[learn]
        partial = fitted(model, problem, take(X, learn), y[learn], own)
        places.append(ask)
        parts.append(problem.answers(partial, take(X, ask)))
    order = np.argsort(np.concatenate(places))
    answers: NDArray[Any] = np.concatenate(parts)[order]
    whole = fitted(model, problem, X, y, weights)
    return Crossed(
        held_out=problem.losses(y, answers),
        training=problem.losses(y, problem.answers(whole, X)),
        answers=answers,
        model=whole,
    )
