"""Models with `fit` and `predict`: copies of them, calls to them, and where the weights go."""

import copy
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled._check import FloatArray, IntArray, choice, floats
from levelled.errors import InputError, LevelledError
from levelled.labels import class_names
from levelled.losses import absolute, brier, log_loss, squared, zero_one

Rows = Any
"""Inputs, one row an item: an array, a sparse matrix, a data frame, or a list of texts."""


def n_rows(X: Rows, name: str = "X") -> int:
    """The number of items; refuses what has no rows."""
    shape = getattr(X, "shape", None)
    sparse = hasattr(X, "tocsr")  # some sparse formats are mappings
    no_rows = isinstance(X, str | bytes | Mapping) and not sparse
    if no_rows or not (shape or hasattr(X, "__len__")) or shape == ():
        raise InputError(
            f"{name} must hold one row an item: an array, a frame or a list of texts; this is "
            f"{f'the {type(X).__name__} {X!r}' if np.isscalar(X) else f'a {type(X).__name__}'}."
        )
    if np.ma.is_masked(X):
        raise InputError(f"{name} has masked values: leave those items out, or fill them in.")
    return int(shape[0]) if shape else len(X)


def take(X: Rows, index: IntArray) -> Rows:
    """The rows at these places, in the same kind of container."""
    if hasattr(X, "iloc"):  # pandas: positions, whatever its index says
        return X.iloc[index]
    if hasattr(X, "tocsr") and not hasattr(X, "__array__"):  # some sparse formats take no rows
        return X.tocsr()[index]
    if isinstance(X, Sequence):
        return [X[at] for at in index]
    try:
        return X[index]
    except TypeError as wrong:
        raise InputError(
            f"Rows cannot be taken from a {type(X).__name__}: make it an array, a frame (a table "
            f"of Arrow has to_pandas()) or a list of texts."
        ) from wrong


def copy_rows(X: Rows) -> Rows:
    """The same rows in memory of their own."""
    if isinstance(X, np.ndarray):
        return X.copy(order="K")
    for method in ("copy", "clone"):
        if hasattr(X, method):
            return getattr(X, method)()
    return X


def read_only(X: Rows) -> Rows:
    """The same rows, so that a model that changes its inputs cannot change X.

    Arrays become views that cannot be written to, which costs nothing; others are copied.
    """
    if not isinstance(X, np.ndarray):
        return copy_rows(X)
    view = X.view()
    view.flags.writeable = False
    return view


def find_not_finite(X: Rows) -> str:
    """A sentence about the first column that has NaN or infinity; "" if all numbers are finite.

    >>> find_not_finite(np.array([[1.0, np.nan], [2.0, 3.0]]))
    'Column 1 is NaN or infinite in 1 of 2 rows: fill it in, for example with SimpleImputer.'
    """
    try:
        bad = ~np.isfinite(np.asarray(X, dtype=np.float64))
    except (TypeError, ValueError):  # no numbers
        return ""
    if bad.ndim != 2 or not bad.any():
        return ""
    at = int(bad.any(axis=0).argmax())
    column = X.columns[at] if hasattr(X, "columns") else at
    return (
        f"Column {column} is NaN or infinite in {bad[:, at].sum()} of {len(bad)} rows: fill it in, "
        f"for example with SimpleImputer."
    )


Loss = Literal["auto", "brier", "log_loss", "zero_one", "squared", "absolute"]
LOSSES: tuple[str, ...] = get_args(Loss)
OwnLoss = Callable[[Any, Any], ArrayLike]
CAP = 10.0
"""The log loss of a class to which a model gives probability 0: that of a chance of 1 in 22,000."""

Predictions = Any
"""Probabilities [N, C], labels or numbers: whatever the loss takes."""


class Model(Protocol):
    """A model with `fit` and `predict`; `predict_proba` and `classes_` make it a classifier."""

    def fit(self, X: Any, y: Any) -> Any:  # noqa: ANN401
        """Learn from rows and their labels; most models take `sample_weight` as well."""

    def predict(self, X: Any) -> Any:  # noqa: ANN401
        """One prediction a row."""


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
            name, n = getattr(self.own, "__name__", type(self.own).__name__), len(labels)
            what = f"judge {n} predictions"
            values = call_function(self.own, what, labels.copy(), predictions)
            losses = floats(f"The losses of {name}", values, ndim=1)
            if len(losses) != n:
                raise InputError(
                    f"The loss {name} must give one loss a prediction: it gave {len(losses)} for "
                    f"{n}."
                )
            return losses
        if self.by_probability:
            index = np.searchsorted(self.classes, labels)  # type: ignore[arg-type]
            if self.loss == "log_loss":
                return log_loss(index, predictions, cap=CAP)
            return brier(index, predictions)
        plain = {"zero_one": zero_one, "squared": squared, "absolute": absolute}
        return plain[self.loss](labels, predictions)


