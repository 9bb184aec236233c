"""CSV files (and TSV): a table of text with a header."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv

from levelled._check import IntArray

__all__ = ["batches", "opened", "rows", "schema"]

_BLOCK = 1 << 24
"""Bytes read at once; no row may be longer."""


def schema(path: Path) -> pa.Schema:
    """The names of the columns, and types as the beginning of the file suggests them."""
    with opened(path) as file:
        return file.schema


def batches(path: Path, texts: Sequence[str], numbers: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """These columns of all rows, in order."""
    kinds = {name: pa.string() for name in texts} | {name: pa.float64() for name in numbers}
    yield from _read(path, kinds)


def rows(path: Path, wanted: IntArray, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """These columns of some rows (increasing), as text, from a scan up to the last of them."""
    start = 0
    for batch in _read(path, {name: pa.string() for name in columns}):
        inside = wanted[(wanted >= start) & (wanted < start + len(batch))]
        yield from batch.take(pa.array(inside - start)).to_pylist()
        start += len(batch)
        if start > wanted[-1]:
            return


def opened(
    source: Path | pa.NativeFile, *, kinds: Mapping[str, pa.DataType] | None = None
) -> csv.CSVStreamingReader:
    """A file to read block by block: these columns, or all with types as they look."""
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


def _read(path: Path, kinds: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
    with opened(path, kinds=kinds) as file:
        yield from file
