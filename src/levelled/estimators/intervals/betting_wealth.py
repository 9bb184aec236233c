"""Wealth: what gamblers who bet against each candidate value have made of one unit so far.

A candidate is a value that the pool average might have. Against each candidate stand gamblers
on two sides: those `below` win when the average lies above the candidate (the candidate is too
low), those `above` win when it lies below. If a candidate is the truth their games are fair, so
by Ville's inequality the average wealth of a side ever reaches K with probability at most 1/K. A
candidate that has made its gamblers rich is therefore rejected, for good.

A unit staked pays a ratio of two lines in the side's own coordinate t,

    payoff(t) = (a + b t) / (c t - e),    a c + b e >= 0,

which never rises with t, and a gambler who stakes the fraction f multiplies its wealth by
1 + f (payoff - 1). So wealth never rises with t either: whatever lies beyond a rejected
candidate would be rejected too, and the nearest rejected candidates are limits that hold at any
spacing of the candidates.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from levelled._check import BoolArray, FloatArray

__all__ = [
    "EVEN",
    "N_CANDIDATES",
    "Bet",
    "Sides",
    "Variants",
    "Wealth",
    "candidates",
    "grown",
    "opened",
    "packed",
    "rejected",
    "step",
    "table",
    "unpacked",
]

FRACTIONS: FloatArray = np.geomspace(0.02, 0.95, 6)
"""The shares of their money that gamblers stake; more of them would dilute the lucky one."""
N_CANDIDATES = 800
_LEAST = 1e-150

Bet = tuple[float | FloatArray, float | FloatArray, float | FloatArray, float | FloatArray]
Sides = tuple[Mapping[str, Bet], Mapping[str, Bet]]
"""The bets of one label by variant, below and above."""
Variants = tuple[tuple[str, ...], tuple[str, ...]]
"""Who was given money at the start, below and above."""
EVEN: Bet = (1.0, 0.0, 0.0, -1.0)
"""A bet that pays back the stake whatever t is: what a variant does that cannot bet."""

ROUNDING = 1e-12
_POOR, _CLEAN_UP = 1e-200, 64
# A factor is at least 0.1, so wealth that is cleaned up every 64 labels never gets down to the
# subnormal numbers, which are slow. Money thrown away cannot void the guarantee.
_FEW = 100
"""With fewer candidates left, their spacing would begin to show in the limits."""


@dataclass(frozen=True, slots=True, eq=False)
class Wealth:
    """The candidates that are left, and the wealth against each.

    `amounts` are [variants, fractions, candidates]; the first `n_below` variants bet below.
    `low` and `high` are the nearest rejected candidates, or the ends of what is possible.
    """

    left: FloatArray
    amounts: FloatArray
    n_below: int
    low: float
    high: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values from which `from_dict` restores every bit."""
        return {
            "low": self.low,
            "high": None if np.isinf(self.high) else self.high,
            "n_below": self.n_below,
            "left": packed(self.left),
            "amounts": packed(self.amounts),
        }

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any], n_variants: int) -> "Wealth":
        """What `to_dict` wrote."""
        left = unpacked(kept["left"])
        amounts = unpacked(kept["amounts"]).reshape(n_variants, len(FRACTIONS), len(left))
        high = np.inf if kept["high"] is None else float(kept["high"])
        return cls(left, amounts, int(kept["n_below"]), float(kept["low"]), high)


def opened(left: FloatArray, variants: Variants, low: float, high: float) -> Wealth:
    """Everybody starts with one unit against every candidate."""
    below, above = variants
    amounts = np.ones((len(below) + len(above), len(FRACTIONS), len(left)))
    return Wealth(left, amounts, len(below), low, high)


def step(
    wealth: Wealth, bets: FloatArray, *, m: int, level: float, scale: float, mirror: float = 0.0
) -> Wealth:
    """The wealth after the bets [4, variants, 1] of label `m`, without what it rejects.

    The coordinate is t = candidate below and t = mirror - candidate above. `scale` is the size
    of a loss, against which rounding is judged. A candidate rejected on one side is dropped on
    both. The cost does not depend on m.
    """
    n_below = wealth.n_below
    t = np.empty((len(wealth.amounts), len(wealth.left)))
    t[:n_below], t[n_below:] = wealth.left, mirror - wealth.left
    amounts, impossible = grown(wealth.amounts, t, bets, m=m, scale=scale)
    too_low, too_high = rejected(amounts, impossible, n_below, level)
    first, last = 0, len(wealth.left)
    low, high = wealth.low, wealth.high
    if too_low.any():
        first = last - int(too_low[::-1].argmax())
        low = float(wealth.left[first - 1])
    if too_high.any():
        last = int(too_high.argmax())
        high = max(low, float(wealth.left[last]))
    kept = slice(first, max(first, last))
    wealth = Wealth(wealth.left[kept], amounts[..., kept], n_below, low, high)
    return _refined(wealth) if 1 < len(wealth.left) < _FEW else wealth


