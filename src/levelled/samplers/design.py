"""Design columns: properties of all items that could have been drawn at each step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import BoolArray, FloatArray, IntArray, between, floats
from levelled.draws import Draws
from levelled.errors import InputError, ProposalError
from levelled.samplers.blocks import cut, running_sum

_CHUNK = 1 << 17  # rows processed at once

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

    and, given a fixed prediction g of each item's loss (`control`, one value an item of the pool),

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

    >>> draws = with_design(Draws([2, 0], [0.5, 0.25], pool_size=4), [1.0, 2.0, 4.0, 1.0])
    >>> {name: column.round(3).tolist() for name, column in draws.design.items()}
    {'max_weight': [2.0, 1.0], 'dispersion': [1.375, 1.111]}
    """
    pool = _read_pool(draws, weights, log, control, bound, spread, third_moment, positive)
    return add_design(draws, [pool])


def design_of_weights(
    drawn: FloatArray, left: FloatArray, inverse: float, most: float, pool_size: int
) -> _Columns:
    """The columns `max_weight` and `dispersion` of `with_design`.

    `drawn` are the weights of the draws and `left` the total weight before each; `inverse` and
    `most` are the sum and the maximum of 1 / weight over the items that were never drawn.
    """
    each = 1 / drawn[::-1]
    maxima = np.maximum.accumulate(np.append(most, each))[:0:-1]
    sums = running_sum(each, start=inverse)[::-1]
    design = {
        "max_weight": left / pool_size * maxima,
        "dispersion": left * sums / (pool_size - np.arange(len(drawn))) ** 2.0,
    }
    _check_finite(design)
    return design


def _check_finite(design: _Columns) -> None:
    if not all(np.isfinite(column).all() for column in design.values()):
        raise ProposalError(
            "Some weights are so small, by themselves or beside others, that 1 / q does not fit a "
            "float, so an estimate would depend on items that are never drawn. Mix the weights "
            "with uniform ones, for example by mixture(probabilities, share=0.05) or --floor 0.05."
        )


@dataclass(frozen=True, slots=True, eq=False)
class DesignRun:
    """A run of rows that may be drawn: their weights and what is expected of their losses.

    `largest` is the largest weight of all runs.
    """

    weights: FloatArray
    largest: float
    log: bool = False
    control: FloatArray | None = None
    bound: float | None = None
    spread: FloatArray | None = None
    third: FloatArray | None = None
    positive: ClassChance | None = None

    def terms(self, which: IntArray | BoolArray, rows: slice = _ALL) -> tuple[_Columns, _Columns]:
        """The columns to add up over the items left, and those to take the largest of.

        Weights are relative to the largest one, so that their sums fit a float.
        """
        weights, top = self.weights[rows][which], self.largest
        weight = np.exp(weights - top) if self.log else weights / top
        inverse = np.exp(top - weights) if self.log else top / weights
        add, most = {"weight": weight, "inverse": inverse}, {"max_weight": inverse}
        if self.spread is not None:
            add["spread"] = self.spread[rows][which] ** 2 * inverse
        if self.third is not None:
            add["third"] = self.third[rows][which] * inverse**2
        if self.positive is not None:
            add |= _positive_terms(self.positive.of(rows).of(which), inverse)
        if self.control is not None:
            g = add["control"] = self.control[rows][which]
            most["max_weighted_control"] = g * inverse
            if self.bound is not None:
                most["max_weighted_headroom"] = (self.bound - g) * inverse
        return add, most


def add_design(draws: Draws, runs: Iterable[DesignRun]) -> Draws:
    """Add the design columns of `with_design` in one pass over the runs of a pool, in order."""
    found = _LeftItems(draws.index)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        for run in runs:
            found.add(run)
        sums, maxima = found.sums(), found.maxima()
        left, N = sums["weight"], draws.pool_size
        _check_probabilities(draws, found.at_draws["weight"] / left)
        design = {name: left / N * most for name, most in maxima.items()}
        design["dispersion"] = left * sums["inverse"] / (N - np.arange(len(draws))) ** 2.0
        if "spread" in sums:
            design["predicted_variance"] = left * sums["spread"] / N**2
        if "third" in sums:
            design["predicted_skew"] = left**2 * sums["third"] / N**3
        for name in ("true_positive_variance", "false_negative_variance"):
            if name in sums:
                design[name] = left * sums[name] / N**2
    _check_finite(design)
    if "control" in sums:
        design |= {"control": found.at_draws["control"], "control_left": sums["control"]}
    if "positive_chance" in found.at_draws:
        design["positive_chance"] = found.at_draws["positive_chance"]
        design |= {name: sums[name] for name in ("true_positives_left", "false_negatives_left")}
    return replace(draws, design=design)


