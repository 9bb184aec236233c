"""Trajectories of active learning, with models trained each way on the same draws and tested."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.random import Generator
from numpy.typing import NDArray

from levelled import learning
from levelled._check import FloatArray
from levelled.estimators import lure_weights
from levelled.losses import brier, log_loss, squared, zero_one
from levelled.models import CAP, Predictions, PredictionTask, fit_copy
from levelled_studies import all_or_nothing
from levelled_studies.learning.data import Split, split
from levelled_studies.learning.models import model
from levelled_studies.learning.settings import Case, LearningSettings
from levelled_studies.regret import WAYS
from levelled_studies.study import Row
from levelled_studies.tables import compact

__all__ = ["make_task", "run"]

_KINDS = {"naive": "none", "PURE": "pure", "LURE": "lure", "share": "auto"}
"""The ways of training that a learner has, and its names for them."""


def run(settings: LearningSettings, task: str, rng: Generator) -> pa.Table:
    """Some trajectories of a case: a row for each checkpoint of each."""
    *words, first = task.split()
    numbers = range(int(first), min(int(first) + settings.at_once, settings.trajectories))
    rows = []
    for number, own in zip(numbers, rng.spawn(len(numbers)), strict=True):
        begin = {**Case(*words)._asdict(), "trajectory": number}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a network need not converge
            rows += [begin | row for row in _trajectory(settings, Case(*words), own)]
    return pa.Table.from_pylist(rows)


def _trajectory(settings: LearningSettings, case: Case, rng: Generator) -> list[Row]:
    """Draw by a model trained without weights, as in the paper, and test at the checkpoints."""
    data = split(case.data, settings.pool_size, settings.test_size, rng=rng)
    learner = _make_learner(settings, case, data, seed=int(rng.integers(2**31)))
    rows = []
    for labels in settings.checkpoints:
        while len(learner) < labels:
            index = learner.ask(settings.batch)
            learner.tell(index, data.y[index])
        rows.append({"labels": labels, **_test_models(data, learner, rng)})
        learner.set_params(weights="none")
    return rows


def _make_learner(
    settings: LearningSettings, case: Case, data: Split, *, seed: int
) -> learning.ActiveLearner:
    """A learner that draws by a model trained without weights."""
    return learning.ActiveLearner(
        model(case.model),
        data.X,
        score=case.score,
        weights="none",
        ensemble=10 if case.score == "variance" else None,
        floor=settings.floor,
        start=settings.start,
        seed=seed,
    )


def _test_models(data: Split, learner: learning.ActiveLearner, rng: Generator) -> Row:
    """The test risks of models trained each way on the same draws, from the same seed.

    `overfitting` is the test risk of the model trained without weights less its R_LURE on the
    labels it was trained on (section 7); `bias` is the active learning bias that the former
    verdict was based on.
    """
    y = data.y[learner.draws.index]
    task = make_task(data, y)
    row: Row = {"share": 0.0, "bias": None}
    if task.classes is not None and (y == y[0]).all():
        constant = fit_copy(learner.model, task, data.X[learner.draws.index], y, None)
        predictions = dict.fromkeys(WAYS, task.predictions(constant, data.X_test))
        on_labels = task.predictions(constant, data.X[learner.draws.index])
    else:
        predictions, on_labels, row = _train_each_way(data, learner, task, rng)
    risks = {
        f"{way} {measure}": float(compact(losses.mean())[0])
        for way in WAYS
        for measure, losses in _losses(task, data.y_test, predictions[way]).items()
    }
    risk = task.losses(data.y_test, predictions["naive"]).mean()
    own = np.mean(lure_weights(learner.draws) * task.losses(y, on_labels))
    return {**risks, "overfitting": float(compact(risk - own)[0]), **row}


def _train_each_way(
    data: Split, learner: learning.ActiveLearner, task: PredictionTask, rng: Generator
) -> tuple[dict[str, Predictions], Predictions, Row]:
    """Predictions of test items by way, those of the labels by plain training, and the share."""
    draws = learner.draws
    X, y = data.X[draws.index], data.y[draws.index]
    predictions = {}
    for way, kind in _KINDS.items():
        learner.set_params(weights=kind).fit()
        predictions[way] = task.predictions(learner.model_, data.X_test)
    corrected = learner.correction_
    assert corrected is not None
    own = corrected.plain
    permuted = rng.permutation(corrected.sample_weight)
    control: Any = learning.blend(own, X, y, draws, weights=permuted, seed=learner.seed)
    former = all_or_nothing.advise(own, X, y, draws, seed=learner.seed)
    predictions["shuffled"] = task.predictions(control, data.X_test)
    predictions["verdict"] = predictions["LURE" if former.advice == "correct" else "naive"]
    bias = former.active_learning_bias
    row = {
        "share": float(compact(np.asarray(corrected.share))[0]),
        "bias": None if bias is None else float(compact(np.asarray(bias))[0]),
    }
    return predictions, task.predictions(own, X), row


def make_task(data: Split, y: NDArray[Any]) -> PredictionTask:
    """All classes count, also those that no label has shown yet."""
    if data.n_classes is None:
        return PredictionTask(y, None, "squared")
    return PredictionTask(y, np.arange(data.n_classes), "brier")


def _losses(
    task: PredictionTask, y: NDArray[Any], predictions: Predictions
) -> dict[str, FloatArray]:
    """The losses of each item by all measures, that of the risk first."""
    if task.classes is None:
        return {"MSE": squared(y, predictions)}
    return {
        "Brier score": brier(y, predictions),
        "log loss": log_loss(y, predictions, cap=CAP),
        "error": zero_one(y, predictions.argmax(axis=1)),
    }
