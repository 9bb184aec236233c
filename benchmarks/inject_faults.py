"""Let disks, servers, connections and clocks fail while people label; then check what is left.

python benchmarks/inject_faults.py sqlite --rounds 500
python benchmarks/inject_faults.py postgres --rounds 500 --faults power,stall

In each round some labellers ask and tell as fast as they can, something fails, it is mended, and
the labellers are killed. They write down what was acknowledged (`histories.py`), and tell a label
again that was refused. Then all that was acknowledged must be in the log once. The table has a line
for each fault.

| fault | what happens |
|---|---|
| kill | labellers are killed, and a server too |
| write, sync | some writes to the disk fail, or some fsyncs |
| full | the disk has no room left |
| power | the power goes: of what no fsync has confirmed, each sector is there or not |
| sync-power | some fsyncs fail, and then the power goes |
| clock | the labellers' clocks differ by hours, and jump |
| cut | connections are reset |
| stall | nothing comes through for a while, and nobody is told |
| swallow | commits are stored, but connections are reset instead of the reply |

On PostgreSQL the last three are about connections to the server, on SQLite about those of labellers
to `levelled serve`.
"""

import argparse
import http.client
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import faulty_network as network
from faulty_disk import FaultyDisk, compile_library, shift_clock, why_not
from histories import Outcome, Witness, check_history, read_steps
from kill_processes import write_pool
from levelled.campaigns import Campaign, create_campaign, load_campaign
from levelled.campaigns.stores import database, open_store
from levelled.errors import StorageError
from postgres_server import PostgresServer, free_port

__all__ = ["FAULTS", "inject"]

FAULTS = (
    *("kill", "write", "sync", "full", "power", "sync-power", "clock", "cut", "stall", "swallow"),
)
_NETWORK = {"cut": network.CUT, "stall": network.STALL, "swallow": network.SWALLOW}

PATIENCE = 2.0
"""Seconds that labellers wait for a server, in place of 30, so that some of them give up."""
LABELLERS = 4
ROUNDS_OF_A_CAMPAIGN = 20
CLOCKS = (-7200, 0, 5, 7200)
ROWS = 20_000


class Place(NamedTuple):
    """Where labellers work: a storage, or a page in front of it."""

    storage: str
    page: int | None
    """The port of the page."""
    tokens: tuple[str, ...] = ()


# ---- labellers ----


class _Page:
    """A labeller's browser, which says no more than that there was no answer."""

    def __init__(self, port: int, token: str) -> None:
        self._port, self._token = port, token

    def post(self, route: str, body: dict[str, Any]) -> Any:  # noqa: ANN401
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=2 * PATIENCE)
        try:
            connection.request(
                "POST",
                f"/api/campaigns/spam/{route}",
                json.dumps(body),
                {
                    "authorization": f"Bearer {self._token}",
                    "content-type": "application/json",
                    "host": "127.0.0.1",
                },
            )
            reply = connection.getresponse()
            content = json.loads(reply.read())
        except (OSError, http.client.HTTPException, ValueError) as lost:
            raise StorageError(f"No answer: {type(lost).__name__}") from lost
        finally:
            connection.close()
        if reply.status in (500, 503):
            raise StorageError(str(content))
        assert reply.status == 200, f"{reply.status}: {content}"
        return content

    def ask(self) -> list[int]:
        return [one["draw"] for one in self.post("ask", {"n": 2})["items"]]

    def tell(self, draw: int, label: str) -> None:
        self.post("tell", {"answers": [{"draw": draw, "label": label}]})


class _Here:
    """A labeller's own process with the library in it."""

    def __init__(self, storage: str, name: str) -> None:
        self._campaign: Campaign = load_campaign("spam", storage=storage)
        self._name = name

    def ask(self) -> list[int]:
        return [one.draw for one in self._campaign.ask(2, owner=self._name)]

    def tell(self, draw: int, label: str) -> None:
        self._campaign.tell(draw, label, owner=self._name)


def label_forever(place: Place, number: int, witness: Witness, seed: int, clock: bool) -> None:
    """Ask and tell until the process is killed; tell again what was refused."""
    database.PATIENCE = PATIENCE
    rng = np.random.default_rng([seed, number])
    if clock:
        shift_clock(CLOCKS[number % len(CLOCKS)])
    with witness.reporting():

        def insist(draw: int, step: Callable[[], Any]) -> Any:  # noqa: ANN401
            while True:
                try:
                    return step()
                except StorageError as refused:
                    witness.write("refused", draw, str(refused))
                    time.sleep(0.02)

        def begin() -> _Page | _Here:
            if place.page is not None:
                return _Page(place.page, place.tokens[number])
            return _Here(place.storage, witness.name)

        labeller = insist(0, begin)
        while True:
            if clock and rng.random() < 0.1:
                shift_clock(int(rng.integers(-7200, 7200)))
            for draw in insist(0, lambda: labeller.ask()):
                witness.write("asked", draw, "")
                label = str(rng.choice(["ham", "spam"]))
                witness.write("telling", draw, label)
                insist(draw, lambda: labeller.tell(draw, label))  # noqa: B023
                witness.write("told", draw, label)