@dataclass(frozen=True, slots=True)
class _Constant:
    """A classifier that was fitted to labels of one class, and predicts that class."""

    label: object

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
    if (name in ("squared", "absolute")) == classify:
        raise InputError(
            f"{type(model).__name__} is a {'classifier' if classify else 'regressor'}, which "
            f'{name} is no loss of: take loss="{usual}".'
        )
    if name in ("brier", "log_loss") and usual == "zero_one":
        raise InputError(
            f"{name} needs probabilities, and {type(model).__name__} gives none: take "
            f'loss="{usual}".'
        )
    return PredictionTask(labels, classes, name)


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


T = TypeVar("T")
_LONGEST = 300


def call_model(model: object, what: str, call: Callable[[], T], X: Rows = None) -> T:
    """The result of `call`; errors that the model raises in it become an `InputError`.

    The message of an error about NaN or infinity also says where that is in X, and that of an
    error about writing says what to do.
    """
    try:
        return call()
    except LevelledError:
        raise
    except (Exception, SystemExit) as error:  # a model that ends the program has failed
        line = error_line(error)
        more = find_not_finite(X) if re.search(r"\bNaN\b|\binfinit", line) else ""
        if "read-only" in line:
            more = "(Its rows are read-only: let it copy X before it changes them.)"
        raise InputError(
            f"{type(model).__name__} could not {what}: {line} {more}".strip()
        ) from error


def call_function(function: Callable[..., T], what: str, *arguments: Any) -> T:  # noqa: ANN401
    """The result of a user's function; whatever it raises becomes an `InputError`.

    >>> call_function(lambda scores: scores / 0, "propose", 3)
    Traceback (most recent call last):
    levelled.errors.InputError: <lambda> could not propose: division by zero
    """
    try:
        return function(*arguments)
    except (Exception, SystemExit) as error:  # a model that ends the program has failed
        name = getattr(function, "__name__", type(function).__name__)
        raise InputError(f"{name} could not {what}: {error_line(error)}") from error


def error_line(error: BaseException | str) -> str:
    """The first line of an error or a warning, or the name of its class if it has no message.

    A first line that ends in a colon is followed by the others, shortened.

    >>> error_line(ValueError("too cold" + chr(10) + "by far")), error_line(KeyError("beta"))
    ('too cold', "KeyError: 'beta'")
    """
    kind, message = type(error).__name__, str(error).strip()
    line = message.partition("\n")[0].rstrip()
    if line.endswith(":"):
        line = textwrap.shorten(message, _LONGEST, placeholder=" ...")
    if isinstance(error, KeyError | SystemExit):  # its message is the key or the code alone
        return f"{kind}: {line}"
    return line or kind


def untrained_copy(model: Model) -> Model:
    """A copy that has learned nothing yet; `model` itself stays as it is.

    A model with `get_params` is made anew with its parameters, by scikit-learn's `clone` if that
    is imported; another is copied deeply.
    """

    def make_copy() -> Model:
        if not hasattr(model, "get_params"):
            return copy.deepcopy(model)
        base = sys.modules.get("sklearn.base")  # an estimator of scikit-learn has imported it
        if base is not None:
            return cast(Model, base.clone(model))
        return type(model)(**copy.deepcopy(model.get_params(deep=False)))

    return call_model(model, "be copied", make_copy)


