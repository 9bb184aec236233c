"""Writers wait in line: in the order in which they came, and not for the dead."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from levelled.campaigns.log.records import verify
from levelled.campaigns.stores import open_store
from levelled.campaigns.stores.sqlite import Turns, _read, lane_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs locks of open files")

HOLD = """
import sys, time
from pathlib import Path
from levelled.campaigns.stores.sqlite import Turns
with Turns(Path(sys.argv[1])).take(1, patience=60):
    print("has a turn", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "levelled.db"


def numbers_taken(path: Path, lane: int = 1) -> int:
    """How many have taken a number in a lane so far."""
    file = os.open(f"{path}-turns", os.O_RDONLY)
    try:
        return max(_read(file, lane)[0] - 2, 0)
    finally:
        os.close(file)


def wait_until_taken(path: Path, count: int) -> None:
    deadline = time.monotonic() + 120
    while numbers_taken(path) < count:
        assert time.monotonic() < deadline
        time.sleep(0.001)


@contextmanager
def process_at(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that takes a turn and keeps it."""
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_turns_come_in_the_order_of_arrival(path: Path) -> None:
    turns, order = Turns(path), list[int]()

    def write(writer: int) -> None:
        with turns.take(1, patience=60):
            order.append(writer)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(12)]
    with turns.take(1, patience=60):
        for writer, thread in enumerate(threads):
            thread.start()
            wait_until_taken(path, writer + 2)
    for thread in threads:
        thread.join()
    assert order == list(range(12))


def test_lanes_do_not_wait_for_each_other(path: Path) -> None:
    turns = Turns(path)
    with turns.take(0, patience=60), turns.take(1, patience=60), turns.take(2, patience=60):
        assert numbers_taken(path, 1) == numbers_taken(path, 2) == 1


def test_every_campaign_has_a_lane() -> None:
    assert lane_of("digits") == lane_of("digits") > 0
    assert len({lane_of(f"campaign {n}") for n in range(100)}) > 90


def test_a_process_that_is_killed_gives_its_turn_up(path: Path) -> None:
    with process_at(path) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "has a turn\n"
        with process_at(path) as waiter:
            wait_until_taken(path, 2)
            waiter.kill()  # one who waits must not let those behind it pass
            waiter.wait()
            entered = threading.Event()

            def write() -> None:
                with Turns(path).take(1, patience=60):
                    entered.set()

            thread = threading.Thread(target=write)
            thread.start()
            wait_until_taken(path, 3)
            assert not entered.wait(0.1)
            os.kill(holder.pid, signal.SIGKILL)
            assert entered.wait(120)
            thread.join()


def test_nobody_waits_for_ever_for_one_who_does_not_move(path: Path) -> None:
    with process_at(path) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        os.kill(holder.pid, signal.SIGSTOP)
        with Turns(path).take(1, patience=0.05):
            pass


def test_the_file_is_deleted_once_nobody_needs_it(path: Path) -> None:
    one, other = Turns(path), Turns(path)
    with one.take(1, patience=60):
        other.tidy()
        assert numbers_taken(path) == 1
    other.tidy()
    assert list(path.parent.iterdir()) == []
    with one.take(1, patience=60):  # and made anew
        assert numbers_taken(path) == 1


def test_the_file_may_be_used_by_all_who_may_use_the_database(path: Path) -> None:
    path.touch()
    path.chmod(0o660)
    with Turns(path).take(1, patience=60):
        assert Path(f"{path}-turns").stat().st_mode & 0o777 == 0o660


def test_where_there_can_be_no_line_nobody_waits(tmp_path: Path) -> None:
    with Turns(tmp_path / "missing" / "levelled.db").take(1, patience=60):
        pass


WITHOUT_LINE = """
import sys
from levelled.campaigns.stores import open_store, sqlite
from levelled.errors import ConflictError
sqlite._AVAILABLE = False  # as on macOS and Windows
left = 20
with open_store(sys.argv[1]) as store:
    while left:
        try:
            store.update("digits", lambda read, _: ([{"by": sys.argv[2]}], len(read(0))))
            left -= 1
        except ConflictError:
            pass
"""


def test_without_a_line_nothing_is_lost_or_doubled(path: Path) -> None:
    with open_store(path) as store:
        store.append("digits", [{"type": "created"}], expected=0)
    command = [sys.executable, "-c", WITHOUT_LINE, str(path)]
    writers = [subprocess.Popen([*command, name]) for name in "abc"]
    assert [one.wait(300) for one in writers] == [0, 0, 0]
    with open_store(path) as store:
        events = store.events("digits")
    assert Counter(one.event.get("by") for one in events[1:]) == {"a": 20, "b": 20, "c": 20}
    assert verify(events) is None


def test_the_child_of_a_fork_does_not_keep_the_turn_of_its_parent(path: Path) -> None:
    turns = Turns(path)
    reading, writing = os.pipe()
    with turns.take(1, patience=60):
        child = os.fork()
        if child == 0:
            os.close(writing)
            turns.forked()
            os.read(reading, 1)  # until the parent is done
            os._exit(0)
    start = time.monotonic()
    with turns.take(1, patience=60):
        assert time.monotonic() - start < 30
    os.close(writing)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    os.close(reading)
