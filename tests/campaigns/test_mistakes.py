"""People correct themselves, lose files and go home: nothing is stranded or taken in silence."""

import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from campaigns.simulated import begun, label, spam
from levelled.campaigns import Campaign, create_campaign, load_campaign, open_store
from levelled.campaigns.log.log import load_snapshot
from levelled.errors import CampaignError, InputError

POOL, TRUTH = spam(60)


def draws_of(asks: object) -> list[int]:
    return [one.draw for one in asks]  # type: ignore[attr-defined]


def test_an_owner_who_asks_again_gets_the_open_items_first(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    assert draws_of(campaign.ask(3, owner="ann")) == [1, 2, 3]
    assert draws_of(campaign.ask(2, owner="bob")) == [4, 5]
    assert draws_of(campaign.ask(5, owner="ann")) == [1, 2, 3, 6, 7]
    assert draws_of(campaign.ask(2, owner="ann")) == [1, 2]
    assert campaign.note is None
    assert draws_of(campaign.ask(2)) == [8, 9]
    assert draws_of(campaign.ask(2)) == [10, 11], "without a name nobody knows whose they are"


def test_an_adaptive_campaign_draws_no_more_than_the_owner_lacks(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL, kind="adaptive", budget=40)
    first = len(campaign.ask(8, owner="ann"))
    drawn = len(campaign.state.draws)
    for _ in range(3):
        assert draws_of(campaign.ask(8, owner="ann")) == [*range(1, first + 1)]
    assert len(campaign.state.draws) == drawn


def test_mine_are_the_same_numbers_with_a_renewed_lease(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    asks = campaign.ask(3, owner="ann")
    campaign.ask(2)
    (before,) = {one.until for one in campaign.open_items() if one.owner == "ann"}
    time.sleep(1.1)
    again = campaign.mine("ann")
    assert [(one.draw, one.id, one.data) for one in again] == [
        (one.draw, one.id, one.data) for one in asks
    ]
    assert all(one.lease_until > str(before) for one in again)
    assert draws_of(campaign.mine()) == [4, 5]
    assert campaign.mine("eve") == []
    opened = campaign.open_items()
    assert [one.owner for one in opened] == ["ann"] * 3 + [None] * 2
    assert all(one.since is not None and one.since < again[0].lease_until for one in opened)


def test_items_that_were_given_back_go_to_the_next_who_asks(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    campaign.ask(3, owner="ann")
    campaign.ask(2, owner="bob")
    with pytest.raises(CampaignError, match=r"\bbob\b.*\bann\b"):
        campaign.give_back(owner="ann", draws=[4])
    assert campaign.give_back(owner="ann", draws=[2]) == [2]
    with pytest.raises(CampaignError, match="kept for nobody"):
        campaign.give_back(owner="ann", draws=[2])
    assert campaign.open_items()[1].since is None
    assert draws_of(campaign.ask(1, owner="cy")) == [2]
    assert campaign.give_back(owner="ann") == [1, 3]
    assert campaign.give_back(owner="ann") == []
    assert campaign.give_back(draws=[4]) == [4], "an analyst frees what bob has"
    assert campaign.give_back(owner="boss", everyone=True) == [2, 5]
    assert draws_of(campaign.ask(6, owner="di")) == [1, 2, 3, 4, 5, 6]


def test_a_shorter_lease_frees_what_is_out(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL, lease_seconds=24 * 3600)
    campaign.ask(3, owner="ann")
    campaign.change(lease_seconds=1)
    time.sleep(1.1)
    assert draws_of(campaign.ask(3, owner="bob")) == [1, 2, 3]
    campaign.change(lease_seconds=3600)
    assert draws_of(campaign.ask(1, owner="cy")) == [4]


def test_a_correction_has_to_be_confirmed_and_is_no_second_opinion(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    campaign.ask(20, owner="ann")
    told = [{"draw": draw, "label": "ham"} for draw in range(1, 21)]
    campaign.tell_all(told, owner="ann")
    changed = [{**one, "label": "spam"} if one["draw"] in (4, 9, 17) else one for one in told]
    n_events = campaign.state.n_events
    with pytest.raises(CampaignError, match=r"\b3 of.* 20 .*\bann\b"):
        campaign.tell_all(changed, owner="ann")
    assert campaign.state.n_events == n_events
    assert campaign.amend_all(changed, owner="ann") == 3
    assert campaign.amend_all(changed, owner="ann") == 0
    assert not campaign.state.opinions
    assert [d for d, one in campaign.state.answers.items() if one.label == "spam"] == [4, 9, 17]
    assert campaign.tell_all(changed, owner="ann") == 0


def test_whoever_has_no_name_is_one_owner_when_it_comes_to_corrections(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    campaign.ask(1)
    campaign.tell(1, "ham")
    with pytest.raises(CampaignError, match=r"differs.*you"):
        campaign.tell(1, "spam")
    campaign.tell(1, "spam", owner="boss", on_behalf_of="bob")
    assert [one.by for one in campaign.state.opinions[1]] == ["bob"]


def test_a_labeller_corrects_a_second_opinion_without_touching_the_label(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    campaign.ask(1, owner="ann")
    campaign.tell(1, "ham", owner="ann")
    campaign.tell(1, "ham", owner="boss", on_behalf_of="bob")
    with pytest.raises(CampaignError, match="use amend"):
        campaign.tell(1, "spam", owner="bob")
    campaign.amend(1, "spam", owner="bob")
    state = campaign.state
    assert (state.answers[1].label, [one.label for one in state.opinions[1]]) == ("ham", ["spam"])
    assert not state.amended


def test_amending_changes_the_estimate_and_no_probability(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL, kind="adaptive", budget=40)
    label(campaign, 25, TRUTH)
    before = campaign.estimate()[0].estimate.value
    drawn = campaign.state.draws
    swap = {"ham": "spam", "spam": "ham"}
    campaign.amend_all(
        [{"draw": d, "label": swap[str(one.label)]} for d, one in campaign.state.answers.items()]
    )
    assert campaign.estimate()[0].estimate.value != before
    assert campaign.state.draws[:25] == drawn[:25]


def test_undo_goes_back_step_by_step(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    campaign.ask(3, owner="ann")
    for draw in (2, 1, 3):
        campaign.tell(draw, "ham", owner="ann")
    three = campaign.estimate()[0].estimate.value
    campaign.amend(2, "spam", owner="ann")
    assert campaign.undo(owner="ann") == 2
    assert campaign.state.answers[2].label == "ham"
    assert campaign.estimate()[0].estimate.value == three
    assert campaign.undo(owner="ann") == 3
    assert campaign.undo(owner="ann") == 1
    assert campaign.state.n_settled == 0, "draw 1 is open, so draw 2 is settled no longer"
    assert draws_of(campaign.mine("ann")) == [1, 3]
    campaign.tell_all([{"draw": 1, "label": "ham"}, {"draw": 3, "label": "ham"}], owner="ann")
    assert campaign.estimate()[0].estimate.value == three
    with pytest.raises(CampaignError, match=r"eve.*nothing"):
        campaign.undo(owner="eve")


def test_after_an_undo_the_second_opinion_counts(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    campaign.ask(1, owner="ann")
    campaign.tell(1, "ham", owner="ann")
    campaign.tell(1, "spam", owner="boss", on_behalf_of="bob")
    campaign.undo(owner="ann")
    assert (campaign.state.answers[1].by, campaign.state.opinions) == ("bob", {})
    campaign.undo(owner="bob")
    assert campaign.open_items()[0].owner == "bob"


def test_undoing_an_amendment_restores_what_was_unlabelable(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    campaign.ask(1, owner="ann")
    campaign.mark_unlabelable(1, reason="blank", owner="ann")
    campaign.amend(1, "ham", owner="bob", on_behalf_of="bob")
    campaign.undo(owner="bob")
    assert campaign.to_table()["unlabelable"].to_pylist() == ["blank"]
    assert (campaign.state.unlabelable[1].by, campaign.state.answers) == ("ann", {})


def test_a_mark_as_unlabelable_can_be_undone_by_who_set_it(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    campaign.ask(2, owner="ann")
    campaign.tell(2, "ham", owner="ann")
    campaign.mark_unlabelable(1, reason="blank", owner="ann")
    with pytest.raises(CampaignError, match=r"bob.*nothing"):
        campaign.undo(owner="bob")
    assert campaign.undo(owner="ann") == 1
    assert (campaign.state.unlabelable, campaign.state.n_settled) == ({}, 0)
    assert [one.draw for one in campaign.mine("ann")] == [1]
    campaign.tell(1, "spam", owner="ann")
    assert (campaign.state.n_settled, campaign.audit()) == (2, [])


def test_after_the_undo_of_a_mark_the_label_told_meanwhile_counts(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    campaign.ask(1, owner="ann")
    campaign.mark_unlabelable(1, reason="blank", owner="ann")
    campaign.tell(1, "spam", owner="boss", on_behalf_of="bob")
    campaign.undo(owner="ann")
    answer = campaign.state.answers[1]
    assert (answer.label, answer.by, campaign.state.opinions) == ("spam", "bob", {})
    assert campaign.audit() == []


def test_labels_of_the_sample_at_the_beginning_are_not_undone(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("id,label\nr1,ham\nr2,ham\n")
    campaign = begun(tmp_path / "c.db", POOL, labelled=tmp_path / "s.csv")
    with pytest.raises(CampaignError, match="told nothing"):
        campaign.undo()


def test_a_closed_campaign_goes_on_when_it_is_reopened(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    with pytest.raises(CampaignError, match="not closed"):
        campaign.reopen()
    campaign.close()
    with pytest.raises(CampaignError, match="closed"):
        campaign.undo()
    campaign.reopen(owner="ann")
    label(campaign, 2, TRUTH)
    assert campaign.state.n_settled == 2


def test_a_campaign_goes_on_under_another_name(tmp_path: Path) -> None:
    pool = tmp_path / "pool.parquet"
    pq.write_table(POOL, pool)
    campaign = begun(tmp_path / "c.db", pool)
    label(campaign, 5, TRUTH)
    other = load_campaign("spam", storage=tmp_path / "c.db")
    before = [one.as_dict() for one in campaign.estimate()]
    campaign.rename("ham", owner="ann")
    assert (campaign.name, campaign.settings.name) == ("ham", "ham")
    again = load_campaign("ham", storage=tmp_path / "c.db")
    assert [one.as_dict() for one in again.estimate()] == before
    assert again.audit() == []
    with pytest.raises(CampaignError, match="deleted or renamed"):
        other.ask(1)
    with pytest.raises(CampaignError, match="no campaign 'spam'"):
        load_campaign("spam", storage=tmp_path / "c.db")
    create_campaign("spam", pool, storage=tmp_path / "c.db", seed=1)
    with pytest.raises(InputError, match="'spam' already"):
        campaign.rename("spam")
    assert campaign.name == "ham"


def test_another_campaign_of_the_same_name_and_length_is_not_taken_for_the_one_before(
    tmp_path: Path,
) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    other = load_campaign("spam", storage=tmp_path / "c.db")
    campaign.delete()
    create_campaign("spam", POOL, storage=tmp_path / "c.db", seed=2)
    with pytest.raises(CampaignError, match="deleted or renamed"):
        other.ask(1, owner="ann")


def test_a_deleted_campaign_leaves_nothing_behind(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    label(campaign, 5, TRUTH)
    campaign.estimate()
    campaign.keep()
    store = open_store(tmp_path / "c.db")
    assert load_snapshot(store.address, "spam") is not None
    other = Campaign("spam", store)
    assert len(other.state.answers) == 5
    campaign.delete()
    assert (store.names(), load_snapshot(store.address, "spam")) == ([], None)
    with pytest.raises(CampaignError, match="deleted or renamed"):
        other.tell(1, "ham", owner="bob")
    create_campaign("spam", POOL, storage=tmp_path / "c.db", seed=1, kind="static")
    label(again := load_campaign("spam", storage=tmp_path / "c.db"), 9, TRUTH)
    with pytest.raises(CampaignError, match="deleted or renamed"):
        other.estimate()
    again.delete()
    with pytest.raises(CampaignError, match="no campaign"):
        campaign.ask(1)


WORKER = """
import os, signal, sys
from levelled.campaigns import load_campaign
campaign = load_campaign("spam", storage=sys.argv[1])
campaign.ask(5, owner="ann")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_process_that_was_killed_after_asking_strands_nothing(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    for _ in range(2):
        killed = subprocess.run([sys.executable, "-c", WORKER, str(tmp_path / "c.db")])
        assert killed.returncode == -9
    assert draws_of(campaign.ask(7, owner="ann")) == [1, 2, 3, 4, 5, 6, 7]
