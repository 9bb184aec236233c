"""Draw without replacement in proportion to frozen weights, in one call or in parts.

Each part keeps its leaders, the rows that arrive first; merging the parts decides the race.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import floats, whole
from levelled.draws import Draws
from levelled.errors import InputError
from levelled.samplers import blocks
from levelled.samplers.arrivals import Source, leaders
from levelled.samplers.blocks import check_drawable, cut, probabilities, scaled
from levelled.samplers.keyed import check_seed, draws_of, join
from levelled.samplers.part_tables import from_arrow, is_arrow, to_arrow
from levelled.samplers.parts import (
    BLOCK_KIND,
    LEADER_KIND,
    Part,
    check_complete,
    design_of,
    find_blocks,
    in_units_of,
    least_left,
    make_table,
    must_open,
    never_drawn,
)

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Part", "finish", "merge", "part", "race"]


def race(
    weights: ArrayLike,
    k: int,
    *,
    seed: int,
    log: bool = False,
    design: bool = False,
    allow_zero: bool = False,
) -> Draws:
    """Draw k items one after the other, each in proportion to its weight among those left.

    That is an exponential race: item i finishes after an exponential time of rate w_i, and the
    first k to finish are the draws, in order. The m-th draw has the probability

        q_m = w_m / (sum of the weights not drawn before it)

    The draws depend on the weights and the seed alone, and the first draws of a longer race are
    those of a shorter one. Drawing from 20 million items takes little longer than reading them.

    `log=True` takes log-weights of any range, such as `boltzmann` exponents; -inf is weight zero.
    Items of weight zero are refused unless `allow_zero`, and are then counted in `excluded`.
    `design=True` adds the columns `max_weight` and `dispersion` of `with_design`.

    >>> race([1.0, 2.0, 3.0, 4.0], k=2, seed=7)
    Draws(2 of 4, probabilities 0.3 to 0.571)
    """
    return finish(part(weights, k, seed=seed, log=log, design=design, allow_zero=allow_zero))


def part(
    weights: ArrayLike,
    k: int,
    *,
    seed: int,
    unit: int = 0,
    first_row: int = 0,
    log: bool = False,
    design: bool = False,
    allow_zero: bool = False,
    log_until: float = np.inf,
) -> Part:
    """Run the race of `levelled.samplers.race` over some of the rows.

    A unit is one in-memory array or one row group of a file; units are numbered 0, 1, 2, ... and
    their rows are counted on from one to the next. A unit may come in pieces, each starting at a
    multiple of 4,096 rows. The draws are the same, bit for bit, whatever the pieces and in
    whatever order and process they run; another cut into units gives other draws.

    `log_until` saves work: rows that arrive after it are left out of the part. It must be the
    `Part.log_until` of other rows of the same race, by which k of those have arrived.

    >>> pieces = [part([4.0, 1.0], 3, seed=7, unit=1), part([1.0, 2.0, 3.0], 3, seed=7)]
    >>> finish(merge(pieces))
    Draws(3 of 5, probabilities 0.182 to 0.667)
    """
    k, seed = whole("k", k, least=0), check_seed(seed)
    unit, first_row = whole("unit", unit, least=0), whole("first_row", first_row, least=0)
    if first_row % blocks.BLOCK or unit >= 2**63:
        raise InputError(
            f"A part starts at a multiple of {blocks.BLOCK} rows, in a unit below 2**63; this one "
            f"starts at row {first_row} of unit {unit}."
        )
    array = np.ascontiguousarray(floats("weights", weights, ndim=1, finite=False))
    pool = cut(array, log=log, allow_zero=allow_zero, inverses=design)
    first_block = first_row // blocks.BLOCK
    row, log_time = leaders(pool, k, Source(seed, unit, first_block), log_until)
    block, row = np.divmod(row, blocks.BLOCK)
    weight, shift = scaled(pool.weights[block * blocks.BLOCK + row], log=log)
    first = make_table(LEADER_KIND, unit, first_block + block, row, log_time, weight, shift)
    n = len(pool.total)
    rows = np.full(n, blocks.BLOCK)
    rows[-1] = len(pool.rows(n - 1))
    inverse, least = (pool.inverse, least_left(pool, first, block)) if design else (np.nan, np.nan)
    numbers = first_block + np.arange(n)
    table = make_table(BLOCK_KIND, unit, numbers, rows, inverse, least, pool.total, pool.shift)
    opened = {
        (unit, first_block + int(at)): pool.rows(int(at)).copy()
        for at in must_open(first, block, table, design)
    }
    return Part(k, seed, log, design, pool.excluded, table, first, opened)


@overload
def merge(parts: Iterable[Part]) -> Part: ...
@overload
def merge(parts: pa.Table | Iterable[pa.Table]) -> pa.Table: ...
def merge(parts: Any) -> Part | pa.Table:
    """Join parts of one race, in any order, keeping the rows that may be among the first k.

    Parts are those of `part`, or the tables of `race_part`, one by one or as rows of one table.

    >>> merge([part([1.0], 1, seed=7), part([2.0, 3.0], 1, seed=7, unit=1)])
    Part(3 rows of 2 units, k=1)
    """
    parts = [parts] if is_arrow(parts) else [*parts]
    if not parts:
        raise InputError("There is no part to merge.")
    if is_arrow(parts[0]):
        return to_arrow(join(from_arrow(parts)))
    for one in parts:
        _check_part(one, "merge takes an iterable of parts")
    if len(parts) == 1:
        return parts[0]
    if len({(one.k, one.seed, one.log, one.design) for one in parts}) > 1:
        raise InputError("Parts of one race share k, seed, log and design; these do not.")
    k, seed, log, design = parts[0].k, parts[0].seed, parts[0].log, parts[0].design
    table = np.concatenate([one.blocks for one in parts])
    table = table[np.lexsort([table[name] for name in ("block", "unit")])]
    again = np.flatnonzero((np.diff(table["unit"]) == 0) & (np.diff(table["block"]) == 0))
    if len(again):
        unit, block, *_ = table[again[0]].item()
        raise InputError(f"Row {block * blocks.BLOCK} of unit {unit} is in two of the parts.")
    first = np.concatenate([one.leaders for one in parts])
    first = first[np.lexsort([first[name] for name in ("row", "block", "unit", "log_time")])]
    first, dropped = first[:k], first[k:]
    if design:
        at = find_blocks(dropped, table)
        np.minimum.at(table["least"], at, in_units_of(table["shift"][at], dropped))
    places = {*zip(first["unit"].tolist(), first["block"].tolist(), strict=True)}
    opened = {at: rows for one in parts for at, rows in one.opened.items() if at in places}
    return Part(k, seed, log, design, sum(one.excluded for one in parts), table, first, opened)


def finish(part: Part | pa.Table) -> Draws:
    """The draws of a race, from the merged parts of all its rows.

    Draws of a race by key, whose parts `race_part` made, have ids.

    >>> finish(part([1.0, 2.0, 3.0], 2, seed=7))
    Draws(2 of 3, probabilities 0.333 to 0.75)
    """
    if is_arrow(part):
        return draws_of(join(from_arrow(part)))
    _check_part(part, "finish takes one part, which merge makes of several")
    table, leaders = part.blocks, part.leaders
    check_complete(table)
    pool_size = int(table["rows"].sum())
    check_drawable(part.k, pool_size, part.excluded)
    place = np.searchsorted(table["unit"], leaders["unit"]) + leaders["block"]
    rest, shift = never_drawn(part, place)
    first_row = np.cumsum(table["rows"]) - table["rows"]
    q = probabilities(leaders["weight"], leaders["shift"], rest, shift)
    design = design_of(part, place, q, pool_size) if part.design else None
    return Draws(first_row[place] + leaders["row"], q, pool_size, part.excluded, design)


def _check_part(one: object, takes: str) -> None:
    if not isinstance(one, Part):
        raise InputError(f"{takes}, those of part or race_part; this is a {type(one).__name__}.")
