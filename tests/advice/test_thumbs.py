"""The rules of thumb of the paper's section 8."""

import numpy as np
import pytest

import levelled as lv
from advice.samples import WeightedMean, bent_line, drawn, two_classes
from levelled.advice import Thumb, Verdict, advise
from levelled.advice.crossfit import Crossed, crossed, folds_of
from levelled.advice.evidence import weighed
from levelled.advice.thumbs import thumbs
from levelled.errors import InputError
from levelled.models import Problem, posed

pytest.importorskip("sklearn")

from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.tree import DecisionTreeClassifier

RNG = np.random.default_rng(3)


def rule(found: Verdict, name: str) -> Thumb:
    return next(rule for rule in found.rules if rule.name == name)


def test_the_rules_come_in_the_order_of_the_paper() -> None:
    X, y, draws = bent_line()
    names = ["proposal", "overfitting", "imbalance", "test time"]
    assert [rule.name for rule in advise(LinearRegression(), X, y, draws).rules] == names
    tested = advise(LinearRegression(), X, y, draws, test=X)
    assert [rule.name for rule in tested.rules] == [*names[:3], "shift", names[3]]


def test_a_proposal_is_judged_by_the_variance_that_uniform_draws_would_have() -> None:
    X, y, draws = bent_line()
    problem = posed(LinearRegression(), y, "auto")
    fold = folds_of(problem, 10, rng=np.random.default_rng(0))
    weights = {"lure": lv.lure_weights(draws)}
    losses = crossed(LinearRegression(), problem, X, fold, weights)["lure"].held_out
    risk = lv.estimate(losses, draws, interval="none")
    assert risk.value is not None
    assert risk.stderr is not None
    spread = np.mean(weights["lure"] * losses**2) - risk.value**2 + risk.stderr**2
    uniform = spread * (1 / 40 - 1 / 200)
    found = rule(advise(LinearRegression(), X, y, draws), "proposal")
    assert found.measured["efficiency"] == pytest.approx(uniform / risk.stderr**2)


def test_uniform_draws_speak_neither_for_nor_against_correcting() -> None:
    X, y, _ = bent_line()
    uniform = lv.Draws(np.arange(40), 1 / np.arange(200, 160, -1), pool_size=200)
    found = rule(advise(LinearRegression(), X, y, uniform), "proposal")
    assert found.measured == {"efficiency": 1.0}
    assert found.says == "The draws weigh as uniform ones do: there is nothing to correct."


@pytest.mark.parametrize(
    ("power", "says"),
    [
        (-0.5, "far from the optimal one: against correcting."),
        (0.02, "about as well as uniform ones: neither for nor against."),
        (0.5, "on the way to the optimal one: for correcting."),
    ],
)
def test_a_proposal_speaks_for_correcting_where_it_follows_the_losses(
    power: float, says: str
) -> None:
    losses = np.exp(np.random.default_rng(3).normal(size=400))
    draws = drawn(losses**power, 60, seed=0)
    own = losses[draws.index]
    found = {"naive": Crossed(own, own, own, WeightedMean())}
    problem = Problem(own, None, "squared")
    proposal, *_ = thumbs(found, weighed(found, problem, draws), problem, draws, None)
    assert proposal.says.endswith(says)


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
    assert rule(found, "overfitting").says == (
        "Overfitting bias is larger than active learning bias: against correcting."
    )


def test_at_test_time_the_weights_are_always_used() -> None:
    found = rule(advise(LinearRegression(), *bent_line()), "test time")
    assert "always use R_LURE" in found.says


@pytest.mark.parametrize("model", [LogisticRegression(), RidgeClassifier()])
def test_rows_from_elsewhere_are_noticed(model: LogisticRegression | RidgeClassifier) -> None:
    X, y, draws = two_classes()
    same = RNG.normal(size=(500, 2))
    alike = rule(advise(model, X, y, draws, test=same), "shift")
    assert abs(alike.measured["standard_errors"]) < 5
    moved = rule(advise(model, X, y, draws, test=same + np.array([2.0, 0.0])), "shift")
    assert abs(moved.measured["standard_errors"]) > 5
    assert moved.says.endswith("against correcting.")


def test_with_labels_the_risks_are_compared() -> None:
    X, y, draws = bent_line()
    x = np.linspace(-1, 2, 200)
    near = rule(advise(LinearRegression(), X, y, draws, test=(x[:, None], x**2)), "shift")
    far = rule(advise(LinearRegression(), X, y, draws, test=(x[:, None] + 5, x**2)), "shift")
    assert abs(near.measured["risk_gap"]) < abs(far.measured["risk_gap"])
    assert near.says.endswith("no sign of a shift.")
    assert abs(near.measured["standard_errors"]) < 3
    assert abs(far.measured["standard_errors"]) > 3
    assert far.says.endswith("which it would dwarf: against correcting.")


def test_a_shift_smaller_than_the_active_learning_bias_does_not_dwarf_it() -> None:
    losses = np.exp(np.random.default_rng(3).normal(size=400))
    draws = drawn(losses**0.9, 60, seed=0)
    own = losses[draws.index]
    found = {"naive": Crossed(own, own, own, WeightedMean())}  # it answers 0
    problem = Problem(np.sqrt(own), None, "squared")
    worse = np.sqrt(1.2 * np.tile(losses, 100))
    shift = thumbs(
        found, weighed(found, problem, draws), problem, draws, (np.zeros((40_000, 1)), worse)
    )[3]
    assert shift.measured["standard_errors"] > 3
    assert shift.says.endswith("less than the active learning bias: for correcting.")


def test_a_test_sample_that_does_not_fit_is_refused() -> None:
    X, y, draws = two_classes()
    with pytest.raises(InputError, match="test has 60 rows and 2 labels"):
        advise(LogisticRegression(), X, y, draws, test=(X, ["ham", "spam"]))
    with pytest.raises(InputError, match="such as egg"):
        advise(LogisticRegression(), X, y, draws, test=(X[:2], ["ham", "egg"]))
    for wrong in ((X, y, y), np.zeros((0, 2))):
        with pytest.raises(InputError, match="test must be rows, one or more, or a pair"):
            advise(LogisticRegression(), X, y, draws, test=wrong)
