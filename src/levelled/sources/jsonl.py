"""The rows of a JSONL file: an object a line, all of them in batches, or some by their numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from levelled._check import IntArray
from levelled.errors import InputError, PoolError
from levelled.labels import class_text
from levelled.sources.files import json_lines, json_objects, parse_object

_LINES = 16_384


@dataclass(frozen=True, slots=True)
class JsonlRows:
    """A JSONL file."""

    path: Path

    def schema(self) -> pa.Schema:
        """The names and types of the columns, by the first lines."""
        with self.path.open("rb") as file:
            first = [*islice(json_objects(file, self.path.name), _LINES)]
        names = dict.fromkeys(name for row in first for name in row)
        return pa.schema([(name, _column(first, name).type) for name in names])

    def batches(
        self, ids: str, texts: Sequence[str], numbers: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """A name that is missing in a line is a gap."""
        with self.path.open("rb") as file:
            rest = json_objects(file, self.path.name)
            start = 0
            while some := [*islice(rest, _LINES)]:
                columns = {name: _column(some, name) for name in (ids, *texts) if name}
                for name in numbers:
                    columns[name] = self._numbers(some, name, start)
                yield pa.RecordBatch.from_pydict(columns)
                start += len(some)

    def rows(self, wanted: IntArray, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """The file is scanned up to the last of the rows."""
        which, last = {*wanted.tolist()}, int(wanted[-1])
        with self.path.open("rb") as file:
            for row, (number, line) in enumerate(json_lines(file, self.path.name)):
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
