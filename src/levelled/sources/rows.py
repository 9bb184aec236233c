"""The rows of a pool, in a frame in memory or in Parquet, CSV, JSONL and Excel files.

Files are cut into units that can be read one by one, by several threads and in little memory: a
unit is a row group of a Parquet file, or a whole file of text. Units are numbered on from file to
file, in the order of their sorted names.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import chain, groupby, islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow import csv

from levelled._check import IntArray
from levelled.errors import InputError, PoolError
from levelled.labels import class_text
from levelled.sources import files
from levelled.sources.columns import (
    Roles,
    check_columns,
    check_repeats,
    is_number,
    is_text,
)
from levelled.sources.files import PathName, Place, json_objects, name_unreadable
from levelled.sources.packed import open_text

BATCH = 65_536
"""Rows that are read at once in a pass over a pool; last bits of figures depend on it."""
_UNIT_BATCH = 1 << 20
"""Rows of a unit that are read at once, where units are read by several threads."""
_BUFFER = 1 << 22
"""Bytes read at once, so that a column of any length needs little memory."""
_FOOTERS = 4
"""Files whose footers are kept while their row groups are read, by threads that are in several."""
_DELIMITERS = ",;\t|"
_QUOTED = re.compile(rb'"[^"]*"?')
_CODED = 1 << 26
"""Bytes of a column chunk up to which its texts are held as codes while rows are looked up.

