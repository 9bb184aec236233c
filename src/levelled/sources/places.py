"""Files by name, in a folder of this machine or in any storage that has an address.

The fingerprint of large Parquet files reads the footer of each, which lists the rows, sizes, places
and extreme values of all column chunks, and blocks of bytes spread evenly over the files. It
notices files that were written anew, cut, extended, exchanged or put in another order. Bytes that
were overwritten in place, without a change of any size or extreme value, it notices only where it
looks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

import pyarrow as pa
from pyarrow import fs

from levelled._optional import optional
from levelled.errors import MissingExtraError, PoolError
from levelled.sources.files import (
    SAMPLED,
    SIGNS,
    PathName,
    files_of,
    fits,
    format_of,
    is_address,
    is_row_file,
)

_LARGE = 1 << 30
"""Bytes of Parquet files from which on not all of them are read for a fingerprint."""
_BLOCK, _BLOCKS, _LEAST = 1 << 16, 1024, 4
"""Bytes of a block, how many there are, and the fewest in a file."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """One file: its name as users know it, and where it is."""

    name: str
    path: str
    filesystem: fs.FileSystem = field(default_factory=fs.LocalFileSystem)

    def stamp(self) -> tuple[int | None, int | None]:
        """The size and the time of change, by which a change is noticed without reading."""
        with name_unreadable(self.name):
            info = self.filesystem.get_file_info(self.path)
        if not info.is_file:
            raise PoolError(f"{self.name} cannot be read: No such file or directory.")
        return info.size, info.mtime_ns

    def open(self) -> pa.NativeFile:
        """The bytes of the file."""
        return self.filesystem.open_input_file(self.path)


def local_places(paths: Sequence[Path]) -> list[Place]:
    """Files of this machine as places."""
    return [Place(str(path), str(path)) for path in paths]


def find_places(source: PathName | Sequence[PathName]) -> list[Place]:
    """The files that a path, an address, a pattern, a folder or a list of these stands for, sorted.

    All must have one format.
    """
    several = [source] if isinstance(source, str | PathLike) else source
    found = {one.name: one for name in several for one in _expand(name)}
    if not found:
        raise PoolError("The list of files is empty: name at least one.")
    formats = {format_of(name): name for name in found}
    if len(formats) > 1:
        kinds = [f"{Path(name).name} is {kind}" for kind, name in sorted(formats.items())]
        raise PoolError(f"The files of a pool must be of one format: {', '.join(kinds)}.")
    return [found[name] for name in sorted(found, key=lambda name: Path(name).as_posix())]


def _expand(source: PathName) -> list[Place]:
    if is_address(source) and not str(source).startswith("file://"):
        return _find_remote(str(source))
    return local_places(files_of(source))


def _find_remote(address: str) -> list[Place]:
    """The files that an address stands for: a file, a folder or a pattern."""
    scheme, _, rest = address.partition("://")
    signs = [rest.index(sign) for sign in SIGNS if sign in rest]
    base = rest[: min(signs)].rpartition("/")[0] if signs else rest
    with name_unreadable(address):
        filesystem, root = _filesystem(f"{scheme}://{base}")
        if filesystem.get_file_info(root).is_file:
            return [Place(address, root, filesystem)]
        selector = fs.FileSelector(root, allow_not_found=True, recursive=True)
        inside = [one.path for one in filesystem.get_file_info(selector) if one.is_file]
    pattern = rest[len(base) :].strip("/").split("/")
    places = []
    for path in inside:
        parts = path.removeprefix(root).strip("/").split("/")
        if fits(parts, pattern) if signs else is_row_file(parts):
            name = f"{scheme}://{base.rstrip('/')}/{'/'.join(parts)}"
            places.append(Place(name, path, filesystem))
    if not places:
        raise PoolError(f"No file of rows is found at {address!r}.")
    return places


def _filesystem(address: str) -> tuple[fs.FileSystem, str]:
    """The file system of an address, and the path in it: pyarrow's own, else one of fsspec."""
    try:
        return fs.FileSystem.from_uri(address)
    except pa.ArrowInvalid:  # a scheme that pyarrow does not know
        fsspec = optional("fsspec", extra="remote")
        try:
            found, path = fsspec.core.url_to_fs(address)
        except ValueError as wrong:
            raise PoolError(f"{address!r} is no address of files: {wrong}.") from wrong
        except ImportError as missing:
            scheme = address.partition("://")[0]
            raise MissingExtraError(
                f"Files at {scheme}:// need a further package, which pip installs: {missing}."
            ) from missing
        return fs.PyFileSystem(fs.FSSpecHandler(found)), path


def is_large(places: Sequence[Place]) -> bool:
    """True for Parquet files of which only a sample is read for their fingerprint."""
    sizes = (one.stamp()[0] or 0 for one in places)
    return format_of(places[0].name) == "parquet" and sum(sizes) > _LARGE


def digest(places: Sequence[Place]) -> str:
    """The sha256 of the files' bytes, one after the other; for one file that of `sha256sum`."""
    total = hashlib.sha256()
    for place in places:
        place.stamp()  # it says best that a file is gone
        with name_unreadable(place.name), place.open() as file:
            hashlib.file_digest(file, lambda: total)
    return total.hexdigest()


def sample_digest(places: Sequence[Place]) -> str:
    """The sha256 of the sizes, the footers and a sample of the bytes of Parquet files in order."""
    total, blocks = hashlib.sha256(), max(_LEAST, _BLOCKS // len(places))
    for place in places:
        size = place.stamp()[0] or 0
        with name_unreadable(place.name), place.open() as file:
            total.update(size.to_bytes(8, "little"))
            footer = int.from_bytes(file.read_at(4, max(size - 8, 0)), "little")
            start = max(size - 8 - footer, 0)
            total.update(file.read_at(min(footer, size - start), start))
            for at in range(blocks):
                total.update(file.read_at(_BLOCK, at * max(size - _BLOCK, 0) // (blocks - 1)))
    return f"{SAMPLED}{total.hexdigest()}"


@contextmanager
def name_unreadable(name: object, kind: str | None = None) -> Iterator[None]:
    """Turn an error of reading into one line that names the file."""
    how = "" if kind is None else f" as {kind}"
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeError) as wrong:
        raise PoolError(f"{name} cannot be read{how}: {one_line(wrong)}") from wrong


def one_line(wrong: Exception) -> str:
    """The beginning of a message, without what a terminal might act upon."""
    line = (str(wrong) or type(wrong).__name__).partition("\n")[0][:200].rstrip(".")
    return "".join(sign if sign.isprintable() else "?" for sign in line) + "."
