"""The rows of a pool, in a frame in memory or in Parquet, CSV (or TSV) and JSONL files."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv

from levelled._check import IntArray
from levelled.errors import PoolError
from levelled.sources.columns import Roles, is_text
from levelled.sources.files import (
    LONGEST,
    Stamps,
    digest,
    format_of,
    is_large,
    is_sampled,
    sample_digest,
)
from levelled.sources.jsonl import JsonlRows
from levelled.sources.parquet import BATCH, ParquetRows, taken


@dataclass(frozen=True, eq=False)
class Frame:
    """A table in memory."""

    table: pa.Table

    @property
    def changed(self) -> bool:
        """False: a table stays as it is."""
        return False

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns."""
        return self.table.schema

    def batches(self, roles: Roles) -> Iterator[pa.RecordBatch]:
        """The columns that have a role, of all rows in order."""
        yield from self.table.select([*roles.used]).to_batches(BATCH)

    def rows(self, wanted: IntArray, columns: Sequence[str]) -> list[dict[str, Any]]:
        """These columns of some rows."""
        rows: list[dict[str, Any]] = self.table.select([*columns]).take(wanted).to_pylist()
        return rows

    def fingerprint(self, like: str | None = None) -> str:
        """The sha256 of the columns as an Arrow stream, whatever their chunks and encodings."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        sink = _Hash()
        plain = pa.schema([(field.name, _plain(field.type)) for field in self.table.schema])
        with pa.ipc.new_stream(pa.PythonFile(sink, "w"), plain) as stream:
            for start in range(0, len(self.table), BATCH):
                part = self.table.slice(start, BATCH).cast(plain)
                stream.write_table(part.combine_chunks())
        return sink.total.hexdigest()


@dataclass(frozen=True, eq=False)
class FilesInMemory(Frame):
    """A table that was made of the content of files."""

    paths: tuple[Path, ...]
    stamps: Stamps

    @property
    def changed(self) -> bool:
        """True if a file has changed since it was read, or is gone."""
        return self.stamps.changed

    def fingerprint(self, like: str | None = None) -> str:
        """The sha256 of the bytes of all files in order, which are read once."""
        self.stamps.check()
        return self._digest

    @cached_property
    def _digest(self) -> str:
        return digest(self.paths)


class Files:
    """Files of one format with the same columns, one after the other."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = tuple(paths)
        self._lengths: dict[Path, int] = {}  # known once they have been read
        self._stamps = Stamps(self.paths)
        self._fingerprints: dict[bool, str] = {}  # of a sample, and of all bytes
        schemas: list[pa.Schema] = []
        for path in self.paths:
            with _reading(path) as file:
                schemas.append(file.schema())
            missing = [name for name in schemas[0].names if name not in schemas[-1].names]
            extra = [name for name in schemas[-1].names if name not in schemas[0].names]
            if missing or extra:
                how = f"it lacks {missing[0]!r}" if missing else f"it also has {extra[0]!r}"
                raise PoolError(
                    f"{path} has other columns than {self.paths[0]}: {how}. All files need the "
                    f"same."
                )
        self.schema = schemas[0]

    @property
    def changed(self) -> bool:
        """True if a file has changed since it was opened, or is gone."""
        return self._stamps.changed

    @property
    def n_rows(self) -> int | None:
        """The number of rows, where files say it without being read: in Parquet."""
        if format_of(self.paths[0]) != "parquet":
            return None
        if not self._lengths:
            for path in self.paths:
                with name_unreadable(path, "parquet"):
                    self._lengths[path] = ParquetRows(path).n_rows()
        return sum(self._lengths.values())

    def batches(self, roles: Roles) -> Iterator[pa.RecordBatch]:
        """The columns that have a role, of all rows in order."""
        texts, numbers = _columns_of(roles)
        for path in self.paths:
            length = 0
            with self._unchanged(path) as file:
                for batch in file.batches(roles.id, texts, numbers):
                    length += len(batch)
                    yield batch
            self._lengths[path] = length

    def take(self, wanted: IntArray, roles: Roles) -> Iterator[pa.RecordBatch]:
        """The columns that have a role, of some rows of Parquet files, which increase."""
        texts, numbers = _columns_of(roles)
        for path, inside in self._parts(wanted):
            with self._unchanged(path):
                yield from ParquetRows(path).take(inside, roles.id, texts, numbers)

    def rows(self, wanted: IntArray, columns: Sequence[str]) -> list[dict[str, Any]]:
        """These columns of some rows, which increase, from the files they are in."""
        rows: list[dict[str, Any]] = []
        for path, inside in self._parts(wanted):
            with self._unchanged(path) as file:
                rows += file.rows(inside, columns)
        return rows

    def fingerprint(self, like: str | None = None) -> str:
        """The sha256 of the bytes of all files in order, or that of a sample if they are large.

        `like` is a fingerprint whose kind to take. Files are read once for each kind; one that has
        changed since is refused.
        """
        self._stamps.check()
        sampled = is_sampled(like) if like is not None else is_large(self.paths)
        if sampled not in self._fingerprints:
            found = sample_digest(self.paths) if sampled else digest(self.paths)
            self._stamps.check()
            self._fingerprints[sampled] = found
        return self._fingerprints[sampled]

    def _parts(self, wanted: IntArray) -> Iterator[tuple[Path, IntArray]]:
        """The files that hold some rows, each with their numbers in it."""
        start = 0
        for path in self.paths:
            end = start + self._lengths[path]
            inside = wanted[(wanted >= start) & (wanted < end)]
            if len(inside):
                yield path, inside - start
            start = end

    @contextmanager
    def _unchanged(self, path: Path) -> Iterator[ParquetRows | _Csv | JsonlRows]:
        """The file to read; one that changes meanwhile, or has since it was opened, is refused."""
        self._stamps.check(path)
        with _reading(path) as file:
            yield file
        self._stamps.check(path)


