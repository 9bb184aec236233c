"""The record of a race over some rows, and what its leaders leave of each block.

Sums over what is left are computed by block, from its weights and its final draws alone, and added
up in order of place. So they do not depend on the parts that a race was cut into.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled._check import FloatArray, IntArray
from levelled.errors import InputError
from levelled.samplers import blocks
from levelled.samplers.blocks import Blocks, check_total, cut, scaled
from levelled.samplers.design import design_of_weights

_Table = NDArray[np.void]
BLOCK_KIND = np.dtype(
    [
        ("unit", np.int64),
        ("block", np.int64),  # its number within the unit
        ("rows", np.int64),
        ("inverse", np.float64),  # the sum of 1 / weight, in units of e^-shift; NaN without design
        ("least", np.float64),  # the smallest weight of a row that is no leader; likewise
        ("total", np.float64),  # in units of e^shift
        ("shift", np.float64),
    ]
)
LEADER_KIND = np.dtype(
    [
        ("unit", np.int64),
        ("block", np.int64),
        ("row", np.int64),  # within the block
        ("log_time", np.float64),
        ("weight", np.float64),  # in units of e^shift
        ("shift", np.float64),
    ]
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Part:
    """The result of a race over some of the rows; made by `part` and `merge`.

    `blocks` are in order of place, `leaders` in order of arrival. `opened` holds the weights of
    those blocks whose leaders hold more than half of the weight (or of the inverse weights): there
    the rest is added up, not subtracted.
    """

    k: int
    seed: int
    log: bool
    design: bool
    excluded: int
    blocks: _Table
    leaders: _Table
    opened: Mapping[tuple[int, int], FloatArray]

    @property
    def log_until(self) -> float:
        """The logarithm of the time by which k rows have arrived: later ones are not drawn."""
        return float(self.leaders["log_time"][-1]) if len(self.leaders) == self.k > 0 else np.inf

    def __repr__(self) -> str:
        units = len(np.unique(self.blocks["unit"]))
        return f"Part({self.blocks['rows'].sum()} rows of {units} units, k={self.k})"


def never_drawn(part: Part, place: IntArray) -> tuple[float, float]:
    """The total weight that was never drawn, in units of e^shift, and that shift."""
    with np.errstate(over="ignore"):
        check_total(2 * part.blocks["total"].sum())  # room for rounding in the sums to come
    rest, shift = _rest(part, place, "total")
    if not len(rest):
        return 0.0, -np.inf
    top = shift.max()
    return float((rest * np.exp(shift - top)).sum()), float(top)


def design_of(part: Part, place: IntArray, q: FloatArray, N: int) -> Mapping[str, FloatArray]:
    """The design columns of frozen weights, which are relative to e^top here."""
    table, leaders = part.blocks, part.leaders
    table = table[table["total"] > 0]
    top = table["shift"].max()
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        rest, shift = _rest(part, place, "inverse")
        start = float((rest * np.exp(top - shift)).sum())
        most = 1 / (table["least"] * np.exp(table["shift"] - top)).min()
        weight = in_units_of(top, leaders)
        return design_of_weights(weight, weight / q, start, most, N)


def _rest(part: Part, place: IntArray, name: str) -> tuple[FloatArray, FloatArray]:
    """What the draws leave of a total of each block, with its shift, where there is any.

    It depends on the weights of each block and its final draws alone, in order of place.
    """
    total, shift = part.blocks[name], part.blocks["shift"].copy()
    mass = _mass(part.leaders, place, part.blocks, name)
    rest = total - mass
    for at, rows in _leader_rows(np.flatnonzero(mass > total / 2), part.leaders, place):
        unit, block, *_ = part.blocks[at].item()
        weights = part.opened[unit, block].copy()
        weights[rows] = -np.inf if part.log else 0.0
        left = cut(weights, log=part.log, allow_zero=True, inverses=part.design)
        rest[at], shift[at] = getattr(left, name)[0], left.shift[0]
    some = rest > 0
    return rest[some], shift[some]


def _leader_rows(
    heavy: IntArray, leaders: _Table, place: IntArray
) -> Iterator[tuple[int, IntArray]]:
    """Yield each heavy place with its rows among the leaders."""
    if len(heavy):
        order = np.argsort(place, kind="stable")
        ends = np.searchsorted(place[order], [heavy, heavy + 1])
        for at, begin, end in zip(heavy, *ends, strict=True):
            yield at, leaders["row"][order[begin:end]]


def _mass(leaders: _Table, place: IntArray, table: _Table, name: str) -> FloatArray:
    """The weight of the leaders of each block, or its inverse: their share of the total.

    They are added in their order, so that more weigh no less.
    """
    weight = in_units_of(table["shift"][place], leaders)
    each = weight if name == "total" else 1 / weight
    return np.asarray(np.bincount(place, each, minlength=len(table)), dtype=np.float64)


def in_units_of(shift: FloatArray | float, leaders: _Table) -> FloatArray:
    """The weights of leaders in units of e^shift."""
    return np.asarray(leaders["weight"] * np.exp(leaders["shift"] - shift), dtype=np.float64)


def must_open(leaders: _Table, place: IntArray, table: _Table, design: bool) -> IntArray:
    """The places whose leaders hold more than half of a total."""
    names = ["total", "inverse"] if design else ["total"]
    with np.errstate(over="ignore", divide="ignore"):
        heavy = [_mass(leaders, place, table, name) > table[name] / 2 for name in names]
    return np.flatnonzero(np.logical_or.reduce(heavy))


def least_left(pool: Blocks, leaders: _Table, block: IntArray) -> FloatArray:
    """The smallest weight of each block among the rows that are no leaders, in units of e^shift."""
    least, weights = pool.least.copy(), pool.weights[block * blocks.BLOCK + leaders["row"]]
    taken = np.unique(block[weights == least[block]])
    for at, rows in _leader_rows(taken, leaders, block):
        others = pool.rows(at).copy()
        others[rows] = np.inf
        least[at] = others[others > (-np.inf if pool.log else 0.0)].min(initial=np.inf)
    some = least < np.inf
    weight, shift = scaled(least[some], log=pool.log)
    least[some] = weight * np.exp(shift - pool.shift[some])
    return least


def find_blocks(leaders: _Table, table: _Table) -> IntArray:
    """The place of each leader in a table of blocks, which is in order."""
    units = np.unique(table["unit"])
    keys, wanted = (
        np.searchsorted(units, one["unit"]) << 40 | one["block"] for one in (table, leaders)
    )
    return np.searchsorted(keys, wanted)


def make_table(kind: np.dtype[np.void], *columns: ArrayLike) -> _Table:
    """The columns as records of that kind, of which the last column sets the length."""
    table = np.empty(len(np.asarray(columns[-1])), kind)
    for name, values in zip(kind.names or (), columns, strict=True):
        table[name] = values
    return table


def check_complete(table: _Table) -> None:
    """Refuse a table of blocks in which some are missing."""
    unit, block, rows = table["unit"], table["block"], table["rows"]
    follows = (block[1:] == block[:-1] + 1) & (rows[:-1] == blocks.BLOCK)
    starts = (unit[1:] == unit[:-1] + 1) & (block[1:] == 0)
    right = np.full(len(table), unit[0] == 0 and block[0] == 0)
    right[1:] = np.where(unit[1:] == unit[:-1], follows, starts)
    if not right.all():
        at = np.argmin(right)
        raise InputError(
            f"The rows before row {block[at] * blocks.BLOCK} of unit {unit[at]} are missing. Merge "
            f"the parts of all units, numbered from 0, before the race is finished."
        )
