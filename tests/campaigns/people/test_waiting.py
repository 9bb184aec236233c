"""The sentence about labels that wait behind items which others have."""

from datetime import datetime, timedelta
from pathlib import Path

from campaigns.simulated import begun, spam
from levelled.campaigns import Campaign
from levelled.campaigns.people.waiting import labels_waiting

POOL, TRUTH = spam(120)


def told_after(tmp_path: Path, **owners: int) -> Campaign:
    """A campaign in which some took items and went, and another labelled 60."""
    campaign = begun(tmp_path / "c.db", POOL)
    for owner, n in owners.items():
        campaign.ask(n, owner=owner)
    asks = campaign.ask(60, owner="busy")
    answers = [{"draw": one.draw, "label": TRUTH[str(one.id)]} for one in asks]
    campaign.tell_all(answers, owner="busy")
    return campaign


def text_after(campaign: Campaign, minutes: float) -> str | None:
    since = datetime.fromisoformat(campaign.state.leases[1].since)
    found = labels_waiting(campaign.state, since + timedelta(minutes=minutes))
    return None if found is None else found.text


def test_labels_that_wait_are_said_with_those_who_have_the_items(tmp_path: Path) -> None:
    campaign = told_after(tmp_path, gone=3)
    assert campaign.state.n_settled == 0
    assert text_after(campaign, 1.9) is None, "the others are at work"
    text = str(text_after(campaign, 9))
    assert all(part in text for part in ("60 labels", "3 items", "one labeller", "9 minutes"))
    assert campaign.waiting() is None


def test_items_of_several_labellers_and_of_nobody_are_told_apart(tmp_path: Path) -> None:
    campaign = told_after(tmp_path, gone=2, ill=1)
    assert "2 labellers" in str(text_after(campaign, 180))
    campaign.give_back(owner="ill")
    text = str(text_after(campaign, 180))
    assert all(part in text for part in ("3 items", "2 of them", "3 hours"))
    campaign.give_back(owner="gone")
    waiting = campaign.waiting()
    assert waiting is not None
    assert (waiting.n_labels, waiting.draws) == (60, ())
    assert "nobody has" in waiting.text


def test_nothing_waits_once_the_items_are_labelled(tmp_path: Path) -> None:
    campaign = told_after(tmp_path, gone=3)
    campaign.give_back(owner="boss", everyone=True)
    for ask in campaign.ask(3, owner="busy"):
        campaign.tell(ask.draw, TRUTH[str(ask.id)], owner="busy")
    assert campaign.waiting() is None
    assert campaign.state.n_settled == 63
