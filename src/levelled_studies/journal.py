"""Rows kept one by one while a part is running, so that it can be taken up after any end."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from levelled_studies.study import Row

if sys.platform != "win32":
    import fcntl

__all__ = ["Journal", "opened"]


class Journal:
    """The rows of one unfinished part, in an open file that no other process has."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        lines = file.read().splitlines(keepends=True)
        whole = [line for line in lines if line.endswith(b"\n")]
        self.rows: list[Row] = [json.loads(line) for line in whole]
        file.truncate(sum(map(len, whole)))  # a process that was killed may leave half a row
        file.seek(0, os.SEEK_END)

    def append(self, row: Row) -> None:
        """Keep a row; it is on the disk when this returns."""
        self._file.write(json.dumps(row).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self.rows.append(row)


@contextmanager
def opened(path: Path) -> Iterator[Journal]:
    """The journal at that place; waits while another process works on it, but on Windows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        if sys.platform != "win32":
            fcntl.flock(file, fcntl.LOCK_EX)  # given up by the system however the process ends
        file.seek(0)
        yield Journal(file)
