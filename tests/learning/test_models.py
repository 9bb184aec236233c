"""The contract of learners, for models of many kinds."""

from typing import Any, Self

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from contracts.learners import LearnerContract, features
from levelled.models import Model

Floats = NDArray[np.float64]


class TestLogisticRegression(LearnerContract):
    @pytest.fixture
    def model(self) -> Model:
        return LogisticRegression()


class TestBootstrappedLogisticRegression(LearnerContract):
    score, ensemble = "bald", 4

    @pytest.fixture
    def model(self) -> Model:
        return LogisticRegression()


class TestPipeline(LearnerContract):
    score = "margin"

    @pytest.fixture
    def model(self) -> Model:
        return Pipeline([("scale", StandardScaler()), ("model", LogisticRegression())])


class TestForest(LearnerContract):
    score = "bald"

    @pytest.fixture
    def model(self) -> Model:
        return RandomForestClassifier(4)


class TestBoosting(LearnerContract):
    score = "least_confidence"

    @pytest.fixture
    def model(self) -> Model:
        return HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2)


class Nearest:
    """Written by hand: each class by its weighted mean, probabilities by the distance to it."""

    def __init__(self, sharpness: float = 1.0) -> None:
        self.sharpness = sharpness

    def fit(self, X: Floats, y: NDArray[Any], sample_weight: Floats | None = None) -> Self:
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        self.classes_ = np.unique(y)
        self.means = np.array(
            [np.average(X[y == c], axis=0, weights=weight[y == c]) for c in self.classes_]
        )
        return self

    def predict_proba(self, X: Floats) -> Floats:
        distance = ((X[:, None] - self.means) ** 2).sum(axis=2)
        closeness = np.exp(-self.sharpness * (distance - distance.min(axis=1, keepdims=True)))
        return np.asarray(closeness / closeness.sum(axis=1, keepdims=True))

    def predict(self, X: Floats) -> NDArray[Any]:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


class TestHandwritten(LearnerContract):
    @pytest.fixture
    def model(self) -> Model:
        return Nearest()


class RegressorContract(LearnerContract):
    @pytest.fixture
    def y(self) -> NDArray[Any]:
        X = features()
        return np.asarray(X[:, 0] ** 2 + X[:, 1])


class TestRidge(RegressorContract):
    score, ensemble = "variance", 4

    @pytest.fixture
    def model(self) -> Model:
        return Ridge()


class TestRidgeByDistance(RegressorContract):
    score = "geometric"

    @pytest.fixture
    def model(self) -> Model:
        return Ridge()


class TestForestOfNumbers(RegressorContract):
    score = "variance"

    @pytest.fixture
    def model(self) -> Model:
        return RandomForestRegressor(4)
