import numpy as np
import pytest

from levelled.metrics.known import PoolPredictions, label_mean, label_spread, loss_moment
from levelled.scores import expected_loss, root_mean_squared_loss
from metrics.specimens import HAM_SPAM, PROBA, known, refused_in_one_line

PREDICTED = known(answer=np.array([0, 1, 0, 1]))


def test_every_column_has_one_value_an_item() -> None:
    refused_in_one_line(
        "must have one value for each of the 3", lambda: PoolPredictions(3, score=np.ones(2))
    )


def test_blocks_leave_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = known(proba=np.random.default_rng(0).dirichlet([1, 2], 100))
    whole = loss_moment(root_mean_squared_loss, pool, "log_loss")
    monkeypatch.setattr("levelled.metrics.known._BLOCK", 7)
    found = loss_moment(root_mean_squared_loss, pool, "log_loss")
    assert found is not None
    assert whole is not None
    np.testing.assert_array_equal(found, whole)


def test_the_spread_of_a_label_is_its_standard_deviation() -> None:
    worth = np.array([1.0, 5.0])
    stars = PoolPredictions(4, ("1", "5"), proba=PROBA)
    mean = PROBA @ worth
    expected = np.sqrt((PROBA * (worth - mean[:, None]) ** 2).sum(axis=1))
    found = label_spread(stars, worth)
    assert found is not None
    np.testing.assert_allclose(found, expected)


def test_predictions_without_probabilities_tell_nothing_of_a_loss() -> None:
    assert loss_moment(expected_loss, PREDICTED, "zero_one") is None
    assert (
        loss_moment(expected_loss, PoolPredictions(4, HAM_SPAM, surrogate=PROBA), "brier") is None
    )


def test_labels_without_chances_or_worth_tell_nothing() -> None:
    for pool, worth in ((PREDICTED, np.ones(2)), (known(proba=PROBA), None)):
        assert label_mean(pool, worth) is None
        assert label_spread(pool, worth) is None
