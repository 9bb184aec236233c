"""Draws from files of any size, without a campaign."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from levelled._check import FloatArray, IntArray, between, whole
from levelled.draws import Draws
from levelled.errors import InputError, PoolError, ProposalError
from levelled.labels import Id, list_names
from levelled.metrics.named import parse_metric
from levelled.predictions import PoolPredictions
from levelled.samplers import Part, finish
from levelled.sources.columns import Roles, batch_ids
from levelled.sources.files import PathName
from levelled.sources.races import (
    ColumnWeights,
    EqualWeights,
    PredictionWeights,
    Progress,
    UnitWeights,
    in_threads,
    mix_units,
    name_place,
    prediction_weights,
    race_units,
)
from levelled.sources.rows import Files, taken

_FLOOR = 0.5
"""The share of the probability that is spread evenly where a metric scores the rows."""


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
    path
        A file, a folder, a pattern, an address such as s3://bucket/pool/*.parquet, or a list.
    k
        The number of draws.
    seed
        The seed of the race.
    weight
        The column of weights.
    log
        True if that column holds logarithms of weights.
    metric
        The metric whose expected loss weighs the rows.
    classes
        The classes, needed where no columns proba_<class> name them.
    floor
        The share of the probability that is spread evenly over all rows, in a pass of its own: 0
        for a column and 0.5 for a metric unless it is given.
    design
        Add the columns `max_weight` and `dispersion`, unless weights are so small that these do not
        fit a float.
    allow_zero
        Leave out items of weight zero, which are refused otherwise; a floor gives them a chance.
    id_column
        The column of ids.
    threads
        The number of threads that read; one a core by default.
    progress
        Called with the rows read so far and with all that will be, if that is known.
    note
        Called with lines for the user: where the weights of a metric come from, and why there are
        no design columns.
    """
    units = Files(path, alike=True)
    if id_column not in units.schema.names:
        there = list_names(units.schema.names, 12)
        raise PoolError(f"{path} has no column {id_column!r} for the ids; it has {there}.")
    if units.n_rows and whole("k", k, least=0) > units.n_rows:
        raise InputError(f"{k} draws without replacement are wanted from {units.n_rows} rows.")
    weights = _choose_weights(units, weight, log, metric, classes, id_column)
    share = (0.0 if metric is None else _FLOOR) if floor is None else floor
    mixed = between("floor", share, 0, 1) > 0 and not isinstance(weights, EqualWeights)
    if mixed and allow_zero:
        raise InputError(
            f"A floor of {share:g} gives items of weight zero a chance, so they cannot be left out "
            f"as well: set the floor to 0 (floor=0, --floor 0), or do not allow weights of zero."
        )
    if isinstance(weights, PredictionWeights):
        note(f"weights: {weights.origin}")
    count = _counter(progress, units.n_rows, passes=1 + mixed)
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
        draws = _finish(merged, note)
        ids = _read_ids(units, draws.index, id_column, threads)
    except InputError:
        _refuse_change(units)  # the more likely cause, if there is one
        raise
    _refuse_change(units)
    return replace(draws, ids=ids)


def _finish(merged: Part, note: Callable[[str], object]) -> Draws:
    """The draws, without design columns if these cannot be computed."""
    try:
        return finish(merged)
    except ProposalError as wrong:
        if not merged.design:
            raise
        draws = finish(replace(merged, design=False))
        note(f"no design columns: {wrong}")
        return draws


def _counter(
    progress: Callable[[int, int | None], object], n_rows: int | None, passes: int
) -> Progress:
    done = 0

    def count(rows: int) -> None:
        nonlocal done
        done += rows
        progress(done, None if n_rows is None else passes * n_rows)

    return count


def _choose_weights(
    units: Files,
    weight: str | None,
    log: bool,
    metric: str | None,
    classes: Sequence[str] | None,
    id_column: str,
) -> UnitWeights:
    if weight is not None and metric is not None:
        raise InputError("Rows are drawn by a column of weights or by a metric: name one of them.")
    if log and weight is None:
        raise InputError("log says that a column holds logarithms of weights: name it as weight.")
    if weight is not None:
        return ColumnWeights(units, weight, log)
    if metric is not None:
        parsed = parse_metric(metric)

        def score(predictions: PoolPredictions) -> FloatArray:
            parsed.require(predictions)
            return parsed.score(predictions)

        return prediction_weights(units, score, metric, classes=classes, id_column=id_column)
    return EqualWeights(units)


def _read_ids(units: Files, rows: IntArray, column: str, threads: int | None) -> list[Id]:
    """The ids of some rows, of which only the units that hold them are read."""
    order = np.sort(rows)
    found = in_threads(lambda part: _unit_ids(units, *part, column), units.parts(order), threads)
    name = dict(zip(order.tolist(), chain.from_iterable(found), strict=True))
    row_of: dict[Id, int] = {}
    for row, one in name.items():
        if row_of.setdefault(one, row) != row:
            raise PoolError(
                f"The id {one!r} was drawn twice: rows {row_of[one]} and {row} (counted from 0) "
                f"have it. Every item needs one of its own: take out copies, or number the rows."
            )
    return [name[row] for row in rows.tolist()]


def _unit_ids(units: Files, unit: int, rows: IntArray, column: str) -> list[Id]:
    """The ids of some rows of a unit, which increase; it is read up to the last of them."""
    found: list[Id] = []
    for batch in taken(units.unit_batches(unit, Roles(column)), rows):
        missing = [at for at, one in enumerate(batch.column(0).to_pylist()) if one in (None, "")]
        if missing:
            place = name_place(units, unit, int(rows[len(found) + missing[0]]))
            raise PoolError(f"{place} was drawn and has no id in the column {column!r}.")
        found += batch_ids(batch, column, 0).to_pylist()
    return found


def _refuse_change(units: Files) -> None:
    if name := units.changed_file():
        raise PoolError(
            f"{name} changed while it was read, so the draws would be of no pool at all. Draw "
            f"again once nothing writes to it."
        )
