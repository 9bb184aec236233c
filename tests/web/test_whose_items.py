"""A labeller's token opens the labeller's own items, and no others."""

from typing import Any

import pytest

from levelled.campaigns import Campaign, create_campaign, load_campaign
from web.conftest import Site
from whose_items import PLACES, TABLE, hand_out

SPAM = "/api/campaigns/spam"


def campaign_of(site: Site) -> Campaign:
    return load_campaign("spam", storage=site.settings.storage)


def act(site: Site, actor: str, step: str, draw: int, campaign: str = SPAM) -> int:
    """The status of a step on an item."""
    if step == "read":
        return site.get(f"{campaign}/items/{draw}", actor).status_code
    label = {"answers": [{"draw": draw, "label": "spam"}]}
    bodies: dict[str, dict[str, Any]] = {
        "tell": label,
        "amend": label,
        "return": {"draws": [draw], "everyone": actor == "eve"},
    }
    body = bodies.get(step, {"draw": draw, "reason": "blank"})
    return site.post(f"{campaign}/{step}", body, actor).status_code


@pytest.mark.parametrize("step", ["tell", "skip", "unlabelable", "amend", "return", "read"])
@pytest.mark.parametrize("actor", ["ann", "eve"])
def test_a_step_works_on_the_items_of_the_table(site: Site, actor: str, step: str) -> None:
    campaign = campaign_of(site)
    hand_out(campaign)
    works = {place: row for who, what, place, row in TABLE if (who, what) == (actor, step)}
    found = {place: act(site, actor, step, PLACES[place]) == 200 for place in PLACES}
    assert found == works
    assert campaign.audit() == []


@pytest.mark.parametrize("step", ["tell", "skip", "unlabelable", "amend", "return", "read"])
def test_an_item_of_one_campaign_opens_none_of_another(site: Site, step: str) -> None:
    pool = site.settings.storage.removeprefix("sqlite:///").replace("levelled.db", "pool.parquet")
    other = create_campaign("other", pool, storage=site.settings.storage, seed=7, budget=100)
    other.ask(1, owner="bob")
    hand_out(campaign_of(site))
    before = other.state.n_events
    assert act(site, "ann", step, 1, "/api/campaigns/other") in (403, 404, 409)
    assert other.state.n_events == before


def test_everyone_is_a_word_of_analysts_and_so_is_another_owner(site: Site) -> None:
    hand_out(campaign_of(site))
    freed = site.post(f"{SPAM}/return", {"draws": [4], "everyone": True}, "ann")
    assert freed.status_code == 403
    answer = {"answers": [{"draw": 4, "label": "ham"}], "owner": "bob"}
    assert site.post(f"{SPAM}/tell", answer, "ann").status_code == 403
    assert site.post(f"{SPAM}/tell", answer, "eve").status_code == 200
    campaign = campaign_of(site)
    assert campaign.state.answers[4].by == "bob"
    last = campaign._log.store.events("spam")[-1].event
    assert (last["by"], last["on_behalf_of"]) == ("eve", "bob")


def test_a_label_that_came_late_is_named_in_the_reply(site: Site) -> None:
    hand_out(campaign_of(site))
    counted = site.tell(1, "ham").json()
    assert (counted["second_opinions"], counted["note"]) == ([], None)
    late = site.tell(3, "spam").json()
    assert late["second_opinions"] == [3]
    assert "late" in late["note"]
    again = {"answers": [{"draw": 3, "label": "ham"}]}
    assert site.post(f"{SPAM}/amend", again).json()["second_opinions"] == [3]
