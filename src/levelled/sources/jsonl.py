"""JSONL files: one object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from levelled._check import IntArray
from levelled.errors import InputError, PoolError
from levelled.metrics.classes import class_text
from levelled.sources.lines import lines, object_of, objects

__all__ = ["batches", "rows", "schema"]

_ROWS = 16_384


def schema(path: Path) -> pa.Schema:
    """The names in the first lines, and types as their values suggest them."""
    with path.open("rb") as file:
        first = [*islice(objects(file, path.name), _ROWS)]
    names = dict.fromkeys(name for row in first for name in row)
    return pa.schema([(name, _column(first, name).type) for name in names])


def batches(path: Path, texts: Sequence[str], numbers: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """These columns of all rows, in order; what a line does not name is a gap."""
    with path.open("rb") as file:
        rest = objects(file, path.name)
        start = 0
        while some := [*islice(rest, _ROWS)]:
            columns = {name: _column(some, name) for name in texts}
            for name in numbers:
                columns[name] = _numbers(some, name, path, start)
            yield pa.RecordBatch.from_pydict(columns)
            start += len(some)


def rows(path: Path, wanted: IntArray, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """These columns of some rows (increasing), from a scan up to the last of them."""
    which, last = {*wanted.tolist()}, int(wanted[-1])
    with path.open("rb") as file:
        for row, (number, line) in enumerate(lines(file)):
            if row in which:
                found = object_of(line, number, path.name)
                yield {name: found.get(name) for name in columns}
            if row == last:
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


def _numbers(some: Sequence[dict[str, Any]], name: str, path: Path, start: int) -> pa.Array:
    values = [row.get(name) for row in some]
    lists = any(isinstance(value, list) for value in values)
    try:
        return pa.array(values, type=pa.list_(pa.float64()) if lists else pa.float64())
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as wrong:
        raise PoolError(
            f"The column {name!r} of {path.name} must hold numbers, and between rows {start} and "
            f"{start + len(some)} it does not: {str(wrong).partition(chr(10))[0]}."
        ) from wrong
