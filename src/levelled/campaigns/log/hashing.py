"""The canonical text of an event, and a chain of hashes that shows later changes."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from levelled.errors import InputError

GENESIS = "0" * 64
"""The hash before the first event."""

_encode = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
).encode


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event at its place in a campaign, counted from 0."""

    seq: int
    prev_hash: str
    hash: str
    event: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Break:
    """The first event that breaks a chain, and the reason."""

    seq: int
    because: str


def canonical(event: Mapping[str, Any]) -> str:
    """The one JSON text of an event: keys sorted by code point, no spaces, shortest floats.

    Values that JSON would not give back unchanged (NaN, keys that are not text, half a
    character) are refused; only a tuple comes back as a list.

    >>> canonical({"type": "answered", "label": "süß", "draw": 1, "seconds": 0.1})
    '{"draw":1,"label":"süß","seconds":0.1,"type":"answered"}'
    """
    if not isinstance(event, dict):
        raise InputError(f"An event must be a dict; it is {event!r:.80}.")
    try:
        _check_keys(event)
        text = _encode(event)
        text.encode()
    except (TypeError, ValueError, RecursionError) as wrong:
        raise InputError(f"An event must be plain JSON, and this one is not: {wrong}.") from wrong
    return text


def _check_keys(value: dict[str, Any] | list[Any] | tuple[Any, ...]) -> None:
    # The encoder would write the key 1 as "1": another key, and another place in the order.
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is not text")
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict | list | tuple):
            _check_keys(inner)


def hash_of(prev_hash: str, text: str) -> str:
    """The hash of an event: SHA-256 of the hash before it and its canonical text, as UTF-8.

        h_0 = sha256("000...0" + text_0),    h_k = sha256(h_{k-1} + text_k)

    >>> hash_of(GENESIS, "{}")[:16]
    '5508d2b710e64bc4'
    """
    return sha256((prev_hash + text).encode()).hexdigest()


def verify(events: Iterable[StoredEvent]) -> Break | None:
    """The first event that was changed, moved or left out after it was written, if any.

    A log that lost its last events still verifies: to notice that, compare the last hash with
    one that was noted elsewhere.

    >>> first = StoredEvent(0, GENESIS, hash_of(GENESIS, "{}"), {})
    >>> verify([first])
    >>> verify([StoredEvent(0, GENESIS, first.hash, {"draw": 1})])
    Break(seq=0, because='its text was changed after it was written')
    """
    prev_hash = GENESIS
    for place, stored in enumerate(events):
        if stored.seq != place:
            return Break(place, f"it is missing: event {stored.seq} comes in its place")
        if stored.prev_hash != prev_hash:
            return Break(place, "it does not follow from the event before it")
        try:
            expected = hash_of(prev_hash, canonical(stored.event))
        except InputError as wrong:
            return Break(place, str(wrong))
        if stored.hash != expected:
            return Break(place, "its text was changed after it was written")
        prev_hash = stored.hash
    return None
