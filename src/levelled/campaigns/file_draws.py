"""Draws from files of any size, without a campaign: a race over units of files.

Units are read by several threads and merged as they come. Rows are drawn by weights of a column, by
predictions, or all the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain, islice
from math import fsum
from typing import TypeVar

import numpy as np
import pyarrow as pa

from levelled._check import FloatArray, IntArray, between, whole
from levelled.draws import Draws
from levelled.errors import InputError, PoolError, ProposalError, WeightError
from levelled.labels import Id, list_names
from levelled.metrics.named import Metric, parse_metric
from levelled.samplers.blocks import check_total, cut
from levelled.samplers.keyed import name_row, weights_of
from levelled.samplers.race import Parts, RacePart, finish, merge, part, whole_blocks
from levelled.sources.choices import ColumnChoices
from levelled.sources.columns import Roles, batch_ids, check_column, is_number, roles_of
from levelled.sources.files import PathName
from levelled.sources.reading import read_columns
from levelled.sources.rows import Files, taken

_FLOOR = 0.5
"""The share of the probability that is spread evenly where a metric scores the rows.

It is the floor of a static campaign.
"""
_ROWS = 1 << 20
"""Rows of equal weight that are made at once."""


def draw_from_file(
    path: PathName | Sequence[PathName],
    k: int,
    *,
    seed: int,
    weight: str | None = None,
    log: bool = False,
    metric: str | None = None,
    classes: Sequence[str] | None = None,
    floor: float | None = None,
    design: bool = True,
    allow_zero: bool = False,
    id_column: str = "id",
    threads: int | None = None,
    progress: Callable[[int, int | None], object] = lambda done, total: None,
    note: Callable[[str], object] = lambda line: None,
) -> Draws:
    """Draws from the rows of files, with the ids of the drawn rows, without a campaign.

    Rows are drawn in proportion to a column, to the loss that predictions let expect of a metric,
    or uniformly without either. The columns of weights are read once, a row group of a Parquet file
    at a time; the ids of the drawn rows are read afterwards. Files are taken in the order of their
    sorted names, and rows are counted on from one to the next. The draws depend on the rows, on
    their division into row groups and files, and on the seed alone; those from a single row group
    are the draws of `levelled.samplers.race`.

    Parameters
    ----------
    path : A file, a folder, a pattern, an address such as s3://bucket/pool/*.parquet, or a list.
    k : The number of draws.
    seed : The seed of the race.
    weight : The column of weights.
    log : True if that column holds logarithms of weights.
    metric : The metric whose expected loss weighs the rows.
    classes : The classes, needed where no columns proba_<class> name them.
    floor : The share of the probability that is spread evenly over all rows, in a pass of its own:
        0 for a column and 0.5 for a metric unless it is given.
    design : Add the columns `max_weight` and `dispersion`, unless weights are so small that these
        do not fit a float.
    allow_zero : Leave out items of weight zero, which are refused otherwise; a floor gives them a
        chance.
    id_column : The column of ids.
    threads : The number of threads that read; one a core by default.
    progress : Called with the rows read so far and with all that will be, if that is known.
    note : Called with lines for the user: where the weights of a metric come from, and why there
        are no design columns.
    """
    units = Files(path, alike=True)
    check_column(id_column, units.schema.names, "for the ids", source=str(path))
    if units.n_rows and whole("k", k, least=0) > units.n_rows:
        raise InputError(f"{k} draws without replacement are wanted from {units.n_rows} rows.")
    share = (0.0 if metric is None else _FLOOR) if floor is None else floor
    mixed = between("floor", share, 0, 1) > 0 and (weight is not None or metric is not None)
    if mixed and allow_zero:
        raise InputError(
            f"A floor of {share:g} gives items of weight zero a chance, so they cannot be left out "
            f"as well: set the floor to 0 (floor=0, --floor 0), or do not allow weights of zero."
        )
    weights = _choose_weights(units, weight, log, metric, classes, id_column, note)
    done, n_rows = 0, units.n_rows

    def count(rows: int) -> None:
        nonlocal done
        done += rows
        progress(done, None if n_rows is None else (1 + mixed) * n_rows)

    try:
        if mixed:
            weights = mix_units(weights, share, threads=threads, progress=count)
        merged = race_units(
            weights,
            k,
            seed=seed,
            design=design,
            allow_zero=allow_zero,
            threads=threads,
            progress=count,
        )
        try:
            draws = finish(merged)
        except ProposalError as wrong:
            if not merged.design:
                raise
            draws = finish(replace(merged, design=False))
            note(f"no design columns: {wrong}")
        ids = _read_ids(units, draws.index, id_column, threads)
    except InputError:
        _refuse_change(units)  # the more likely cause, if there is one
        raise
    _refuse_change(units)
    return replace(draws, ids=ids)


def _choose_weights(
    units: Files,
    weight: str | None,
    log: bool,
    metric: str | None,
    classes: Sequence[str] | None,
    id_column: str,
    note: Callable[[str], object],
) -> UnitWeights:
    if weight is not None and metric is not None:
        raise InputError("Rows are drawn by a column of weights or by a metric: name one of them.")
    if log and weight is None:
        raise InputError("log says that a column holds logarithms of weights: name it as weight.")
    if weight is not None:
        return column_weights(units, weight, log=log)
    if metric is None:
        return equal_weights(units)
    parsed, choices = parse_metric(metric), ColumnChoices(id_column, roles={})
    roles = roles_of(units.schema, classes=classes, slices=(), choices=choices)
    first = roles.models[:1]
    pred = {model: column for model, column in roles.pred.items() if model in first}
    proba = {model: columns for model, columns in roles.proba.items() if model in first}
    roles = replace(roles, id="", pred=pred, proba=proba)
    note(f"weights: {_origin(roles)}")
    return prediction_weights(units, parsed, roles)


def _read_ids(units: Files, rows: IntArray, column: str, threads: int | None) -> list[Id]:
    """The ids of some rows, of which only the units that hold them are read."""

    def unit_ids(part: tuple[int, IntArray]) -> list[Id]:
        unit, inside = part
        found: list[Id] = []
        for batch in taken(units.unit_batches(unit, Roles(column)), inside):
            ids = batch.column(0).to_pylist()
            missing = [at for at, one in enumerate(ids) if one in (None, "")]
            if missing:
                place = name_place(units, unit, int(inside[len(found) + missing[0]]))
                raise PoolError(f"{place} was drawn and has no id in the column {column!r}.")
            found += batch_ids(batch, column, 0).to_pylist()
        return found

    order = np.sort(rows)
    found = in_threads(unit_ids, units.parts(order), threads)
    name = dict(zip(order.tolist(), chain.from_iterable(found), strict=True))
    row_of: dict[Id, int] = {}
    for row, one in name.items():
        if row_of.setdefault(one, row) != row:
            raise PoolError(
                f"The id {one!r} was drawn twice: rows {row_of[one]} and {row} (counted from 0) "
                f"have it. Every item needs one of its own: take out copies, or number the rows."
            )
    return [name[row] for row in rows.tolist()]


def _refuse_change(units: Files) -> None:
    if name := units.changed_file():
        raise PoolError(
            f"{name} changed while it was read, so the draws would be of no pool at all. Draw "
            f"again once nothing writes to it."
        )


@dataclass(frozen=True, slots=True, eq=False)
class UnitWeights:
    """Weights of the rows of files, unit by unit."""

    units: Files
    arrays: Callable[[int], Iterator[FloatArray]]
    """The weights of one unit, in pieces."""
    column: str = ""
    """The name by which errors call them."""
    log: bool = False
    """True if they are logarithms."""


def column_weights(units: Files, column: str, *, log: bool = False) -> UnitWeights:
    """Weights as a column gives them, or their logarithms."""
    schema = units.schema
    check_column(column, schema.names, "of weights")
    if not is_number(kind := schema.field(column).type):
        where = f" of {units.file(0)}" if units.n_units else ""
        raise PoolError(f"The column {column!r}{where} must hold numbers; it holds {kind}.")

    def arrays(unit: int) -> Iterator[FloatArray]:
        for batch in units.unit_batches(unit, Roles("", score=column)):
            yield weights_of(batch.column(column), column, "The pool")

    return UnitWeights(units, arrays, column, log)


def equal_weights(units: Files) -> UnitWeights:
    """The same weight for all rows; Parquet files need not be read for it."""

    def arrays(unit: int) -> Iterator[FloatArray]:
        n = units.length(unit)
        return (np.ones(min(_ROWS, n - start)) for start in range(0, n, _ROWS))

    return UnitWeights(units, arrays)


def prediction_weights(units: Files, metric: Metric, roles: Roles) -> UnitWeights:
    """The interest of each row by its predictions, as a campaign computes it.

    `roles` are the columns of the first model's predictions.
    """

    def arrays(unit: int) -> Iterator[FloatArray]:
        row, model = units.start(unit), (*roles.models, "")[0]
        for batch in units.unit_batches(unit, roles):
            try:
                if len(batch):
                    columns = read_columns([batch], roles, first_row=row)
                    predictions = columns.predictions(model)
                    metric.require(predictions)
                    yield metric.score(predictions)
            except InputError as wrong:
                file = units.file(unit)
                raise PoolError(f"In {file}, items being rows counted from 0: {wrong}") from wrong
            row += len(batch)

    return UnitWeights(units, arrays, metric.name)


def _origin(roles: Roles) -> str:
    """The columns that the weights of a metric come from, in words."""
    losses = () if roles.loss_hat is None else (roles.loss_hat,)
    names = (*losses, *roles.surrogate, *(one for two in roles.proba.values() for one in two))
    if not names:
        return "all the same, because no column predicts the loss"
    return f"the expected loss, by the columns {list_names(names, 12)}"


Item = TypeVar("Item")
Result = TypeVar("Result")
Progress = Callable[[int], object]
"""It is called with the number of rows that have been read since it was called before."""


def name_place(units: Files, unit: int, row: int) -> str:
    """One row of a unit in words that begin a sentence."""
    return f"Row {units.start(unit) + row} (counted from 0) of {units.file(unit)}"


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
) -> UnitWeights:
    """Mix weights with uniform ones, after a pass that adds them up.

        w = floor / N + (1 - floor) s / S,    S the total of the weights s

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

    def arrays(unit: int) -> Iterator[FloatArray]:
        for array in weights.arrays(unit):
            share = np.exp(array - top) if weights.log else array
            yield floor / n_rows + (1 - floor) * (share / whole_total)

    return replace(weights, arrays=arrays, log=False)


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
            place = name_place(weights.units, unit, first_row + wrong.row)
            raise name_row(wrong, place, weights.column, log=weights.log) from None
        yield result
        first_row += len(array)
