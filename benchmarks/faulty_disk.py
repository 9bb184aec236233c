"""A disk that fails, fills up and loses power, and clocks that are wrong: the library `faults.c`.

The library is loaded into processes by LD_PRELOAD. All files below the folder of a `FaultyDisk` are
on that disk, those of SQLite as well as those of a PostgreSQL server.
"""

import ctypes
import mmap
import os
import shutil
import struct
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

__all__ = ["FaultyDisk", "compile_library", "shift_clock", "why_not"]

_SECTOR = 512
"""Bytes that a disk writes as a whole; SQLite and PostgreSQL expect no more of it."""

_RECORD = struct.Struct("=IIQQQ")
"""`struct record` of faults.c: kind, id of an fsync, inode, start, length."""
_NEW, _WRITE, _CUT, _SYNC, _SYNCED, _UNSYNCED = range(1, 7)

_CONTROL = {
    "room": ("=q", 0),
    "record": ("=i", 8),
    "dead": ("=i", 12),
    "failing_write": ("=i", 16),
    "failing_sync": ("=i", 20),
    "seed": ("=i", 24),
}
"""`struct control` of faults.c: the format and place of each field."""
_CONTROL_SIZE = 32


def why_not() -> str | None:
    """The reason why there can be no faulty disk on this machine, if there is one."""
    if sys.platform != "linux":
        return "the faulty disk is a library for Linux"
    return None if shutil.which("gcc") else "the faulty disk is compiled by gcc, which is missing"


def compile_library(folder: Path) -> Path:
    """Compile the library into a folder, and return its path."""
    source, library = Path(__file__).with_name("faults.c"), folder / "faults.so"
    command = ["gcc", "-O2", "-shared", "-fPIC", str(source), "-o", str(library), "-ldl"]
    subprocess.run(command, check=True)
    return library


def shift_clock(seconds: int) -> None:
    """Let the clock of this process be wrong by some seconds from now on."""
    ctypes.CDLL(None).levelled_shift_clock(ctypes.c_int64(seconds))


class _Write(NamedTuple):
    """A write, or with data None a change of the file's length to `start`."""

    number: int
    start: int
    data: bytes | None


@dataclass
class _File:
    """A file as it is on the disk, and what was written to it since without an fsync."""

    content: bytearray
    pending: list[_Write] = field(default_factory=list)
    begun: dict[int, int] = field(default_factory=dict)
    """For each fsync that runs, the number of the last write before it began."""

    def take(self, sync: int) -> list[_Write]:
        """The writes that an fsync covers, which are pending no longer."""
        last = self.begun.pop(sync, -1)
        covered = [one for one in self.pending if one.number <= last]
        self.pending = [one for one in self.pending if one.number > last]
        return covered

    def apply(self, start: int, data: bytes | None) -> None:
        if data is None:
            del self.content[start:]
            self.content.extend(bytes(start - len(self.content)))
        else:
            self.content.extend(bytes(max(start - len(self.content), 0)))
            self.content[start : start + len(data)] = data

    def apply_in_part(self, write: _Write, rng: np.random.Generator) -> None:
        """Apply a write that may have reached the disk as a whole, not at all, or in part."""
        share = rng.choice([0.0, 0.5, 1.0])
        if write.data is None:
            if rng.random() < share:
                self.apply(write.start, None)
            return
        at, end = write.start, write.start + len(write.data)
        while at < end:
            stop = min(at - at % _SECTOR + _SECTOR, end)
            if rng.random() < share:
                self.apply(at, write.data[at - write.start : stop - write.start])
            at = stop


