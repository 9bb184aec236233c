"""The stopping rule: stop once doubling the labels is sure to have gained too little.

Models are compared after t/2 and t draws, t = 2, 4, 8, ... times the first number. The j-th
comparison gets the share 1 / (j (j + 1)) of the permitted error. These shares sum to one, and each
limit holds for every number of later labels at once, so the rule stays valid if it is applied
after each label.

Neither model knows the draws after t, so the difference of their losses,

    d(n) = L(before, n) - L(after, n),    n not among the first t draws,

is a fixed function of the items that were left then, and its mean over them is the gain. The
smaller of two upper limits counts. One is certain: where the models predict the same, d is 0
whatever the label, and elsewhere at most the largest d that any label could give. The other is
the betting interval of the draws since, which holds for every number of them at once.
"""

from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelled._check import FloatArray, between, choice
from levelled.errors import InputError
from levelled.estimators import betting_interval, lure
from levelled.learning.drawing import LearnerState
from levelled.learning.settings import LearnerSettings, blocks
from levelled.learning.training import example_weights, seeded_model
from levelled.models import (
    CAP,
    LOSSES,
    Loss,
    Model,
    Predictions,
    PredictionTask,
    Rows,
    call_model,
    fit_copy,
    make_task,
    n_rows,
    read_only,
    take,
)

_FIRST = 10
"""Labels of the first model that is compared, unless the learner starts with more."""
_FEW = 256
_BOUNDS = {"zero_one": 1.0, "brier": 2.0, "log_loss": CAP}


@dataclass(frozen=True, slots=True)
class Stopping:
    """The decision to stop or to go on, and the reason; true where it is to stop.

    `value` estimates by how much the doubling from `before` to `after` labels lowered the loss,
    from `n_later` draws since, and `high` is its upper limit. None: there was nothing to measure.
    """

    stop: bool
    because: str
    value: float | None = None
    high: float | None = None
    before: int | None = None
    after: int | None = None
    n_later: int = 0

    def __bool__(self) -> bool:
        return self.stop

    def __str__(self) -> str:
        return f"{'Stop' if self.stop else 'Go on'}: {self.because}"


