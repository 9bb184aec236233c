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

A *game* is a target with the bets that each label offers on it; `betting` has two. A `Watch` keeps
the wealth of those bets up to date and turns it into an interval.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from levelled._check import LARGEST, BoolArray, FloatArray
from levelled.errors import DrawsError, InputError
from levelled.estimators.intervals.limits import Bounds

FRACTIONS: FloatArray = np.geomspace(0.02, 0.95, 6)
"""The shares of wealth that strategies stake; more of them would dilute the best one."""
N_CANDIDATES = 800
_LEAST = 1e-150
_EVEN = (1.0, 0.0, 0.0, -1.0)  # a bet that pays back the stake: for a variant that cannot bet
_ROUNDING = 1e-12
_POOR, _CLEAN_UP = 1e-200, 64
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
    amounts: FloatArray,
    prior: FloatArray,
    impossible: BoolArray | None,
    n_below: int,
    level: float,
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
    low: float,
    high: float,
    pool_size: int,
    n: int = N_CANDIDATES,
    tested: Sequence[float] = (),
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


_FORMAT = 2  # of what to_dict writes; it holds amounts for the present FRACTIONS


class Game(Protocol):
    """A target, and the bets that labels offer on it: all that is fixed before the first label.

    Labels, and the sums over them that the game needs, are tuples of values. The coordinate of
    the bets above is `mirror` minus the candidate.
    """

    mirror: ClassVar[float]
    sum_names: ClassVar[tuple[str, ...]]

    @property
    def level(self) -> float:
        """The probability with which all the intervals cover the target."""

    @property
    def ends(self) -> Bounds:
        """The range of the target before the first label."""

    def first_candidates(self) -> FloatArray:
        """The candidates at the first label, in order."""

    def scale(self, candidates: FloatArray) -> float:
        """The size of a loss, against which rounding is judged."""

    def bets(self, m: int, label: Values, q: Number, sums: Values, columns: Columns) -> Sides:
        """The bets of label m, given the sums before it; an impossible label is refused."""

    def prior(self, variants: Variants, columns: Columns) -> FloatArray:
        """The strategies' weights, from the columns of the first draw: [variants, fractions, 1],
        or with a last axis of trajectories."""

    def add(self, m: int, label: Values, q: Number, sums: Values) -> Values:
        """The sums after label m."""

    def possible(self, n_labels: int, sums: tuple[float, ...]) -> Bounds:
        """The range of the target that the labels so far leave possible."""


@dataclass(frozen=True, slots=True, eq=False)
class BettingState:
    """The number of labels so far, the sums over them, and the wealth they have led to."""

    n_labels: int
    sums: tuple[float, ...]
    wealth: Wealth


class Watch:
    """The interval of a game, kept up to date label by label."""

    _game: Game
    _game_type: ClassVar[type[Any]]
    """Its fields are the arguments of the constructor."""

    def __init__(self, game: Game) -> None:
        self._game = game
        wealth = Wealth.start(np.empty(0), ((), ()), equal_prior(((), ())), *game.ends)
        self._state = BettingState(0, (0.0,) * len(game.sum_names), wealth)

    def __len__(self) -> int:
        return self._state.n_labels

    def interval(self) -> tuple[float, float]:
        """The limits after the labels so far: the nearest rejected candidates, if possible."""
        state = self._state
        lowest, highest = self._game.possible(state.n_labels, state.sums)
        low, high = state.wealth.low, state.wealth.high
        return min(max(low, lowest), highest), max(min(high, highest), lowest)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON, from which `from_dict` continues exactly."""
        state = self._state
        return {
            "format": _FORMAT,
            **{name: _plain(getattr(self._game, name)) for name in self._arguments()},
            "n_labels": state.n_labels,
            **dict(zip(self._game.sum_names, state.sums, strict=True)),
            "variants": [list(names) for names in state.wealth.variants],
            "wealth": state.wealth.to_dict(),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Restore what `to_dict` wrote."""
        try:
            if stored["format"] != _FORMAT:
                raise InputError(f"format {stored['format']!r} is not {_FORMAT}")
            watch = cls(**{name: _restored(stored[name]) for name in cls._arguments()})
            watch._restore(stored)
        except (KeyError, TypeError, ValueError) as wrong:
            name = cls.__name__
            raise InputError(f"This is not what {name}.to_dict writes: {wrong!r}.") from wrong
        return watch

    @classmethod
    def _arguments(cls) -> list[str]:
        return [field.name for field in fields(cls._game_type)]

    def _restore(self, stored: Mapping[str, Any]) -> None:
        below, above = (tuple(names) for names in stored["variants"])
        sums = tuple(stored[name] for name in self._game.sum_names)
        wealth = Wealth.from_dict(stored["wealth"], (below, above))
        self._state = BettingState(stored["n_labels"], sums, wealth)

    def _add(
        self, label: Mapping[str, float], q: float, columns: Mapping[str, float | None]
    ) -> FloatArray:
        """Add one label and return its bets; a label with anything wrong changes nothing."""
        game, state, m = self._game, self._state, self._state.n_labels + 1
        values = tuple(finite_number(name, value) for name, value in label.items())
        q = _probability(q)
        present = {name: finite_number(name, x) for name, x in columns.items() if x is not None}
        sides = game.bets(m, values, q, state.sums, present)
        wealth = state.wealth
        if m == 1:
            names = tuple(sides[0]), tuple(sides[1])
            prior = game.prior(names, present)
            wealth = Wealth.start(game.first_candidates(), names, prior, *game.ends)
        bets = bet_table(sides, wealth.variants)
        wealth = place_bets(game, wealth, m, bets)
        sums = tuple(float(total) for total in game.add(m, values, q, state.sums))
        self._state = BettingState(m, sums, wealth)
        return bets


def place_bets(game: Game, wealth: Wealth, m: int, bets: FloatArray) -> Wealth:
    """The wealth after the bets of label m."""
    scale = game.scale(wealth.candidates)
    return step(wealth, bets, m=m, level=game.level, scale=scale, mirror=game.mirror)


def _plain(setting: Any) -> Any:  # noqa: ANN401
    """A setting of a game, ready for JSON: tuples are lists, and an infinite bound is None."""
    return [None if x == np.inf else x for x in setting] if type(setting) is tuple else setting


def _restored(setting: Any) -> Any:  # noqa: ANN401
    """The setting that `_plain` wrote."""
    return [np.inf if x is None else x for x in setting] if type(setting) is list else setting


def finite_number(name: str, value: float) -> float:
    """Return `value` as a finite float that may be multiplied."""
    try:
        number = float(value)
    except (TypeError, ValueError) as wrong:
        raise InputError(f"{name} must be a number; it is {value!r}.") from wrong
    if not -LARGEST < number < LARGEST:
        raise InputError(f"{name} must be finite (below {LARGEST:g} in size); it is {number}.")
    return number


def as_tested(values: Sequence[float]) -> tuple[float, ...]:
    """Return values that are to be candidates as finite floats."""
    return tuple(finite_number("A tested value", value) for value in values)


def _probability(q: float) -> float:
    """Return `q` as the probability of a drawn item, raised to 1e-100 if it is smaller.

    Such an item is never seen, and a smaller weight wins less.
    """
    number = finite_number("q", q)
    if not 0 < number <= 1:
        raise DrawsError(
            f"q must be above 0 and at most 1, the probability that the item had when it was "
            f"drawn; it is {number}."
        )
    return max(number, 1 / LARGEST)