def check_model(name: str, model: object) -> None:
    """Refuse what has no `fit` or no `predict`.

    Some models, such as stacks, have `predict` only once they are fitted.
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


def model_kind(model: Model) -> Literal["classifier", "regressor"] | None:
    """The kind of a model, or None where it depends on the labels."""
    base = sys.modules.get("sklearn.base")  # an estimator of scikit-learn has imported it
    if base is not None and isinstance(model, base.BaseEstimator):
        return "classifier" if base.is_classifier(model) else "regressor"
    return "classifier" if hasattr(model, "predict_proba") else None


def seeded_copy(model: Model, seed: int) -> Model:
    """An untrained copy whose open `random_state` parameters are `seed`.

    Every parameter `random_state` that is None is set, also inside pipelines; the same labels
    then give the same model.
    """
    copied: Any = untrained_copy(model)
    if not hasattr(copied, "get_params"):
        return cast(Model, copied)
    left_open = [
        name
        for name, value in copied.get_params().items()
        if value is None and name.rpartition("__")[2] == "random_state"
    ]
    return cast(Model, copied.set_params(**dict.fromkeys(left_open, seed)))


def takes_weights(model: Model) -> bool:
    """True if `fit` has an argument `sample_weight`, or takes arguments of any name.

    A model that takes any name passes it on, perhaps to one without weights: only fitting it
    with weights shows that it can.
    """
    try:
        parameters = inspect.signature(last_step(model)[1].fit).parameters
    except (TypeError, ValueError):  # written in C, without a signature
        return False
    open_ended = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())
    return "sample_weight" in parameters or open_ended


def fit(model: Model, X: Rows, y: ArrayLike, weights: FloatArray | None = None) -> Model:
    """Fit `model` in place, with a weight for each row if given, and return it.

    In a pipeline the weights go to its last step, also where the pipeline is being tuned. The
    model gets copies of everything, so that it may change its arguments. If it gives
    probabilities and has no `classes_`, these are set to the sorted labels.
    """
    labels, more = np.array(y), {}
    if weights is not None:
        path, last = last_step(model)
        if not takes_weights(model):
            raise InputError(
                f"{type(last).__name__} takes no sample_weight, so its training cannot be "
                f'corrected. Choose a model that takes them, or train without: weights="none".'
            )
        more = {f"{path}sample_weight": np.array(weights)}
    model.fit(copy_rows(X), labels.copy(), **more)
    if hasattr(model, "predict_proba") and not hasattr(model, "classes_"):
        with suppress(AttributeError):  # `proba` then raises the error
            at_last_step(model)[0].classes_ = np.unique(labels)
    return model


def at_last_step(model: Any, X: Rows = None) -> tuple[Any, Rows]:  # noqa: ANN401
    """The fitted last step of pipelines and searches, however deep, and the rows as they reach it.

    Pipelines and searches take their classes from that step.
    """
    if hasattr(model, "best_estimator_"):  # of a search, that which it chose
        return at_last_step(model.best_estimator_, X)
    if getattr(model, "steps", None):
        inputs = X if X is None or len(model.steps) == 1 else model[:-1].transform(X)
        return at_last_step(model.steps[-1][1], inputs)
    return model, X


def proba(model: Model, X: Rows) -> FloatArray:
    """Probabilities [N, C] of the classes of a fitted model."""
    fitted: Any = model
    probabilities = np.asarray(fitted.predict_proba(X), dtype=np.float64)
    if probabilities.shape != (n_rows(X), len(fitted.classes_)):
        raise InputError(
            f"{type(model).__name__} gives probabilities of shape {probabilities.shape} for "
            f"{n_rows(X)} rows and {len(fitted.classes_)} classes: its fit must set classes_, the "
            f"class of each column of predict_proba."
        )
    return probabilities


def aligned_proba(model: Model, X: Rows, classes: NDArray[Any]) -> FloatArray:
    """Probabilities [N, C] of `classes`, in their order; 0 for those the model never saw.

    If the model has further classes, these are the probabilities given that the label is none
    of those.
    """
    probabilities, seen = proba(model, X), np.asarray(model.classes_)  # type: ignore[attr-defined]
    if np.array_equal(seen, classes):
        return probabilities
    shared = np.isin(seen, classes)
    aligned = np.zeros((len(probabilities), len(classes)))
    aligned[:, np.searchsorted(classes, seen[shared])] = probabilities[:, shared]
    if shared.all():
        return aligned
    mass = aligned.sum(axis=1, keepdims=True)
    return np.where(mass > 0, aligned / np.where(mass > 0, mass, 1), 1 / len(classes))


def last_step(model: Any) -> tuple[str, Any]:  # noqa: ANN401
    """The unfitted last step of pipelines and searches, or the model, and how it is named there.

    The name is a prefix of parameters, such as "logisticregression__".
    """
    if getattr(model, "steps", None):
        name, step = model.steps[-1]
        path, last = last_step(step)
        return f"{name}__{path}", last
    if hasattr(model, "refit") and hasattr(model, "estimator"):  # a search passes arguments on
        return last_step(model.estimator)
    return "", model
