"""From the labels so far to the next draws, each with its probability."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled._check import FloatArray, IntArray, check_order
from levelled.draws import Draws
from levelled.errors import InputError, ProposalError
from levelled.labels import Label, class_names
from levelled.learning.settings import LearnerSettings, pool_scores
from levelled.models import Rows, call_function
from levelled.proposals import checked, floored, parse_proposal, proposal_odds, uniform
from levelled.samplers import race

Labels = ArrayLike | Sequence[Label | None] | None
"""One label or many; None is an item that cannot be labelled."""


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Labelled items: their rows in the pool, their labels, and the draws they came from."""

    rows: IntArray
    labels: NDArray[Any]
    draws: Draws
    places: IntArray
    """Their positions among the draws; the other draws cannot be labelled."""

    def __len__(self) -> int:
        return len(self.rows)

    def labelled_draws(self) -> Draws:
        """The draws of these items alone, as if the others had never been in the pool.

        Exact if every draw has a label. Otherwise a draw is counted as many steps earlier as
        there are unlabelled ones before it, which changes a weight by about their share.
        """
        missing = len(self.draws) - len(self)
        if not missing:
            return self.draws
        chance = self.draws.probability[self.places]
        pool_size = max(self.draws.pool_size - missing, len(self))
        return Draws(np.argsort(np.argsort(self.rows)), chance, pool_size)


@dataclass(frozen=True, slots=True, eq=False)
class LearnerState:
    """The draws of a learner and the labels it was told.

    `labels` are by row of the pool, None for an item that cannot be labelled. `n_settled` counts
    the draws from the first on, without a gap, that are in `labels`: only those are weighted,
    because leaving out pending draws would leave out the items that take longest to label.

    `hazards` has a number for each row of the pool: the sum over all batches of k p, with k the
    size of the batch and p the probability of the row to be the next draw, had it still been
    there. 1 - exp(-h) is the chance that the row is drawn by now. None: not known.
    """

    draws: Draws
    labels: Mapping[int, Label | None] = field(default_factory=dict)
    hazards: FloatArray | None = None

    @property
    def n_labels(self) -> int:
        """The number of labels, without items that cannot be labelled."""
        return sum(label is not None for label in self.labels.values())

    @property
    def n_settled(self) -> int:
        """The number of draws before the first pending one."""
        pending = self.pending
        return len(self.draws) if not len(pending) else self.draws.index.tolist().index(pending[0])

    @property
    def pending(self) -> IntArray:
        """The rows that were asked for and have no label yet, in the order of their draws."""
        rows = [row for row in self.draws.index.tolist() if row not in self.labels]
        return np.array(rows, dtype=np.int64)

    @property
    def n_left(self) -> int:
        """The number of rows that were never drawn."""
        return self.draws.pool_size - len(self.draws)

    def rows_left(self, places: IntArray) -> IntArray:
        """The rows at these places among those never drawn, which keep the order of the pool."""
        n_left_before = np.sort(self.draws.index) - np.arange(len(self.draws))
        return places + np.searchsorted(n_left_before, places, side="right")

    def settled(self, n: int | None = None) -> Examples:
        """The labelled items among the settled draws, or among the first n draws."""
        draws = self.draws[: self.n_settled if n is None else n]
        labels = [self.labels.get(row) for row in draws.index.tolist()]
        if None not in labels:
            return Examples(draws.index, np.array(labels), draws, np.arange(len(labels)))
        places = np.flatnonzero([label is not None for label in labels])
        y = np.array([label for label in labels if label is not None])
        return Examples(draws.index[places], y, draws, places)


def empty_state(pool_size: int) -> LearnerState:
    """The state before the first draw."""
    nothing = Draws(np.zeros(0, dtype=np.int64), np.zeros(0), pool_size)
    return LearnerState(nothing, hazards=np.zeros(pool_size))


def add_draws(state: LearnerState, more: Draws, hazards: FloatArray | None = None) -> LearnerState:
    """The state after more draws from the rows that were left, with the hazards after them."""
    before, new = state.draws, more.design or {}
    earlier = (before.design or {}) if len(before) else {name: np.zeros(0) for name in new}
    design = {name: np.append(earlier[name], new[name]) for name in new if name in earlier}
    draws = Draws(
        np.append(before.index, more.index),
        np.append(before.probability, more.probability),
        before.pool_size,
        design=design or None,
    )
    return replace(state, draws=draws, hazards=hazards)


