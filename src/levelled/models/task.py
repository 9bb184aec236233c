"""Classification and regression: the predictions of a model and the loss of each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled._check import FloatArray, choice, floats
from levelled.errors import InputError
from levelled.labels import class_names
from levelled.losses import absolute, brier, log_loss, squared, zero_one
from levelled.models.model import (
    Model,
    aligned_proba,
    call_function,
    call_model,
    check_model,
    error_line,
    fit,
    model_kind,
    seeded_copy,
    untrained_copy,
)
from levelled.models.rows import Rows, n_rows, read_only

Loss = Literal["auto", "brier", "log_loss", "zero_one", "squared", "absolute"]
LOSSES: tuple[str, ...] = get_args(Loss)
OwnLoss = Callable[[Any, Any], ArrayLike]
CAP = 10.0
"""The log loss of a class to which a model gives probability 0."""

Predictions = Any
"""Probabilities [N, C], labels or numbers: whatever the loss takes."""


@dataclass(frozen=True, slots=True, eq=False)
class PredictionTask:
    """Labels to be predicted, as classes or as numbers, and the loss of a prediction."""

    labels: NDArray[Any]
    classes: NDArray[Any] | None
    """The classes in their order, or None for a regression."""
    loss: str
    own: OwnLoss | None = None

    @property
    def by_probability(self) -> bool:
        """True if the loss is one of probabilities."""
        return self.loss in ("brier", "log_loss")

    def predictions(self, model: Model, X: Rows) -> Predictions:
        """The model's prediction for each row, in the form that the loss takes."""
        predictions = call_model(model, "predict", lambda: self._predict(model, read_only(X)), X)
        if predictions.shape[:1] != (n_rows(X),):
            raise InputError(
                f"{type(model).__name__} must give one prediction a row: for {n_rows(X)} rows it "
                f"gave predictions of shape {predictions.shape}."
            )
        return predictions

    def _predict(self, model: Model, X: Rows) -> NDArray[Any]:
        if self.by_probability and self.classes is not None:
            if isinstance(model, _Constant):
                return np.tile((self.classes == model.label).astype(float), (n_rows(X), 1))
            return aligned_proba(model, X, self.classes)
        return np.asarray(model.predict(X))

    def losses(self, labels: NDArray[Any], predictions: Predictions) -> FloatArray:
        """The loss of each prediction."""
        if self.own is not None:
            return _own_losses(self.own, labels, predictions)
        if self.by_probability:
            index = np.searchsorted(self.classes, labels)  # type: ignore[arg-type]
            if self.loss == "log_loss":
                return log_loss(index, predictions, cap=CAP)
            return brier(index, predictions)
        plain = {"zero_one": zero_one, "squared": squared, "absolute": absolute}
        return plain[self.loss](labels, predictions)


def _own_losses(own: OwnLoss, labels: NDArray[Any], predictions: Predictions) -> FloatArray:
    name = getattr(own, "__name__", type(own).__name__)
    values = call_function(own, f"judge {len(labels)} predictions", labels.copy(), predictions)
    losses = floats(f"The losses of {name}", values, ndim=1)
    if len(losses) != len(labels):
        raise InputError(
            f"The loss {name} must give one loss a prediction: it gave {len(losses)} for "
            f"{len(labels)}."
        )
    return losses


class _Constant:
    """A classifier that was fitted to labels of one class, and predicts that class."""

    def __init__(self, label: object) -> None:
        self.label = label

    def fit(self, X: Rows, y: ArrayLike) -> "_Constant":
        """Do nothing: the class is known."""
        return self

    def predict(self, X: Rows) -> NDArray[Any]:
        """The one label, for every row."""
        return np.full(n_rows(X), self.label)


def make_task(model: Model, y: ArrayLike, loss: Loss | OwnLoss) -> PredictionTask:
    """The task of predicting `y` with this model, with the loss that suits both.

    "auto" is the Brier score for classifiers that give probabilities, because it is bounded and
    a class that a fold never saw does not make it infinite; the error for other classifiers; the
    squared error for regressors.
    """
    check_model("model", model)
    kind = model_kind(model)
    classify = np.asarray(y).dtype.kind not in "iuf" if kind is None else kind == "classifier"
    labels = class_names("y", y) if classify else floats("y", y, ndim=1)
    classes = np.unique(labels) if classify else None
    if callable(loss):
        return PredictionTask(labels, classes, "own", loss)
    choice("loss", loss, LOSSES)
    usual = "squared"
    if classify:
        usual = "brier" if hasattr(model, "predict_proba") else "zero_one"
    name = usual if loss == "auto" else loss
    _check_loss(model, name, usual, classify)
    return PredictionTask(labels, classes, name)


def _check_loss(model: Model, loss: str, usual: str, classify: bool) -> None:
    if (loss in ("squared", "absolute")) == classify:
        kind = "classifier" if classify else "regressor"
        raise InputError(
            f'{type(model).__name__} is a {kind}, which {loss} is no loss of: take loss="{usual}".'
        )
    if loss in ("brier", "log_loss") and not hasattr(model, "predict_proba"):
        raise InputError(
            f"{loss} needs probabilities, and {type(model).__name__} gives none: take "
            f'loss="zero_one".'
        )


def fit_copy(
    model: Model,
    task: PredictionTask,
    X: Rows,
    y: NDArray[Any],
    weights: FloatArray | None,
    *,
    seed: int | None = None,
) -> Model:
    """An untrained copy of the model, fitted to these rows; its errors become an `InputError`.

    With a seed, it is a `seeded_copy`.
    """
    if task.classes is not None and (y == y[0]).all():
        return _Constant(y[0])
    how = "without weights" if weights is None else "with corrective weights"
    what = f"be fitted {how} to {len(y)} labels"
    untrained = untrained_copy(model) if seed is None else seeded_copy(model, seed)
    return call_model(model, what, lambda: fit(untrained, X, y, weights), X)


def weights_error(model: Model, task: PredictionTask, X: Rows) -> str:
    """The error of a model when it is fitted with weights that are all one; "" if it has none."""
    try:
        fit(untrained_copy(model), X, task.labels, np.ones(len(task.labels)))
    except (Exception, SystemExit) as error:  # noqa: BLE001  # whatever a model cannot do
        return error_line(error)
    return ""
