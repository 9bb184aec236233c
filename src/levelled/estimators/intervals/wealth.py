"""Test martingales: the wealth of betting strategies against each candidate value.

A candidate is a value that the target (a pool mean, or a ratio of two) might have. Against each
candidate, strategies start with a wealth of one and bet on every label, on two sides: a strategy
`below` gains when the target lies above the candidate (the candidate is too low), a strategy
`above` gains when it lies below. If the candidate is the target, all bets are fair and wealth is
a martingale, so by Ville's inequality the average wealth of a side ever reaches K with probability
at most 1/K. A candidate against which a side's average has reached 2 / (1 - level) is rejected for
good. The average is weighted by a prior: any weights of the strategies that are fixed before the
first label.

A strategy is a variant (the bet it places) and a fraction f (the share of its wealth it stakes).
A unit staked pays a ratio of two lines in the side's own coordinate t,

    payoff(t) = (a + b t) / (c t - e),    a c + b e >= 0,

which never rises with t, and multiplies the strategy's wealth by 1 + f (payoff - 1). So wealth
never rises with t either: all values beyond a rejected candidate would be rejected too, and the
nearest rejected candidates are limits that hold at any spacing of the candidates.

A *game* is a target with the bets that each label offers on it; `betting` has two, and watches
that keep the wealth of those bets up to date and turn it into an interval.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import LARGEST, BoolArray, FloatArray, floats, same_length
from levelled.errors import InputError

# In the study constants half and twice these change the squared width of betting by:
FRACTIONS: FloatArray = np.geomspace(0.02, 0.95, 6)  # 3 of them +2%, 12 of them +3%
"""The shares of wealth that strategies stake; more of them would dilute the best one."""
N_CANDIDATES = 800  # half +1%, twice -1%
_LEAST = 1e-150  # guard: overflow
_EVEN = (1.0, 0.0, 0.0, -1.0)  # a bet that pays back the stake: for a variant that cannot bet
_ROUNDING = 1e-12  # as a share of a loss
_POOR, _CLEAN_UP = 1e-200, 64  # guard: speed
# A factor is at least 0.1, so wealth that is set to 0 below 1e-200 every 64 labels never reaches
# the subnormal numbers, which are slow. Smaller wealth cannot void the guarantee.
_FEW = 100  # with fewer candidates left, their spacing would begin to show in the limits

Number = float | FloatArray
"""A value of one trajectory, or an array with a value for each of many."""
Values = tuple[Number, ...]
Columns = Mapping[str, Number]
"""The design columns of one draw by name, without those that are not known."""
Bet = tuple[Number, Number, Number, Number]
"""The coefficients a, b, c, e of a payoff."""
Sides = tuple[Mapping[str, Bet], Mapping[str, Bet]]
"""The bets of one label by variant, below and above."""
Variants = tuple[tuple[str, ...], tuple[str, ...]]
"""The names of the variants that have wealth, below and above."""


@dataclass(frozen=True, slots=True, eq=False)
class Wealth:
    """The candidates not yet rejected, and the wealth of each strategy against each of them.

    `amounts` are [variants, fractions, candidates], the variants below before those above, and
    `prior` has the strategies' weights in the average of their side, [variants, fractions, 1].
    `low` and `high` are the nearest rejected candidates, or the ends of what is possible.
    """

    candidates: FloatArray
    amounts: FloatArray
    prior: FloatArray
    variants: Variants
    low: float
    high: float

    @classmethod
    def start(
        cls, candidates: FloatArray, variants: Variants, prior: FloatArray, low: float, high: float
    ) -> "Wealth":
        """Give each variant, below and above, a wealth of one against every candidate."""
        n_variants = len(variants[0]) + len(variants[1])
        amounts = np.ones((n_variants, len(FRACTIONS), len(candidates)))
        return cls(candidates, amounts, prior, variants, low, high)

    @property
    def n_below(self) -> int:
        """The number of variants that bet below."""
        return len(self.variants[0])

    def coordinates(self, mirror: float) -> FloatArray:
        """The coordinate t of each variant at each candidate: below the candidate itself, above
        `mirror` minus the candidate."""
        t = np.empty((len(self.amounts), len(self.candidates)))
        t[: self.n_below], t[self.n_below :] = self.candidates, mirror - self.candidates
        return t

    def to_dict(self) -> dict[str, Any]:
        """Plain values from which `from_dict` restores every bit."""
        return {
            "low": self.low,
            "high": None if np.isinf(self.high) else self.high,
            "n_below": self.n_below,
            "left": pack(self.candidates),
            "amounts": pack(self.amounts),
            "prior": pack(self.prior),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any], variants: Variants) -> "Wealth":
        """Restore the wealth of these variants that `to_dict` wrote."""
        candidates, n_variants = unpack(stored["left"]), len(variants[0]) + len(variants[1])
        amounts = unpack(stored["amounts"]).reshape(n_variants, len(FRACTIONS), len(candidates))
        prior = unpack(stored["prior"]).reshape(n_variants, len(FRACTIONS), 1)
        high = np.inf if stored["high"] is None else float(stored["high"])
        return cls(candidates, amounts, prior, variants, float(stored["low"]), high)


def equal_prior(variants: Variants) -> FloatArray:
    """The prior [variants, fractions, 1] that gives equal weights to the strategies of a side."""
    below, above = (np.ones((len(names), len(FRACTIONS))) for names in variants)
    return normalised_prior(below, above)


def normalised_prior(below: FloatArray, above: FloatArray) -> FloatArray:
    """The prior [variants, fractions, 1] with these weights, scaled to sum to one on each side."""
    sides = [side / side.sum() if side.size else side for side in (below, above)]
    return np.concatenate(sides)[..., None]


def step(
    wealth: Wealth, bets: FloatArray, *, m: int, level: float, scale: float, mirror: float
) -> Wealth:
    """The wealth after the bets [4, variants, 1] of label `m`, without the rejected candidates.

    `scale` is the size of a loss, against which rounding is judged. A candidate rejected on one
    side is dropped on both. The cost does not depend on m.
    """
    candidates, low, high = wealth.candidates, wealth.low, wealth.high
    amounts, impossible = grow(wealth.amounts, wealth.coordinates(mirror), bets, m=m, scale=scale)
    too_low, too_high = reject(amounts, wealth.prior, impossible, wealth.n_below, level)
    first, last = 0, len(candidates)
    if too_low.any():
        first = last - int(too_low[::-1].argmax())
        low = float(candidates[first - 1])
    if too_high.any():
        last = int(too_high.argmax())
        high = max(low, float(candidates[last]))
    rest = slice(first, max(first, last))
    left, kept = candidates[rest], amounts[..., rest]
    wealth = Wealth(left, kept, wealth.prior, wealth.variants, low, high)
    return _refine(wealth) if 1 < len(wealth.candidates) < _FEW else wealth


def grow(
    amounts: FloatArray, t: FloatArray, bets: FloatArray, *, m: int, scale: float
) -> tuple[FloatArray, BoolArray | None]:
    """The amounts after label m, and where [variants, candidates] t is impossible, if anywhere.

    A value t is impossible where the bound c t - e of the stake is negative. Where it is 0 but
    for rounding, no bet is placed.
    """
    a, b, c, e = bets
    # In place where possible: these few lines are nearly all the time that a label takes.
    bound = c * t
    bound -= e
    payoff = b * t
    payoff += a
    impossible = None
    # A payoff over less than _LEAST could overflow; not to bet there is safe.
    nothing, smallest = max(_ROUNDING * scale, _LEAST), bound.min(initial=np.inf)
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


def reject(
    amounts: FloatArray, prior: FloatArray, impossible: BoolArray | None, n_below: int, level: float
) -> tuple[BoolArray, BoolArray]:
    """The candidates that are too low, and those that are too high.

    Each side errs with probability (1 - level) / 2; its wealth is the average of its strategies,
    weighted by `prior`.
    """
    sides = []
    for side in (slice(None, n_below), slice(n_below, None)):
        average = np.einsum("vfc,vfc->c", prior[side], amounts[side])
        enough = average >= 2 / (1 - level)  # never on a side without strategies
        sides.append(enough if impossible is None else enough | impossible[side].any(axis=0))
    return sides[0], sides[1]


def bet_table(sides: Sides, variants: Variants, width: int | None = None) -> FloatArray:
    """The bets of a label as [4, variants, 1], or [4, variants, width] in `width` trajectories.

    A variant without a bet gets an even one. A negative part of a payment can only be rounding;
    it is raised to 0.
    """
    parts = [
        part
        for side, names in zip(sides, variants, strict=True)
        for name in names
        for part in side.get(name, _EVEN)
    ]
    if width is not None:
        parts = [np.broadcast_to(part, width) for part in parts]
    numbers = np.array(parts, dtype=np.float64).reshape(-1, 4, width or 1).swapaxes(0, 1)
    np.maximum(numbers[:2], 0, out=numbers[:2])
    return numbers


def spread_candidates(
    low: float, high: float, pool_size: int, n: int = N_CANDIDATES, tested: Sequence[float] = ()
) -> FloatArray:
    """n values strictly between two bounds, close together where limits tend to be.

    They are uniform in the logit of (value - low)/(high - low), down to half an item of the
    pool or 1e-4. Where 0 lies inside, half of them go to each side of it in that way, since
    differences between models are small compared with their bounds. Values to be `tested`
    themselves are added, as far as they lie between the bounds.

    >>> spread_candidates(0.0, 1.0, 100)[[0, 399, 799]].round(4)
    array([1.000e-04, 4.971e-01, 9.999e-01])
    >>> spread_candidates(-1.0, 1.0, 100)[[0, 399, 400]].round(4)
    array([-9.999e-01, -1.000e-04,  1.000e-04])
    """
    least = min(1e-4, 0.5 / pool_size)
    if low < 0 < high:
        shares = _logistic(least, n // 2)
        spread = np.concatenate([low * shares[::-1], high * shares])
    else:
        spread = low + (high - low) * _logistic(least, n)
    return np.union1d(spread, [value for value in tested if low < value < high])


def _logistic(least: float, n: int) -> FloatArray:
    end = np.log1p(-least) - np.log(least)
    return 1 / (1 + np.exp(np.linspace(end, -end, n)))


def _refine(wealth: Wealth) -> Wealth:
    """Double the candidates, since an interval may get narrow compared with their spacing.

    Wealth never rises with t. So the wealth against the neighbour with the larger t is a lower
    bound on the wealth against a candidate in between, and it is valid to continue from that.
    """
    old, n_below = wealth.candidates, wealth.n_below
    between = (old[1:] + old[:-1]) / 2
    if not ((old[:-1] < between) & (between < old[1:])).all():
        return wealth  # they are as close as numbers get
    candidates = np.empty(2 * len(old) - 1)
    candidates[::2], candidates[1::2] = old, between
    amounts = np.empty((*wealth.amounts.shape[:2], len(candidates)))
    amounts[..., ::2] = wealth.amounts
    amounts[:n_below, :, 1::2] = wealth.amounts[:n_below, :, 1:]
    amounts[n_below:, :, 1::2] = wealth.amounts[n_below:, :, :-1]
    return Wealth(candidates, amounts, wealth.prior, wealth.variants, wealth.low, wealth.high)


def pack(numbers: FloatArray) -> str:
    """Encode the array's bytes as text: exact, and half the length of decimals."""
    return b64encode(np.ascontiguousarray(numbers, dtype="<f8").tobytes()).decode("ascii")


