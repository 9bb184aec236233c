"""Alterations of a log: each is named by the audit, or found by a hash that somebody kept.

They are made twice: as somebody would who can only change the events, and as somebody would who
also computes all hashes anew.
"""

import copy
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from campaigns.simulated import spam
from levelled.campaigns import create_campaign
from levelled.campaigns.audit import Audit, audit_log
from levelled.campaigns.drawing.pools import CampaignPool
from levelled.campaigns.log.anchors import Anchored
from levelled.campaigns.log.records import GENESIS, StoredEvent, canonical, carried_log, hash_of

POOL, TRUTH = spam(90)

Event = dict[str, Any]
Change = Callable[[list[Event]], object]

KEPT = "found only by a hash that somebody kept"


class Log:
    """The events of a campaign, and its pool."""

    def __init__(self, events: Sequence[StoredEvent], pool: CampaignPool) -> None:
        self.events = list(events)
        self.pool = pool

    def audit(self, events: Sequence[StoredEvent], expect: str | None = None) -> Audit:
        return audit_log("spam", events, self.pool.at, expect)

    def compare_with_anchor(self, events: Sequence[StoredEvent]) -> list[str]:
        lines = [Anchored(one.seq + 1, one.hash) for one in self.events]
        found = audit_log("spam", events, self.pool.at, anchored=(lines, "spam.anchor"))
        return [line for line in found if "spam.anchor" in line]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    """A campaign in which everything happened: rounds, skips, amendments, models, a new budget."""
    folder = tmp_path_factory.mktemp("alterations")
    pq.write_table(POOL, folder / "pool.parquet")
    ids, chance = POOL["id"], np.random.default_rng(1).random(90)
    pq.write_table(
        pa.table({"id": ids, "proba_ham": 1 - chance, "proba_spam": chance}), folder / "v2.parquet"
    )
    pq.write_table(pa.table({"id": ids, "loss_hat": chance}), folder / "scores.parquet")
    campaign = create_campaign(
        "spam",
        str(folder / "pool.parquet"),
        ["error", "f1:spam"],
        storage=folder / "c.db",
        seed=7,
        slices=["country"],
        budget=40,
        in_flight=12,
        lease_seconds=3600,
    )

    def work(n: int, owner: str) -> None:
        for one in campaign.ask(n, owner=owner):
            campaign.tell(one.draw, TRUTH[str(one.id)], owner=owner)

    work(12, "ann")
    campaign.attach(str(folder / "v2.parquet"), "v2")
    asks = campaign.ask(4, owner="bob")
    campaign.skip(asks[0].draw, owner="bob")
    campaign.mark_unlabelable(asks[1].draw, reason="blank", owner="bob")
    campaign.tell(asks[2].draw, "ham", owner="bob")
    campaign.tell(asks[2].draw, "spam", owner="boss", on_behalf_of="carl")
    campaign.amend(5, "spam" if TRUTH[str(campaign.state.draws[4].id)] == "ham" else "ham")
    campaign.rescore(str(folder / "scores.parquet"))
    campaign.change(budget=50)
    work(12, "ann")
    campaign.ask(2, owner="bob")
    events = [stored.event for stored in campaign._log.store.events("spam")]
    for minutes, event in enumerate(events):  # as if somebody had worked for an hour
        for name in {"at", "until"} & {*event}:
            time = datetime.fromisoformat(event[name]) + timedelta(minutes=minutes)
            event[name] = time.isoformat()
    return Log(chain(events), campaign._pool)


def chain(events: Sequence[Event]) -> list[StoredEvent]:
    """The events with hashes computed anew, and with the text that all carry of the first one."""
    stored: list[StoredEvent] = []
    prev = GENESIS
    for seq, event in enumerate(events):
        event.pop("log", None)
        if stored and (log := carried_log(stored[0].event, stored[0].hash)):
            event["log"] = log
        new = hash_of(prev, body := canonical(event))
        stored.append(StoredEvent(seq, prev, new, event, body))
        prev = new
    return stored


