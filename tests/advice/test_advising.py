"""Advice from end to end: models and inputs of all kinds, and where nothing can be said."""

import json
import re
from typing import Any, Literal

import numpy as np
import pytest

import levelled as lv
from advice.samples import Array, Counted, WeightedMean, bent_line, drawn, two_classes
from levelled._check import FloatArray
from levelled.advice import Verdict, advise
from levelled.advice.evidence import assign_folds
from levelled.errors import InputError, LevelledError
from levelled.models import make_task

pytest.importorskip("sklearn")

from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier


def test_a_line_through_a_curve_drawn_at_one_end_is_to_be_corrected() -> None:
    found = advise(LinearRegression(), *bent_line(seed=1))
    assert found.advice == "correct"
    assert found.share > 0.5
    assert found.loss == "squared"
    assert re.match(r"(\d+% c|C)orrected: ", str(found))
    assert re.search(r"-?\d+ \+- \d+% \(40 labels, .*\d+\)\.$", str(found))


@pytest.mark.parametrize(
    ("number", "on_labels"),
    [(2, r"gain \S+,.* \S+ of chance"), (4, r"lose \S+")],
)
def test_labels_without_a_gain_are_not_corrected_and_that_is_said_as_clearly(
    number: int, on_labels: str
) -> None:
    found = advise(LogisticRegression(), *two_classes(seed=number))
    assert (found.share, found.advice) == (0.0, "do not correct")
    assert re.match(f"Not corrected: .*{on_labels}.*; held-out", str(found))


@pytest.mark.parametrize(
    ("share", "sentence"),
    [(0.0, "Not corrected: so."), (0.638, "64% corrected: so."), (1.0, "Corrected: so.")],
)
def test_the_sentence_begins_with_the_share(share: float, sentence: str) -> None:
    assert str(Verdict("correct", "so.", 60, "brier", share=share)) == sentence


def test_a_decision_takes_twelve_fits() -> None:
    Counted.n_fits = 0
    assert advise(Counted(), *bent_line()).held_out_share is not None
    assert Counted.n_fits == 12


@pytest.mark.parametrize("loss", ["brier", "log_loss"])
def test_probabilities_are_corrected_by_either_of_their_losses(
    loss: Literal["brier", "log_loss"],
) -> None:
    found = advise(LogisticRegression(), *two_classes(), loss=loss)
    assert found.held_out_share is not None
    assert np.isfinite(found.held_out_share).all()
    assert found.held_out_share.stderr > 0
    assert 0 <= found.share <= 1


def test_for_the_error_rate_plain_training_is_best() -> None:
    found = advise(LogisticRegression(), *two_classes(), loss="zero_one")
    assert (found.share, found.advice) == (0.0, "do not correct")
    assert str(found).startswith("Not corrected: the error")
    assert list(found.risks) == ["naive"]


def test_the_same_question_has_the_same_answer() -> None:
    X, y, draws = two_classes()
    forest = RandomForestClassifier(3)
    first, second = (advise(forest, X, y, draws, folds=3, seed=3) for _ in range(2))
    assert first.as_dict() == second.as_dict()
    assert forest.random_state is None
    assert not hasattr(forest, "estimators_")


def test_a_fitted_model_is_asked_afresh_and_left_alone() -> None:
    X, y, draws = bent_line()
    model = LinearRegression().fit(X[:5], y[:5])
    before = model.coef_.copy()
    assert advise(model, X, y, draws).as_dict() == advise(LinearRegression(), X, y, draws).as_dict()
    assert (model.coef_ == before).all()


def test_a_verdict_is_ready_for_json() -> None:
    found = advise(LogisticRegression(), *two_classes())
    told = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert told["advice"] == found.advice
    assert told["risks"]["corrected"]["value"] == found.risks["corrected"].value
    assert told["held_out_share"].keys() == {"value", "stderr"}
    assert {rule["name"] for rule in told["rules"]} >= {"proposal", "overfitting", "imbalance"}
    assert "approximate" in told["caveat"]