# ---- rounds ----


@dataclass
class Scene:
    """A storage on a faulty disk, with a server if it needs one, and a campaign in it."""

    folder: Path
    disk: FaultyDisk
    store: str
    seed: int
    server: PostgresServer | None = None
    relay: network.Relay | None = None
    page: subprocess.Popen[bytes] | None = None
    tokens: tuple[str, ...] = ()
    direct: str = ""
    """The address of the storage without a relay."""
    history: Path = Path()
    n_campaigns: int = 0

    def begin(self) -> None:
        """Start the server, which stays for all rounds."""
        if self.store == "postgres":
            data = self.disk.folder / "server"
            data.mkdir()
            self.server = PostgresServer(data, fsync=True)
            self.server.start()
            self.relay = network.Relay(self.server.port, b"COMMIT\0")

    def new_campaign(self) -> None:
        """Go on with a campaign without events, in a storage of its own."""
        self.end_page()
        self.n_campaigns += 1
        self.history = self.folder / f"history-{self.n_campaigns}"
        self.history.mkdir()
        if self.server is None:
            self.direct = f"sqlite:///{self.disk.folder}/levelled-{self.n_campaigns}.db"
        else:
            self.direct = self.server.new_database()
        campaign = create_campaign(
            "spam",
            self.folder / "pool.parquet",
            storage=self.direct,
            seed=self.n_campaigns,
            lease_seconds=5,
            in_flight=500,
        )
        campaign.ask(1, owner="first")  # imports all that labellers need, once

    def behind_relay(self) -> Place:
        """The storage on the server, reached through the relay."""
        assert self.server is not None
        assert self.relay is not None
        ports = f":{self.server.port}/", f":{self.relay.port}/"
        return Place(self.direct.replace(*ports), None)

    def begin_page(self) -> Place:
        """Start `levelled serve` behind a relay, once for a campaign."""
        if self.page is None:
            port = free_port()
            with open_store(self.direct) as store:
                names = [f"p{number}" for number in range(LABELLERS)]
                tokens = tuple(store.tokens.add(name, "labeller") for name in names)
            command = [sys.executable, "-m", "levelled", "serve", "--port", str(port)]
            command += ["--storage", self.direct]
            self.page = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=self.folder
            )
            assert self.page.stdout is not None
            self.page.stdout.readline()
            self.relay = network.Relay(port, b"HTTP/1.1 200")
            self.tokens = tokens
        assert self.relay is not None
        return Place(self.direct, self.relay.port, self.tokens)

    def end_page(self) -> None:
        if self.page is not None:
            assert self.relay is not None
            self.relay.stop()
            self.page.kill()
            self.page.communicate()
            self.page = self.relay = None

    def end(self) -> None:
        self.end_page()
        if self.relay is not None:
            self.relay.stop()
        if self.server is not None:
            self.server.drop()

    def n_told(self) -> int:
        return sum(step[0] == "told" for step in read_steps(self.history))

    def wait_for_labels(self, n: int) -> None:
        """Wait until so many more labels are acknowledged."""
        deadline, wanted = time.monotonic() + 120, self.n_told() + n
        while self.n_told() < wanted:
            errors = [path.read_text() for path in self.history.glob("*.error")]
            assert not errors, "a labeller failed:\n" + "\n".join(errors)
            assert time.monotonic() < deadline, "nobody could work"
            time.sleep(0.01)

    @contextmanager
    def labellers(self, place: Place, *, clock: bool = False) -> Iterator[None]:
        """Let people label, until they are killed."""
        fork = multiprocessing.get_context("fork")
        letter = "l" if place.page is None else "p"
        workers = []
        for number in range(LABELLERS):
            witness = Witness(self.history, f"{letter}{number}")
            given = (place, number, witness, self.seed, clock)
            workers.append(fork.Process(target=label_forever, args=given))
        self.seed += 1
        for worker in workers:
            worker.start()
        try:
            yield
        finally:
            for worker in workers:
                worker.kill()
            for worker in workers:
                worker.join()

    def ensure_server(self) -> None:
        """Start a server that has given up."""
        if self.server is not None:
            self.server.ensure()


