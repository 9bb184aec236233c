"""Members of ZIP files, also of those that hold zstd, which `zipfile` knows from Python 3.14 on."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pyarrow as pa

from levelled.errors import PoolError

_STORED, _DEFLATED, _ZSTD = 0, 8, 93
_LOCAL = struct.Struct("<4s5H3L2H")
"""The header in front of a member; the last two numbers are the lengths of what follows it."""
_MOST_BYTES = 1 << 29
"""Bytes of the largest member."""
_MOST_TIMES = 1000
"""A member of more than a megabyte may not shrink further than this when it is compressed."""


class Members:
    """The members of an open ZIP file by their names."""

    def __init__(self, file: IO[bytes], name: str, members: dict[str, zipfile.ZipInfo]) -> None:
        self._file, self._name, self._members = file, name, members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __contains__(self, member: str) -> bool:
        return member in self._members

    def read(self, member: str) -> bytes:
        """The content of a member; one that is damaged or far too large is refused."""
        about = self._members[member]
        size, packed = about.file_size, about.compress_size
        if size > _MOST_BYTES or (size > 1 << 20 and size > _MOST_TIMES * packed):
            raise PoolError(
                f"{member} in {self._name} claims to hold {size:,} bytes in {packed:,}, more than "
                f"any sample needs: the file is damaged or made to fill the memory."
            )
        try:
            data = _unpack(self._packed(about), about.compress_type, size)
        except (OSError, zlib.error, struct.error) as wrong:
            raise self._damaged(member, "its data cannot be unpacked") from wrong
        if data is None:
            raise PoolError(
                f"{member} in {self._name} is packed by method {about.compress_type}, which is not "
                f"known: stored, deflate and zstd are."
            )
        if len(data) != size or zlib.crc32(data) != about.CRC:
            raise self._damaged(member, "its content differs from the checksum")
        return data

    def _packed(self, about: zipfile.ZipInfo) -> bytes:
        self._file.seek(about.header_offset)
        *_, name_length, extra_length = _LOCAL.unpack(self._file.read(_LOCAL.size))
        self._file.seek(name_length + extra_length, 1)
        return self._file.read(about.compress_size)

    def _damaged(self, member: str, why: str) -> PoolError:
        return PoolError(
            f"{member} in {self._name} is damaged: {why}. Copy or write the file again."
        )


@contextmanager
def open_zip(path: Path) -> Iterator[Members]:
    """The members of a ZIP file."""
    with path.open("rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                members = {one.filename: one for one in archive.infolist()}
        except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error) as wrong:
            raise PoolError(
                f"{path} is no whole ZIP file ({wrong}): it was cut off, or is still being "
                f"written. Copy or write it again."
            ) from wrong
        yield Members(file, str(path), members)


def _unpack(packed: bytes, method: int, size: int) -> bytes | None:
    """At most one byte more than the size that was announced; None for an unknown method."""
    if method == _STORED:
        return packed
    if method == _DEFLATED:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, size + 1)
    if method == _ZSTD:
        with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
            data: bytes = stream.read(size + 1)
            return data
    return None
