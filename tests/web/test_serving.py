"""`levelled serve` as a process: its link, where it may listen, kills, and the end."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import httpx2 as httpx
import pytest

from levelled.campaigns import load_campaign, open_store
from levelled.errors import InputError
from levelled.web.settings import link_token
from postgres_server import PostgresServer
from web.conftest import PATIENCE, Process

SPAM = "/api/campaigns/spam"


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-m", "levelled", *words],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


def test_the_link_stands_alone_on_stdout_and_logs_in(serve: Callable[..., Process]) -> None:
    server = serve()
    assert server.link == f"http://127.0.0.1:{server.port}/?token={server.token}"
    assert len(server.token) == 43  # 256 bits
    reply = server.client.get(f"/?token={server.token}", headers={"authorization": ""})
    assert reply.status_code == 303
    assert server.client.get(SPAM).json()["visitor"] == {"name": "ann", "role": "analyst"}


def test_the_link_stays_valid_when_the_server_starts_again(
    serve: Callable[..., Process],
) -> None:
    server = serve()
    before = server.link
    server.stop()
    server.start()
    assert server.link == before


@pytest.mark.parametrize("where", ["sqlite", "postgres"])
def test_a_killed_server_has_lost_no_answer(
    serve: Callable[..., Process], where: str, request: pytest.FixtureRequest
) -> None:
    storage = None
    if where == "postgres":
        postgres: PostgresServer = request.getfixturevalue("postgres")
        storage = postgres.new_schema()
    server = serve(storage=storage)
    acknowledged: list[int] = []
    for round_ in range(1, 4):
        labeller = threading.Thread(target=_label_until_killed, args=(server, acknowledged))
        labeller.start()
        while len(acknowledged) < 3 * round_ and labeller.is_alive():
            time.sleep(0.005)
        server.stop(signal.SIGKILL)
        labeller.join()
        server.start()
    labels = load_campaign("spam", storage=server.storage).state.answers
    assert len(acknowledged) >= 9
    assert {*acknowledged} <= labels.keys()
    assert load_campaign("spam", storage=server.storage).audit() == []


def _label_until_killed(server: Process, acknowledged: list[int]) -> None:
    with suppress(httpx.TransportError, RuntimeError):  # whichever way the connection ends
        while True:
            items = server.client.post(f"{SPAM}/ask", json={"n": 2}).json()["items"]
            if not items:
                return
            draw = items[0]["draw"]
            answers = {"answers": [{"draw": draw, "label": "ham"}]}
            if server.client.post(f"{SPAM}/tell", json=answers).status_code == 200:
                acknowledged.append(draw)


RAW = {
    "two lengths": b"POST /api/look HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /api/campaigns HTTP/1.1\r\n\r\n",
    "a bad chunk": b"POST /api/look HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b"Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
    "a huge header": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 200_000 + b"\r\n\r\n",
    "a split header": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\x00b\r\n\r\n",
    "no host": b"GET /api/campaigns HTTP/1.1\r\n\r\n",
    "another host": b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "a proxy": b"GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc" + b"\x00" * 100,
}


def test_bytes_that_are_no_request_are_refused(serve: Callable[..., Process]) -> None:
    server = serve()
    for name, raw in RAW.items():
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
            with suppress(OSError):  # closed before all was sent
                connection.sendall(raw)
            reply = connection.recv(65536) or b"HTTP/1.1 400"
        assert reply.split(b" ")[1][:1] == b"4", (name, reply)
        assert reply.count(b"HTTP/1.1 2") == 0, name
    assert server.client.get("/readyz").status_code == 200


def test_others_are_served_only_with_tokens(tmp_path: Path) -> None:
    refused = run(tmp_path, "serve", "--host", "0.0.0.0", "--port", "8123")
    assert refused.returncode == 1
    assert "no tokens" in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert refused.stdout == ""


@pytest.mark.parametrize(
    "words",
    [
        ("serve", "missing.eval"),
        ("serve", "--uploads", "missing"),
        ("serve", "--images", "missing"),
        ("serve", "--root-path", "levelled"),
        ("serve", "--host", "nowhere.invalid"),
        ("serve", "--host", "192.0.2.1"),
        ("serve", "--storage", "mysql://x"),
        ("serve", "--invite", " "),
        ("serve", "--revoke", "nobody"),
    ],
)
def test_what_cannot_be_served_is_one_line(tmp_path: Path, words: tuple[str, ...]) -> None:
    run(tmp_path, "serve", "--invite", "ann")
    refused = run(tmp_path, *words)
    assert refused.returncode == 1
    assert refused.stderr.startswith("levelled: ")
    assert refused.stderr.count("\n") == 1


def test_a_port_in_use_is_one_line(serve: Callable[..., Process], tmp_path: Path) -> None:
    server = serve()
    refused = run(tmp_path, "serve", "--port", str(server.port))
    assert refused.returncode == 1
    assert "choose another --port" in refused.stderr


def test_tokens_are_added_listed_and_removed(serve: Callable[..., Process], tmp_path: Path) -> None:
    server = serve()
    added = run(tmp_path, "serve", "--invite", "bob", "--url", f"{server.url}/")
    token = added.stdout.strip().partition("?token=")[2]
    assert added.stdout.startswith(f"{server.url}/?token=")
    headers = {"authorization": f"Bearer {token}"}
    seen = server.client.get(SPAM, headers=headers).json()
    assert seen["visitor"] == {"name": "bob", "role": "labeller"}
    listed = run(tmp_path, "serve", "--people", "--format", "csv").stdout
    assert [line[:12] for line in listed.splitlines()[1:]] == ["ann,analyst,", "bob,labeller"]
    assert token not in listed
    assert token.encode() not in (tmp_path / "levelled.db").read_bytes()
    assert run(tmp_path, "serve", "--revoke", "bob").stderr == "removed 1 link of bob\n"


def test_a_link_may_be_for_some_campaigns_and_some_time(
    serve: Callable[..., Process], tmp_path: Path
) -> None:
    server = serve()
    limits = ("--campaign", "spam", "--expires", "30d")
    link = run(tmp_path, "serve", "--invite", "bob", *limits).stdout.strip()
    headers = {"authorization": f"Bearer {link.partition('?token=')[2]}"}
    assert server.client.get(SPAM, headers=headers).status_code == 200
    listed = run(tmp_path, "serve", "--people", "--format", "json").stdout
    ann, bob = json.loads(listed)
    assert (ann["name"], ann["campaigns"], ann["expires"]) == ("ann", None, None)
    assert (bob["name"], bob["campaigns"]) == ("bob", ["spam"])
    left = datetime.fromisoformat(bob["expires"]) - datetime.fromisoformat(bob["created"])
    assert timedelta(days=30) - left < timedelta(seconds=PATIENCE)
    refused = run(tmp_path, "serve", "--invite", "bob", "--campaign", "spma")
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (1, "", 1)
    assert "spma" in refused.stderr


def test_the_printed_link_is_revoked_as_any_other_and_the_next_start_prints_a_new_one(
    serve: Callable[..., Process], tmp_path: Path
) -> None:
    server = serve()
    before = server.link
    assert server.client.get(SPAM).status_code == 200
    assert run(tmp_path, "serve", "--revoke", "ann").stderr == "removed 1 link of ann\n"
    deadline = time.monotonic() + PATIENCE
    while server.client.get(SPAM).status_code != 401:
        assert time.monotonic() < deadline
    server.stop()
    server.start()
    assert server.link != before
    assert server.client.get(SPAM).status_code == 200


def test_the_file_of_a_link_is_for_its_owner_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEVELLED_CACHE", str(tmp_path / "cache"))
    with open_store(tmp_path / "a.db") as one, open_store(tmp_path / "b.db") as other:
        first = link_token(one, "ann")
        assert link_token(one, "ann") == first
        assert len({first, link_token(one, "bob"), link_token(other, "ann")}) == 3
        assert [(token.name, token.role) for token in other.tokens.all()] == [("ann", "analyst")]
    files = [*(tmp_path / "cache/links").iterdir()]
    assert len(files) == 3
    assert {path.stat().st_mode & 0o077 for path in files} == {0}


def test_a_folder_for_links_that_cannot_be_used_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("LEVELLED_CACHE", str(tmp_path / "file"))
    with open_store(tmp_path / "a.db") as store:
        with pytest.raises(InputError, match="LEVELLED_CACHE"):
            link_token(store, "ann")
        assert store.tokens.all() == []


def test_a_visitor_has_only_so_many_uploads_at_once(
    serve: Callable[..., Process], tmp_path: Path
) -> None:
    (tmp_path / "uploads").mkdir()
    server = serve("--uploads", str(tmp_path / "uploads"))
    go_on = threading.Event()
    statuses: list[int] = []

    def slow() -> Iterator[bytes]:
        yield b"id,pred\n"
        go_on.wait(PATIENCE)
        yield b"1,a\n"

    def send(name: str) -> None:
        url, headers = f"{server.url}/api/files/{name}.csv", server.client.headers
        reply = httpx.put(url, content=slow(), headers=headers, timeout=PATIENCE)
        statuses.append(reply.status_code)

    senders = [threading.Thread(target=send, args=(name,)) for name in ("a", "b")]
    for one in senders:
        one.start()
    deadline = time.monotonic() + PATIENCE
    while len([*(tmp_path / "uploads").iterdir()]) < 2:  # both have begun
        assert time.monotonic() < deadline
        time.sleep(0.01)
    refused = server.client.put("/api/files/c.csv", content=b"id,pred\n")
    assert (refused.status_code, "2 uploads" in refused.json()["error"]) == (429, True)
    go_on.set()
    for one in senders:
        one.join(PATIENCE)
    assert statuses == [200, 200]
    assert server.client.put("/api/files/c.csv", content=b"id,pred\n").status_code == 200
