"""Draws from the items left in a pool, by weights that stay the same for a while."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.samplers.design import ClassChance, DesignRun, add_design
from levelled.samplers.race import race

_POWERS = {
    "max_weight": 1,
    "max_weighted_control": 1,
    "max_weighted_headroom": 1,
    "predicted_variance": 2,
    "predicted_skew": 3,
    "true_positive_variance": 2,
    "false_negative_variance": 2,
}
"""The power of 1/N in each column; the others do not depend on the size of the pool."""
_WHOLE = ("",)
"""The names of a division that has all items in one slice."""


@dataclass(frozen=True, slots=True, eq=False)
class PoolSlices:
    """A division of items into slices: the number of each item's slice, and their names."""

    names: tuple[str, ...]
    codes: NDArray[np.integer[Any]]

    def of(self, rows: NDArray[Any] | slice) -> "PoolSlices":
        """The same of some items."""
        return PoolSlices(self.names, self.codes[rows])


class _LeftSums:
    """Sums over the items of each slice that are left at each draw, added up run by run.

    >>> halves = _LeftSums(n_draws=2, n_slices=2)
    >>> halves.add(np.array([0, 0, 1]), np.array([1.0, 2.0, 4.0]), np.arange(2), np.array([1, 2]))
    >>> halves.at_each_draw()
    array([[3., 4.],
           [1., 4.]])
    """

    def __init__(self, n_draws: int, n_slices: int) -> None:
        self._never = np.zeros(n_slices)
        self._drawn = np.zeros((n_draws, n_slices))

    def add(
        self, codes: NDArray[np.integer[Any]], values: FloatArray, draw: IntArray, at: IntArray
    ) -> None:
        """Take in the slices and values of a run, of which the items `at` were taken by `draw`."""
        never = np.ones(len(values), dtype=bool)
        never[at] = False
        self._never += np.bincount(codes[never], values[never], minlength=len(self._never))
        self._drawn[draw, codes[at]] = values[at]

    def at_each_draw(self) -> FloatArray:
        """The sums [M, S], the item drawn included."""
        return np.asarray(self._never + np.cumsum(self._drawn[::-1], axis=0)[::-1])


@dataclass(frozen=True, slots=True, eq=False)
class FrozenProposal:
    """Weights of the items left in a pool of `pool_size`, and what is expected of their losses.

    `rows` are their positions in the pool; the other arrays have one value for each of them.
    """

    rows: IntArray
    pool_size: int
    weights: FloatArray
    control: FloatArray | None = None
    """The expected loss."""
    bound: float | None = None
    """The largest loss, where there is a predictor and losses are bounded."""
    spread: FloatArray | None = None
    """The standard deviation that the predictor expects of the loss."""
    third_moment: FloatArray | None = None
    """The third central moment that the predictor expects of the loss."""
    positive: ClassChance | None = None
    """The chance that the predictor gives to a class, for ratios such as its recall."""
    slices: tuple[PoolSlices, ...] = ()
    """Divisions of the items, where the predictor is to help the estimate of each slice."""
    ramp: float | None = None
    """How fast the shares of later terms rise in the estimate, if not as usual."""

    def without(self, rows: IntArray) -> "FrozenProposal":
        """The same for the items that are left once these rows of the pool are drawn."""
        kept = ~np.isin(self.rows, rows)
        return replace(
            self,
            rows=self.rows[kept],
            weights=self.weights[kept],
            control=None if self.control is None else self.control[kept],
            spread=None if self.spread is None else self.spread[kept],
            third_moment=None if self.third_moment is None else self.third_moment[kept],
            positive=None if self.positive is None else self.positive.of(kept),
            slices=tuple(one.of(kept) for one in self.slices),
        )

    def draw(self, k: int, *, seed: int) -> Draws:
        """Draw k items; design columns are relative to the whole pool.

        >>> proposal = FrozenProposal(np.array([1, 2]), 4, np.array([1.0, 3.0]))
        >>> draws = proposal.draw(2, seed=0)
        >>> sorted(draws.index.tolist()), draws.pool_size, float(draws.probability[-1])
        ([1, 2], 4, 1.0)
        """
        draws = race(self.weights, min(k, len(self.rows)), seed=seed)
        return _from_pool(draws, [self], float(self.weights.max()))

    def fixed(self, rows: IntArray) -> Draws:
        """These rows as draws in this order: items that were chosen beforehand, by the weights."""
        draws = _fixed(self.weights, np.searchsorted(self.rows, rows))
        return _from_pool(draws, [self], float(self.weights.max()))


