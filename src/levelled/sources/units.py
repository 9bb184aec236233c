"""Files cut into units that can be read one by one, by several threads and in little memory.

A unit is a row group of a Parquet file, or a whole file of text. Units are numbered on from file
to file, in the order of the sorted paths.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from levelled._check import IntArray
from levelled.errors import PoolError
from levelled.labels import Id
from levelled.sources.columns import Roles, check_repeats, is_number
from levelled.sources.files import PathName, files_of, format_of
from levelled.sources.ids import batch_ids
from levelled.sources.origin import Files, name_unreadable
from levelled.sources.places import ParquetPlace, find_remote, is_address

_ROWS = 1 << 20
"""Rows of a row group that are read at once."""
_FOOTERS = 4
"""Files whose footers are kept while their row groups are read."""


class Units(Protocol):
    """Files to be read unit by unit."""

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns."""

    @property
    def n_units(self) -> int:
        """The number of units."""

    @property
    def n_rows(self) -> int | None:
        """The rows of all units; None where only reading the files tells."""

    def batches(self, unit: int, roles: Roles) -> Iterator[pa.RecordBatch]:
        """The columns of one unit that have a role, in batches of rows."""

    def length(self, unit: int) -> int:
        """The rows of one unit."""

    def file(self, unit: int) -> str:
        """The name of the file that one unit is in."""

    def start(self, unit: int) -> int:
        """The row of its file that one unit begins with."""

    def check_unchanged(self) -> None:
        """Refuse files that have changed since they were opened."""


def open_units(source: PathName | Sequence[PathName]) -> Units:
    """The files that a path, an address, a pattern, a folder or a list of paths stands for."""
    if isinstance(source, str) and is_address(source):
        return RowGroups(find_remote(source))
    paths = files_of(source)
    if format_of(paths[0]) != "parquet":
        return TextFiles(paths)
    local = fs.LocalFileSystem()
    return RowGroups([ParquetPlace(str(path), str(path), local) for path in paths])


def name_place(units: Units, unit: int, row: int) -> str:
    """One row of a unit in words that begin a sentence."""
    return f"Row {units.start(unit) + row} (counted from 0) of {units.file(unit)}"


def read_ids(units: Units, unit: int, rows: IntArray, column: str) -> list[Id]:
    """The ids of some rows of a unit, which increase; it is read up to the last of them."""
    found: list[Id] = []
    start = 0
    for batch in units.batches(unit, Roles(column)):
        inside = rows[(rows >= start) & (rows < start + len(batch))] - start
        drawn = batch.select([column]).take(pa.array(inside))
        for at, one in zip(inside.tolist(), drawn.column(0).to_pylist(), strict=True):
            if one is None or one == "":
                place = name_place(units, unit, start + at)
                raise PoolError(f"{place} was drawn and has no id in the column {column!r}.")
        found += batch_ids(drawn, column, start).to_pylist()
        start += len(batch)
        if start > rows[-1]:
            break
    return found


class RowGroups:
    """The row groups of Parquet files with the same columns."""

    def __init__(self, places: Sequence[ParquetPlace]) -> None:
        self._places, self._stamps = [*places], []
        for number, place in enumerate(self._places):
            with name_unreadable(place.name, "parquet"), place.open() as opened:
                footer, schema = opened.metadata, opened.schema_arrow
            check_repeats(schema.names, place.name)
            if not number:
                self.schema = schema
            _check_same(schema, place.name, self.schema, self._places[0].name)
            self._stamps.append(place.stamp(footer))
        self._units = [(f, g) for f, one in enumerate(self._stamps) for g in range(len(one.rows))]
        self.n_units = len(self._units)
        self.n_rows = sum(sum(one.rows) for one in self._stamps)
        self._kept: dict[int, pq.FileMetaData] = {}

    def batches(self, unit: int, roles: Roles) -> Iterator[pa.RecordBatch]:
        """The columns of one unit that have a role, in batches of rows."""
        columns = [name for name in roles.used if name]
        file, group = self._units[unit]
        with name_unreadable(self._places[file].name, "parquet"), self._open(file) as opened:
            yield from opened.iter_batches(
                _ROWS, row_groups=[group], columns=columns, use_threads=False
            )

    def length(self, unit: int) -> int:
        """The rows of one unit."""
        file, group = self._units[unit]
        return self._stamps[file].rows[group]

    def file(self, unit: int) -> str:
        """The name of the file that one unit is in."""
        return self._places[self._units[unit][0]].name

    def start(self, unit: int) -> int:
        """The row of its file that one unit begins with."""
        file, group = self._units[unit]
        return sum(self._stamps[file].rows[:group])

    def check_unchanged(self) -> None:
        """Refuse files that have changed since they were opened."""
        for place, before in zip(self._places, self._stamps, strict=True):
            try:
                now = place.stamp()
            except PoolError:
                _refuse_change(place.name)
            if now != before:
                _refuse_change(place.name)

    def _open(self, file: int) -> pq.ParquetFile:
        place = self._places[file]
        footer = self._kept.get(file)
        opened = place.open(footer)
        if footer is None:
            groups = range(opened.num_row_groups)
            rows = tuple(opened.metadata.row_group(at).num_rows for at in groups)
            if rows != self._stamps[file].rows:
                _refuse_change(place.name)
            self._kept[file] = opened.metadata
            for old in [one for one in [*self._kept] if one <= file - _FOOTERS]:
                self._kept.pop(old, None)
        return opened


class TextFiles:
    """Files of CSV or JSONL with the same columns, each of which is a unit."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.schema = Files(paths).schema
        self.n_rows = None
        self.n_units = len(paths)
        self._files = [Files([path]) for path in paths]
        self._stamps = [self._stamp(path) for path in paths]

    def batches(self, unit: int, roles: Roles) -> Iterator[pa.RecordBatch]:
        """The columns of one unit that have a role, in batches of rows."""
        yield from self._files[unit].batches(roles)

    def length(self, unit: int) -> int:
        """The rows of one unit, which is read for it."""
        first = Roles(self.schema.names[0])
        return sum(len(batch) for batch in self.batches(unit, first))

    def file(self, unit: int) -> str:
        """The name of the file that is the unit."""
        return str(self._files[unit].paths[0])

    def start(self, unit: int) -> int:
        """0, because a unit is a whole file."""
        return 0

    def check_unchanged(self) -> None:
        """Refuse files that have changed since they were opened."""
        for file, before in zip(self._files, self._stamps, strict=True):
            if self._stamp(file.paths[0]) != before:
                _refuse_change(str(file.paths[0]))

    def _stamp(self, path: Path) -> tuple[int, int] | None:
        try:
            now = path.stat()
        except OSError:
            return None
        return now.st_size, now.st_mtime_ns


def _check_same(schema: pa.Schema, name: str, first: pa.Schema, first_name: str) -> None:
    """Refuse a file that lacks a column, has another one, or holds no numbers where others do."""
    how = [f"it lacks {one!r}" for one in first.names if one not in schema.names]
    how += [f"it also has {one!r}" for one in schema.names if one not in first.names]
    if not how:
        pairs = [(one, schema.field(one).type, first.field(one).type) for one in first.names]
        how = [
            f"{one!r} is {here}, not {there}"
            for one, here, there in pairs
            if is_number(here) != is_number(there) and pa.null() not in (here, there)
        ]
    if how:
        raise PoolError(
            f"{name} has other columns than {first_name}: {how[0]}. All files need the same."
        )


def _refuse_change(name: str) -> NoReturn:
    raise PoolError(
        f"{name} changed while it was read, so the draws would be of no pool at all. Draw again "
        f"once nothing writes to it."
    )