def run_round(scene: Scene, fault: str, rng: np.random.Generator) -> None:
    """Let people label, let something fail, mend it, and kill the labellers."""
    if scene.server is not None:
        place = scene.behind_relay()
    elif fault in _NETWORK:
        place = scene.begin_page()
    else:
        place = Place(scene.direct, None)
    disk, seconds = scene.disk, float(rng.uniform(0.05, 0.4))
    disk.set(seed=int(rng.integers(2**31)))
    if "power" in fault:
        scene.end_page()  # which would be without power too
        disk.record()
    with scene.labellers(place, clock=fault == "clock"):
        scene.wait_for_labels(LABELLERS // 2)
        if fault == "sync-power":
            disk.set(failing_sync=int(rng.choice([50_000, 300_000])))
        elif fault in ("write", "sync"):
            disk.set(**{f"failing_{fault}": int(rng.choice([20_000, 200_000, 1_000_000]))})
        elif fault == "full":
            disk.set(room=int(rng.integers(0, 60_000)))
            if scene.server is not None and rng.random() < 0.5:
                with suppress(Exception):  # so that the log of the server must grow too
                    scene.server.execute("SELECT pg_switch_wal()")
        elif fault in _NETWORK:
            assert scene.relay is not None
            scene.relay.set(_NETWORK[fault])
            if fault == "stall" and rng.random() < 0.25:
                seconds += 2 * PATIENCE  # longer than anybody waits
        time.sleep(seconds)
        if "power" in fault:
            disk.cut_power()
        elif fault == "kill":
            if scene.server is not None:
                scene.server.kill()
        else:
            disk.mend()
            if scene.relay is not None:
                scene.relay.set(network.PASS)
            scene.ensure_server()
            scene.wait_for_labels(1)  # which shows that they go on
    disk.mend()
    if "power" in fault:
        if scene.server is not None:
            scene.server.kill_all()
        disk.restore(rng)
    scene.ensure_server()


def inject(
    store: str, folder: Path, disk: FaultyDisk, *, rounds: int, faults: list[str], seed: int
) -> tuple[str, bool]:
    """Run rounds with each fault in turn; returns the table, and True if nothing was wrong.

    Parameters
    ----------
    store : "sqlite" or "postgres".
    folder : An empty folder for all but the disk.
    disk : The disk that fails.
    rounds : The number of rounds in all.
    faults : The faults of `FAULTS` to inject, in turn.
    seed : The seed of what is random in the faults.
    """
    rng = np.random.default_rng(seed)
    write_pool(folder / "pool.parquet", ROWS)
    scene = Scene(folder, disk, store, seed)
    totals = {fault: np.zeros(5, int) for fault in faults}
    unsound = False
    scene.begin()
    try:
        before = Outcome(0, 0, [], [], [], 0, [])
        for number in range(rounds):
            if number % ROUNDS_OF_A_CAMPAIGN == 0:
                scene.new_campaign()
                before = Outcome(0, 0, [], [], [], 0, [])
            fault = faults[number % len(faults)]
            run_round(scene, fault, rng)
            after = check_history(scene.direct, "spam", scene.history)
            totals[fault] += [
                1,
                after.acknowledged - before.acknowledged,
                len(after.lost) - len(before.lost),
                len(after.doubled) + len(after.invented) - len(before.doubled + before.invented),
                after.refused - before.refused,
            ]
            if not after.is_sound:
                print(f"round {number + 1}, {fault}:\n{after.complaints()}", flush=True)
                unsound = True
            before = after
            if (number + 1) % ROUNDS_OF_A_CAMPAIGN == 0 or number + 1 == rounds:
                found = load_campaign("spam", storage=scene.direct).audit()
                if found:
                    print(f"round {number + 1}: the audit finds {[*found]}", flush=True)
                    unsound = True
                if rounds > ROUNDS_OF_A_CAMPAIGN:
                    print(f"round {number + 1}: {after.n_events} events", flush=True)
            if unsound:
                break
    except KeyboardInterrupt:
        print("stopped; the rounds so far:")
    finally:
        scene.end()
    return make_table(store, totals), not unsound


def make_table(store: str, totals: dict[str, Any]) -> str:
    head = ("store", "fault", "rounds", "acknowledged", "lost", "doubled", "refused cleanly")
    rows = [(store, fault, *map(str, counts)) for fault, counts in totals.items()]
    rows.append((store, "all", *map(str, sum(totals.values()))))
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("store", choices=["sqlite", "postgres"])
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--faults", default=",".join(FAULTS), help="faults in turn")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    if reason := why_not():
        print(reason)
        return 2
    if "LEVELLED_FAULTS_FOLDER" not in os.environ:  # begin again with the library in this process
        with tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True) as made:
            Path(made).chmod(0o755)  # a server may be another user's
            library, disk = compile_library(Path(made)), FaultyDisk(Path(made))
            faulty = {"LEVELLED_FAULTS_FOLDER": made, "LD_PRELOAD": str(library)}
            faulty |= {"LEVELLED_CACHE": f"{made}/cache", **disk.environment}
            return subprocess.run(
                [sys.executable, *sys.argv], env={**os.environ, **faulty}, check=False
            ).returncode
    folder = Path(os.environ["LEVELLED_FAULTS_FOLDER"])
    start = time.monotonic()
    table, is_sound = inject(
        chosen.store,
        folder,
        FaultyDisk(folder),
        rounds=chosen.rounds,
        faults=chosen.faults.split(","),
        seed=chosen.seed,
    )
    print(f"{table}\n{time.monotonic() - start:.0f} s")
    return 0 if is_sound else 1


if __name__ == "__main__":
    sys.exit(main())
