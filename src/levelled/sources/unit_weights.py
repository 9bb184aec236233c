"""The weights by which rows of files are drawn: of a column, by predictions, or all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from levelled._check import FloatArray
from levelled.errors import InputError, PoolError, WeightError
from levelled.labels import list_names
from levelled.predictions import PoolPredictions
from levelled.samplers.keyed import name_row, weights_of
from levelled.sources.choices import ColumnChoices
from levelled.sources.columns import Roles, is_number, roles_of
from levelled.sources.pool import open_pool
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