def nth(kind: str, at: int = 0) -> Callable[[list[Event]], Event]:
    """The event of a kind at a place among those of the kind."""
    return lambda events: [event for event in events if event["type"] == kind][at]


def put(kind: str, *path: Any, at: int = 0) -> Change:  # noqa: ANN401
    """Set a value in the event of a kind; a function is given the value before."""
    *names, last, value = path

    def change(events: list[Event]) -> None:
        place: Any = nth(kind, at)(events)
        for name in names:
            place = place[name]
        place[last] = value(place[last]) if callable(value) else value

    return change


def put_new(kind: str, name: str, value: object) -> Change:
    """Add a key to the first event of a kind."""
    return lambda events: nth(kind)(events).update({name: value})


def setting(name: str, value: object) -> Change:
    return put("created", "settings", name, value)


def draw(*path: Any, at: int = -1) -> Change:  # noqa: ANN401
    return put("drawn", "draws", *path, at=at)


def drop(kind: str, at: int = 0) -> Change:
    return lambda events: events.remove(nth(kind, at)(events))


def insert(event: Event, after: int) -> Change:
    return lambda events: events.insert(after, {"at": events[after]["at"], "by": "eve", **event})


def swap(first: int, second: int) -> Change:
    def change(events: list[Event]) -> None:
        events[first], events[second] = events[second], events[first]

    return change


def flipped(label: str) -> str:
    return "ham" if label == "spam" else "spam"


def answers_before_leases(events: list[Event]) -> None:
    lease = nth("leased")(events)
    events.remove(lease)
    events.insert(len(events) - 2, lease)


MARK = {"type": "resolved", "reason": "blank"}


def opinion(events: list[Event]) -> Event:
    (one,) = [event for event in events if event.get("on_behalf_of") == "carl"]
    return one


def moved(event: Event) -> Event:
    """The times of an event, two days later."""
    return {
        name: (datetime.fromisoformat(event[name]) + timedelta(days=2)).isoformat()
        for name in ("at", "until")
        if name in event
    }


def other_round(events: list[Event]) -> None:
    at = events.index(nth("round", 1)(events))
    events.insert(at, copy.deepcopy(events[at]))


