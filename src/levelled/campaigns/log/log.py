"""The log of a campaign as this process has read it: the folded state, and snapshots of it.

A snapshot holds the state of a campaign and its betting games, so that the next process need not
fold the whole log. It is a file in this user's own cache folder, and only a cache: it may be
deleted at any time. It is used if nobody else can have written it, and if it is whole, of this
version and of an event that is still in the log, whose hash stands for all before it. Anything
else means that the log is read from its beginning.
"""

import io
import json
import os
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from levelled._check import suggest
from levelled._files import cache_folder, is_private, replace_file
from levelled._version import __version__
from levelled.campaigns.drawing.drawn_items import DrawnItems, ItemColumns, columns_of
from levelled.campaigns.log.anchors import (
    Anchor,
    Anchored,
    append_anchor,
    open_anchor,
    why_not_anchored,
)
from levelled.campaigns.log.events import EVENTS, Changed, Event, apply_events
from levelled.campaigns.log.records import (
    Break,
    Known,
    PlainEvent,
    StoredEvent,
    carried_log,
    carry,
    hash_of,
    to_plain,
    verify,
)
from levelled.campaigns.log.state import CampaignState, state_from_plain, state_to_plain
from levelled.campaigns.settings import CampaignSettings
from levelled.campaigns.stores import Read, Store
from levelled.errors import CampaignError, ConflictError, LevelledError, StorageError

if TYPE_CHECKING:
    from levelled.campaigns.figures.settled import FigureCache

_MAGIC = b"levelled snapshot 4\n"
_ODD = (LevelledError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, OSError)
_ODD_FILE = (zipfile.BadZipFile, EOFError, RecursionError, MemoryError, NotImplementedError)


class KeptState(NamedTuple):
    """The content of a snapshot."""

    hash: str
    """The hash of the last event that the state contains."""
    state: CampaignState
    work: int
    """The number of events and of rounds of games that it saves the next process."""
    results: Mapping[str, Any] = {}
    """Results of earlier looks, as `FigureCache.to_plain` writes them."""
    arrays: Mapping[str, NDArray[Any]] = {}
    """The arrays that belong to the results."""


def load_snapshot(address: str, campaign: str) -> KeptState | None:
    """The snapshot that this user kept of a campaign in a storage; None if it is unsound."""
    path = _path(address, campaign)
    try:
        if path is None or not is_private(path.parent.lstat()):
            return None
        with path.open("rb") as file:
            return unpack(file.read()) if is_private(os.fstat(file.fileno())) else None
    except OSError:
        return None


def keep_snapshot(address: str, campaign: str, kept: KeptState) -> None:
    """Keep a snapshot in place of the one before; where it cannot be written, there is none."""
    path = _path(address, campaign)
    if path is None:
        return

    def write(unfinished: Path) -> None:
        unfinished.touch(mode=0o600)
        unfinished.write_bytes(pack(kept))

    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if is_private(path.parent.lstat()):
            replace_file(path, write)


def forget_snapshot(address: str, campaign: str) -> None:
    """Delete the snapshot that this user kept of a campaign."""
    path = _path(address, campaign)
    with suppress(OSError):
        if path is not None:
            path.unlink(missing_ok=True)


def _path(address: str, campaign: str) -> Path | None:
    """The file of a campaign's snapshot; None where the cache lies beside the database.

    A folder that several people use for a database is no place for what only one may write.
    """
    with suppress(OSError, RuntimeError):  # no home, a loop of links
        folder = cache_folder().resolve() / "snapshots"
        if Path(address.removeprefix("sqlite:///")).parent in (folder, *folder.parents[:2]):
            return None
        return folder / blake2b(f"{address}\n{campaign}".encode(), digest_size=16).hexdigest()
    return None


def pack(kept: KeptState) -> bytes:
    """The bytes of a snapshot, which begin with their checksum."""
    state = kept.state
    header = {
        "version": __version__,
        "hash": kept.hash,
        "work": kept.work,
        "n_events": state.n_events,
        "level": state.settings.level,
    }
    out = io.BytesIO()
    np.savez(out, allow_pickle=False, **_to_arrays(kept))
    body = json.dumps(header).encode() + b"\n" + out.getvalue()
    return _MAGIC + blake2b(body).digest() + body