def add_labels(
    state: LearnerState, rows: ArrayLike, labels: Labels, *, amend: bool = False
) -> LearnerState:
    """The state with more labels, which may come in any order; draws keep theirs."""
    pairs = list(_pairs(rows, labels))
    drawn = set(state.draws.index.tolist())
    changed = dict(state.labels)
    for row, label in pairs:
        if row not in drawn:
            raise InputError(
                f"Row {row} was never asked for. A label that the learner did not draw has no "
                f"probability and cannot be weighted; ask() says which rows to label."
            )
        before = changed.get(row)
        if row in changed and before != label and not amend:
            raise InputError(
                f"Row {row} was labelled {before!r} before and is {label!r} now. To replace the "
                f"label, tell it with amend=True."
            )
        changed[row] = label
    told = {row for row, _ in pairs}
    earlier = (label for row, label in state.labels.items() if row not in told)
    first = next((label for label in earlier if label is not None), None)
    check_one_kind([first, *(label for _, label in pairs)])  # earlier ones are all of one kind
    return replace(state, labels=changed)


def _pairs(rows: ArrayLike, labels: Labels) -> Iterable[tuple[int, Label | None]]:
    """Rows with their labels as values of Python; None is an item that cannot be labelled."""
    index = np.atleast_1d(np.asarray(rows))
    if index.ndim != 1 or (index.size and not np.issubdtype(index.dtype, np.integer)):
        raise InputError(
            f"index must be rows of the pool, as ask() gives them; it is an array of "
            f"{index.dtype} with shape {index.shape}."
        )
    check_order(index, labels=labels)
    several: Any = labels
    if labels is None or isinstance(labels, str) or np.ndim(several) == 0:
        several = [labels]
    values = several.tolist() if hasattr(several, "tolist") else list(several)
    present = [value for value in values if value is not None]
    pandas = sys.modules.get("pandas")  # a value of pandas has imported it
    for value in present:
        is_number = isinstance(value, float | np.floating)
        missing = pandas is not None and (value is pandas.NA or value is pandas.NaT)
        if missing or (is_number and not np.isfinite(value)):
            raise InputError(
                "labels must be finite; tell None for an item that cannot be labelled."
            )
    check_one_kind(present)
    names = iter(class_names("labels", present).tolist() if present else [])
    plain = [None if value is None else next(names) for value in values]
    if len(plain) != len(index):
        raise InputError(f"{len(index)} rows need {len(index)} labels, not {len(plain)}.")
    return zip(index.tolist(), plain, strict=True)


def check_one_kind(labels: Iterable[Any]) -> None:
    """Refuse labels of different kinds: text, numbers, truth values."""
    examples: dict[str, Any] = {}
    for label in labels:
        if isinstance(label, bool | np.bool_):
            examples.setdefault("truth values", label)
        elif label is not None:
            examples.setdefault("text" if isinstance(label, str) else "numbers", label)
    if len(examples) > 1:
        (one, first), (other, second), *_ = examples.items()
        raise InputError(
            f"Labels are {one} ({first!r}) or {other} ({second!r}), not both: write all of them "
            f"the same way."
        )


DRAW, SCORE, FIT = range(3)
"""Purposes of randomness: each has its own stream at every step."""


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
    p, of_drawn = propose(settings, X_pool, state)
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
    if state.hazards is None or of_drawn is None:
        return more, None
    hazards = np.empty(state.draws.pool_size)  # h_i + k p_i for every row i, after a batch of k
    hazards[state.rows_left(np.arange(len(p)))] = p
    hazards[state.draws.index] = of_drawn
    hazards *= len(more)
    hazards += state.hazards
    return more, hazards


def propose(
    settings: LearnerSettings, X_pool: Rows, state: LearnerState
) -> tuple[FloatArray, FloatArray | None]:
    """The probability of each row never drawn to be the next draw, in the order of the pool.

    Second are the probabilities that the rows drawn before, in their order, would have if they
    were still there; None if the proposal cannot say.
    """
    drawn, examples = state.draws.index, state.settled(len(state.draws))  # also after a gap
    rng = np.random.default_rng(seed_for(settings.seed, SCORE, len(drawn)))
    scores = pool_scores(settings, X_pool, examples.rows, examples.labels, drawn, rng=rng)
    if scores is None:
        return uniform(state.n_left), np.full(len(drawn), 1 / state.n_left)
    left = np.delete(scores, drawn)
    p = probabilities(settings.proposal, left, floor=settings.floor)
    if callable(settings.proposal) or state.hazards is None:
        return p, None
    odds = proposal_odds(settings.proposal, scores[drawn], left)
    share = settings.floor / len(left)
    best = p.max() - share
    return p, None if odds is None else best * odds + share


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
    p = floored(parse_proposal(proposal)(scores), floor, None)
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
