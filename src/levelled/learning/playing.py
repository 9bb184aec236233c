"""Active learning played through where all labels are known, to see what correcting does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from levelled._check import FloatArray, IntArray
from levelled.errors import PoolError
from levelled.models import Loss, Model, PredictionTask, make_task
from levelled.sources.features import Features

if TYPE_CHECKING:
    from levelled.learning.learner import ActiveLearner

__all__ = [
    "TITLES",
    "WAYS",
    "LabelledPool",
    "Row",
    "Test",
    "checkpoints",
    "compared",
    "held_out",
    "known_pool",
    "label_counts",
    "seeds",
    "summary",
    "teach",
]

WAYS = {"naive": "none", "pure": "pure", "lure": "lure"}
"""How a model is trained, and the name of the weights."""
TITLES = {"naive": "naive", "pure": "PURE", "lure": "LURE"}
"""The same ways as people read them."""
_ROUNDING = 1e-9
"""Risks that differ by a smaller share than this are the same."""

Test = tuple[FloatArray, Sequence[Any]]
"""Features and labels, row by row, to judge by."""
Risks = tuple[int, dict[str, float]]
"""A number of labels, and the risk of the model trained on them each way."""
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)  # arrays have no single truth value
class LabelledPool:
    """Features with the label of every row, and what a model is judged by."""

    pool: Features
    labels: NDArray[Any]
    task: PredictionTask
    X_test: FloatArray | None = None
    y_test: NDArray[Any] | None = None

    def judged_by(self, drawn: IntArray) -> tuple[FloatArray, NDArray[Any]]:
        """The test set; without one, the part of the pool that was not drawn."""
        if self.X_test is not None and self.y_test is not None:
            return self.X_test, self.y_test
        rest = np.delete(np.arange(len(self.pool)), drawn)
        return self.pool.X[rest], self.labels[rest]

    def risk(self, model: Model, drawn: IntArray) -> float:
        """The mean loss of a trained model on what it is judged by."""
        X, y = self.judged_by(drawn)
        return float(self.task.losses(y, self.task.predictions(model, X)).mean())


def known_pool(
    pool: Features, labels: Sequence[Any], model: Model, *, loss: Loss, test: Test | None = None
) -> LabelledPool:
    """Bring features and labels together, with the loss that suits model and labels."""
    X_test, theirs = (None, []) if test is None else test
    task = make_task(model, np.array([*labels, *theirs]), loss)
    own, other = np.split(task.labels, [len(pool)])
    return LabelledPool(pool, own, task, X_test, None if test is None else other)


def held_out(
    pool: Features, labels: Sequence[Any], share: float, *, rng: Generator
) -> tuple[Features, list[Any], Test]:
    """Set a random share of the items aside to judge by; the others are the pool."""
    N = len(pool)
    aside = np.sort(rng.permutation(N)[: round(share * N)])
    if not 0 < len(aside) < N:
        raise PoolError(
            f"A share of {share:g} of {N} items is {len(aside)}: some must be held out, and some "
            f"must be left."
        )
    left = np.delete(np.arange(N), aside)
    smaller = replace(pool, X=pool.X[left], ids=pool.ids.take(left))
    own, other = ([labels[row] for row in rows.tolist()] for rows in (left, aside))
    return smaller, own, (pool.X[aside], other)


def label_counts(start: int, batch: int, budget: int) -> list[int]:
    """How many labels there are after each time the learner asks.

    >>> label_counts(10, 20, 55)
    [10, 30, 50, 55]
    """
    return [*range(start or batch, budget, batch), budget]


def checkpoints(counts: Sequence[int], most: int = 10) -> list[int]:
    """Some of the numbers of labels, evenly spaced, at which models are trained; the last is one.

    >>> checkpoints([10, 20, 30, 40, 50, 55], most=3)
    [20, 40, 55]
    """
    apart = -(-len(counts) // most)
    return [*counts][::-1][::apart][::-1]


def seeds(seed: int, n: int) -> list[int]:
    """Seeds of n trajectories, none of which is among those of another seed.

    >>> seeds(0, 3)[:2] == seeds(0, 2), {*seeds(0, 10)} & {*seeds(1, 10)}
    (True, set())
    """
    return [int(one.generate_state(1, np.uint64)[0]) >> 1 for one in SeedSequence(seed).spawn(n)]


def teach(learner: ActiveLearner, known: LabelledPool, n_labels: int) -> None:
    """Let the learner ask until it has that many labels, and answer."""
    index = learner.ask(n_labels - len(learner))
    learner.tell(index, known.labels[index])


def compared(
    learners: Iterable[ActiveLearner], known: LabelledPool, counts: Sequence[int]
) -> Iterator[Risks | None]:
    """Play each learner through; a step is a number of labels, with risks at checkpoints.

    Which items are drawn does not depend on the weights, so all ways of training share them.
    While all labels are of one class, nothing is trained and there are no risks.
    """
    at = {*checkpoints(counts)}
    for learner in learners:
        for n_labels in counts:
            teach(learner, known, n_labels)
            yield (n_labels, _risks(learner, known)) if n_labels in at else None


def summary(found: Iterable[Risks | None], n: int) -> list[Row]:
    """A row a checkpoint: mean risks over n trajectories, and their standard errors.

    `difference` is naive less LURE, trajectory by trajectory, and 0 where rounding alone makes
    one. Where a trajectory had labels of one class alone there is no mean.
    """
    at: dict[int, list[dict[str, float]]] = {}
    for each in found:
        if each is not None:
            at.setdefault(each[0], []).append(each[1])
    rows = []
    for n_labels, risks in at.items():
        complete = [one | {"difference": _difference(one)} for one in risks if one]
        row: Row = {"labels": n_labels}
        for name in (*WAYS, "difference"):
            values = [one[name] for one in complete] if len(complete) == n else []
            row[name], row[f"{name}_stderr"] = _mean(np.array(values))
        rows.append(row)
    return rows


def _risks(learner: ActiveLearner, known: LabelledPool) -> dict[str, float]:
    told = known.labels[learner.draws.index]
    if known.task.classes is not None and (told == told[0]).all():
        return {}
    return {
        way: known.risk(learner.set_params(weights=kind).fit().model_, learner.draws.index)
        for way, kind in WAYS.items()
    }


def _difference(risks: dict[str, float]) -> float:
    naive, lure = risks["naive"], risks["lure"]
    return 0.0 if abs(naive - lure) <= _ROUNDING * abs(naive) else naive - lure


def _mean(values: FloatArray) -> tuple[float | None, float | None]:
    """The mean of some trajectories and its standard error, as far as there are any."""
    if not len(values):
        return None, None
    stderr = None if len(values) == 1 else float(values.std(ddof=1) / np.sqrt(len(values)))
    return float(values.mean()), stderr
