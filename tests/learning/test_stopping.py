"""When more labels are worth it: flat learning curves stop, steep ones do not."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge

from contracts.learners import run
from levelled._check import FloatArray
from levelled.errors import InputError
from levelled.learning import ActiveLearner, Stopping

N = 600


def flat(seed: int = 0) -> tuple[FloatArray, NDArray[Any]]:
    """One feature decides: a few labels teach all there is to learn."""
    X = np.random.default_rng(seed).standard_normal((N, 2))
    return X, (X[:, 0] > 0).astype(int)


def steep(seed: int = 0) -> tuple[FloatArray, NDArray[Any]]:
    """Forty features decide together: each doubling of the labels teaches a lot."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, 40))
    return X, (X @ rng.standard_normal(40) > 0).astype(int)


def learner(X: FloatArray, y: NDArray[Any], labels: int, **more: Any) -> ActiveLearner:  # noqa: ANN401
    made = ActiveLearner(LogisticRegression(), X, **{"weights": "none", **more})
    run(made, y, labels, batch=20)
    return made


def test_a_flat_learning_curve_stops() -> None:
    for loss in ("auto", "brier"):
        found = learner(*flat(), 160).should_stop(0.1, loss=loss)
        assert found
        assert found.high is not None
        assert found.high < 0.1
        assert str(found).startswith("Stop: doubling the labels from 80 to 160")


def test_a_steep_learning_curve_goes_on() -> None:
    X, y = steep()
    made = learner(X, y, 40)
    for labels in (40, 60, 100, 160):
        run(made, y, labels, batch=20)
        assert not made.should_stop(0.02)


def test_the_upper_limit_holds_at_every_look_at_once() -> None:
    # 12 trajectories at level 0.95, each watched all along: more than 6 of them would miss once
    # in 1.7 million runs even if every one missed as often as it may.
    missed = 0
    for seed in range(12):
        X, y = steep(seed) if seed % 2 else flat(seed)
        made = ActiveLearner(LogisticRegression(), X, weights="none", seed=seed)
        wrong = False
        for labels in (25, 35, 55, 75):
            run(made, y, labels, batch=10)
            found = made.should_stop(0.01)
            if found.high is not None:
                wrong |= found.high < _true_gain(made, y, found) - 1e-9
        missed += wrong
    assert missed <= 6


def _true_gain(made: ActiveLearner, y: NDArray[Any], found: Stopping) -> float:
    assert found.before is not None
    assert found.after is not None
    X, rows = made.X_pool, made.draws.index
    left = np.delete(np.arange(N), rows[: found.after])
    errors = [
        np.mean(made_of(X, y, rows[:n]).predict(X[left]) != y[left])
        for n in (found.before, found.after)
    ]
    return float(errors[0] - errors[1])


def made_of(X: FloatArray, y: NDArray[Any], rows: NDArray[np.int64]) -> LogisticRegression:
    return LogisticRegression().fit(X[rows], y[rows])


def test_the_estimate_is_r_lure_of_the_differences_on_later_draws() -> None:
    X, y = steep()
    made = learner(X, y, 60)
    found = made.should_stop(0.01)
    assert (found.before, found.after, found.n_later) == (20, 40, 20)
    rows = made.draws.index
    before, after = (made_of(X, y, rows[:n]).predict(X[rows[40:]]) for n in (20, 40))
    differences = (before != y[rows[40:]]) * 1.0 - (after != y[rows[40:]])
    left, m = N - 40, np.arange(1, 21)
    q = made.draws.probability[40:]
    v = 1 + (left - 20) / (left - m) * (1 / ((left - m + 1) * q) - 1)
    assert found.value == pytest.approx(np.mean(v * differences))


def test_right_after_a_doubling_the_share_of_changed_answers_is_the_limit() -> None:
    X, y = flat()
    made = learner(X, y, 80)
    found = made.should_stop(0.5)
    rows = made.draws.index
    left = np.delete(np.arange(N), rows)
    before, after = (made_of(X, y, rows[:n]).predict(X[left]) for n in (40, 80))
    assert found.high == pytest.approx(np.mean(before != after))
    assert found.value is None
    assert found.n_later == 0


def test_a_model_that_has_learned_nothing_yet_goes_on() -> None:
    X, y = flat()
    made = ActiveLearner(DummyClassifier(), X, weights="none", score="uniform")
    run(made, y, 45, batch=45)
    found = made.should_stop(0.5)
    assert not found
    assert "answers every item alike" in found.because
    made = ActiveLearner(LogisticRegression(), X)  # one class so far
    run(made, np.full(N, "ham"), 40, batch=20)
    assert not made.should_stop(0.5)


def test_too_few_labels_go_on_and_a_whole_pool_stops() -> None:
    X, y = flat()
    assert not learner(X, y, 15).should_stop(0.5)
    assert learner(X[:30], y[:30], 30).should_stop(1e-9)


def test_numbers_need_a_bound_on_their_loss() -> None:
    X, _ = flat()
    y = X[:, 0] * 2 + 1
    made = ActiveLearner(Ridge(), X, score="geometric", weights="lure")
    run(made, y, 160, batch=40)
    with pytest.raises(InputError, match=r"squared loss has no limit.*bound="):
        made.should_stop(0.1)
    assert made.should_stop(0.2, bound=4.0)  # the two lines hardly differ
    assert made.should_stop(0.2, bound=4.0, loss="absolute")
    noisy = y + np.random.default_rng(1).normal(0, 5, N)
    made = ActiveLearner(Ridge(), X, score="geometric", weights="lure")
    run(made, noisy, 40, batch=40)
    assert not made.should_stop(0.01, bound=4.0)


def test_items_that_cannot_be_labelled_are_allowed_for() -> None:
    X, y = flat()
    made = ActiveLearner(LogisticRegression(), X, weights="lure")
    while len(made) < 100:
        rows = made.ask(10)
        made.tell(rows, [None if row % 7 == 0 else int(y[row]) for row in rows])
    assert made.should_stop(0.2)


@pytest.mark.parametrize("gain", [0, -1, np.nan, "much"])
def test_a_gain_that_is_no_positive_number_is_refused(gain: float) -> None:
    with pytest.raises(InputError, match="gain must be"):
        learner(*flat(), 30).should_stop(gain)
