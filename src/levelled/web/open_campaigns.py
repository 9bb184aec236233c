"""The campaigns in use: each is opened once, whoever asks, and used by one thread at a time."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple, TypeVar, cast

from starlette.exceptions import HTTPException

from levelled.campaigns import Campaign
from levelled.campaigns.stores import Store
from levelled.errors import CampaignError, InputError, LevelledError

T = TypeVar("T")

_MOST_CAMPAIGNS = 32  # that stay open with their pools in memory; others are opened again
_MOST_RESULTS = 64  # of one campaign: those of a page are about ten, of each query one more


class _Result(NamedTuple):
    value: object
    n_events: int
    began: float


class OpenCampaign:
    """A campaign as two objects with one pool: one to write with, one to read figures from.

    Figures take long to compute, and nobody who sends a label should wait for them.
    """

    def __init__(self, campaign: Campaign, changed: Callable[[str, int], None]) -> None:
        self.name = campaign.name
        self.is_gone = False
        self._changed = changed
        self._writer, self._write_lock = campaign, threading.Lock()
        self._reader, self._read_lock = campaign.sibling(), threading.Lock()
        self._results: OrderedDict[Hashable, _Result] = OrderedDict()

    @contextmanager
    def writing(self) -> Iterator[Campaign]:
        """The campaign, to change it; then those who watch it are told."""
        with self._write_lock, self._noticing():
            yield self._writer
            self._changed(self.name, self._writer.n_events)

    @contextmanager
    def looking(self) -> Iterator[Campaign]:
        """The campaign, for what is read at once."""
        with self._write_lock, self._noticing():
            yield self._writer

    def read(self, key: Hashable, compute: Callable[[Campaign], T]) -> T:
        """What `compute` returns, computed once for all who ask before the next change.

        A result that another request began to compute after this one came is as new as can be.
        """
        came = time.monotonic()
        with self._read_lock, self._noticing():
            n_events = self._reader.state.n_events
            kept = self._results.get(key)
            if kept is None or not (kept.began >= came or kept.n_events == n_events):
                began = time.monotonic()
                kept = _Result(compute(self._reader), n_events, began)
                self._results[key] = kept
                self._results.move_to_end(key)
                if len(self._results) > _MOST_RESULTS:
                    self._results.popitem(last=False)
            return cast(T, kept.value)

    def keep(self) -> None:
        """Store what was computed, for the next process."""
        with suppress(LevelledError), self._read_lock:
            self._reader.keep()

    @contextmanager
    def _noticing(self) -> Iterator[None]:
        """Notice that the campaign was deleted or renamed by somebody else."""
        try:
            yield
        except CampaignError:
            try:
                _ = self._writer.state
            except CampaignError:
                self.is_gone = True
            raise


class OpenCampaigns:
    """The campaigns of a storage by name."""

    def __init__(self, store: Store, changed: Callable[[str, int], None]) -> None:
        self.store = store
        self._changed = changed
        self._open: OrderedDict[str, OpenCampaign] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: str) -> OpenCampaign:
        """The campaign of this name; refuses one that is not there."""
        with self._lock:
            found = self._open.get(name)
            if found is not None and not found.is_gone:
                self._open.move_to_end(name)
                return found
        # Opening takes long and holds no lock, so that others are served meanwhile.
        self.count(name)
        new, dropped = OpenCampaign(Campaign(name, self.store), self._changed), []
        with self._lock:
            there = self._open.get(name)
            if there is not None and not there.is_gone:  # another thread was faster
                return there
            self._open[name] = new
            while len(self._open) > _MOST_CAMPAIGNS:
                dropped.append(self._open.popitem(last=False)[1])
        for one in dropped:
            one.keep()
        return new

    def keep(self) -> None:
        """Store what was computed for each campaign, for the next process."""
        for one in [*self._open.values()]:
            one.keep()

    def count(self, name: str) -> int:
        """The number of events of a campaign; refuses one that is not there."""
        try:
            count = self.store.count(name)
        except InputError as refused:
            raise HTTPException(404, str(refused)) from refused
        if not count:
            raise no_campaign(name)
        return count


def no_campaign(name: str) -> HTTPException:
    """The refusal of a campaign that is not there, or that the visitor may not know of."""
    return HTTPException(404, f"There is no campaign {name!r:.120} in this storage.")
