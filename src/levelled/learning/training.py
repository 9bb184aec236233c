"""Train the model on the settled labels, with the weights of the settings."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelled._check import FloatArray
from levelled.advice import Verdict, advise
from levelled.errors import InputError
from levelled.learning.drawing import FIT, seed_for
from levelled.learning.settings import LearnerSettings
from levelled.learning.state import Examples, LearnerState
from levelled.learning.weights import training_weights
from levelled.models import Model, Rows, fit_copy, make_task, model_kind, seeded_copy, take

__all__ = [
    "TrainedModel",
    "advise_settled",
    "check_labels_suit",
    "example_weights",
    "note_pending",
    "seeded_model",
    "train",
]


@dataclass(frozen=True, slots=True, eq=False)
class TrainedModel:
    """A trained model, and the rows, labels and weights it was trained on."""

    model: Model
    kind: str
    """The kind of its weights."""
    rows: NDArray[np.int64]
    labels: NDArray[Any]
    weights: FloatArray
    classes: NDArray[Any] | None
    verdict: Verdict | None
    """The verdict that decided the kind, if that was "auto"."""


def train(
    settings: LearnerSettings, X_pool: Rows, state: LearnerState, verdict: Verdict | None
) -> TrainedModel:
    """Train on the settled labels; with a verdict, with weights only if its advice is "correct"."""
    examples = _settled_examples(state)
    task = make_task(settings.model, examples.labels, "auto")
    if task.classes is not None and len(task.classes) < 2:
        raise InputError(
            f"All {len(examples)} labels that can be used are {task.classes[0]!s}, and a "
            f"classifier needs two classes. Ask for more; until then draws are uniform."
        )
    kind: str = settings.weights
    if verdict is not None:
        kind = "lure" if verdict.advice == "correct" else "none"
    weights = example_weights(examples, kind)
    own = None if kind == "none" else weights
    X = take(X_pool, examples.rows)
    model = fit_copy(seeded_model(settings), task, X, task.labels, own)
    return TrainedModel(model, kind, examples.rows, examples.labels, weights, task.classes, verdict)


def seeded_model(settings: LearnerSettings) -> Model:
    """An untrained copy of the learner's model, seeded for training."""
    return seeded_copy(settings.model, seed_for(settings.seed, FIT, 0) % 2**31)


def check_labels_suit(model: Model, state: LearnerState) -> LearnerState:
    """The state, unless its labels are text and the model predicts numbers."""
    first = next((label for label in state.labels.values() if label is not None), None)
    if isinstance(first, str) and model_kind(model) == "regressor":
        raise InputError(
            f"{type(model).__name__} predicts numbers, and labels are text ({first!r}): tell "
            f"numbers, or learn with a classifier."
        )
    return state


def example_weights(examples: Examples, kind: str) -> FloatArray:
    """The weight of each example; draws that cannot be labelled count, with a loss of 0."""
    return training_weights(examples.draws, kind)[examples.places]  # type: ignore[arg-type]


def advise_settled(
    settings: LearnerSettings,
    X_pool: Rows,
    state: LearnerState,
    **options: Any,  # noqa: ANN401
) -> Verdict:
    """The advice of `advise` on the settled labels."""
    examples = _settled_examples(state)
    return advise(
        settings.model,
        take(X_pool, examples.rows),
        examples.labels,
        examples.labelled_draws(),
        **{"seed": settings.seed, **options},
    )


def note_pending(state: LearnerState) -> str | None:
    """A note on draws that wait for their labels, if there are any."""
    n_pending = len(state.pending)
    if not n_pending:
        return None
    unused = state.n_labels - len(state.settled())
    note = f"{n_pending} of {len(state.draws)} draws wait for their labels"
    return f"{note}, and {unused} later labels are not used until then" if unused else note


def _settled_examples(state: LearnerState) -> Examples:
    examples = state.settled()
    if len(examples):
        return examples
    if state.n_labels:
        raise InputError(
            f"None of the {state.n_labels} labels can be used yet: the first draw, row "
            f"{state.pending[0]}, has none. Weights need draws without a gap; tell that label, or "
            f"None if it cannot be labelled."
        )
    raise InputError("There are no labels yet: ask() for rows and tell() their labels.")
