"""Parts of a race by key as Arrow tables of one row, which engines can move."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from levelled._check import whole
from levelled.errors import InputError
from levelled.samplers.keyed import KeyedPart, KeyedRace, keyed_part

if TYPE_CHECKING:
    import pyarrow as pa

_ABOUT = ("k", "log", "rows", "excluded")
_LEADERS = ("id", "row", "weight", "shift", "key")


def race_part(
    batch: object,
    k: int,
    *,
    seed: int,
    key: str,
    weight: str | None = "weight",
    log: bool = False,
    allow_zero: bool = False,
    first_row: int | None = None,
) -> pa.Table:
    """Run a race by key over a batch of rows, which any engine may call for its own partitions.

    `batch` is an Arrow table or record batch, a data frame with an Arrow interface, or a mapping
    of arrays; `key` is its column of ids, whole numbers or texts, and `weight` that of weights, or
    None for equal ones. For `log` and `allow_zero` see `race`; plain weights must lie between
    1e-280 and 1e280.

    The result is a table of one row, for `merge` and `finish`: it holds the k + 1 items with the
    smallest keys, the number of rows and their exact total. The draws are the same, bit for bit,
    whatever the batches and in whatever order and process they run. Each id belongs to one row:
    an id that comes twice is found if both rows are in the same batch or among the first items
    of their batches. `first_row` is the number of the batch's first row, if rows have numbers;
    without it the draws have ids alone.

    >>> from levelled.samplers import finish, merge
    >>> batches = [{"id": [1, 2], "weight": [1.0, 2.0]}, {"id": [3, 4], "weight": [3.0, 4.0]}]
    >>> parts = [race_part(batch, 2, seed=7, key="id") for batch in batches]
    >>> draws = finish(merge(parts))
    >>> draws, draws.ids
    (Draws(2 of 4, probabilities 0.333 to 0.4), (4, 2))
    """
    race = KeyedRace(k, seed, key, weight, log, allow_zero)
    first_row = None if first_row is None else whole("first_row", first_row, least=0)
    return to_arrow(keyed_part(as_table(batch), race, first_row=first_row))


def is_arrow(parts: object) -> bool:
    """Tell an Arrow table or batch from other parts."""
    return hasattr(parts, "__arrow_c_stream__") or hasattr(parts, "__arrow_c_array__")


def to_arrow(part: KeyedPart) -> pa.Table:
    """A part as a table of one row."""
    import pyarrow as pa

    totals = {str(shift): str(total) for shift, total in part.totals.items()}
    columns: dict[str, Any] = {
        "k": [part.k],
        "seed": [str(part.seed)],
        "log": [part.log],
        "rows": [part.rows],
        "excluded": [part.excluded],
        "totals": [json.dumps(totals)],
    }
    ends = pa.array([0, part.leaders.num_rows], pa.int32())
    for name in _LEADERS:
        values = part.leaders.column(name).combine_chunks()
        columns[name] = pa.ListArray.from_arrays(ends, values)
    return pa.table(columns)


def from_arrow(parts: object) -> list[KeyedPart]:
    """The parts in a table that `race_part` made, or in several, of any number of rows each."""
    tables: Iterable[object] = [parts] if is_arrow(parts) else parts  # type: ignore[assignment]
    return [one for table in tables for one in _parts_in(as_table(table))]


def _parts_in(table: pa.Table) -> Iterator[KeyedPart]:
    import pyarrow as pa

    missing = {*_ABOUT, "seed", "totals", *_LEADERS} - {*table.column_names}
    if missing:
        raise InputError(
            f"Parts of a race must be the tables that race_part returns; this one has no column "
            f"{min(missing)!r}."
        )
    for at in range(table.num_rows):
        row = {name: table.column(name)[at] for name in table.column_names}
        totals = json.loads(row["totals"].as_py())
        yield KeyedPart(
            **{name: row[name].as_py() for name in _ABOUT},
            seed=int(row["seed"].as_py()),
            totals={float(shift): Fraction(total) for shift, total in totals.items()},
            leaders=pa.table({name: _values(row[name].values) for name in _LEADERS}),
        )


def _values(values: pa.Array) -> pa.Array:
    """Engines may have made texts large ones."""
    import pyarrow as pa

    return values.cast(pa.string()) if values.type == pa.large_string() else values


def as_table(batch: object) -> pa.Table:
    """A table, record batch, data frame or mapping of arrays as a table."""
    import pyarrow as pa

    if isinstance(batch, pa.RecordBatch):
        return pa.Table.from_batches([batch])
    try:
        return batch if isinstance(batch, pa.Table) else pa.table(batch)
    except (TypeError, ValueError) as wrong:
        raise InputError(
            f"A batch must be an Arrow table or a data frame, not a {type(batch).__name__}: {wrong}"
        ) from wrong
