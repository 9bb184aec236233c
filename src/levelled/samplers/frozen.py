"""Draws from the items left in a pool, by weights that stay the same for a while.

Design columns are properties of all items that could have been drawn at each step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled._check import BoolArray, FloatArray, IntArray, between, floats
from levelled.draws import Draws
from levelled.errors import InputError, ProposalError
from levelled.samplers.blocks import cut, running_sum
from levelled.samplers.race import check_finite, race

_CHUNK = 1 << 17  # rows processed at once; the last bits of design columns depend on it

_ALL = slice(None)

_Columns = dict[str, FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class ClassChance:
    """The chance of each item that its label is one class, and where that class is predicted."""

    chance: FloatArray
    predicted: BoolArray

    def of(self, rows: IntArray | BoolArray | slice) -> ClassChance:
        """The same of some items."""
        return ClassChance(self.chance[rows], self.predicted[rows])


def with_design(
    draws: Draws,
    weights: ArrayLike,
    *,
    log: bool = False,
    control: ArrayLike | None = None,
    bound: float | None = None,
    spread: ArrayLike | None = None,
    third_moment: ArrayLike | None = None,
    positive: ClassChance | None = None,
) -> Draws:
    """Add the design columns to draws in proportion to frozen weights. Some intervals use them.

    At step m, with q_m(n) the probability of item n and w_m(n) = 1 / (N q_m(n)), over the items
    then in the pool that could be drawn:

        max_weight             max w_m(n)
        dispersion             D_m = sum 1 / ((N - m + 1)^2 q_m(n)),    1 if all weights are equal

    and, given a fixed prediction g of each item's loss (`control`),

        control                g of the item drawn
        control_left           sum g(n)
        max_weighted_control   max w_m(n) g(n)
        max_weighted_headroom  max w_m(n) (B - g(n)), given a bound B on the losses
        predicted_variance     1/N^2 sum s(n)^2 / q_m(n), given the spread s of each item's loss
        predicted_skew         1/N sum t(n) w_m(n)^2, given the third central moment t of each loss

    and, given the chance h of each item that its label is a `positive` class,

        positive_chance          h of the item drawn
        true_positives_left      sum h(n) over items for which the class is predicted
        false_negatives_left     sum h(n) over the others
        true_positive_variance   1/N^2 sum h(n) (1 - h(n)) / q_m(n) over items predicted so
        false_negative_variance  the same over the others

    Parameters
    ----------
    draws : The draws, as a sampler made them.
    weights : The weights that they were made with, one an item of the pool, as are all that follow.
    log : True if these are log-weights.
    control : The prediction g.
    bound : B, the largest loss that is possible.
    spread, third_moment : s and t, the standard deviation and third central moment of each loss.
    positive : The chance h, and where the class is predicted.

    >>> draws = with_design(Draws([2, 0], [0.5, 0.25], pool_size=4), [1.0, 2.0, 4.0, 1.0])
    >>> {name: column.round(3).tolist() for name, column in draws.design.items()}
    {'max_weight': [2.0, 1.0], 'dispersion': [1.375, 1.111]}
    """
    array = np.ascontiguousarray(floats("weights", weights, ndim=1, finite=False))
    g = None if control is None else floats("control", control, ndim=1)
    s = None if spread is None else floats("spread", spread, ndim=1)
    t = None if third_moment is None else floats("third_moment", third_moment, ndim=1)
    h = None if positive is None else floats("chance", positive.chance, ndim=1)
    columns = {"weights": array, "control": g, "spread": s, "third_moment": t, "chance": h}
    for name, values in columns.items():
        if values is not None and len(values) != draws.pool_size:
            raise InputError(
                f"{name} must have one value an item of the pool ({draws.pool_size}); it has "
                f"{len(values)}."
            )
    cut(array, log=log, allow_zero=True)
    if bound is not None:
        bound = between("bound", bound, -np.inf, np.inf, open_=True)
        if g is None:
            raise InputError("A bound is of use only with a control: pass both or neither.")
        if g.max() > bound:
            raise InputError(
                f"The control predicts a loss of {g.max():g}, above the bound of {bound:g}. Clip "
                f"it to the bound."
            )
    pool = FrozenProposal(np.arange(len(array)), len(array), array, g, bound, s, t, positive)
    left = _LeftItems(draws.index, [pool], float(array.max()), log=log)
    return replace(draws, design=left.design(draws))


class _LeftItems:
    """Sums and maxima over the items left in the pool at each draw, itself included.

    They are added up in one pass over `runs`, which give the pool in order; `largest` is the
    largest weight of all runs. `rows` are the rows of the draws in the whole pool.
    """

    def __init__(
        self, index: IntArray, runs: Iterable[FrozenProposal], largest: float, *, log: bool = False
    ) -> None:
        self._largest, self._log = largest, log
        self._order = np.argsort(index, kind="stable")
        self._drawn = index[self._order]
        self.rows = np.empty(len(index), dtype=np.int64)
        self.pool_size = 0
        self.ramp: float | None = None
        self._at_draws: _Columns = {}
        self._most: _Columns = {}
        self._sums: list[dict[str, float]] = []
        self._maxima: list[dict[str, float]] = []
        self._slices: dict[tuple[str, ...], dict[str, _LeftSums]] = {}
        self._weight = _LeftSums(len(index), 1)  # of all items, where there are slices
        self._start = 0
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            for run in runs:
                self._add(run)

    def _add(self, run: FrozenProposal) -> None:
        """Take in the next run of rows."""
        for start in range(0, len(run.weights), _CHUNK):
            rows = slice(start, min(start + _CHUNK, len(run.weights)))
            left = run.weights[rows] > (-np.inf if self._log else 0.0)
            left[self._inside(rows) - start] = False
            add, most = self._terms(run, left, rows)
            self._sums.append({name: column.sum() for name, column in add.items()})
            self._maxima.append({name: one.max(initial=-np.inf) for name, one in most.items()})
        # The terms of the rows that were drawn are kept at their draws.
        whole = slice(0, len(run.weights))
        draw, drawn = self._order[self._places(whole)], self._inside(whole)
        add, most = self._terms(run, drawn)
        if run.positive is not None:
            add["positive_chance"] = run.positive.chance[drawn]
        for kept, columns in ((self._at_draws, add), (self._most, most)):
            for name, column in columns.items():
                kept.setdefault(name, np.empty(len(self.rows)))[draw] = column
        self.rows[draw] = run.rows[drawn]
        self.pool_size, self.ramp = run.pool_size, run.ramp
        self._add_slices(run, draw, drawn)
        self._start += len(run.weights)

    def _terms(
        self, run: FrozenProposal, which: IntArray | BoolArray, rows: slice = _ALL
    ) -> tuple[_Columns, _Columns]:
        """The columns to add up over the items left, and those to take the largest of.

        Weights are relative to the largest one, so that their sums fit a float.
        """
        weights, top = run.weights[rows][which], self._largest
        weight = np.exp(weights - top) if self._log else weights / top
        inverse = np.exp(top - weights) if self._log else top / weights
        add, most = {"weight": weight, "inverse": inverse}, {"max_weight": inverse}
        if run.spread is not None:
            add["predicted_variance"] = run.spread[rows][which] ** 2 * inverse
        if run.third_moment is not None:
            add["predicted_skew"] = run.third_moment[rows][which] * inverse**2
        if run.positive is not None:
            h, predicted = run.positive.chance[rows][which], run.positive.predicted[rows][which]
            variance = h * (1 - h) * inverse
            add |= {  # each 0 outside its own part of the pool
                "true_positives_left": h * predicted,
                "false_negatives_left": h * ~predicted,
                "true_positive_variance": variance * predicted,
                "false_negative_variance": variance * ~predicted,
            }
        if run.control is not None:
            g = add["control_left"] = run.control[rows][which]
            most["max_weighted_control"] = g * inverse
            if run.bound is not None:
                most["max_weighted_headroom"] = (run.bound - g) * inverse
        return add, most

    def _places(self, rows: slice) -> slice:
        ends = np.searchsorted(self._drawn - self._start, [rows.start, rows.stop])
        return slice(*ends.tolist())

    def _inside(self, rows: slice) -> IntArray:
        """The drawn rows among these rows of the run."""
        return self._drawn[self._places(rows)] - self._start

    def _add_slices(self, run: FrozenProposal, draw: IntArray, at: IntArray) -> None:
        """Add up `control_left`, `predicted_variance` and `predicted_skew` over each slice."""
        g, s, t = run.control, run.spread, run.third_moment
        if not run.slices or g is None or s is None or t is None:
            return
        self._weight.add(np.zeros(len(run.rows), dtype=np.int64), run.weights, draw, at)
        columns = {
            "control_left": g,
            "predicted_variance": s**2 / run.weights,
            "predicted_skew": t / run.weights**2,
        }
        for slices in run.slices:
            sums = self._slices.setdefault(slices.names, {})
            for name, column in columns.items():
                kept = sums.setdefault(name, _LeftSums(len(self.rows), len(slices.names)))
                kept.add(slices.codes, column, draw, at)

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")
    def design(self, draws: Draws) -> _Columns:
        """The columns of `with_design`; refuses weights that the draws were not made with."""
        sums = {
            name: running_sum(
                self._at_draws[name][::-1], start=float(np.sum([one[name] for one in self._sums]))
            )[::-1]
            for name in self._sums[0]
        }
        left, N = sums["weight"], draws.pool_size
        probability = self._at_draws["weight"] / left
        # A millionth for rounding in sums over any pool; weights of another round differ by more.
        wrong = np.flatnonzero(~np.isclose(probability, draws.probability, rtol=1e-6, atol=0.0))
        if len(wrong):
            m = wrong[0]
            raise ProposalError(
                f"Draw {m + 1} was recorded with probability {draws.probability[m]:.6g}, but these "
                f"weights give it {probability[m]:.6g}. Pass the weights that the draws were made "
                f"with."
            )
        maxima = {
            name: np.maximum.accumulate(
                np.append(max(one[name] for one in self._maxima), self._most[name][::-1])
            )[:0:-1]
            for name in self._maxima[0]
        }
        design = {name: left / N * most for name, most in maxima.items()}
        design["dispersion"] = left * sums["inverse"] / (N - np.arange(len(draws))) ** 2.0
        if "predicted_variance" in sums:
            design["predicted_variance"] = left * sums["predicted_variance"] / N**2
        if "predicted_skew" in sums:
            design["predicted_skew"] = left**2 * sums["predicted_skew"] / N**3
        for name in ("true_positive_variance", "false_negative_variance"):
            if name in sums:
                design[name] = left * sums[name] / N**2
        check_finite(design)
        if "control_left" in sums:
            design |= {"control": self._at_draws["control_left"]}
            design |= {"control_left": sums["control_left"]}
        if "positive_chance" in self._at_draws:
            design["positive_chance"] = self._at_draws["positive_chance"]
            design |= {name: sums[name] for name in ("true_positives_left", "false_negatives_left")}
        return design

    def slice_columns(self) -> _Columns:
        """The columns of each slice; its name follows that of the column."""
        scale = self._weight.at_each_draw() / self.pool_size
        factors = {
            "control_left": np.ones_like(scale),
            "predicted_variance": scale / self.pool_size,
            "predicted_skew": scale**2 / self.pool_size,
        }
        return {
            f"{name} {one}": column[:, at]
            for names, sums in self._slices.items()
            for name, column in ((n, factors[n] * kept.at_each_draw()) for n, kept in sums.items())
            for at, one in enumerate(names)
        }


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


@dataclass(frozen=True, slots=True, eq=False)
class PoolSlices:
    """A division of items into slices: the number of each item's slice, and their names."""

    names: tuple[str, ...]
    codes: NDArray[np.integer[Any]]

    def of(self, rows: NDArray[Any] | slice) -> PoolSlices:
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

    def without(self, rows: IntArray) -> FrozenProposal:
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

    def without(self, rows: IntArray) -> RunProposal:
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
    left = _LeftItems(draws.index, runs, largest)
    # The columns are those of a pool of the items left alone: 1/N becomes that of the whole pool.
    alone = replace(draws, design=left.design(draws))
    design = in_pool_of(alone, left.pool_size)
    if left.ramp is not None:
        design["ramp"] = np.full(len(draws), left.ramp)
    return Draws(left.rows, draws.probability, left.pool_size, design=design | left.slice_columns())


def in_pool_of(draws: Draws, size: int) -> _Columns:
    """The design columns of draws as they are in a pool of another size.

    Columns of slices have the name of the slice behind theirs.
    """
    share = draws.pool_size / size
    return {
        name: column * share ** _POWERS.get(name.partition(" ")[0], 0)
        for name, column in (draws.design or {}).items()
    }
