"""What every store promises, written once. Provide a `store` fixture and inherit the tests."""

import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from levelled.campaigns.log.records import GENESIS, Known, canonical, hash_of, verify
from levelled.campaigns.stores import Read, Store
from levelled.errors import ConflictError, InputError

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=10,
)

HOSTILE = [
    "'; DROP TABLE events; --",
    '"}, {"type": "closed"',
    "\x00",
    "a\x00b",
    "\u2028\u2029\ufeff",
    "\u202egpj.exe",
    "<script>alert(1)</script>",
    "=cmd|' /C calc'!A0",
    "\N{FAMILY}\u200d\N{GIRL}",
    "\r\n\t\x1b[2J",
    "%s %(of)s :of ? {of}",
    "x" * 100_000,
]


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


NOT_EVENTS: dict[str, object] = {
    "nan": {"label": math.nan},
    "infinity": {"label": [math.inf]},
    "a key that is a number": {"draws": {1: "spam"}},
    "a key that is None": {None: 1},
    "a set": {"draws": {1, 2}},
    "an array": {"draws": np.arange(3)},
    "a number of NumPy": {"draw": np.int64(3)},
    "half a character": {"label": "\ud800"},
    "half a character in a key": {"\udfff": 1},
    "bytes": {"label": b"spam"},
    "text": "created",
    "a list": [("type", "created")],
    "nothing": None,
    "a hundred thousand levels": nested(100_000),
}


