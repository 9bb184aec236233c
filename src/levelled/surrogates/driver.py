"""The loss that drives the draws of a campaign, and how it follows from what is learnt.

Proposals follow the spread of each item's loss, with a floor that falls. For several metrics, the
one that loses most by the proposal loses as little as it can. As the predictor expects it, the
estimate of metric k has the variance

    V_k(q) = 1/N^2 sum_n s_k(n)^2 / q(n)

with s_k^2 the variance of a loss, or its mean square where the estimate has no control. Let V*_k
be its smallest value, that of a proposal for this metric alone. The largest V_k(q) / V*_k is
smallest at some q in proportion to sqrt(sum_k a_k s_k^2), with shares a_k that make these ratios
equal for all metrics with a_k > 0.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from levelled._check import BoolArray, FloatArray, IntArray
from levelled.samplers import ClassChance, FrozenProposal, RunProposal
from levelled.surrogates.covariates import Covariates
from levelled.surrogates.predictor import LossPredictor, fit_predictor, prior_predictor

# The floor is the least probability of an item in units of 1 / N. One from the running variance of
# the estimate did worse. In the study constants the variance of the estimate changes by:
_LEAST_FLOOR = 0.2  # after many errors: half 0, twice 0
_FIRST_FLOOR = 0.75  # before any: half +4%, and +19% where scores tell nothing; 1 instead +21%
_HALVED_AT = 10.0  # errors after which it is half of the first: half +1%, twice 0
_STEPS = 100  # bound of a loop that ends by itself
_BLOCK = 1 << 20
"""Items added up at once, so that intermediate results need little memory."""
GUARANTEED_FLOOR = 0.75  # study constants: half +65%, 1 instead +54% of squared width, +-16%
"""The floor where an interval must hold whatever the predictor is worth: errors hidden where the
floor is c are found no sooner than in 1 / c times the labels of uniform draws."""
_BALANCING_STEPS, _GAP = 200, 1e-3  # tolerance of the shares
_SAMPLED = 20_000
"""About so many items decide the shares."""


def floor_after(errors: float) -> float:
    """The floor of the proposal once so many errors have been found.

    The more evidence there is, the more the predictor is trusted with.

    >>> [round(floor_after(n), 3) for n in (0, 10, 100)]
    [0.75, 0.375, 0.2]
    """
    return max(_LEAST_FLOOR, _FIRST_FLOOR / (1 + errors / _HALVED_AT))


def water_filled(spread: FloatArray, floor: float, out: FloatArray | None = None) -> FloatArray:
    """Probabilities in proportion to max(spread, t), with t so that the least is floor / N.

    Small spreads are lifted, and large ones keep their proportions. `out` is as in NumPy.

    >>> water_filled(np.array([0.0, 0.1, 0.4]), 0.5).round(3)
    array([0.167, 0.167, 0.667])
    """
    n, t = len(spread), 0.0  # the level, by Newton's method on a convex, piecewise linear function
    for _ in range(_STEPS):
        total, count = 0.0, 0  # of the spreads above t
        for start in range(0, n, _BLOCK):
            some = spread[start : start + _BLOCK]
            above = some > t
            total += float(some[above].sum())
            count += int(np.count_nonzero(above))
        slope = n / floor - (n - count)
        new = total / slope if slope > 0 else float(spread.max())
        if new <= t * (1 + 1e-12):  # rounding
            break
        t = new
    filled = np.maximum(spread, t, out=out)
    total = filled.sum()
    return np.divide(filled, total, out=filled) if total > 0 else np.full(n, 1 / n)


@dataclass(frozen=True, slots=True, eq=False)
class ClassShare:
    """Where a class is predicted, and its share among the other classes where it is not.

    Without the share, what is learnt is the chance of the class itself, not that of an error.
    """

    predicted: BoolArray
    among_others: FloatArray | None = None

    def chance(self, learnt: FloatArray, rows: IntArray) -> ClassChance:
        """The chance of the class for these rows of the run, from what was learnt of them.

        >>> spam = ClassShare(np.array([True, False, False]), np.array([0.0, 1.0, 0.5]))
        >>> spam.chance(np.array([0.1, 0.2, 0.2]), np.arange(3)).chance
        array([0.9, 0.2, 0.1])
        """
        predicted = self.predicted[rows]
        if self.among_others is not None:
            learnt = np.where(predicted, 1 - learnt, self.among_others[rows] * learnt)
        return ClassChance(learnt, predicted)


@dataclass(frozen=True, slots=True, eq=False)
class AverageAim:
    """The mean of a loss that is `base` without an error and `effect` more with one.

    `noise` is the variance of the loss given an error. `has_control` is True where the estimate of
    the metric uses the predictor.
    """

    base: FloatArray | float
    effect: FloatArray | float
    noise: FloatArray | float
    has_control: bool

    def moments(self, error: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mean and the variance of each item's loss, from the errors predicted in the pool."""
        variance = self.effect**2 * error * (1 - error) + self.noise * error
        return self.base + self.effect * error, variance


