"""Blends of a plainly trained model and one trained with corrective weights."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled._check import FloatArray
from levelled.advice import Verdict
from levelled.advice.correcting import HALF, Correction, judge_correction
from levelled.draws import Draws
from levelled.errors import InputError
from levelled.models import (
    Loss,
    Model,
    OwnLoss,
    PredictionTask,
    Rows,
    aligned_proba,
    call_model,
    fit_copy,
    read_only,
    seeded_copy,
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Blend:
    """A model trained plainly and one trained with weights, whose predictions are averaged.

        (1 - share) f_plain + share f_corrected

    `verdict` gives the evidence for the share. Where the share is 0 or 1, one of the two models
    predicts alone. `corrected` is None if no model was trained with weights. `sample_weight` are
    the weights of the corrected model; they average one.
    """

    share: float
    plain: Model
    corrected: Model | None
    verdict: Verdict
    sample_weight: FloatArray
    classes: NDArray[Any] | None
    """The classes of a classifier, in their order."""

    @property
    def model(self) -> Any:  # noqa: ANN401
        """The model that predicts: one of the two if it does so alone, else the blend itself."""
        if self.corrected is None or self.share == 0:
            return self.plain
        return self.corrected if self.share == 1 else self

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes of a classifier, in their order."""
        if self.classes is None:
            raise AttributeError(f"{type(self.plain).__name__} is no classifier.")
        return self.classes

    def predict(self, X: Rows) -> NDArray[Any]:
        """The prediction for each row: a number, or the likeliest class."""
        if self.classes is not None and self.model is self:
            return self.classes[self.predict_proba(X).argmax(axis=1)]
        return self._average(lambda model, rows: np.asarray(model.predict(rows)), X)

    def predict_proba(self, X: Rows) -> FloatArray:
        """The probabilities of `classes_`, for each row."""
        classes = self.classes_
        return self._average(lambda model, rows: aligned_proba(model, rows, classes), X)

    def __sklearn_is_fitted__(self) -> bool:
        """True: a blend is made of trained models; scikit-learn calls this."""
        return True

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        """The tags of the plain model; scikit-learn calls this."""
        model: Any = self.plain
        return model.__sklearn_tags__()

    def __repr__(self) -> str:
        return f"Blend({type(self.plain).__name__}, {self.share:.0%} corrected)"

    def _average(self, predict: Callable[[Model, Rows], NDArray[Any]], X: Rows) -> NDArray[Any]:
        def call(model: Model) -> NDArray[Any]:
            return call_model(model, "predict", lambda: predict(model, read_only(X)), X)

        if self.corrected is None or self.model is not self:
            return call(self.model)
        mean: NDArray[Any] = (1 - self.share) * call(self.plain) + self.share * call(self.corrected)
        return mean


def blend(
    model: Model,
    X: Rows,
    y: ArrayLike,
    draws: Draws,
    *,
    weights: ArrayLike | None = None,
    loss: Loss | OwnLoss = "auto",
    single: bool = False,
    seed: int = 0,
) -> Blend:
    """Train a model on drawn labels, corrected for their choice as far as that helps.

    `X` and `y` are the labelled items, in the order of `draws`. The model is trained plainly and
    with `weights`, those of R_LURE unless they are given, and the predictions of both are
    averaged with the share that `levelled.advice.advise` measures; `loss` is explained there.
    `single` gives the better of the two models alone: the corrected one for a share above a half.

    >>> from sklearn.linear_model import LinearRegression
    >>> x = np.linspace(-1, 1, 40)
    >>> draws = Draws(np.arange(40), np.linspace(0.1, 0.01, 40), pool_size=200)
    >>> trained = blend(LinearRegression(), x[:, None], x**2, draws)
    >>> trained, trained.predict([[0.0], [1.0]]).round(2)
    (Blend(LinearRegression, 91% corrected), array([0.41, 0.51]))
    """
    correction = judge_correction(model, X, y, draws, weights=weights, loss=loss, seed=seed)
    return make_blend(seeded_copy(model, seed % 2**32), X, correction, single=single)


def make_blend(model: Model, X: Rows, correction: Correction, *, single: bool) -> Blend:
    """The models that were fitted to all labels, with the share of the verdict.

    Where nothing was measured, `model` is fitted plainly.
    """
    task, fits, share = check_classes(correction.task), correction.fits, correction.verdict.share
    plain = fits["naive"].model if fits else fit_copy(model, task, X, task.labels, None)
    return Blend(
        share=float(share > HALF) if single else share,
        plain=plain,
        corrected=fits["corrected"].model if "corrected" in fits else None,
        verdict=correction.verdict,
        sample_weight=correction.weights,
        classes=task.classes,
    )


def check_classes(task: PredictionTask) -> PredictionTask:
    """The task, unless it is a classification with labels of one class."""
    if task.classes is not None and len(task.classes) < 2:
        raise InputError(
            f"All {len(task.labels)} labels that can be used are {task.classes[0]!s}, one class, "
            f"and a classifier needs two classes: label more items."
        )
    return task
