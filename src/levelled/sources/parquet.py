"""The rows of a Parquet file: all of them in batches, or some of them by their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from levelled._check import IntArray

BATCH = 65_536
"""Rows that are read at once."""


@dataclass(frozen=True, slots=True)
class ParquetRows:
    """A Parquet file."""

    path: Path

    def schema(self) -> pa.Schema:
        """The names and types of the columns."""
        with pq.ParquetFile(self.path) as file:
            return file.schema_arrow

    def n_rows(self) -> int:
        """The number of rows, as the file says it."""
        return int(pq.read_metadata(self.path).num_rows)

    def batches(
        self, ids: str, texts: Sequence[str], numbers: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """Some columns of all rows; text of few values comes dictionary-encoded."""
        columns = [*filter(None, (ids, *texts, *numbers))]
        with pq.ParquetFile(self.path, read_dictionary=[*texts]) as file:
            for batch in file.iter_batches(BATCH, columns=columns):
                yield batch.select(columns)

    def take(
        self, wanted: IntArray, ids: str, texts: Sequence[str], numbers: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """The same of some rows, which increase; only the row groups that hold them are read."""
        columns = [*filter(None, (ids, *texts, *numbers))]
        with pq.ParquetFile(self.path, read_dictionary=[*texts]) as file:
            start = 0
            for group in range(file.num_row_groups):
                end = start + file.metadata.row_group(group).num_rows
                inside = wanted[(wanted >= start) & (wanted < end)]
                if len(inside):
                    parts = file.iter_batches(BATCH, row_groups=[group], columns=columns)
                    yield from taken((part.select(columns) for part in parts), inside - start)
                start = end

    def rows(self, wanted: IntArray, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """These columns of some rows, which increase."""
        for batch in self.take(wanted, "", (), columns):
            yield from batch.to_pylist()


def taken(batches: Iterable[pa.RecordBatch], wanted: IntArray) -> Iterator[pa.RecordBatch]:
    """Some rows, whose numbers increase, from batches that are read up to the last of them."""
    start = 0
    for batch in batches:
        inside = wanted[(wanted >= start) & (wanted < start + len(batch))]
        if len(inside):
            yield batch.take(pa.array(inside - start))
        start += len(batch)
        if start > wanted[-1]:
            return