SETTINGS: dict[str, tuple[Change, str]] = {
    "name": (setting("name", "ham"), "is stored as 'spam'"),
    "pool size": (setting("pool_size", 91), "pool_size: 91 is on record"),
    "fingerprint": (setting("fingerprint", "0" * 64), "its content differs"),
    "seed": (setting("seed", 8), "draw 1: "),
    "level": (setting("level", 0.5), "planned looks"),
    "level beyond 1": (setting("level", 1.5), "level must be"),
    "budget": (setting("budget", 39), "planned looks"),
    "look earlier": (put("created", "settings", "looks", 0, 0, 1), "planned looks"),
    "look with more error": (put("created", "settings", "looks", 0, 1, 0.01), "planned looks"),
    "no looks": (setting("looks", []), "is on record"),
    "classes": (setting("classes", ["spam", "ham"]), ""),
    "numeric": (setting("numeric", True), "numeric: True is on record"),
    "models": (setting("models", ["v9"]), ""),
    "slice counts": (put("created", "settings", "slice_counts", "country", "de", 31), "slice_co"),
    "counts of predictions": (put("created", "settings", "pred_counts", "", "ham", 1), "pred_co"),
    "kind": (setting("kind", "static"), "the labels before it give"),
    "kind unknown": (setting("kind", "sorcery"), "newer Levelled"),
    "drive unknown": (setting("drive", "sorcery"), "newer Levelled"),
    "lease without an end": (setting("lease_seconds", 10**9), "lease_seconds must be"),
    "slices of numbers": (setting("slices", [1]), "`$.slices[0]`: [1]"),
    "truth as a number": (setting("in_flight", True), "`$.in_flight`: True"),
    "metric of other draws": (setting("metrics", ["brier", "f1:spam"]), "draw 1: "),
    "sample": (setting("n_sampled", 3), "draw 1: "),
    "features": (setting("features", ["f_1"]), ""),
    "shown columns": (put("created", "settings", "columns", "show", ["text"]), "columns: "),
    "judges": (put("created", "settings", "columns", "judge_columns", ["text"]), "columns: "),
    "choice of a newer version": (put("created", "settings", "columns", "x", 1), "newer Levelled"),
    "group": (setting("group", "text"), "group: 'text' is on record"),
    "groups": (setting("n_groups", 7), "n_groups: 7 is on record"),
    "floor": (setting("floor", 0.9), "floor choose the weights"),
    "shorter leases": (setting("lease_seconds", 60), "its leases end at"),
    "items in flight": (setting("in_flight", 2), "items would have been in flight"),
    "guarantee": (setting("guarantee", "finite"), "guarantee"),
    "pair": (setting("pair", ["text", "body"]), "no column 'body' for the pair"),
    "content": (setting("content", {"text": "movie"}), "'movie' is no kind of content"),
    "question": (setting("questions", ["tone"]), "cannot be read"),
    "note": (put("answered", "note", 3), "`$.note`: 3"),
    "rubric": (put("answered", "rubric", {"tone": "kind"}), "no question 'tone'"),
    "setting of a newer version": (setting("sorcery", 1), "newer Levelled"),
    "format": (setting("format", 3), "newer Levelled"),
    "no seed": (lambda events: events[0]["settings"].pop("seed"), "`seed`"),
    "pool size as text": (setting("pool_size", "90"), "`$.pool_size`: '90'"),
}
DRAWS: dict[str, tuple[Change, str]] = {
    "probability": (draw(0, "probability", lambda q: q * (1 + 1e-4)), "probability"),
    "row": (draw(0, "row", 0), ""),
    "id": (draw(0, "id", "r0"), "the pool gives"),
    "number of a draw": (draw(0, "draw", 1), "do not continue"),
    "design": (draw(0, "design", "control", 0.5), "design columns"),
    "design column too many": (draw(0, "design", lambda one: {**one, "x": 1.0}), "design columns"),
    "design column missing": (
        lambda e: nth("drawn", -1)(e)["draws"][0]["design"].pop("control"),
        "",
    ),
    "prediction": (draw(0, "pred", "", "eggs"), "predictions or slices"),
    "class probabilities": (draw(0, "proba", "", [0.5, 0.5]), "probabilities of the classes"),
    "slice": (draw(0, "slices", "country", "it"), "predictions or slices"),
    "shown field": (draw(0, "data", "text", "other"), "fields shown"),
    "shown field missing": (draw(0, "data", {}), "fields shown"),
    "draw left out": (lambda events: nth("drawn", -1)(events)["draws"].pop(0), "do not continue"),
    "draws swapped": (
        lambda events: nth("drawn", -1)(events)["draws"].reverse(),
        "do not continue",
    ),
    "item drawn twice": (
        lambda events: nth("drawn", -1)(events)["draws"].append(
            nth("drawn", 1)(events)["draws"][0]
        ),
        "",
    ),
    "floor of a round": (
        put("round", "floor", 0.4, at=-1),
        "floor 0.4 is on record",
    ),
    "coefficient of a round": (
        put("round", "predictor", "scores", 0, lambda b: b + 1e-4, at=-1),
        "predictor.scores.0 ",
    ),
    "background of a round": (
        put("round", "predictor", "background", 0.5, at=-1),
        "predictor.background",
    ),
    "first draw of a round": (put("round", "first", 3, at=-1), "the next draw is"),
    "round left out": (drop("round", -1), ""),
    "round twice": (other_round, ""),
}
WORK: dict[str, tuple[Change, str]] = {
    "lease before its turn": (put("leased", "draws", [14, 15], at=1), "before their turn"),
    "lease for longer": (put("leased", "until", "2099-01-01T00:00:00+00:00"), "its leases end at"),
    "lease of another's item": (
        lambda events: events.append({**nth("leased", -1)(events), "by": "eve"}),
        "was kept for bob",
    ),
    "lease of a settled item": (
        lambda events: events.append({**nth("leased", -1)(events), "draws": [1]}),
        "Draw 1 has an answer already",
    ),
    "lease beyond the draws": (put("leased", "draws", [10**6], at=-1), ""),
    "lease left out": (drop("leased", 0), "was never asked"),
    "answers before leases": (answers_before_leases, "was never asked"),
    "label of no class": (put("answered", "label", "eggs", at=-1), "label 'eggs' is refused"),
    "label of another type": (put("answered", "label", 1, at=-1), "label 1"),
    "empty label": (put("answered", "label", "", at=-1), "is refused"),
    "no label": (lambda events: nth("answered", -1)(events).pop("label"), "cannot be read"),
    "label that a round learnt from": (
        put("answered", "label", flipped, at=1),
        "the labels before it give",
    ),
    "answer that a round learnt from left out": (drop("answered", 1), "the labels before it give"),
    "answer to a draw never asked": (put("answered", "draw", 45, at=-1), "Draw 45 was never asked"),
    "answer to no draw": (put("answered", "draw", "1", at=-1), "`$.draw`: '1'"),
    "labeller": (put("answered", "by", "zoe"), "never given to zoe"),
    "rules of before": (
        lambda events: events[0]["settings"].pop("rules"),
        "on behalf of 'carl'",
    ),
    "rules of a newer version": (setting("rules", 3), "rules 3"),
    "owner that is a number": (put("answered", "by", 3), "`$.by`: 3"),
    "time that is none": (put("answered", "at", "yesterday"), "it has no time"),
    "amended without a label": (
        lambda e: e.append({**nth("amended")(e), "draw": nth("leased", -1)(e)["draws"][0]}),
        "Draw 16 has no answer to amend",
    ),
    "amended to no class": (put("amended", "label", "eggs"), "'eggs' is refused"),
    "skipped after its label": (
        lambda e: e.append({**nth("skipped")(e), "draw": 1}),
        "Draw 1 has an answer already",
    ),
    "unlabelable after its label": (
        lambda e: e.append({**nth("resolved")(e), "draw": 1}),
        "Draw 1 has an answer already",
    ),
    "attached prediction": (put("attached", "pred", "1", flipped), "pred.1 "),
    "attached probabilities": (
        put("attached", "proba", "1", [0.1, 0.9]),
        "proba.1.0 0.1 is",
    ),
    "attached counts": (put("attached", "pred_counts", "ham", 1), "pred_counts.ham 1 is on record"),
    "attached fingerprint": (put("attached", "fingerprint", "0" * 64), "'v2'"),
    "attached draw left out": (lambda e: nth("attached")(e)["pred"].pop("3"), "for every draw"),
    "another model's name": (put("attached", "model", "v3"), "for every draw"),
    "budget without looks": (
        lambda events: nth("changed")(events)["settings"].pop("looks"),
        "the state before it gives",
    ),
    "changed looks": (put("changed", "settings", "looks", -1, 1, 0.049), "the state before it"),
    "changed budget": (put("changed", "settings", "budget", 60), "the state before it gives"),
    "changed setting unknown": (
        put("changed", "settings", "sorcery", 1),
        "'sorcery' cannot be",
    ),
    "changed to nothing in flight": (put("changed", "settings", "in_flight", 0), ""),
    "scores": (put("rescored", "fingerprint", "0" * 64), ""),
    "scores left out": (drop("rescored"), ""),
    "created twice": (lambda events: events.append(copy.deepcopy(events[0])), "only once"),
    "creation left out": (drop("created"), "does not begin with the creation"),
    "closed before the last labels": (
        insert({"type": "closed", "reason": "over"}, -4),
        "is closed (over)",
    ),
    "key of a newer version": (put_new("answered", "x", 1), "unknown key 'x'"),
    "key of a draw of a newer version": (
        lambda events: nth("drawn", -1)(events)["draws"][0].update(x=1),
        "unknown field `x`",
    ),
    "newer version of an event": (put_new("leased", "version", 2), "unknown version 2"),
    "version that is always meant": (put_new("leased", "version", 1), "is on record"),
    "remark that no version writes": (
        put_new("answered", "opinion", False),
        "unknown key 'opinion'",
    ),
    "opinion that is none": (put_new("amended", "opinion", False), "is on record"),
    "opinion of somebody else": (put_new("amended", "opinion", True), "had no such label"),
    "event of a newer version": (insert({"type": "sorcery"}, -1), "newer Levelled"),
    "event without a type": (lambda events: events[-1].pop("type"), ""),
}
NEVER_WRITTEN: dict[str, tuple[Change, str]] = {
    "time of a label": (put("answered", "at", "2026-01-01T00:00:00+00:00"), "its time"),
    "time of a label in the future": (put("answered", "at", "2036-01-01T00:00:00+00:00"), "time"),
    "two labels swapped": (swap(6, 7), "its time"),
    "label and lease swapped": (swap(43, 44), "its time"),
    "amendment moved to the end": (lambda e: e.append(e.pop(e.index(nth("amended")(e)))), ""),
    "label told twice": (lambda e: e.insert(8, copy.deepcopy(e[7])), "had told a label"),
    "label told twice, differently": (
        lambda e: e.insert(8, {**copy.deepcopy(e[7]), "label": flipped(e[7]["label"])}),
        "had told a label",
    ),
    "amendment twice": (
        lambda e: e.insert(e.index(nth("amended")(e)), copy.deepcopy(nth("amended")(e))),
        "to what it was",
    ),
    "setting left out": (lambda e: e[0]["settings"].pop("level"), "is on record"),
    "columns left out": (setting("columns", {}), "is on record"),
    "draws by a person": (put("drawn", "by", "eve"), "no person draws"),
    "creation by a person": (put("created", "by", "eve"), "no person draws"),
}
UNDETERMINED: dict[str, tuple[Change, str]] = {
    "last events cut off": (lambda events: events.__delitem__(slice(-3, None)), KEPT),
    "all labels cut off": (lambda events: events.__delitem__(slice(2, None)), KEPT),
    "label after the last round changed": (put("answered", "label", flipped, at=-1), KEPT),
    "label after the last round left out": (drop("answered", -1), KEPT),
    "label after the last round amended": (
        insert(
            {"type": "amended", "by": "ann", "draw": 1, "label": "ham", "note": "after all"}, -1
        ),
        KEPT,
    ),
    "label after the last round made a mark as unlabelable": (
        lambda e: (nth("answered", -1)(e).pop("label"), nth("answered", -1)(e).update(MARK)),
        KEPT,
    ),
    "second opinion changed": (lambda events: opinion(events).update(label="ham"), KEPT),
    "second opinion left out": (lambda events: events.remove(opinion(events)), KEPT),
    "last lease left out": (drop("leased", -1), KEPT),
    "labeller called otherwise throughout": (
        lambda e: [one.update(by="zoe") for one in e if one["by"] == "ann"],
        KEPT,
    ),
    "note added": (put("answered", "note", "sure", at=-1), KEPT),
    "reason of a mark": (put("resolved", "reason", "rude"), KEPT),
    "reason of a skip": (put("skipped", "reason", "rude"), KEPT),
    "all times": (lambda e: [one.update(moved(one)) for one in e], KEPT),
    "new budget that was not used yet left out": (drop("changed"), KEPT),
    "metric that follows from the one drawn for": (
        setting("metrics", ["accuracy", "f1:spam"]),
        KEPT,
    ),
    "target width": (setting("target_width", 0.3), KEPT),
    "guidelines": (setting("guidelines", "Say spam."), KEPT),
    "name of the model": (setting("model_name", "v1"), KEPT),
    "folder of the images": (setting("images", "/elsewhere"), KEPT),
    "more items in flight": (setting("in_flight", 1000), KEPT),
    "longer leases": (setting("lease_seconds", 7200), KEPT),
    "path of the pool": (setting("source", "/elsewhere/pool.parquet"), KEPT),
}
ALL = {**SETTINGS, **DRAWS, **WORK, **NEVER_WRITTEN, **UNDETERMINED}


