"""An item belongs to those who were given it: the rules, and the audit that asks them again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from campaigns.simulated import begun, spam
from levelled.campaigns import Campaign
from levelled.campaigns.audit import audit_log
from levelled.campaigns.log.log import CampaignLog, pack, unpack
from levelled.campaigns.log.records import (
    GENESIS,
    StoredEvent,
    canonical,
    carried_log,
    carry,
    hash_of,
)
from levelled.errors import CampaignError
from whose_items import PLACES, STEPS, TABLE, hand_out

POOL, TRUTH = spam(60)


def act(campaign: Campaign, actor: str, step: str, draw: int) -> object:
    """Do a step: ann in her own name, eve as an analyst."""
    if step == "return":
        return campaign.give_back(owner=actor, draws=[draw], everyone=actor == "eve")
    who: dict[str, Any] = {"owner": actor, "on_behalf_of": "eve" if actor == "eve" else None}
    steps: dict[str, Callable[[], object]] = {
        "tell": lambda: campaign.tell(draw, "spam", **who),
        "skip": lambda: campaign.skip(draw, **who),
        "unlabelable": lambda: campaign.mark_unlabelable(draw, reason="blank", **who),
        "amend": lambda: campaign.amend(draw, "spam", **who),
    }
    return steps[step]()


@pytest.mark.parametrize(
    ("actor", "step", "place", "works"), [row for row in TABLE if row[1] in STEPS]
)
def test_a_step_works_on_the_items_of_the_table(
    tmp_path: Path, actor: str, step: str, place: str, works: bool
) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    hand_out(campaign)
    before = campaign.state.n_events
    if not works:
        with pytest.raises(CampaignError):
            act(campaign, actor, step, PLACES[place])
        assert campaign.state.n_events == before
        return
    act(campaign, actor, step, PLACES[place])
    (stored,) = campaign._log.store.events("spam", before)
    assert stored.event["by"] == actor
    says_so = stored.event.get("everyone") or stored.event.get("on_behalf_of")
    assert says_so == (None if actor == "ann" else True if step == "return" else "eve")
    assert campaign.audit() == []


def test_what_an_analyst_was_given_is_answered_like_any_labellers(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    campaign.ask(1, owner="eve")
    campaign.tell(1, "ham", owner="eve", on_behalf_of="eve")
    campaign.amend(1, "spam", owner="eve", on_behalf_of="eve")
    campaign.undo(owner="eve", on_behalf_of="eve")
    assert not any("on_behalf_of" in one.event for one in campaign._log.store.events("spam"))


def test_an_analyst_enters_and_takes_back_what_a_labeller_said(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    campaign.ask(2, owner="bob")
    campaign.tell(1, "ham", owner="eve", on_behalf_of="bob")
    assert campaign.state.answers[1].by == "bob"
    campaign.amend(1, "spam", owner="bob")
    assert campaign.undo(owner="eve", on_behalf_of="bob") == 1
    assert campaign.undo(owner="eve", on_behalf_of="bob") == 1
    assert campaign.state.leases[1].owner == "bob"
    assert campaign.give_back(owner="eve", on_behalf_of="bob") == [1, 2]
    signed = [
        (one.event["type"], one.event["by"], one.event.get("on_behalf_of"))
        for one in campaign._log.store.events("spam", 3)
    ]
    assert signed == [
        ("answered", "eve", "bob"),
        ("amended", "bob", None),
        ("withdrawn", "eve", "bob"),
        ("withdrawn", "eve", "bob"),
        ("returned", "eve", None),
    ]
    assert campaign.audit() == []


def test_a_label_without_a_name_is_of_whoever_has_the_item(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    campaign.ask(2, owner="ann")
    campaign.ask(1, owner="bob")
    campaign.ask(1)
    answers = [{"draw": draw, "label": "ham"} for draw in (1, 3, 4)]
    assert campaign.tell_all(answers) == 3
    assert [campaign.state.answers[draw].by for draw in (1, 3, 4)] == ["ann", "bob", None]
    assert campaign.tell_all(answers) == 0, "to tell the same again is harmless"
    with pytest.raises(CampaignError, match=r"\bann told\b.*\bamend\b"):
        campaign.tell(1, "spam", owner="ann")
    campaign.amend(1, "spam")
    campaign.amend(1, "ham", owner="ann")
    campaign.skip(2)
    assert campaign.state.skipped == {2: ("ann",)}
    assert not campaign.state.opinions
    assert campaign.audit() == []


def test_a_label_that_comes_late_is_kept_and_said_not_to_count(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    hand_out(campaign)
    campaign.tell_all([{"draw": 1, "label": "ham"}, {"draw": 3, "label": "spam"}], owner="ann")
    assert (campaign.state.answers[3].label, campaign.second_opinions) == ("ham", [3])
    assert campaign.note is not None
    assert "draw 3 came late" in campaign.note
    campaign.amend(3, "ham", owner="ann")
    assert campaign.second_opinions == [3]
    campaign.tell(2, "ham", owner="ann")
    assert not campaign.second_opinions, "late, and nobody had answered"
    campaign.tell(2, "ham", owner="bob")
    assert campaign.second_opinions == [2], "the same label is a second opinion too"


def test_who_had_an_item_is_kept_in_a_snapshot(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    hand_out(campaign)
    campaign.keep()
    log = CampaignLog("spam", campaign._log.store)
    both, bob = ("ann", "bob"), ("bob",)
    assert log.state.given == {1: ("ann",), 2: both, 3: both, 4: bob, 5: bob}
    assert log._kept is not None
    again = unpack(pack(log._kept))
    assert again is not None
    assert again.state.given == log.state.given


FORGED: dict[str, dict[str, Any]] = {
    "an answer to another's item": {"type": "answered", "draw": 4, "label": "spam"},
    "an answer in another's name": {"type": "answered", "draw": 1, "label": "ham", "by": "bob"},
    "an item of another set aside": {"type": "resolved", "draw": 4, "reason": "blank"},
    "an item of another passed on": {"type": "skipped", "draw": 4, "reason": ""},
    "a label of another amended": {"type": "amended", "draw": 5, "label": "spam"},
    "an item of another given back": {"type": "returned", "draws": [4]},
}


@pytest.mark.parametrize("kind", FORGED)
def test_the_audit_finds_a_step_on_an_item_of_another(tmp_path: Path, kind: str) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    hand_out(campaign)
    events = [one.event for one in campaign._log.store.events("spam")]
    forged = {"at": events[-1]["at"], "by": "ann", **FORGED[kind]}
    audit = audit_log("spam", chained([*events, forged]), campaign._pool.at)
    assert any(line.startswith(f"event {len(events)} ") for line in audit), [*audit]
    assert audit_log("spam", chained(events), campaign._pool.at) == []


def test_a_campaign_of_before_goes_on_by_its_own_rules(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    (first, *others) = (one.event for one in campaign._log.store.events("spam"))
    settings = {name: one for name, one in first["settings"].items() if name != "rules"}
    settings["format"] = 1
    others = [{key: one for key, one in event.items() if key != "log"} for event in others]
    store = campaign._log.store
    campaign.delete()
    old = {**first, "settings": settings}
    store.update("spam", lambda _, __: ([old, *others], 0))
    again = Campaign("spam", store)
    assert again.settings.rules == 1
    hand_out(again)
    again.tell(4, "ham", owner="ann")
    again.amend(5, "spam", owner="ann")
    again.tell(2, "ham")
    again.tell(1, "ham", owner="eve", on_behalf_of="bob")
    assert [again.state.answers[draw].by for draw in (1, 2, 4, 5)] == ["bob", None, "ann", "ann"]
    keys = {key for one in store.events("spam") for key in one.event}
    assert not keys & {"on_behalf_of", "everyone"}, "an earlier version reads it"
    again._files = campaign._files
    again._pool = campaign._pool
    assert again.audit() == []


def chained(events: list[dict[str, Any]]) -> list[StoredEvent]:
    """The events with hashes computed anew."""
    stored, prev = [], GENESIS
    log = carried_log(events[0], hash_of(GENESIS, canonical(events[0])))
    for seq, event in enumerate([events[0], *carry(events[1:], log)]):
        body = canonical(event)
        stored.append(StoredEvent(seq, prev, hash_of(prev, body), dict(event), body))
        prev = stored[-1].hash
    return stored
