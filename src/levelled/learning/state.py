"""What a learner knows: the draws in their order, and the labels told so far. Nothing here acts."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled._check import IntArray
from levelled.draws import Draws
from levelled.errors import InputError
from levelled.labels import Label, class_names

__all__ = [
    "Examples",
    "Labels",
    "LearnerState",
    "begun",
    "check_one_kind",
    "drawn",
    "told",
]

Labels = ArrayLike | Sequence[Label | None] | None
"""One label or many; None is an item that cannot be labelled."""


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Labelled items: their rows in the pool, their labels, and the draws they came from."""

    rows: IntArray
    labels: NDArray[Any]
    draws: Draws
    places: IntArray
    """Which of the draws they are; the others cannot be labelled."""

    def __len__(self) -> int:
        return len(self.rows)

    def labelled_draws(self) -> Draws:
        """The draws of these items alone, as if the others had never been in the pool.

        Exact if every draw has a label. Otherwise a draw is taken to be as many steps earlier
        as there are unlabelled ones before it, which changes a weight by about their share.
        """
        missing = len(self.draws) - len(self)
        if not missing:
            return self.draws
        chance = self.draws.probability[self.places]
        pool_size = max(self.draws.pool_size - missing, len(self))
        return Draws(np.argsort(np.argsort(self.rows)), chance, pool_size)


@dataclass(frozen=True, slots=True, eq=False)
class LearnerState:
    """The draws of a learner and what is known of their labels.

    `answers` are by row of the pool, None for an item that cannot be labelled. `n_settled`
    counts the draws from the first on without a gap that have an answer: only those are
    weighted, because leaving out what is still pending leaves out what takes longest.
    """

    draws: Draws
    answers: Mapping[int, Label | None] = field(default_factory=dict)

    @property
    def n_labels(self) -> int:
        """How many labels were told."""
        return sum(label is not None for label in self.answers.values())

    @property
    def n_settled(self) -> int:
        """How many draws from the first on have an answer."""
        waiting = self.pending
        return len(self.draws) if not len(waiting) else self.draws.index.tolist().index(waiting[0])

    @property
    def pending(self) -> IntArray:
        """The rows that were asked for and have no answer yet, in the order of their draws."""
        rows = [row for row in self.draws.index.tolist() if row not in self.answers]
        return np.array(rows, dtype=np.int64)

    def left(self) -> IntArray:
        """The rows that were never drawn, in the order of the pool."""
        never = np.ones(self.draws.pool_size, dtype=bool)
        never[self.draws.index] = False
        return np.flatnonzero(never)

    def settled(self, n: int | None = None) -> Examples:
        """The labelled items among the first n draws: all that are settled, unless told."""
        return self._among(self.draws[: self.n_settled if n is None else n])

    def told(self) -> Examples:
        """Every labelled item, whether or not draws before it are pending."""
        return self._among(self.draws)

    def _among(self, draws: Draws) -> Examples:
        known = [self.answers.get(row) for row in draws.index.tolist()]
        places = np.array([m for m, label in enumerate(known) if label is not None], dtype=np.int64)
        labels = np.array([label for label in known if label is not None])
        return Examples(draws.index[places], labels, draws, places)


def begun(pool_size: int) -> LearnerState:
    """Nothing drawn yet."""
    return LearnerState(Draws(np.zeros(0, dtype=np.int64), np.zeros(0), pool_size))


def drawn(state: LearnerState, more: Draws) -> LearnerState:
    """The state after more draws, which came from what was left."""
    before, new = state.draws, more.design or {}
    earlier = (before.design or {}) if len(before) else {name: np.zeros(0) for name in new}
    design = {name: np.append(earlier[name], new[name]) for name in new if name in earlier}
    draws = Draws(
        np.append(before.index, more.index),
        np.append(before.probability, more.probability),
        before.pool_size,
        design=design or None,
    )
    return replace(state, draws=draws)


def told(
    state: LearnerState, rows: ArrayLike, labels: Labels, *, amend: bool = False
) -> LearnerState:
    """Record labels. Answers may come in any order; draws keep theirs."""
    pairs = list(zip(*_paired(rows, labels), strict=True))
    asked = set(state.draws.index.tolist())
    answers = dict(state.answers)
    for row, label in pairs:
        if row not in asked:
            raise InputError(
                f"Row {row} was never asked for. A label that the learner did not draw has no "
                f"probability and cannot be weighted; ask() says which rows to label."
            )
        before = answers.get(row)
        if row in answers and before != label and not amend:
            raise InputError(
                f"Row {row} was labelled {before!r} before and is {label!r} now. To replace the "
                f"label, tell it with amend=True."
            )
        answers[row] = label
    check_one_kind(answers.values())
    return replace(state, answers=answers)


def _paired(rows: ArrayLike, labels: Labels) -> tuple[list[int], list[Label | None]]:
    index = np.atleast_1d(np.asarray(rows))
    if index.ndim != 1 or (index.size and not np.issubdtype(index.dtype, np.integer)):
        raise InputError(
            f"index must be rows of the pool, as ask() gives them; it is an array of "
            f"{index.dtype} with shape {index.shape}."
        )
    plain = _plain(labels)
    if len(plain) != len(index):
        raise InputError(f"{len(index)} rows need {len(index)} labels, not {len(plain)}.")
    return index.tolist(), plain


def _plain(labels: Labels) -> list[Label | None]:
    """Labels as plain values; None is an item that cannot be labelled."""
    given: Any = labels
    if given is None or isinstance(given, str) or np.ndim(given) == 0:
        given = [given]
    values = given.tolist() if hasattr(given, "tolist") else list(given)
    known = [value for value in values if value is not None]
    if any(_missing(value) for value in known):
        raise InputError("labels must be finite; tell None for an item that cannot be labelled.")
    check_one_kind(known)
    names = iter(class_names("labels", known).tolist() if known else [])
    return [None if value is None else next(names) for value in values]


def _missing(label: object) -> bool:
    """Whether it is a number that is none, or what pandas writes where there is no value."""
    if isinstance(label, float | np.floating):
        return not np.isfinite(label)
    pandas = sys.modules.get("pandas")  # a value of pandas has imported it
    return pandas is not None and (label is pandas.NA or label is pandas.NaT)


def check_one_kind(labels: Iterable[Any]) -> None:
    """Refuse labels of which some are text and some are numbers, or some are true or false."""
    kinds: dict[str, Any] = {}
    for label in labels:
        if label is not None:
            kinds.setdefault(_kind(label), label)
    if len(kinds) > 1:
        (one, first), (other, second), *_ = kinds.items()
        raise InputError(
            f"Labels are {one} ({first!r}) or {other} ({second!r}), not both: write all of them "
            f"the same way."
        )


def _kind(label: object) -> str:
    if isinstance(label, bool | np.bool_):
        return "truth values"
    return "text" if isinstance(label, str) else "numbers"
