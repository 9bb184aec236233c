"""Weights cut into blocks of rows, added up in one pass, and the rows of them that arrive first.

A weight is a number times e^shift. The shift is 0 for plain weights; for log-weights it is a
multiple of 256, so that weights like e^0 and e^-2000 can be compared and added all the same.

A block of total weight W is a Poisson process of rate W whose arrivals pick rows in proportion to
their weights; only the first arrival of a row counts. A Poisson process has no memory, so after
the last round of arrivals each row that has not arrived gets an exponential waiting time of its
own. That decides blocks in which a few rows hold nearly all the weight.

Every random number has a fixed place in a Philox stream, which depends on (seed, unit, block) only.
So the result does not depend on the bound up to which arrivals are computed, on the split of the
rows over calls, or on threads. Times are logarithms, because weights may be of any size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from levelled._check import FloatArray, IntArray, whole
from levelled.errors import InputError, ProposalError, WeightError

# BLOCK, STRIP and ROUNDS are part of the draws: others give other draws for the same seed, which
# are as good. In a race over 4 million rows, 1,000 draws take as long with half and with twice each
# of these four sizes; 100,000 draws take half as long again with blocks of 16,384 rows.
BLOCK = 4096  # rows that share one Poisson process; a power of two
STRIP = 64  # rows of a block whose sum is kept, to find a row quickly; a power of two
CHUNK = 64  # blocks processed at once: they stay in the cache between the sum and the check
PICKS = 8192  # picks made at once
SPAN = 256.0  # e^-256 is negligible beside 1, yet its square fits a float
# Sums in runs lose digits with the length of a run, not with the number of draws: of 10 million
# terms, runs of 512 to 2,048 lose 4 * 10^-16 of the sum at most, those of 4,096 10^-15, one 10^-13.
RUN = 1024
FARTHEST = 1e9  # a float there has steps of 10^-7: of larger log-weights many would be equal

_Halves = Sequence[Callable[[IntArray], FloatArray]]


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """The weights of a run of rows, with the sums by which a row is picked."""

    weights: FloatArray  # as they were given
    log: bool
    shift: FloatArray  # one a block
    total: FloatArray  # one a block, in units of e^shift
    strips: FloatArray  # [block, strip]: sums, in the same units
    excluded: int  # rows of weight zero
    inverse: FloatArray  # one a block: the sum of 1 / weight, in units of e^-shift; empty if unused
    least: FloatArray  # one a block: the smallest weight above zero, as it was given; likewise

    def rows(self, block: int) -> FloatArray:
        """The weights of one block, as they were given."""
        return self.weights[block * BLOCK : (block + 1) * BLOCK]

    def pick(self, block: IntArray, u: FloatArray) -> IntArray:
        """Pick for each u a row of its block, in proportion to weight."""
        row = np.empty(len(u), np.int64)
        for start in range(0, len(u), PICKS):
            now = slice(start, start + PICKS)
            row[now] = self._pick(block[now], u[now] * self.total[block[now]])
        return row

    def _pick(self, block: IntArray, target: FloatArray) -> IntArray:
        sums, line = self.strips, block
        if len(sums) > len(line):  # few picks: sums of halves are needed for their blocks alone
            sums, line = sums[block], np.arange(len(block))
        at, target = _descend(_all_halves(sums), sums, line, target)
        strip = block * (BLOCK // STRIP) + at
        lines, line = self._lines(strip, block)
        at, _ = _descend(_lazy_halves(lines), lines, line, target)
        return strip * STRIP + at

    def _lines(self, strip: IntArray, block: IntArray) -> tuple[FloatArray, IntArray]:
        """Lines of STRIP weights, in units of e^shift, and the line of each strip."""
        n_whole = len(self.weights) // STRIP
        whole = self.weights[: n_whole * STRIP].reshape(-1, STRIP)
        if not self.log and strip.max() < n_whole:
            return whole, strip
        lines = np.empty((len(strip), STRIP))
        if n_whole:
            # The last strip may be shorter: what "clip" takes in its place is overwritten below.
            whole.take(strip, axis=0, mode="clip", out=lines)
        lines[strip == n_whole] = _fill(self.weights[n_whole * STRIP :], STRIP, _zero(self.log))
        if self.log:
            lines = np.exp(lines - self.shift[block, None])
        return lines, np.arange(len(strip))


def _descend(
    halves: _Halves, lines: FloatArray, line: IntArray, target: FloatArray
) -> tuple[IntArray, FloatArray]:
    """The place in its line of weights at which the running sum passes the target, and the excess.

    A line is halved again and again: the target lies in the left half or, less its sum, in the
    right one. That takes far fewer additions than all running sums.
    """
    place = line
    for sum_at in halves:
        place = 2 * place
        left = sum_at(place)
        right = target >= left
        place, target = place + right, target - left * right
    at = place - line * lines.shape[1]
    lost = lines.reshape(-1).take(place) == 0  # rounding may pass the last weight of a line
    if lost.any():
        at[lost] = lines[line[lost]].argmax(axis=1)
    return at, target


def _all_halves(lines: FloatArray) -> _Halves:
    """Sums of halves, quarters, ... of few lines, all computed beforehand."""
    levels = [lines]
    while levels[-1].shape[1] > 2:
        levels.append(levels[-1][:, 0::2] + levels[-1][:, 1::2])
    return [level.reshape(-1).take for level in reversed(levels) if level.shape[1] > 1]


def _lazy_halves(lines: FloatArray) -> _Halves:
    """Sums of halves, quarters, ... of many lines, computed where they are needed."""
    width = lines.shape[1]
    parts = (lines.reshape(-1, width >> depth) for depth in range(1, width.bit_length()))
    return [partial(_sum_at, part) for part in parts]


def _sum_at(lines: FloatArray, at: IntArray) -> FloatArray:
    return _line_sums(lines.take(at, axis=0))


def _line_sums(lines: FloatArray) -> FloatArray:
    if lines.shape[1] == 1:
        return lines[:, 0]
    sums: FloatArray = np.einsum("ij->i", lines)  # twice as fast as sum for lines this short
    return sums


def cut(weights: FloatArray, *, log: bool, allow_zero: bool, inverses: bool = False) -> Blocks:
    """Cut weights into blocks, refusing those that no race can be run with."""
    n_whole, n_blocks = len(weights) // BLOCK, max(1, -(-len(weights) // BLOCK))
    shift, strips, excluded = np.zeros(n_blocks), np.empty((n_blocks, BLOCK // STRIP)), 0
    inverse, least = np.empty((2, n_blocks if inverses else 0))
    with np.errstate(all="ignore"):  # wrong weights are reported after they have been added
        for first, last in pairwise([*range(0, n_whole, CHUNK), n_whole, n_blocks]):
            chunk = weights[first * BLOCK : last * BLOCK]
            shift[first:last], strips[first:last] = _sums(chunk, last - first, log=log)
            excluded += _count_zeros(chunk, log=log, first_row=first * BLOCK)
            if inverses:
                inverse[first:last], least[first:last] = _inverses(chunk, shift[first:last], log)
    if excluded and not allow_zero:
        at = int(np.argmax(weights == _zero(log)))
        raise WeightError(
            f"{excluded} of {len(weights)} weights are zero, so no weighting can make an estimate "
            f"over the whole pool unbiased. Mix the weights with uniform ones, for example by "
            f"mixture(probabilities, share=0.05), or pass allow_zero=True to leave those items "
            f"out and have them counted as excluded.",
            at,
            float(weights[at]),
        )
    total = _line_sums(strips)
    if np.isinf(total).any() and np.isinf(weights).any():
        at = int(np.argmax(np.isinf(weights)))
        raise _not_a_weight(weights[at], at, log=log)
    check_total(total.max())
    return Blocks(weights, log, shift, total, strips, excluded, inverse, least)


def _sums(chunk: FloatArray, n_blocks: int, *, log: bool) -> tuple[FloatArray | float, FloatArray]:
    """The shift of each block of a chunk, and the sums of its strips."""
    chunk = _fill(chunk, n_blocks * BLOCK, _zero(log))
    shift: FloatArray | float = 0.0
    if log:
        lines = chunk.reshape(-1, BLOCK)
        shift = _shift(lines.max(axis=1))
        chunk = np.exp(lines - shift[:, None])
    return shift, _line_sums(chunk.reshape(-1, STRIP)).reshape(-1, BLOCK // STRIP)


def _inverses(chunk: FloatArray, shift: FloatArray, log: bool) -> tuple[FloatArray, FloatArray]:
    """The sum of 1 / weight of each block of a chunk, and its smallest weight; zeros do not count.

    A sum that does not fit a float is infinite.
    """
    zero = _zero(log)
    lines = _fill(chunk, len(shift) * BLOCK, np.inf).reshape(-1, BLOCK)
    least = lines.min(axis=1)
    if (least == zero).any():
        lines = np.where(lines == zero, np.inf, lines)
        least = lines.min(axis=1)
    each = np.exp(shift[:, None] - lines) if log else 1 / lines
    return each.sum(axis=1), least


def scaled(weights: FloatArray, *, log: bool) -> tuple[FloatArray, FloatArray]:
    """Return weights as (number, shift), each standing for number * e^shift."""
    if not log:
        return weights, np.zeros(len(weights))
    shift = _shift(weights)
    return np.exp(weights - shift), shift


def check_seed(seed: int) -> int:
    """Return a seed that all races take."""
    if whole("seed", seed, least=0) >= 2**128:
        raise InputError(f"seed must be below 2**128; it is {seed}.")
    return int(seed)


def check_total(total: float) -> None:
    """Refuse weights whose sum does not fit a float."""
    if not np.isfinite(total):
        raise ProposalError(
            "The weights add up to more than a float can hold. Divide them by their maximum, or "
            "pass their logarithms (log=True, --log)."
        )


def check_drawable(k: int, pool_size: int, excluded: int) -> None:
    """Refuse more draws than there are items of which each could be drawn."""
    drawable = pool_size - excluded
    if not pool_size:
        raise InputError("The pool is empty: there is nothing to draw from.")
    if not drawable:
        raise ProposalError(f"All {pool_size} weights are zero, so no item can be drawn.")
    if k > drawable:
        raise InputError(
            f"{k} draws without replacement are wanted, but only {drawable} of {pool_size} items "
            f"can be drawn."
        )


def _shift(log_weights: FloatArray) -> FloatArray:
    possible = log_weights > -np.inf
    return np.ceil(log_weights / SPAN, out=np.zeros_like(log_weights), where=possible) * SPAN


def _zero(log: bool) -> float:
    return -np.inf if log else 0.0


def _fill(weights: FloatArray, length: int, value: float) -> FloatArray:
    if len(weights) == length:
        return weights
    filled = np.full(length, value)
    filled[: len(weights)] = weights
    return filled


def _count_zeros(chunk: FloatArray, *, log: bool, first_row: int) -> int:
    # One comparison is enough in the usual case. NaN fails it too, and infinity shows in the sums.
    # It comes after the sums because it is the quicker of the two when the chunk is in the cache.
    if not len(chunk) or (not log and chunk.min() > 0):
        return 0
    zero = np.isneginf(chunk) if log else chunk == 0
    good = zero | (np.abs(chunk) <= FARTHEST if log else chunk > 0)
    if good.all():
        return int(np.count_nonzero(zero))
    at = int(np.argmin(good))
    raise _not_a_weight(chunk[at], first_row + at, log=log)


def _not_a_weight(value: float, row: int, *, log: bool) -> WeightError:
    return WeightError(f"{wanted(log=log)}; weights[{row}] is {value}.", row, float(value))


def wanted(*, log: bool) -> str:
    """The beginning of a sentence that says what weights may be."""
    if log:
        return f"Log-weights must be numbers within ±{FARTHEST:g}, or -inf for weight zero"
    return "Weights must be finite and >= 0"


def probabilities(
    weight: FloatArray, shift: FloatArray, rest: float, rest_shift: float
) -> FloatArray:
    """The probability of each draw, from the weights of the draws and of what was never drawn.

        q_m = w_m / (rest + w_M + ... + w_m)

    Weights are in units of e^shift. They are added from the last draw back to the first, never
    subtracted, in the largest unit so far.
    """
    weight, shift = weight[::-1], shift[::-1]
    unit = np.maximum.accumulate(np.append(rest_shift, shift))[1:]
    term = weight * np.exp(shift - unit)
    left = np.empty(len(term))
    for begin, end in pairwise([0, *np.flatnonzero(unit[1:] != unit[:-1]) + 1, len(unit)]):
        if end:  # there are draws
            start = rest * np.exp(rest_shift - unit[begin])
            left[begin:end] = running_sum(term[begin:end], start=start)
            rest, rest_shift = left[end - 1], unit[begin]
    return (term / left)[::-1]


def running_sum(terms: FloatArray, *, start: float) -> FloatArray:
    """The sums start + terms[0] + ... + terms[m], accurate however many there are.

    >>> running_sum(np.array([1.0, 2.0]), start=0.5)
    array([1.5, 3.5])
    """
    if len(terms) <= RUN:
        return np.cumsum(np.append(start, terms))[1:]
    within = np.cumsum(np.append(terms, np.zeros(-len(terms) % RUN)).reshape(-1, RUN), axis=1)
    before = np.append(start, running_sum(within[:-1, -1], start=start))
    return np.asarray(before[:, None] + within).reshape(-1)[: len(terms)]


# Arrivals of a block made at once; even, because words come in fours. Few first, because most
# blocks need no more: 256 at once take three times as long for 1,000 draws. Then each row gets a
# time of its own, which ends the rounds of a block where a few rows hold nearly all the weight.
ROUNDS = (4, 60, 192)

_Words = NDArray[np.uint64]
_EXTREME = 1e150  # a ratio of weights that is still far from where floats lose digits
_SAMPLE = 256  # rows that the first bound is estimated from
_ROW_STREAM = 0  # the stream of the rows; those of the rounds are 1, 2, ...


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
        return self._words(_ROW_STREAM, (self.first_block + block) * BLOCK, n)

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
    # k arrivals and 2.5 standard deviations of their number to spare; 1 race of 160 has too few,
    # and the search goes on. This and the factors below cost or save time, and change no draw.
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
        # 0.1% to spare for rounding: what passes is compared exactly below.
        too_late = (wait * ratio > 1.001 * np.exp(log_bound + log_rate)) & (ratio < _EXTREME)
    row = np.flatnonzero(~too_late & (weights > (-np.inf if pool.log else 0.0)))
    weight, shift = scaled(weights[row], log=pool.log)
    log_wait = np.log(wait[row]) - np.log(weight) - shift
    log_time = np.logaddexp(np.log(start) - log_rate, log_wait)
    in_time = log_time <= log_bound
    return block * BLOCK + row[in_time], log_time[in_time]


def _first_of_each(row: IntArray, log_time: FloatArray) -> tuple[IntArray, FloatArray]:
    order = np.argsort(row)
    row = row[order]
    # The slice makes it right for no rows at all, of which the first is none.
    start = np.flatnonzero(np.append(True, row[1:] != row[:-1])[: len(row)])
    return row[start], np.minimum.reduceat(log_time[order], start)
