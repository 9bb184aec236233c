"""SQLite: all campaigns in one file, many readers and one writer at a time.

What was acknowledged is on the disk.
"""

import os
import sqlite3
import struct
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import chain, count
from pathlib import Path
from zlib import crc32

from levelled.campaigns.stores import database
from levelled.campaigns.stores.database import (
    Connection,
    Database,
    LostConnectionError,
    Turn,
    reason,
)
from levelled.errors import StorageError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_MESSAGES = {
    sqlite3.SQLITE_BUSY: "{place} is locked: another process has been writing to it for "
    "{patience:g} seconds. Nothing was stored; try again, or end that process.",
    sqlite3.SQLITE_READONLY: "{place} cannot be written: the file or its folder is read-only. "
    "Nothing was stored; make both writable.",
    sqlite3.SQLITE_FULL: "{place} has no room left: the disk is full. Nothing was stored; make "
    "room and try again.",
    sqlite3.SQLITE_CANTOPEN: "{place} cannot be opened. Check that you may read and write the "
    "file and its folder.",
    sqlite3.SQLITE_NOTADB: "{place} is not a database. It was left as it is; name another file.",
    sqlite3.SQLITE_CORRUPT: "{place} is damaged ({reason}). Take a copy of it first, then go back "
    "to a backup or try: sqlite3 FILE .recover",
}

