"""Pools of Parquet files that need not fit in memory: columns are read anew in each pass."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from levelled._check import IntArray, whole
from levelled.errors import InputError, PoolError
from levelled.labels import Id, class_text
from levelled.predictions import Categorical, Numbers
from levelled.sources.columns import Roles
from levelled.sources.ids import IdKeys, batch_ids, rows_of
from levelled.sources.reading import PoolColumns, check_slices, read_columns
from levelled.sources.rows import Files, Origin

_STREAM_ABOVE = 1 << 26
"""Bytes up to which the columns of a pool are held in memory, unless the user says otherwise."""
_MOST_CLASSES = 10_000
"""Predicted classes up to which they are counted."""


def columns_of(
    origin: Origin, roles: Roles, *, untyped: bool, stream_above: int | None
) -> PoolColumns | StreamedColumns:
    """The columns of a pool: held in memory, or read in passes if they are many bytes in Parquet.

    `stream_above` is that number of bytes; None takes LEVELLED_STREAM_ABOVE, or 64 MB.
    """
    if isinstance(origin, Files) and origin.format == "parquet":
        if stream_above is None:
            text = os.environ.get("LEVELLED_STREAM_ABOVE") or str(_STREAM_ABOVE)
            if not text.isdecimal():
                raise InputError(f"LEVELLED_STREAM_ABOVE is a number of bytes; it is {text!r}.")
            stream_above = int(text)
        if origin.n_bytes(roles) > whole("stream_above", stream_above, least=0):
            return StreamedColumns(origin, roles)
    return read_columns(origin.batches(roles), roles, untyped=untyped)


class StreamedColumns:
    """The columns that have a role, read a run of rows at a time.

    Opening them makes one pass, which checks every row as `read_columns` does. Kept are only the
    slice of each item and what the passes have in common.
    """

    in_runs: ClassVar[bool] = True
    """True: a run is a batch of rows of a file."""

    def __init__(self, origin: Files, roles: Roles) -> None:
        self._origin = origin
        self._roles = replace(roles, id="", slices=())
        self._id = roles.id
        self._size = 0
        self._counts: dict[str, _ClassCounts] = {
            model: _ClassCounts(model, roles.classes) for model in roles.models or ("",)
        }
        n_rows = origin.n_rows or 0
        codes = {name: _SliceCodes(name, n_rows) for name in roles.slices}
        self._survey(roles, n_rows, codes)
        self._known = {model: one.classes for model, one in self._counts.items() if one.classes}
        self.slices: Mapping[str, Categorical] = {
            name: one.categorical() for name, one in codes.items()
        }

    def _survey(self, roles: Roles, n_rows: int, codes: Mapping[str, _SliceCodes]) -> None:
        keys, width = IdKeys(n_rows), None
        kind: pa.DataType | None = None
        for batch in self._origin.batches(roles):
            run = read_columns([batch], roles, distinct=False, first_row=self._size)
            kind = _same_kind(kind, run.ids.type, roles.id)
            width = _same_width(width, run, self._size)
            for chunk in run.ids.chunks:
                keys.add(chunk)
            for model, counts in self._counts.items():
                counts.add(run.predictions(model, roles.classes).pred)
            for name, one in codes.items():
                one.add(run.slices[name])
            self._size += len(run)
        keys.refuse_repeats(self._ids)

    def __len__(self) -> int:
        return self._size

    @cached_property
    def _everything(self) -> PoolColumns:
        roles = replace(self._roles, id=self._id)
        columns = read_columns(
            self._origin.batches(roles), roles, known=self._known, distinct=False
        )
        return replace(columns, slices=self.slices)

    def held(self) -> PoolColumns:
        """The columns of all rows in memory, for steps that need them at once."""
        return self._everything

    def ids_at(self, rows: IntArray) -> list[Id]:
        """The ids of some rows."""
        return self.at(rows).ids.to_pylist()

    def rows_of(self, ids: Sequence[Id], where: str) -> IntArray:
        """The rows of some ids, found in a pass over all ids; `where` names them in an error."""
        return rows_of(self._ids(), ids, where=where)

    def pred_counts(self, model: str, classes: tuple[str, ...] | None) -> dict[str, int]:
        """The number of predictions of each class; empty if there are none, or too many classes."""
        return self._counts[model].counts(classes)

    def runs(self) -> Iterator[PoolColumns]:
        """The columns of all rows in a new pass, without ids and slices."""
        for batch in self._origin.batches(self._roles):
            yield read_columns([batch], self._roles, known=self._known, distinct=False)

    def at(self, rows: IntArray) -> PoolColumns:
        """The columns of some rows, which are read from the files."""
        distinct, place = np.unique(rows, return_inverse=True)
        if not len(rows):
            return next(self.runs()).take(place)
        roles = replace(self._roles, id=self._id)
        batches = self._origin.take(distinct, roles)
        columns = read_columns(batches, roles, known=self._known, distinct=False).take(place)
        return replace(columns, slices={name: one.at(rows) for name, one in self.slices.items()})

    def _ids(self) -> Iterator[pa.Array]:
        start = 0
        for batch in self._origin.batches(Roles(self._id)):
            yield batch_ids(batch, self._id, start)
            start += len(batch)


def _same_kind(before: pa.DataType | None, kind: pa.DataType, name: str) -> pa.DataType:
    if before is not None and (before == pa.int64()) != (kind == pa.int64()):
        raise PoolError(
            f"The column {name!r} holds whole numbers in some places and text in others. Write "
            f"all ids as text."
        )
    return kind


def _same_width(before: int | None, run: PoolColumns, row: int) -> int | None:
    width = None if run.features is None else run.features.shape[1]
    if before not in (None, width):
        raise PoolError(
            f"The items have {before} features up to row {row} and {width} from there on: lists "
            f"of numbers must have the same length everywhere."
        )
    return width


class _ClassCounts:
    """How often each class is predicted, counted a run of rows at a time."""

    def __init__(self, model: str, classes: Sequence[str] | None) -> None:
        self._model, self._declared = model, classes
        self._n: dict[str, int] = {}
        self._is_number: bool | None = None
        self._too_many = False

    def add(self, pred: Categorical | Numbers | None) -> None:
        """Take in the predictions of the next rows."""
        if pred is None:
            return
        number = not isinstance(pred, Categorical)
        if self._is_number not in (None, number):
            raise PoolError(
                f"The predictions of {self._model or 'the model'} are numbers in some files and "
                f"text in others. Write them the same way in all files."
            )
        self._is_number = number
        if self._too_many:
            return
        for name, count in _count(pred).items():
            self._n[name] = self._n.get(name, 0) + count
        if len(self._n) > _MOST_CLASSES:
            self._too_many, self._n = True, {}

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes that are text and were not declared; empty if there are too many."""
        text = self._declared is None and self._is_number is False and not self._too_many
        return tuple(sorted(self._n)) if text else ()

    def counts(self, classes: Sequence[str] | None) -> dict[str, int]:
        """The number of predictions of each class, as `PoolPredictions.counts` gives it."""
        if self._too_many:
            return {}
        if self._is_number:
            return dict(sorted(self._n.items(), key=lambda one: float(one[0])))
        return {name: self._n[name] for name in classes or sorted(self._n)} if self._n else {}


def _count(pred: Categorical | Numbers) -> dict[str, int]:
    if isinstance(pred, Categorical):
        return pred.counts()
    values, counts = np.unique(pred, return_counts=True)
    return {class_text(v): n for v, n in zip(values.tolist(), counts.tolist(), strict=True)}


class _SliceCodes:
    """The slice of each item, two bytes each, whose names are found a run of rows at a time."""

    def __init__(self, name: str, n_rows: int) -> None:
        self._name = name
        self._codes: NDArray[np.int16] = np.empty(n_rows, dtype=np.int16)
        self._number: dict[str, int] = {}
        self._n = 0

    def add(self, run: Categorical) -> None:
        """Take in the slices of the next rows."""
        numbers = [self._number.setdefault(one, len(self._number)) for one in run.values]
        check_slices(self._name, len(self._number))
        self._codes[self._n : self._n + len(run)] = np.array(numbers, dtype=np.int16)[run.codes]
        self._n += len(run)

    def categorical(self) -> Categorical:
        """The slices, in order of their names."""
        values = sorted(self._number)
        place = {name: at for at, name in enumerate(values)}
        table = np.array([place[name] for name in self._number], dtype=np.int16)
        return Categorical(tuple(values), table[self._codes])
