"""50 labellers and 20 analysts at once on `levelled serve`: errors, doubled draws, times, memory.

    python benchmarks/bench_web.py                             # 60 seconds on each store
    python benchmarks/bench_web.py --seconds 600 --store sqlite    # is the memory stable?
    python benchmarks/bench_web.py --think 0                   # labellers who never stop to read

A labeller keeps two items open, as the page does, and tells one label every `--think` seconds. An
analyst reads the stream of changes, and the estimate after each of them.
"""

import argparse
import asyncio
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx2 as httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from levelled.campaigns import create_campaign, load_campaign, open_store
from postgres_server import run_server

LABELLERS, ANALYSTS, POOL = 50, 20, 60_000
CAMPAIGN = "/api/campaigns/spam"


@dataclass
class Findings:
    """What clients saw: seconds of each request by its kind, draws, errors and changes."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    told: list[int] = field(default_factory=list)
    asked: dict[int, str] = field(default_factory=dict)
    doubled: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    changes: int = 0


class Server:
    """The server as a process, with a token for each client."""

    def __init__(self, folder: Path, storage: str) -> None:
        with open_store(storage) as store:
            labellers = {f"labeller{n}": "labeller" for n in range(LABELLERS)}
            roles = {**labellers, "analyst": "analyst"}
            self.tokens = {name: store.tokens.add(name, role) for name, role in roles.items()}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [sys.executable, "-m", "levelled", "serve", "--port", str(port)]
        self._log = (folder / "log").open("w")
        self.process = subprocess.Popen(
            [*command, "--storage", storage], stdout=subprocess.PIPE, stderr=self._log
        )
        assert self.process.stdout is not None
        self.process.stdout.readline()
        self.url = f"http://127.0.0.1:{port}"

    def client(self, name: str) -> httpx.AsyncClient:
        headers = {"authorization": f"Bearer {self.tokens[name]}"}
        return httpx.AsyncClient(base_url=self.url, headers=headers, timeout=60)

    def memory(self) -> float:
        """Megabytes that the process occupies."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))

    def stop(self) -> float:
        """End it; the seconds that took."""
        began = time.perf_counter()
        self.process.terminate()
        self.process.wait(timeout=60)
        self._log.close()
        return time.perf_counter() - began


@contextmanager
def storages(only: str | None) -> Iterator[list[tuple[str, str]]]:
    with tempfile.TemporaryDirectory() as folder, run_server(fsync=True) as server:
        places = [("sqlite", f"sqlite:///{folder}/levelled.db"), ("postgres", server.new_schema())]
        yield [one for one in places if only in (None, one[0])]


def write_pool(path: Path) -> None:
    rng = np.random.default_rng(1)
    spam = rng.beta(0.3, 0.5, POOL)
    texts = [f"message {n}: " + "word " * 40 for n in range(POOL)]
    ids = [f"m{n}" for n in range(POOL)]
    pq.write_table(
        pa.table({"id": ids, "proba_ham": 1 - spam, "proba_spam": spam, "text": texts}), path
    )


async def post(client: httpx.AsyncClient, what: str, body: object, found: Findings) -> object:
    began = time.perf_counter()
    reply = await client.post(f"{CAMPAIGN}/{what}", json=body)
    found.seconds.setdefault(what, []).append(time.perf_counter() - began)
    if reply.status_code != 200:
        found.errors[f"{what} {reply.status_code} {reply.text[:200]}"] += 1
        return None
    return reply.json()


async def label(server: Server, name: str, think: float, until: float, found: Findings) -> None:
    rng = np.random.default_rng(abs(hash(name)) % 2**32)
    async with server.client(name) as client:
        await asyncio.sleep(rng.random() * max(think, 0.5))
        while time.monotonic() < until:
            asked = await post(client, "ask", {"n": 2}, found)
            assert isinstance(asked, dict)
            if not asked["items"]:
                found.errors[f"no items: {asked['note']}"] += 1
                return
            for item in asked["items"]:
                owner = found.asked.setdefault(item["draw"], name)
                found.doubled += owner != name
            draw = asked["items"][0]["draw"]
            answer = {"draw": draw, "label": "spam" if rng.random() < 0.4 else "ham"}
            if await post(client, "tell", {"answers": [answer]}, found) is not None:
                found.told.append(draw)
            if think:
                await asyncio.sleep(think * rng.uniform(0.5, 1.5))


