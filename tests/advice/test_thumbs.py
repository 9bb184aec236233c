"""The rules of thumb of the paper's section 8."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import levelled as lv
from advice.samples import WeightedMean, bent_line, drawn, two_classes
from levelled._check import FloatArray
from levelled.advice import Thumb, Verdict, advise
from levelled.advice.correcting import ALARM, apply_thumbs
from levelled.advice.evidence import CrossFit, assign_folds, cross_fit, measure_evidence
from levelled.errors import InputError
from levelled.models import PredictionTask, make_task

pytest.importorskip("sklearn")

from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.tree import DecisionTreeClassifier


def rule(found: Verdict, name: str) -> Thumb:
    return next(rule for rule in found.rules if rule.name == name)


def measured(found: dict[str, CrossFit], task: PredictionTask, draws: lv.Draws) -> Verdict:
    return measure_evidence(found, task, draws, lv.lure_weights(draws))


def test_the_rules_come_in_the_order_of_the_paper() -> None:
    X, y, draws = bent_line()
    names = ["proposal", "overfitting", "imbalance", "test time"]
    assert [rule.name for rule in advise(LinearRegression(), X, y, draws).rules] == names
    tested = advise(LinearRegression(), X, y, draws, test=X)
    assert [rule.name for rule in tested.rules] == [*names[:3], "shift", names[3]]


def test_a_proposal_is_judged_by_the_variance_that_uniform_draws_would_have() -> None:
    X, y, draws = bent_line()
    task = make_task(LinearRegression(), y, "auto")
    fold = assign_folds(task, 5, rng=np.random.default_rng(0))
    weights = lv.lure_weights(draws)
    losses = cross_fit(LinearRegression(), task, X, fold, weights).held_out
    risk = lv.estimate(losses, draws, interval="none")
    assert risk.value is not None
    assert risk.stderr is not None
    spread = np.mean(weights * losses**2) - risk.value**2 + risk.stderr**2
    uniform = spread * (1 / 40 - 1 / 200)
    found = rule(advise(LinearRegression(), X, y, draws), "proposal")
    assert found.measured["efficiency"] == pytest.approx(uniform / risk.stderr**2)


def test_uniform_draws_speak_neither_for_nor_against_correcting() -> None:
    X, y, _ = bent_line()
    uniform = lv.Draws(np.arange(40), 1 / np.arange(200, 160, -1), pool_size=200)
    found = rule(advise(LinearRegression(), X, y, uniform), "proposal")
    assert found.measured == {"efficiency": 1.0}
    assert "uniform" in found.says


@pytest.mark.parametrize(
    ("power", "says"),
    [
        (-0.5, "far from"),
        (0.02, "uniform"),
        (0.5, "close to"),
    ],
)
def test_a_proposal_is_close_to_the_optimal_one_where_it_follows_the_losses(
    power: float, says: str
) -> None:
    losses = np.exp(np.random.default_rng(3).normal(size=400))
    draws = drawn(losses**power, 60, seed=0)
    own = losses[draws.index]
    found = {"naive": CrossFit(own, own, own, WeightedMean())}
    task = PredictionTask(own, None, "squared")
    proposal, *_ = apply_thumbs(
        found, measured(found, task, draws), task, draws, lv.lure_weights(draws), None
    )
    assert says in proposal.says


def test_imbalance_compares_the_labels_with_the_pool() -> None:
    X, y, draws = two_classes()
    found = rule(advise(LogisticRegression(), X, y, draws), "imbalance")
    weights = lv.lure_weights(draws)
    in_pool = {name: weights[y == name].sum() / weights.sum() for name in ("ham", "spam")}
    rarest = min(in_pool, key=lambda name: in_pool[name])
    assert found.measured["rarest_in_pool"] == pytest.approx(in_pool[rarest])
    assert found.measured["rarest_drawn"] == pytest.approx(np.mean(y == rarest))
    assert f"class {rarest}" in found.says


def test_overfitting_is_said_to_be_larger_where_it_is() -> None:
    found = advise(DecisionTreeClassifier(max_depth=4), *two_classes())
    assert found.active_learning_bias is not None
    assert found.overfitting_bias is not None
    assert abs(found.active_learning_bias) < found.overfitting_bias
    assert "larger than" in rule(found, "overfitting").says


def test_no_rule_advises_for_or_against_what_the_verdict_says() -> None:
    for model, sample in ((LinearRegression(), bent_line()), (LogisticRegression(), two_classes())):
        for each in advise(model, *sample).rules:
            assert "for correcting" not in each.says
            assert "against" not in each.says


def test_at_test_time_the_weights_are_always_used() -> None:
    found = rule(advise(LinearRegression(), *bent_line()), "test time")
    assert "always use R_LURE" in found.says


@pytest.mark.parametrize("model", [LogisticRegression(), RidgeClassifier()])
def test_rows_from_elsewhere_are_noticed(model: LogisticRegression | RidgeClassifier) -> None:
    X, y, draws = two_classes()
    elsewhere = np.random.default_rng(3).normal(size=(500, 2)) + np.array([2.0, 0.0])
    moved = rule(advise(model, X, y, draws, test=elsewhere), "shift")
    assert abs(moved.measured["standard_errors"]) > 5
    assert "no weights correct" in moved.says


class Softmax:
    """A classifier that has nothing to learn: features are log-odds."""

    def __init__(self, n_classes: int) -> None:
        self.classes_ = np.arange(n_classes)

    def fit(self, X: object, y: object) -> None:
        raise AssertionError("it is never trained here")

    def predict(self, X: FloatArray) -> Any:  # noqa: ANN401
        return X.argmax(axis=1)

    def predict_proba(self, X: FloatArray) -> FloatArray:
        odds: FloatArray = np.exp(X)
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))


@pytest.mark.parametrize(("n_classes", "n_rows"), [(2, 3), (40, 200)])
def test_rows_of_the_same_kind_are_taken_for_others_as_rarely_as_promised(
    seed: int, n_classes: int, n_rows: int
) -> None:
    # Predictions are not quite normal, so that twice the promised rate is allowed; then more than
    # `most` alarms come in one run of a million or fewer.
    n, M, N = 200, 60, 100_000
    most = stats.binom.isf(1e-6, n, 2 * ALARM)
    rng = np.random.default_rng([seed, n_classes, n_rows])
    model, draws = Softmax(n_classes), lv.Draws(np.arange(M), 1 / np.arange(N, N - M, -1), N)
    task = PredictionTask(rng.integers(n_classes, size=M), model.classes_, "brier")
    losses, alarms = rng.random(M), 0  # which do not matter here
    for _ in range(n):
        X, test = rng.normal(size=(M, n_classes)), rng.normal(size=(n_rows, n_classes))
        found = {"naive": CrossFit(losses, losses, model.predict_proba(X), model)}
        shift = apply_thumbs(
            found, measured(found, task, draws), task, draws, lv.lure_weights(draws), test
        )[3]
        alarms += not shift.says.endswith("no sign of a shift.")
    assert alarms <= most


def test_answers_that_differ_by_rounding_alone_are_the_same() -> None:
    draws = drawn(np.ones(50), 20, seed=0)
    model = WeightedMean()
    model.fit(None, np.full(3, 0.1))
    answers, task = np.full(20, 0.1), PredictionTask(np.zeros(20), None, "squared")
    found = {"naive": CrossFit(answers, answers, answers, model)}
    shift = apply_thumbs(
        found,
        measured(found, task, draws),
        task,
        draws,
        lv.lure_weights(draws),
        np.zeros((7, 1)),
    )[3]
    assert shift.measured == {"standard_errors": 0.0}
    assert shift.says.endswith("no sign of a shift.")


def test_with_labels_the_risks_are_compared() -> None:
    X, y, draws = bent_line()
    x = np.linspace(-1, 2, 200)
    near = rule(advise(LinearRegression(), X, y, draws, test=(x[:, None], x**2)), "shift")
    far = rule(advise(LinearRegression(), X, y, draws, test=(x[:, None] + 5, x**2)), "shift")
    assert abs(near.measured["risk_gap"]) < abs(far.measured["risk_gap"])
    assert near.says.endswith("no sign of a shift.")
    assert abs(near.measured["standard_errors"]) < 3
    assert abs(far.measured["standard_errors"]) > 3
    assert "larger than" in far.says
    assert "no weights correct" in far.says


def test_a_shift_smaller_than_the_active_learning_bias_does_not_dwarf_it() -> None:
    losses = np.exp(np.random.default_rng(3).normal(size=400))
    draws = drawn(losses**0.9, 60, seed=0)
    own = losses[draws.index]
    found = {"naive": CrossFit(own, own, own, WeightedMean())}  # it answers 0
    task = PredictionTask(np.sqrt(own), None, "squared")
    worse = np.sqrt(1.2 * np.tile(losses, 100))
    shift = apply_thumbs(
        found,
        measured(found, task, draws),
        task,
        draws,
        lv.lure_weights(draws),
        (np.zeros((40_000, 1)), worse),
    )[3]
    assert shift.measured["standard_errors"] > 3
    assert "smaller than" in shift.says
    assert "no weights correct" in shift.says


def test_a_test_sample_that_does_not_fit_is_refused() -> None:
    X, y, draws = two_classes()
    with pytest.raises(InputError, match=r"60 rows.* 2 labels"):
        advise(LogisticRegression(), X, y, draws, test=(X, ["ham", "spam"]))
    with pytest.raises(InputError, match="such as egg"):
        advise(LogisticRegression(), X, y, draws, test=(X[:2], ["ham", "egg"]))
    for wrong in ((X, y, y), np.zeros((0, 2)), X[:1], (X[:1], y[:1])):
        with pytest.raises(InputError, match=r"test.*pair"):
            advise(LogisticRegression(), X, y, draws, test=wrong)
