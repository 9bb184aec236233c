"""The log of a campaign as this process has read it: the folded state, and what it keeps."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from levelled.campaigns.figures.settled import FigureCache
from levelled.campaigns.log.events import Event, apply_events
from levelled.campaigns.log.hashing import StoredEvent
from levelled.campaigns.log.records import PlainEvent, to_plain
from levelled.campaigns.log.snapshots import (
    KeptState,
    forget_snapshot,
    keep_snapshot,
    load_snapshot,
)
from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.stores import Read, Store
from levelled.errors import CampaignError, ConflictError

Decision = Callable[[CampaignState], Sequence[Event]]
"""Returns the events that a step appends to the log."""

Made = TypeVar("Made", bound=Event)

_TRIES = 50


class CampaignLog:
    """The log of one campaign in a store, of which only new events are read again.

    The state is folded from the events that came since the last read, or since a snapshot that an
    earlier process kept.
    """

    def __init__(self, name: str, store: Store) -> None:
        self.name = name
        self.store = store
        self.cache = FigureCache()
        """Results of earlier looks, in this process or in one that kept them."""
        self._state: CampaignState | None = None
        self._hash = ""
        self._n_stored = 0
        self._work_kept = 0

    @property
    def state(self) -> CampaignState:
        """The state after every event that is stored by now."""
        if self._state is None:
            self._begin()
        return self._read_on(partial(self.store.events, self.name))

    @property
    def known_state(self) -> CampaignState:
        """The state that was last read, which others may have changed since."""
        return self.state if self._state is None else self._state

    @property
    def n_events(self) -> int:
        """The number of events that were read or stored here by now."""
        return max(self._n_stored, 0 if self._state is None else self._state.n_events)

    @property
    def last_hash(self) -> str:
        """The hash of the last event in the state that was last read."""
        if self._state is None:
            _ = self.state
        return self._hash

    def do(self, decision: Callable[[CampaignState], Sequence[Made]]) -> Sequence[Made]:
        """Decide on the newest state while others wait, append the events, and return them."""
        events: Sequence[Made] = ()
        if self._state is None:
            _ = self.state  # read before anybody has to wait

        def decide_now(read: Read) -> tuple[Sequence[PlainEvent], int]:
            nonlocal events
            state = self._read_on(read)
            events = decision(state)
            return [to_plain(event) for event in events], state.n_events

        for _ in range(_TRIES):
            try:
                self._n_stored = self.store.update(self.name, decide_now) + 1
                return events
            except ConflictError:  # somebody did not wait
                continue
        raise ConflictError(f"{self.name!r} is too busy: others kept changing it. Try again.")

    def rename(self, name: str, event_of: Callable[[CampaignState], Event]) -> None:
        """Move the log to another name, with an event that says so."""
        for _ in range(_TRIES):
            state = self.state
            event = to_plain(event_of(state))
            try:
                self.store.rename(self.name, name, event, expected=state.n_events)
            except ConflictError:
                continue
            forget_snapshot(self.store.address, self.name)
            self.name = name
            return
        raise ConflictError(f"{self.name!r} is too busy: others kept changing it. Try again.")

    def delete(self) -> None:
        """Remove the log for good."""
        _ = self.state  # refuses a campaign that is not there
        self.store.delete(self.name)
        forget_snapshot(self.store.address, self.name)
        self._state, self._hash, self._n_stored = None, "", 0

    def overview(self) -> tuple[CampaignState, str]:
        """The state without its draws, which takes a fraction of the time, and the last hash."""
        last, stored = self.store.last(self.name), self.store.events(self.name, draws=False)
        state = apply_events(one.event for one in stored)
        if last is None or last.seq < stored[-1].seq:
            last = stored[-1]
        return replace(state, n_events=last.seq + 1), last.hash

    def keep(self) -> None:
        """Keep a snapshot for the next process, if it would save work to speak of."""
        state = self.state
        work = state.n_events + sum(game.n for game in self.cache.games.values())
        if work > self._work_kept * 1.02:
            keep_snapshot(self.store.address, self.name, KeptState(self._hash, state, self.cache))
            self._work_kept = work

    def _read_on(self, read: Read) -> CampaignState:
        """The state after what `read` finds behind the events that are known."""
        if self._state is None:
            new = read(0)
            if not new:
                raise CampaignError(
                    f"There is no campaign {self.name!r} in this storage. `levelled list` shows "
                    f"all campaigns; `levelled create` makes one."
                )
        else:
            old = read(self._state.n_events - 1)
            self._refuse_gone(old[0] if old else None)
            new = old[1:]
        if new:
            self._state = apply_events((stored.event for stored in new), self._state)
            self._hash = new[-1].hash
        assert self._state is not None
        return self._state

    def _refuse_gone(self, known: StoredEvent | None) -> None:
        """Refuse to go on if the last event that was read is no more, or is another one by now."""
        if known is None or known.hash != self._hash:
            raise CampaignError(
                f"{self.name!r} was deleted or renamed while it was in use. Nothing was stored; "
                f"`levelled list` shows what is there now."
            )

    def _begin(self) -> None:
        """Begin with a snapshot whose last event is in the log; without one, from nothing."""
        kept = load_snapshot(self.store.address, self.name)
        if kept is None:
            return
        place = kept.state.n_events - 1
        events = self.store.events(self.name, place)
        if events and (events[0].seq, events[0].hash) == (place, kept.hash):
            self._state, self.cache, self._hash = kept.state, kept.cache, kept.hash
            self._work_kept = place + 1 + sum(game.n for game in kept.cache.games.values())
