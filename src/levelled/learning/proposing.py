"""Proposals by name: the defaults behind a word, each over a uniform floor."""

from collections.abc import Callable

from numpy.typing import ArrayLike

from levelled._check import FloatArray, choice
from levelled.errors import InputError, ProposalError
from levelled.proposals import (
    boltzmann,
    checked,
    epsilon_greedy,
    mixture,
    power,
    proportional,
    rank,
    uniform,
)

__all__ = ["PROPOSALS", "Propose", "check_proposal", "probabilities"]

Propose = Callable[[FloatArray], ArrayLike]
"""Scores of the items left -> their probabilities."""

PROPOSALS: dict[str, Callable[[FloatArray, float], FloatArray]] = {
    "boltzmann": lambda s, beta: boltzmann(s, beta, normalise="z", allow_zero=True),
    "proportional": lambda s, _: proportional(s, allow_zero=True),
    "power": lambda s, exponent: power(s, exponent, allow_zero=True),
    "rank": lambda s, exponent: rank(s, exponent, allow_zero=True),
    "epsilon_greedy": lambda s, _: epsilon_greedy(s, 0.0, allow_zero=True),
    "uniform": lambda s, _: uniform(len(s)),
}
_STRENGTH = ("boltzmann", "power", "rank")


def check_proposal(proposal: str | Propose) -> None:
    """Refuse what is neither a function nor the name of a proposal."""
    if not callable(proposal):
        _parsed(proposal)


def probabilities(proposal: str | Propose, scores: FloatArray, *, floor: float) -> FloatArray:
    """The chance of each item left, none of them 0.

    A name stands for the proposal with its strength, 1 unless it says otherwise, over a uniform
    floor: "boltzmann" is beta = 1 on z-scores, "boltzmann:2" is beta = 2. "epsilon_greedy" is the
    best item over the floor alone, whose share is then epsilon. A function of the scores decides
    on its floor itself, and is refused where it gives an item no chance.

    >>> import numpy as np
    >>> probabilities("boltzmann", np.array([0.0, 1.0, 2.0]), floor=0.1).round(3)
    array([0.09 , 0.225, 0.685])
    >>> probabilities("epsilon_greedy", np.array([0.0, 1.0, 2.0, 0.0]), floor=0.2)
    array([0.05, 0.05, 0.85, 0.05])
    """
    if not callable(proposal):
        name, strength = _parsed(proposal)
        return mixture(PROPOSALS[name](scores, strength), floor)
    proposed = checked(proposal(scores))
    if len(proposed) != len(scores):
        raise ProposalError(
            f"The proposal gave {len(proposed)} probabilities for the {len(scores)} items left."
        )
    return proposed


def _parsed(proposal: object) -> tuple[str, float]:
    name, _, strength = str(proposal).partition(":")
    choice("proposal", name if isinstance(proposal, str) else proposal, tuple(PROPOSALS))
    if strength and name not in _STRENGTH:
        raise InputError(f"proposal={proposal!r}: {name} has no strength to be set.")
    try:
        return name, float(strength or 1)
    except ValueError as wrong:
        raise InputError(
            f"proposal={proposal!r}: after the colon comes a number, as in {name}:2."
        ) from wrong
