"""The rows that arrive first: the random part of a race, which depends on (seed, unit, block) only.

A block of total weight W is a Poisson process of rate W whose arrivals pick rows in proportion to
their weights; only the first arrival of a row counts. A Poisson process has no memory, so after
the last round of arrivals each row that has not arrived gets an exponential waiting time of its
own. That decides blocks in which a few rows hold nearly all the weight.

Every random number has a fixed place in a Philox stream, so the result does not depend on the
bound up to which arrivals are computed, on the split of the rows over calls, or on threads. Times
are logarithms, because weights may be of any size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from levelled._check import FloatArray, IntArray
from levelled.samplers import blocks
from levelled.samplers.blocks import Blocks, scaled

ROUNDS = (4, 60, 192)  # arrivals of a block made at once; even, because words come in fours
# Other rounds, or other blocks and strips, would give other draws for the same seed.

_Words = NDArray[np.uint64]
_EXTREME = 1e150  # a ratio of weights that is still far from where floats lose digits
_SAMPLE = 256  # rows that the first bound is estimated from
_ROWS = 0  # the stream of the rows; those of the rounds are 1, 2, ...


@dataclass(frozen=True, slots=True)
class Source:
    """Random numbers for a run of blocks, the first of which has number `first_block`."""

    seed: int
    unit: int
    first_block: int

    def for_blocks(self, stream: int, block: IntArray, width: int) -> tuple[_Words, _Words]:
        """Twice `width` words for each block: for the gaps between arrivals and for the picks."""
        n, size = int(block[-1]) + 1, 2 * width
        if 16 * len(block) > n:
            words = self._words(stream, self.first_block * size, n * size).reshape(n, size)[block]
        else:  # jumping to each place is quicker
            places = (self.first_block + block) * size
            words = np.stack([self._words(stream, place, size) for place in places.tolist()])
        return words[:, :width], words[:, width:]

    def for_rows(self, block: int, n: int) -> _Words:
        """A word for each of the first n rows of one block."""
        return self._words(_ROWS, (self.first_block + block) * blocks.BLOCK, n)

    def _words(self, stream: int, place: int, n: int) -> _Words:
        counter = np.array([place // 4, stream, self.unit, 0], dtype=np.uint64)
        return np.asarray(np.random.Philox(key=self.seed, counter=counter).random_raw(n))


def uniform(words: _Words) -> FloatArray:
    """Numbers strictly between 0 and 1, so that their logarithms are finite and not zero."""
    return np.asarray(((words >> np.uint64(12)) + 0.5) * 2.0**-52, dtype=np.float64)


def leaders(
    pool: Blocks, k: int, source: Source, log_until: float = np.inf
) -> tuple[IntArray, FloatArray]:
    """The first k rows to arrive (or all, if there are fewer) and their times, in order.

    Arrivals are computed up to a time by which k rows should have arrived; it is raised until
    they have. Rows that arrive after `log_until` are left out.
    """
    n = len(pool.weights) - pool.excluded
    k = min(k, n)
    if not k:
        return np.empty(0, np.int64), np.empty(0)
    with np.errstate(divide="ignore"):
        log_rate = np.log(pool.total) + pool.shift
    log_bound, step = min(_guess(pool, log_rate, k, n), log_until), np.log(2)
    row, log_time = _between(-np.inf, log_bound, pool, log_rate, source)
    while len(row) < k and log_bound < log_until:
        log_since, log_bound, step = log_bound, min(log_bound + step, log_until), 2 * step
        more = _between(log_since, log_bound, pool, log_rate, source)
        row, log_time = _first_of_each(np.append(row, more[0]), np.append(log_time, more[1]))
    order = np.argsort(log_time)
    ordered = log_time[order]
    if (ordered[1:] == ordered[:-1]).any():  # by row then; a stable sort takes four times as long
        order = np.argsort(log_time, kind="stable")
    return row[order[:k]], log_time[order[:k]]


def _guess(pool: Blocks, log_rate: FloatArray, k: int, n: int) -> float:
    """A time T by which k of n rows have most likely arrived: mean(1 - exp(-w T)) = k / n.

    T is solved for equal weights first, then corrected for the weights of a sample of the rows.
    """
    share = (k + 2.5 * np.sqrt(k) + 8) / n
    if share >= 1:
        return np.inf
    top = log_rate.max()
    log_time = np.log(-1.05 * n * np.log1p(-share)) - top - np.log(np.exp(log_rate - top).sum())
    sample = pool.weights[:: -(-len(pool.weights) // _SAMPLE)]
    weight, shift = scaled(sample[sample > (-np.inf if pool.log else 0.0)], log=pool.log)
    log_weight = np.log(weight) + shift
    with np.errstate(over="ignore"):
        for _ in range(10 * bool(len(weight))):
            arrived = 1 - np.exp(-np.exp(log_weight + log_time))
            reached = arrived.mean() - arrived.std() / np.sqrt(len(arrived))
            if reached > share:
                break
            log_time += np.log(1.02 * share / max(reached, 1e-9))
    return float(log_time)


def _between(
    log_since: float, log_bound: float, pool: Blocks, log_rate: FloatArray, source: Source
) -> tuple[IntArray, FloatArray]:
    """The rows that arrive after one bound and by another, in order of row, and their times."""
    picked, times = [], []
    block, waited = np.flatnonzero(log_rate > -np.inf), np.zeros(1)
    for stream, width in enumerate(ROUNDS, start=1):
        if len(block):
            for_gap, for_pick = source.for_blocks(stream, block, width)
            gap = -np.log(uniform(for_gap))
            gap[:, 0] += waited
            wait = np.cumsum(gap, axis=1)
            log_time = np.log(wait) - log_rate[block, None]
            now = (log_time > log_since) & (log_time <= log_bound)
            picked.append((block[np.nonzero(now)[0]], uniform(for_pick[now])))
            times.append(log_time[now])
            late = log_time[:, -1] <= log_bound
            block, waited = block[late], wait[late, -1]
    rows = [pool.pick(*(np.concatenate(column) for column in zip(*picked, strict=True)))]
    for one, start in zip(block.tolist(), waited.tolist(), strict=True):
        row, log_time = _row_by_row(pool, one, start, log_rate[one], log_bound, source)
        rows.append(row)
        times.append(log_time)
    return _first_of_each(np.concatenate(rows), np.concatenate(times))


def _row_by_row(
    pool: Blocks, block: int, start: float, log_rate: float, log_bound: float, source: Source
) -> tuple[IntArray, FloatArray]:
    """The time of each row of a block after its last arrival: t_i = start / W + wait_i / w_i.

    Rows that have arrived before get a time as well, but theirs is earlier and counts.
    """
    weights = pool.rows(block)
    wait = -np.log(uniform(source.for_rows(block, len(weights))))
    with np.errstate(divide="ignore", over="ignore"):
        # Most rows are far too late; no logarithm is needed to see it unless a weight is extreme.
        ratio = pool.total[block] / (np.exp(weights - pool.shift[block]) if pool.log else weights)
        too_late = (wait * ratio > 1.001 * np.exp(log_bound + log_rate)) & (ratio < _EXTREME)
    row = np.flatnonzero(~too_late & (weights > (-np.inf if pool.log else 0.0)))
    weight, shift = scaled(weights[row], log=pool.log)
    log_wait = np.log(wait[row]) - np.log(weight) - shift
    log_time = np.logaddexp(np.log(start) - log_rate, log_wait)
    in_time = log_time <= log_bound
    return block * blocks.BLOCK + row[in_time], log_time[in_time]


def _first_of_each(row: IntArray, log_time: FloatArray) -> tuple[IntArray, FloatArray]:
    order = np.argsort(row)
    row = row[order]
    start = np.flatnonzero(np.append(True, row[1:] != row[:-1])[: len(row)])
    return row[start], np.minimum.reduceat(log_time[order], start)
