"""Scores by name: the interest of each item of the pool to a model trained on the labels."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from levelled import scores
from levelled._check import FloatArray, IntArray, choice, floats
from levelled.errors import InputError
from levelled.learning.posterior import (
    Ensemble,
    check_proba,
    check_samples,
    n_samples,
    sampler,
    trained_copy,
)
from levelled.models import (
    Model,
    PredictionTask,
    Rows,
    call_function,
    call_model,
    model_kind,
    n_rows,
    proba,
    read_only,
    take,
)

__all__ = [
    "SCORES",
    "Score",
    "blocks",
    "check_distances",
    "check_score",
    "chosen_score",
    "geometric_scores",
    "pool_scores",
]

Score = Callable[[Model, Rows], ArrayLike]
"""A trained model and rows -> a score for each row."""

_OF_PROBA = {
    "entropy": scores.entropy,
    "margin": scores.margin,
    "least_confidence": scores.least_confidence,
}
_OF_SAMPLES: dict[str, Callable[[ArrayLike], FloatArray]] = {
    "bald": scores.bald,
    "variation_ratio": scores.variation_ratio,
    "variance": lambda samples: np.var(np.asarray(samples, np.float64), axis=1),
}
SCORES = (*_OF_PROBA, *_OF_SAMPLES, "geometric", "uniform")
_BLOCK = 2**20
"""Numbers held in memory at once, so that memory does not grow with the pool."""


def chosen_score(score: str | Score, model: Model) -> str | Score:
    """The score that "auto" stands for: "entropy" for classifiers, "geometric" for others."""
    if score != "auto":
        return score
    return "entropy" if model_kind(model) == "classifier" else "geometric"


def check_score(score: str | Score, model: Model, ensemble: Ensemble) -> None:
    """Refuse what is neither a function nor the name of a score that the model can have."""
    if callable(score):
        return
    choice("score", score, ("auto", *SCORES))
    score = chosen_score(score, model)
    if score in _OF_PROBA and hasattr(model, "predict"):  # without it, fit adds both
        check_proba(model)
    if score in _OF_SAMPLES:
        _check_kind(score, model)
        check_samples(model, ensemble)


def check_distances(X_pool: Rows) -> None:
    """Refuse a pool whose rows have no distances, which score="geometric" needs."""
    if hasattr(X_pool, "tocsr") or (isinstance(X_pool, list) and isinstance(X_pool[0], str)):
        raise InputError(
            f'score="geometric" measures distances between rows of numbers, and X_pool is a '
            f"{type(X_pool).__name__}. Make it a dense array, or use another score, such as "
            f'"variance" with ensemble=10 for a regressor.'
        )
    floats("X_pool", np.asarray(take(X_pool, np.array([0]))), finite=False)


def pool_scores(
    score: str | Score,
    model: Model,
    ensemble: Ensemble,
    task: PredictionTask,
    X_pool: Rows,
    labelled: IntArray,
    *,
    rng: Generator,
) -> FloatArray:
    """A score for each row of the pool, of the model trained on the rows that are labelled.

    The model that scores is trained without weights: estimates are unbiased whatever the scores,
    since each draw records its probability. Labelled rows get a score too, which costs less than
    copying the others out of the pool.
    """
    X = take(X_pool, labelled)
    n_out = 1 if task.classes is None else len(task.classes)
    if callable(score):
        trained = trained_copy(model, task, X, task.labels, rng=rng)
        return _check_scores(
            call_function(score, "score the pool", trained, read_only(X_pool)), n_rows(X_pool)
        )
    if score in _OF_PROBA:
        trained, of = trained_copy(model, task, X, task.labels, rng=rng), _OF_PROBA[score]
        return _in_blocks(model, X_pool, n_out, lambda rows: of(proba(trained, rows)))
    if (score == "variance") != (task.classes is None):
        right, kind = ("bald", "classes") if score == "variance" else ("variance", "numbers")
        raise InputError(f"score={score!r} does not fit labels that are {kind}: use {right!r}.")
    sample, of_samples = sampler(model, ensemble, task, X, rng=rng), _OF_SAMPLES[score]
    n_out *= n_samples(model, ensemble)
    return _in_blocks(model, X_pool, n_out, lambda rows: of_samples(sample(rows)))


def geometric_scores(X_pool: Rows, drawn: IntArray) -> FloatArray:
    """Summed squared distance of each row of the pool to the rows drawn; features are numbers."""
    near = np.asarray(take(X_pool, drawn))
    parts = [scores.geometric(np.asarray(rows), near) for rows in blocks(X_pool, near[:1].size)]
    return np.concatenate(parts)


def blocks(X: Rows, n_out: int) -> Iterator[Rows]:
    """The rows in order, some at a time, without copies where the container allows it.

    `n_out` is the size of the result for each row; a block has about a million numbers. Changes
    to a block do not change X.
    """
    size = min(max(_BLOCK // max(n_out, 1), 256), 2**16)
    sparse = hasattr(X, "tocsr")
    X = X.tocsr() if sparse else X  # some sparse formats have no rows
    for start in range(0, n_rows(X), size):
        rows = slice(start, start + size)
        part = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
        yield part if sparse else read_only(part)  # rows of a sparse matrix are a copy


def _check_kind(score: str | Score, model: Model) -> None:
    wrong, right = ("classifier", "bald") if score == "variance" else ("regressor", "variance")
    if model_kind(model) == wrong:
        raise InputError(
            f"score={score!r} does not fit {type(model).__name__}, which is a {wrong}: use "
            f"{right!r}."
        )


def _in_blocks(model: Model, X: Rows, n_out: int, job: Callable[[Rows], FloatArray]) -> FloatArray:
    def all_rows() -> FloatArray:
        return np.concatenate([job(rows) for rows in blocks(X, n_out)])

    return _check_scores(call_model(model, "score the pool", all_rows, X), n_rows(X))


def _check_scores(values: ArrayLike, n: int) -> FloatArray:
    score = floats("scores", values, ndim=1)
    if len(score) != n:
        raise InputError(
            f"The score gave {len(score)} numbers for the {n} rows of the pool: it is called with "
            f"the model and X_pool, and must return one number a row, in their order."
        )
    return score
