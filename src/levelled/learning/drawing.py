"""From the labels so far to the next draws, each with its probability."""

import numpy as np

from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.errors import InputError
from levelled.learning.proposing import probabilities
from levelled.learning.scoring import geometric_scores, pool_scores
from levelled.learning.settings import LearnerSettings
from levelled.learning.state import LearnerState
from levelled.models import Rows, make_task
from levelled.proposals import uniform
from levelled.samplers import race

__all__ = ["DRAW", "FIT", "SCORE", "next_draws", "proposed", "seed_of"]

DRAW, SCORE, FIT = range(3)
"""What randomness is for: each purpose has a stream of its own at every step."""


def next_draws(settings: LearnerSettings, X_pool: Rows, state: LearnerState, k: int) -> Draws:
    """The next k draws from what is left, fewer if there are not so many; some must be.

    The scores stay as they are within the batch, and each draw has its probability among what
    is left at its own step: q_m = p_m / (sum of p over the items not drawn before it).
    """
    left, p = proposed(settings, X_pool, state)
    if not len(left):
        raise InputError(
            f"All {state.draws.pool_size} rows of the pool were drawn, and {state.n_labels} of "
            f"them have labels: nothing is left to ask for."
        )
    k = min(k, len(left))
    found = race(p, k, seed=seed_of(settings.seed, DRAW, len(state.draws)))
    # No item then left weighed more than the lightest of all would: what p adds up to, over it.
    total = p[found.index] / found.probability
    most = total / p.min() / state.draws.pool_size
    return Draws(
        left[found.index],
        found.probability,
        state.draws.pool_size,
        design={"max_weight": np.maximum(most, 1 / (state.draws.pool_size * found.probability))},
    )


def proposed(
    settings: LearnerSettings, X_pool: Rows, state: LearnerState
) -> tuple[IntArray, FloatArray]:
    """The rows never drawn, and the chance of each to be the next draw.

    Uniform until there is something to go by: `start` labels and, for a classifier, two classes.
    """
    left = state.left()
    if not len(left):
        return left, np.zeros(0)
    scores = _scores(settings, X_pool, state)
    if scores is None:
        return left, uniform(len(left))
    return left, probabilities(settings.proposal, scores[left], floor=settings.floor)


def seed_of(seed: int, purpose: int, n_drawn: int) -> int:
    """A seed for one purpose after so many draws: the future does not hang on how it was reached.

    >>> seed_of(0, DRAW, 10) == seed_of(0, DRAW, 10) != seed_of(0, SCORE, 10)
    True
    """
    words = np.random.SeedSequence(seed, spawn_key=(purpose, n_drawn)).generate_state(1, np.uint64)
    return int(words[0]) >> 1


def _scores(settings: LearnerSettings, X_pool: Rows, state: LearnerState) -> FloatArray | None:
    """Scores of the whole pool, or None while all items are alike to us."""
    known, score = state.told(), settings.chosen_score
    if score == "uniform" or len(known) < max(settings.start, 1):
        return None
    if score == "geometric":
        return geometric_scores(X_pool, state.draws.index)
    task = make_task(settings.model, known.labels, "auto")
    if task.classes is not None and len(task.classes) < 2:
        return None
    rng = np.random.default_rng(seed_of(settings.seed, SCORE, len(state.draws)))
    return pool_scores(
        score,
        settings.model,
        settings.ensemble,
        task,
        X_pool,
        known.rows,
        rng=rng,
    )
