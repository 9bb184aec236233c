"""Stamps of files: their size and time of change, by which a change is noticed without reading."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from levelled.errors import PoolError


class Stamps:
    """The size and the time of change that files had when they were opened."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._stamps = {path: _stamp(path) for path in paths}

    @property
    def changed(self) -> bool:
        """True if a file has another stamp by now, or is gone."""
        try:
            return any(_stamp(path) != stamp for path, stamp in self._stamps.items())
        except PoolError:
            return True

    def check(self, *paths: Path) -> None:
        """Refuse a file that has changed: one of these, or of all if none is named."""
        for path in paths or self._stamps:
            if _stamp(path) != self._stamps[path]:
                raise PoolError(
                    f"{path} has changed since the pool was opened. Open the pool again once "
                    f"nobody writes to its files."
                )


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError as wrong:
        raise PoolError(f"{path} cannot be read: {wrong.strerror or wrong}.") from wrong
    return found.st_size, found.st_mtime_ns
