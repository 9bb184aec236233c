"""A race over units of files: they are read by several threads and merged as they come."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from math import fsum
from typing import TypeVar

import numpy as np
import pyarrow as pa

from levelled._check import FloatArray, whole
from levelled.errors import PoolError, ProposalError, WeightError
from levelled.samplers.blocks import check_total, cut
from levelled.samplers.race import Part, Parts, merge, part, whole_blocks
from levelled.sources.unit_weights import MixedWeights, UnitWeights

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
) -> Part:
    """The race over all units as one part, the same for any number of threads."""
    parts = Parts()

    def race_unit(unit: int) -> Part:
        def race_piece(array: FloatArray, first_row: int) -> Part:
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
