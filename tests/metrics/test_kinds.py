import numpy as np

import levelled as lv
from levelled import losses, metrics
from levelled.metrics.known import PoolPredictions
from levelled.metrics.named import parse
from metrics.samples import NAMES, everything, mail
from metrics.specimens import PROBA, control, known


def test_averages_are_those_of_the_metrics_they_name() -> None:
    rng = np.random.default_rng(0)
    pool, draws = mail(300, rng), everything(300, rng)[:60]
    label, pred, proba = (of[draws.index] for of in (pool.label, pool.pred, pool.proba))
    classes = NAMES.tolist()
    expected = {
        "error": metrics.error(label, pred, draws),
        "accuracy": metrics.accuracy(label, pred, draws),
        "log_loss": metrics.log_loss(label, proba, draws, classes=classes),
        "log_loss:1": metrics.log_loss(label, proba, draws, classes=classes, cap=1),
        "brier": metrics.brier(label, proba, draws, classes=classes),
        "share:spam": metrics.share(label, draws, of="spam"),
    }
    for name, est in expected.items():
        metric = parse(name, classes=classes)
        found = metric.values(label, pred, proba, classes).losses
        estimate = metric.reported(lv.estimate(found, draws, bounds=metric.bounds))
        assert estimate.as_dict() == est.as_dict(), name


def test_averages_of_numbers_are_those_of_the_metrics_they_name() -> None:
    y, answer = [1.0, 2.0, 4.0, 2.5], [1.5, 2.0, 1.0, 0.5]
    assert parse("mse").values(y, answer).losses.tolist() == losses.squared(y, answer).tolist()
    assert parse("mae").values(y, answer).losses.tolist() == losses.absolute(y, answer).tolist()
    assert parse("mean").values(y).losses.tolist() == y
    assert parse("mean").values(["1", "2.5"]).losses.tolist() == [1, 2.5]
    assert parse("mean:1:5").values(y).losses.tolist() == y


def test_classes_are_the_same_however_they_are_written() -> None:
    wrong = parse("error").values([1, "1", 1.0, True], ["1", 1, "1.0", "True"]).losses
    assert wrong.tolist() == [0, 0, 1, 0]
    assert parse("share:1").values([1, "1", 0, 1.0]).losses.tolist() == [1, 1, 0, 1]
    brier = parse("brier").values([1, 0], proba=PROBA[:2], classes=("0", "1")).losses
    assert brier.tolist() == losses.brier([1, 0], PROBA[:2]).tolist()


def test_the_interest_of_an_error_is_the_root_of_its_chance() -> None:
    metric, wrong = parse("error"), np.sqrt(PROBA.min(axis=1))
    np.testing.assert_allclose(metric.score(known(proba=PROBA)), wrong)
    np.testing.assert_array_equal(
        parse("accuracy").score(known(proba=PROBA)), metric.score(known(proba=PROBA))
    )
    said = np.array([0, 1, 0, 1])
    chance = 1 - PROBA[np.arange(4), said]
    np.testing.assert_allclose(metric.score(known(proba=PROBA, answer=said)), np.sqrt(chance))
    np.testing.assert_allclose(control("error", known(proba=PROBA, answer=said)), chance)


def test_a_second_model_is_believed_before_the_first() -> None:
    other = PROBA[::-1]
    both = known(proba=PROBA, surrogate=other)
    for name, loss in (("error", "zero_one"), ("log_loss", "log_loss"), ("brier", "brier")):
        rms = lv.scores.root_mean_squared_loss(PROBA, other, loss=loss)  # type: ignore[arg-type]
        mean = lv.scores.expected_loss(PROBA, other, loss=loss)  # type: ignore[arg-type]
        np.testing.assert_array_equal(parse(name).score(both), rms)
        np.testing.assert_array_equal(control(name, both), mean)
    said = known(answer=np.array([0, 1, 0, 1]), surrogate=other)
    np.testing.assert_allclose(control("error", said), [0.3, 0.4, 0.1, 0.2])


def test_a_cap_bounds_what_is_expected() -> None:
    proba = np.array([[0.999, 0.001]])
    loss = -np.log(proba[0])
    expected = proba[0] @ np.minimum(loss, 2)
    np.testing.assert_allclose(control("log_loss:2", known(proba=proba)), expected)


def test_the_label_itself_varies_as_its_probabilities_say() -> None:
    share, chance = parse("share:spam"), PROBA[:, 1]
    np.testing.assert_allclose(share.score(known(proba=PROBA)), np.sqrt(chance * (1 - chance)))
    np.testing.assert_allclose(control("share:spam", known(proba=PROBA)), chance)
    hat = known(loss_hat=chance)
    np.testing.assert_allclose(share.score(hat), np.sqrt(chance * (1 - chance)))
    np.testing.assert_allclose(control("share:spam", hat), chance)
    stars = PoolPredictions(4, ("1", "5"), True, proba=PROBA)
    mean = PROBA @ [1, 5]
    np.testing.assert_allclose(control("mean", stars), mean)
    np.testing.assert_allclose(parse("mean").score(stars), 4 * np.sqrt(chance * (1 - chance)))
    assert parse("mean").control(known(proba=PROBA)) is None


def test_a_judge_predicts_the_mean() -> None:
    judge = PoolPredictions(3, predicted=True, number=np.array([4, 5, 7]))
    assert control("mean", judge).tolist() == [4, 5, 7]
    assert control("mean:1:5", judge).tolist() == [4, 5, 5]
    assert parse("mean").score(judge).tolist() == [1, 1, 1]