class StoreContract:
    """What every store promises."""

    def test_events_come_back_in_the_order_they_were_written(self, store: Store) -> None:
        for step in range(12):
            assert store.append("digits", [{"step": step}], expected=step) == step
        assert [stored.event["step"] for stored in store.events("digits")] == list(range(12))
        assert [stored.seq for stored in store.events("digits")] == list(range(12))

    def test_several_events_are_appended_at_once(self, store: Store) -> None:
        assert store.append("digits", [{"step": 0}], expected=0) == 0
        assert store.append("digits", [{"step": 1}, {"step": 2}], expected=1) == 2
        assert [stored.event["step"] for stored in store.events("digits")] == [0, 1, 2]

    def test_appending_nothing_changes_nothing(self, store: Store) -> None:
        assert store.append("digits", [], expected=0) == -1
        store.append("digits", [{}], expected=0)
        assert store.append("digits", [], expected=1) == 0
        with pytest.raises(ConflictError):
            store.append("digits", [], expected=0)
        assert store.count("digits") == 1

    @pytest.mark.parametrize("expected", [0, 1, 3, 10**30])
    def test_what_others_wrote_in_between_is_a_conflict(self, store: Store, expected: int) -> None:
        store.append("digits", [{"step": 0}, {"step": 1}], expected=0)
        with pytest.raises(ConflictError, match="try again"):
            store.append("digits", [{"step": 2}], expected=expected)
        assert [stored.event["step"] for stored in store.events("digits")] == [0, 1]

    @pytest.mark.parametrize("expected", [-1, 0.5, True, None, "0"])
    def test_an_expected_number_that_is_none_is_refused(
        self, store: Store, expected: float
    ) -> None:
        with pytest.raises(InputError, match="expected"):
            store.append("digits", [{}], expected=expected)  # type: ignore[arg-type]

    def test_reading_can_start_where_the_reader_stopped(self, store: Store) -> None:
        store.append("digits", [{"step": step} for step in range(5)], expected=0)
        everything = store.events("digits")
        for since in range(8):
            assert store.events("digits", since) == everything[since:]
        assert store.events("digits", 10**30) == []
        with pytest.raises(InputError, match="since"):
            store.events("digits", -1)

    def test_events_that_draw_can_be_left_out(self, store: Store) -> None:
        drawn = {"type": "drawn", "draws": [{"data": {"type": "answered"}}]}
        told = {"type": "answered", "label": '"type":"drawn"}', "by": '{"type":"drawn"}'}
        store.append("digits", [{"type": "created"}, drawn, told, drawn], expected=0)
        for since in (0, 1):
            whole, rest = (store.events("digits", since, draws=draws) for draws in (True, False))
            assert [one.hash for one in rest] == [one.hash for one in whole]
            read = {one.seq: one.event for one in rest if one.body is not None}
            assert read == {one.seq: one.event for one in whole if one.event["type"] != "drawn"}
            assert verify(rest, Known(since, rest[0].prev_hash)) is None

    def test_hashes_are_read_by_their_places(self, store: Store) -> None:
        store.append("digits", [{"step": 0}, {"step": 1}], expected=0)
        events = store.events("digits")
        assert store.hashes("digits") == {one.seq: one.hash for one in events}
        assert store.hashes("digits", 1) == {1: events[1].hash}
        assert store.hashes("letters") == {}

    def test_a_campaign_nobody_started_has_no_events(self, store: Store) -> None:
        assert store.events("digits") == []
        assert store.last("digits") is None
        assert store.count("digits") == 0
        assert store.names() == []

    def test_count_and_last_look_at_the_end(self, store: Store) -> None:
        for step in range(3):
            store.append("digits", [{"step": step}], expected=step)
            assert store.count("digits") == step + 1
            assert store.last("digits") == store.events("digits")[-1]

    def test_campaigns_do_not_mix(self, store: Store) -> None:
        for name in ["b", "a", "ab", "A", "ä"]:
            store.append(name, [{"of": name}], expected=0)
        store.append("a", [{"of": "a"}], expected=1)
        assert store.names() == sorted(["b", "a", "ab", "A", "ä"])
        for name in store.names():
            assert {stored.event["of"] for stored in store.events(name)} == {name}

    def test_events_are_chained_by_their_hashes(self, store: Store) -> None:
        store.append("digits", [{"step": 0}, {"step": 1}], expected=0)
        store.append("digits", [{"step": 2}], expected=2)
        events = store.events("digits")
        assert events[0].prev_hash == GENESIS
        assert events[2].hash == hash_of(events[1].hash, '{"step":2}')
        assert verify(events) is None

    @given(event=st.dictionaries(TEXT, JSON, max_size=4))
    @settings(
        max_examples=50,
        suppress_health_check=[
            HealthCheck.function_scoped_fixture,  # examples may follow each other in one store
            HealthCheck.differing_executors,
            HealthCheck.too_slow,
        ],
    )
    def test_any_json_comes_back_as_it_was(self, store: Store, event: dict[str, Any]) -> None:
        store.append("digits", [event], expected=store.count("digits"))
        last = store.last("digits")
        assert last is not None
        assert last.event == event
        assert canonical(last.event) == canonical(event)
        assert last.hash == hash_of(last.prev_hash, canonical(event))

    @pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
    def test_hostile_text_is_only_text(self, store: Store, text: str) -> None:
        store.append("digits", [{"label": text, text: "label"}], expected=0)
        assert store.events("digits")[0].event == {"label": text, text: "label"}
        assert verify(store.events("digits")) is None

    @pytest.mark.parametrize("event", NOT_EVENTS.values(), ids=NOT_EVENTS.keys())
    def test_what_is_no_json_is_refused_and_nothing_is_stored(
        self, store: Store, event: dict[str, Any]
    ) -> None:
        with pytest.raises(InputError, match="event must be"):
            store.append("digits", [{"step": 0}, event], expected=0)
        assert store.count("digits") == 0

    def test_one_event_alone_is_no_list_of_events(self, store: Store) -> None:
        with pytest.raises(InputError, match=r"event.*dict"):
            store.append("digits", {"type": "created"}, expected=0)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        "name", ["'; DROP TABLE events; --", "%", "_", "..", "a b", "ß" * 200, "名前", '"', "?"]
    )
    def test_a_name_is_only_a_name(self, store: Store, name: str) -> None:
        store.append("other", [{"step": 0}], expected=0)
        store.append(name, [{"step": 1}], expected=0)
        assert [stored.event["step"] for stored in store.events(name)] == [1]
        assert store.names() == sorted(["other", name])

    @pytest.mark.parametrize("name", ["", "x" * 201, "a\x00b", "a\nb", "\ud800", None, 3, b"a"])
    def test_a_name_nobody_can_type_is_refused(self, store: Store, name: str) -> None:
        for use in (store.events, store.last, store.count):
            with pytest.raises(InputError, match="name of a campaign"):
                use(name)
        with pytest.raises(InputError, match="name of a campaign"):
            store.append(name, [{}], expected=0)

    def test_changing_what_was_read_changes_nothing_kept(self, store: Store) -> None:
        store.append("digits", [{"labels": ["spam"]}], expected=0)
        store.events("digits")[0].event["labels"].append("ham")
        assert store.events("digits")[0].event == {"labels": ["spam"]}

    def test_a_campaign_is_renamed_with_its_chain(self, store: Store) -> None:
        store.append("digits", [{"step": 0}, {"step": 1}], expected=0)
        store.append("other", [{"step": 5}], expected=0)
        before = store.events("digits")
        store.rename("digits", "numbers", {"step": 2}, expected=2)
        after = store.events("numbers")
        assert after[:2] == before
        assert after[2].event == {"step": 2}
        assert verify(after) is None
        assert store.names() == ["numbers", "other"]

    def test_a_name_that_is_taken_is_refused(self, store: Store) -> None:
        for name in ("digits", "other"):
            store.append(name, [{"of": name}], expected=0)
        with pytest.raises(InputError, match="'other' already"):
            store.rename("digits", "other", {}, expected=1)
        assert [stored.event for stored in store.events("digits")] == [{"of": "digits"}]

    @pytest.mark.parametrize("expected", [0, 1, 3])
    def test_a_campaign_that_others_wrote_to_is_not_renamed(
        self, store: Store, expected: int
    ) -> None:
        store.append("digits", [{}, {}], expected=0)
        with pytest.raises(ConflictError):
            store.rename("digits", "numbers", {}, expected=expected)
        with pytest.raises(ConflictError):
            store.rename("nowhere", "numbers", {}, expected=0)
        assert store.names() == ["digits"]

    def test_a_deleted_campaign_is_gone_and_its_name_is_free(self, store: Store) -> None:
        for name in ("digits", "other"):
            store.append(name, [{"of": name}], expected=0)
        store.delete("digits")
        assert store.names() == ["other"]
        with pytest.raises(ConflictError):
            store.append("digits", [{}], expected=1)
        store.append("digits", [{"new": True}], expected=0)
        assert store.events("digits")[0].prev_hash == GENESIS

    def test_an_update_is_decided_on_what_is_stored(self, store: Store) -> None:
        store.append("digits", [{"step": 0}, {"step": 1}], expected=0)

        began = store.now()

        def decide(read: Read, now: datetime) -> tuple[list[dict[str, Any]], int]:
            assert began <= now <= store.now()
            assert read(0) == store.events("digits")
            assert read(1) == store.events("digits", 1)
            return [{"step": 2}, {"step": 3}], 2

        assert store.update("digits", decide) == 3
        assert [stored.event["step"] for stored in store.events("digits")] == [0, 1, 2, 3]
        assert verify(store.events("digits")) is None

    def test_a_decision_that_is_refused_stores_nothing(self, store: Store) -> None:
        def refuse(read: Read, _: datetime) -> tuple[list[dict[str, Any]], int]:
            raise InputError(f"There are {len(read(0))} events.")

        with pytest.raises(InputError, match="There are 0 events"):
            store.update("digits", refuse)
        with pytest.raises(ConflictError):
            store.update("digits", lambda _, __: ([{"step": 1}], 1))
        assert store.update("digits", lambda _, __: ([], 0)) == -1
        assert store.append("digits", [{"step": 0}], expected=0) == 0

    def test_nobody_overtakes_a_decision_that_takes_long(self, store: Store) -> None:
        started = threading.Event()

        def decide(read: Read, _: datetime) -> tuple[list[dict[str, Any]], int]:
            seen = len(read(0))
            started.set()
            time.sleep(0.1)
            return [{"by": "slow"}], seen

        with ThreadPoolExecutor(1) as threads:
            slow = threads.submit(store.update, "digits", decide)
            started.wait()
            with pytest.raises(ConflictError):
                store.append("digits", [{"by": "quick"}], expected=0)
            store.append("letters", [{"by": "another campaign"}], expected=0)
            assert slow.result() == 0

    def test_a_watcher_sees_what_comes_in(self, store: Store) -> None:
        with store.watching("digits") as wait:
            for step in range(3):
                store.append("digits", [{"step": step}], expected=step)
                wait(0.01)
                assert store.count("digits") == step + 1

    def test_threads_neither_lose_nor_repeat_an_event(self, store: Store) -> None:
        def write(writer: int) -> int:
            conflicts = 0
            for step in range(6):
                while True:
                    try:
                        expected = store.count("shared")
                        store.append("shared", [{"by": writer, "step": step}], expected=expected)
                        break
                    except ConflictError:
                        conflicts += 1
            return conflicts

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(write, range(8)))
        events = store.events("shared")
        assert verify(events) is None
        assert len(events) == 48
        for writer in range(8):
            steps = [stored.event["step"] for stored in events if stored.event["by"] == writer]
            assert steps == list(range(6))