def test_a_model_that_takes_no_weights_cannot_be_changed_by_them() -> None:
    found = advise(KNeighborsClassifier(1), *two_classes())
    assert found.advice == "do not correct"
    assert found.because.startswith("KNeighborsClassifier takes no sample_weight")
    assert list(found.risks) == ["naive"]
    assert found.active_learning_bias is not None


def test_uniform_draws_leave_nothing_to_correct() -> None:
    X, y, _ = bent_line()
    uniform = lv.Draws(np.arange(40), 1 / np.arange(200, 160, -1), pool_size=200)
    found = advise(LinearRegression(), X, y, uniform)
    assert str(found).startswith("Not corrected: ")
    assert "uniform" in str(found)


def test_the_whole_pool_leaves_nothing_to_correct() -> None:
    x = np.linspace(-1, 1, 30)
    draws = drawn(np.exp(x), 30, seed=0)
    found = advise(LinearRegression(), x[draws.index, None], x[draws.index] ** 2, draws)
    assert found.advice == "do not correct"
    assert found.because.startswith("the whole pool")
    json.dumps(found.as_dict(), allow_nan=False)


def test_an_interpolating_model_is_told_to_be_one() -> None:
    found = advise(DecisionTreeClassifier(), *two_classes(seed=2))
    rule = next(rule for rule in found.rules if rule.name == "overfitting")
    assert rule.measured["training_risk"] == 0
    assert rule.measured["share_of_risk"] == pytest.approx(1)
    assert found.advice != "correct"


def test_few_labels_are_not_enough() -> None:
    found = advise(LinearRegression(), *bent_line(budget=29))
    assert found.advice == "not enough labels"
    assert str(found).startswith("Not corrected: 30 labels")
    assert "29" in str(found)
    assert found.risks == {}
    assert found.held_out_share is None
    assert advise(LinearRegression(), *bent_line(budget=30)).risks


@pytest.mark.parametrize("model", [LogisticRegression(), LinearRegression()])
def test_labels_that_are_all_the_same_are_not_enough(
    model: LogisticRegression | LinearRegression,
) -> None:
    X, _, draws = bent_line()
    found = advise(model, X, np.ones(40, dtype=int), draws)
    assert found.advice == "not enough labels"
    assert found.because.startswith("all 40 labels are 1")


def test_fewer_labels_of_other_classes_than_folds_are_not_enough() -> None:
    X, _, draws = two_classes(budget=40)
    labels = np.array(["rare"] * 4 + ["common"] * 36)
    found = advise(LogisticRegression(), X, labels, draws)
    assert (found.advice, found.share) == ("not enough labels", 0)
    assert found.because.startswith("4 of 40 labels")
    labels[4] = "rare"
    assert advise(LogisticRegression(), X, labels, draws).risks


def test_a_fold_left_without_a_class_answers_with_the_others() -> None:
    X, _, draws = two_classes(budget=40)
    labels = np.array(["rare", *["other"] * 6, *["common"] * 33])
    found = advise(LogisticRegression(), X, labels, draws)
    assert np.isfinite(found.risks["corrected"].value)
    assert 0 <= found.share <= 1


@pytest.mark.parametrize("loss", ["brier", "log_loss", "zero_one"])
def test_a_class_that_a_fold_never_saw_has_a_finite_loss(
    loss: Literal["brier", "log_loss", "zero_one"],
) -> None:
    X, names, draws = two_classes()
    labels = names.astype(object)
    labels[0] = "egg"
    found = advise(LogisticRegression(), X, labels, draws, loss=loss)
    assert np.isfinite(found.risks["naive"].value)
    assert found.loss == loss


def test_the_loss_follows_from_the_model() -> None:
    X, y, draws = two_classes()
    assert advise(LogisticRegression(), X, y, draws).loss == "brier"
    assert advise(RidgeClassifier(), X, y, draws).loss == "zero_one"
    assert advise(WeightedMean(), *bent_line()).loss == "squared"


