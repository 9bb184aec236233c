"""A pool whose labels are known beforehand, so that learning from it can be played through."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from levelled._check import FloatArray, IntArray
from levelled.advice.answering import Problem, posed
from levelled.cli.labels import Labels, Test
from levelled.errors import PoolError
from levelled.sources.features import Features

if TYPE_CHECKING:
    from levelled.advice.models import Model
    from levelled.learning import ActiveLearner

__all__ = ["Known", "held_out", "known_pool", "label_counts", "teach"]


@dataclass(frozen=True, slots=True, eq=False)  # arrays have no single truth value
class Known:
    """Features, the labels of those rows that have one, and what a model is judged by."""

    pool: Features
    rows: IntArray
    labels: NDArray[Any]
    problem: Problem
    X_test: FloatArray | None = None
    y_test: NDArray[Any] | None = None

    def label(self, rows: IntArray) -> NDArray[Any]:
        """The labels of some rows, or which of them has none."""
        at = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        found = self.rows[at] == rows
        if not found.all():
            item = self.pool.ids[int(rows[np.argmin(found)])].as_py()
            raise PoolError(
                f"The item {item!r} was drawn and has no label, nor have "
                f"{len(self.pool) - len(self.rows) - 1} others of the pool. Add their labels, or "
                f"take them out of the pool."
            )
        return self.labels[at]

    def judged_by(self, drawn: IntArray) -> tuple[FloatArray, NDArray[Any]]:
        """The test set; without one, the part of the pool that was not drawn."""
        if self.X_test is not None and self.y_test is not None:
            return self.X_test, self.y_test
        rest = np.setdiff1d(self.rows, drawn)
        return self.pool.X[rest], self.label(rest)

    def risk(self, model: Model, drawn: IntArray) -> float:
        """The mean loss of a trained model on what it is judged by."""
        X, y = self.judged_by(drawn)
        return float(self.problem.losses(y, self.problem.answers(model, X)).mean())


def known_pool(
    pool: Features, labels: Labels, model: Model, *, loss: str, test: Test | None = None
) -> Known:
    """Bring features and labels together, with the loss that suits model and labels."""
    rows = np.array(sorted(labels), dtype=np.int64)
    X_test, theirs = (None, []) if test is None else test
    every = np.array([*(labels[row] for row in rows.tolist()), *theirs])
    problem = posed(model, every, loss)  # type: ignore[arg-type]  # it says which there are
    own, other = np.split(problem.labels, [len(rows)])
    return Known(pool, rows, own, problem, X_test, None if test is None else other)


def held_out(
    pool: Features, labels: Labels, share: float, *, rng: Generator
) -> tuple[Features, Labels, Test]:
    """Set a random share of the labelled items aside to judge by; the others are the pool."""
    labelled = np.array(sorted(labels), dtype=np.int64)
    aside = np.sort(rng.permutation(labelled)[: round(share * len(labelled))])
    if not 0 < len(aside) < len(labelled):
        raise PoolError(
            f"A share of {share:g} of {len(labelled)} labelled items is {len(aside)}: some must "
            f"be held out, and some must be left."
        )
    kept = np.setdiff1d(np.arange(len(pool)), aside)
    smaller = replace(pool, X=pool.X[kept], ids=pool.ids.take(kept))
    place = {row: at for at, row in enumerate(kept.tolist())}
    left = {place[row]: label for row, label in labels.items() if row in place}
    return smaller, left, (pool.X[aside], [labels[row] for row in aside.tolist()])


def label_counts(start: int, batch: int, budget: int) -> list[int]:
    """How many labels there are after each time the learner asks.

    >>> label_counts(10, 20, 55)
    [10, 30, 50, 55]
    """
    return [*range(start or batch, budget, batch), budget]


def teach(learner: ActiveLearner, known: Known, n_labels: int) -> None:
    """Let the learner ask until it has that many labels, and answer."""
    index = learner.ask(n_labels - len(learner))
    learner.tell(index, known.label(index))
