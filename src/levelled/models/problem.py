"""A model's answers and what they cost: the loss of each item that it was not shown."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled._check import FloatArray, choice, floats
from levelled.errors import InputError
from levelled.labels import class_names
from levelled.losses import absolute, brier, log_loss, squared, zero_one
from levelled.models.asking import asked, called, complaint
from levelled.models.model import Model, aligned_proba, check_model, fit, fresh, kind_of
from levelled.models.rows import Rows, n_rows, protected

__all__ = [
    "CAP",
    "LOSSES",
    "Answers",
    "Loss",
    "OwnLoss",
    "TrainingTask",
    "complaint_of_weights",
    "fitted",
    "posed",
]

Loss = Literal["auto", "brier", "log_loss", "zero_one", "squared", "absolute"]
OwnLoss = Callable[[Any, Any], ArrayLike]
LOSSES = ("auto", "brier", "log_loss", "zero_one", "squared", "absolute")
CAP = 10.0
"""The log loss of a class that a model holds for impossible."""

Answers = Any
"""Probabilities [N, C], labels or numbers: whatever the loss takes."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingTask:
    """What is to be learned: labels, whether they are classes, and what a wrong answer costs."""

    labels: NDArray[Any]
    classes: NDArray[Any] | None
    """The classes in their order, or None for a regression."""
    loss: str
    own: OwnLoss | None = None

    @property
    def by_probability(self) -> bool:
        """Whether the loss is one of probabilities."""
        return self.loss in ("brier", "log_loss")

    def answers(self, model: Model, X: Rows) -> Answers:
        """What the model says of each row, in the form that the loss takes."""
        told = asked(model, "answer", lambda: self._answers(model, protected(X)), X)
        if told.shape[:1] != (n_rows(X),):
            raise InputError(
                f"{type(model).__name__} must give one answer a row: for {n_rows(X)} rows it gave "
                f"answers of shape {told.shape}."
            )
        return told

    def _answers(self, model: Model, X: Rows) -> NDArray[Any]:
        if self.by_probability and self.classes is not None:
            if isinstance(model, _Always):
                return np.tile((self.classes == model.label).astype(float), (n_rows(X), 1))
            return aligned_proba(model, X, self.classes)
        return np.asarray(model.predict(X))

    def losses(self, labels: NDArray[Any], answers: Answers) -> FloatArray:
        """What each answer costs."""
        if self.own is not None:
            return _own_losses(self.own, labels, answers)
        if self.by_probability:
            index = np.searchsorted(self.classes, labels)  # type: ignore[arg-type]
            if self.loss == "log_loss":
                return log_loss(index, answers, cap=CAP)
            return brier(index, answers)
        plain = {"zero_one": zero_one, "squared": squared, "absolute": absolute}
        return plain[self.loss](labels, answers)


def _own_losses(own: OwnLoss, labels: NDArray[Any], answers: Answers) -> FloatArray:
    name = getattr(own, "__name__", type(own).__name__)
    told = called(own, f"judge {len(labels)} answers", labels.copy(), answers)
    losses = floats(f"The losses of {name}", told, ndim=1)
    if len(losses) != len(labels):
        raise InputError(
            f"The loss {name} must give one loss an answer: it gave {len(losses)} for "
            f"{len(labels)}."
        )
    return losses


class _Always:
    """What can be learned from one class alone: to answer with it."""

    def __init__(self, label: object) -> None:
        self.label = label

    def fit(self, X: Rows, y: ArrayLike) -> "_Always":
        """There is nothing to learn."""
        return self

    def predict(self, X: Rows) -> NDArray[Any]:
        """The one label, for every row."""
        return np.full(n_rows(X), self.label)


def posed(model: Model, y: ArrayLike, loss: Loss | OwnLoss) -> TrainingTask:
    """The problem that a model and its labels pose, with the loss that suits them.

    "auto" is the Brier score for classifiers that give probabilities, because it is bounded and
    a class that a fold never saw does not make it infinite; the error for other classifiers; the
    squared error for regressors.
    """
    check_model("model", model)
    classify = _is_classifier(model, y)
    labels = class_names("y", y) if classify else floats("y", y, ndim=1)
    classes = np.unique(labels) if classify else None
    if callable(loss):
        return TrainingTask(labels, classes, "own", loss)
    choice("loss", loss, LOSSES)
    if loss == "auto":
        loss = _usual(model) if classify else "squared"
    _check_loss(model, loss, classify)
    return TrainingTask(labels, classes, loss)


def fitted(
    model: Model, problem: TrainingTask, X: Rows, y: NDArray[Any], w: FloatArray | None
) -> Model:
    """A fresh copy of the model, fitted to these rows; what goes wrong in it is told in a line."""
    if problem.classes is not None and (y == y[0]).all():
        return _Always(y[0])
    how = "without weights" if w is None else "with corrective weights"
    what = f"be fitted {how} to {len(y)} labels"
    return asked(model, what, lambda: fit(fresh(model), X, y, w), X)


def complaint_of_weights(model: Model, problem: TrainingTask, X: Rows) -> str:
    """What a model says when it is to be fitted with weights, all of them one; "" if it can be."""
    try:
        fit(fresh(model), X, problem.labels, np.ones(len(problem.labels)))
    except Exception as wrong:  # noqa: BLE001  # whatever a model cannot do
        return complaint(wrong)
    return ""


def _is_classifier(model: Model, y: ArrayLike) -> bool:
    kind = kind_of(model)
    return np.asarray(y).dtype.kind not in "iuf" if kind is None else kind == "classifier"


def _usual(model: Model) -> Loss:
    return "brier" if hasattr(model, "predict_proba") else "zero_one"


def _check_loss(model: Model, loss: str, classify: bool) -> None:
    if (loss in ("squared", "absolute")) == classify:
        kind = "classifier" if classify else "regressor"
        right = _usual(model) if classify else "squared"
        raise InputError(
            f'{type(model).__name__} is a {kind}, which {loss} is no loss of: take loss="{right}".'
        )
    if loss in ("brier", "log_loss") and not hasattr(model, "predict_proba"):
        raise InputError(
            f"{loss} needs probabilities, and {type(model).__name__} gives none: take "
            f'loss="zero_one".'
        )
