import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from campaigns.simulated import begun, label, spam
from levelled.campaigns import Campaign, load_campaign, open_store
from levelled.campaigns.log.records import GENESIS, StoredEvent, canonical, hash_of
from levelled.campaigns.stores import Store

POOL, TRUTH = spam(40)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A campaign of ten labels, its pool in a file, its games kept."""
    pq.write_table(POOL, tmp_path / "pool.parquet")
    campaign = begun(
        tmp_path / "c.db", str(tmp_path / "pool.parquet"), ["error", "f1:spam"], slices=["country"]
    )
    label(campaign, 10, TRUTH)
    campaign.estimate()
    campaign.keep()
    return tmp_path / "c.db"


def audit(path: Path) -> list[str]:
    return Campaign("spam", open_store(path)).audit()


def tamper(path: Path, change: Callable[[dict[str, Any]], None], kind: str, *, chain: bool) -> None:
    """Change the last event of a kind behind the store's back; with `chain`, hash all anew."""
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT seq, body FROM events ORDER BY seq").fetchall()
        events = {seq: json.loads(body) for seq, body in rows}
        last = max(seq for seq, event in events.items() if event["type"] == kind)
        change(events[last])
        prev = GENESIS
        for seq, event in events.items():
            text = canonical(event)
            if seq == last:
                database.execute("UPDATE events SET body = ? WHERE seq = ?", [text, seq])
            if chain:
                new = hash_of(prev, text)
                database.execute(
                    "UPDATE events SET prev_hash = ?, hash = ? WHERE seq = ?", [prev, new, seq]
                )
                prev = new
    database.close()


class BusyStore:
    """A store in which another labeller tells a label after each read of events."""

    def __init__(self, store: Store, labeller: Campaign) -> None:
        self._store = store
        self._labeller = labeller

    def events(self, campaign: str, since: int = 0) -> list[StoredEvent]:
        events = self._store.events(campaign, since)
        label(self._labeller, 1, TRUTH)
        return events

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._store, name)


def test_labels_that_arrive_during_an_audit_are_no_difference(path: Path) -> None:
    store: Any = BusyStore(open_store(path), load_campaign("spam", storage=path))
    campaign = Campaign("spam", store)
    assert [campaign.audit() for _ in range(5)] == [[]] * 5


def test_an_untouched_campaign_passes(path: Path) -> None:
    assert audit(path) == []


def test_a_campaign_that_went_through_everything_passes(path: Path) -> None:
    campaign = load_campaign("spam", storage=path)
    campaign.ask(6, owner="ann")
    campaign.skip(11, owner="ann")
    campaign.mark_unlabelable(12, reason="blank")
    assert [one.draw for one in campaign.ask(1, owner="bob")] == [11]
    campaign.tell(11, "ham", owner="bob")
    campaign.tell(11, "spam", owner="ann")
    campaign.tell(13, "spam", owner="eve", on_behalf_of="ann")
    campaign.give_back(owner="eve", everyone=True)
    campaign.amend(3, "spam" if campaign.state.answers[3].label == "ham" else "ham")
    campaign.change(budget=30)
    campaign.close()
    assert audit(path) == []


def test_a_tampered_label_is_found(path: Path) -> None:
    def flip(event: dict[str, Any]) -> None:
        event["label"] = "ham" if event["label"] == "spam" else "spam"

    tamper(path, flip, "answered", chain=False)
    (difference,) = audit(path)
    assert difference.startswith("event 12: its text")


def test_a_tampered_probability_is_found(path: Path) -> None:
    def shrink(event: dict[str, Any]) -> None:
        event["draws"][4]["probability"] /= 2

    tamper(path, shrink, "drawn", chain=False)
    (difference,) = audit(path)
    assert difference.startswith("event 1: its text")


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("probability", 0.5, "draw 5: probability 0.5"),
        ("design", {"max_weight": 1.0}, "draw 5: its design"),
        ("pred", {"": "eggs"}, "draw 5: its predictions"),
        ("slices", {"country": "it"}, "draw 5: its predictions"),
        ("proba", {"": [0.5, 0.5]}, "draw 5: its probabilities"),
    ],
)
def test_what_was_tampered_with_and_hashed_anew_differs_from_the_pool(
    path: Path, column: str, value: object, message: str
) -> None:
    def change(event: dict[str, Any]) -> None:
        item = event["draws"][4]
        item[column] = {**item[column], **value} if isinstance(value, dict) else value

    tamper(path, change, "drawn", chain=True)
    first, *_ = audit(path)
    assert first.startswith(message)


def test_a_missing_event_is_found(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("DELETE FROM events WHERE seq = 7")
    database.close()
    (difference,) = audit(path)
    assert difference.startswith("event 7: it is missing")
    assert "event 8" in difference


def test_another_pool_is_found(path: Path) -> None:
    pq.write_table(POOL.slice(0, 39), path.parent / "pool.parquet")
    (difference,) = audit(path)
    assert "its content differs" in difference


def test_a_campaign_with_a_labelled_sample_passes(tmp_path: Path) -> None:
    sample = tmp_path / "sample.csv"
    ids = POOL["id"].to_pylist()
    sample.write_text("id,label\n" + "".join(f"{one},{TRUTH[one]}\n" for one in ids[:8]))
    campaign = begun(tmp_path / "c.db", POOL, labelled=sample)
    label(campaign, 5, TRUTH)
    assert campaign.audit() == []


def test_a_campaign_whose_sample_is_the_whole_pool_passes(tmp_path: Path) -> None:
    sample = tmp_path / "sample.csv"
    sample.write_text("id,label\n" + "".join(f"{one},{TRUTH[one]}\n" for one in TRUTH))
    campaign = begun(tmp_path / "c.db", POOL, labelled=sample)
    assert campaign.audit() == []
    (figure,) = campaign.estimate()
    assert figure.estimate.low == figure.estimate.value == figure.estimate.high
