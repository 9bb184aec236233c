"""Proposals by name: the defaults behind a word, each over a uniform floor."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray
from levelled.errors import ProposalError
from levelled.models import call_function
from levelled.proposals import checked, mixture, named

__all__ = ["Propose", "check_proposal", "probabilities"]

Propose = Callable[[FloatArray], ArrayLike]
"""Scores of the items left -> their probabilities."""


def check_proposal(proposal: str | Propose, *, floor: float) -> None:
    """Refuse what is neither a function nor the name of a proposal, and the best item alone."""
    if callable(proposal):
        return
    named.parse(proposal)
    if proposal == "epsilon_greedy" and not floor:
        raise ProposalError(
            f"proposal={proposal!r} is the best item alone, and floor=0 gives no other a "
            f"chance: raise floor=, as in floor=0.1."
        )


def probabilities(proposal: str | Propose, scores: FloatArray, *, floor: float) -> FloatArray:
    """The chance of each item left, none of them 0.

    A name stands for the proposal with its strength, 1 unless it says otherwise, over a uniform
    floor: "boltzmann" is beta = 1 on z-scores, "boltzmann:2" is beta = 2. "epsilon_greedy" is the
    best item over the floor alone, whose share is then epsilon. A function of the scores decides
    on its floor itself, and is refused where it gives an item no chance.

    >>> probabilities("boltzmann", np.array([0.0, 1.0, 2.0]), floor=0.1).round(3)
    array([0.09 , 0.225, 0.685])
    >>> probabilities("epsilon_greedy", np.array([0.0, 1.0, 2.0, 0.0]), floor=0.2)
    array([0.05, 0.05, 0.85, 0.05])
    """
    if not callable(proposal):
        return _over_floor(proposal, scores, floor)
    proposed = checked(call_function(proposal, "propose", scores))
    if len(proposed) != len(scores):
        raise ProposalError(
            f"The proposal gave {len(proposed)} probabilities for the {len(scores)} items left."
        )
    return proposed


def _over_floor(proposal: str, scores: FloatArray, floor: float) -> FloatArray:
    p = mixture(named.parse(proposal)(scores), floor, allow_zero=True)
    n_zero = len(p) - np.count_nonzero(p)
    if n_zero:
        raise ProposalError(
            f"proposal={proposal!r} gives probability 0 to {n_zero} of the {len(p)} items left, "
            f"which no weights can make up for: raise floor=, now {floor:g}, as in floor=0.1."
        )
    return p