def test_an_own_loss_is_given_labels_and_answers() -> None:
    X, y, draws = bent_line()

    def cubed(labels: Array, answers: Array) -> FloatArray:
        return np.asarray(np.abs(labels - answers) ** 3)

    own = advise(LinearRegression(), X, y, draws, loss=cubed)
    plain = advise(LinearRegression(), X, y, draws, loss="absolute")
    assert own.loss == "own"
    assert own.risks["naive"].value != plain.risks["naive"].value


def test_an_own_loss_that_fails_is_named_in_one_line() -> None:
    X, y, draws = bent_line()

    def broken(labels: Array, answers: Array) -> FloatArray:
        raise KeyError("prices")

    def short(labels: Array, answers: Array) -> FloatArray:
        return np.zeros(3)

    with pytest.raises(InputError, match=r"^broken .* 40 .*KeyError: 'prices'"):
        advise(LinearRegression(), X, y, draws, loss=broken)
    with pytest.raises(InputError, match=r"^The loss short"):
        advise(LinearRegression(), X, y, draws, loss=short)


def test_tables_sparse_matrices_and_lists_give_what_arrays_give() -> None:
    pandas, sparse = pytest.importorskip("pandas"), pytest.importorskip("scipy.sparse")
    X, y, draws = two_classes()
    expected = advise(LogisticRegression(), X, y, draws, folds=4)
    frame = pandas.DataFrame(X, index=np.arange(60)[::-1])
    for rows, labels in ((frame, pandas.Series(y)), (sparse.csr_matrix(X), y.tolist())):
        found = advise(LogisticRegression(), rows, labels, draws, folds=4)
        assert found.advice == expected.advice
        assert found.share == pytest.approx(expected.share, rel=1e-3)


def test_labels_whose_own_index_has_the_drawn_rows_in_another_order_are_refused() -> None:
    pandas = pytest.importorskip("pandas")
    X, y, draws = two_classes()
    labels = pandas.Series(y, index=draws.index)
    with pytest.raises(InputError, match=r"y\.loc"):
        advise(LogisticRegression(), X, labels.iloc[::-1], draws, folds=4)


def test_a_pipeline_over_texts_is_advised_on() -> None:
    _, y, draws = two_classes()
    texts = [f"{name} and something" if at % 4 else "nothing" for at, name in enumerate(y)]
    found = advise(make_pipeline(CountVectorizer(), MultinomialNB()), texts, y, draws)
    assert set(found.risks) == {"naive", "corrected"}


def test_weights_reach_the_last_step_of_a_pipeline() -> None:
    X, y, draws = bent_line()
    piped = advise(make_pipeline(StandardScaler(), LinearRegression()), X, y, draws)
    plain = advise(LinearRegression(), X, y, draws)
    assert piped.share == pytest.approx(plain.share)


class Stubborn(WeightedMean):
    """Has an argument for weights, and refuses to use it."""

    def fit(self, X: object, y: FloatArray, sample_weight: FloatArray | None = None) -> None:
        if sample_weight is not None:
            raise NotImplementedError("weights are not\nsupported yet")
        super().fit(X, y)


def test_a_model_that_refuses_weights_is_one_that_takes_none() -> None:
    found = advise(Stubborn(), *bent_line())
    assert str(found).startswith("Not corrected: Stubborn takes")
    assert "sample_weight" in str(found)
    assert list(found.risks) == ["naive"]


class Fair(WeightedMean):
    """Cannot bear that one label counts more than another."""

    def fit(self, X: object, y: FloatArray, sample_weight: FloatArray | None = None) -> None:
        if sample_weight is not None and np.ptp(sample_weight):
            raise ValueError("unequal")
        super().fit(X, y)


def test_a_model_that_fails_is_named_in_one_line() -> None:
    X, y, draws = bent_line()
    with pytest.raises(LevelledError, match=r"^Fair .*corrective weights"):
        advise(Fair(), X, y, draws)


