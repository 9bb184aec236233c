"""The numbers behind a verdict, against hand computations with a model in closed form."""

import numpy as np
import pytest

import levelled as lv
from advice.samples import WeightedMean, drawn, two_classes
from levelled._check import FloatArray
from levelled.advice import Verdict, advise
from levelled.advice.evidence import (
    active_learning_bias,
    all_one,
    assign_folds,
    combine_shares,
    cross_fit,
    lure_mean,
    measure_evidence,
)
from levelled.estimators.moments import effective_size
from levelled.models import PredictionTask, make_task

N, M = 60, 32
RNG = np.random.default_rng(5)
INTEREST = 0.2 + RNG.random(N)
DRAWS = drawn(INTEREST, M, seed=1)
Y = (3 * INTEREST + RNG.normal(size=N))[DRAWS.index]
X = np.zeros((M, 1))
V = lv.lure_weights(DRAWS)
W = V / V.mean()
OTHERS = ~np.eye(M, dtype=bool)


def left_out(weights: FloatArray) -> FloatArray:
    """Squared errors of the weighted mean of all the other labels."""
    means = np.array([np.average(Y[own], weights=weights[own]) for own in OTHERS])
    return np.asarray((Y - means) ** 2)


def fitted_losses(weights: FloatArray) -> FloatArray:
    return np.asarray((Y - np.average(Y, weights=weights)) ** 2)


def found_by_leaving_one_out() -> Verdict:
    return advise(WeightedMean(), X, Y, DRAWS, folds=None)


def test_leaving_one_out_gives_the_figures_of_a_hand_computation() -> None:
    found = found_by_leaving_one_out()
    naive, corrected = left_out(np.ones(M)), left_out(V)
    assert found.active_learning_bias == pytest.approx(np.mean(V * corrected) - corrected.mean())
    assert found.overfitting_bias == pytest.approx(np.mean(W * (corrected - fitted_losses(V))))
    assert {name: risk.value for name, risk in found.risks.items()} == pytest.approx(
        {"naive": np.mean(V * naive), "corrected": np.mean(V * corrected)}
    )
    on_labels = fitted_losses(np.ones(M)) - fitted_losses(V)
    assert found.gain_on_labels == pytest.approx(np.mean(W * on_labels))
    assert found.n_effective == pytest.approx(effective_size(V))


def test_the_share_can_be_computed_again_from_the_evidence() -> None:
    found = found_by_leaving_one_out()
    assert found.gain_on_labels is not None
    assert found.overfitting_bias is not None
    assert found.chance == pytest.approx(found.overfitting_bias * (1 - effective_size(V) / M) / 2)
    assert found.chance is not None
    assert found.held_out_share is not None
    on_labels = max(0.0, 1 - found.chance / found.gain_on_labels)
    assert found.share == pytest.approx(combine_shares(on_labels, found.held_out_share))
    assert 0.05 < found.share < 0.95


def test_standard_errors_are_those_of_means() -> None:
    found = found_by_leaving_one_out()
    assert found.risks["corrected"].stderr == pytest.approx(
        lv.estimate(left_out(V), DRAWS, interval="none").stderr
    )
    overfitting = W * (left_out(V) - fitted_losses(V))
    assert found.overfitting_bias_stderr == pytest.approx(overfitting.std(ddof=1) / np.sqrt(M))


@pytest.mark.parametrize("factor", [0.01, 1.0, 300.0])
def test_the_scale_of_the_weights_does_not_matter(factor: float) -> None:
    scaled = advise(WeightedMean(), X, Y, DRAWS, weights=factor * V, folds=None)
    assert scaled.share == pytest.approx(found_by_leaving_one_out().share)


def test_one_fold_an_item_is_the_same_as_leaving_one_out() -> None:
    each = advise(WeightedMean(), X, Y, DRAWS, folds=M, seed=3)
    loo = advise(WeightedMean(), X, Y, DRAWS, folds=None, seed=4)
    assert each.risks == loo.risks


def test_active_learning_bias_is_the_mean_of_weights_less_one_times_losses() -> None:
    losses = RNG.random(M)
    found = active_learning_bias(losses, DRAWS)
    assert found.value == pytest.approx(lure_mean(losses, DRAWS).value - losses.mean())
    assert found.stderr == pytest.approx(np.std((V - 1) * losses, ddof=1) / np.sqrt(M))


def test_uniform_draws_have_no_active_learning_bias() -> None:
    uniform = lv.Draws(np.arange(M), 1 / np.arange(N, N - M, -1), pool_size=N)
    found = active_learning_bias(RNG.random(M), uniform)
    assert found.value == pytest.approx(0, abs=1e-12)


def test_weights_of_uniform_draws_are_all_one() -> None:
    uniform = lv.Draws(np.arange(M), 1 / np.arange(N, N - M, -1), pool_size=N)
    assert all_one(lv.lure_weights(uniform))
    assert not all_one(V)


def test_without_a_corrected_model_there_is_no_share() -> None:
    task = make_task(WeightedMean(), Y, "auto")
    fold = assign_folds(task, 5, rng=np.random.default_rng(0))
    fits = {"naive": cross_fit(WeightedMean(), task, X, fold, None)}
    found = measure_evidence(fits, task, DRAWS, W)
    assert found.gain_on_labels is None
    assert found.share == 0
    assert list(found.risks) == ["naive"]


def test_folds_differ_in_size_by_at_most_one() -> None:
    task = PredictionTask(np.arange(23.0), None, "squared")
    fold = assign_folds(task, 5, rng=np.random.default_rng(0))
    assert sorted(np.bincount(fold)) == [4, 4, 5, 5, 5]


def test_every_class_is_spread_over_the_folds() -> None:
    _, names, _ = two_classes()
    task = PredictionTask(names, np.unique(names), "brier")
    fold = assign_folds(task, 10, rng=np.random.default_rng(0))
    for name in np.unique(names):
        counts = np.bincount(fold[names == name], minlength=10)
        assert counts.max() - counts.min() <= 1


class Remembering:
    """Predicts 1 for items it was trained on and 0 for others; keeps the weights of its fit."""

    def __init__(self) -> None:
        self.seen: set[float] = set()
        self.weights: FloatArray | None = None

    def fit(self, X: FloatArray, y: FloatArray, sample_weight: FloatArray | None = None) -> None:
        self.seen, self.weights = set(X[:, 0].tolist()), sample_weight

    def predict(self, X: FloatArray) -> FloatArray:
        return np.array([float(x in self.seen) for x in X[:, 0].tolist()])


def test_no_item_is_judged_by_a_model_that_has_seen_it() -> None:
    X = np.arange(12.0)[:, None]
    task = PredictionTask(np.ones(12), None, "squared")
    fold = assign_folds(task, 4, rng=np.random.default_rng(0))
    crossed = cross_fit(Remembering(), task, X, fold, np.arange(1.0, 13.0))
    assert (crossed.predictions == 0).all()
    assert (crossed.held_out == 1).all()
    assert (crossed.training == 0).all()
    assert isinstance(crossed.model, Remembering)
    assert crossed.model.weights is not None
    assert crossed.model.weights.tolist() == list(range(1, 13))
