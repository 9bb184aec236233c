"""Blends: what they predict, what they are made of, and how far a learner corrects."""

from math import isfinite
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import get_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import levelled as lv
from advice.samples import Array, Counted, bent_line, two_classes
from contracts.learners import run
from levelled.advice.evidence import inclusion_weights
from levelled.errors import InputError
from levelled.learning import ActiveLearner, Blend, blend

RNG = np.random.default_rng(0)
POOL = RNG.normal(size=(200, 2))
CURVE = POOL[:, 0] ** 2 + POOL[:, 1] + 0.1 * RNG.normal(size=200)


def three_classes() -> tuple[Array, Array, lv.Draws]:
    X, names, draws = two_classes()
    return X, np.where(X[:, 1] > 1, "egg", names), draws


def partly(model: Any, sample: tuple[Array, Array, lv.Draws]) -> Blend:  # noqa: ANN401
    """A blend with a share between 0 and 1."""
    X, y, draws = sample
    made = blend(model, X, y, draws)
    assert 0 < made.share < 1
    return made


def learner(**more: Any) -> ActiveLearner:  # noqa: ANN401
    made = ActiveLearner(Ridge(), POOL, **{"weights": "auto", "proposal": "boltzmann:2", **more})
    run(made, CURVE, 60, batch=10)
    return made


def test_a_blend_of_regressors_is_the_mean_of_their_predictions() -> None:
    X, y, draws = bent_line(seed=1)
    made = partly(LinearRegression(), (X, y, draws))
    plain = LinearRegression().fit(X, y)
    corrected = LinearRegression().fit(X, y, lv.lure_weights(draws))
    expected = (1 - made.share) * plain.predict(X) + made.share * corrected.predict(X)
    np.testing.assert_allclose(made.predict(X), expected)
    assert made.model is made
    assert repr(made) == f"Blend(LinearRegression, {made.share:.0%} corrected)"
    with pytest.raises(AttributeError, match=r"LinearRegression.*classifier"):
        made.predict_proba(X)


def test_a_blend_of_classifiers_is_the_mean_of_their_probabilities() -> None:
    X, y, draws = two_classes()
    made = partly(LogisticRegression(), (X, y, draws))
    weights = lv.lure_weights(draws)
    plain = LogisticRegression().fit(X, y).predict_proba(X)
    corrected = LogisticRegression().fit(X, y, weights / weights.mean()).predict_proba(X)
    expected = (1 - made.share) * plain + made.share * corrected
    np.testing.assert_allclose(made.predict_proba(X), expected)
    np.testing.assert_array_equal(made.predict(X), made.classes_[expected.argmax(axis=1)])


def test_one_model_is_the_better_side_of_the_share() -> None:
    X, y, draws = bent_line(seed=1)
    both = blend(LinearRegression(), X, y, draws)
    one = blend(LinearRegression(), X, y, draws, single=True)
    assert both.share > 0.5
    assert one.share == 1
    assert one.verdict.share == both.share
    assert one.model is one.corrected
    weighted = LinearRegression().fit(X, y, lv.lure_weights(draws))
    np.testing.assert_allclose(one.predict(X), weighted.predict(X))


def test_without_a_share_the_plain_model_predicts_alone() -> None:
    X, y, draws = two_classes(seed=4)
    made = blend(LogisticRegression(), X, y, draws)
    assert made.share == 0
    assert made.model is made.plain
    assert made.corrected is not None
    np.testing.assert_array_equal(made.predict(X), LogisticRegression().fit(X, y).predict(X))


def test_few_labels_train_plainly_with_one_fit() -> None:
    Counted.n_fits = 0
    few = blend(Counted(), *bent_line(budget=29))
    assert (few.share, few.corrected, Counted.n_fits) == (0.0, None, 1)
    assert few.verdict.advice == "not enough labels"