def test_gaps_in_the_features_are_told_in_one_line_whether_met_in_training_or_after() -> None:
    X, y, draws = bent_line()
    fold = assign_folds(make_task(LinearRegression(), y, "auto"), 5, rng=np.random.default_rng(0))
    for first_fold, message in ((False, "fitted without"), (True, "predict")):
        holed = X.copy()
        holed[np.flatnonzero((fold == 0) == first_fold)[0]] = np.nan
        with pytest.raises(InputError, match=f"^LinearRegression .*{message}.*NaN"):
            advise(LinearRegression(), holed, y, draws)


class OneTooFew(WeightedMean):
    def predict(self, X: FloatArray) -> FloatArray:
        return super().predict(X)[1:]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"y": np.zeros(39)}, r"40 draws, 40 rows.* 39 "),
        ({"X": np.zeros((7, 1))}, r"40 draws, 7 rows.* 40 "),
        ({"draws": np.arange(40)}, "must be Draws"),
        ({"folds": 1}, r"folds.*at least 2"),
        ({"folds": "many"}, r"folds.*whole"),
        ({"model": None}, r"^model .*NoneType"),
        ({"model": StandardScaler()}, r"StandardScaler.*predict"),
        ({"model": LinearRegression}, r"LinearRegression.*write LinearRegression\(\)"),
        ({"loss": "hinge"}, r"loss.*brier"),
        ({"loss": "brier"}, r'brier.*loss="squared"'),
        ({"y": [[1.0]] * 40}, r"\by\b.*axis"),
        ({"y": ["a"] * 40}, r"\by\b.*numbers"),
        ({"X": None}, r"\bX\b.*NoneType"),
        ({"test": 5}, r"test.*int 5"),
        ({"weights": np.ones(39)}, r"40 labels.*40 weights.*39"),
        ({"weights": np.zeros(40)}, r"weights.*above 0"),
        ({"seed": -1}, r"seed.* -1"),
        ({"seed": "a"}, r"seed.*'a'"),
        ({"seed": None}, r"seed.*None"),
        ({"model": OneTooFew()}, r"OneTooFew.* 8 rows"),
    ],
)
def test_what_cannot_be_advised_on_is_refused(changed: dict[str, Any], message: str) -> None:
    X, y, draws = bent_line()
    with pytest.raises(InputError, match=message):
        advise(**{"model": LinearRegression(), "X": X, "y": y, "draws": draws} | changed)


def test_a_seed_may_be_larger_than_those_of_scikit_learn() -> None:
    X, y, draws = two_classes()
    forest = RandomForestClassifier(2)
    large, small = (advise(forest, X, y, draws, folds=2, seed=seed) for seed in (2**32 + 5, 5))
    assert large.n_labels == small.n_labels == 60


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (1e6, 0.0), (1.0, 1e4)])
def test_models_that_are_right_either_way_do_not_differ_by_their_rounding(
    number: int, scale: float, shift: float
) -> None:
    rng = np.random.default_rng(number)
    X = scale * rng.standard_normal((200, 4)) + shift
    draws = drawn(np.exp(rng.standard_normal(200)), 40, number)
    found = advise(LinearRegression(), X[draws.index], (X @ [1, 2, 3, 4])[draws.index], draws)
    assert str(found).startswith("Not corrected: ")
    assert "same predictions" in str(found)


def test_probabilities_are_needed_for_their_losses() -> None:
    X, y, draws = two_classes()
    with pytest.raises(InputError, match=r'RidgeClassifier.*loss="zero_one"'):
        advise(RidgeClassifier(), X, y, draws, loss="log_loss")


def test_an_own_loss_of_classes_is_served_best_by_plain_training() -> None:
    def missed(labels: Array, predicted: Array) -> FloatArray:
        return np.asarray(labels != predicted, dtype=float)

    found = advise(LogisticRegression(), *two_classes(), loss=missed)
    assert found.because.startswith("a loss of predicted classes")


def test_where_the_labels_have_their_zero_does_not_matter() -> None:
    X, y, draws = bent_line()
    here, far = (advise(LinearRegression(), X, y + zero, draws) for zero in (0.0, 1e10))
    assert here.advice == far.advice
    assert here.share == pytest.approx(far.share, abs=0.01)