Origin = Frame | Files
"""A pool is read from a frame or from files; both have the same methods."""


def _columns_of(roles: Roles) -> tuple[list[str], list[str]]:
    """The columns of text and of numbers that have a role, without that of the ids."""
    texts = [name for name in roles.texts if name != roles.id]
    return texts, [name for name in dict.fromkeys(roles.numbers) if name not in (roles.id, *texts)]


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


class _Hash(io.RawIOBase):
    """A file that keeps only the hash of what is written to it."""

    def __init__(self) -> None:
        self.total = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:  # noqa: ANN401
        self.total.update(data)
        return len(data)


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type by which a column is compared, however it is encoded."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.large_string() if is_text(kind) else kind


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


@contextmanager
def _reading(path: Path) -> Iterator[ParquetRows | _Csv | JsonlRows]:
    """The file as its ending says: its schema, all rows in batches, and some rows by number."""
    kind = format_of(path)
    with name_unreadable(path, kind):
        if kind == "csv":
            yield _Csv(path)
        else:
            yield JsonlRows(path) if kind == "jsonl" else ParquetRows(path)


def open_csv(
    source: Path | pa.NativeFile, *, kinds: Mapping[str, pa.DataType] | None = None
) -> csv.CSVStreamingReader:
    """A CSV file to read block by block: these columns, or all with types as they look."""
    tabs = isinstance(source, Path) and source.suffix.lower() == ".tsv"
    return csv.open_csv(
        source,
        csv.ReadOptions(block_size=LONGEST),
        csv.ParseOptions(delimiter="\t" if tabs else ",", newlines_in_values=True),
        # An empty cell is a gap; NA, null and nan may be names, and are no numbers.
        csv.ConvertOptions(
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
            include_columns=None if kinds is None else [*kinds],
            column_types=kinds,
        ),
    )


@dataclass(frozen=True, slots=True)
class _Csv:
    path: Path

    def schema(self) -> pa.Schema:
        with open_csv(self.path) as file:
            return file.schema

    def batches(
        self, ids: str, texts: Sequence[str], numbers: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        kinds = {name: pa.string() for name in (ids, *texts) if name} | {
            name: pa.float64() for name in numbers
        }
        with open_csv(self.path, kinds=kinds) as file:
            yield from file

    def rows(self, wanted: IntArray, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """All columns come as text, from a scan up to the last of the rows."""
        for batch in taken(self.batches("", columns, ()), wanted):
            yield from batch.to_pylist()
