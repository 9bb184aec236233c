"""Parquet files: columns by name, rows by row group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from levelled._check import IntArray

__all__ = ["batches", "rows", "schema"]

_ROWS = 65_536


def schema(path: Path) -> pa.Schema:
    """The names and types of the columns."""
    with pq.ParquetFile(path) as file:
        return file.schema_arrow


def batches(path: Path, texts: Sequence[str], numbers: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """These columns of all rows, in order; text of few values comes dictionary-encoded."""
    columns = [*texts, *numbers]
    with pq.ParquetFile(path, read_dictionary=[*texts[1:]]) as file:  # ids are all different
        for batch in file.iter_batches(_ROWS, columns=columns):
            yield batch.select(columns)


def rows(path: Path, wanted: IntArray, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """These columns of some rows (increasing), from the row groups they are in."""
    with pq.ParquetFile(path) as file:
        start = 0
        for group in range(file.num_row_groups):
            end = start + file.metadata.row_group(group).num_rows
            inside = wanted[(wanted >= start) & (wanted < end)]
            if len(inside):
                yield from _of_group(file, group, inside - start, columns)
            start = end


def _of_group(
    file: pq.ParquetFile, group: int, wanted: IntArray, columns: Sequence[str]
) -> Iterator[dict[str, Any]]:
    start = 0
    for batch in file.iter_batches(_ROWS, row_groups=[group], columns=[*columns]):
        inside = wanted[(wanted >= start) & (wanted < start + len(batch))]
        yield from batch.select([*columns]).take(pa.array(inside - start)).to_pylist()
        start += len(batch)
        if start > np.max(wanted):
            return
