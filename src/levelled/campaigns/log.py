"""The log of a campaign: its state is read from a store, and decisions on it are appended."""

from collections.abc import Callable, Sequence
from functools import partial

from levelled.campaigns.records import Event
from levelled.campaigns.state import CampaignState, apply_events
from levelled.campaigns.stores import Read, Store
from levelled.errors import CampaignError, ConflictError

__all__ = ["CampaignLog", "Decision"]

Decision = Callable[[CampaignState], Sequence[Event]]
"""Returns the events that a step appends to the log."""

_TRIES = 50


class CampaignLog:
    """The events of one campaign in a store, of which only new ones are read again."""

    def __init__(self, name: str, store: Store) -> None:
        self.name = name
        self.store = store
        self._state: CampaignState | None = None

    @property
    def state(self) -> CampaignState:
        """The state after every event that is stored by now."""
        return self._read_on(partial(self.store.events, self.name))

    def do(self, decision: Decision) -> int:
        """Decide on the newest state while others wait, append, and return how many events."""
        events: Sequence[Event] = ()

        def decide_now(read: Read) -> tuple[Sequence[Event], int]:
            nonlocal events
            state = self._read_on(read)
            events = decision(state)
            return events, state.n_events

        for _ in range(_TRIES):
            try:
                self.store.update(self.name, decide_now)
                return len(events)
            except ConflictError:  # somebody did not wait
                continue
        raise ConflictError(f"{self.name!r} is too busy: others kept changing it. Try again.")

    def _read_on(self, read: Read) -> CampaignState:
        """The state after what `read` finds behind the events that are known."""
        n_events = 0 if self._state is None else self._state.n_events
        new = [stored.event for stored in read(n_events)]
        if self._state is None and not new:
            raise CampaignError(
                f"There is no campaign {self.name!r} in this storage. `levelled list` shows all "
                f"campaigns; `levelled create` makes one."
            )
        if new:
            self._state = apply_events(new, self._state)
        assert self._state is not None
        return self._state
