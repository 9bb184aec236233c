"""Server-sent events: one watcher a campaign tells every page that something changed."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import suppress
from functools import partial
from itertools import chain

from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from levelled.campaigns.stores import Store
from levelled.errors import LevelledError

HEARTBEAT = 15.0
"""Seconds without a change after which a comment shows that the connection lives.

Proxies close connections that are silent for 30 to 60 seconds.
"""
APART = 0.5
"""Seconds between two events of a stream; changes in between are told as one.

A page asks for all figures after each, and nobody reads faster.
"""
LOOK_EVERY = 0.5
"""Seconds between looks for changes by other processes, where the database does not tell.

Tokens are looked at as often, so that the streams of one that was removed end within a second.
"""
STALLED = 30.0
"""Seconds after which a client that does not read is dropped."""
MOST_STREAMS = 500  # so that half of the connections of the server are left for requests
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


class TooManyStreamsError(Exception):
    """More streams than the server keeps open, for all or for one visitor."""


class Subscription:
    """One stream of a campaign: only the newest number of events waits to be sent."""

    def __init__(self, campaign: str, n_events: int, token: str) -> None:
        self.campaign = campaign
        self.n_events = n_events
        self.token = token
        """The hash of the token with which it was opened, and without which it ends."""
        self.is_ended = False
        self._news = asyncio.Event()

    def tell(self, n_events: int) -> None:
        """Note that the campaign has so many events by now."""
        if n_events != self.n_events:
            self.n_events = n_events
            self._news.set()

    def end(self) -> None:
        """Let the stream end."""
        self.is_ended = True
        self._news.set()

    async def wait(self, seconds: float) -> bool:
        """Wait for news, at most so long; True if there are some."""
        try:
            await asyncio.wait_for(self._news.wait(), seconds)
        except TimeoutError:
            return False
        self._news.clear()
        return True


class Broker:
    """Watches the campaigns that have streams, in one thread each, and tells the streams.

    `changed` may be called from any thread; all else runs in the event loop.
    """

    def __init__(self, store: Store, valid: Callable[[], Collection[str]], most_each: int) -> None:
        self._store = store
        self._valid, self._most_each = valid, most_each
        self._loop: asyncio.AbstractEventLoop | None = None
        self._streams: dict[str, set[Subscription]] = {}
        self._stopping = threading.Event()
        self._checking: asyncio.Task[None] | None = None

    def subscribe(self, campaign: str, n_events: int, token: str) -> Subscription:
        """A subscription of somebody who knows so many events; begins to watch if need be."""
        tokens = [one.token for one in self._all()]
        if tokens.count(token) >= self._most_each:
            raise TooManyStreamsError(
                f"{self._most_each} pages with your link are open already: close some of them."
            )
        if len(tokens) >= MOST_STREAMS:
            raise TooManyStreamsError("Too many pages are open: close some of them.")
        self._loop = asyncio.get_running_loop()
        one = Subscription(campaign, n_events, token)
        if self._stopping.is_set():
            one.end()
        streams = self._streams.get(campaign)
        if streams is None:
            streams = self._streams[campaign] = set()
            name = f"levelled-watch-{campaign}"
            threading.Thread(
                target=self._watch, args=(campaign, streams), name=name, daemon=True
            ).start()
        streams.add(one)
        if self._checking is None:
            self._checking = self._loop.create_task(self._check_tokens())
        return one

    def leave(self, one: Subscription) -> None:
        """Forget a stream; the watcher of a campaign without any ends."""
        streams = self._streams.get(one.campaign, set())
        streams.discard(one)
        if not streams:
            self._streams.pop(one.campaign, None)

    def changed(self, campaign: str, n_events: int) -> None:
        """Tell the streams of a campaign how many events it has."""
        if self._loop is not None and campaign in self._streams:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._tell, campaign, n_events)

    def close(self) -> None:
        """End all streams."""
        self._stopping.set()
        for one in self._all():
            one.end()

    def _all(self) -> list[Subscription]:
        return [*chain.from_iterable(self._streams.values())]

    async def _check_tokens(self) -> None:
        """End the streams of tokens that are not valid any more, as long as there are streams."""
        while self._streams and not self._stopping.is_set():
            await asyncio.sleep(LOOK_EVERY)
            with suppress(LevelledError):  # a server that is away for a while
                streams = self._all()  # those that come meanwhile may have newer tokens
                # Not in the threads of requests, all of which may be at work.
                valid = await asyncio.to_thread(self._valid)
                for one in streams:
                    if one.token not in valid:
                        one.end()
        self._checking = None
        if self._stopping.is_set():
            self._store.close()

    def _tell(self, campaign: str, n_events: int) -> None:
        for one in self._streams.get(campaign, ()):
            one.tell(n_events)

    def _watch(self, campaign: str, streams: set[Subscription]) -> None:
        """Look for changes by other processes, as long as these are the campaign's streams."""
        with self._store.watching(campaign) as wait:
            while not self._stopping.is_set() and self._streams.get(campaign) is streams:
                with suppress(LevelledError):  # a server that is away for a while
                    self.changed(campaign, self._store.count(campaign))
                wait(LOOK_EVERY)
        if self._stopping.is_set():
            self._store.close()  # the look may have opened a connection after the others closed


class EventStream(StreamingResponse):
    """The reply that never ends by itself: an event for each change, and heartbeats."""

    def __init__(self, broker: Broker, one: Subscription, seen: int | None) -> None:
        super().__init__(_events(one, seen), headers=_HEADERS, media_type="text/event-stream")
        self._leave = partial(broker.leave, one)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the client leaves, stalls, or the server stops."""

        async def send_in_time(message: Message) -> None:
            await asyncio.wait_for(send(message), STALLED)

        try:
            with suppress(TimeoutError, ClientDisconnect):
                await super().__call__(scope, receive, send_in_time)
        finally:
            self._leave()


async def _events(one: Subscription, seen: int | None) -> AsyncIterator[str]:
    """The texts that a client gets who has seen so many events of the campaign."""
    yield ": nothing new\n\n" if seen == one.n_events else _event(one.n_events)
    while not one.is_ended:
        has_news = await one.wait(HEARTBEAT)
        if one.is_ended:
            break
        yield _event(one.n_events) if has_news else ": still here\n\n"
        if has_news:
            await asyncio.sleep(APART)


def _event(n: int) -> str:
    return f'id: {n}\nevent: change\ndata: {{"n_events":{n}}}\n\n'
