"""Draws from files of any size, without a campaign."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from levelled._check import FloatArray, IntArray, between, whole
from levelled.draws import Draws
from levelled.errors import InputError, PoolError, ProposalError
from levelled.labels import Id, list_names
from levelled.metrics.named import parse_metric
from levelled.predictions import PoolPredictions
from levelled.samplers import Part, finish
from levelled.sources.files import PathName
from levelled.sources.races import (
    ColumnWeights,
    EqualWeights,
    PredictionWeights,
    Progress,
    UnitWeights,
    in_threads,
    mix_units,
    race_units,
)
from levelled.sources.units import Units, open_units, read_ids

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

    Rows are drawn in proportion to the column `weight` (with `log` its exponential), to the loss
    that predictions let expect of a `metric`, or uniformly without either. `floor` is the share of
    the probability that is spread evenly over all rows: 0 for a column and 0.5 for a metric unless
    it is given. It takes a pass of its own.

    `path` is a file, a folder, a pattern, a list of these, or an address such as
    s3://bucket/pool/*.parquet. The columns of weights are read once, a row group of a Parquet file
    at a time, by several threads; the ids of the drawn rows are read afterwards. Files are taken
    in the order of their sorted paths, and rows are counted on from one to the next. The draws
    depend on the rows, on their division into row groups and files, and on the seed alone; those
    from a single row group are the draws of `levelled.samplers.race`.

    With `design` the draws have the columns `max_weight` and `dispersion`, unless weights are so
    small that these do not fit a float. Items of weight zero are refused; `allow_zero` leaves them
    out, and a floor gives them a chance.

    `progress` is called with the rows read so far and with all that will be, if that is known, and
    `note` with lines for the user: where the weights of a metric come from, and why there are no
    design columns.
    """
    units = open_units(path)
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
        ids = _read_ids(units, merged, draws.index, id_column, threads)
    except InputError:
        units.check_unchanged()  # the more likely cause, if there is a change
        raise
    units.check_unchanged()
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
    units: Units,
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

        return PredictionWeights(units, score, metric, classes=classes, id_column=id_column)
    return EqualWeights(units)


def _read_ids(
    units: Units, merged: Part, rows: IntArray, column: str, threads: int | None
) -> list[Id]:
    """The ids of some rows, of which only the units that hold them are read."""
    lengths = np.bincount(merged.blocks["unit"], merged.blocks["rows"]).astype(np.int64)
    ends = np.cumsum(lengths)
    order = np.sort(rows)
    drawn_from = np.unique(np.searchsorted(ends, order, side="right"))

    def read(unit: int) -> list[Id]:
        first = ends[unit] - lengths[unit]
        inside = order[(order >= first) & (order < ends[unit])]
        return read_ids(units, unit, inside - first, column)

    found = [one for unit in in_threads(read, drawn_from.tolist(), threads) for one in unit]
    name = dict(zip(order.tolist(), found, strict=True))
    row_of: dict[Id, int] = {}
    for row, one in name.items():
        if row_of.setdefault(one, row) != row:
            raise PoolError(
                f"The id {one!r} was drawn twice: rows {row_of[one]} and {row} (counted from 0) "
                f"have it. Every item needs one of its own: take out copies, or number the rows."
            )
    return [name[row] for row in rows.tolist()]
