"""Parquet, CSV (or TSV) and JSONL files: schema, all rows in batches, and some rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from levelled._check import IntArray
from levelled.errors import InputError, PoolError
from levelled.labels import class_text
from levelled.sources.files import format_of, json_lines, json_objects, parse_object

__all__ = ["TableFile", "open_csv", "open_table"]

_BATCH = 65_536
_LINES = 16_384
_BLOCK = 1 << 24
"""Bytes of CSV read at once; no row may be longer."""


class TableFile(Protocol):
    """A file with rows and columns."""

    def schema(self) -> pa.Schema:
        """The names and types of the columns, as far as the beginning of the file tells them."""

    def batches(self, texts: Sequence[str], numbers: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """These columns of all rows, in order."""

    def rows(self, wanted: IntArray, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """These columns of some rows, whose numbers increase."""


def open_table(path: Path) -> TableFile:
    """The file, to be read as its ending says."""
    makers: dict[str, Callable[[Path], TableFile]] = {
        "parquet": _Parquet,
        "csv": _Csv,
        "jsonl": _Jsonl,
    }
    return makers[format_of(path)](path)


def open_csv(
    source: Path | pa.NativeFile, *, kinds: Mapping[str, pa.DataType] | None = None
) -> csv.CSVStreamingReader:
    """A CSV file to read block by block: these columns, or all with types as they look."""
    tabs = isinstance(source, Path) and source.suffix.lower() == ".tsv"
    return csv.open_csv(
        source,
        csv.ReadOptions(block_size=_BLOCK),
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
class _Parquet:
    path: Path

    def schema(self) -> pa.Schema:
        with pq.ParquetFile(self.path) as file:
            return file.schema_arrow

    def batches(self, texts: Sequence[str], numbers: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Text of few values comes dictionary-encoded."""
        columns = [*texts, *numbers]
        # The first column of text are the ids, which are all different.
        with pq.ParquetFile(self.path, read_dictionary=[*texts[1:]]) as file:
            for batch in file.iter_batches(_BATCH, columns=columns):
                yield batch.select(columns)

    def rows(self, wanted: IntArray, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Only the row groups that hold these rows are read."""
        with pq.ParquetFile(self.path) as file:
            start = 0
            for group in range(file.num_row_groups):
                end = start + file.metadata.row_group(group).num_rows
                inside = wanted[(wanted >= start) & (wanted < end)]
                if len(inside):
                    groups = file.iter_batches(_BATCH, row_groups=[group], columns=[*columns])
                    yield from _take((part.select([*columns]) for part in groups), inside - start)
                start = end


@dataclass(frozen=True, slots=True)
class _Csv:
    path: Path

    def schema(self) -> pa.Schema:
        with open_csv(self.path) as file:
            return file.schema

    def batches(self, texts: Sequence[str], numbers: Sequence[str]) -> Iterator[pa.RecordBatch]:
        kinds = {name: pa.string() for name in texts} | {name: pa.float64() for name in numbers}
        with open_csv(self.path, kinds=kinds) as file:
            yield from file

    def rows(self, wanted: IntArray, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """All columns come as text, from a scan up to the last of the rows."""
        yield from _take(self.batches(columns, ()), wanted)


@dataclass(frozen=True, slots=True)
class _Jsonl:
    path: Path

    def schema(self) -> pa.Schema:
        with self.path.open("rb") as file:
            first = [*islice(json_objects(file, self.path.name), _LINES)]
        names = dict.fromkeys(name for row in first for name in row)
        return pa.schema([(name, _column(first, name).type) for name in names])

    def batches(self, texts: Sequence[str], numbers: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """A name that is missing in a line is a gap."""
        with self.path.open("rb") as file:
            rest = json_objects(file, self.path.name)
            start = 0
            while some := [*islice(rest, _LINES)]:
                columns = {name: _column(some, name) for name in texts}
                for name in numbers:
                    columns[name] = self._numbers(some, name, start)
                yield pa.RecordBatch.from_pydict(columns)
                start += len(some)

    def rows(self, wanted: IntArray, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """The file is scanned up to the last of the rows."""
        which, last = {*wanted.tolist()}, int(wanted[-1])
        with self.path.open("rb") as file:
            for row, (number, line) in enumerate(json_lines(file)):
                if row in which:
                    values = parse_object(line, number, self.path.name)
                    yield {name: values.get(name) for name in columns}
                if row == last:
                    return

    def _numbers(self, some: Sequence[dict[str, Any]], name: str, start: int) -> pa.Array:
        values = [row.get(name) for row in some]
        lists = any(isinstance(value, list) for value in values)
        try:
            return pa.array(values, type=pa.list_(pa.float64()) if lists else pa.float64())
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as wrong:
            raise PoolError(
                f"The column {name!r} of {self.path.name} must hold numbers, and between rows "
                f"{start} and {start + len(some)} it does not: "
                f"{str(wrong).partition(chr(10))[0]}."
            ) from wrong


def _take(batches: Iterator[pa.RecordBatch], wanted: IntArray) -> Iterator[dict[str, Any]]:
    """Some rows, whose numbers increase, from batches that are read up to the last of them."""
    start = 0
    for batch in batches:
        inside = wanted[(wanted >= start) & (wanted < start + len(batch))]
        yield from batch.take(pa.array(inside - start)).to_pylist()
        start += len(batch)
        if start > wanted[-1]:
            return


def _column(some: Sequence[dict[str, Any]], name: str) -> pa.Array:
    values = [row.get(name) for row in some]
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):  # text and numbers mixed
        return pa.array([_as_text(value) for value in values], type=pa.string())


def _as_text(value: object) -> str | None:
    try:
        return None if value is None else class_text(value)
    except InputError:
        return json.dumps(value, default=str)
