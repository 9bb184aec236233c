"""A web server in this process, and one of its own, over a campaign of a spam filter."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import httpx2 as httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

from levelled.campaigns import create_campaign, open_store
from levelled.web import WebSettings, make_app
from levelled.web.guard import Journal
from postgres_server import PostgresServer

PATIENCE = 120
"""Seconds that a server has to start, answer or end, on a machine that is busy too."""


@dataclass
class Site:
    """A web application in this process, with clients for each role."""

    settings: WebSettings
    client: TestClient
    log: StringIO
    tokens: dict[str, str] = field(default_factory=dict)

    def headers(self, name: str | None = "ann") -> dict[str, str]:
        """The header of somebody with a token: ann and bob label, eve is an analyst."""
        return {} if name is None else {"authorization": f"Bearer {self.tokens[name]}"}

    def get(self, path: str, name: str | None = "eve") -> httpx.Response:
        return self.client.get(path, headers=self.headers(name))

    def post(self, path: str, body: object = None, name: str | None = "ann") -> httpx.Response:
        given = {} if body is None else body
        return self.client.post(path, json=given, headers=self.headers(name))

    def ask(self, n: int = 1, name: str = "ann") -> list[dict[str, Any]]:
        reply = self.post("/api/campaigns/spam/ask", {"n": n}, name)
        assert reply.status_code == 200, reply.text
        items: list[dict[str, Any]] = reply.json()["items"]
        return items

    def tell(self, draw: int, label: object, name: str = "ann") -> httpx.Response:
        answers = [{"draw": draw, "label": label}]
        return self.post("/api/campaigns/spam/tell", {"answers": answers}, name)


def write_pool(path: Path, n: int = 400) -> None:
    """Write the predictions of a spam filter for some messages."""
    rng = np.random.default_rng(5)
    confident = rng.beta(6, 1, n)
    spam = np.where(rng.random(n) < 0.3, confident, 1 - confident)
    columns = {
        "id": [f"r{row}" for row in range(n)],
        "proba_ham": 1 - spam,
        "proba_spam": spam,
        "country": rng.choice(["de", "fr"], n),
        "text": [f"message {row}" for row in range(n)],
    }
    pq.write_table(pa.table(columns), path)


@pytest.fixture
def make_site(tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """Make an application over a new campaign `spam`; settings are those of `WebSettings`."""
    clients = []

    def make(storage: str | None = None, **settings: object) -> Site:
        place = storage or f"sqlite:///{tmp_path}/levelled.db"
        write_pool(tmp_path / "pool.parquet")
        pool, seed = tmp_path / "pool.parquet", 7
        create_campaign("spam", pool, storage=place, seed=seed, budget=100, slices=["country"])
        roles = {"ann": "labeller", "bob": "labeller", "eve": "analyst"}
        with open_store(place) as store:
            tokens = {name: store.tokens.add(name, role) for name, role in roles.items()}
        chosen: dict[str, Any] = {"hosts": ("testserver",), **settings}
        web = WebSettings(place, **chosen)
        log = StringIO()
        client = TestClient(make_app(web, Journal(log)), raise_server_exceptions=False)
        client.__enter__()
        clients.append(client)
        return Site(web, client, log, tokens)

    yield make
    for client in clients:
        client.__exit__(None, None, None)


@pytest.fixture
def site(make_site: Callable[..., Site]) -> Site:
    """The application over SQLite."""
    return make_site()


@pytest.fixture(params=["sqlite", "postgres"])
def either_site(make_site: Callable[..., Site], request: pytest.FixtureRequest) -> Site:
    """The application over SQLite, and over PostgreSQL."""
    if request.param == "sqlite":
        return make_site()
    server: PostgresServer = request.getfixturevalue("postgres")
    return make_site(server.new_schema())


class Process:
    """`levelled serve` as a process of its own on a free port of 127.0.0.1."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder, self._options = folder, options
        self.storage = options[1]
        self.port = _free_port()
        self.start()

    def start(self) -> None:
        """Start it, and wait until it has printed its link and answers."""
        command = [sys.executable, "-m", "levelled", "serve", "--port", str(self.port)]
        with (self.folder / "server.log").open("a") as log:
            self._process = subprocess.Popen(
                [*command, *self._options],
                cwd=self.folder,
                env={
                    **os.environ,
                    "LEVELLED_OWNER": "ann",
                    "PYTHONPATH": os.pathsep.join(sys.path),
                },
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self._process.stdout is not None
        self.link = self._process.stdout.readline().strip()
        self.token = self.link.partition("?token=")[2]
        self.url = f"http://127.0.0.1:{self.port}"
        self.client = httpx.Client(
            base_url=self.url, headers={"authorization": f"Bearer {self.token}"}, timeout=PATIENCE
        )
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                if self.client.get("/healthz").status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
        raise AssertionError((self.folder / "server.log").read_text())

    def log(self) -> list[dict[str, Any]]:
        """The lines of its log."""
        lines = (self.folder / "server.log").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def stop(self, how: int = signal.SIGTERM) -> int:
        """End it, and return its exit code."""
        self.client.close()
        if self._process.poll() is None:
            self._process.send_signal(how)
        code = self._process.wait(timeout=PATIENCE)
        assert self._process.stdout is not None
        self._process.stdout.close()
        return code


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """Start `levelled serve` over a new campaign `spam` in an empty folder."""
    started: list[Process] = []

    def start(*options: str, storage: str | None = None) -> Process:
        write_pool(tmp_path / "pool.parquet")
        place = storage or f"sqlite:///{tmp_path}/levelled.db"
        create_campaign("spam", tmp_path / "pool.parquet", storage=place, seed=7, budget=100)
        started.append(Process(tmp_path, "--storage", place, *options))
        return started[-1]

    yield start
    for one in started:
        one.stop(signal.SIGKILL)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
