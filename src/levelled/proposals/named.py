"""Proposals by name, as campaigns and learners write them down."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from levelled._check import FloatArray, choice
from levelled.errors import InputError
from levelled.proposals import boltzmann, epsilon_greedy, power, proportional, rank

_PROPOSALS: dict[str, Callable[[FloatArray, float], FloatArray]] = {
    "proportional": lambda s, _: proportional(s, allow_zero=True),
    "boltzmann": lambda s, beta: boltzmann(s, beta, normalise="z", allow_zero=True),
    "power": lambda s, exponent: power(s, exponent, allow_zero=True),
    "rank": lambda s, exponent: rank(s, exponent, allow_zero=True),
    "epsilon_greedy": lambda s, _: epsilon_greedy(s, 0.0, allow_zero=True),
    "uniform": lambda s, _: np.full(s.shape, 1 / s.shape[-1]),
}
NAMES = tuple(_PROPOSALS)
_STRENGTH = ("boltzmann", "power", "rank")
_CERTAIN = 50.0
"""The log of odds at which an item is as good as certain to be drawn."""


def parse(spec: object, names: Sequence[str] = NAMES) -> Callable[[FloatArray], FloatArray]:
    """The function from scores to probabilities that a name stands for, to lay over a floor.

    "boltzmann" is beta = 1 on z-scores and "boltzmann:2" beta = 2; "power" and "rank" take an
    exponent likewise. "epsilon_greedy" is the best item alone: the share of the floor is epsilon.

    >>> parse("power:2")(np.array([1.0, 3.0]))
    array([0.1, 0.9])
    """
    name, value = _read(spec, names)
    return lambda scores: _PROPOSALS[name](scores, value)


def odds(spec: str, scores: FloatArray, left: FloatArray) -> FloatArray | None:
    """How much likelier than the best item left one with each of these scores would be drawn.

    `left` are the scores of the items left, which give "boltzmann" its mean and standard
    deviation. None for "rank" and "epsilon_greedy", whose probabilities depend on all scores.

    >>> odds("power:2", np.array([0.0, 1.5, 6.0]), left=np.array([1.0, 3.0]))
    array([0.  , 0.25, 4.  ])
    """
    name, strength = _read(spec, NAMES)
    if name in ("rank", "epsilon_greedy"):
        return None
    best = left.max()
    if name == "boltzmann":
        spread = left.std()
        strength, steps = (0.0, scores) if spread == 0 else (strength, (scores - best) / spread)
        return np.exp(np.minimum(strength * steps, _CERTAIN))
    if name == "uniform" or best == 0:  # scores that are all 0 are drawn uniformly
        return np.ones(len(scores))
    exponent = 1.0 if name == "proportional" else strength
    return np.asarray((scores / best) ** exponent)


def _read(spec: object, names: Sequence[str]) -> tuple[str, float]:
    """The name of a proposal and its strength."""
    name, colon, strength = str(spec).partition(":")
    choice("proposal", name if isinstance(spec, str) else spec, names)
    if colon and name not in _STRENGTH:
        raise InputError(f"proposal={spec!r}: {name} has no strength to be set.")
    try:
        value = float(strength if colon else 1)
    except ValueError as wrong:
        raise InputError(
            f"proposal={spec!r}: after the colon comes a number, as in {name}:2."
        ) from wrong
    if not 0 <= value < math.inf:
        raise InputError(
            f"proposal={spec!r}: the strength of {name} is a number of at least 0, as in {name}:2."
        )
    return name, value
