"""The labels that a campaign's uncertainty rests on."""

import numpy as np
import pyarrow as pa
import pytest

from levelled.campaigns import Campaign, create_campaign
from levelled.draws import Draws
from levelled.estimators import lure_weights
from levelled.estimators.moments import diagnose


@pytest.fixture
def campaign(tmp_path: object) -> Campaign:
    spam = np.linspace(0.02, 0.98, 60)
    table = pa.table({"id": [*range(60)], "proba_ham": 1 - spam, "proba_spam": spam})
    return create_campaign("x", table, storage=f"sqlite:///{tmp_path}/levelled.db", seed=1)


def test_nothing_is_diagnosed_before_the_first_label(campaign: Campaign) -> None:
    assert campaign.diagnosis() is None


def test_it_is_the_diagnosis_of_the_settled_draws(campaign: Campaign) -> None:
    for one in campaign.ask(20):
        campaign.tell(one.draw, "spam" if int(one.id) % 2 else "ham")
    found = campaign.diagnosis()
    assert found is not None
    table = campaign.to_table()
    losses = np.array(table["label"]) != np.array(table["pred"])
    draws = _draws(campaign)
    expected = diagnose(losses.astype(float), draws)
    np.testing.assert_allclose(found.weights, lure_weights(draws))
    assert found.effective_size == expected.effective_size
    first = found.items[0]
    assert first.variance_share == expected.variance_share.max()
    assert first.weight == found.weights[first.draw - 1]
    assert first.id == campaign.state.draws[first.draw - 1].id
    assert found.as_dict()["items"][0]["label"] in ("ham", "spam")


def _draws(campaign: Campaign) -> Draws:
    items = campaign.state.draws[:20]
    index = np.array([one.row for one in items])
    probability = np.array([one.probability for one in items])
    return Draws(index, probability, campaign.settings.pool_size)
