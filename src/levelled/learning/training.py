"""Train the model on the settled labels, with the weights that were asked for."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelled._check import FloatArray
from levelled.advice import Verdict, advise
from levelled.errors import InputError
from levelled.learning.drawing import FIT, seed_of
from levelled.learning.settings import LearnerSettings
from levelled.learning.state import Examples, LearnerState
from levelled.learning.weights import training_weights
from levelled.models import Model, Rows, fit_copy, make_task, model_kind, seeded_copy, take

__all__ = ["Trained", "advised", "check_suits", "trained", "waiting", "weights_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """A trained model, and what it was trained on."""

    model: Model
    kind: str
    """The kind of its weights."""
    rows: NDArray[np.int64]
    labels: NDArray[Any]
    weights: FloatArray
    classes: NDArray[Any] | None
    verdict: Verdict | None
    """What the kind was decided by, if it was left open."""


def trained(
    settings: LearnerSettings, X_pool: Rows, state: LearnerState, verdict: Verdict | None
) -> Trained:
    """The model trained on the settled labels; with a verdict, corrected only if it says so."""
    examples = state.settled()
    _check_labels(examples, state)
    task = make_task(settings.model, examples.labels, "auto")
    if task.classes is not None and len(task.classes) < 2:
        raise InputError(
            f"All {len(examples)} labels that can be used are {task.classes[0]!s}, and a "
            f"classifier needs two classes. Ask for more; until then draws are uniform."
        )
    kind: str = settings.weights
    if verdict is not None:
        kind = "lure" if verdict.advice == "correct" else "none"
    weights = weights_of(examples, kind)
    model = fit_copy(
        seeded_copy(settings.model, seed_of(settings.seed, FIT, 0) % 2**31),
        task,
        take(X_pool, examples.rows),
        task.labels,
        None if kind == "none" else weights,
    )
    return Trained(model, kind, examples.rows, examples.labels, weights, task.classes, verdict)


def check_suits(model: Model, state: LearnerState) -> LearnerState:
    """The state, unless its labels are text and the model predicts numbers."""
    known = next((label for label in state.answers.values() if label is not None), None)
    if isinstance(known, str) and model_kind(model) == "regressor":
        raise InputError(
            f"{type(model).__name__} predicts numbers, and labels are text ({known!r}): tell "
            f"numbers, or learn with a classifier."
        )
    return state


def weights_of(examples: Examples, kind: str) -> FloatArray:
    """The weight of each example; draws that cannot be labelled count, with a loss of nothing."""
    return training_weights(examples.draws, kind)[examples.places]  # type: ignore[arg-type]


def advised(settings: LearnerSettings, X_pool: Rows, state: LearnerState, **more: Any) -> Verdict:  # noqa: ANN401
    """Whether weights are worth it, from the settled labels."""
    examples = state.settled()
    _check_labels(examples, state)
    return advise(
        settings.model,
        take(X_pool, examples.rows),
        examples.labels,
        examples.labelled_draws(),
        **{"seed": settings.seed, **more},
    )


def waiting(state: LearnerState) -> str | None:
    """What a reader must know of labels that could not be used."""
    n_pending = len(state.pending)
    if not n_pending:
        return None
    held = state.n_labels - len(state.settled())
    told = f"{n_pending} of {len(state.draws)} draws wait for their labels"
    return f"{told}, and {held} later labels are not used until then" if held else told


def _check_labels(examples: Examples, state: LearnerState) -> None:
    if len(examples):
        return
    if state.n_labels:
        raise InputError(
            f"None of the {state.n_labels} labels can be used yet: the first draw, row "
            f"{state.pending[0]}, has none. Weights need draws without a gap; tell that label, or "
            f"None if it cannot be labelled."
        )
    raise InputError("There are no labels yet: ask() for rows and tell() their labels.")