def test_the_models_of_the_decision_are_those_of_the_blend() -> None:
    Counted.n_fits = 0
    blend(Counted(), *bent_line())
    assert Counted.n_fits == 12


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(StandardScaler(), LogisticRegression()),
        RandomForestClassifier(5),
        RidgeClassifier(),
    ],
)
def test_classifiers_of_all_kinds_are_blended(model: Any) -> None:  # noqa: ANN401
    X, y, draws = three_classes()
    made = blend(model, X, y, draws)
    assert set(made.predict(X)) <= {"egg", "ham", "spam"}
    if made.verdict.loss == "brier":
        np.testing.assert_allclose(made.predict_proba(X).sum(axis=1), 1)
    else:
        assert made.corrected is None


def test_weights_of_ones_own_are_used() -> None:
    X, y, draws = bent_line()
    own = np.linspace(1, 3, 40)
    made = blend(LinearRegression(), X, y, draws, weights=own)
    np.testing.assert_allclose(made.sample_weight, own / own.mean())
    assert made.corrected is not None
    expected = LinearRegression().fit(X, y, own).predict(X)
    np.testing.assert_allclose(made.corrected.predict(X), expected)


def test_one_class_cannot_be_learned() -> None:
    X, _, draws = two_classes()
    with pytest.raises(InputError, match=r"All 60 .*two classes"):
        blend(LogisticRegression(), X, np.full(60, "ham"), draws)


def test_an_error_in_a_prediction_is_one_line() -> None:
    made = blend(LinearRegression(), *bent_line())
    with pytest.raises(InputError, match=r"^LinearRegression .*predict: .*features"):
        made.predict(np.zeros((3, 7)))


def test_a_learner_weights_by_the_chance_to_be_drawn_by_now() -> None:
    made = learner().fit()
    assert made.correction_ is not None
    assert made.correction_.share > 0
    hazards = made._state.hazards
    assert hazards is not None
    np.testing.assert_allclose(made.sample_weight_, inclusion_weights(hazards[made.index_]))
    np.testing.assert_allclose(made.predict(POOL), made.correction_.predict(POOL))


@pytest.mark.parametrize("proposal", ["rank", lambda s: np.full(len(s), 1 / len(s))])
def test_a_learner_without_hazards_uses_the_weights_of_lure(proposal: Any) -> None:  # noqa: ANN401
    made = learner(proposal=proposal)
    weights = lv.lure_weights(made.draws)
    blended = made.fit().correction_
    assert blended is not None
    np.testing.assert_allclose(blended.sample_weight, weights / weights.mean())


def test_pending_draws_take_their_part_of_the_hazards() -> None:
    made = learner()
    before = made.fit().correction_
    made.ask(5)
    after, hazards = made.fit().correction_, made._state.hazards
    assert before is not None
    assert after is not None
    assert hazards is not None
    expected = inclusion_weights(hazards[made.index_] * 60 / 65)
    np.testing.assert_allclose(after.sample_weight, expected)
    assert after.share == pytest.approx(before.share, abs=0.05)


def test_advice_after_a_fit_is_that_of_the_fit() -> None:
    made = learner().fit(loss="absolute")
    assert made.advise() is made.verdict_
    assert made.advise(loss="squared") is not made.verdict_
    assert made.advise(folds=3).chance != made.fit().advise().chance
    with pytest.raises(TypeError, match="fold"):
        made.advise(fold=3)  # type: ignore[call-arg]


@pytest.mark.parametrize("measure", ["roc_auc", "accuracy", "neg_log_loss"])
def test_a_blend_is_judged_by_the_scorers_of_scikit_learn(measure: str) -> None:
    X, y, draws = two_classes()
    made = partly(LogisticRegression(), (X, y, draws))
    assert isfinite(get_scorer(measure)(made, X, y))


def test_one_model_of_a_learner_is_a_side_of_its_blend() -> None:
    made = learner().fit(single=True)
    assert made.correction_ is not None
    assert made.correction_.share in (0, 1)
    assert isinstance(made.model_, Ridge)


def test_other_weights_make_no_blend() -> None:
    assert learner(weights="lure").fit().correction_ is None