def altered(log: Log, change: Change) -> list[Event]:
    events = copy.deepcopy([stored.event for stored in log.events])
    change(events)
    return events


def test_the_log_itself_passes(log: Log) -> None:
    audit = log.audit(log.events, expect=log.events[-1].hash)
    assert audit == []
    assert (audit.n_events, audit.last_hash) == (len(log.events), log.events[-1].hash)
    assert (audit.since, audit.notes) == (0, [])
    kinds = {stored.event["type"] for stored in log.events}
    assert len(kinds) == 11, "every type of event but the closing"


def test_at_least_three_of_four_kinds_are_found_without_a_kept_hash() -> None:
    assert len(ALL) >= 60
    assert len(UNDETERMINED) <= len(ALL) / 4


def test_the_documentation_lists_the_kinds_that_only_a_kept_hash_finds() -> None:
    text = (Path(__file__).parents[2] / "docs/audit.md").read_text()
    assert f"{len(ALL)} kinds" in text
    section = text.partition("## Alterations that only a kept hash finds")[2].partition("\n## ")[0]
    assert re.findall(r"^- (.+)$", section, re.MULTILINE) == [*UNDETERMINED]


@pytest.mark.parametrize("kind", ALL)
def test_an_altered_event_is_named_where_hashes_stay(log: Log, kind: str) -> None:
    events = altered(log, ALL[kind][0])
    hashes = [(stored.prev_hash, stored.hash) for stored in log.events]
    hashes += [hashes[-1]] * len(events)
    stored = [
        StoredEvent(at, *hashes[at], event, canonical(event)) for at, event in enumerate(events)
    ]
    audit = log.audit(stored, expect=log.events[-1].hash)
    assert audit
    if altered(log, lambda _: None)[: len(events)] != events:  # not only cut off
        assert any(line.startswith("event ") for line in audit)


