"""Active learning simulated on a pool whose labels are known, to compare ways of training."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from levelled._check import FloatArray, IntArray
from levelled.campaigns.figures.exporting import write_table
from levelled.errors import InputError, PoolError
from levelled.learning.learner import ActiveLearner
from levelled.models import Loss, Model, PredictionTask, make_task, takes_weights
from levelled.reports import plots
from levelled.reports.numbers import with_error
from levelled.sources.features import Features

if TYPE_CHECKING:
    from levelled.advice import Verdict
    from levelled.backends import Backend


_WAYS = {
    "naive": ("none", "plain", plots.COLOURS["naive"], plots.DASHES["naive"]),
    "pure": ("pure", "PURE", plots.COLOURS["PURE"], plots.DASHES["PURE"]),
    "lure": ("lure", "LURE", plots.COLOURS["LURE"], (0, (4, 1, 1, 1))),
    "share": ("auto", "share", plots.BLACK, "-"),
}
"""Ways of training by their names in files: weights, title, and colour and dashes in plots."""
_LOSSES = {
    "brier": "Brier score",
    "log_loss": "log loss",
    "zero_one": "error",
    "squared": "squared error",
    "absolute": "absolute error",
}
_GAINS = {"difference": "lure", "share_difference": "share"}
"""Columns of the gain over plain training, and the way of training that has it."""
_ROUNDING = 1e-9
"""Risks that differ by a smaller share than this are the same."""

TestSet = tuple[FloatArray, Sequence[Any]]
"""Features and labels, row by row, on which risks are measured."""
Risks = tuple[int, dict[str, float]]
"""A number of labels, and the risk of the model trained on them each way."""
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)  # arrays have no single truth value
class LabelledPool:
    """Features with the label of every row, and a test set if there is one."""

    pool: Features
    labels: NDArray[Any]
    task: PredictionTask
    test: tuple[FloatArray, NDArray[Any]] | None = None

    @property
    def test_items(self) -> str:
        """A name for the items on which risks are measured."""
        return "items not drawn" if self.test is None else "test items"

    @property
    def risk_name(self) -> str:
        """The loss and the items of the risk, for people."""
        return f"{_LOSSES[self.task.loss]} on {self.test_items}"

    def test_set(self, drawn: IntArray) -> tuple[FloatArray, NDArray[Any]]:
        """The test set; without one, the part of the pool that was not drawn."""
        if self.test is not None:
            return self.test
        rest = np.delete(np.arange(len(self.pool)), drawn)
        return self.pool.X[rest], self.labels[rest]

    def risk(self, model: Model, drawn: IntArray) -> float:
        """The mean loss of a trained model on the test set."""
        X, y = self.test_set(drawn)
        return float(self.task.losses(y, self.task.predictions(model, X)).mean())

    def __str__(self) -> str:
        names, classes = self.pool.columns, self.task.classes
        kind = "numbers" if classes is None else f"{len(classes)} classes"
        first = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        columns = f"{len(names)} column{'s' if len(names) > 1 else ''} ({first})"
        return f"{len(self.pool)} items to draw from: {kind}, from {columns}"

    def check_budget(self, budget: int) -> None:
        """Refuse a budget or labels with which a simulation could not end."""
        N = len(self.pool)
        if budget > N:
            raise InputError(f"budget={budget} is more than the {N} items of the pool.")
        if self.test is None and budget == N:
            raise InputError(
                f"budget={budget} leaves no item of the pool to measure risks on. Draw fewer, or "
                f"give test= or hold_out=."
            )
        if self.task.classes is not None and (self.labels == self.labels[0]).all():
            raise InputError(
                f"All {N} labels of the pool are {self.labels[0]!s}, and a classifier needs two "
                f"classes to tell apart."
            )


def make_labelled_pool(
    pool: Features, labels: Sequence[Any], model: Model, *, loss: Loss, test: TestSet | None = None
) -> LabelledPool:
    """A pool with its labels and a test set, and the loss that suits model and labels."""
    task = make_task(model, np.array([*labels, *(() if test is None else test[1])]), loss)
    own, others = np.split(task.labels, [len(pool)])
    return LabelledPool(pool, own, task, None if test is None else (test[0], others))


def split_pool(
    pool: Features, labels: Sequence[Any], share: float, *, rng: Generator
) -> tuple[Features, list[Any], TestSet]:
    """Set a random share of the items aside as a test set; the others are the pool."""
    N = len(pool)
    aside = np.sort(rng.permutation(N)[: round(share * N)])
    if not 0 < len(aside) < N:
        raise PoolError(
            f"A share of {share:g} of {N} items is {len(aside)}: some must be held out, and some "
            f"must be left."
        )
    left = np.delete(np.arange(N), aside)
    smaller = replace(pool, X=pool.X[left], ids=pool.ids.take(left))
    own, others = ([labels[row] for row in rows.tolist()] for rows in (left, aside))
    return smaller, own, (pool.X[aside], others)


def label_counts(start: int, batch: int, budget: int) -> list[int]:
    """The number of labels after each `ask`.

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


