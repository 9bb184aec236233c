"""The loss that drives the draws of a campaign, and how it follows from what is learnt."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from levelled._check import FloatArray, IntArray
from levelled.samplers import FrozenProposal, RunProposal
from levelled.surrogates.balance import (
    Aim,
    ClassShare,
    LearntClass,
    balanced_shares,
    importance_of,
)
from levelled.surrogates.covariates import Covariates
from levelled.surrogates.predictor import LossPredictor, fit_predictor, prior_predictor
from levelled.surrogates.proposal import floor_after, water_fill

_RAMP_OF_VERDICTS = 0.05
"""Beside verdicts the predictor is nearly as good at the first draws as at the last."""
_FIRST_FIT = 10
"""The number of labels from which on the predictor is fitted."""


def next_round_size(n_drawn: int) -> int:
    """The number of draws until the predictor is fitted again.

    >>> [next_round_size(n) for n in (0, 10, 100, 1000)]
    [10, 5, 10, 100]
    """
    return _FIRST_FIT if n_drawn == 0 else max(5, n_drawn // 10)


@dataclass(frozen=True, slots=True, eq=False)
class Driver:
    """A loss whose expectation is base + effect x prediction, for each item of a pool.

    The predictor learns the loss itself, or an error of which the loss is a consequence; `noise`
    is then the variance of the loss given an error, for example between the wrong classes.
    `bound` is the largest loss, if there is one. The chance of a `positive` class follows from
    errors, or is itself what is learnt. From errors follow also the losses of the metrics that
    the draws are to balance (`aims`).
    """

    covariates: Covariates
    base: FloatArray | float = 0.0
    effect: FloatArray | float = 1.0
    bound: float | None = 1.0
    positive: ClassShare | LearntClass | None = None
    noise: FloatArray | float = 0.0
    aims: tuple[Aim, ...] = ()

    def runs(self) -> "Iterator[Driver]":
        """The driver itself: all items are one run."""
        yield self

    @property
    def first_predictor(self) -> LossPredictor:
        """The predictor before any label."""
        return prior_predictor(self.covariates)

    def fit(
        self,
        rows: IntArray,
        targets: FloatArray,
        weights: FloatArray,
        before: LossPredictor | None = None,
    ) -> LossPredictor:
        """The predictor after these labels; `targets` are what it learns, an item each."""
        if len(rows) < _FIRST_FIT:
            return self.first_predictor
        return fit_predictor(self.covariates, rows, targets, weights, before)

    def floor(self, targets: FloatArray) -> float:
        """The floor of the next proposal, which falls with the errors found.

        Losses without a bound count as (sum L)^2 / sum L^2 errors.
        """
        errors = float(targets.sum())
        if not self.covariates.family.is_bounded and errors > 0:
            errors = errors**2 / float(np.sum(targets**2))
        return floor_after(errors)

    def shares(self, predictor: LossPredictor, drawn: IntArray, floor: float) -> tuple[float, ...]:
        """The share of each aim in the next proposal; none where there are no aims."""
        if not self.aims:
            return ()
        left, error = self._left(drawn), predictor.predict(self.covariates)
        importance = np.stack([importance_of(aim, error, left) for aim in self.aims])
        return tuple(balanced_shares(importance, floor).tolist())

    def proposal(
        self,
        predictor: LossPredictor,
        drawn: IntArray,
        floor: float | None,
        shares: Sequence[float] = (),
    ) -> FrozenProposal:
        """The proposal for the items that are not drawn yet; uniform without a floor.

        It follows the spread of the loss, or with `shares` that of all aims.
        """
        left = self._left(drawn)
        expected = self.expect(predictor, left, shares)
        if floor is None:
            return replace(expected, weights=np.ones(len(left)))
        return replace(expected, weights=water_fill(expected.weights, floor))

    def expect(
        self,
        predictor: LossPredictor,
        left: IntArray,
        shares: Sequence[float] = (),
        first_row: int = 0,
        pool_size: int | None = None,
    ) -> FrozenProposal:
        """What is expected of the losses of some items; their weights are the spread to follow.

        The items are a run of rows of a pool of `pool_size`, which begins with its `first_row`.
        """
        pool = self.covariates
        error = predictor.predict(pool)
        predicted = error[left]
        effect = np.broadcast_to(self.effect, len(pool))[left]
        noise = np.broadcast_to(self.noise, len(pool))[left] * predicted
        spread = pool.scale * np.hypot(effect * predictor.spread(pool, predicted), np.sqrt(noise))
        third = (effect * pool.scale) ** 3 * predictor.third_moment(pool, predicted)
        control = np.broadcast_to(self.base, len(pool))[left] + effect * predicted * pool.scale
        followed = spread.copy()
        if shares:
            parts = zip(shares, self.aims, strict=True)
            followed = np.sqrt(sum(a * importance_of(aim, error, left) for a, aim in parts))
        chance = None if self.positive is None else self.positive.chance(predicted, left)
        return FrozenProposal(
            first_row + left,
            len(pool) if pool_size is None else pool_size,
            followed,
            control,
            self.bound,
            spread,
            third,
            chance,
            ramp=_RAMP_OF_VERDICTS if pool.from_verdicts else None,
        )

    def _left(self, drawn: IntArray) -> IntArray:
        """The rows that are not drawn yet."""
        return np.delete(np.arange(len(self.covariates)), drawn)


class RunDriver:
    """A driver of a pool whose items come a run of rows at a time, so it need not fit in memory.

    `runs` gives the drivers of all runs in order, and `at` that of some rows. Each fit reads the
    labelled rows, and each proposal makes one pass over the pool, and its draws another one.
    """

    def __init__(
        self,
        pool_size: int,
        runs: Callable[[], Iterable[Driver]],
        at: Callable[[IntArray], Driver],
    ) -> None:
        self._pool_size, self.runs, self._at = pool_size, runs, at
        self._first = next(iter(runs()))

    @property
    def first_predictor(self) -> LossPredictor:
        """The predictor before any label."""
        return self._first.first_predictor

    def fit(
        self,
        rows: IntArray,
        targets: FloatArray,
        weights: FloatArray,
        before: LossPredictor | None = None,
    ) -> LossPredictor:
        """The predictor after these labels; `targets` are what it learns, an item each."""
        if len(rows) < _FIRST_FIT:
            return self.first_predictor
        return self._at(rows).fit(np.arange(len(rows)), targets, weights, before)

    def floor(self, targets: FloatArray) -> float:
        """The floor of the next proposal, which falls with the errors found."""
        return self._first.floor(targets)

    def shares(self, predictor: LossPredictor, drawn: IntArray, floor: float) -> tuple[float, ...]:
        """No shares: metrics are balanced only in pools that are held in memory."""
        return ()

    def proposal(
        self,
        predictor: LossPredictor,
        drawn: IntArray,
        floor: float | None,
        shares: Sequence[float] = (),
    ) -> RunProposal:
        """The proposal for the items that are not drawn yet; uniform without a floor."""
        runs, drawn = partial(self.expect, predictor), np.sort(drawn)
        weights = np.ones(self._pool_size - len(drawn))
        if floor is not None:
            start = 0
            for run in runs():
                first, last = np.searchsorted(drawn, [run.rows[0], run.rows[-1] + 1])
                spread = np.delete(run.weights, drawn[first:last] - run.rows[0])
                weights[start : start + len(spread)] = spread
                start += len(spread)
            water_fill(weights, floor)
        return RunProposal(self._pool_size, drawn, weights, runs)

    def expect(self, predictor: LossPredictor) -> Iterator[FrozenProposal]:
        """What is expected of the losses of all items, a run at a time."""
        start = 0
        for driver in self.runs():
            n = len(driver.covariates)
            yield driver.expect(predictor, np.arange(n), (), start, self._pool_size)
            start += n