_NETWORK = {
    *("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "gpfs"),
    *("vboxsf", "drvfs", "prl_fs", "vmhgfs", "virtiofs", "fuse.sshfs", "fuse.s3fs", "fuse.rclone"),
    *("fuse.gcsfuse", "fuse.glusterfs", "fuse.vmhgfs-fuse", "fuse.davfs2", "davfs", "beegfs"),
}
_MOUNTS = Path("/proc/self/mountinfo")
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


class SQLite(Database):
    """The database in the file at `path`, which need not exist yet."""

    driver = sqlite3
    begin = "BEGIN IMMEDIATE"  # one that asks for the lock after reading can be refused half-way
    tables = (
        "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_'"
    )

    def __init__(self, path: Path, place: str) -> None:
        self._path = _checked(path, place)
        self._uri = _uri(self._path)
        super().__init__(place)
        self.address = f"sqlite:///{os.path.realpath(self._path)}"
        self._turns = Turns(self._path)
        weakref.finalize(self, self._turns.tidy)
        self._lock = threading.Lock()
        self._file: tuple[int, int] | None = None

    def connect(self) -> sqlite3.Connection:
        """A new connection, which waits for others and for the disk."""
        connection = sqlite3.connect(
            self._uri,
            timeout=database.PATIENCE,
            isolation_level=None,  # transactions begin where `writing` says so
            check_same_thread=False,
            uri=True,
        )
        try:
            connection.execute("PRAGMA synchronous = FULL")
        except sqlite3.Error:  # no database: let go of the file
            connection.close()
            raise
        return connection

    def is_idle(self, connection: sqlite3.Connection) -> bool:
        """True if a connection is in no transaction."""
        return not connection.in_transaction

    def forked(self) -> None:
        """Open new connections in the child of a fork, where no other thread holds the lock."""
        self._lock = threading.Lock()
        self._turns.forked()
        super().forked()

    def is_there(self) -> bool:
        """True if the file exists."""
        return self._path.exists()

    def prepare(self) -> None:
        """Turn on write-ahead logging, so that others can read while one writes.

        On a network drive it is not safe, and turned off.
        """
        mode = "wal" if network_kind(self._path) is None else "delete"
        with self.reading() as connection:
            _set_journal(connection, mode)
        self._file = self._file_identity()

    @contextmanager
    def turn(self, campaign: str) -> Iterator[Turn]:
        """Wait in line until nobody else writes to the campaign."""
        with self._turns.take(lane_of(campaign), patience=database.PATIENCE):
            yield Turn(self)

    def close(self) -> None:
        """Close the connections that are open, and leave one file behind."""
        super().close()
        self._turns.tidy()

    @contextmanager
    def write_lock(self) -> Iterator[None]:
        """Wait in line until nobody else writes to the file."""
        with self._turns.take(0, patience=database.PATIENCE), self._lock:
            if self._file is not None and self._file_identity() != self._file:
                raise StorageError(
                    f"{self.place} was moved, replaced or deleted while it was in use. Nothing was "
                    f"stored; put the file back, or start again to use what is there now."
                )
            yield

    def explain(self, failed: Exception, connection: object = None) -> StorageError:
        """An error whose message says what happened and what to do about it."""
        code = getattr(failed, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_IOERR:
            # After a failed fsync the events are in the file, perhaps on the disk, and rolled back:
            # the next writer overwrites them, but a crash before it brings them back.
            return LostConnectionError(
                f"{self.place} cannot be used: the disk failed ({reason(failed)}). Check the disk."
            )
        message = _MESSAGES.get(code)
        if message is None:
            return super().explain(failed, connection)
        return StorageError(
            message.format(place=self.place, patience=database.PATIENCE, reason=reason(failed))
        )

    def backup(self, target: Path) -> None:
        """Write one state of the database to a new file; others may go on writing meanwhile."""
        if target.exists():
            raise StorageError(f"{target} is there already, and a backup replaces nothing.")
        part = target.with_name(f"{target.name}.part")
        try:
            part.unlink(missing_ok=True)  # of a backup that was interrupted
            with closing(self.connect()) as source, closing(sqlite3.connect(part)) as copy:
                source.backup(copy)  # in one step, so that no writer can make it start again
                copy.execute("PRAGMA journal_mode = DELETE")
                (outcome,) = copy.execute("PRAGMA quick_check(1)").fetchone()
            if outcome != "ok":
                raise StorageError(f"{self.place} is damaged, and so would be its copy: {outcome}.")
            part.rename(target)
        except (OSError, sqlite3.Error) as failed:
            raise StorageError(f"{target} cannot be written: {failed}.") from failed
        finally:
            part.unlink(missing_ok=True)

    def keep_version(self, version: str) -> Path:
        """Back the file up beside itself, under a name with its version, and return the path."""
        stem = self._path.with_suffix("")
        names = chain([""], (f"-{n}" for n in count(2)))
        paths = (stem.with_name(f"{stem.name}.version-{version}{more}.db") for more in names)
        target = next(path for path in paths if not path.exists())
        self.backup(target)
        return target

    def _file_identity(self) -> tuple[int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino


def _checked(path: Path, place: str) -> Path:
    # SQLite itself says no more than "unable to open database file", and waits for ever on a pipe.
    try:
        path = path.absolute()  # a later change of folder must not lead elsewhere
        if path.is_dir():
            raise StorageError(f"{place} is a folder. Name a file in it: {place}/levelled.db")
        if path.exists() and not path.is_file():
            raise StorageError(f"{place} is not a file. Name a file, as in sqlite:///levelled.db")
        if not path.parent.is_dir():
            raise StorageError(
                f"{place} cannot be made: there is no folder {path.parent}. Make it first, or "
                f"name another place."
            )
    except OSError as wrong:
        raise StorageError(f"{place} cannot be opened: {wrong.strerror}.") from wrong
    return path


def _uri(path: Path) -> str:
    """The address of a file for SQLite; in a folder that cannot be written, to read only.

    A reader of a write-ahead log keeps notes beside it. Where it cannot, SQLite has to be told
    that nobody writes, unless those who do have left their notes there.
    """
    if not path.exists() or os.access(path.parent, os.W_OK):
        return path.as_uri()
    others_write = path.with_name(f"{path.name}-wal").exists()
    return f"{path.as_uri()}?{'mode=ro' if others_write else 'immutable=1'}"


def _set_journal(connection: Connection, mode: str) -> None:
    # A file that cannot change its mode is slower, and just as safe.
    deadline = time.monotonic() + database.PATIENCE
    while time.monotonic() < deadline:
        try:
            if connection.execute("PRAGMA journal_mode").fetchone() != (mode,):
                connection.execute(f"PRAGMA journal_mode = {mode}")
            return
        except sqlite3.Error as failed:
            if failed.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                return
            time.sleep(0.01)  # SQLite does not wait by itself here


def network_kind(path: Path, mounts: str | None = None) -> str | None:
    r"""The kind of network or shared drive that a file is on; None on a local one.

    Processes that share a write-ahead log do so by memory, which machines that mount the same
    network drive do not have in common: they would overwrite each other's labels. `mounts` is the
    text of /proc/self/mountinfo, by default of this machine; where there is none, as on other
    systems than Linux, the answer is None.

    >>> table = "36 1 8:1 / / rw - ext4 /dev/sda rw\n37 36 0:4 / /mnt/team rw - nfs4 host:/x rw"
    >>> network_kind(Path("/mnt/team/a.db"), table), network_kind(Path("/home/a.db"), table)
    ('nfs4', None)
    """
    if mounts is None:
        try:
            mounts = _MOUNTS.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        path = Path(os.path.realpath(path))
    deepest, kind = -1, ""
    for line in mounts.splitlines():
        where, _, what = line.partition(" - ")
        fields, types = where.split(), what.split()
        if len(fields) < 5 or not types:
            continue
        mounted = Path(fields[4].replace("\\040", " "))
        if path.is_relative_to(mounted) and len(mounted.parts) >= deepest:
            deepest, kind = len(mounted.parts), types[0]
    return kind if kind in _NETWORK else None


def lane_of(campaign: str) -> int:
    """The lane of a campaign; lane 0 is that of the whole database."""
    return 1 + crc32(campaign.encode()) % (_LANES - 1)


class Turns:
    """The lines of writers that wait beside the database at `path`: first come, first served.

    SQLite lets writers wait by trying again after ever longer pauses, so that a newcomer overtakes
    those who have waited longest. Here everybody takes a number and waits until all smaller numbers
    are gone. A number is a byte of a small file beside the database, locked by who holds it; the
    system frees the byte however the process ends, so a kill leaves nobody waiting.

    The line is only about who is next. That writers do not harm each other is the promise of the
    database, which also holds where there is no line: on systems other than Linux, and for a
    writer that has waited too long for somebody who does not move.

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

    # A plain flock would do for order and waiting: of 16 labellers the slowest got 0.74 of the mean
    # or more, and the p99 was the same within the noise. But it took 64 steps a second, and numbers
    # took 128 (medians of 4 short runs in turn of benchmarks/bench_writers.py on a busy machine).
    def _enter(self, lane: int, deadline: float) -> int | None:
        """An open file that holds the turn; None where there can be no line."""
        while True:
            try:
                file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            except OSError:
                return None
            self._open.add(file)
            try:
                if os.fstat(file).st_size == 0:  # new: for everybody who may use the database
                    with suppress(OSError):
                        os.fchmod(file, self._database.stat().st_mode & 0o777)
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
