"""The numbers of the learning studies, worked out again from their draws with models of our own."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.linear_model import LogisticRegression, Ridge

import levelled as lv
from levelled.estimators import lure_weights, pure_weights
from levelled.learning import ActiveLearner
from levelled.models import Model
from levelled_studies.all_or_nothing import advise
from levelled_studies.datasets import DataSet
from levelled_studies.learning import data, loop
from levelled_studies.learning.data import Split, split
from levelled_studies.learning.settings import LearningSettings
from levelled_studies.study import Row

SETTINGS = LearningSettings(trajectories=2, checkpoints=(60,), at_once=1)
WEIGHTS = {"naive": None, "PURE": pure_weights, "LURE": lure_weights}


def ran(case: str, score: str, model: Model) -> tuple[Row, Split, ActiveLearner, int]:
    """The row of a case, and its data and draws by a learner without weights."""
    settings = replace(SETTINGS, cases=(f"{case} {score}",))
    (row,) = loop.run(settings, f"{case} {score} 0", np.random.default_rng(4)).to_pylist()
    (rng,) = np.random.default_rng(4).spawn(1)
    made = split(case.split()[0], settings.pool_size, settings.test_size, rng=rng)
    seed = int(rng.integers(2**31))
    learner = ActiveLearner(model, made.X, score=score, weights="none", start=10, seed=seed)
    while len(learner) < 60:
        index = learner.ask(10)
        learner.tell(index, made.y[index])
    return row, made, learner, seed


def test_regressions_are_tested_on_items_outside_the_pool() -> None:
    row, made, learner, _ = ran("diabetes ridge", "geometric", Ridge(alpha=1.0))
    draws = learner.draws
    X, y = made.X[draws.index], made.y[draws.index]
    for name, weights in WEIGHTS.items():
        own = None if weights is None else weights(draws)
        model = Ridge(alpha=1.0).fit(X, y, sample_weight=own)
        risk = np.mean((model.predict(made.X_test) - made.y_test) ** 2)
        assert row[f"{name} MSE"] == pytest.approx(risk, rel=2e-5)
        if name == "naive":
            on_train = np.mean(lure_weights(draws) * (model.predict(X) - y) ** 2)
            assert row["overfitting"] == pytest.approx(risk - on_train, rel=2e-5)


def test_classifiers_draw_without_weights_and_are_advised_on_their_own_labels() -> None:
    make = LogisticRegression(max_iter=5000)
    row, made, learner, seed = ran("breast-cancer logistic", "entropy", make)
    draws = learner.draws
    X, y = made.X[draws.index], made.y[draws.index]
    model = LogisticRegression(max_iter=5000).fit(X, y, sample_weight=lure_weights(draws))
    proba = model.predict_proba(made.X_test)
    right = np.eye(2)[made.y_test]
    assert row["LURE Brier score"] == pytest.approx(
        np.mean(((proba - right) ** 2).sum(1)), rel=1e-4
    )
    assert row["LURE error"] == pytest.approx(np.mean(proba.argmax(1) != made.y_test))
    verdict = advise(LogisticRegression(max_iter=5000), X, y, draws, seed=seed)
    followed = "LURE" if verdict.advice == "correct" else "naive"
    assert row["verdict Brier score"] == row[f"{followed} Brier score"]
    assert verdict.active_learning_bias is not None
    assert row["bias"] == pytest.approx(verdict.active_learning_bias, rel=2e-5)


def test_the_share_is_that_of_a_learner_and_the_control_permutes_its_weights() -> None:
    make = LogisticRegression(max_iter=5000)
    row, made, learner, seed = ran("breast-cancer logistic", "entropy", make)
    blend = learner.set_params(weights="auto").fit().correction_
    assert blend is not None
    right = np.eye(2)[made.y_test]
    mixed = np.mean(((learner.predict_proba(made.X_test) - right) ** 2).sum(1))
    assert row["share"] == pytest.approx(blend.share, rel=2e-5)
    assert row["share Brier score"] == pytest.approx(mixed, rel=1e-4)
    (rng,) = np.random.default_rng(4).spawn(1)
    split("breast-cancer", SETTINGS.pool_size, SETTINGS.test_size, rng=rng)
    rng.integers(2**31)
    draws = learner.draws
    X, y = made.X[draws.index], made.y[draws.index]
    weights = rng.permutation(blend.sample_weight)
    control = lv.learning.blend(make, X, y, draws, weights=weights, seed=seed)
    mixed = np.mean(((control.predict_proba(made.X_test) - right) ** 2).sum(1))
    assert row["shuffled Brier score"] == pytest.approx(mixed, rel=1e-4)


def test_test_items_are_scaled_by_the_mean_and_spread_of_the_training_items(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    names = ("age", "education-num", "hours-per-week")
    young, old = (rng.normal(mean, 10, size=(60, 3)) for mean in (30, 60))
    labels = np.arange(60) % 2
    made = DataSet("adult", young, labels, old, labels, features=names)
    monkeypatch.setattr(data, "load_data", lambda name: made)
    monkeypatch.setattr(data, "_adult_columns", data._adult_columns.__wrapped__)  # not its cache
    found = split("adult-age", 60, 60, rng=rng)
    np.testing.assert_allclose(
        sorted(found.X[:, 0]), sorted((young[:, 0] - young[:, 0].mean()) / young[:, 0].std())
    )
    np.testing.assert_allclose(
        sorted(found.X_test[:, 0]), sorted((old[:, 0] - young[:, 0].mean()) / young[:, 0].std())
    )