@pytest.mark.parametrize("kind", ALL)
def test_an_altered_event_is_named_where_hashes_are_computed_anew(log: Log, kind: str) -> None:
    change, message = ALL[kind]
    stored = chain(altered(log, change))
    audit = log.audit(stored)
    if len(stored) <= len(log.events):  # one event more behind all others needs no new hashes
        assert log.compare_with_anchor(stored)
    if message is KEPT:
        assert audit == []
        (line,) = log.audit(stored, expect=log.events[-1].hash[:12])
        assert "cut off" in line
    else:
        assert audit
        assert any(message in line for line in audit), [*audit]


@pytest.mark.parametrize(
    ("at", "change"),
    [
        (5, {"prev_hash": "0" * 64}),
        (5, {"hash": "0" * 64}),
        (5, {"seq": 6}),
        (0, {"prev_hash": "1" * 64}),
        (-1, {"hash": "f" * 64}),
    ],
)
def test_altered_hashes_and_places_are_named(log: Log, at: int, change: dict[str, Any]) -> None:
    events = list(log.events)
    events[at] = replace(events[at], **change)
    assert log.audit(events)[0].startswith("event ")


def test_missing_repeated_and_moved_events_are_named(log: Log) -> None:
    events = log.events
    moved = [*events[:4], events[5], events[4], *events[6:]]
    for wrong in (events[1:], [*events[:7], *events[8:]], [*events[:7], *events[6:]], moved):
        assert log.audit(wrong)[0].startswith("event ")


def test_a_hash_of_an_earlier_event_says_how_many_came_since(log: Log) -> None:
    audit = log.audit(log.events, expect=log.events[9].hash.upper()[:12])
    assert audit == []
    assert audit.since == len(log.events) - 10


@pytest.mark.parametrize("hash_", ["", "6f0c", "z" * 64, "0" * 65, "0" * 11])
def test_a_text_that_is_no_hash_is_refused(log: Log, hash_: str) -> None:
    with pytest.raises(ValueError, match=r"\bhash\b"):
        log.audit(log.events, expect=hash_)
