"""From the labels so far to the next draws, each with its probability."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray
from levelled.draws import Draws
from levelled.errors import InputError, ProposalError
from levelled.learning.scoring import geometric_scores, pool_scores
from levelled.learning.settings import LearnerSettings
from levelled.learning.state import LearnerState
from levelled.models import Rows, call_function, make_task
from levelled.proposals import checked, floored, named, uniform
from levelled.samplers import race

DRAW, SCORE, FIT = range(3)
"""Purposes of randomness: each has its own stream at every step."""


@dataclass(frozen=True, slots=True, eq=False)
class NextDraw:
    """The probability of each row to be the next draw.

    `left` are those of the rows never drawn, in the order of the pool. `drawn` are the
    probabilities that the rows drawn before, in their order, would have if they were still there;
    None if the proposal cannot say.
    """

    left: FloatArray
    drawn: FloatArray | None


def next_draws(
    settings: LearnerSettings, X_pool: Rows, state: LearnerState, k: int
) -> tuple[Draws, FloatArray | None]:
    """The next k draws from the rows that are left, or all of them if there are fewer.

    The scores stay the same within the batch, and each draw has its probability among the rows
    left at its own step: q_m = p_m / (sum of p over the items not drawn before it). With the draws
    come the hazards of all rows after them.
    """
    if not state.n_left:
        raise InputError(
            f"All {state.draws.pool_size} rows of the pool were drawn, and {state.n_labels} of "
            f"them have labels: nothing is left to ask for."
        )
    proposal = propose(settings, X_pool, state)
    p = proposal.left
    batch = race(p, min(k, len(p)), seed=seed_for(settings.seed, DRAW, len(state.draws)))
    # The largest weight of an item then left is at most that of the least likely of all.
    total = p[batch.index] / batch.probability
    most = total / p.min() / state.draws.pool_size
    more = Draws(
        state.rows_left(batch.index),
        batch.probability,
        state.draws.pool_size,
        design={"max_weight": np.maximum(most, 1 / (state.draws.pool_size * batch.probability))},
    )
    return more, _add_hazards(state, proposal, len(more))


def propose(settings: LearnerSettings, X_pool: Rows, state: LearnerState) -> NextDraw:
    """The probability of each row never drawn to be the next draw.

    Uniform until there are `start` labels and, for a classifier, two classes.
    """
    scores, drawn = _scores(settings, X_pool, state), state.draws.index
    if scores is None:
        return NextDraw(uniform(state.n_left), np.full(len(drawn), 1 / state.n_left))
    left = np.delete(scores, drawn)
    p = probabilities(settings.proposal, left, floor=settings.floor)
    if callable(settings.proposal) or state.hazards is None:
        return NextDraw(p, None)
    odds = named.odds(settings.proposal, scores[drawn], left)
    share = settings.floor / len(left)
    best = p.max() - share
    return NextDraw(p, None if odds is None else best * odds + share)


def _add_hazards(state: LearnerState, proposal: NextDraw, k: int) -> FloatArray | None:
    """The hazards after a batch of k: h_i + k p_i for every row i."""
    if state.hazards is None or proposal.drawn is None:
        return None
    never = np.ones(state.draws.pool_size, dtype=bool)
    never[state.draws.index] = False
    hazards = np.empty(state.draws.pool_size)
    hazards[never] = proposal.left
    hazards[state.draws.index] = proposal.drawn
    hazards *= k
    hazards += state.hazards
    return hazards


def probabilities(
    proposal: str | Callable[[FloatArray], ArrayLike], scores: FloatArray, *, floor: float
) -> FloatArray:
    """The probability of each item left, none of them 0.

    A name stands for the proposal with its strength, 1 unless it says otherwise, over a uniform
    floor: "boltzmann" is beta = 1 on z-scores, "boltzmann:2" is beta = 2. "epsilon_greedy" is the
    best item over the floor alone, whose share is then epsilon. A function of the scores has no
    floor added, and is refused if it gives an item probability 0.

    >>> probabilities("boltzmann", np.array([0.0, 1.0, 2.0]), floor=0.1).round(3)
    array([0.09 , 0.225, 0.685])
    >>> probabilities("epsilon_greedy", np.array([0.0, 1.0, 2.0, 0.0]), floor=0.2)
    array([0.05, 0.05, 0.85, 0.05])
    """
    if callable(proposal):
        p = checked(call_function(proposal, "propose", scores))
        if len(p) != len(scores):
            raise ProposalError(
                f"The proposal gave {len(p)} probabilities for the {len(scores)} items left."
            )
        return p
    p = floored(named.parse(proposal)(scores), floor, None)
    if not p.min():
        n_zero = len(p) - np.count_nonzero(p)
        raise ProposalError(
            f"proposal={proposal!r} gives probability 0 to {n_zero} of the {len(p)} items left, "
            f"which no weights can make up for: raise floor=, now {floor:g}, as in floor=0.1."
        )
    return p


def seed_for(seed: int, purpose: int, n_drawn: int) -> int:
    """A seed for one purpose after so many draws, however those were made.

    >>> seed_for(0, DRAW, 10) == seed_for(0, DRAW, 10) != seed_for(0, SCORE, 10)
    True
    """
    words = np.random.SeedSequence(seed, spawn_key=(purpose, n_drawn)).generate_state(1, np.uint64)
    return int(words[0]) >> 1


def _scores(settings: LearnerSettings, X_pool: Rows, state: LearnerState) -> FloatArray | None:
    """Scores of the whole pool, or None while draws are uniform."""
    examples, score = state.labelled(), settings.chosen_score
    if score == "uniform" or len(examples) < max(settings.start, 1):
        return None
    if score == "geometric":
        return geometric_scores(X_pool, state.draws.index)
    task = make_task(settings.model, examples.labels, "auto")
    if task.classes is not None and len(task.classes) < 2:
        return None
    rng = np.random.default_rng(seed_for(settings.seed, SCORE, len(state.draws)))
    return pool_scores(
        score, settings.model, settings.ensemble, task, X_pool, examples.rows, rng=rng
    )