@dataclass(frozen=True, slots=True, eq=False)
class RatioAim:
    """A ratio theta = A / D of one class, whose loss is its influence A - theta D.

    `outcomes` [2, 2, 2] are A and D of an item predicted to be of the class and of another one,
    each if its label is not of the class and if it is. theta is what the errors predict.
    """

    share: ClassShare
    outcomes: FloatArray
    has_control: bool

    def moments(self, error: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mean and the variance of each item's influence.

        >>> mail = ClassShare(np.array([True, False]), np.array([0.0, 1.0]))
        >>> recall = RatioAim(mail, np.array([[[0, 0], [1, 1]], [[0, 0], [0, 1.0]]]), True)
        >>> [column.round(3).tolist() for column in recall.moments(np.array([0.2, 0.2]))]
        [[0.16, -0.16], [0.006, 0.102]]
        """
        h = self.share.chance(error, np.arange(len(error))).chance
        base, effect = self.outcomes[:, 0], self.outcomes[:, 1] - self.outcomes[:, 0]
        part = np.where(self.share.predicted, 0, 1)
        A, D = (base[part] + effect[part] * h[:, None]).sum(axis=0).tolist()
        influence = np.array([1.0, -A / D if D else 0.0])
        slope = (effect @ influence)[part]
        return (base @ influence)[part] + slope * h, slope**2 * h * (1 - h)


Aim = AverageAim | RatioAim
"""A metric that draws are to serve, whose loss follows from the chance of an error."""


def importance_of(aim: Aim, error: FloatArray, left: IntArray) -> FloatArray:
    """s^2 of the items left over its mean, for one metric; 0 for one that cannot vary."""
    mean, variance = (column[left] for column in aim.moments(error))
    square = variance if aim.has_control else variance + mean**2
    return square / max(float(square.mean()), np.finfo(float).tiny)


def balanced_shares(importance: FloatArray, floor: float) -> FloatArray:
    """The shares a [K] under which the largest V_k / V*_k is smallest, from s_k^2 [K, N].

    For given shares the best proposal with a floor is a water-filled one. Its V_k / V*_k are the
    slope of a concave function of a_k V*_k, homogeneous of degree 1. Shares grow in proportion
    to them until the largest ratio is their mean, but for 1 in 1,000.

    >>> balanced_shares(np.array([[1.0, 1.0, 4.0], [1.0, 9.0, 1.0]]), 0.2).round(2)
    array([0.61, 0.39])
    """
    some = importance[:, :: max(importance.shape[1] // _SAMPLED, 1)]
    alone = np.array([s @ (1 / water_filled(np.sqrt(s), floor)) for s in some])
    units = np.divide(1, alone, out=np.zeros(len(some)), where=alone > 0)
    shares = np.full(len(some), 1 / len(some))
    for _ in range(_BALANCING_STEPS):
        balanced = water_filled(np.sqrt((shares * units) @ some), floor)
        ratios = units * (some @ (1 / balanced))
        mean = float(shares @ ratios)
        if ratios.max() <= (1 + _GAP) * mean:
            break
        shares = shares * ratios / mean
    total = float((shares * units).sum())
    return shares * units / total if total > 0 else shares


_Run = TypeVar("_Run", bound=Sized)
_RAMP_OF_VERDICTS = 0.05  # study constants: half 0, twice 0
"""Beside verdicts the predictor is nearly as good at the first draws as at the last."""
_NO_LABELS = (np.empty(0, dtype=np.int64), np.empty(0))
_MOST_KNOWN = 20.0  # STATISTICS
"""The labels that those known without a draw count as at the most, while fewer are drawn."""
_FIRST_FIT, _LEAST_ROUND, _ROUNDS = 10, 5, 10  # study constants: half and twice at most 2%
"""Labels of the first fit, the fewest between two fits, and the part of the labels, a tenth, that
is drawn between two later ones."""


def next_round_size(n_drawn: int) -> int:
    """The number of draws until the predictor is fitted again.

    >>> [next_round_size(n) for n in (0, 10, 100, 1000)]
    [10, 5, 10, 100]
    """
    return _FIRST_FIT if n_drawn == 0 else max(_LEAST_ROUND, n_drawn // _ROUNDS)


def keep_single(runs: Callable[[], Iterable[_Run]], pool_size: int) -> Callable[[], Iterable[_Run]]:
    """The same passes over runs; a single run with the whole pool is made once and kept."""
    first = next(iter(runs()))
    return (lambda: (first,)) if len(first) == pool_size else runs


@dataclass(frozen=True, slots=True, eq=False)
class LossRun:
    """A run of items, each with a loss whose expectation is base + effect x prediction.

    The predictor learns the loss itself, or an error of which the loss is a consequence; `noise`
    is then the variance of the loss given an error, for example between the wrong classes.
    `bound` is the largest loss, if there is one. From errors follow also the losses of the metrics
    that the draws are to balance (`aims`).
    """

    covariates: Covariates
    base: FloatArray | float = 0.0
    effect: FloatArray | float = 1.0
    bound: float | None = 1.0
    positive: ClassShare | None = None
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
        predictor : The predictor of what is learnt.
        left : The items, by their places in this run.
        first_row, pool_size : The row of the pool with which the run begins, and the number of all
            its rows.
        shares : The share of each aim: the weights then follow the spread of all of them.
        """
        pool, scale, n = self.covariates, self.covariates.scaling.scale, len(self)
        error = predictor.predict(pool)
        predicted, effect = error[left], np.broadcast_to(self.effect, n)[left]
        noise = np.broadcast_to(self.noise, n)[left] * predicted
        spread = scale * np.hypot(effect * predictor.spread(pool, predicted), np.sqrt(noise))
        third = (effect * scale) ** 3 * predictor.third_moment(pool, predicted)
        followed = spread
        if shares:
            parts = zip(shares, self.aims, strict=True)
            followed = np.sqrt(sum(a * importance_of(aim, error, left) for a, aim in parts))
        return FrozenProposal(
            first_row + left,
            pool_size,
            followed,
            np.broadcast_to(self.base, n)[left] + effect * predicted * scale,
            self.bound,
            spread,
            third,
            None if self.positive is None else self.positive.chance(predicted, left),
            ramp=_RAMP_OF_VERDICTS if pool.scaling.from_verdicts else None,
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
        self._pool_size, self.runs = pool_size, keep_single(runs, pool_size)
        self.first = next(iter(self.runs()))
        self.is_one_run = len(self.first) == pool_size
        self._at = self.first.covariates.at if at is None or self.is_one_run else at

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
        known: tuple[IntArray, FloatArray] = _NO_LABELS,
    ) -> LossPredictor:
        """The predictor after these labels.

        Parameters
        ----------
        rows : The labelled items.
        targets : What is learnt of each of them.
        weights : The factors that undo the choice of the items, as in `fit_predictor`.
        before : An earlier fit to begin from.
        known : Items whose labels are known without a draw, and what is learnt of each.
        """
        known_rows, known_targets = known
        if len(rows) < _FIRST_FIT and len(known_rows) < _FIRST_FIT:
            return self.first_predictor
        n, every = len(rows), np.concatenate([rows, known_rows])
        if not len(known_rows):
            return fit_predictor(self._at(rows), np.arange(n), targets, weights, before)
        # Known labels may be of any choice of items, so they count no more than the drawn ones.
        share = min(1.0, max(_MOST_KNOWN, n) / len(known_rows)) * (weights.mean() if n else 1.0)
        return fit_predictor(
            self._at(every),
            np.arange(len(every)),
            np.concatenate([targets, known_targets]),
            np.concatenate([weights, np.full(len(known_rows), share)]),
            before,
            n_drawn=n if n >= _FIRST_FIT else 0,
        )

    def floor(self, targets: FloatArray) -> float:
        """The floor of the next proposal, which falls with the errors found.

        Losses without a bound count as (sum L)^2 / sum L^2 errors.
        """
        errors = float(targets.sum())
        if not self.first.covariates.scaling.family.is_bounded and errors > 0:
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
        predictor : What it follows: the spread of the loss that this predictor expects.
        drawn : The rows of the items drawn so far.
        floor : The least probability of an item, times the items left; None for the uniform
            proposal.
        shares : The share of each aim, if the proposal follows the spread of all aims.
        """
        drawn = np.sort(drawn)
        runs = partial(self._expect, predictor, drawn, shares)
        if self.is_one_run:
            runs = partial(iter, [*runs()])
        weights = np.ones(self._pool_size - len(drawn))
        if floor is not None:
            start = 0
            for run in runs():
                weights[start : start + len(run.rows)] = run.weights
                start += len(run.rows)
            weights = water_filled(weights, floor, out=weights)
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