@dataclass(frozen=True, slots=True, eq=False)
class RunProposal:
    """Weights of the items left in a pool whose other columns are made a run of rows at a time.

    So a pool need not fit in memory: a proposal takes eight bytes for each of its items. `runs`
    gives the items left in the order of their rows, whatever their weights; `drawn` are the rows
    that are not left, in order.
    """

    pool_size: int
    drawn: IntArray
    weights: FloatArray
    runs: Callable[[], Iterable[FrozenProposal]]
    slices: tuple[PoolSlices, ...] = ()
    """Divisions of the items left, as those of `FrozenProposal`."""

    def without(self, rows: IntArray) -> "RunProposal":
        """The same for the items that are left once these rows of the whole pool are drawn."""
        if not len(rows):
            return self
        taken, runs = np.sort(rows), self.runs
        return replace(
            self,
            drawn=taken,
            weights=np.delete(self.weights, taken),
            runs=lambda: (run.without(taken) for run in runs()),
        )

    def draw(self, k: int, *, seed: int) -> Draws:
        """Draw k items; the columns that go with them take one pass over the pool.

        >>> whole = FrozenProposal(np.arange(4), 4, np.array([1.0, 2.0, 3.0, 4.0]))
        >>> halves = [whole.without(np.array(rows)) for rows in ([2, 3], [0, 1])]
        >>> in_runs = RunProposal(4, np.arange(0), whole.weights, lambda: halves)
        >>> in_runs.draw(2, seed=7).index.tolist() == whole.draw(2, seed=7).index.tolist()
        True
        """
        draws = race(self.weights, min(k, len(self.weights)), seed=seed)
        return _from_pool(draws, self.left(), float(self.weights.max()))

    def fixed(self, rows: IntArray) -> Draws:
        """These rows as draws in this order: items that were chosen beforehand, by the weights."""
        draws = _fixed(self.weights, rows - np.searchsorted(self.drawn, rows))
        return _from_pool(draws, self.left(), float(self.weights.max()))

    def left(self) -> Iterator[FrozenProposal]:
        """The items left in a new pass, a run of rows at a time."""
        start = 0
        for run in self.runs():
            at = slice(start, start + len(run.rows))
            slices = tuple(one.of(at) for one in self.slices)
            yield replace(run, weights=self.weights[at], slices=slices)
            start = at.stop

    def whole(self) -> FrozenProposal:
        """The items left all at once, where the pool is one run."""
        (only,) = self.left()
        return only


def _fixed(weights: FloatArray, at: IntArray) -> Draws:
    before = np.cumsum(weights[at]) - weights[at]
    return Draws(at, weights[at] / (weights.sum() - before), len(weights))


def _from_pool(draws: Draws, runs: Iterable[FrozenProposal], largest: float) -> Draws:
    """Draws among the items left as draws from their pool, with their design columns."""
    seen = _Gathered(draws.index)
    draws = add_design(draws, seen.through(runs, largest))
    share = draws.pool_size / seen.pool_size
    design = {
        name: column * share ** _POWERS.get(name, 0)
        for name, column in (draws.design or {}).items()
    }
    if seen.ramp is not None:
        design["ramp"] = np.full(len(draws), seen.ramp)
    design |= seen.slice_columns()
    return Draws(seen.rows, draws.probability, seen.pool_size, design=design)


@dataclass(slots=True)
class _Gathered:
    """What is gathered of draws, beside their design columns, in a pass over runs of items left."""

    index: IntArray
    rows: IntArray = field(init=False)
    pool_size: int = 0
    ramp: float | None = None
    _start: int = 0
    _sums: dict[tuple[str, ...], dict[str, _LeftSums]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rows = np.empty(len(self.index), dtype=np.int64)

    def through(self, runs: Iterable[FrozenProposal], largest: float) -> Iterator[DesignRun]:
        """Take in each run, and hand it on for the design columns."""
        for run in runs:
            self.pool_size, self.ramp = run.pool_size, run.ramp
            inside = (self.index >= self._start) & (self.index < self._start + len(run.rows))
            draw = np.flatnonzero(inside)
            at = self.index[draw] - self._start
            self.rows[draw] = run.rows[at]
            if run.slices:
                self._add_slices(run, draw, at)
            self._start += len(run.rows)
            yield DesignRun(
                run.weights,
                largest,
                control=run.control,
                bound=run.bound,
                spread=run.spread,
                third=run.third_moment,
                positive=run.positive,
            )

    def _add_slices(self, run: FrozenProposal, draw: IntArray, at: IntArray) -> None:
        """Add up `control_left`, `predicted_variance` and `predicted_skew` over each slice."""
        g, s, t = run.control, run.spread, run.third_moment
        if g is None or s is None or t is None:
            return
        whole = PoolSlices(_WHOLE, np.zeros(len(run.rows), dtype=np.int64))
        columns = {
            "control_left": g,
            "predicted_variance": s**2 / run.weights,
            "predicted_skew": t / run.weights**2,
        }
        for slices in (whole, *run.slices):
            values = {"weight": run.weights} if slices is whole else columns
            sums = self._sums.setdefault(slices.names, {})
            for name, column in values.items():
                kept = sums.setdefault(name, _LeftSums(len(self.index), len(slices.names)))
                kept.add(slices.codes, column, draw, at)

    def slice_columns(self) -> dict[str, FloatArray]:
        """The columns of each slice; its name follows that of the column."""
        if not self._sums:
            return {}
        scale = self._sums.pop(_WHOLE)["weight"].at_each_draw() / self.pool_size
        factors = {
            "control_left": np.ones_like(scale),
            "predicted_variance": scale / self.pool_size,
            "predicted_skew": scale**2 / self.pool_size,
        }
        return {
            f"{name} {one}": column[:, at]
            for names, sums in self._sums.items()
            for name, column in ((n, factors[n] * kept.at_each_draw()) for n, kept in sums.items())
            for at, one in enumerate(names)
        }