def _positive_terms(positive: ClassChance, inverse: FloatArray) -> _Columns:
    """The columns of a positive class, each of them 0 outside its own part of the pool."""
    h, predicted = positive.chance, positive.predicted
    variance = h * (1 - h) * inverse
    return {
        "true_positives_left": h * predicted,
        "false_negatives_left": h * ~predicted,
        "true_positive_variance": variance * predicted,
        "false_negative_variance": variance * ~predicted,
    }


@dataclass(slots=True)
class _LeftItems:
    """Sums and maxima over the items left in the pool at each draw, itself included."""

    index: IntArray
    at_draws: _Columns = field(default_factory=dict)
    _drawn: IntArray = field(init=False)
    _order: IntArray = field(init=False)
    _start: int = 0
    _most: _Columns = field(default_factory=dict)
    _sums: list[dict[str, float]] = field(default_factory=list)
    _maxima: list[dict[str, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._order = np.argsort(self.index, kind="stable")
        self._drawn = self.index[self._order]

    def add(self, run: DesignRun) -> None:
        """Take in the next run of rows."""
        for start in range(0, len(run.weights), _CHUNK):
            rows = slice(start, min(start + _CHUNK, len(run.weights)))
            left = run.weights[rows] > (-np.inf if run.log else 0.0)
            left[self._inside(rows) - start] = False
            add, most = run.terms(left, rows)
            self._sums.append({name: column.sum() for name, column in add.items()})
            self._maxima.append({name: one.max(initial=-np.inf) for name, one in most.items()})
        self._keep(run)
        self._start += len(run.weights)

    def _places(self, rows: slice) -> slice:
        ends = np.searchsorted(self._drawn - self._start, [rows.start, rows.stop])
        return slice(*ends.tolist())

    def _inside(self, rows: slice) -> IntArray:
        """The drawn rows among these rows of the run."""
        return self._drawn[self._places(rows)] - self._start

    def _keep(self, run: DesignRun) -> None:
        """Keep the terms of the rows of a run that were drawn, at their draws."""
        whole = slice(0, len(run.weights))
        draw, drawn = self._order[self._places(whole)], self._inside(whole)
        add, most = run.terms(drawn)
        if run.positive is not None:
            add["positive_chance"] = run.positive.chance[drawn]
        for kept, columns in ((self.at_draws, add), (self._most, most)):
            for name, column in columns.items():
                kept.setdefault(name, np.empty(len(self.index)))[draw] = column

    def sums(self) -> _Columns:
        """The sum of each column over the items left at each draw."""
        return {
            name: running_sum(
                self.at_draws[name][::-1], start=float(np.sum([one[name] for one in self._sums]))
            )[::-1]
            for name in self._sums[0]
        }

    def maxima(self) -> _Columns:
        """The largest value of each column among the items left at each draw."""
        return {
            name: np.maximum.accumulate(
                np.append(max(one[name] for one in self._maxima), self._most[name][::-1])
            )[:0:-1]
            for name in self._maxima[0]
        }


def _read_pool(
    draws: Draws,
    weights: ArrayLike,
    log: bool,
    control: ArrayLike | None,
    bound: float | None,
    spread: ArrayLike | None,
    third_moment: ArrayLike | None,
    positive: ClassChance | None,
) -> DesignRun:
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
    return DesignRun(array, float(array.max()), log, g, bound, s, t, positive)


def _check_probabilities(draws: Draws, probability: FloatArray) -> None:
    wrong = np.flatnonzero(~np.isclose(probability, draws.probability, rtol=1e-6, atol=0.0))
    if len(wrong):
        m = wrong[0]
        raise ProposalError(
            f"Draw {m + 1} was recorded with probability {draws.probability[m]:.6g}, but these "
            f"weights give it {probability[m]:.6g}. Pass the weights that the draws were made with."
        )
