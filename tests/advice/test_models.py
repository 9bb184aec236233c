"""Models made of models: where their weights go, and what if they go nowhere."""

from typing import Any

import numpy as np
import pytest

from advice.samples import two_classes
from contracts.learners import run
from levelled.advice import advise
from levelled.errors import InputError
from levelled.learning import ActiveLearner

pytest.importorskip("sklearn")

from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

RNG = np.random.default_rng(0)
POOL = RNG.standard_normal((60, 2))
NAMES = np.where(POOL[:, 0] + RNG.normal(scale=0.5, size=60) > 0, "spam", "ham")


def piped(penalty: float = 1.0) -> Pipeline:
    return make_pipeline(StandardScaler(), LogisticRegression(C=penalty))


def tuned(*penalties: float) -> GridSearchCV:
    return GridSearchCV(piped(), {"logisticregression__C": penalties}, cv=2)


def vote(other: object) -> VotingClassifier:
    return VotingClassifier([("line", LogisticRegression()), ("other", other)], voting="soft")


WITHOUT = {
    "one against the rest": (OneVsRestClassifier(LogisticRegression()), "Passing extra keyword"),
    "a vote with one of no weights": (
        vote(KNeighborsClassifier()),
        "Underlying estimator KNeighborsClassifier does not support sample weights.",
    ),
    "a search over votes with a pipeline": (
        GridSearchCV(vote(piped()), {"line__C": [0.1, 1.0]}, cv=2),
        "All the 4 fits failed.",
    ),
}


@pytest.mark.parametrize(("model", "complaint"), WITHOUT.values(), ids=WITHOUT)
def test_a_model_that_hands_weights_to_one_without_is_trained_without(
    model: Any,  # noqa: ANN401
    complaint: str,
) -> None:
    learner = ActiveLearner(model, POOL)
    run(learner, NAMES, 30)
    verdict = learner.fit().verdict_
    assert verdict is not None
    assert verdict.advice == "do not correct"
    assert verdict.because.startswith(f"{type(model).__name__} takes no sample_weight: {complaint}")
    np.testing.assert_array_equal(learner.sample_weight_, np.ones(30))
    learner.set_params(weights="lure")
    with pytest.raises(InputError, match=r"corrective.* 30 label"):
        learner.fit()


def test_a_vote_of_models_that_take_weights_takes_them() -> None:
    found = advise(vote(LogisticRegression(C=0.1)), *two_classes(), folds=2)
    assert set(found.risks) == {"naive", "corrected"}


def test_a_stack_that_predicts_only_once_it_is_fitted_is_advised_on() -> None:
    stack = StackingClassifier([("line", LogisticRegression())], cv=2)
    assert not hasattr(stack, "predict")
    found = advise(stack, *two_classes(), folds=2)
    assert found.loss == "zero_one"  # its probabilities cannot be known of before
    assert list(found.risks) == ["naive"]


def test_weights_reach_the_last_step_of_a_pipeline_that_is_tuned() -> None:
    X, y, draws = two_classes()
    found, plain = (advise(own, X, y, draws, folds=3) for own in (tuned(0.1), piped(0.1)))
    assert found.risks == plain.risks
    assert found.risks["corrected"] != found.risks["naive"]


def test_a_search_over_a_model_without_weights_has_none() -> None:
    search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3]}, cv=2)
    found = advise(search, *two_classes(), folds=2)
    assert found.because.startswith("GridSearchCV takes no sample_weight")