def trajectory_seeds(seed: int, n: int) -> list[int]:
    """Seeds of n trajectories, none of which is among those of another seed.

    >>> trajectory_seeds(0, 3)[:2] == trajectory_seeds(0, 2)
    True
    >>> {*trajectory_seeds(0, 10)} & {*trajectory_seeds(1, 10)}
    set()
    """
    return [int(one.generate_state(1, np.uint64)[0]) >> 1 for one in SeedSequence(seed).spawn(n)]


def teach(learner: ActiveLearner, pool: LabelledPool, n_labels: int) -> None:
    """Let the learner ask until it has that many labels, and tell it those."""
    index = learner.ask(n_labels - len(learner))
    learner.tell(index, pool.labels[index])


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """Active learning of a model on a labelled pool.

    `counts` are the numbers of labels after each `ask`, and `params` further parameters of
    `ActiveLearner`, which are checked when the simulation is made.
    """

    pool: LabelledPool
    model: Model
    counts: Sequence[int]
    params: Mapping[str, Any]

    def __post_init__(self) -> None:
        self.pool.check_budget(self.counts[-1])
        self.make_learner(0)

    def make_learner(self, seed: int) -> ActiveLearner:
        """A learner that has drawn nothing yet."""
        return ActiveLearner(self.model, self.pool.pool.X, **self.params, seed=seed)

    def run(self, seed: int, *, backend: Backend = map) -> tuple[ActiveLearner, Verdict, Row]:
        """Draw all labels and train: the learner, the verdict, and a row with the risk."""
        learner = self.make_learner(seed)
        loss: Any = self.pool.task.loss

        def train() -> Verdict:
            learner.fit(loss=loss)
            return learner.verdict_ or learner.advise(loss=loss)

        steps = [*(partial(teach, learner, self.pool, n) for n in self.counts), train]
        *_, verdict = backend(lambda step: step(), steps)
        drawn = learner.draws.index
        row = {
            "labels": len(learner),
            "pool_size": len(self.pool.pool),
            "weights": learner.weights_,
            "share": None if learner.correction_ is None else learner.correction_.share,
            "loss": self.pool.task.loss,
            "risk": self.pool.risk(learner.model_, drawn),
            "risk_of": self.pool.test_items,
            "n_risk": len(self.pool.test_set(drawn)[1]),
            "verdict": verdict.as_dict(),
        }
        return learner, verdict, row

    def compare(self, seed: int, trajectories: int, *, backend: Backend = map) -> list[Row]:
        """The risk of each way of training at checkpoints, averaged over trajectories."""
        if not takes_weights(self.model):
            raise InputError(
                f"{type(self.model).__name__} takes no sample_weight, so its training cannot be "
                f"corrected, as compare= asks. Choose another model=, or leave compare= out."
            )
        steps = self.steps(trajectory_seeds(seed, trajectories))
        numbers = range(trajectories * len(self.counts))
        return summarise(backend(lambda _: next(steps), numbers), trajectories)

    def steps(self, seeds: Iterable[int]) -> Iterator[Risks | None]:
        """One step for each number of labels of each trajectory, with risks at checkpoints.

        Which items are drawn does not depend on the weights, so all ways of training share them.
        While all labels are of one class, nothing is trained and there are no risks.
        """
        at = {*checkpoints(self.counts)}
        for seed in seeds:
            learner = self.make_learner(seed)
            for n_labels in self.counts:
                teach(learner, self.pool, n_labels)
                yield (n_labels, self._risks(learner)) if n_labels in at else None

    def _risks(self, learner: ActiveLearner) -> dict[str, float]:
        drawn = learner.draws.index
        labels = self.pool.labels[drawn]
        if self.pool.task.classes is not None and (labels == labels[0]).all():
            return {}
        loss: Any = self.pool.task.loss
        return {
            way: self.pool.risk(learner.set_params(weights=kind).fit(loss=loss).model_, drawn)
            for way, (kind, *_) in _WAYS.items()
        }


