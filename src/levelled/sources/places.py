"""Parquet files by name, in a folder of this machine or in any storage that has an address."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from levelled._optional import optional
from levelled.errors import MissingExtraError, PoolError
from levelled.sources.files import ENDINGS
from levelled.sources.origin import name_unreadable

_BUFFER = 1 << 22
"""Bytes read at once, so that a column of any length needs little memory."""


class Stamp(NamedTuple):
    """What changes when a file is written anew."""

    size: int | None
    modified: int | None
    rows: tuple[int, ...]
    """The rows of each row group."""


@dataclass(frozen=True, slots=True, eq=False)
class ParquetPlace:
    """One Parquet file: its name as users know it, and where it is."""

    name: str
    path: str
    filesystem: fs.FileSystem

    def open(self, footer: pq.FileMetaData | None = None) -> pq.ParquetFile:
        """The file, to be read in small steps; `footer` is what was read of it before."""
        return pq.ParquetFile(
            self.path, filesystem=self.filesystem, metadata=footer, buffer_size=_BUFFER
        )

    def stamp(self, footer: pq.FileMetaData | None = None) -> Stamp:
        """The size, the time and the row groups of the file as they are now."""
        with name_unreadable(self.name, "parquet"):
            info = self.filesystem.get_file_info(self.path)
            footer = footer or self.open().metadata
        rows = tuple(footer.row_group(at).num_rows for at in range(footer.num_row_groups))
        return Stamp(info.size, info.mtime_ns, rows)


def is_address(source: object) -> bool:
    """True for s3://bucket/pool/*.parquet and the like."""
    return isinstance(source, str) and "://" in source


def find_remote(address: str) -> list[ParquetPlace]:
    """The Parquet files that an address stands for, sorted: a file, a folder or a pattern."""
    scheme, _, rest = address.partition("://")
    fixed = rest.split("*", 1)[0].split("?", 1)[0].split("[", 1)[0]
    base = rest if fixed == rest else fixed.rpartition("/")[0]
    with name_unreadable(address, "parquet"):
        filesystem, root = _filesystem(f"{scheme}://{base}")
        info = filesystem.get_file_info(root)
        if info.type == fs.FileType.File:
            return [ParquetPlace(address, root, filesystem)]
        inside = filesystem.get_file_info(
            fs.FileSelector(root, allow_not_found=True, recursive=True)
        )
    names = {one.path: one.path.removeprefix(root).lstrip("/") for one in inside if one.is_file}
    pattern = rest[len(base) :].lstrip("/") or "*"
    found = [path for path, name in names.items() if _matches(name, pattern, folder=base == rest)]
    if not found:
        raise PoolError(f"No Parquet file is found at {address!r}.")
    return [
        ParquetPlace(f"{scheme}://{base.rstrip('/')}/{names[path]}", path, filesystem)
        for path in sorted(found)
    ]


def _matches(name: str, pattern: str, *, folder: bool) -> bool:
    """A file in a folder, if it is no hidden one, or one that matches part by part."""
    parts, wanted = name.split("/"), pattern.split("/")
    if folder:
        ending = "." + parts[-1].rpartition(".")[2].lower()
        return ENDINGS.get(ending) == "parquet" and not any(p.startswith((".", "_")) for p in parts)
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


def _filesystem(address: str) -> tuple[fs.FileSystem, str]:
    """The file system of an address, and the path in it: pyarrow's own, else one of fsspec."""
    scheme = address.partition("://")[0]
    try:
        return fs.FileSystem.from_uri(address)
    except pa.ArrowInvalid:  # a scheme that pyarrow does not know
        fsspec = optional("fsspec", extra="remote")
        try:
            found, path = fsspec.core.url_to_fs(address)
        except ValueError as wrong:
            raise PoolError(f"{address!r} is no address of files: {wrong}.") from wrong
        except ImportError as missing:
            raise MissingExtraError(
                f"Files at {scheme}:// need a further package, which pip installs: {missing}."
            ) from missing
        return fs.PyFileSystem(fs.FSSpecHandler(found)), path
