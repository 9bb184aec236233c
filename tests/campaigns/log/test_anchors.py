"""Anchors: the file has the end of the log after each step, and a log that lacks one is refused."""

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from campaigns.simulated import begun, label, spam
from levelled.campaigns import Campaign, load_campaign, open_store
from levelled.campaigns.log.anchors import Anchor, Anchored
from levelled.campaigns.log.records import GENESIS, canonical, carried_log, hash_of
from levelled.errors import CampaignError, InputError, StorageError

POOL, TRUTH = spam(40)


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    return begun(tmp_path / "c.db", POOL, anchor=str(tmp_path / "spam.anchor"))


def lines(path: Path) -> list[Anchored]:
    return Anchor(str(path)).new_lines()


def rewrite(path: Path, *, cut: int = 0) -> None:
    """Change the last label, cut off events, and compute all hashes anew."""
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT seq, body FROM events ORDER BY seq").fetchall()
        events = [json.loads(body) for _, body in rows]
        told = [event for event in events if event["type"] == "answered"]
        told[-1]["label"] = "ham" if told[-1]["label"] == "spam" else "spam"
        prev, log = GENESIS, ""
        for seq, event in enumerate(events):
            if seq:
                event["log"] = log
            new = hash_of(prev, canonical(event))
            log = log or carried_log(event, new)
            database.execute(
                "UPDATE events SET prev_hash = ?, hash = ?, body = ? WHERE seq = ?",
                [prev, new, canonical(event), seq],
            )
            prev = new
        database.execute("DELETE FROM events WHERE seq >= ?", [len(events) - cut])
    database.close()


def test_the_end_of_the_log_is_appended_after_each_step(campaign: Campaign, tmp_path: Path) -> None:
    anchor = tmp_path / "spam.anchor"
    ends = [(campaign.state.n_events, campaign.last_hash)]
    assert lines(anchor) == ends
    label(campaign, 2, TRUTH)
    campaign.close()
    campaign.rename("mail")
    hashes = campaign._log.store.hashes("mail")
    found = lines(anchor)
    assert found[-1] == (len(hashes), hashes[len(hashes) - 1])
    assert all(hashes[line.n_events - 1] == line.hash for line in found)
    assert anchor.read_text().endswith(" mail\n")
    assert campaign.audit() == []


@pytest.mark.parametrize("cut", [0, 1, 3])
def test_a_log_that_lacks_an_anchored_hash_is_refused(
    campaign: Campaign, tmp_path: Path, cut: int
) -> None:
    label(campaign, 3, TRUTH)
    rewrite(tmp_path / "c.db", cut=cut)
    with pytest.raises(StorageError, match=r"event \d+ .*spam\.anchor.*backup") as caught:
        load_campaign("spam", storage=tmp_path / "c.db")
    assert "\n" not in str(caught.value)
    again = Campaign("spam", open_store(tmp_path / "c.db"))
    for _ in range(2):  # it stays so
        with pytest.raises(StorageError):
            again.ask(1)
    assert any("spam.anchor" in line for line in again.audit())


def test_an_anchor_is_named_from_outside(tmp_path: Path) -> None:
    anchor = tmp_path / "spam.anchor"
    campaign = begun(tmp_path / "c.db", POOL)
    label(campaign, 3, TRUTH)
    campaign.change(anchor=str(anchor))
    campaign.change(anchor="")
    kept = lines(anchor)
    assert [line.n_events for line in kept] == [campaign.state.n_events - 1]
    assert campaign.audit(anchor=anchor) == []
    pool = campaign.pool()
    rewrite(tmp_path / "c.db")
    other = Campaign("spam", open_store(tmp_path / "c.db"), pool=pool)
    assert other.audit() == []
    assert any("spam.anchor" in line for line in other.audit(anchor=anchor))


def test_nothing_is_stored_if_the_anchor_cannot_be_written(
    campaign: Campaign, tmp_path: Path
) -> None:
    before = campaign.state.n_events
    (tmp_path / "spam.anchor").unlink()
    (tmp_path / "spam.anchor").mkdir()
    with pytest.raises(StorageError, match=r"spam\.anchor"):
        campaign.ask(1)
    assert campaign._log.store.count("spam") == before


def test_a_file_of_another_campaign_is_no_anchor(campaign: Campaign, tmp_path: Path) -> None:
    anchor = str(tmp_path / "spam.anchor")
    with pytest.raises(CampaignError, match="another campaign"):
        begun(tmp_path / "other.db", POOL, anchor=anchor)
    other = begun(tmp_path / "other.db", POOL)
    with pytest.raises(StorageError, match=r"spam\.anchor"):
        other.change(anchor=anchor)
    assert other.settings.anchor == ""
    with pytest.raises(InputError, match="folder"):
        other.change(anchor=str(tmp_path / "nowhere/spam.anchor"))
    assert campaign.audit() == []


def test_a_line_that_is_none_is_named(campaign: Campaign, tmp_path: Path) -> None:
    with (tmp_path / "spam.anchor").open("a") as file:
        file.write("something else\n")
    with pytest.raises(StorageError, match=r"Line 2 .*spam\.anchor"):
        _ = campaign.state


def test_several_processes_may_write_to_an_anchor(campaign: Campaign, tmp_path: Path) -> None:
    def work(owner: str) -> None:
        own = load_campaign("spam", storage=tmp_path / "c.db")
        for _ in range(8):
            (one,) = own.ask(1, owner=owner)
            own.tell(one.draw, TRUTH[str(one.id)], owner=owner)
            _ = own.state

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(work, ["ann", "bob", "carl"]))
    hashes = campaign._log.store.hashes("spam")
    found = lines(tmp_path / "spam.anchor")
    assert all(hashes[line.n_events - 1] == line.hash for line in found)
    assert max(found).n_events == len(hashes)
