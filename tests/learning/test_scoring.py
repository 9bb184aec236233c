from typing import Any, Self

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from levelled.errors import InputError
from levelled.learning import ActiveLearner
from levelled.learning.settings import Ensemble, check_samples, n_samples, sampler
from levelled.models import Model, make_task

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 3))
Y = np.array(["a", "b", "c"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)]


def samples(model: Model, ensemble: Ensemble = None, y: NDArray[Any] = Y) -> NDArray[np.float64]:
    rng = np.random.default_rng(1)
    return sampler(model, ensemble, make_task(model, y, "auto"), X, rng=rng)(X)


def test_a_committee_gives_one_sample_a_member() -> None:
    found = samples(LogisticRegression(), [LogisticRegression(), GaussianNB()])
    assert found.shape == (30, 2, 3)
    np.testing.assert_allclose(found[:, 1], GaussianNB().fit(X, Y).predict_proba(X))


def test_bootstrap_copies_differ_and_know_every_class_even_where_they_saw_none_of_it() -> None:
    rare = np.where(np.arange(30) == 0, "rare", Y)
    found = samples(LogisticRegression(), 12, rare)
    assert found.shape == (30, 12, 4)
    np.testing.assert_allclose(found.sum(axis=2), 1)
    assert np.ptp(found[:, :, 0], axis=1).max() > 0.05
    assert (found[:, :, 3].max(axis=0) == 0).any()  # 4 in 10 copies never saw it


def test_two_labels_of_two_classes_can_be_resampled() -> None:
    rng = np.random.default_rng(1)
    model = LogisticRegression()
    two = sampler(model, 5, make_task(model, ["a", "b"], "auto"), X[:2], rng=rng)
    assert two(X).shape == (30, 5, 2)


@pytest.mark.parametrize("forest", [RandomForestClassifier(6), ExtraTreesClassifier(6)])
def test_the_trees_of_a_forest_average_to_its_own_probabilities(forest: Any) -> None:  # noqa: ANN401
    found = samples(forest)
    assert found.shape == (30, 6, 3)
    piped = samples(make_pipeline(StandardScaler(), forest))
    assert piped.shape == (30, 6, 3)
    np.testing.assert_allclose(found.mean(axis=1).sum(axis=1), 1)


def test_a_forest_is_found_at_the_end_of_pipelines_and_searches() -> None:
    forest = RandomForestClassifier(6, random_state=0)
    once = make_pipeline(StandardScaler(), forest)
    nested = make_pipeline(StandardScaler(), once)
    for model in (nested, GridSearchCV(nested, {}, cv=2)):
        check_samples(model, None)
        # Scaling what is scaled changes nothing.
        np.testing.assert_allclose(samples(model), samples(once))


def test_trees_of_numbers_give_one_number_each() -> None:
    assert samples(RandomForestRegressor(6), None, X[:, 0]).shape == (30, 6)
    assert samples(Ridge(), 3, X[:, 0]).shape == (30, 3)


class Network:
    """Samples its posterior by itself, and returns torch tensors if it is asked to."""

    def __init__(self, torch: Any = None) -> None:  # noqa: ANN401
        self.torch = torch

    def __deepcopy__(self, memo: object) -> "Network":
        return Network(self.torch)

    def fit(self, X: object, y: NDArray[Any], sample_weight: object = None) -> Self:
        self.classes_ = np.unique(y)
        return self

    def sample_proba(self, X: NDArray[np.float64], K: int) -> Any:  # noqa: ANN401
        p = np.random.default_rng(0).dirichlet(np.ones(len(self.classes_)), (len(X), K))
        return p if self.torch is None else self.torch.tensor(p, requires_grad=True)

    def predict_proba(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.sample_proba(X, 50).mean(axis=1))

    def predict(self, X: NDArray[np.float64]) -> NDArray[Any]:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


def test_a_network_that_samples_its_posterior_is_asked_for_as_many_as_wanted() -> None:
    torch = pytest.importorskip("torch")
    assert samples(Network()).shape == (30, 20, 3)
    found = samples(Network(torch), 7)
    assert isinstance(found, np.ndarray)
    assert found.shape == (30, 7, 3)
    assert n_samples(Network(), None) == 20


class Declared(Network):
    """A network that was told of classes nobody has met yet."""

    def __deepcopy__(self, memo: object) -> "Declared":
        return Declared()

    def fit(self, X: object, y: NDArray[Any], sample_weight: object = None) -> Self:
        self.classes_ = np.array(["a", "b", "c", "d"])
        return self


@pytest.mark.parametrize("score", ["bald", "entropy", "variation_ratio"])
@pytest.mark.parametrize("ensemble", [None, 3, [Declared(), LogisticRegression()]])
def test_a_model_may_know_classes_that_were_never_told(score: str, ensemble: Ensemble) -> None:
    learner = ActiveLearner(Declared(), X, score=score, ensemble=ensemble, weights="auto")
    for _ in range(4):
        asked = learner.ask(5)
        learner.tell(asked, np.where(Y == "c", "b", Y)[asked])
    assert len(learner.fit().predict(X)) == 30
    assert learner.should_stop(0.01, loss="brier").high == 0  # it does not look at its labels


def test_such_a_network_drives_a_learner() -> None:
    learner = ActiveLearner(Network(), X, score="bald", weights="none", start=4)
    for _ in range(4):
        asked = learner.ask(4)
        learner.tell(asked, Y[asked])
    assert np.ptp(learner.draws.probability[8:]) > 0
    assert len(learner.fit().predict(X)) == 30


def test_a_model_without_samples_says_how_to_get_some() -> None:
    for model in (LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())):
        with pytest.raises(InputError, match=r"LogisticRegression.*ensemble=10"):
            check_samples(model, None)
        check_samples(model, 10)
    check_samples(make_pipeline(StandardScaler(), RandomForestClassifier()), None)
    check_samples(Network(), None)
