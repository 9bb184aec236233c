"""The stream of changes: one watcher a campaign, resumption, slow clients, and the end."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import httpx2 as httpx
import pytest
from starlette.types import Message

from levelled.campaigns import load_campaign, open_store
from levelled.campaigns.stores import Store
from levelled.web import events
from levelled.web.events import Broker, EventStream, Subscription, TooManyStreamsError
from levelled.web.guard import Access
from postgres_server import PostgresServer
from web.conftest import PATIENCE, Process

EVENTS = "/api/events?campaign=spam"
SPAM = "/api/campaigns/spam"


@pytest.fixture(params=["sqlite", "postgres"])
def server(serve: Callable[..., Process], request: pytest.FixtureRequest) -> Process:
    if request.param == "sqlite":
        return serve()
    postgres: PostgresServer = request.getfixturevalue("postgres")
    return serve(storage=postgres.new_schema())


def numbers(lines: Iterator[str]) -> Iterator[int]:
    """The ids of the events in a stream."""
    for line in lines:
        if line.startswith("id: "):
            yield int(line[4:])


def test_a_label_is_told_to_those_who_watch(server: Process) -> None:
    with server.client.stream("GET", EVENTS) as stream:
        assert stream.headers["x-accel-buffering"] == "no"
        ids = numbers(stream.iter_lines())
        first = next(ids)
        n_events = _label(server)
        assert first < next(ids) <= n_events


def test_a_change_by_another_process_is_told_too(server: Process, tmp_path: Path) -> None:
    other = load_campaign("spam", storage=server.storage)
    with server.client.stream("GET", EVENTS) as stream:
        ids = numbers(stream.iter_lines())
        first = next(ids)
        other.ask(1, owner="bob")
        assert next(ids) > first


def test_a_client_that_comes_back_gets_only_what_it_missed(serve: Callable[..., Process]) -> None:
    server = serve()
    n_events = _label(server)
    with server.client.stream("GET", EVENTS, headers={"last-event-id": str(n_events)}) as stream:
        assert next(stream.iter_lines()).startswith(":")
    with server.client.stream("GET", EVENTS, headers={"last-event-id": "1"}) as stream:
        assert next(numbers(stream.iter_lines())) == n_events


def test_streams_end_when_the_server_stops_and_requests_finish(
    serve: Callable[..., Process],
) -> None:
    server = serve()
    begun, ended = threading.Event(), threading.Event()

    def watch() -> None:
        headers, url = server.client.headers, f"{server.url}{EVENTS}"
        with httpx.stream("GET", url, headers=headers, timeout=PATIENCE) as stream:
            for _ in stream.iter_lines():
                begun.set()
        ended.set()  # and was not cut off, which would have raised an error

    watcher = threading.Thread(target=watch)
    watcher.start()
    assert begun.wait(PATIENCE)
    assert server.stop() in (0, -15)
    watcher.join(timeout=PATIENCE)
    assert ended.is_set()


def watch(server: Process, token: str, begun: threading.Event) -> threading.Thread:
    """Read a stream in a thread, which ends when the server ends the stream."""

    def read() -> None:
        headers, url = {"authorization": f"Bearer {token}"}, f"{server.url}{EVENTS}"
        with httpx.stream("GET", url, headers=headers, timeout=PATIENCE) as stream:
            for _ in stream.iter_lines():
                begun.set()

    watcher = threading.Thread(target=read, daemon=True)
    watcher.start()
    assert begun.wait(PATIENCE)
    return watcher


def test_the_stream_of_a_removed_token_ends_and_others_go_on(server: Process) -> None:
    with open_store(server.storage) as store, server.client.stream("GET", EVENTS) as stream:
        ids = numbers(stream.iter_lines())
        first = next(ids)
        watcher = watch(server, store.tokens.add("bob", "labeller"), threading.Event())
        assert store.tokens.remove("bob") == 1
        watcher.join(timeout=PATIENCE)
        assert not watcher.is_alive()
        _label(server)
        assert next(ids) > first


def test_the_stream_of_a_token_that_expires_ends(serve: Callable[..., Process]) -> None:
    server = serve()
    with open_store(server.storage) as store:
        watcher = watch(server, store.tokens.add("bob", "labeller"), threading.Event())
        with closing(sqlite3.connect(server.folder / "levelled.db")) as database, database:
            over = "2026-11-17T10:00:00+00:00"
            database.execute("UPDATE tokens SET expires = ? WHERE name = 'bob'", [over])
        watcher.join(timeout=PATIENCE)
    assert not watcher.is_alive()


def broker_of(store: Store, most_each: int = 50) -> Broker:
    return Broker(store, Access(store).valid, most_each)


def test_fifty_streams_have_one_watcher(tmp_path: Path) -> None:
    async def watch() -> int:
        broker = broker_of(store)
        before = threading.active_count()
        streams = [broker.subscribe("spam", 0, "") for _ in range(50)]
        added = threading.active_count() - before
        for one in streams:
            broker.leave(one)
        broker.close()
        return added

    with open_store(tmp_path / "levelled.db") as store:
        assert asyncio.run(watch()) == 1
        join_watchers()


def test_there_are_only_so_many_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MOST_STREAMS", 2)

    async def watch() -> None:
        broker = broker_of(store)
        streams = [broker.subscribe("spam", 0, "") for _ in range(2)]
        with pytest.raises(TooManyStreamsError):
            broker.subscribe("spam", 0, "")
        broker.leave(streams[0])
        broker.subscribe("spam", 0, "")
        broker.close()

    with open_store(tmp_path / "levelled.db") as store:
        asyncio.run(watch())
        join_watchers()


def test_each_visitor_has_only_so_many_streams(tmp_path: Path) -> None:
    async def watch() -> None:
        broker = broker_of(store, most_each=2)
        streams = [broker.subscribe("spam", 0, "ann") for _ in range(2)]
        with pytest.raises(TooManyStreamsError, match="2 pages"):
            broker.subscribe("other", 0, "ann")
        broker.subscribe("spam", 0, "bob")
        broker.leave(streams[0])
        broker.subscribe("spam", 0, "ann")
        broker.close()

    with open_store(tmp_path / "levelled.db") as store:
        asyncio.run(watch())
        join_watchers()


def join_watchers() -> None:
    """Wait until nobody looks into the storage any more."""
    for thread in threading.enumerate():
        if thread.name.startswith("levelled-watch-"):
            thread.join(timeout=PATIENCE)


async def _never() -> Message:
    await asyncio.Event().wait()
    raise AssertionError


def test_a_client_that_does_not_read_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "STALLED", 0.2)

    async def stall(message: Message) -> None:
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    async def watch() -> None:
        broker = broker_of(store)
        one = broker.subscribe("spam", 3, "")
        await asyncio.wait_for(
            EventStream(broker, one, None)({"type": "http"}, _never, stall), PATIENCE
        )
        assert broker._streams == {}
        broker.close()

    with open_store(tmp_path / "levelled.db") as store:
        asyncio.run(watch())
        join_watchers()


def test_many_changes_are_told_as_one_and_silence_by_heartbeats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "HEARTBEAT", 0.3)
    sent: list[bytes] = []

    async def send(message: Message) -> None:
        sent.append(message.get("body", b""))

    async def watch() -> None:
        one = Subscription("spam", 0, "")  # which no watcher of the storage tells anything
        streaming = asyncio.ensure_future(
            EventStream(broker_of(store), one, 0)({"type": "http"}, _never, send)
        )
        while len(sent) < 2:
            await asyncio.sleep(0.01)
        for n in range(1, 1001):
            one.tell(n)
        while not any(body.startswith(b": still here") for body in sent):
            await asyncio.sleep(0.05)
        one.end()
        await streaming

    with open_store(tmp_path / "levelled.db") as store:
        asyncio.run(asyncio.wait_for(watch(), PATIENCE))
    changes = [body for body in sent if b"id: 1000\n" in body]
    assert len(changes) == 1
    assert sum(b"event: change" in body for body in sent) == 1


def _label(server: Process) -> int:
    """Label one item; the number of events afterwards."""
    item = server.client.post(f"{SPAM}/ask", json={}).json()["items"][0]
    answers = {"answers": [{"draw": item["draw"], "label": "ham"}]}
    return int(server.client.post(f"{SPAM}/tell", json=answers).json()["n_events"])
