"""The shell: what users meet when they ask, tell and fit, rightly and wrongly."""

import re
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.ensemble import StackingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

import levelled as lv
from contracts.learners import run
from levelled.errors import InputError
from levelled.learning import ActiveLearner

X = np.random.default_rng(0).standard_normal((60, 3))
Y = np.where(X[:, 0] > 0, "spam", "ham")


def learner(**more: Any) -> ActiveLearner:  # noqa: ANN401
    return ActiveLearner(LogisticRegression(), X, **{"weights": "lure", **more})


def test_asking_again_without_labels_draws_further_rows() -> None:
    made = learner()
    first, second = made.ask(3), made.ask(3)
    assert not set(first) & set(second)
    assert made.pending.tolist() == [*first, *second]
    assert repr(made) == "ActiveLearner(LogisticRegression, 0 labels of 60, 6 waiting)"


def test_a_fit_uses_draws_without_a_gap_and_says_what_waits() -> None:
    made = learner()
    run(made, Y, 20)
    rows = made.ask(4)
    made.tell(rows[[0, 2, 3]], Y[rows[[0, 2, 3]]])
    made.fit()
    assert len(made) == 23
    assert len(made.sample_weight_) == 21
    assert re.match(r"1 of 24 draws .* 2 later labels", str(made.note))
    np.testing.assert_array_equal(made.sample_weight_, lv.lure_weights(made.draws[:21]))
    made.tell(rows[1], Y[rows[1]])
    made.fit()
    assert len(made.sample_weight_) == 24
    assert made.note is None


def test_weights_are_computed_anew_as_labels_come_in() -> None:
    made = learner()
    run(made, Y, 20)
    before = made.fit().sample_weight_
    run(made, Y, 40)
    after = made.fit().sample_weight_
    assert not np.allclose(before, after[:20])
    np.testing.assert_array_equal(after, lv.lure_weights(made.draws))


def test_an_item_that_cannot_be_labelled_counts_as_a_draw_but_trains_nothing() -> None:
    made = learner()
    rows = made.ask(20)
    made.tell(rows, [None if m == 4 else str(Y[row]) for m, row in enumerate(rows)])
    made.fit()
    assert len(made) == 19
    keep = np.delete(np.arange(20), 4)
    np.testing.assert_array_equal(made.sample_weight_, lv.lure_weights(made.draws)[keep])
    assert made.advise().n_labels == 19


def test_weights_reach_the_model() -> None:
    seen = []

    class Spy(LogisticRegression):  # type: ignore[misc]
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: ANN401
            seen.append(sample_weight)
            super().fit(X, y, sample_weight)
            return self

    made = ActiveLearner(Spy(), X, weights="pure", score="uniform")
    run(made, Y, 20)
    made.fit()
    np.testing.assert_array_equal(seen[-1], lv.pure_weights(made.draws))
    made.set_params(weights="none").fit()
    assert seen[-1] is None
    np.testing.assert_array_equal(made.sample_weight_, np.ones(20))


def test_auto_asks_for_advice_once_for_the_same_labels() -> None:
    made = learner(weights="auto")
    run(made, Y, 20)
    verdict = made.fit().verdict_
    assert made.fit().verdict_ is verdict
    run(made, Y, 25)
    assert made.verdict_ is verdict  # with the weights and the model of that fit
    assert made.fit().verdict_ is not verdict
    assert str(made.advise()).endswith(made.advise().because)
    assert made.set_params(weights="none").fit().verdict_ is None


def test_there_is_no_verdict_before_a_fit() -> None:
    with pytest.raises(InputError, match=r"call fit\(\)"):
        learner(weights="auto").verdict_  # noqa: B018


def test_auto_trains_a_model_that_takes_no_weights_without_them() -> None:
    made = ActiveLearner(KNeighborsClassifier(3), X, weights="auto")
    run(made, Y, 30)
    np.testing.assert_array_equal(made.fit().sample_weight_, np.ones(30))
    assert made.verdict_ is not None
    assert made.verdict_.advice == "do not correct"
    assert made.verdict_.because.startswith("KNeighborsClassifier takes no sample_weight")
    assert made.weights_ == "none"
    with pytest.raises(InputError, match=r"KNeighborsClassifier.*sample_weight"):
        made.set_params(weights="lure")