def unpack(text: str) -> FloatArray:
    """Decode the flat array that `pack` encoded."""
    return np.frombuffer(b64decode(text, validate=True), dtype="<f8").astype(np.float64)


def finite_number(name: str, value: float) -> float:
    """Return `value` as a finite float that may be multiplied."""
    try:
        number = float(value)
    except (TypeError, ValueError) as wrong:
        raise InputError(f"{name} must be a number; it is {value!r}.") from wrong
    if not -LARGEST < number < LARGEST:
        raise InputError(f"{name} must be finite (below {LARGEST:g} in size); it is {number}.")
    return number


def labels_of(
    losses: ArrayLike, probability: ArrayLike, design: Mapping[str, ArrayLike], names: Sequence[str]
) -> Iterator[dict[str, float]]:
    """The arguments of `update` for each label, with the columns of these `names` that exist."""
    columns = {"loss": losses, "q": probability}
    columns |= {name: design[name] for name in names if name in design}
    arrays = {name: floats(name, values, ndim=1, finite=False) for name, values in columns.items()}
    same_length(**arrays)
    for row in zip(*(array.tolist() for array in arrays.values()), strict=True):
        yield dict(zip(arrays, row, strict=True))


def as_tested(values: Sequence[float]) -> tuple[float, ...]:
    """Return values that are to be candidates as finite floats."""
    return tuple(finite_number("A tested value", value) for value in values)
