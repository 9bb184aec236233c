"""The rows of a pool, in a frame in memory or in files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from levelled._check import IntArray
from levelled.errors import PoolError
from levelled.sources.columns import Roles, is_text
from levelled.sources.files import digest, format_of
from levelled.sources.formats import open_table

__all__ = ["Files", "Frame", "Origin", "as_table", "name_unreadable"]

_ROWS = 65_536


class Origin(Protocol):
    """A frame or files from which a pool is read."""

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns."""

    def batches(self, roles: Roles) -> Iterator[pa.RecordBatch]:
        """The columns that have a role, of all rows in order."""

    def rows(self, wanted: IntArray, columns: Sequence[str]) -> list[dict[str, Any]]:
        """These columns of some rows, which increase."""

    def fingerprint(self) -> str:
        """The sha256 of the content."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A table in memory."""

    table: pa.Table

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns."""
        return self.table.schema

    def batches(self, roles: Roles) -> Iterator[pa.RecordBatch]:
        """The columns that have a role, of all rows in order."""
        yield from self.table.select([*roles.used]).to_batches(_ROWS)

    def rows(self, wanted: IntArray, columns: Sequence[str]) -> list[dict[str, Any]]:
        """These columns of some rows."""
        rows: list[dict[str, Any]] = self.table.select([*columns]).take(wanted).to_pylist()
        return rows

    def fingerprint(self) -> str:
        """The sha256 of the columns as an Arrow stream, whatever their chunks and encodings."""
        sink = _Hash()
        plain = pa.schema([(field.name, _plain(field.type)) for field in self.table.schema])
        with pa.ipc.new_stream(pa.PythonFile(sink, "w"), plain) as stream:
            for start in range(0, len(self.table), _ROWS):
                part = self.table.slice(start, _ROWS).cast(plain)
                stream.write_table(part.combine_chunks())
        return sink.total.hexdigest()


class Files:
    """Files of one format with the same columns, one after the other."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = tuple(paths)
        self._lengths: dict[Path, int] = {}  # known once they have been read
        schemas = [self._schema(path) for path in self.paths]
        for path, other in zip(self.paths, schemas, strict=True):
            _check_same_columns(self.paths[0], schemas[0], path, other)
        self.schema: pa.Schema = schemas[0]

    def batches(self, roles: Roles) -> Iterator[pa.RecordBatch]:
        """The columns that have a role, of all rows in order."""
        for path in self.paths:
            length = 0
            with name_unreadable(path, format_of(path)):
                texts = [name for name in dict.fromkeys([roles.id, *roles.texts]) if name]
                numbers = [name for name in roles.numbers if name not in texts]
                for batch in open_table(path).batches(texts, numbers):
                    length += len(batch)
                    yield batch
            self._lengths[path] = length

    def rows(self, wanted: IntArray, columns: Sequence[str]) -> list[dict[str, Any]]:
        """These columns of some rows, which increase, from the files they are in."""
        rows: list[dict[str, Any]] = []
        start = 0
        for path in self.paths:
            end = start + self._lengths[path]
            inside = wanted[(wanted >= start) & (wanted < end)]
            if len(inside):
                with name_unreadable(path, format_of(path)):
                    rows += open_table(path).rows(inside - start, columns)
            start = end
        if len(rows) != len(wanted):
            raise PoolError("The files have become shorter since the pool was opened.")
        return rows

    def fingerprint(self) -> str:
        """The sha256 of the bytes of all files in order."""
        return digest(self.paths)

    def _schema(self, path: Path) -> pa.Schema:
        with name_unreadable(path, format_of(path)):
            return open_table(path).schema()


def as_table(frame: object) -> pa.Table:
    """A frame of any library as a table."""
    try:
        table = pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as wrong:
        raise PoolError(f"This frame cannot be read: {_one_line(wrong)}") from wrong
    views = [field for field in table.schema if str(field.type) == "string_view"]
    for field in views:
        at = table.schema.get_field_index(field.name)
        table = table.set_column(at, field.name, table.column(at).cast(pa.large_string()))
    return table


class _Hash:
    """A file that keeps only the hash of what is written to it."""

    closed = False

    def __init__(self) -> None:
        self.total = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.total.update(data)
        return len(data)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type by which a column is compared, however it is encoded."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.large_string() if is_text(kind) else kind


def _check_same_columns(first: Path, schema: pa.Schema, path: Path, other: pa.Schema) -> None:
    missing = [name for name in schema.names if name not in other.names]
    extra = [name for name in other.names if name not in schema.names]
    if missing or extra:
        how = f"it lacks {missing[0]!r}" if missing else f"it also has {extra[0]!r}"
        raise PoolError(f"{path} has other columns than {first}: {how}. All files need the same.")


@contextmanager
def name_unreadable(name: object, kind: str) -> Iterator[None]:
    """Turn an error of reading into one line that names the file."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeError) as wrong:
        raise PoolError(f"{name} cannot be read as {kind}: {_one_line(wrong)}") from wrong


def _one_line(wrong: Exception) -> str:
    """The beginning of a message, without what a terminal might act upon."""
    line = (str(wrong) or type(wrong).__name__).partition("\n")[0][:200].rstrip(".")
    return "".join(sign if sign.isprintable() else "?" for sign in line) + "."