def test_a_model_that_fits_its_labels_perfectly_is_advised_on_without_trouble() -> None:
    made = ActiveLearner(DecisionTreeClassifier(), X, weights="auto")
    run(made, Y, 30)
    made.fit()
    assert (made.predict(X[made.index_]) == made.labels_).all()
    assert made.verdict_ is not None


def test_one_class_so_far_draws_uniformly_and_trains_nothing() -> None:
    made = learner()
    same = np.full(60, "ham")
    run(made, same, 30, batch=6)
    np.testing.assert_allclose(made.draws.probability, 1 / (60 - np.arange(30.0)))
    with pytest.raises(InputError, match=r"All 30 .* ham"):
        made.fit()
    numbers = ActiveLearner(Ridge(), X, score="geometric", weights="lure")
    run(numbers, np.zeros(60), 20)
    assert numbers.fit().predict(X[:2]).tolist() == [0.0, 0.0]


def test_a_class_told_late_is_known_from_then_on() -> None:
    labels = Y.astype(object)
    made = learner()
    run(made, Y, 20)
    rare = made.ask(1)
    labels[rare] = "rare"
    made.tell(rare, labels[rare])
    run(made, labels, 25)
    made.fit()
    assert made.classes_.tolist() == ["ham", "rare", "spam"]
    assert made.predict_proba(X).shape == (60, 3)


def test_amending_a_label_changes_the_training() -> None:
    made = learner()
    run(made, Y, 20)
    row = made.draws.index[3]
    other = "ham" if Y[row] == "spam" else "spam"
    with pytest.raises(InputError, match="amend=True"):
        made.tell(row, other)
    made.tell(row, other, amend=True)
    assert made.fit().labels_[3] == other


def test_nothing_is_said_before_there_is_something_to_say() -> None:
    made = learner()
    with pytest.raises(InputError, match="no labels yet"):
        made.fit()
    with pytest.raises(InputError, match=r"call fit\(\) first"):
        made.predict(X)
    for name in ("model_", "sample_weight_", "weights_", "verdict_", "index_", "classes_"):
        assert not hasattr(made, name)
    rows = made.ask(2)
    made.tell(rows[1], "ham")
    with pytest.raises(InputError, match=r"None.* 1 labels"):
        made.fit()


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"score": "entropi"}, r"score.*auto, entropy"),
        ({"proposal": "hot"}, r"proposal.*proportional, boltzmann"),
        ({"weights": "LURE"}, r"weights.*lure, pure"),
        ({"ensemble": 1}, r"ensemble.*at least 2"),
        ({"ensemble": [LogisticRegression()]}, "two models"),
        ({"floor": 1.5}, r"floor.*0 and 1"),
        ({"start": -1}, r"start.*at least 0"),
        ({"seed": 0.5}, r"seed.*whole"),
        ({"model": LogisticRegression}, r"LogisticRegression.*write.*\(\)"),
        ({"model": "svm"}, r"model.*\bstr\b.*fit"),
        ({"ensemble": [Ridge(), Ridge]}, r"ensemble\[1\].*Ridge.*class"),
        ({"proposal": "boltzmann:-2"}, r"boltzmann.*at least 0"),
        ({"proposal": "epsilon_greedy", "floor": 0}, "raise floor="),
        (
            {"model": Ridge(), "score": "entropy"},
            r"Ridge .*regressors",
        ),
        ({"model": LinearSVC()}, r"LinearSVC .*CalibratedClassifierCV\(LinearSVC\(\)\)"),
        ({"model": Ridge(), "score": "bald"}, r"Ridge.*use 'variance'"),
        ({"score": "variance"}, r"LogisticRegression.*use 'bald'"),
        ({"score": "bald"}, "Give ensemble=10"),
        ({"model": KNeighborsClassifier(), "weights": "lure"}, "takes no sample_weight"),
    ],
)
def test_what_cannot_be_used_is_refused_when_the_learner_is_made_or_changed(
    params: dict[str, Any], says: str
) -> None:
    given = {"model": LogisticRegression(), **params}
    with pytest.raises(InputError, match=says):
        ActiveLearner(X_pool=X, **given)
    made = learner()
    with pytest.raises(InputError, match=says):
        made.set_params(**params)
    assert made.get_params()["score"] == "auto"


