"""Folds, and who is trained on what."""

import numpy as np

from advice.samples import two_classes
from levelled._check import FloatArray
from levelled.advice.crossfit import crossed, folds_of
from levelled.models import TrainingTask


def test_folds_differ_in_size_by_at_most_one() -> None:
    problem = TrainingTask(np.arange(23.0), None, "squared")
    fold = folds_of(problem, 5, rng=np.random.default_rng(0))
    assert sorted(np.bincount(fold)) == [4, 4, 5, 5, 5]


def test_every_class_is_spread_over_the_folds() -> None:
    _, names, _ = two_classes()
    problem = TrainingTask(names, np.unique(names), "brier")
    fold = folds_of(problem, 10, rng=np.random.default_rng(0))
    for name in np.unique(names):
        counts = np.bincount(fold[names == name], minlength=10)
        assert counts.max() - counts.min() <= 1


class Remembering:
    """Answers 1 for items it was trained on and 0 for others; keeps the weights it was given."""

    def __init__(self) -> None:
        self.seen: set[float] = set()
        self.weights: FloatArray | None = None

    def fit(self, X: FloatArray, y: FloatArray, sample_weight: FloatArray | None = None) -> None:
        self.seen, self.weights = set(X[:, 0].tolist()), sample_weight

    def predict(self, X: FloatArray) -> FloatArray:
        return np.array([float(x in self.seen) for x in X[:, 0].tolist()])


def test_no_item_is_judged_by_a_model_that_has_seen_it() -> None:
    X = np.arange(12.0)[:, None]
    problem = TrainingTask(np.ones(12), None, "squared")
    fold = folds_of(problem, 4, rng=np.random.default_rng(0))
    found = crossed(Remembering(), problem, X, fold, {"lure": np.arange(1.0, 13.0)})["lure"]
    assert (found.answers == 0).all()
    assert (found.held_out == 1).all()
    assert (found.training == 0).all()
    assert isinstance(found.model, Remembering)
    assert found.model.weights is not None
    assert found.model.weights.tolist() == list(range(1, 13))
