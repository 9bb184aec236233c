"""The records of a campaign, their plain values, and the chain of hashes over its events.

The records are drawn items, leases and answers. The hashes are of the canonical text of an event,
and show later changes.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, ClassVar, NamedTuple, TypeVar

import msgspec

from levelled.errors import InputError
from levelled.labels import Label

PlainEvent = Mapping[str, Any]
"""One entry of the log as plain JSON: its "type", when ("at"), by whom ("by"), and its payload."""

Record = TypeVar("Record")

# Records of which a log has tens of thousands are hidden from the garbage collector (gc=False),
# which would look at each of them again and again; they hold no cycles.


def to_plain(record: object) -> Any:  # noqa: ANN401
    """The plain values of a record, of whatever kind, for JSON."""
    return msgspec.to_builtins(record, str_keys=True, enc_hook=_plain_value)


def from_plain(kind: type[Record], plain: object) -> Record:
    """The record of this kind that `to_plain` made plain; refuses keys that it does not have."""
    return msgspec.convert(plain, kind, str_keys=True)


def explain(wrong: Exception, plain: Mapping[str, Any]) -> str:
    """The complaint about plain values, with the value where it is about one key (`$.key`)."""
    key = re.search(r"\$\.(\w+)", str(wrong))
    return f"{wrong}: {plain[key[1]]!r:.80}" if key and key[1] in plain else str(wrong)


def _plain_value(value: object) -> object:
    """A number or text of NumPy as that of Python, and a mapping of any kind as a dict."""
    for kind in (float, int, str):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise InputError(f"An event must be plain JSON, and this one is not: it holds {value!r:.80}.")


class Round(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Draws from `first` on, up to the next round, come from one predictor with one floor.

    Without a predictor they come from the frozen weights of the settings, of which the share
    `floor` is uniform. `shares` are those of the metrics, where the draws balance them.
    """

    first: int
    predictor: Mapping[str, Any] | None
    """The predictor as `LossPredictor.to_json` writes it."""
    floor: float
    shares: tuple[float, ...] = ()


class Rescored(msgspec.Struct, frozen=True):
    """A file whose predicted losses guide the draws from `first` on, instead of the pool's."""

    first: int
    source: str | list[str] | None
    fingerprint: str


class DrawnItem(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """An item with the probability it had when it was drawn, and what is known of it."""

    draw: int
    row: int
    id: str | int
    probability: float
    design: Mapping[str, float] = {}
    pred: Mapping[str, Label] = {}
    """The prediction of each model; the first one has the name ""."""
    proba: Mapping[str, tuple[float, ...]] = {}
    slices: Mapping[str, str] = {}
    data: Mapping[str, Any] = {}
    """The columns that the labeller sees."""


class KnownItem(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """An item whose label is known without a draw, and what the pool says of it."""

    row: int
    id: str | int
    label: Label
    pred: Mapping[str, Label] = {}
    proba: Mapping[str, tuple[float, ...]] = {}
    slices: Mapping[str, str] = {}


class KnownLabels(msgspec.Struct, frozen=True):
    """Items whose labels were known before the draw `first`, and are not drawn from then on."""

    first: int
    items: tuple[KnownItem, ...]


class Lease(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The labeller for whom an item is kept, and until when."""

    owner: str | None
    since: str
    until: str


class Answer(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=0):
    """A label, who gave it, and when; with the labeller's note and answers to other questions."""

    label: Label
    by: str | None
    at: str
    place: int
    """The place of its event in the log, counted from 0."""
    note: str | None = None
    rubric: Mapping[str, Label] = {}
    """The answers to the questions of the campaign, by their names."""


class Unlabelable(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=1):
    """The mark of an item that cannot be labelled: why, who set it, and when."""

    reason: str
    by: str | None
    at: str
    place: int
    """The place of its event in the log, counted from 0."""
    label: ClassVar[None] = None


class Attached(msgspec.Struct, frozen=True):
    """The predictions of a model that came later, for the items that were drawn."""

    source: str | list[str] | None
    fingerprint: str
    pred_counts: Mapping[str, int]
    pred: Mapping[int, Label]
    proba: Mapping[int, tuple[float, ...]]
    known_pred: Mapping[int, Label] = {}
    known_proba: Mapping[int, tuple[float, ...]] = {}
    """The same for the items whose labels are known, by their place among these."""


@dataclass(frozen=True, slots=True)
class OpenItem:
    """An item that was handed out and has no label yet: who has it, since when and until when.

    `since` and `until` are None if nobody has it, because it was given back or skipped.
    """

    draw: int
    id: str | int
    owner: str | None
    since: str | None
    until: str | None


@dataclass(frozen=True, slots=True)
class Ask:
    """An item that somebody is asked to label."""

    draw: int
    id: str | int
    data: Mapping[str, Any]
    lease_until: str


GENESIS = "0" * 64
"""The hash before the first event."""

_encode = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
).encode


CARRYING = 2
"""The format of logs from which on every event carries the beginning of the first hash."""

_CARRIED = 16  # hexadecimal digits: as many as tell apart all campaigns that anybody will have


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event at its place in a campaign, counted from 0."""

    seq: int
    prev_hash: str
    hash: str
    event: dict[str, Any]
    body: str | None
    """Its text as it is stored, of which the hash is; None for a draw that was left unread."""


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


def carry(events: Sequence[PlainEvent], log: str) -> Sequence[PlainEvent]:
    """Events as they are stored behind the first one: each names the log that it belongs to."""
    return [{**event, "log": log} for event in events] if log else events


def carried_log(first: PlainEvent, hash_: str) -> str:
    """The text that events carry behind this first one; empty in logs of earlier versions."""
    settings = first.get("settings")
    format_ = settings.get("format") if isinstance(settings, dict) else None
    return hash_[:_CARRIED] if isinstance(format_, int) and format_ >= CARRYING else ""


class Known(NamedTuple):
    """The end of the part of a chain that was verified before."""

    n_events: int = 0
    hash: str = GENESIS
    log: str = ""
    """The text that later events carry, as `carried_log` gives it."""


def verify(events: Iterable[StoredEvent], known: Known | None = None) -> Break | None:
    """The first event that was changed, moved or left out after it was written, if any.

    The events begin the log, or go on where it is `known` already. A log that lost its last events
    still verifies: to notice that, compare the last hash with one that was noted elsewhere.

    >>> first = StoredEvent(0, GENESIS, hash_of(GENESIS, "{}"), {}, "{}")
    >>> verify([first])
    >>> verify([StoredEvent(0, GENESIS, first.hash, {"draw": 1}, '{"draw":1}')])
    Break(seq=0, because='its text was changed after it was written')
    """
    start, prev_hash, log = known or Known()
    for place, stored in enumerate(events, start):
        if stored.seq != place:
            return Break(place, f"it is missing: event {stored.seq} comes in its place")
        if stored.prev_hash != prev_hash:
            return Break(place, "it does not follow from the event before it")
        prev_hash = stored.hash
        if stored.body is None:
            continue
        if prev_hash != hash_of(stored.prev_hash, stored.body):
            return Break(place, "its text was changed after it was written")
        if stored.event.get("log", "") != log:
            return Break(place, "it belongs to the log of another campaign")
        if place == 0:
            log = carried_log(stored.event, stored.hash)
    return None
