"""Trajectories of active learning, with models trained each way on the same draws and tested."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.random import Generator
from numpy.typing import NDArray

from levelled._check import FloatArray
from levelled.draws import Draws
from levelled.estimators import lure_weights
from levelled.learning import ActiveLearner
from levelled.losses import brier, log_loss, squared, zero_one
from levelled.models import CAP, Model, PredictionTask, fit_copy, seeded_copy
from levelled_studies.all_or_nothing import Decision, advise
from levelled_studies.learning.data import Split, split
from levelled_studies.learning.models import model
from levelled_studies.learning.settings import Case, LearningSettings
from levelled_studies.objectives import WEIGHTS
from levelled_studies.study import Row
from levelled_studies.tables import compact

__all__ = ["run"]


def run(settings: LearningSettings, task: str, rng: Generator) -> pa.Table:
    """Some trajectories of a case: a row for each checkpoint of each."""
    *words, first = task.split()
    numbers = range(int(first), min(int(first) + settings.at_once, settings.trajectories))
    rows = []
    for number, own in zip(numbers, rng.spawn(len(numbers)), strict=True):
        begin = {**Case(*words)._asdict(), "trajectory": number}
        rows += [begin | row for row in _trajectory(settings, Case(*words), own)]
    return pa.Table.from_pylist(rows)


def _trajectory(settings: LearningSettings, case: Case, rng: Generator) -> list[Row]:
    """Draw by a model trained without weights, as in the paper, and test at the checkpoints."""
    data = split(case.data, settings.pool_size, settings.test_size, rng=rng)
    seed = int(rng.integers(2**31))
    learner = ActiveLearner(
        model(case.model),
        data.X,
        score=case.score,
        weights="none",
        ensemble=10 if case.score == "variance" else None,
        start=settings.start,
        seed=seed,
    )
    rows = []
    for labels in settings.checkpoints:
        while len(learner) < labels:
            index = learner.ask(settings.batch)
            learner.tell(index, data.y[index])
        row = {"labels": labels, **_test_models(data, learner.draws, case, seed)}
        wanted = labels in settings.advice
        rows.append(
            row
            | (_ask_advice(data, learner.draws, case, settings.folds, seed) if wanted else _UNASKED)
        )
    return rows


def _test_models(data: Split, draws: Draws, case: Case, seed: int) -> Row:
    """The test risks of models trained each way on the same draws, from the same seed.

    `overfitting` is the test risk of the model trained without weights less its R_LURE on the
    labels it was trained on (section 7).
    """
    X, y = data.X[draws.index], data.y[draws.index]
    task = _task(data, y)
    row: Row = {}
    for name, weights in WEIGHTS.items():
        own = None if weights is None else weights(draws)
        trained = fit_copy(seeded_copy(model(case.model), seed), task, X, y, own)
        tested = _losses(task, trained, data.X_test, data.y_test)
        risks = compact(np.array([loss.mean() for loss in tested.values()]))
        row |= {f"{name} {each}": float(r) for each, r in zip(tested, risks, strict=True)}
        if name == "naive":
            on_train = next(iter(_losses(task, trained, X, y).values()))
            risk = next(iter(tested.values())).mean()
            row["overfitting"] = float(compact(risk - np.mean(lure_weights(draws) * on_train))[0])
    return row


def _ask_advice(data: Split, draws: Draws, case: Case, folds: int, seed: int) -> Row:
    """The verdict of `advise` from the drawn labels alone."""
    X, y = data.X[draws.index], data.y[draws.index]
    verdict: Decision = advise(model(case.model), X, y, draws, folds=folds, seed=seed)
    bias = verdict.active_learning_bias
    return {
        "advice": verdict.advice,
        "bias": None if bias is None else float(compact(np.asarray(bias))[0]),
    }


_UNASKED: Row = {"advice": None, "bias": None}


def _task(data: Split, y: NDArray[Any]) -> PredictionTask:
    """All classes count, also those that no label has shown yet."""
    if data.n_classes is None:
        return PredictionTask(y, None, "squared")
    return PredictionTask(y, np.arange(data.n_classes), "brier")


def _losses(task: PredictionTask, trained: Model, X: FloatArray, y: NDArray[Any]) -> dict[str, Any]:
    """The losses of each item by all measures, that of the risk first."""
    predictions = task.predictions(trained, X)
    if task.classes is None:
        return {"MSE": squared(y, predictions)}
    return {
        "Brier score": brier(y, predictions),
        "log loss": log_loss(y, predictions, cap=CAP),
        "error": zero_one(y, predictions.argmax(axis=1)),
    }