async def analyse(server: Server, found: Findings) -> None:
    async with (
        server.client("analyst") as client,
        client.stream("GET", "/api/events?campaign=spam", timeout=None) as stream,
    ):
        async for line in stream.aiter_lines():
            if line.startswith("id: "):
                found.changes += 1
                began = time.perf_counter()
                reply = await client.get(f"{CAMPAIGN}/estimate")
                found.seconds.setdefault("estimate", []).append(time.perf_counter() - began)
                if reply.status_code != 200:
                    found.errors[f"estimate {reply.status_code}"] += 1


async def watch_memory(server: Server, until: float, memory: list[float], every: float) -> None:
    while time.monotonic() < until:
        memory.append(server.memory())
        await asyncio.sleep(every)


async def work(server: Server, seconds: float, think: float) -> tuple[Findings, list[float]]:
    found, memory, until = Findings(), list[float](), time.monotonic() + seconds
    analysts = [asyncio.ensure_future(analyse(server, found)) for _ in range(ANALYSTS)]
    names = [f"labeller{n}" for n in range(LABELLERS)]
    await asyncio.gather(
        *(label(server, name, think, until, found) for name in names),
        watch_memory(server, until, memory, seconds / 10),
    )
    await asyncio.sleep(1)
    for one in analysts:
        if one.done():
            found.errors[f"stream ended: {one.exception()!r}"] += 1
        one.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.gather(*analysts, return_exceptions=True)
    return found, memory


def report(name: str, seconds: float, found: Findings, memory: list[float]) -> None:
    print(f"{name}: {len(found.told)} labels in {seconds:.0f} s by {LABELLERS} labellers, "
          f"{found.changes} changes told to {ANALYSTS} analysts")  # fmt: skip
    for what, times in found.seconds.items():
        ms = 1000 * np.quantile(times, [0.5, 0.99, 1])
        print(
            f"  {what:9} n {len(times):6}  p50 {ms[0]:7.1f}  p99 {ms[1]:7.1f}  max {ms[2]:7.1f} ms"
        )
    print(f"  memory MB: {', '.join(f'{one:.0f}' for one in memory)}")
    print(f"  doubled draws {found.doubled}, errors {dict(found.errors)}")


def run(name: str, storage: str, seconds: float, think: float) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        pool = Path(folder) / "pool.parquet"
        write_pool(pool)
        create_campaign("spam", pool, storage=storage, seed=1)
        server = Server(Path(folder), storage)
        try:
            found, memory = asyncio.run(work(server, seconds, think))
        finally:
            stopped = server.stop()
        report(name, seconds, found, memory)
        campaign = load_campaign("spam", storage=storage)
        lost = {*found.told} - campaign.state.answers.keys()
        times, differences = resource.getrusage(resource.RUSAGE_CHILDREN), campaign.audit()
        cpu = times.ru_utime + times.ru_stime
        print(f"  lost labels {len(lost)}, audit {[*differences] or 'ok'}")
        print(f"  stopped in {stopped:.1f} s, CPU of the server so far {cpu:.0f} s")
        log = [json.loads(line) for line in (Path(folder) / "log").read_text().splitlines()]
        failures = [line for line in log if line["event"] == "error"]
        print(f"  faults in the log: {failures[:3] or 'none'}", flush=True)
        return not (found.doubled or found.errors or lost or differences or failures)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--think", type=float, default=1.0)
    parser.add_argument("--store", choices=["sqlite", "postgres"])
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with storages(options.store) as places:
        outcomes = [run(*place, options.seconds, options.think) for place in places]
    sys.exit(0 if all(outcomes) else 1)
