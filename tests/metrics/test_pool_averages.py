import numpy as np
import pytest
from sklearn import metrics as sk

import levelled as lv
from levelled import losses, metrics
from levelled.errors import InputError, LossError
from levelled.samplers import race
from metrics.samples import FOUR, NAMES, WEIGHTED, everything, mail

LABELS, PRED = ["spam", "ham", "ham", "spam"], ["spam", "ham", "spam", "ham"]
PROBA = np.array([[0.2, 0.8], [0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])


def test_the_whole_pool_gives_the_figures_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    pool, draws = mail(300, rng), everything(300, rng)
    label, pred, proba = pool.label[draws.index], pool.pred[draws.index], pool.proba[draws.index]
    classes = NAMES.tolist()
    found = {
        "accuracy": metrics.accuracy(label, pred, draws),
        "error": metrics.error(label, pred, draws),
        "share": metrics.share(label, draws, of="spam"),
        "log_loss": metrics.log_loss(label, proba, draws, classes=classes),
        "brier": metrics.brier(label, proba, draws, classes=classes),
    }
    expected = {
        "accuracy": sk.accuracy_score(pool.label, pool.pred),
        "error": sk.zero_one_loss(pool.label, pool.pred),
        "share": np.mean(pool.label == "spam"),
        "log_loss": sk.log_loss(pool.label, pool.proba, labels=NAMES),
        "brier": sk.brier_score_loss(pool.label, pool.proba, labels=NAMES, scale_by_half=False),
    }
    for name, est in found.items():
        assert est.value == pytest.approx(expected[name], abs=1e-12), name
        assert est.low == pytest.approx(est.high), name


def test_the_whole_pool_gives_the_regression_figures_of_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    y, answer, draws = rng.normal(size=200), rng.normal(size=200), everything(200, rng)
    at = draws.index
    assert metrics.mse(y[at], answer[at], draws).value == pytest.approx(
        sk.mean_squared_error(y, answer)
    )
    assert metrics.mae(y[at], answer[at], draws).value == pytest.approx(
        sk.mean_absolute_error(y, answer)
    )
    assert metrics.mean(y[at], draws).value == pytest.approx(y.mean())


def test_every_average_is_the_weighted_mean_of_its_losses() -> None:
    weights = lv.lure_weights(WEIGHTED)
    y = np.array([1, 0, 0, 1])
    pairs = [
        (metrics.error(LABELS, PRED, WEIGHTED), losses.zero_one(LABELS, PRED)),
        (metrics.share(LABELS, WEIGHTED, of="spam"), y),
        (metrics.log_loss(y, PROBA, WEIGHTED), losses.log_loss(y, PROBA)),
        (metrics.brier(y, PROBA, WEIGHTED), losses.brier(y, PROBA)),
        (metrics.mean([4, 1, 2, 5], WEIGHTED, bounds=(1, 5)), np.array([4, 1, 2, 5])),
    ]
    for found, loss in pairs:
        assert found.value == pytest.approx(np.mean(weights * loss))


def test_accuracy_is_the_mirror_of_error() -> None:
    error, accuracy = (f(LABELS, PRED, WEIGHTED) for f in (metrics.error, metrics.accuracy))
    assert error.value is not None
    assert accuracy.value is not None
    assert accuracy.value == 1 - error.value
    assert (accuracy.low, accuracy.high) == (1 - error.high, 1 - error.low)
    assert accuracy.stderr == error.stderr


def test_a_control_of_accuracy_predicts_accuracy() -> None:
    right = np.array([0.9, 0.9, 0.1, 0.2])
    accuracy = metrics.accuracy(LABELS, PRED, FOUR, control=right, control_mean=0.5)
    error = metrics.error(LABELS, PRED, FOUR, control=1 - right, control_mean=0.5)
    assert error.value is not None
    assert accuracy.value == pytest.approx(1 - error.value)


def test_a_judge_that_agrees_with_people_leaves_less_to_estimate() -> None:
    rng = np.random.default_rng(2)
    rating = rng.integers(1, 6, 500).astype(float)
    judge = np.clip(rating + rng.normal(0, 0.3, 500), 1, 5)
    draws = everything(500, rng)[:60]
    plain = metrics.mean(rating[draws.index], draws, bounds=(1, 5))
    helped = metrics.mean(
        rating[draws.index],
        draws,
        bounds=(1, 5),
        control=judge[draws.index],
        control_mean=float(judge.mean()),
    )
    assert plain.stderr is not None
    assert helped.stderr is not None
    assert helped.stderr < 0.4 * plain.stderr
    assert helped.high - helped.low < 0.5 * (plain.high - plain.low)


def test_a_declared_cap_bounds_the_log_loss() -> None:
    y, proba = [1, 0, 0, 1], np.array([[1.0, 0.0], [0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])
    with pytest.raises(LossError, match="cap"):
        metrics.log_loss(y, proba, FOUR)
    assert metrics.log_loss(y, proba, FOUR, cap=3.0, interval="betting").high <= 3


def test_own_losses_are_averaged_like_the_others() -> None:
    def doubled(labels: list[str], pred: list[str]) -> list[float]:
        return [2.0 * (y != p) for y, p in zip(labels, pred, strict=True)]

    found = metrics.average(doubled, LABELS, PRED, WEIGHTED, bounds=(0, 2))
    once = metrics.error(LABELS, PRED, WEIGHTED)
    assert once.value is not None
    assert found.value == pytest.approx(2 * once.value)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: metrics.error(LABELS, [1, 0, 1, 1], FOUR), "text"),
        (lambda: metrics.error(LABELS, PRED[:3], FOUR), "predicted has 3|pred has 3"),
        (lambda: metrics.share(LABELS, FOUR, of=1), "none of the labels"),
        (lambda: metrics.mean(LABELS, FOUR), "numbers"),
        (lambda: metrics.mean([1, 2, 9, 4], FOUR, bounds=(1, 5)), "outside the declared bounds"),
        (lambda: metrics.brier(LABELS, PROBA, FOUR, classes=["ham", "Spam"]), "'spam', which is"),
        (lambda: metrics.brier(LABELS, PROBA, FOUR, classes=["a", "b", "c"]), "one column for"),
        (lambda: metrics.average(lambda y, p: 1.0, LABELS, PRED, FOUR), "one number a draw"),
        (lambda: metrics.error([], [], FOUR[:0]), "at least one label"),
    ],
)
def test_bad_input_is_refused_in_words(wrong: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        wrong()  # type: ignore[operator]


def test_numbers_with_fractions_are_no_classes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    draws = race(np.ones(60), 30, seed=seed)
    numbers = rng.normal(20, 5, 30)
    for compute in (metrics.error, metrics.accuracy, metrics.balanced_accuracy, metrics.confusion):
        with pytest.raises(InputError, match=r"labels holds numbers such as .* use mse or mae"):
            compute(numbers, numbers + 0.25, draws)
        with pytest.raises(InputError, match="pred holds numbers"):
            compute(numbers.round(), numbers, draws)


@pytest.mark.parametrize(("off", "warned"), [(1, True), (0, False)])
def test_whole_numbers_that_are_mostly_wrong_may_be_quantities(off: int, warned: bool) -> None:
    draws = race(np.ones(60), 30, seed=1)
    for numbers in (draws.index, draws.index.astype(float)):
        est = metrics.error(numbers, numbers + off, draws)
        assert any("use mse or mae" in warning for warning in est.warnings) == warned
    classes = draws.index % 10
    assert not metrics.error(classes, (classes + off) % 10, draws).warnings