def should_stop(
    settings: LearnerSettings,
    X_pool: Rows,
    state: LearnerState,
    gain: float,
    *,
    loss: Loss = "auto",
    bound: float | None = None,
    level: float = 0.95,
) -> Stopping:
    """Stop once doubling the labels is sure to have lowered the loss by less than `gain`.

    It assumes diminishing returns: that the next doubling gains no more than the last one did.
    Most learning curves bend so; none has to. A model that predicts the same for every item has
    not begun to learn, and goes on.
    """
    choice("loss", loss, LOSSES)
    gain = between("gain", gain, 0, np.inf, open_=True)
    level = between("level", level, 0, 1, open_=True)
    N, M, first = state.draws.pool_size, state.n_settled, max(_FIRST, settings.start)
    if M == N:
        return Stopping(True, f"all {N} items of the pool are labelled.")
    if 2 * first > M:
        return Stopping(False, f"{M} labels are too few: models are compared from {2 * first} on.")
    number = (M // first).bit_length() - 1
    t = first * 2**number
    doubling = _make_doubling(settings, X_pool, state, t, loss, bound)
    if _is_constant(doubling.after, X_pool):
        return Stopping(
            False, f"after {t} labels the model still predicts the same for every item."
        )
    share = (1 - level) / (number * (number + 1))
    value, high = _measure_gain(doubling, X_pool, state, level=1 - share)
    because = (
        f"doubling the labels from {t // 2} to {t} lowered the {doubling.task.loss} loss by at "
        f"most {high:.3g} (level {level:g}, {M - t} later labels), and {gain:g} was asked for."
    )
    return Stopping(high < gain, because, value, high, t // 2, t, M - t)


@dataclass(frozen=True, slots=True, eq=False)
class _Doubling:
    """Two models, trained on the first t/2 and t draws, and the loss they are compared by."""

    before: Model
    after: Model
    t: int
    task: PredictionTask
    bound: float
    """Losses are cut there."""

    def predictions(self, X: Rows) -> tuple[Predictions, Predictions]:
        """The predictions of both models for each row."""
        return self.task.predictions(self.before, X), self.task.predictions(self.after, X)

    def difference(
        self, labels: NDArray[Any], before: Predictions, after: Predictions
    ) -> FloatArray:
        """The loss of the earlier model less that of the later one, each cut at the bound."""
        losses = (self.task.losses(labels, each) for each in (before, after))
        return np.subtract(*(np.minimum(each, self.bound) for each in losses))


def _make_doubling(
    settings: LearnerSettings,
    X_pool: Rows,
    state: LearnerState,
    t: int,
    loss: Loss,
    bound: float | None,
) -> _Doubling:
    task = make_task(settings.model, state.settled().labels, loss)
    if loss == "auto" and task.classes is not None:
        task = replace(task, loss="zero_one")  # an error rate is easy to set a limit for
    limit = _BOUNDS.get(task.loss) if bound is None else bound
    if limit is None:
        raise InputError(
            f"The {task.loss} loss has no limit, and without one a single item could hold any "
            f"gain. Give bound=, the loss from which on all count alike."
        )
    limit = between("bound", limit, 0, np.inf, open_=True)
    # With weights="auto" the models are trained without weights: its decision depends on all
    # labels, and these models must depend on the first ones alone.
    is_weighted, models = settings.weights in ("lure", "pure"), []
    for n in (t // 2, t):
        examples = state.settled(n)
        if not len(examples):
            raise InputError(f"None of the first {n} draws could be labelled.")
        weights = example_weights(examples, settings.weights) if is_weighted else None
        X = take(X_pool, examples.rows)
        models.append(fit_copy(seeded_model(settings), task, X, examples.labels, weights))
    before, after = models
    return _Doubling(before, after, t, task, limit)


def _is_constant(model: Model, X_pool: Rows) -> bool:
    """True if the model predicts the same for every row; a few rows mostly show if it does not."""
    few = read_only(take(X_pool, np.arange(min(_FEW, n_rows(X_pool)))))

    def all_equal() -> bool:
        first = np.asarray(model.predict(few))[0]
        return all(
            (np.asarray(model.predict(rows)) == first).all()
            for rows in chain([few], blocks(X_pool, 1))
        )

    return call_model(model, "predict", all_equal)


def _measure_gain(
    doubling: _Doubling, X_pool: Rows, state: LearnerState, *, level: float
) -> tuple[float | None, float]:
    """The gain of a doubling over the items that were left after it, and its upper limit.

    The gain is R_LURE of d from the draws since, or None if there are none. The limit holds for
    all numbers of draws at once with probability `level`.
    """
    M, t, draws = state.n_settled, doubling.t, state.draws
    left = draws.pool_size - t
    differences = _differences(doubling, X_pool, state)
    unlabelled = np.delete(_largest_differences(doubling, X_pool), draws.index[:M])
    certain = float((differences.sum() + unlabelled.sum()) / left)
    if not len(differences):
        return None, certain
    q, most = draws.probability[t:M], (draws.design or {}).get("max_weight")
    _, high = betting_interval(
        differences,
        q,
        left,
        (-doubling.bound, doubling.bound),
        2 * level - 1,  # it has two sides, and one is needed
        design=None if most is None else {"max_weight": most[t:M] * draws.pool_size / left},
    )
    return float(np.mean(lure.weights(q, left) * differences)), min(certain, high)


def _differences(doubling: _Doubling, X_pool: Rows, state: LearnerState) -> FloatArray:
    """d of each later draw; 0 for an item that cannot be labelled."""
    settled, t = state.settled(), doubling.t
    later = settled.places >= t
    differences = np.zeros(state.n_settled - t)
    if later.any():
        before, after = doubling.predictions(take(X_pool, settled.rows[later]))
        places = settled.places[later] - t
        differences[places] = doubling.difference(settled.labels[later], before, after)
    return differences


def _largest_differences(doubling: _Doubling, X_pool: Rows) -> FloatArray:
    """The largest d of each row of the pool, whatever its label.

    For a regression, a loss that is cut at B changes by no more than its steepest slope, 2 sqrt(B)
    or 1, times the change of the prediction. A class without labels so far cannot have the largest
    d: the probabilities of both models sum to one, so that some class gained at least as much.
    """
    classes = doubling.task.classes
    slope = 2 * np.sqrt(doubling.bound) if doubling.task.loss == "squared" else 1.0
    parts = []
    for rows in blocks(X_pool, 2 if classes is None else 2 * len(classes)):
        before, after = doubling.predictions(rows)
        if classes is None:
            parts.append(np.minimum(slope * np.abs(before - after), doubling.bound))
            continue
        if doubling.task.loss == "zero_one":  # the label that the later model alone predicts
            parts.append((before != after) * min(1.0, doubling.bound))
            continue
        largest = np.zeros(len(before))
        for label in classes:
            labels = np.full(len(largest), label)
            np.maximum(largest, doubling.difference(labels, before, after), out=largest)
        parts.append(largest)
    return np.concatenate(parts)
