"""What the checks of scikit-learn say of a learner.

A learner is no estimator with `fit(X, y)`: it is given a pool and told labels row by row. So the
checks come in two kinds. Those of objects (copies, parameters, tags, text, errors before training)
run on the learner itself. Those of data run on `FromLearner`, a classifier whose `fit(X, y)` lets a
learner draw from X and tells it y: what a learner does with wrong data is then what is checked.
"""

import pickle
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("sklearn")

from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.validation import check_is_fitted

from levelled._check import FloatArray
from levelled.errors import InputError, NotTrainedError
from levelled.learning import ActiveLearner

X = np.random.default_rng(0).standard_normal((60, 3))
Y = np.where(X[:, 0] > 0, "yes", "no")

OF_OBJECTS = (
    "check_estimator_cloneable",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_estimator_repr",
    "check_estimators_unfitted",
    "check_mixin_order",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
)
"""Other checks of objects do not apply. check_no_attributes_set_in_init: a learner has a note
before its first step. check_do_not_raise_errors_in_init_or_set_params: it refuses wrong settings at
once, since draws made with them would be lost. check_set_params: the draws belong to one X_pool,
which cannot be replaced."""


def trained(model: Any = None) -> ActiveLearner:  # noqa: ANN401
    learner = ActiveLearner(model or LogisticRegression(), X, weights="lure")
    rows = learner.ask(30)
    learner.tell(rows, Y[rows])
    return learner.fit()


@pytest.mark.parametrize("name", OF_OBJECTS)
def test_a_learner_passes_the_checks_of_objects(name: str) -> None:
    learner = ActiveLearner(LogisticRegression(), X, weights="lure")
    getattr(estimator_checks, name)("ActiveLearner", learner)


class FromLearner(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that is trained by a learner which draws all of X."""

    def fit(self, X: Any, y: Any) -> Self:  # noqa: ANN401
        learner = ActiveLearner(LogisticRegression(), X, weights="lure", seed=0)
        learner.tell(np.sort(learner.ask(learner.draws.pool_size)), y)
        self.learner_ = learner.fit()
        self.classes_, self.n_features_in_ = learner.classes_, learner.n_features_in_
        return self

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: ANN401
        check_is_fitted(self)
        return self.learner_.predict(X)

    def predict_proba(self, X: Any) -> FloatArray:  # noqa: ANN401
        check_is_fitted(self)
        return self.learner_.predict_proba(X)

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


DECLARED = {
    "check_dtype_object": (
        "whatever a model raises becomes an InputError, a ValueError that says which model it was"
    ),
    "check_classifier_data_not_an_array": "a pool has rows that can be counted and taken",
    "check_supervised_y_2d": "labels are told one a row, and a column of them is refused",
    "check_requires_y_none": "the label None says that an item cannot be labelled",
}


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        *estimator_checks.estimator_checks_generator(
            FromLearner(), expected_failed_checks=DECLARED, mark="xfail"
        )
    ],
)
def test_what_a_learner_is_trained_on_passes_the_checks_of_data(
    estimator: FromLearner, check: Callable[[FromLearner], None]
) -> None:
    check(estimator)


def test_a_learner_before_its_first_fit_is_not_fitted_in_the_sense_of_scikit_learn() -> None:
    learner = ActiveLearner(LogisticRegression(), X)
    for use in (learner.predict, learner.predict_proba):
        with pytest.raises(NotFittedError, match="call fit") as caught:
            use(X)
        assert isinstance(caught.value, NotTrainedError)
        again = pickle.loads(pickle.dumps(caught.value))  # as it comes from another process
        assert isinstance(again, NotFittedError)
        assert str(again) == str(caught.value)
    assert not hasattr(learner, "n_features_in_")
    assert trained().n_features_in_ == 3


@pytest.mark.parametrize("rows", [X[:, :2], X[:, :2].astype(complex), sparse.eye(4).tocsr(), X[0]])
def test_data_unlike_that_of_training_is_refused_on_one_line(rows: Any) -> None:  # noqa: ANN401
    learner = trained(make_pipeline(StandardScaler(with_mean=False), LogisticRegression()))
    with pytest.raises(InputError, match=r"Pipeline .*predict: ") as caught:
        learner.predict(rows)
    assert "\n" not in str(caught.value)


def test_a_pool_of_complex_numbers_is_refused_before_anything_is_drawn() -> None:
    with pytest.raises(InputError, match="Complex"):
        ActiveLearner(LogisticRegression(), X.astype(complex))


def test_a_sparse_pool_is_refused_where_the_model_takes_none() -> None:
    pool = sparse.csr_array(X)
    with pytest.raises(InputError, match=r"Hist.*toarray"):
        ActiveLearner(HistGradientBoostingClassifier(), pool)
    with pytest.raises(InputError, match=r"Pipeline.*toarray"):
        ActiveLearner(make_pipeline(HistGradientBoostingClassifier()), pool)
    for kind in (sparse.csr_array, sparse.dok_array, sparse.coo_array):
        learner = ActiveLearner(LogisticRegression(), kind(X), weights="lure")
        rows = learner.ask(20)
        learner.tell(rows, Y[rows])
        assert learner.fit().n_features_in_ == 3