def unpack(data: bytes) -> KeptState | None:
    """The content of a snapshot; None if it is damaged or of another version."""
    start = len(_MAGIC) + blake2b.MAX_DIGEST_SIZE
    body = data[start:]
    if data[:start] != _MAGIC + blake2b(body).digest():
        return None
    line, _, arrays_of = body.partition(b"\n")
    try:
        header = json.loads(line)
        if header["version"] != __version__:
            return None
        with np.load(io.BytesIO(arrays_of), allow_pickle=False) as arrays:
            state, results, left = _from_arrays({name: arrays[name] for name in arrays.files})
        described = header["n_events"], header["level"]
        if described != (state.n_events, state.settings.level) or len(state.draws) < state.n_asked:
            return None
        return KeptState(header["hash"], state, int(header["work"]), results, left)
    except (*_ODD, *_ODD_FILE):
        return None


def _to_arrays(kept: KeptState) -> dict[str, NDArray[Any]]:
    draws = kept.state.draws
    parts = draws.columns() if isinstance(draws, DrawnItems) else [*columns_of(draws)]
    arrays = dict(kept.arrays)
    columns = []
    for at, part in enumerate(parts):
        plain, its_arrays = part.to_arrays()
        columns.append(plain)
        arrays |= {f"draws{at}.{name}": values for name, values in its_arrays.items()}
    plain = {
        "settings": kept.state.settings.to_json(),
        "state": state_to_plain(kept.state),
        "draws": columns,
        "results": kept.results,
    }
    return {**arrays, "plain": np.frombuffer(json.dumps(plain).encode(), dtype=np.uint8)}


def _from_arrays(
    arrays: dict[str, NDArray[Any]],
) -> tuple[CampaignState, Mapping[str, Any], Mapping[str, NDArray[Any]]]:
    """The state, the results of earlier looks, and the arrays that are left for these."""
    plain = json.loads(arrays.pop("plain").tobytes())
    parts = []
    for at, part in enumerate(plain["draws"]):
        prefix = f"draws{at}."
        its_names = [name for name in arrays if name.startswith(prefix)]
        its_arrays = {name.removeprefix(prefix): arrays.pop(name) for name in its_names}
        parts.append(ItemColumns.from_arrays(part, its_arrays))
    ids = chain.from_iterable(part.ids for part in parts)
    state = CampaignState(
        CampaignSettings.from_json(plain["settings"]),
        DrawnItems(parts),
        draw_of={str(one): draw for draw, one in enumerate(ids, 1)},
        **state_from_plain(plain["state"]),
    )
    return state, plain["results"], arrays


Decision = Callable[[CampaignState, datetime], Sequence[Event]]
"""Returns the events that a step appends to the log, at this time."""

Made = TypeVar("Made", bound=Event)
T = TypeVar("T")

_TRIES = 50