A text that is written once for many rows is then never written out for each of them.
"""
_LINES = 16_384
"""Lines of JSON that are read at once; the first of them give the names and types of columns."""


class _Stamped:
    """Files that must not change after they were opened."""

    def __init__(self, places: Sequence[Place]) -> None:
        self.places = tuple(places)
        self._stamps = {place: place.stamp() for place in self.places}

    def changed_file(self) -> str | None:
        """The name of a file that has changed since it was opened, or is gone."""
        for place, stamp in self._stamps.items():
            try:
                if place.stamp() != stamp:
                    return place.name
            except PoolError:
                return place.name
        return None

    def check(self, *places: Place) -> None:
        """Refuse a file that has changed: one of these, or of all if none is named."""
        for place in places or self.places:
            if place.stamp() != self._stamps[place]:
                raise _has_changed(place)


def _has_changed(place: Place) -> PoolError:
    return PoolError(
        f"{place.name} has changed since the pool was opened. Open the pool again once nobody "
        f"writes to its files."
    )


class Frame(_Stamped):
    """A table in memory, which may have been made of the content of files."""

    def __init__(self, table: pa.Table, places: Sequence[Place] = ()) -> None:
        super().__init__(places)
        self.table = table

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
        """The sha256 of the bytes of all files in order, else that of the columns."""
        self.check()
        return self._digest

    @cached_property
    def _digest(self) -> str:
        if self.places:
            return files.digest(self.places)
        sink = _Hash()
        kinds = []  # by which columns are compared, whatever their chunks and encodings
        for field in self.table.schema:
            kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
            kinds.append((field.name, pa.large_string() if is_text(kind) else kind))
        plain = pa.schema(kinds)
        with pa.ipc.new_stream(pa.PythonFile(sink, "w"), plain) as stream:
            for start in range(0, len(self.table), BATCH):
                part = self.table.slice(start, BATCH).cast(plain)
                stream.write_table(part.combine_chunks())
        return sink.total.hexdigest()


class Files(_Stamped):
    """Files of one format with the same columns, one after the other, and cut into units.

    `source` is a path, an address, a pattern, a folder or a list of these. With `alike`, a column
    of Parquet files that holds numbers must do so in all of them.
    """

    def __init__(self, source: PathName | Sequence[PathName], *, alike: bool = False) -> None:
        super().__init__(files.find_places(source))
        self.format = self.places[0].format
        self._csv: dict[Place, CsvFile] = {}
        self._units: list[tuple[int, int]] = []
        """The number of the file of each unit, and of its row group."""
        self._lengths: list[int | None] = []
        """The rows of each unit; those of text are known once it has been read."""
        self._kept: dict[tuple[int, tuple[str, ...]], list[ds.ParquetFileFragment]] = {}
        self._texts: dict[int, tuple[str, ...]] = {}  # of each file, those read as codes
        self._fingerprints: dict[bool, str] = {}  # of a sample, and of all bytes
        for number, place in enumerate(self.places):
            with name_unreadable(place.name, self.format):
                schema, lengths = self._open(place)
            check_columns(schema.names, place.name)
            check_repeats(schema.names, place.name)
            if not number:
                self.schema = schema
            _check_same(schema, place.name, self.schema, self.places[0].name, alike)
            self._units += [(number, group) for group in range(len(lengths))]
            self._lengths += lengths

    def _open(self, place: Place) -> tuple[pa.Schema, list[int | None]]:
        """The schema of a file, and the rows of each of its units."""
        if self.format == "csv":
            self._csv[place] = CsvFile(place.name, place.open)
            return self._csv[place].schema, [None]
        if self.format == "jsonl":
            with _lines(place) as (file, name):
                first = [*islice(json_objects(file, name), _LINES)]
            values: dict[str, list[Any]] = {}  # without gaps: each line may have other names
            for row in first:
                for name, value in row.items():
                    values.setdefault(name, []).append(value)
            check_columns(values, place.name)
            return pa.schema([(name, _as_array(one).type) for name, one in values.items()]), [None]
        fragment = _fragment(place)
        # Not count_rows() of a row group, which counts those of the whole file.
        return fragment.physical_schema, [one.num_rows for one in fragment.row_groups]

    @property
    def n_units(self) -> int:
        """The number of units."""
        return len(self._units)

    @property
    def n_rows(self) -> int | None:
        """The number of rows, where files say it without being read: in Parquet."""
        return sum(filter(None, self._lengths)) if self.format == "parquet" else None

    def n_bytes(self, roles: Roles) -> int:
        """The bytes of the columns that have a role, decompressed, as Parquet files say it."""
        used, total = {*roles.used}, 0
        for place in self.places:
            with name_unreadable(place.name, self.format):
                footer = _fragment(place).metadata
            paths = [footer.schema.column(at).path for at in range(footer.num_columns)]
            # The path of a list goes on after a dot, which may also be part of a name.
            inside = [at for at, path in enumerate(paths) if {path, path.split(".")[0]} & used]
            for group in range(footer.num_row_groups):
                chunks = footer.row_group(group)
                total += sum(chunks.column(at).total_uncompressed_size for at in inside)
        return total

    def batches(self, roles: Roles) -> Iterator[pa.RecordBatch]:
        """The columns that have a role, of all rows in order."""
        for _, units in groupby(range(self.n_units), lambda unit: self._units[unit][0]):
            several = [*units]
            with self._unchanged(several[0]):
                groups = (self._batches(unit, roles, BATCH, threads=True) for unit in several)
                yield from _in_steps(groups, BATCH) if self.format == "parquet" else chain(*groups)

    def unit_batches(self, unit: int, roles: Roles) -> Iterator[pa.RecordBatch]:
        """The columns of one unit that have a role, for a thread that reads it by itself."""
        with name_unreadable(self.file(unit), self.format):
            yield from self._batches(unit, roles, _UNIT_BATCH, threads=False)

    def take(self, wanted: IntArray, roles: Roles) -> Iterator[pa.RecordBatch]:
        """The columns that have a role, of some rows, which increase."""
        for unit, inside in self.parts(wanted):
            with self._unchanged(unit):
                yield from taken(self._batches(unit, roles, BATCH, threads=True), inside)

    def rows(self, wanted: IntArray, columns: Sequence[str]) -> list[dict[str, Any]]:
        """These columns of some rows, which increase; in CSV all of them are text."""
        rows: list[dict[str, Any]] = []
        for unit, inside in self.parts(wanted):
            with self._unchanged(unit):
                if self.format == "jsonl":
                    rows += _json_rows(self._place(unit), inside, columns)
                    continue
                if self.format == "csv":
                    texts = dict.fromkeys(columns, pa.string())
                    batches = self._csv[self._place(unit)].batches(texts, as_written=True)
                else:
                    coded = self._coded(unit, columns)
                    batches = self._read(unit, "", (), columns, BATCH, True, coded=coded)
                rows += [row for batch in taken(batches, inside) for row in batch.to_pylist()]
        return rows

    def read_through(self) -> None:
        """Read all columns of Parquet files as `rows` does, to see that they can be read."""
        for unit in range(self.n_units) if self.format == "parquet" else ():
            with self._unchanged(unit):
                texts = self._coded(unit, self.schema.names)
                for _ in self._read(unit, "", (), self.schema.names, BATCH, True, coded=texts):
                    pass

    def _coded(self, unit: int, columns: Sequence[str]) -> tuple[str, ...]:
        """The paths of texts, also inside lists, in these columns of a file that come as codes."""
        at = self._units[unit][0]
        if at not in self._texts:
            about = _fragment(self.places[at]).metadata
            groups = [about.row_group(one) for one in range(about.num_row_groups)]
            self._texts[at] = tuple(
                one.path_in_schema
                for number in range(about.num_columns)
                if (one := groups[0].column(number)).physical_type == "BYTE_ARRAY"
                and max(g.column(number).total_uncompressed_size for g in groups) <= _CODED
            )
        used = {*columns}  # the path of a list goes on after a dot, which a name may have too
        return tuple(one for one in self._texts[at] if {one, one.split(".")[0]} & used)

    def parts(self, wanted: IntArray) -> Iterator[tuple[int, IntArray]]:
        """The units that hold some rows, which increase, each with their numbers in it."""
        ends = np.cumsum([self.length(unit) for unit in range(self.n_units)])
        for unit in np.unique(np.searchsorted(ends, wanted, side="right")).tolist():
            start = ends[unit] - self.length(unit)
            yield unit, wanted[(wanted >= start) & (wanted < ends[unit])] - start

    def length(self, unit: int) -> int:
        """The rows of one unit; text is read for it."""
        if self._lengths[unit] is None:
            for _ in self.unit_batches(unit, Roles(self.schema.names[0])):
                pass
        return int(self._lengths[unit] or 0)

    def file(self, unit: int) -> str:
        """The name of the file that one unit is in."""
        return self._place(unit).name

    def start(self, unit: int) -> int:
        """The row of its file that one unit begins with."""
        first = unit - self._units[unit][1]
        return sum(self.length(one) for one in range(first, unit))

    def fingerprint(self, like: str | None = None) -> str:
        """The sha256 of the bytes of all files in order, or that of a sample if they are large.

        `like` is a fingerprint whose kind to take. Files are read once for each kind; one that has
        changed since is refused.
        """
        self.check()
        sampled = files.is_sampled(like) if like is not None else files.is_large(self.places)
        if sampled not in self._fingerprints:
            found = files.sample_digest(self.places) if sampled else files.digest(self.places)
            self.check()
            self._fingerprints[sampled] = found
        return self._fingerprints[sampled]

    def _place(self, unit: int) -> Place:
        return self.places[self._units[unit][0]]

    @contextmanager
    def _unchanged(self, unit: int) -> Iterator[None]:
        """Refuse the file of a unit that changes meanwhile, or has since it was opened."""
        place = self._place(unit)
        self.check(place)
        with name_unreadable(place.name, self.format):
            yield
        self.check(place)

    def _batches(
        self, unit: int, roles: Roles, size: int, *, threads: bool
    ) -> Iterator[pa.RecordBatch]:
        """The columns of one unit that have a role, whose rows are counted on the way."""
        texts = tuple(name for name in roles.texts if name != roles.id)
        others = {roles.id, *texts}
        numbers = [name for name in dict.fromkeys(roles.numbers) if name not in others]
        is_coded = self.format == "parquet" and roles.measured
        coded = self._coded(unit, roles.measured) if is_coded else ()
        length = 0
        for batch in self._read(unit, roles.id, texts, numbers, size, threads, coded=coded):
            length += len(batch)
            yield batch
        self._lengths[unit] = length

    def _read(
        self,
        unit: int,
        ids: str,
        texts: Sequence[str],
        numbers: Sequence[str],
        size: int,
        threads: bool,
        *,
        coded: Sequence[str] = (),
    ) -> Iterator[pa.RecordBatch]:
        """Some columns of one unit; texts of few values, and `coded` ones, are codes in Parquet."""
        if self.format == "jsonl":
            return _json_batches(self._place(unit), ids, texts, numbers)
        if self.format == "csv":
            kinds = {name: pa.string() for name in (ids, *texts) if name}
            file = self._csv[self._place(unit)]
            return file.batches(kinds | dict.fromkeys(numbers, pa.float64()))
        at, group = self._units[unit]
        fragment = self._row_groups(at, (*texts, *coded))[group]
        found: Iterator[pa.RecordBatch] = fragment.to_batches(
            columns=[*filter(None, (ids, *texts, *numbers))],
            batch_size=size,
            batch_readahead=1,
            use_threads=threads,
        )
        return found

    def _row_groups(self, file: int, texts: tuple[str, ...]) -> list[ds.ParquetFileFragment]:
        """The row groups of a file, whose footer is read anew if many others came between."""
        groups = self._kept.get((file, texts))
        if groups is None:
            groups = _fragment(self.places[file], texts).split_by_row_group()
            first, last = (bisect_left(self._units, (number, 0)) for number in (file, file + 1))
            if [one.row_groups[0].num_rows for one in groups] != self._lengths[first:last]:
                raise _has_changed(self.places[file])
            self._kept[file, texts] = groups
            for old in [*self._kept][:-_FOOTERS]:
                self._kept.pop(old, None)
        return groups


Origin = Frame | Files
"""A pool is read from a frame or from files; both have the same methods."""


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


def _in_steps(groups: Iterable[Iterable[pa.RecordBatch]], size: int) -> Iterator[pa.RecordBatch]:
    """The rows of row groups in batches that end at multiples of `size`.

    Codes of text end with their row group too, which has the texts that they stand for. The last
    bits of sums over runs of rows depend on where runs end, so these places must stay.
    """
    some: list[pa.RecordBatch] = []
    room = size
    for group in groups:
        for batch in group:
            while len(batch) >= room:
                yield _joined([*some, batch.slice(0, room)])
                some, batch, room = [], batch.slice(room), size
            if len(batch):
                some.append(batch)
                room -= len(batch)
        if some and any(pa.types.is_dictionary(one.type) for one in some[0].schema):
            yield _joined(some)
            some = []
    if some:
        yield _joined(some)


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


def _check_same(
    schema: pa.Schema, name: str, first: pa.Schema, first_name: str, alike: bool
) -> None:
    """Refuse a file that lacks a column, has another one, or holds no numbers where others do."""
    here, there = ({one.name: one.type for one in each} for each in (schema, first))
    how = [f"it lacks {one!r}" for one in there if one not in here]
    how += [f"it also has {one!r}" for one in here if one not in there]
    if not how and alike:
        how = [
            f"{one!r} is {kind}, not {there[one]}"
            for one, kind in here.items()
            if is_number(kind) != is_number(there[one]) and pa.null() not in (kind, there[one])
        ]
    if how:
        raise PoolError(
            f"{name} has other columns than {first_name}: {how[0]}. All files need the same."
        )


def _fragment(place: Place, texts: Sequence[str] = ()) -> ds.ParquetFileFragment:
    """A Parquet file, to be read in small steps; `texts` come as codes of their values."""
    kind = ds.ParquetFileFormat(
        ds.ParquetReadOptions(dictionary_columns=texts),
        ds.ParquetFragmentScanOptions(
            use_buffered_stream=True, buffer_size=_BUFFER, pre_buffer=False
        ),
    )
    return kind.make_fragment(place.path, place.filesystem)


class CsvFile:
    """A CSV file to read block by block, with the signs that it has between cells and in numbers.

    Cells are separated by the one of , ; tab and | that the first line has most of outside quotes,
    in a .tsv file by tabs. Where that is no comma, a column whose cells are numbers only if a comma
    stands for the decimal point has decimal commas.
    """

    def __init__(self, name: str, open_file: Callable[[], IO[bytes]]) -> None:
        self._name, self._open_file = name, open_file
        with open_text(open_file(), name) as file:
            start = file.read(1 << 16)
            start += b"" if b"\n" in start else file.read(files.LONGEST)
        first = _QUOTED.sub(b"", start).lstrip().partition(b"\n")[0]
        signs = "\t" if ".tsv" in name.lower()[-8:] else _DELIMITERS
        self.delimiter = max(signs, key=lambda one: first.count(one.encode()))
        # Counted before they are read: a column of pyarrow takes some kilobytes.
        check_columns(range(first.count(self.delimiter.encode()) + 1), name)
        with self._open(None) as reader:
            self.schema = reader.schema
        if broken := [one.name for one in self.schema if pa.types.is_binary(one.type)]:
            raise PoolError(
                f"The column {broken[0]!r} of {name} is not in UTF-8: save it as CSV UTF-8, or as "
                f".xlsx."
            )
        self._commas: set[str] = set()
        if self.delimiter != ",":
            with self._open(None, decimal_point=",") as reader:
                both = [*zip(self.schema, reader.schema, strict=True)]
            self._commas = {a.name for a, b in both if is_text(a.type) and is_number(b.type)}
            self.schema = pa.schema([b if a.name in self._commas else a for a, b in both])

    def batches(
        self, kinds: Mapping[str, pa.DataType], *, as_written: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """These columns with these types; decimal commas become points, unless `as_written`."""
        commas = {} if as_written else {name: kinds[name] for name in kinds if name in self._commas}
        with self._open({**kinds, **dict.fromkeys(commas, pa.string())}) as reader:
            for batch in reader:
                for name, kind in commas.items():
                    at = batch.schema.get_field_index(name)
                    points = pc.replace_substring(batch.column(at), ",", ".")
                    batch = batch.set_column(at, name, points.cast(kind))
                yield batch

    def read_all(self, kinds: Mapping[str, pa.DataType] | None = None) -> pa.Table:
        """These columns, or all with types as they look."""
        schema = self.schema if kinds is None else pa.schema([*kinds.items()])
        return pa.Table.from_batches(self.batches({one.name: one.type for one in schema}), schema)

    @contextmanager
    def _open(
        self, kinds: Mapping[str, pa.DataType] | None, **more: str
    ) -> Iterator[csv.CSVStreamingReader]:
        # An empty cell is a gap; NA, null and nan may be names, and are no numbers.
        convert = csv.ConvertOptions(
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
            include_columns=None if kinds is None else [*kinds],
            column_types=kinds,
            **more,
        )
        with (
            open_text(self._open_file(), self._name) as file,
            csv.open_csv(
                file,
                csv.ReadOptions(block_size=files.LONGEST),
                csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
                convert,
            ) as reader,
        ):
            yield reader


def _json_batches(
    place: Place, ids: str, texts: Sequence[str], numbers: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Some columns of a JSONL file; a name that is missing in a line is a gap."""
    with _lines(place) as (file, file_name):
        rest = json_objects(file, file_name)
        start = 0
        while some := [*islice(rest, _LINES)]:
            plain = [*filter(None, (ids, *texts))]
            columns = {name: _as_array([row.get(name) for row in some]) for name in plain}
            for name in numbers:
                columns[name] = _json_numbers(some, name, start, file_name)
            yield pa.RecordBatch.from_pydict(columns)
            start += len(some)