@pytest.mark.parametrize("pool", [np.zeros((0, 3)), [], 5, None, "a.csv", {"a": X[:, 0]}, X[0, 0]])
def test_a_pool_without_rows_is_refused(pool: object) -> None:
    with pytest.raises(InputError, match=r"X_pool.*one row"):
        ActiveLearner(LogisticRegression(), pool)


@pytest.mark.parametrize("k", [0, -1, 1.5, "3"])
def test_a_number_of_rows_is_a_whole_one(k: int) -> None:
    with pytest.raises(InputError, match="k must be"):
        learner().ask(k)


def test_a_complaint_of_the_model_becomes_one_line_that_names_it() -> None:
    gaps = X.copy()
    gaps[:, 1] = np.nan
    made = ActiveLearner(LogisticRegression(), gaps, weights="lure")
    rows = made.ask(20)
    made.tell(rows, Y[rows])
    for job in (made.ask, made.fit):
        with pytest.raises(InputError, match=r"LogisticRegression.*NaN") as caught:
            job()
        assert "\n" not in str(caught.value)
    only_predicted = X.copy()
    only_predicted[next(row for row in range(60) if row not in rows)] = np.nan
    made = ActiveLearner(LogisticRegression(), only_predicted, weights="lure")
    made._state = learner_state(rows)
    with pytest.raises(InputError, match=r"LogisticRegression.*score.*NaN"):
        made.ask()


def test_what_the_trained_model_cannot_predict_is_said_in_one_line() -> None:
    made = learner()
    run(made, Y, 20)
    made.fit()
    with pytest.raises(InputError, match=r"LogisticRegression.*predict: .* 2 features"):
        made.predict(X[:, :2])
    tree = ActiveLearner(Ridge(), X, score="geometric", weights="none")
    run(tree, X[:, 0], 20)
    with pytest.raises(InputError, match=r"Ridge .*predict: .*predict_proba"):
        tree.fit().predict_proba(X)


def learner_state(rows: NDArray[np.int64]) -> Any:  # noqa: ANN401
    made = learner()
    made.tell(made.ask(20), Y[rows])
    return made._state


def test_a_complaint_of_ones_own_score_is_one_line_that_names_it() -> None:
    cases: list[tuple[Any, str]] = [
        (lambda model, X: np.ones(3), "3 numbers for the 60 rows"),
        (lambda model, X: np.full(60, np.nan), "NaN"),
        (lambda model, X: vars(model)["a"], "^<lambda> could not score the pool: KeyError: 'a'$"),
        (partial(lv.scores.entropy), "^partial could not score the pool: "),
        (_complains, "^_complains could not score the pool: AssertionError$"),
    ]
    for score, says in cases:
        made = learner(score=score)
        rows = made.ask(12)
        made.tell(rows, Y[rows])
        with pytest.raises(InputError, match=says):
            made.ask()


def _complains(model: object, X: object) -> float:
    raise AssertionError


