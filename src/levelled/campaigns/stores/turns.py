"""Turns: processes and threads that write to one file wait in line, first come, first served.

SQLite lets writers wait by trying again after ever longer pauses, so that a newcomer overtakes
those who have waited longest. Here everybody takes a number and waits until all smaller numbers
are gone. A number is a byte of a small file beside the database, locked by who holds it; the
system frees the byte however the process ends, so a kill leaves nobody waiting.

The line is only about who is next. That writers do not harm each other is the promise of the
database, which also holds where there is no line: on systems other than Linux, and for a
writer that has waited too long for somebody who does not move.
"""

import os
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from zlib import crc32

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_AVAILABLE = sys.platform == "linux" and hasattr(fcntl, "F_OFD_SETLK")  # _LOCK is Linux's
_LANES = 1024
_SPAN = 1 << 50
"""Bytes that each lane has for its numbers, far beyond the end of the file."""
_FIRST = 2
_RECORD = struct.Struct("=QQ")
"""Of each lane, at the beginning of the file: the next number, and the last one that had a turn."""
_LOCK = struct.Struct("hhqqi0q")
"""`struct flock`: kind, whence, start, length, and a process id that must be 0."""
_PAUSE, _MOST_PLACES = 0.0005, 100


def lane_of(campaign: str) -> int:
    """The lane of a campaign; lane 0 is that of the whole database."""
    return 1 + crc32(campaign.encode()) % (_LANES - 1)


class Turns:
    """The lines of writers that wait beside the database at `path`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     turns = Turns(Path(folder, "my.db"))
    ...     with turns.take(lane_of("digits"), patience=1):
    ...         pass
    ...     turns.tidy()
    ...     os.listdir(folder)
    []
    """

    def __init__(self, path: Path) -> None:
        self._database = path
        self._path = path.with_name(f"{path.name}-turns")
        self._open: set[int] = set()

    @contextmanager
    def take(self, lane: int, *, patience: float) -> Iterator[None]:
        """Wait for a turn in `lane` and keep it; after `patience` seconds go on without."""
        file = self._enter(lane, time.monotonic() + patience) if _AVAILABLE else None
        try:
            yield
        finally:
            if file is not None:
                self._close(file)

    def tidy(self) -> None:
        """Delete the file, unless somebody is waiting or has a turn."""
        if _AVAILABLE and self._path.exists():
            with suppress(OSError):
                file = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
                try:
                    if _try_lock(file, fcntl.F_WRLCK, 0, 0):  # from the first byte to the last
                        self._path.unlink()
                finally:
                    os.close(file)

    def forked(self) -> None:
        """Let go of the parent's turns in the child of a fork, where they would never end."""
        for file in self._open:
            os.close(file)
        self._open.clear()

    def _enter(self, lane: int, deadline: float) -> int | None:
        """An open file that holds the turn; None where there can be no line."""
        while True:
            try:
                file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            except OSError:
                return None
            self._open.add(file)
            try:
                self._share(file)
                number = _take_number(file, lane, deadline)
                if self._is_there(file):
                    _wait(file, lane, number, deadline)
                    return file
                self._close(file)  # deleted before it was locked
            except BaseException as failed:
                self._close(file)
                if isinstance(failed, OSError):  # a file system without locks
                    return None
                raise

    def _share(self, file: int) -> None:
        """Let everybody use a new file who may use the database."""
        if os.fstat(file).st_size == 0:
            with suppress(OSError):
                os.fchmod(file, self._database.stat().st_mode & 0o777)

    def _is_there(self, file: int) -> bool:
        try:
            return os.path.samestat(os.fstat(file), self._path.stat())
        except FileNotFoundError:
            return False

    def _close(self, file: int) -> None:
        if file in self._open:  # and not in the child of a fork
            self._open.discard(file)
            os.close(file)


def _take_number(file: int, lane: int, deadline: float) -> int:
    """Lock the next number of a lane. Another lock makes reading and counting up one step."""
    counter = lane * _SPAN
    while not _try_lock(file, fcntl.F_WRLCK, counter, 1) and time.monotonic() < deadline:
        time.sleep(_PAUSE)
    number = max(_read(file, lane)[0], _FIRST)
    while not _try_lock(file, fcntl.F_WRLCK, counter + number, 1):
        number += 1
    os.pwrite(file, struct.pack("=Q", number + 1), lane * _RECORD.size)
    _try_lock(file, fcntl.F_UNLCK, counter, 1)
    return number


def _wait(file: int, lane: int, number: int, deadline: float) -> None:
    """Return once all smaller numbers are free. Who is further behind looks less often."""
    while not _try_lock(file, fcntl.F_RDLCK, lane * _SPAN + 1, number - 1):
        if time.monotonic() > deadline:
            return
        places = number - _read(file, lane)[1]
        time.sleep(_PAUSE * min(max(places, 1), _MOST_PLACES))
    os.pwrite(file, struct.pack("=Q", number), lane * _RECORD.size + 8)


def _read(file: int, lane: int) -> tuple[int, int]:
    record = os.pread(file, _RECORD.size, lane * _RECORD.size)
    return _RECORD.unpack(record.ljust(_RECORD.size, b"\0"))


def _try_lock(file: int, kind: int, start: int, length: int) -> bool:
    """Lock or unlock bytes for this open file; False if somebody else keeps one of them locked."""
    try:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, _LOCK.pack(kind, os.SEEK_SET, start, length, 0))
    except (BlockingIOError, PermissionError):
        return False
    return True