class CampaignLog:
    """The log of one campaign in a store, of which only new events are read again.

    The state is folded from the events that came since the last read, or since a snapshot that an
    earlier process kept. Each is verified before: it follows from the event before it, and its text
    is that of its hash. So is the anchor of the campaign, if there is one.
    """

    def __init__(self, name: str, store: Store) -> None:
        self.name = name
        self.store = store
        self._cache: FigureCache | None = None
        self._kept: KeptState | None = None
        self._state: CampaignState | None = None
        self._hash = ""
        self._last = datetime.min.replace(tzinfo=UTC), 0.0
        """The time of the last event, and the reading of the process's own clock when it came."""
        self._log = ""
        """The text that each further event carries."""
        self._anchor: Anchor | None = None
        self._n_stored = 0
        self._work_kept = 0

    @property
    def cache(self) -> "FigureCache":
        """Results of earlier looks, in this process or in one that kept them."""
        from levelled.campaigns.figures.settled import FigureCache  # labellers look at no figure

        if self._cache is None:
            kept, self._cache = self._kept, FigureCache()
            with suppress(*_ODD):
                if kept is not None:
                    self._cache = FigureCache.from_plain(kept.state, kept.results, kept.arrays)
        return self._cache

    @property
    def state(self) -> CampaignState:
        """The state after every event that is stored by now."""
        if self._state is None:
            self._begin()
        state = self._read_on(partial(self.store.events, self.name))
        if state.settings.anchor:
            self.check_anchor(state.settings.anchor)
        return state

    @property
    def known_state(self) -> CampaignState:
        """The state that was last read, which others may have changed since."""
        return self.state if self._state is None else self._state

    @property
    def n_events(self) -> int:
        """The number of events that were read or stored here by now."""
        return max(self._n_stored, 0 if self._state is None else self._state.n_events)

    @property
    def anchor_path(self) -> str:
        """The anchor of the campaign in the state that was last read; empty if it has none."""
        return "" if self._state is None else self._state.settings.anchor

    @property
    def last_hash(self) -> str:
        """The hash of the last event in the state that was last read."""
        if self._state is None:
            _ = self.state
        return self._hash

    def now(self) -> datetime:
        """The time by the clock of the storage, not before the last event that was read."""
        return self._not_before_the_last(self.store.now())

    def do(self, decision: Callable[[CampaignState, datetime], Sequence[Made]]) -> Sequence[Made]:
        """Decide on the newest state while others wait, append the events, and return them."""
        events: Sequence[Made] = ()
        if self.anchor_path or self._state is None:
            _ = self.state  # read before anybody has to wait
        self._prepare_anchor()

        def decide_now(read: Read, now: datetime) -> tuple[Sequence[PlainEvent], int]:
            nonlocal events
            state = self._read_on(read)
            events = decision(state, self._not_before_the_last(now))
            return self._to_plain(events), state.n_events

        self._n_stored = self._insist(lambda: self.store.update(self.name, decide_now)) + 1
        if self.anchor_path or any(isinstance(one, Changed) for one in events):
            self.anchor()
        return events

    def rename(self, name: str, event_of: Callable[[CampaignState, datetime], Event]) -> None:
        """Move the log to another name, with an event that says so."""

        def attempt() -> None:
            state = self.state
            (event,) = self._to_plain([event_of(state, self.now())])
            self.store.rename(self.name, name, event, expected=state.n_events)

        _ = self.state
        self._prepare_anchor()
        self._insist(attempt)
        forget_snapshot(self.store.address, self.name)
        self.name = name
        self.anchor()

    def anchor(self) -> None:
        """Append the end of the log to the anchor of the campaign, if it has one."""
        state = self.state
        if not self.anchor_path:
            return
        try:
            append_anchor(self.anchor_path, Anchored(state.n_events, self._hash), self.name)
        except OSError as failed:
            raise StorageError(
                f"The step was stored in {self.name!r}, but the anchor {self.anchor_path} could "
                f"not be written ({failed.strerror}): the next step will write to it."
            ) from failed

    def _prepare_anchor(self) -> None:
        """Refuse a step before it is stored if the anchor cannot be written."""
        if not self.anchor_path:
            return
        try:
            open_anchor(self.anchor_path).close()
        except OSError as failed:
            raise StorageError(
                f"The anchor {self.anchor_path} of {self.name!r} cannot be written "
                f"({failed.strerror}), so nothing was stored. Make it writable here."
            ) from failed

    def _to_plain(self, events: Sequence[Event]) -> Sequence[PlainEvent]:
        return carry([to_plain(event) for event in events], self._log)

    def _not_before_the_last(self, now: datetime) -> datetime:
        """The time, or that of the last event where a clock was set back since or another is ahead.

        Then it goes on from the last event by the clock of this process, which nobody can set: if
        it stood still, the leases that are out would not end.
        """
        at, came = self._last
        return max(now, at + timedelta(seconds=time.monotonic() - came))

    def _insist(self, attempt: Callable[[], T]) -> T:
        """The result of `attempt`, made again on the newer state while others do not wait."""
        for _ in range(_TRIES):
            with suppress(ConflictError):
                return attempt()
        raise ConflictError(f"{self.name!r} is too busy: others kept changing it. Try again.")

    def delete(self) -> None:
        """Remove the log for good."""
        _ = self.state  # refuses a campaign that is not there
        self.store.delete(self.name)
        forget_snapshot(self.store.address, self.name)
        self._state, self._hash, self._n_stored = None, "", 0

    def overview(self) -> tuple[CampaignState, str]:
        """The state without its draws, which takes a fraction of the time, and the last hash.

        The texts of all other events are verified, and of the draws that none is missing.
        """
        stored = self.store.events(self.name, draws=False)
        self._refuse(verify(stored), stored)
        state = apply_events(one.event for one in stored if one.body is not None)
        return replace(state, n_events=len(stored)), stored[-1].hash

    def keep(self) -> None:
        """Keep a snapshot for the next process, if it would save work to speak of."""
        state, before = self.state, self._kept
        work = state.n_events
        if self._cache is not None:
            work += sum(game.n for game in self._cache.games.values())
        elif before is not None:
            work += before.work - before.state.n_events
        if work > self._work_kept * 1.02:
            has_results = self._cache is not None or (before is not None and before.results)
            results = self.cache.to_plain(state) if has_results else ({}, {})
            kept = KeptState(self._hash, state, work, *results)
            keep_snapshot(self.store.address, self.name, kept)
            self._work_kept = work

    def _read_on(self, read: Read) -> CampaignState:
        """The state after what `read` finds behind the events that are known."""
        if self._state is None:
            new, known = read(0), Known()
            if not new:
                guess = suggest(self.name, self.store.names())
                raise CampaignError(
                    f"There is no campaign {self.name!r} in this storage{guess or '.'} "
                    f"`levelled list` shows all campaigns; `levelled create` makes one."
                )
        else:
            old = read(self._state.n_events - 1)
            if not old or old[0].hash != self._hash:
                raise CampaignError(
                    f"{self.name!r} was deleted or renamed while it was in use. Nothing was "
                    f"stored; `levelled list` shows what is there now."
                )
            new, known = old[1:], Known(self._state.n_events, self._hash, self._log)
        if new:
            self._refuse(verify(new, known), new)
            self._state = apply_events((stored.event for stored in new), self._state)
            self._follow(new[-1])
        assert self._state is not None
        return self._state

    def _refuse(self, broken: Break | None, events: Sequence[StoredEvent]) -> None:
        """Refuse a log that is broken: it was changed by something else than Levelled."""
        if broken is None:
            return
        types = [one.event.get("type") for one in events if one.seq == broken.seq]
        kind = f" ({types[0]})" if types and types[0] in EVENTS else ""
        raise StorageError(
            f"Event {broken.seq}{kind} of {self.name!r} cannot be trusted: {broken.because}. The "
            f"database was changed by something else, so nothing is shown or stored. Go back to a "
            f"backup; the events before are as they were written."
        )

    def check_anchor(self, path: str) -> str:
        """The path of an anchor; refuses a log that lacks a hash of it. A line is read once."""
        if self._anchor is None or self._anchor.path != path:
            self._anchor = Anchor(path)
        if lines := self._anchor.new_lines():
            hashes = self.store.hashes(self.name, min(lines).n_events - 1)
            if because := why_not_anchored(lines, hashes, path):
                self._anchor = None
                raise StorageError(
                    f"{self.name!r} cannot be trusted: {because}. Nothing is shown or stored. Go "
                    f"back to a backup; if you did so, or this is a copy of the campaign, move the "
                    f"file elsewhere."
                )
        return path

    def _begin(self) -> None:
        """Begin with a snapshot whose last event is in the log; without one, from nothing."""
        kept = load_snapshot(self.store.address, self.name)
        if kept is None:
            return
        place = kept.state.n_events - 1
        events = self.store.events(self.name, place)
        if not events or (events[0].seq, events[0].hash) != (place, kept.hash):
            return
        last = events[0]
        if last.body is not None and hash_of(last.prev_hash, last.body) == last.hash:
            self._kept, self._state, self._work_kept = kept, kept.state, kept.work
            self._follow(last)

    def _follow(self, last: StoredEvent) -> None:
        """Remember what the next event follows from."""
        is_first, log = last.seq == 0, str(last.event.get("log", ""))
        self._log = carried_log(last.event, last.hash) if is_first else log
        self._hash = last.hash
        with suppress(LookupError, TypeError, ValueError):  # an event without a time: see the audit
            at = datetime.fromisoformat(last.event["at"]).astimezone(UTC)
            self._last = at, time.monotonic()
