"""What a campaign asks of the place that keeps its events."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from levelled.campaigns.hashing import StoredEvent

__all__ = ["Snapshot", "Store"]


class Snapshot(NamedTuple):
    """Folded state as bytes, and the hash of the last event it contains."""

    hash: str
    data: bytes


class Store(Protocol):
    """Events of campaigns: appended at an expected place, read back, never changed.

    `tests/contracts/stores.py` says what every store promises; inherit it to test another one.
    """

    def append(self, campaign: str, events: Sequence[Mapping[str, Any]], *, expected: int) -> int:
        """Add all `events` or none, and return the place of the last event.

        `expected` is the number of events the caller knows of. If there are others by now, a
        `ConflictError` says so and nothing is stored: load them, decide again, try again.
        """
        ...

    def events(self, campaign: str, since: int = 0) -> list[StoredEvent]:
        """The events from place `since` on; empty for a campaign nobody has started."""
        ...

    def last(self, campaign: str) -> StoredEvent | None:
        """The event at the end."""
        ...

    def count(self, campaign: str) -> int:
        """How many events there are; 0 for a campaign nobody has started."""
        ...

    def names(self) -> list[str]:
        """The campaigns that have events, sorted."""
        ...

    def snapshot(self, campaign: str) -> Snapshot | None:
        """The snapshot that was kept last."""
        ...

    def keep_snapshot(self, campaign: str, last_hash: str, data: bytes) -> None:
        """Keep folded state in place of the snapshot before; `last_hash` is of its last event."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...