class OnlyAnswers:
    """A model of one's own that says neither what it is nor how sure it is."""

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> Self:
        self.usual = np.sort(y)[len(y) // 2]
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        return np.full(len(X), self.usual)


def test_a_model_of_ones_own_shows_what_its_labels_are_only_when_they_come() -> None:
    made = ActiveLearner(OnlyAnswers(), X, score="variance", ensemble=3)
    rows = made.ask(12)
    made.tell(rows, Y[rows])
    with pytest.raises(InputError, match=r"classes.*'bald'"):
        made.ask()
    with pytest.raises(InputError, match=r"OnlyAnswers.*probabilities"):
        made.set_params(score="margin")


@pytest.mark.parametrize(
    ("model", "same_as"),
    [
        (LogisticRegression(), "entropy"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "entropy"),
        (Ridge(), "geometric"),
        (OnlyAnswers(), "geometric"),
    ],
)
def test_the_score_that_is_not_chosen_suits_the_model(model: Any, same_as: str) -> None:  # noqa: ANN401
    made, plain = (
        ActiveLearner(model, X, weights="none", score=score) for score in ("auto", same_as)
    )
    labels = X[:, 0] if isinstance(model, Ridge) else Y
    for one in (made, plain):
        run(one, labels, 20)
    np.testing.assert_array_equal(made.draws.probability, plain.draws.probability)
    assert np.ptp(made.draws.probability[10:]) > 0.001
    assert made.score == "auto"


def test_a_stack_that_predicts_only_once_it_is_trained_can_learn() -> None:
    stack = StackingClassifier([("one", LogisticRegression())], cv=2)
    made = ActiveLearner(stack, X, weights="none")
    assert not hasattr(stack, "predict")
    run(made, Y, 15)
    assert np.ptp(made.draws.probability[10:]) > 0.001
    assert np.mean(made.fit().predict(X) == Y) > 0.7


def test_a_score_may_be_a_function_of_the_model_and_the_pool() -> None:
    def near_the_boundary(model: LogisticRegression, rows: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(-np.abs(model.decision_function(rows)))

    made = learner(score=near_the_boundary, proposal="rank:2")
    run(made, Y, 25)
    assert np.ptp(made.draws.probability[10:]) > 0.01


def test_a_learner_is_cloned_without_its_draws_and_without_copying_the_pool() -> None:
    made = learner(score="margin", seed=4)
    run(made, Y, 15)
    copy = clone(made)
    assert copy.X_pool is X
    assert copy.model is not made.model
    assert len(copy) == 0
    for name in ("score", "seed", "weights", "proposal", "start", "floor", "ensemble"):
        assert copy.get_params()[name] == made.get_params()[name]
    assert made.set_params(floor=0.3).floor == 0.3
    for name in ("X_pool", "temperature"):
        with pytest.raises(InputError, match=f"set {name}"):
            made.set_params(**{name: X})


def test_parameters_of_the_model_are_seen_and_set_through_the_learner() -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression())
    made = ActiveLearner(model, X, weights="none")
    assert made.get_params()["model__logisticregression__C"] == 1.0
    assert not [name for name in made.get_params(deep=False) if "__" in name]
    made.set_params(model__logisticregression__C=10, floor=0.2)
    assert made.get_params()["model__logisticregression__C"] == 10
    assert made.floor == 0.2
    assert model.get_params()["logisticregression__C"] == 1.0  # it is copied, never changed
    assert clone(made).get_params()["model__logisticregression__C"] == 10
    made.set_params(model=LogisticRegression(), model__C=3)
    assert made.get_params()["model__C"] == 3


@pytest.mark.parametrize(
    ("model", "params", "says"),
    [
        (LogisticRegression(), {"model__Q": 1}, "set model__Q: .*LogisticRegression"),
        (OnlyAnswers(), {"model__C": 1}, "set model__C: .*OnlyAnswers"),
        (LogisticRegression(), {"model__C": 1, "floor": 7}, "floor must be"),
    ],
)
def test_parameters_of_the_model_that_cannot_be_set_change_nothing(
    model: Any,  # noqa: ANN401
    params: dict[str, Any],
    says: str,
) -> None:
    made = ActiveLearner(model, X, weights="none")
    with pytest.raises(InputError, match=says):
        made.set_params(**params)
    assert made.model is model
    assert made.floor == 0.3


def test_the_loss_that_weights_are_decided_by_can_be_chosen() -> None:
    made = learner(weights="auto")
    run(made, Y, 20)
    first = made.fit().verdict_
    assert first is not None
    assert first.loss == "brier"
    second = made.fit(loss="zero_one").verdict_
    assert second is not None
    assert second.loss == "zero_one"
    assert made.fit(loss="zero_one").verdict_ is second
    assert made.weights_ == "none"
    with pytest.raises(InputError, match=r"loss.*auto"):
        learner().fit(loss="hinge")  # type: ignore[arg-type]


@pytest.mark.parametrize("weights", ["lure", "pure", "none"])
def test_the_weights_of_the_last_fit_are_known(weights: str) -> None:
    made = learner(weights=weights)
    with pytest.raises(InputError, match=r"call fit\(\) first"):
        _ = made.weights_
    run(made, Y, 12)
    assert made.fit().weights_ == weights
    made.set_params(weights="auto")
    assert made.weights_ == weights


def test_the_rows_that_are_asked_for_are_the_callers_to_change() -> None:
    made = learner()
    rows = made.ask(5)
    rows[:] = 0
    assert len(set(made.draws.index.tolist())) == 5


def test_parameters_may_be_numpy_numbers_and_a_committee_a_tuple(tmp_path: Path) -> None:
    made = learner(seed=np.int64(3), start=np.int32(4), ensemble=np.int64(3), score="bald")
    run(made, Y, 15)
    made.save(tmp_path)
    committee = (LogisticRegression(), LogisticRegression(C=9))
    assert len(learner(ensemble=committee, score="bald").ask(3)) == 3


def test_a_regressor_has_no_classes() -> None:
    made = ActiveLearner(Ridge(), X, score="geometric", weights="none")
    run(made, X[:, 0], 12)
    assert not hasattr(made.fit(), "classes_")


def test_scikit_learn_sees_what_a_learner_is_and_whether_it_is_trained() -> None:
    made = learner()
    assert is_classifier(made)
    assert is_regressor(ActiveLearner(Ridge(), X))
    with pytest.raises(NotFittedError):
        check_is_fitted(made)
    run(made, Y, 20)
    check_is_fitted(made.fit())


def test_what_a_fit_shows_is_the_callers_to_change() -> None:
    made, same = learner(), learner()
    for one in (made, same):
        run(one, Y, 20)
        one.fit()
    for name in ("sample_weight_", "labels_", "index_", "classes_"):
        shown = getattr(made, name)
        shown[:] = shown[0]
    np.testing.assert_array_equal(made.predict(X), same.predict(X))
    np.testing.assert_array_equal(made.ask(5), same.ask(5))
    np.testing.assert_array_equal(made.fit().sample_weight_, same.fit().sample_weight_)


def test_a_model_that_is_assigned_is_judged_anew() -> None:
    made = learner(weights="auto")
    run(made, Y, 40)
    first = made.fit().verdict_
    made.model = LogisticRegression(C=0.01)
    assert made.fit().verdict_ is not first
    assert made.advise() is made.verdict_
    made.floor = 2.0
    with pytest.raises(InputError, match="floor"):
        made.ask()


def test_a_loop_ends_when_the_pool_is_used_up_even_if_some_cannot_be_labelled() -> None:
    made = ActiveLearner(LogisticRegression(), X[:12], weights="none")
    made.tell(made.ask(1), None)
    with pytest.raises(InputError, match=r"All 12 rows.* 11 of"):
        run(made, Y, 40)
    assert len(made) == 11


def test_text_is_refused_where_numbers_are_predicted_before_more_is_told() -> None:
    made = ActiveLearner(make_pipeline(StandardScaler(), Ridge()), X, score="uniform")
    rows = made.ask(2)
    with pytest.raises(InputError, match=r"Pipeline.*numbers.*\('a'\)"):
        made.tell(rows, ["a", None])
    made.tell(rows, [0.5, None])
    assert len(made) == 1


def test_one_number_an_item_is_refused_where_rows_of_features_are_wanted() -> None:
    for model in (LogisticRegression(), Ridge(), make_pipeline(StandardScaler(), Ridge())):
        with pytest.raises(InputError, match=r"reshape\(-1, 1\)"):
            ActiveLearner(model, X[:, 0])
    looked_up = make_pipeline(FunctionTransformer(lambda row: X[row]), LogisticRegression())
    made = ActiveLearner(looked_up, np.arange(60), weights="lure")
    run(made, Y, 15)
    assert (made.fit().predict(np.arange(60)) == Y).mean() > 0.8


def test_a_model_that_names_no_classes_is_scored_trained_and_advised_on() -> None:
    class Unnamed:
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: ANN401
            self.inside = LogisticRegression().fit(X, y, sample_weight)
            return self

        def predict(self, X: Any) -> Any:  # noqa: ANN401
            return self.inside.predict(X)

        def predict_proba(self, X: Any) -> Any:  # noqa: ANN401
            return self.inside.predict_proba(X)

    rare = Y.copy()
    made = ActiveLearner(Unnamed(), X, weights="auto")
    rare[made.ask(1)] = "rare"  # of which some folds see nothing
    made.tell(made.pending, "rare")
    run(made, rare, 25)
    made.fit()
    assert made.classes_.tolist() == ["ham", "rare", "spam"]
    assert made.should_stop(0.5).after == 20