def summarise(steps: Iterable[Risks | None], n: int) -> list[Row]:
    """A row for each checkpoint: mean risks over n trajectories, and their standard errors.

    `difference` is plain less LURE training, trajectory by trajectory, and `share_difference`
    plain training less the blend of weights="auto"; both are 0 where rounding alone makes one. If
    a trajectory had labels of one class alone, there is no mean.
    """
    at: dict[int, list[dict[str, float]]] = {}
    for step in steps:
        if step is not None:
            at.setdefault(step[0], []).append(step[1])
    rows = []
    for n_labels, risks in at.items():
        complete = []
        for one in filter(None, risks):
            gains = {column: one["naive"] - one[way] for column, way in _GAINS.items()}
            least = _ROUNDING * abs(one["naive"])
            complete.append(
                one | {name: 0.0 if abs(gain) <= least else gain for name, gain in gains.items()}
            )
        row: Row = {"labels": n_labels}
        for name in (*_WAYS, *_GAINS):
            values = [one[name] for one in complete] if len(complete) == n else []
            row[name], row[f"{name}_stderr"] = _mean(np.array(values))
        rows.append(row)
    return rows


def _mean(values: FloatArray) -> tuple[float | None, float | None]:
    """The mean of some trajectories and its standard error, if there are enough."""
    if not len(values):
        return None, None
    stderr = None if len(values) == 1 else float(values.std(ddof=1) / np.sqrt(len(values)))
    return float(values.mean()), stderr


def comparison_table(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """The titles and the rows of a table for people, with the errors of the differences alone."""

    def cell(value: float | None, stderr: float | None = None) -> str:
        if value is None:
            return "–"  # noqa: RUF001
        return with_error(value, stderr) if stderr else f"{value:.4g}"

    titles = [title for _, title, *_ in _WAYS.values()]
    gains = [f"plain less {_WAYS[way][1]}" for way in _GAINS.values()]
    return ["labels", *titles, *gains], [
        [
            str(row["labels"]),
            *(cell(row[name]) for name in _WAYS),
            *(cell(row[name], row[f"{name}_stderr"]) for name in _GAINS),
        ]
        for row in rows
    ]


def save_comparison(rows: Sequence[Row], out: Path, *, risk: str, about: str) -> list[Path]:
    """Write the numbers and a plot of them to a folder, and return their paths.

    The plot has risks against the number of labels, and the gain by weights, +- one standard error.
    """
    plot, (above, below) = plots.canvas(rows=2, height=4.2)
    curves = [(above, way, way, "") for way in _WAYS]
    curves += [(below, name, way, "plain less ") for name, way in _GAINS.items()]
    for axes, name, way, before in curves:
        _, title, colour, dashes = _WAYS[way]
        measured = [row for row in rows if row[name] is not None]
        mean = np.array([row[name] for row in measured])
        error = np.array([row[f"{name}_stderr"] or 0.0 for row in measured])
        labels = np.array([row["labels"] for row in measured])
        plots.band(
            axes, labels, mean, mean - error, mean + error, colour, before + title, dashes=dashes
        )
    plots.reference(below, 0.0, "no difference")
    above.set_ylabel(risk)
    below.set_ylabel("gain over plain training")
    below.set_xlabel("labels")
    plots.legend(above, "best")
    plots.legend(below, "best")
    plots.footnote(plot, about)
    paths = [out / "compare.png", out / "compare.csv"]
    plot.savefig(paths[0], dpi=200)
    write_table(pa.Table.from_pylist([*rows]), paths[1])
    return paths
