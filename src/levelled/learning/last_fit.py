"""What the last `fit` of a learner left: a model that predicts, its weights and its labels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelled._check import FloatArray, IntArray
from levelled.advice import Verdict
from levelled.learning.blending import Blend
from levelled.learning.training import TrainedModel
from levelled.models import Model, Rows, call_model, n_features, not_trained, read_only


class LastFit:
    """The part of a learner that is there once it was trained."""

    model: Model
    X_pool: Rows
    _trained: TrainedModel | None

    def predict(self, X: Rows) -> NDArray[Any]:
        """The prediction of the trained model for each row."""
        return self._call("predict", X)

    def predict_proba(self, X: Rows) -> FloatArray:
        """The probabilities of `classes_` by the trained model, for each row."""
        return self._call("predict_proba", X)

    def _call(self, method: str, X: Rows) -> NDArray[Any]:
        return call_model(
            self.model, "predict", lambda: np.asarray(getattr(self.model_, method)(read_only(X))), X
        )

    @property
    def model_(self) -> Any:  # noqa: ANN401
        """The trained model: a `Blend` where weights="auto" corrected in part."""
        return self._last_fit().model

    @property
    def sample_weight_(self) -> FloatArray:
        """The weight of each label in the last `fit`; those of the corrected model in a blend."""
        return self._last_fit().weights.copy()

    @property
    def weights_(self) -> str:
        """The weights that the last `fit` used: "lure", "pure", "none", or "auto" for a blend."""
        return self._last_fit().kind

    @property
    def correction_(self) -> Blend | None:
        """Share, evidence and both models of the last `fit`; None if weights were not "auto"."""
        return self._last_fit().blend

    @property
    def verdict_(self) -> Verdict | None:
        """The verdict that decided at the last `fit`; None if its weights were not "auto"."""
        return None if self.correction_ is None else self.correction_.verdict

    @property
    def index_(self) -> IntArray:
        """The rows that the last `fit` was trained on, in the order of their draws."""
        return self._last_fit().rows.copy()

    @property
    def labels_(self) -> NDArray[Any]:
        """The labels that the last `fit` was trained on, in the order of their draws."""
        return self._last_fit().labels.copy()

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes of a classifier, in their order."""
        classes = self._last_fit().classes
        if classes is None:
            raise AttributeError(f"{type(self.model).__name__} is no classifier.")
        return classes.copy()

    @property
    def n_features_in_(self) -> int:
        """The number of features of an item; a trained learner has it if its pool has columns."""
        self._last_fit()
        return n_features(self.X_pool)

    def __sklearn_is_fitted__(self) -> bool:
        """True if there is a trained model; scikit-learn calls this."""
        return self._trained is not None

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        """The tags of the model; scikit-learn calls this."""
        model: Any = self.model
        return model.__sklearn_tags__()

    def _last_fit(self) -> TrainedModel:
        if self._trained is None:
            raise not_trained("The learner has not been trained yet: call fit() first.")
        return self._trained
