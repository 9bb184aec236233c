"""Fitting and calling models of any library."""

import subprocess
import sys
from typing import Any, Self

import numpy as np
import pytest

from advice.samples import WeightedMean
from levelled.errors import InputError
from levelled.models import (
    aligned_proba,
    fit,
    last_step,
    model_kind,
    seeded_copy,
    takes_weights,
    untrained_copy,
)

pytest.importorskip("sklearn")

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X = np.array([[0.0], [1.0], [2.0], [3.0]])
Y = np.array(["a", "b", "a", "c"])


class Fixed:
    """Knows its classes and says the same of every row."""

    classes_ = np.array(["a", "c", "d"])

    def fit(self, X: Any, y: Any) -> None:  # noqa: ANN401
        raise AssertionError("it is never trained here")

    def predict(self, X: Any) -> Any:  # noqa: ANN401
        return np.full(len(X), "a")

    def predict_proba(self, X: Any) -> Any:  # noqa: ANN401
        return np.tile([0.1, 0.3, 0.6], (len(X), 1))


def test_classes_never_seen_have_no_probability() -> None:
    found = aligned_proba(Fixed(), X, np.array(["a", "b", "c", "d"]))
    assert np.array_equal(found[0], [0.1, 0.0, 0.3, 0.6])


def test_classes_out_of_the_question_are_conditioned_away() -> None:
    found = aligned_proba(Fixed(), X, np.array(["a", "b", "c"]))
    assert np.allclose(found[0], [0.25, 0.0, 0.75])


def test_randomness_left_open_is_settled_and_only_that() -> None:
    left = seeded_copy(make_pipeline(StandardScaler(), RandomForestClassifier(3)), 7)
    set_ = seeded_copy(RandomForestClassifier(3, random_state=1), 7)
    assert left.get_params()["randomforestclassifier__random_state"] == 7  # type: ignore[attr-defined]
    assert set_.get_params()["random_state"] == 1  # type: ignore[attr-defined]


def test_a_copy_has_learned_nothing_and_leaves_the_model_as_it_was() -> None:
    model = LogisticRegression().fit(X, Y)
    assert not hasattr(untrained_copy(model), "coef_")
    assert hasattr(model, "coef_")


WITHOUT_SKLEARN = """
import sys
sys.modules["sklearn"] = None
import numpy as np
import levelled as lv

class Share:
    def __init__(self, prior=(1, 1), random_state=None):
        self.prior, self.random_state = prior, random_state
    def get_params(self, deep=True):
        return {"prior": self.prior, "random_state": self.random_state}
    def set_params(self, **given):
        vars(self).update(given)
        return self
    def fit(self, X, y, sample_weight=None):
        assert not hasattr(self, "proba_")
        self.classes_, count = np.unique(y, return_counts=True)
        self.proba_ = (count + self.prior) / (count + self.prior).sum()
    def predict_proba(self, X):
        return np.tile(self.proba_, (len(X), 1))
    def predict(self, X):
        return np.full(len(X), self.classes_[self.proba_.argmax()])

draws = lv.Draws(range(40), [0.01] * 40, pool_size=100)
given = Share((3, 1))
trained = lv.learning.blend(given, np.arange(40.0)[:, None], np.arange(40) % 2, draws).plain
print(trained.prior, trained.random_state, given.random_state)
"""


def test_a_model_that_knows_its_parameters_is_trained_without_scikit_learn() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_SKLEARN], capture_output=True, text=True, check=False
    )
    assert ran.stderr == ""
    assert ran.stdout == "(3, 1) 0 None\n"


def test_what_a_model_is_can_be_told_before_there_are_labels() -> None:
    assert model_kind(LogisticRegression()) == model_kind(Fixed()) == "classifier"
    assert model_kind(make_pipeline(StandardScaler(), Ridge())) == "regressor"
    assert model_kind(WeightedMean()) is None


def test_the_last_step_is_found_however_deep() -> None:
    last = LogisticRegression()
    deep = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), last))
    assert last_step(last) == ("", last)
    assert last_step(GridSearchCV(deep, {})) == ("pipeline__logisticregression__", last)


def test_integer_weights_are_repetitions_through_a_pipeline() -> None:
    """The step before the model sees no weights: none of it depends on them here."""
    piped = make_pipeline(StandardScaler(), LogisticRegression())
    plain = LogisticRegression()
    weights = np.array([1.0, 2.0, 1.0, 3.0])
    scaled = StandardScaler().fit(X).transform(X)
    repeated = np.repeat(scaled, weights.astype(int), axis=0)
    fit(piped, X, Y, weights)
    fit(plain, repeated, np.repeat(Y, weights.astype(int)))
    assert np.allclose(piped.predict_proba(X), plain.predict_proba(scaled), atol=1e-3)


def test_weights_for_a_model_without_are_refused_before_it_is_trained() -> None:
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(1))
    assert not takes_weights(model)
    with pytest.raises(InputError, match=r"KNeighborsClassifier.*sample_weight"):
        fit(model, X, Y, np.ones(4))


class Careless:
    """Overwrites whatever it is trained on, and does not say what its probabilities are of."""

    def __init__(self, columns: int = 0) -> None:
        self.columns = columns

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: ANN401
        self.columns = self.columns or len(np.unique(y))
        X[:] = 0
        y[:] = y[0]
        if sample_weight is not None:
            sample_weight /= sample_weight.sum()
        return self

    def predict(self, X: Any) -> Any:  # noqa: ANN401
        raise NotImplementedError

    def predict_proba(self, X: Any) -> Any:  # noqa: ANN401
        return np.tile(np.arange(1.0, self.columns + 1), (len(X), 1))


def test_a_model_may_overwrite_what_it_is_trained_on() -> None:
    rows, labels, weights = X.copy(), Y.copy(), np.array([1.0, 2.0, 3.0, 4.0])
    fit(Careless(), rows, labels, weights)
    assert (rows.tolist(), labels.tolist()) == (X.tolist(), Y.tolist())
    assert weights.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_probabilities_that_name_no_classes_are_of_the_sorted_labels_of_the_training() -> None:
    model = fit(Careless(), X, np.array(["c", "a", "c", "a"]))
    found = aligned_proba(model, X, np.array(["a", "b", "c"]))
    assert found[0].tolist() == [1.0, 0.0, 2.0]
    with pytest.raises(InputError, match=r"\(4, 7\).*4 rows.*3 classes"):
        aligned_proba(fit(Careless(7), X, Y), X, np.unique(Y))


def test_a_pipeline_takes_the_classes_that_its_last_step_does_not_name() -> None:
    class Inside(Careless, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        """One that scikit-learn takes for a classifier."""

    labels = np.array(["c", "a", "c", "a"])
    piped = fit(make_pipeline(StandardScaler(), Inside()), X, labels)
    assert aligned_proba(piped, X, np.array(["a", "b", "c"]))[0].tolist() == [1.0, 0.0, 2.0]


class Uncopyable(Careless):
    def __deepcopy__(self, memo: object) -> Self:
        raise RuntimeError("one of a kind")


class Shallow(Careless):
    def get_params(self) -> dict[str, Any]:
        return {"columns": self.columns}


@pytest.mark.parametrize(
    ("model", "says"), [(Uncopyable(), "one of a kind"), (Shallow(), "argument 'deep'")]
)
def test_a_model_that_cannot_be_copied_is_refused_in_one_line(model: Any, says: str) -> None:  # noqa: ANN401
    with pytest.raises(InputError, match="copied"):
        untrained_copy(model)
