"""The loss that drives the draws of a campaign, and how it follows from what is learnt."""

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from levelled._check import FloatArray, IntArray
from levelled.samplers import FrozenProposal, RunProposal
from levelled.surrogates.covariates import Covariates
from levelled.surrogates.predictor import LossPredictor, fit_predictor, prior_predictor
from levelled.surrogates.proposal import (
    Aim,
    ClassShare,
    LearntClass,
    balanced_shares,
    floor_after,
    importance_of,
    water_fill,
)

_Run = TypeVar("_Run", bound=Sized)
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


def keep_single(runs: Callable[[], Iterable[_Run]], pool_size: int) -> Callable[[], Iterable[_Run]]:
    """The same passes over runs; a single run with the whole pool is made once and kept."""
    first = next(iter(runs()))
    return (lambda: (first,)) if len(first) == pool_size else runs


@dataclass(frozen=True, slots=True, eq=False)
class LossRun:
    """A run of items, each with a loss whose expectation is base + effect x prediction.

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

    def __len__(self) -> int:
        return len(self.covariates)

    def expect(
        self,
        predictor: LossPredictor,
        left: IntArray,
        first_row: int,
        pool_size: int,
        shares: Sequence[float] = (),
    ) -> FrozenProposal:
        """What is expected of the losses of some items; their weights are the spread to follow.

        Parameters
        ----------
        predictor
            The predictor of what is learnt.
        left
            The items, by their places in this run.
        first_row, pool_size
            The row of the pool with which the run begins, and the number of all its rows.
        shares
            The share of each aim: the weights then follow the spread of all of them.
        """
        pool, n = self.covariates, len(self)
        error = predictor.predict(pool)
        predicted, effect = error[left], np.broadcast_to(self.effect, n)[left]
        noise = np.broadcast_to(self.noise, n)[left] * predicted
        spread = pool.scale * np.hypot(effect * predictor.spread(pool, predicted), np.sqrt(noise))
        third = (effect * pool.scale) ** 3 * predictor.third_moment(pool, predicted)
        followed = spread
        if shares:
            parts = zip(shares, self.aims, strict=True)
            followed = np.sqrt(sum(a * importance_of(aim, error, left) for a, aim in parts))
        return FrozenProposal(
            first_row + left,
            pool_size,
            followed,
            np.broadcast_to(self.base, n)[left] + effect * predicted * pool.scale,
            self.bound,
            spread,
            third,
            None if self.positive is None else self.positive.chance(predicted, left),
            ramp=_RAMP_OF_VERDICTS if pool.from_verdicts else None,
        )


class Driver:
    """The loss that decides what is drawn, of the items of a pool that come in runs of rows.

    `runs` gives all runs in order, and `at` the covariates of some rows. So a pool need not fit in
    memory: each fit reads the labelled rows, each proposal makes one pass over the pool, and its
    draws another one. A single run with the whole pool is kept, and needs no `at`.
    """

    def __init__(
        self,
        pool_size: int,
        runs: Callable[[], Iterable[LossRun]],
        at: Callable[[IntArray], Covariates] | None = None,
    ) -> None:
        self._pool_size = pool_size
        self.first = first = next(iter(runs()))
        self.is_one_run = len(first) == pool_size
        if self.is_one_run:
            runs, at = lambda: (first,), first.covariates.at
        assert at is not None
        self.runs, self._at = runs, at

    @property
    def first_predictor(self) -> LossPredictor:
        """The predictor before any label."""
        return prior_predictor(self.first.covariates)

    def fit(
        self,
        rows: IntArray,
        targets: FloatArray,
        weights: FloatArray,
        before: LossPredictor | None = None,
    ) -> LossPredictor:
        """The predictor after these labels.

        Parameters
        ----------
        rows
            The labelled items.
        targets
            What is learnt of each of them.
        weights
            The factors that undo the choice of the items, as in `fit_predictor`.
        before
            An earlier fit to begin from.
        """
        if len(rows) < _FIRST_FIT:
            return self.first_predictor
        return fit_predictor(self._at(rows), np.arange(len(rows)), targets, weights, before)

    def floor(self, targets: FloatArray) -> float:
        """The floor of the next proposal, which falls with the errors found.

        Losses without a bound count as (sum L)^2 / sum L^2 errors.
        """
        errors = float(targets.sum())
        if not self.first.covariates.family.is_bounded and errors > 0:
            errors = errors**2 / float(np.sum(targets**2))
        return floor_after(errors)

    def shares(self, predictor: LossPredictor, drawn: IntArray, floor: float) -> tuple[float, ...]:
        """The share of each aim in the next proposal; none where there are no aims.

        Aims are weighed against each other over all items at once, so those of a single run.
        """
        if not self.first.aims:
            return ()
        error = predictor.predict(self.first.covariates)
        left = np.delete(np.arange(self._pool_size), drawn)
        importance = np.stack([importance_of(aim, error, left) for aim in self.first.aims])
        return tuple(balanced_shares(importance, floor).tolist())

    def proposal(
        self,
        predictor: LossPredictor,
        drawn: IntArray,
        floor: float | None,
        shares: Sequence[float] = (),
    ) -> RunProposal:
        """The proposal for the items that are not drawn yet.

        Parameters
        ----------
        predictor
            What it follows: the spread of the loss that this predictor expects.
        drawn
            The rows of the items drawn so far.
        floor
            The least probability of an item, times the items left; None for the uniform proposal.
        shares
            The share of each aim, if the proposal follows the spread of all aims.
        """
        drawn = np.sort(drawn)
        runs: Callable[[], Iterable[FrozenProposal]]
        runs = partial(self._expect, predictor, drawn, shares)
        if self.is_one_run:
            only = [*runs()]
            runs = lambda: only  # noqa: E731
        weights = np.ones(self._pool_size - len(drawn))
        if floor is not None:
            start = 0
            for run in runs():
                weights[start : start + len(run.rows)] = run.weights
                start += len(run.rows)
            water_fill(weights, floor)
        return RunProposal(self._pool_size, drawn, weights, runs)

    def _expect(
        self, predictor: LossPredictor, drawn: IntArray, shares: Sequence[float]
    ) -> Iterator[FrozenProposal]:
        """What is expected of the losses of the items left, a run at a time."""
        start = 0
        for run in self.runs():
            first, last = np.searchsorted(drawn, [start, start + len(run)])
            left = np.delete(np.arange(len(run)), drawn[first:last] - start)
            yield run.expect(predictor, left, start, self._pool_size, shares)
            start += len(run)
