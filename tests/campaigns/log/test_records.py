import json
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelled.campaigns.log.records import (
    CARRYING,
    GENESIS,
    Break,
    Known,
    PlainEvent,
    StoredEvent,
    canonical,
    carried_log,
    carry,
    hash_of,
    verify,
)


def chain(*events: PlainEvent) -> list[StoredEvent]:
    stored, prev_hash = [], GENESIS
    for seq, event in enumerate(events):
        hash_ = hash_of(prev_hash, body := canonical(event))
        stored.append(StoredEvent(seq, prev_hash, hash_, dict(event), body))
        prev_hash = hash_
    return stored


STEPS = [{"step": step, "label": "spam"} for step in range(5)]


def test_the_text_of_an_event_is_written_down_here() -> None:
    event = {"b": [1, 2.5, -0.0, 1e22, 1e-7, True, None], "a": {"z": 'ü"\n', "Z": "\u2028"}, "": 0}
    expected = '{"":0,"a":{"Z":"\u2028","z":"ü\\"\\n"},"b":[1,2.5,-0.0,1e+22,1e-07,true,null]}'
    assert canonical(event) == expected


def test_the_order_of_keys_and_the_kind_of_list_do_not_matter() -> None:
    assert canonical({"a": (1, 2), "b": 3}) == canonical({"b": 3, "a": [1, 2]})
    assert canonical({"q": np.float64(0.1)}) == '{"q":0.1}'


@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_comes_back_to_the_last_bit(number: float) -> None:
    back = json.loads(canonical({"q": number}))["q"]
    assert np.float64(back).tobytes() == np.float64(number).tobytes()


def test_anybody_can_recompute_the_hashes() -> None:
    first, second = chain({"b": "ü", "a": 1}, {})
    assert first.hash == sha256(b"0" * 64 + '{"a":1,"b":"ü"}'.encode()).hexdigest()
    assert second.hash == sha256(first.hash.encode() + b"{}").hexdigest()


def test_an_untouched_chain_verifies() -> None:
    assert verify(chain(*STEPS)) is None
    assert verify([]) is None


@pytest.mark.parametrize("at", range(5))
def test_a_changed_event_is_found(at: int) -> None:
    events = chain(*STEPS)
    events[at] = replace(events[at], body='{"label":"ham"}')
    assert verify(events) == Break(at, "its text was changed after it was written")


@pytest.mark.parametrize("at", range(4))
def test_an_event_that_was_changed_together_with_its_hash_is_found_at_the_next(at: int) -> None:
    events = chain(*STEPS)
    hash_ = hash_of(events[at].prev_hash, '{"label":"ham"}')
    events[at] = replace(events[at], body='{"label":"ham"}', hash=hash_)
    assert verify(events) == Break(at + 1, "it does not follow from the event before it")


@pytest.mark.parametrize("at", range(4))
def test_a_missing_event_is_found(at: int) -> None:
    events = chain(*STEPS)
    del events[at]
    found = verify(events)
    assert found is not None
    assert found.seq == at
    assert "missing" in found.because


def test_events_that_changed_places_are_found() -> None:
    events = chain(*STEPS)
    events[2], events[3] = replace(events[3], seq=2), replace(events[2], seq=3)
    found = verify(events)
    assert found is not None
    assert found.seq == 2


@pytest.mark.parametrize("at", range(1, 4))
def test_a_chain_goes_on_where_it_is_known(at: int) -> None:
    events = chain(*STEPS)
    known = Known(at, events[at - 1].hash)
    assert verify(events[at:], known) is None
    for wrong in (events[at + 1 :], events[at - 1 :]):
        found = verify(wrong, known)
        assert found is not None
        assert found.seq == at


def test_events_of_another_campaign_are_found() -> None:
    created = [{"settings": {"format": CARRYING, "name": name}} for name in "ab"]
    hashes = [hash_of(GENESIS, canonical(one)) for one in created]
    logs = [carried_log(*one) for one in zip(created, hashes, strict=True)]
    assert verify(chain(created[0], *carry(STEPS, logs[0]))) is None
    for log in (logs[1], ""):
        events = [*carry(STEPS[:3], logs[0]), *carry(STEPS[:1], log)]
        found = verify(chain(created[0], *events))
        assert found is not None
        assert found.seq == 4


def test_events_of_a_log_of_an_earlier_format_carry_nothing() -> None:
    created = {"settings": {"format": 1}}
    assert carried_log(created, "0" * 64) == ""
    assert carry(STEPS, "") == STEPS
    assert verify(chain(created, *STEPS)) is None
    found = verify(chain(created, *carry(STEPS, "0" * 16)))
    assert found is not None
    assert found.seq == 1


def test_a_draw_that_was_left_unread_is_a_link_of_the_chain() -> None:
    events = chain(*STEPS)
    events[2] = replace(events[2], event={}, body=None)
    assert verify(events) is None
    del events[2]
    assert verify(events) is not None
