"""The labels of an evaluation campaign train a model too."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import levelled as lv
from contracts.learners import run
from levelled.errors import InputError
from levelled.learning import ActiveLearner

N = 80
X = np.random.default_rng(0).standard_normal((N, 3))
Y = np.where(X[:, 0] > 0, "spam", "ham")
CHANCE = 1 / (1 + np.exp(-2 * X[:, 0]))
POOL = pa.table({"id": [f"r{n}" for n in range(N)], "proba_ham": 1 - CHANCE, "proba_spam": CHANCE})


@pytest.fixture
def campaign(tmp_path: Path) -> lv.Campaign:
    begun = lv.create_campaign("mail", POOL, storage=tmp_path / "c.db", seed=3, budget=40)
    asks = begun.ask(30)
    begun.tell_all([{"draw": ask.draw, "label": str(Y[int(str(ask.id)[1:])])} for ask in asks[:25]])
    begun.tell(asks[26].draw, "ham")  # after a gap
    return begun


def test_the_settled_labels_train_with_the_weights_of_the_export(campaign: lv.Campaign) -> None:
    learner = ActiveLearner.from_campaign(campaign, LogisticRegression(), X, weights="lure")
    assert str(learner.note).startswith("1 labels of 'mail' after draw 26")
    learner.fit()
    assert len(learner) == 25
    weights = campaign.to_table()["sample_weight"].to_pylist()[:25]
    np.testing.assert_allclose(learner.sample_weight_, weights)
    np.testing.assert_array_equal(learner.labels_, Y[learner.index_])
    assert (learner.predict(X) == Y).mean() > 0.8


def test_the_learner_goes_on_drawing_from_what_is_left(campaign: lv.Campaign) -> None:
    learner = ActiveLearner.from_campaign(campaign, LogisticRegression(), X, weights="lure", seed=1)
    run(learner, Y, 60)
    learner.fit()
    assert len(set(learner.draws.index.tolist())) == 60
    assert learner.should_stop(0.5)


def test_rows_in_another_order_are_found_by_their_ids(campaign: lv.Campaign) -> None:
    order = np.random.default_rng(1).permutation(N)
    ids = [f"r{n}" for n in order]
    moved = ActiveLearner.from_campaign(
        campaign, LogisticRegression(), X[order], ids=ids, weights="lure"
    ).fit()
    plain = ActiveLearner.from_campaign(campaign, LogisticRegression(), X, weights="lure").fit()
    np.testing.assert_array_equal(order[moved.index_], plain.index_)
    np.testing.assert_array_equal(moved.predict(X), plain.predict(X))


def test_an_item_that_cannot_be_labelled_has_no_part_in_training(campaign: lv.Campaign) -> None:
    campaign.mark_unlabelable(26, reason="empty")
    learner = ActiveLearner.from_campaign(campaign, LogisticRegression(), X, weights="lure").fit()
    assert len(learner) == 26
    assert len(learner.draws) == 27
    assert learner.note is None


def test_rows_that_do_not_match_the_pool_are_refused(campaign: lv.Campaign) -> None:
    model = LogisticRegression()
    with pytest.raises(InputError, match=r"Ridge.*numbers.*text"):
        ActiveLearner.from_campaign(campaign, Ridge(), X)
    with pytest.raises(InputError, match="A campaign is wanted"):
        ActiveLearner.from_campaign("mail", model, X)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"X_pool.* 79 .*'mail'.* 80"):
        ActiveLearner.from_campaign(campaign, model, X[:-1])
    with pytest.raises(InputError, match="80 different ids"):
        ActiveLearner.from_campaign(campaign, model, X, ids=["r0"] * N)
    with pytest.raises(InputError, match="not among ids"):
        ActiveLearner.from_campaign(campaign, model, X, ids=[f"x{n}" for n in range(N)])