def grown(
    amounts: FloatArray, t: FloatArray, bets: FloatArray, *, m: int, scale: float
) -> tuple[FloatArray, BoolArray | None]:
    """The amounts after one label, and where [variants, candidates] t was impossible, if it was.

    The bound c t - e of the stake shows what is impossible by being negative. Where it is 0 but
    for rounding there is nothing to bet on.
    """
    a, b, c, e = bets
    bound = c * t
    bound -= e
    payoff = b * t
    payoff += a
    impossible = None
    # A payoff over less than _LEAST could overflow; not to bet there is safe.
    nothing, smallest = max(ROUNDING * scale, _LEAST), bound.min(initial=np.inf)
    if smallest > nothing:
        payoff /= bound
    else:
        payoff = np.divide(payoff, bound, out=np.ones_like(bound), where=bound > nothing)
        impossible = bound < -nothing if smallest < -nothing else None
    payoff -= 1
    result = payoff[:, None, :] * FRACTIONS[:, None]
    result += 1
    result *= amounts
    if m % _CLEAN_UP == 0:
        result[result < _POOR] = 0
    return result, impossible


def rejected(
    amounts: FloatArray, impossible: BoolArray | None, n_below: int, level: float
) -> tuple[BoolArray, BoolArray]:
    """Which candidates are too low and which too high: each side errs with half of 1 - level.

    A side's money is shared equally between its variants and fractions at the start.
    """
    sides = []
    for side in (slice(None, n_below), slice(n_below, None)):
        money = amounts[side]
        n_gamblers = money.shape[0] * money.shape[1]
        total = money.reshape(n_gamblers, money.shape[2]).sum(axis=0)
        rich = total >= max(2 / (1 - level) * n_gamblers, 1)  # nobody gambles: nobody is rich
        sides.append(rich if impossible is None else rich | impossible[side].any(axis=0))
    return sides[0], sides[1]


def table(sides: Sides, variants: Variants, width: int | None = None) -> FloatArray:
    """The bets of a label as [4, variants, 1], or [4, variants, width] in `width` trajectories.

    A variant without a bet gets an even one. Of what is paid, a negative part can only be
    rounding, and a smaller payment is still fair.
    """
    parts = [
        part
        for side, names in zip(sides, variants, strict=True)
        for name in names
        for part in side.get(name, EVEN)
    ]
    if width is not None:
        parts = [np.broadcast_to(part, width) for part in parts]
    numbers = np.array(parts, dtype=np.float64).reshape(-1, 4, width or 1).swapaxes(0, 1)
    np.maximum(numbers[:2], 0, out=numbers[:2])
    return numbers


def candidates(low: float, high: float, pool_size: int) -> FloatArray:
    """800 values strictly between two bounds, close together where limits tend to be.

    They are uniform in the logit of (value - low)/(high - low), down to half an item of the
    pool or 1e-4. Where 0 lies inside, half of them go to each side of it in that way, since
    differences between models are small compared with their bounds.

    >>> candidates(0.0, 1.0, 100)[[0, 399, 799]].round(4)
    array([1.000e-04, 4.971e-01, 9.999e-01])
    >>> candidates(-1.0, 1.0, 100)[[0, 399, 400]].round(4)
    array([-9.999e-01, -1.000e-04,  1.000e-04])
    """
    least = min(1e-4, 0.5 / pool_size)
    if low < 0 < high:
        shares = _logistic(least, N_CANDIDATES // 2)
        return np.concatenate([low * shares[::-1], high * shares])
    return low + (high - low) * _logistic(least, N_CANDIDATES)


def _logistic(least: float, n: int) -> FloatArray:
    end = np.log1p(-least) - np.log(least)
    return 1 / (1 + np.exp(np.linspace(end, -end, n)))


def _refined(wealth: Wealth) -> Wealth:
    """Twice the candidates, since an interval may get narrow compared with their spacing.

    Wealth never rises with t. So what the neighbour with the larger t has is a lower bound on
    what there would be against a candidate between, and a lower bound is valid to go on with.
    """
    left, n_below = wealth.left, wealth.n_below
    between = (left[1:] + left[:-1]) / 2
    if not ((left[:-1] < between) & (between < left[1:])).all():
        return wealth  # they are as close as numbers get
    finer = np.empty(2 * len(left) - 1)
    finer[::2], finer[1::2] = left, between
    amounts = np.empty((*wealth.amounts.shape[:2], len(finer)))
    amounts[..., ::2] = wealth.amounts
    amounts[:n_below, :, 1::2] = wealth.amounts[:n_below, :, 1:]
    amounts[n_below:, :, 1::2] = wealth.amounts[n_below:, :, :-1]
    return Wealth(finer, amounts, n_below, wealth.low, wealth.high)


def packed(numbers: FloatArray) -> str:
    """The array's bytes as text: exact, and half the length of decimals."""
    return b64encode(np.ascontiguousarray(numbers, dtype="<f8").tobytes()).decode("ascii")


def unpacked(text: str) -> FloatArray:
    """The flat array that `packed` wrote."""
    return np.frombuffer(b64decode(text, validate=True), dtype="<f8").astype(np.float64)