def _json_rows(place: Place, wanted: IntArray, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """These columns of some lines; the file is scanned up to the last of them."""
    which, last = {*wanted.tolist()}, int(wanted[-1])
    with _lines(place) as (file, name):
        for row, (number, line) in enumerate(files.json_lines(file, name)):
            if row in which:
                values = files.parse_object(line, number, name)
                yield {column: values.get(column) for column in columns}
            if row == last:
                return


@contextmanager
def _lines(place: Place) -> Iterator[tuple[io.BufferedReader, str]]:
    """The lines of a file, and its name without folders, for messages."""
    with place.open_text() as file, io.BufferedReader(file) as buffered:
        yield buffered, Path(place.name).name


def _json_numbers(some: Sequence[dict[str, Any]], name: str, start: int, file: str) -> pa.Array:
    values = [row.get(name) for row in some]
    lists = any(isinstance(value, list) for value in values)
    try:
        return pa.array(values, type=pa.list_(pa.float64()) if lists else pa.float64())
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as wrong:
        raise PoolError(
            f"The column {name!r} of {file} must hold numbers, and between rows {start} "
            f"and {start + len(some)} it does not: {str(wrong).partition(chr(10))[0]}."
        ) from wrong


def _as_array(values: Sequence[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):  # text and numbers mixed
        return pa.array([_as_text(value) for value in values], type=pa.string())


def _as_text(value: object) -> str | None:
    try:
        return None if value is None else class_text(value)
    except InputError:
        return json.dumps(value, default=str)


def as_table(frame: object) -> pa.Table:
    """A frame of any library as a table."""
    try:
        table = pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as wrong:
        raise PoolError(f"This frame cannot be read: {files.one_line(wrong)}") from wrong
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
