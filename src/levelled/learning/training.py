"""Train the model on the settled labels, with the weights of the settings."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelled._check import FloatArray
from levelled.advice.correcting import Correction, judge_correction
from levelled.advice.share import inclusion_weights
from levelled.errors import InputError
from levelled.learning.blending import Blend, check_classes, make_blend
from levelled.learning.drawing import FIT, seed_for
from levelled.learning.settings import LearnerSettings
from levelled.learning.state import Examples, LearnerState
from levelled.learning.weights import training_weights
from levelled.models import (
    Model,
    Rows,
    fit_copy,
    make_task,
    model_kind,
    seeded_copy,
    take,
)


@dataclass(frozen=True, slots=True, eq=False)
class TrainedModel:
    """A trained model, and the rows, labels and weights it was trained on."""

    model: Any
    """A model, or a blend of two."""
    kind: str
    """The kind of its weights."""
    rows: NDArray[np.int64]
    labels: NDArray[Any]
    weights: FloatArray
    classes: NDArray[Any] | None
    blend: Blend | None = None
    """The blend that "auto" made."""


def train(
    settings: LearnerSettings,
    X_pool: Rows,
    state: LearnerState,
    correction: Correction | None = None,
    *,
    single: bool = False,
) -> TrainedModel:
    """Train on the settled labels with the weights of the settings.

    Where these are "auto", train as far corrected as the verdict of `correction` says; what was
    fitted for it is not fitted again.
    """
    examples = _settled_examples(state)
    X, own = take(X_pool, examples.rows), seeded_model(settings)
    of = (examples.rows, examples.labels)
    if correction is not None:
        blend = make_blend(own, X, correction, single=single)
        plain = "none", np.ones(len(examples))
        kind, weights = ("auto", blend.sample_weight) if blend.share else plain
        return TrainedModel(blend.model, kind, *of, weights, blend.classes, blend)
    task = check_classes(make_task(settings.model, examples.labels, "auto"))
    weights = example_weights(examples, settings.weights)
    used = None if settings.weights == "none" else weights
    model = fit_copy(own, task, X, task.labels, used)
    return TrainedModel(model, settings.weights, *of, weights, task.classes)


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


def judge_settled(
    settings: LearnerSettings,
    X_pool: Rows,
    state: LearnerState,
    **options: Any,  # noqa: ANN401
) -> Correction:
    """The correction that the settled labels support; options are those of `advise`."""
    examples = _settled_examples(state)
    return judge_correction(
        seeded_model(settings),
        take(X_pool, examples.rows),
        examples.labels,
        examples.labelled_draws(),
        **{"seed": settings.seed, "weights": _correction_weights(state, examples), **options},
    )


def _correction_weights(state: LearnerState, examples: Examples) -> FloatArray:
    """Weights by the chance of each example to be drawn by now, or those of R_LURE.

    Hazards are those of all draws; draws that are not settled take their part of them. In a pool
    that is drawn completely nothing is left to weight.
    """
    if state.hazards is None or len(state.draws) == state.draws.pool_size:
        return example_weights(examples, "lure")
    settled = len(examples.draws) / len(state.draws)
    return inclusion_weights(settled * state.hazards[examples.rows])


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
