import numpy as np
import pytest

from levelled.predictions import PoolPredictions
from levelled.scores import expected_loss, root_mean_squared_loss
from metrics.specimens import HAM_SPAM, PROBA, predictions, refused_in_one_line

PREDICTED = predictions(pred=np.array([0, 1, 0, 1]))


def test_every_column_has_one_value_an_item() -> None:
    refused_in_one_line(
        "must have one value for each of the 3", lambda: PoolPredictions(3, score=np.ones(2))
    )


def test_blocks_leave_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = predictions(proba=np.random.default_rng(0).dirichlet([1, 2], 100))
    whole = pool.loss_moment(root_mean_squared_loss, "log_loss")
    monkeypatch.setattr("levelled.predictions._BLOCK", 7)
    found = pool.loss_moment(root_mean_squared_loss, "log_loss")
    assert found is not None
    assert whole is not None
    np.testing.assert_array_equal(found, whole)


def test_the_spread_of_a_label_is_its_standard_deviation() -> None:
    worth = np.array([1.0, 5.0])
    stars = PoolPredictions(4, ("1", "5"), proba=PROBA)
    mean = PROBA @ worth
    expected = np.sqrt((PROBA * (worth - mean[:, None]) ** 2).sum(axis=1))
    found = stars.label_sd(worth)
    assert found is not None
    np.testing.assert_allclose(found, expected)


def test_predictions_without_probabilities_tell_nothing_of_a_loss() -> None:
    assert PREDICTED.loss_moment(expected_loss, "zero_one") is None
    second = PoolPredictions(4, HAM_SPAM, surrogate=PROBA)
    assert second.loss_moment(expected_loss, "brier") is None


def test_labels_without_chances_or_worth_tell_nothing() -> None:
    for pool, worth in ((PREDICTED, np.ones(2)), (predictions(proba=PROBA), None)):
        assert pool.label_mean(worth) is None
        assert pool.label_sd(worth) is None
