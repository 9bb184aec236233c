"""Are more labels worth it? Stop once doubling them is sure to have gained too little.

Models are compared after t/2 and t draws, t = 2, 4, 8, ... times the first. The j-th comparison
gets the share 1 / (j (j + 1)) of the permitted error. These shares sum to one, and each limit
holds for every number of later labels at once: so looking after each label and stopping at will
does no harm.
"""

from dataclasses import dataclass, replace

import numpy as np

from levelled._check import FloatArray, between, choice
from levelled.errors import InputError
from levelled.learning.doubling import Doubling, gained
from levelled.learning.drawing import FIT, seed_of
from levelled.learning.scoring import blocks
from levelled.learning.settings import LearnerSettings
from levelled.learning.state import LearnerState
from levelled.learning.training import weights_of
from levelled.models import (
    CAP,
    LOSSES,
    Loss,
    Model,
    PredictionTask,
    Rows,
    call_model,
    fit_copy,
    make_task,
    seeded_copy,
    take,
)

__all__ = ["Stopping", "stopping"]

_FIRST = 10
"""Labels of the first model that is compared, unless the learner starts with more."""
_BOUNDS = {"zero_one": 1.0, "brier": 2.0, "log_loss": CAP}


@dataclass(frozen=True, slots=True)
class Stopping:
    """Whether to stop, and why; true where it says to.

    `value` estimates what the doubling from `before` to `after` labels lowered the loss by, from
    `n_later` draws since, and `high` is its upper limit. None: there was nothing to go by.
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


def stopping(
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
    Most learning curves bend so; none has to. A model that answers every item alike has not
    begun to learn, and goes on.
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
    doubling = _doubling(settings, X_pool, state, t, loss=loss, bound=bound)
    if _says_one_thing(doubling.after, X_pool):
        return Stopping(False, f"after {t} labels the model still answers every item alike.")
    found = gained(doubling, X_pool, state, level=1 - (1 - level) / (number * (number + 1)))
    because = (
        f"doubling the labels from {t // 2} to {t} lowered the {doubling.task.loss} loss by at "
        f"most {found.high:.3g} (level {level:g}, {found.n_later} later labels), and {gain:g} was "
        f"asked for."
    )
    return Stopping(found.high < gain, because, found.value, found.high, t // 2, t, found.n_later)


def _doubling(
    settings: LearnerSettings,
    X_pool: Rows,
    state: LearnerState,
    t: int,
    *,
    loss: Loss,
    bound: float | None,
) -> Doubling:
    task = make_task(settings.model, state.settled().labels, loss)
    if loss == "auto" and task.classes is not None:
        task = replace(task, loss="zero_one")  # an error rate is what people know
    bound = _bound(task, bound)
    before, after = (_model_after(settings, X_pool, state, task, n) for n in (t // 2, t))
    return Doubling(before, after, t, task, bound)


def _bound(task: PredictionTask, bound: float | None) -> float:
    if bound is None and task.loss in _BOUNDS:
        return _BOUNDS[task.loss]
    if bound is None:
        raise InputError(
            f"The {task.loss} loss has no limit, and without one a single item could hold any "
            f"gain. Give bound=, the loss from which on all count alike."
        )
    return between("bound", bound, 0, np.inf, open_=True)


def _model_after(
    settings: LearnerSettings, X_pool: Rows, state: LearnerState, task: PredictionTask, n: int
) -> Model:
    """The model as it would have been trained after n draws; "auto" counts as no weights here.

    What "auto" decides depends on all labels, and these models must know the first n alone.
    """
    examples = state.settled(n)
    if not len(examples):
        raise InputError(f"None of the first {n} draws could be labelled.")
    weights: FloatArray | None = None
    if settings.weights in ("lure", "pure"):
        weights = weights_of(examples, settings.weights)
    model = seeded_copy(settings.model, seed_of(settings.seed, FIT, 0) % 2**31)
    return fit_copy(model, task, take(X_pool, examples.rows), examples.labels, weights)


def _says_one_thing(model: Model, X_pool: Rows) -> bool:
    """Whether the model has learned nothing yet, so that what it gained says nothing either."""
    parts = blocks(X_pool, 1)
    answers = call_model(
        model, "answer", lambda: [np.asarray(model.predict(rows)) for rows in parts]
    )
    return all((part == answers[0][0]).all() for part in answers)
