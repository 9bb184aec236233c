"""A race over units of files: they are read by several threads and merged as they come.

Rows are drawn by weights of a column, by predictions, or all the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from math import fsum
from typing import Protocol, TypeVar

import numpy as np
import pyarrow as pa

from levelled._check import FloatArray, whole
from levelled.errors import InputError, PoolError, ProposalError, WeightError
from levelled.labels import list_names
from levelled.predictions import PoolPredictions
from levelled.samplers.blocks import check_total, cut
from levelled.samplers.keyed import name_row, weights_of
from levelled.samplers.race import Parts, RacePart, merge, part, whole_blocks
from levelled.sources.columns import Roles, is_number, roles_of
from levelled.sources.pool import ColumnChoices, open_pool
from levelled.sources.units import Units, name_place

_ROWS = 1 << 20
"""Rows of equal weight that are made at once."""


class UnitWeights(Protocol):
    """Weights of the rows of files, unit by unit."""

    @property
    def units(self) -> Units:
        """The files."""

    @property
    def log(self) -> bool:
        """True for logarithms of weights."""

    def arrays(self, unit: int) -> Iterator[FloatArray]:
        """The weights of one unit, in pieces."""

    def name(self, wrong: WeightError, unit: int, row: int) -> WeightError:
        """An error about the weight of one row, in words of the user."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnWeights:
    """Weights as a column gives them, or their logarithms."""

    units: Units
    column: str
    log: bool = False

    def __post_init__(self) -> None:
        schema, column = self.units.schema, self.column
        if column not in schema.names:
            there = list_names(schema.names, 12)
            raise PoolError(f"The files have no column {column!r} of weights; they have {there}.")
        if not is_number(kind := schema.field(column).type):
            where = f" of {self.units.file(0)}" if self.units.n_units else ""
            raise PoolError(f"The column {column!r}{where} must hold numbers; it holds {kind}.")

    def arrays(self, unit: int) -> Iterator[FloatArray]:
        """The column in one unit, in pieces."""
        first_row = 0
        for batch in self.units.batches(unit, Roles("", score=self.column)):
            try:
                yield weights_of(batch.column(self.column), self.column, "The pool")
            except WeightError as wrong:
                raise self.name(wrong, unit, first_row + wrong.row) from None
            first_row += len(batch)

    def name(self, wrong: WeightError, unit: int, row: int) -> WeightError:
        """An error about the weight of one row, in words of the user."""
        return name_row(wrong, name_place(self.units, unit, row), self.column, log=self.log)


@dataclass(frozen=True, slots=True, eq=False)
class EqualWeights:
    """The same weight for all rows; Parquet files need not be read for it."""

    units: Units
    log: bool = False

    def arrays(self, unit: int) -> Iterator[FloatArray]:
        """As many ones as the unit has rows."""
        n = self.units.length(unit)
        return (np.ones(min(_ROWS, n - start)) for start in range(0, n, _ROWS))

    def name(self, wrong: WeightError, unit: int, row: int) -> WeightError:
        """The same error, which cannot be."""
        return wrong


class PredictionWeights:
    """The interest of each row by a score of its predictions, as a campaign computes it."""

    def __init__(
        self,
        units: Units,
        score: Callable[[PoolPredictions], FloatArray],
        name: str,
        *,
        classes: Sequence[str] | None,
        id_column: str,
    ) -> None:
        self.units, self.log, self._score, self._name = units, False, score, name
        choices = ColumnChoices(id_column)
        roles = roles_of(units.schema, classes=classes, slices=(), choices=choices)
        first = roles.models[:1]
        pred = {model: column for model, column in roles.pred.items() if model in first}
        proba = {model: columns for model, columns in roles.proba.items() if model in first}
        self._roles = replace(roles, id="", pred=pred, proba=proba)

    @property
    def origin(self) -> str:
        """The columns that the scores come from, in words."""
        roles = self._roles
        if roles.score is not None:
            return f"the column {roles.score!r}, not the predictions"
        losses = () if roles.loss_hat is None else (roles.loss_hat,)
        names = (*losses, *roles.surrogate, *(one for two in roles.proba.values() for one in two))
        if not names:
            return "all the same, because no column predicts the loss"
        return f"the expected loss, by the columns {list_names(names, 12)}"

    def arrays(self, unit: int) -> Iterator[FloatArray]:
        """The scores of one unit, in pieces."""
        first_row = 0
        for batch in self.units.batches(unit, self._roles):
            if len(batch):
                yield self._score_batch(batch, unit, first_row)
            first_row += len(batch)

    def name(self, wrong: WeightError, unit: int, row: int) -> WeightError:
        """An error about the score of one row, in words of the user."""
        return name_row(wrong, name_place(self.units, unit, row), self._name, log=False)

    def _score_batch(self, batch: pa.RecordBatch, unit: int, first_row: int) -> FloatArray:
        first = self.units.start(unit) + first_row
        columns = {name: batch.column(name) for name in self._roles.used if name}
        frame = pa.table({"id": np.arange(first, first + len(batch)), **columns})
        try:
            return self._score(open_pool(frame, classes=self._roles.classes).predictions())
        except InputError as wrong:
            file = self.units.file(unit)
            raise PoolError(f"In {file}, items being rows counted from 0: {wrong}") from wrong


