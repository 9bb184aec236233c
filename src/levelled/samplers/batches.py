"""A race over Arrow batches of rows, which need not fit in memory together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from levelled._check import FloatArray
from levelled.draws import Draws
from levelled.errors import InputError, WeightError
from levelled.samplers import blocks
from levelled.samplers.columns import column_of, name_row, weights_of
from levelled.samplers.keyed import KeyedRace, race_by_key
from levelled.samplers.part_tables import as_table
from levelled.samplers.race import Part, finish, merge, part

if TYPE_CHECKING:
    import pyarrow as pa

_PIECE = 1 << 18
"""Rows at a time, at least, unless batches are fewer in all."""


class ArrowStream(Protocol):
    """A table or a reader with an Arrow interface: of pyarrow, polars, duckdb and others."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The columns as an Arrow stream."""


ArrowBatches = ArrowStream | Iterable["pa.RecordBatch"]


def race_batches(
    batches: ArrowBatches,
    k: int,
    *,
    seed: int,
    key: str | None = None,
    weight: str | None = "weight",
    log: bool = False,
    design: bool = False,
    allow_zero: bool = False,
) -> Draws:
    """Draw k rows from Arrow batches in proportion to the column `weight`, in one pass.

    The draws are those of `levelled.samplers.race` over the whole column, bit for bit, whatever
    the sizes of the batches; with `weight=None` all rows weigh the same. `batches` is an iterator
    of record batches, or a table or reader with an Arrow interface. Only one batch at a time is
    held in memory, and the weights of the rows that may be drawn. For `log`, `design` and
    `allow_zero` see `race`.

    With `key`, a column of ids, it is the race of `race_part`: slower, because each id is hashed,
    but the draws are the same in any order of the rows and on any engine, and they have ids.

    >>> import pyarrow as pa
    >>> batches = [pa.record_batch({"weight": [1.0, 2.0, 3.0]}), pa.record_batch({"weight": [4.0]})]
    >>> race_batches(batches, k=2, seed=7)
    Draws(2 of 4, probabilities 0.3 to 0.571)
    """
    if key is not None:
        if design:
            raise InputError("A race by key has no design columns: leave out design or key.")
        tables = map(as_table, _as_batches(batches))
        return race_by_key(tables, KeyedRace(k, seed, key, weight, log, allow_zero))
    parts, first_row = Parts(), 0
    for weights in whole_blocks(_weights(batches, weight, log=log)):
        try:
            one = part(
                weights,
                k,
                seed=seed,
                first_row=first_row,
                log=log,
                design=design,
                allow_zero=allow_zero,
                log_until=parts.log_until,
            )
        except WeightError as wrong:
            raise name_row(wrong, f"Row {first_row + wrong.row}", str(weight), log=log) from None
        parts.add(one)
        first_row += len(weights)
    return finish(parts.merged())


def whole_blocks(arrays: Iterable[FloatArray]) -> Iterator[FloatArray]:
    """The same numbers in pieces of whole blocks, at least one, of which the last may be shorter.

    >>> [len(piece) for piece in whole_blocks([np.ones(300_000), np.ones(1)])]
    [299008, 993]
    """
    some: list[FloatArray] = []
    n_pieces = 0
    for array in arrays:
        some.append(array)
        if (n := sum(map(len, some))) >= _PIECE:
            joined = some[0] if len(some) == 1 else np.concatenate(some)
            end = n - n % blocks.BLOCK
            yield joined[:end]
            some, n_pieces = [joined[end:]] if end < n else [], n_pieces + 1
    if some or not n_pieces:
        yield np.concatenate(some) if some else np.empty(0)


@dataclass(slots=True, eq=False)
class Parts:
    """Parts of one race, merged as they come, so that they take little memory."""

    log_until: float = np.inf
    """The logarithm of a time after which no row is drawn, to be given to further parts."""
    _some: list[Part] = field(default_factory=list)
    _times: FloatArray = field(default_factory=lambda: np.empty(0))

    def add(self, one: Part) -> None:
        """Take in a part."""
        self._some.append(one)
        times = np.append(self._times, one.leaders["log_time"])
        if len(times) > one.k > 0:
            times = np.partition(times, one.k - 1)[: one.k]
        self._times = times
        if len(times) == one.k > 0:
            self.log_until = float(times.max())
        if sum(len(each.leaders) for each in self._some) > 2 * one.k:
            self.merged()

    def merged(self) -> Part:
        """All parts as one."""
        self._some = [merge(self._some)]
        return self._some[0]


def _weights(batches: ArrowBatches, weight: str | None, *, log: bool) -> Iterator[FloatArray]:
    """The column of weights, or equal ones, batch by batch."""
    first_row = 0
    for number, batch in enumerate(_as_batches(batches)):
        if weight is None:
            yield np.full(len(batch), 0.0 if log else 1.0)
            continue
        try:
            place = f"Batch {number}"
            yield weights_of(column_of(batch, weight, place), weight, place)
        except WeightError as wrong:
            raise name_row(wrong, f"Row {first_row + wrong.row}", weight, log=False) from None
        first_row += len(batch)


def _as_batches(batches: ArrowBatches) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    if hasattr(batches, "__arrow_c_stream__"):
        yield from pa.RecordBatchReader.from_stream(batches)
        return
    for batch in [batches] if isinstance(batches, pa.RecordBatch) else batches:
        if not isinstance(batch, pa.RecordBatch | pa.Table):
            raise InputError(f"batches must be Arrow record batches; one is a {type(batch)}.")
        yield batch
