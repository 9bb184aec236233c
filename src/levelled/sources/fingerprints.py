"""The fingerprint of large Parquet files, from what they say of themselves and a sample of them.

It reads the footer of each file, which lists the rows, sizes, places and extreme values of all
column chunks, and blocks of bytes spread evenly over the files. It notices files that were
written anew, cut, extended, exchanged or put in another order. Bytes that were overwritten in
place, without a change of any size or extreme value, it notices only where it looks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from levelled.errors import PoolError
from levelled.sources.files import format_of

_KIND = "parquet-sample:"
"""How such a fingerprint begins; any other is the sha256 of all content."""
_LARGE = 1 << 30
"""Bytes from which on not all of them are read."""
_BLOCK, _BLOCKS, _LEAST = 1 << 16, 1024, 4
"""Bytes of a block, how many there are, and the fewest in a file."""


def is_large(paths: Sequence[Path]) -> bool:
    """True for Parquet files of which only a sample is read."""
    return format_of(paths[0]) == "parquet" and sum(_size(path) for path in paths) > _LARGE


def is_sampled(fingerprint: str) -> bool:
    """True for a fingerprint of a sample."""
    return fingerprint.startswith(_KIND)


def sample_digest(paths: Sequence[Path]) -> str:
    """The sha256 of the sizes, the footers and a sample of the bytes of Parquet files in order."""
    total, blocks = hashlib.sha256(), max(_LEAST, _BLOCKS // len(paths))
    for path in paths:
        size = _size(path)
        total.update(size.to_bytes(8, "little"))
        try:
            with path.open("rb") as file:
                file.seek(max(size - 8, 0))
                footer = int.from_bytes(file.read(4), "little")
                places = [at * max(size - _BLOCK, 0) // (blocks - 1) for at in range(blocks)]
                for place, length in ((max(size - 8 - footer, 0), footer), *_pairs(places)):
                    file.seek(place)
                    total.update(file.read(length))
        except OSError as wrong:
            raise PoolError(f"{path} cannot be read: {wrong.strerror or wrong}.") from wrong
    return f"{_KIND}{total.hexdigest()}"


def _pairs(places: Sequence[int]) -> list[tuple[int, int]]:
    return [(place, _BLOCK) for place in places]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as wrong:
        raise PoolError(f"{path} cannot be read: {wrong.strerror or wrong}.") from wrong