@dataclass(frozen=True, slots=True, eq=False)
class MixedWeights:
    """A share of the probability is spread evenly, the rest goes by other weights.

    w = floor / N + (1 - floor) s / S,    S the total of the weights s
    """

    of: UnitWeights
    floor: float
    n_rows: int
    total: float
    """The total of the other weights in units of e^shift."""
    shift: float = 0.0
    log: bool = False

    @property
    def units(self) -> Units:
        """The files."""
        return self.of.units

    def arrays(self, unit: int) -> Iterator[FloatArray]:
        """The mixed weights of one unit, in pieces."""
        for weights in self.of.arrays(unit):
            share = np.exp(weights - self.shift) if self.of.log else weights
            yield self.floor / self.n_rows + (1 - self.floor) * (share / self.total)

    def name(self, wrong: WeightError, unit: int, row: int) -> WeightError:
        """An error about the weight of one row, in words of the user."""
        return self.of.name(wrong, unit, row)


Item = TypeVar("Item")
Result = TypeVar("Result")
Progress = Callable[[int], object]
"""It is called with the number of rows that have been read since it was called before."""


def race_units(
    weights: UnitWeights,
    k: int,
    *,
    seed: int,
    design: bool = False,
    allow_zero: bool = False,
    threads: int | None = None,
    progress: Progress = lambda rows: None,
) -> RacePart:
    """The race over all units as one part, the same for any number of threads."""
    parts = Parts()

    def race_unit(unit: int) -> RacePart:
        def race_piece(array: FloatArray, first_row: int) -> RacePart:
            return part(
                array,
                k,
                seed=seed,
                unit=unit,
                first_row=first_row,
                log=weights.log,
                design=design,
                allow_zero=allow_zero,
                log_until=parts.log_until,
            )

        return merge(_each_piece(race_piece, weights, unit))

    for one in in_threads(race_unit, _numbers(weights), threads):
        parts.add(one)
        progress(int(one.blocks["rows"].sum()))
    return parts.merged()


def mix_units(
    weights: UnitWeights,
    floor: float,
    *,
    threads: int | None = None,
    progress: Progress = lambda rows: None,
) -> MixedWeights:
    """Mix weights with uniform ones, after a pass that adds them up.

    The total is the exact sum of the sums of all blocks, rounded once, so that it does not depend
    on their order.
    """

    def add_up(unit: int) -> list[tuple[FloatArray, FloatArray, int]]:
        def add_piece(array: FloatArray, _: int) -> tuple[FloatArray, FloatArray, int]:
            pool = cut(array, log=weights.log, allow_zero=True)
            return pool.total, pool.shift, len(array)

        return [*_each_piece(add_piece, weights, unit)]

    totals, shifts, n_rows = [], [], 0
    for unit in in_threads(add_up, _numbers(weights), threads):
        for total, shift, rows in unit:
            totals.append(total[total > 0])
            shifts.append(shift[total > 0])
            n_rows += rows
            progress(rows)
    total, shift = np.concatenate(totals), np.concatenate(shifts)
    if not len(total):
        raise ProposalError(f"All {n_rows} weights are zero, so no item can be drawn by them.")
    top = float(shift.max())
    with np.errstate(over="ignore"):
        check_total(total.sum())
    whole_total = fsum(total * np.exp(shift - top))
    return MixedWeights(weights, floor, n_rows, whole_total, top)


def in_threads(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int | None = None
) -> Iterator[Result]:
    """The results in the order of the items, of which few are in work or waiting at a time."""
    n = pa.cpu_count() if threads is None else whole("threads", threads, least=1)
    rest = iter(items)
    with ThreadPoolExecutor(n) as pool:
        running = deque(pool.submit(function, item) for item in islice(rest, 2 * n))
        try:
            while running:
                yield running.popleft().result()
                running.extend(pool.submit(function, item) for item in islice(rest, 1))
        finally:
            for one in running:
                one.cancel()


def _numbers(weights: UnitWeights) -> range:
    if not weights.units.n_units:
        raise PoolError("The pool is empty: it has columns, but not a single row.")
    return range(weights.units.n_units)


def _each_piece(
    function: Callable[[FloatArray, int], Result], weights: UnitWeights, unit: int
) -> Iterator[Result]:
    """The results for pieces of whole blocks and their first rows; errors name rows of the unit."""
    first_row = 0
    for array in whole_blocks(weights.arrays(unit)):
        try:
            result = function(array, first_row)
        except WeightError as wrong:
            raise weights.name(wrong, unit, first_row + wrong.row) from None
        yield result
        first_row += len(array)
