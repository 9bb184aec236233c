"""From the files that `levelled learn` is given to a pool that it can learn from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from levelled._check import between
from levelled.cli.labels import read_labels, read_test
from levelled.cli.models import model_of
from levelled.errors import InputError
from levelled.learning.playing import LabelledPool, held_out, known_pool
from levelled.models import takes_weights
from levelled.sources.features import read_features

if TYPE_CHECKING:
    from levelled.models import Model

__all__ = ["Inputs", "check_possible", "described", "read_known"]

_MUCH = 0.1
"""When more of a pool than this is drawn, what is left is noticeably not like the whole."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """Files and what is in them, as they were named."""

    pool: str
    labels: str
    model: str
    features: tuple[str, ...]
    id_column: str
    loss: str
    test: str | None
    hold_out: float | None
    seed: int


def read_known(given: Inputs) -> tuple[Model, LabelledPool]:
    """The model, and the pool with its labels and what models are judged by."""
    pool = read_features(given.pool, given.features, id_column=given.id_column)
    labels = read_labels(given.labels, pool, given.id_column)
    test = None
    if given.test is not None:
        test = read_test(given.test, pool.columns, labels)
    elif given.hold_out is not None:
        share = between("--hold-out", given.hold_out, 0, 1, open_=True)
        rng = np.random.default_rng(given.seed)
        pool, labels, test = held_out(pool, labels, share, rng=rng)
    model = model_of(given.model, [*labels, *([] if test is None else test[1])])
    loss: Any = given.loss  # checked there
    return model, known_pool(pool, labels, model, loss=loss, test=test)


def described(known: LabelledPool, budget: int, start: int) -> Iterator[str]:
    """What was read, for people to see whether it is what they meant."""
    classes, N = known.task.classes, len(known.pool)
    yield (
        f"{N} items to draw from: {'numbers' if classes is None else f'{len(classes)} classes'}, "
        f"from {_columns(known.pool.columns)}"
    )
    if start >= budget:
        yield f"note: --start {start} makes all {budget} draws uniform, so that no score is used"
    if known.y_test is None and budget > _MUCH * N:
        yield (
            f"note: {budget / N:.0%} of the pool will be drawn, and what is left will not be like "
            f"the whole; --hold-out 0.3 measures risks on a random part instead"
        )


def check_possible(known: LabelledPool, model: Model, budget: int, correcting: str | None) -> None:
    """Refuse now what would be found out only after all the work.

    `correcting` is the option that asks for corrective weights, if there is one.
    """
    N = len(known.pool)
    if budget > N:
        raise InputError(f"--budget {budget} is more than the {N} items of the pool.")
    if correcting and not takes_weights(model):
        instead = "leave --compare out" if correcting == "--compare" else "--weights none"
        raise InputError(
            f"{type(model).__name__} takes no sample_weight, so its training cannot be corrected, "
            f"as {correcting} asks. Choose another --model, or {instead}."
        )
    if known.y_test is None and budget == N:
        raise InputError(
            f"--budget {budget} leaves no item of the pool to measure risks on. Draw fewer, or "
            f"give --test or --hold-out."
        )
    if known.task.classes is not None and (known.labels == known.labels[0]).all():
        raise InputError(
            f"All {N} labels of the pool are {known.labels[0]!s}, and "
            f"{type(model).__name__} needs two classes to tell apart."
        )


def _columns(names: Sequence[str]) -> str:
    told = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return f"{len(names)} column{'s' if len(names) > 1 else ''} ({told})"