class FaultyDisk:
    """A folder `disk` below `folder`, and the faults of all files in it.

    Processes that use it, also to inject faults, must be started with `environment`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(os.path.realpath(folder)) / "disk"
        control, self._journal = self.folder.with_name("control"), self.folder.with_name("journal")
        if not self.folder.exists():
            self.folder.mkdir()
            control.write_bytes(bytes(_CONTROL_SIZE))
            self._journal.touch()
            for path in (control, self._journal):  # a server may be another user's
                path.chmod(0o666)
        with control.open("r+b") as file:
            self._control = mmap.mmap(file.fileno(), _CONTROL_SIZE)
        self.set(room=-1)
        self.environment = {
            "LEVELLED_FAULTS_DISK": str(self.folder),
            "LEVELLED_FAULTS_CONTROL": str(control),
            "LEVELLED_FAULTS_JOURNAL": str(self._journal),
        }
        self._before: dict[int, bytes] = {}

    def set(self, **values: int) -> None:
        """Set what goes wrong from now on, for all processes.

        `failing_write` and `failing_sync` of a million calls fail; files may grow by `room` bytes,
        without a limit below 0; `seed` decides which calls fail.
        """
        for name, value in values.items():
            form, place = _CONTROL[name]
            struct.pack_into(form, self._control, place, value)

    def get(self, name: str) -> int:
        form, place = _CONTROL[name]
        return int(struct.unpack_from(form, self._control, place)[0])

    def mend(self) -> None:
        """Let nothing go wrong any more."""
        self.set(room=-1, failing_write=0, failing_sync=0)

    def record(self) -> None:
        """Write down what happens from now on, so that the power can be cut."""
        os.truncate(self._journal, 0)
        self.set(record=1)
        self._before = {path.stat().st_ino: path.read_bytes() for path in self._files()}

    def cut_power(self) -> None:
        """Let nothing more reach the disk; whoever writes to it waits, until it is killed."""
        self.set(dead=1)
        time.sleep(0.002)

    def restore(self, rng: np.random.Generator) -> int:
        """Bring every file to what a loss of power may have left of it, once nobody writes.

        All that an fsync has confirmed is there. Of all other writes each sector may be there or
        not. Returns the number of writes that no fsync has confirmed.
        """
        left, unconfirmed = self._replay(rng), 0
        self.set(record=0, dead=0)  # this process writes to the disk too
        for path in self._files():
            file = left.get(path.stat().st_ino)
            if file is not None:
                unconfirmed += len(file.pending)
                for write in file.pending:
                    file.apply_in_part(write, rng)
                with path.open("r+b") as out:
                    out.truncate(0)
                    out.write(file.content)
        os.truncate(self._journal, 0)
        return unconfirmed

    def _files(self) -> list[Path]:
        return [path for path in self.folder.rglob("*") if path.is_file()]

    def _replay(self, rng: np.random.Generator) -> dict[int, _File]:
        """Every file of which something was recorded, by its inode."""
        files: dict[int, _File] = defaultdict(lambda: _File(bytearray()))
        files |= {inode: _File(bytearray(content)) for inode, content in self._before.items()}
        touched = set()
        for number, (kind, sync, inode, start, data) in enumerate(self._records()):
            touched.add(inode)
            if kind == _NEW:
                files[inode] = _File(bytearray())
            file = files[inode]
            if kind == _WRITE:
                file.pending.append(_Write(number, start, data))
            elif kind == _CUT:
                file.pending.append(_Write(number, start, None))
            elif kind == _SYNC:
                file.begun[sync] = number
            elif kind == _SYNCED:
                for write in file.take(sync):
                    file.apply(write.start, write.data)
            elif kind == _UNSYNCED:  # the system has forgotten that these are not on the disk
                for write in file.take(sync):
                    file.apply_in_part(write, rng)
        return {inode: files[inode] for inode in touched}

    def _records(self) -> Iterator[tuple[int, int, int, int, bytes]]:
        content, at = self._journal.read_bytes(), 0
        while at + _RECORD.size <= len(content):
            kind, sync, inode, start, length = _RECORD.unpack_from(content, at)
            at += _RECORD.size
            if kind == _WRITE:
                yield kind, sync, inode, start, content[at : at + length]
                at += length
            else:
                yield kind, sync, inode, start, b""
