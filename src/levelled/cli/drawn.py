"""Drawn labels in a file, one row a draw: `levelled learn` and `export` write it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from levelled._check import BoolArray, FloatArray
from levelled.draws import Draws
from levelled.errors import PoolError
from levelled.learning import training_weights
from levelled.learning.state import Examples, LearnerState, told
from levelled.sources import AnswerRow, read_answers
from levelled.sources.features import (
    Features,
    feature_columns,
    read_features,
    read_flags,
    read_numbers,
)
from levelled.sources.files import files_of
from levelled.sources.origin import Files

__all__ = ["DrawnLabels", "read_drawn", "write_drawn"]

_DRAWS = b"levelled.draws"
"""What Draws.to_parquet leaves in the metadata of its file."""


@dataclass(frozen=True, slots=True, eq=False)  # arrays have no single truth value
class DrawnLabels:
    """The labelled items in the order of their draws, and what was left out."""

    X: FloatArray
    y: NDArray[Any]
    draws: Draws
    columns: tuple[str, ...]
    """Where the features come from."""
    notes: tuple[str, ...]


def read_drawn(
    path: str, pool: str | None, pool_size: int | None, wanted: Sequence[str], id_column: str
) -> DrawnLabels:
    """The settled draws of a file that can be learned from.

    Rows need a label and the probability of their draw, and are in the order of the column
    `draw` where there is one. The pool size is that of the file, of `pool`, or `pool_size`;
    features are those of `pool` if it is given, else those in the file.
    """
    answers = read_answers(path, id_column=id_column, named=False)
    order = _order(answers, path)
    answers = [answers[at] for at in order]
    read = None if pool is None else read_features(pool, wanted, id_column=id_column)
    schema = Files(files_of(path)).schema
    probability = read_numbers(path, ["probability"])[order, 0]
    about = json.loads((schema.metadata or {}).get(_DRAWS, "{}"))
    size = _pool_size(path, about.get("pool_size"), read, pool_size)
    if size < len(order):
        raise PoolError(
            f"{path} has {len(order)} draws, which cannot come from a pool of {size} items: an "
            f"item is drawn at most once. The pool size is that of all items there were to draw."
        )
    # Weights depend on the order alone, so that any numbers will do for the rows of the pool.
    draws = Draws(np.arange(len(order)), probability, size, about.get("excluded", 0))
    unlabelable = np.zeros(len(order), dtype=bool)
    if "unlabelable" in schema.names:  # as the export of a campaign has it
        unlabelable = read_flags(path, "unlabelable")[order]
    examples = _settled(answers, draws, unlabelable, path)
    if read is None:
        columns = _columns(path, schema, wanted, [id_column, *(about.get("design") or [])])
        X = read_numbers(path, columns)[order][examples.places]
    else:
        columns = read.columns
        X = read.X[read.rows_of(_ids([answers[at] for at in examples.places], path))]
    notes = tuple(_notes(examples, len(draws)))
    return DrawnLabels(X, examples.labels, examples.labelled_draws(), columns, notes)


def write_drawn(path: Path, draws: Draws, labels: ArrayLike, pool: Features) -> None:
    """Write draws with their labels, the weights of R_LURE to train with, and the features.

    Features of several columns of which some are lists become one list, `embedding`.
    """
    Draws(draws.index, draws.probability, draws.pool_size, draws.excluded).to_parquet(path)
    table = pq.read_table(path)
    rows = table.column("row")
    X = pool.X[rows.to_numpy()]
    more = {"label": pa.array(labels), "sample_weight": pa.array(training_weights(draws))}
    if X.shape[1] == len(pool.columns):
        more |= {name: pa.array(X[:, at]) for at, name in enumerate(pool.columns)}
    else:
        more["embedding"] = pa.array([*X])
    table = table.add_column(2, "id", pool.ids.take(rows))
    for name, column in more.items():
        table = table.append_column(name, column)
    pq.write_table(table, path)


def _order(answers: Sequence[AnswerRow], path: str) -> list[int]:
    """The places of the first draw, the second, ...: none may be missing or there twice."""
    if not answers:
        raise PoolError(f"{path} has columns, but not a single row.")
    ids = [str(answer.id) for answer in answers if answer.id is not None]
    twice = [one for one, times in Counter(ids).items() if times > 1]
    if twice:
        raise PoolError(f"The id {twice[0]!r} is in {path} twice: an item is drawn at most once.")
    numbers = [answer.draw for answer in answers]
    if numbers[0] is None and not any(numbers):
        return [*range(len(answers))]
    place = {number: at for at, number in enumerate(numbers)}
    wrong = [m for m in range(1, len(answers) + 1) if m not in place]
    if wrong:
        raise PoolError(
            f"{path} has {len(answers)} rows, and draw {wrong[0]} is not among them. A weight "
            f"depends on all draws before it: keep those without a label in the file, too."
        )
    return [place[m] for m in range(1, len(answers) + 1)]


def _pool_size(path: str, kept: int | None, pool: Features | None, size: int | None) -> int:
    known = {
        "the file of the draws": kept,
        "--pool": None if pool is None else len(pool),
        "--pool-size": size,
    }
    told = {where: n for where, n in known.items() if n is not None}
    if not told:
        raise PoolError(
            f"{path} does not say how many items there were to draw from, and a weight depends on "
            f"it: give --pool-size, or --pool with the file of the pool."
        )
    if len(set(told.values())) > 1:
        sizes = ", ".join(f"{n} by {where}" for where, n in told.items())
        raise PoolError(f"The pool size is not the same everywhere: {sizes}.")
    return next(iter(told.values()))


def _settled(
    answers: Sequence[AnswerRow], draws: Draws, unlabelable: BoolArray, path: str
) -> Examples:
    """The labelled items before the first draw whose label is still out."""
    labels = [answer.label for answer in answers]
    known = [m for m, label in enumerate(labels) if label is not None or unlabelable[m]]
    examples = told(LearnerState(draws), known, [labels[m] for m in known]).settled()
    if len(examples):
        return examples
    n_settled, M = len(examples.draws), len(draws)
    if n_settled == M:
        raise PoolError(f"{path} has no label that can be used: all {M} draws are unlabelable.")
    raise PoolError(
        f"{path} has no label that can be used: draw {n_settled + 1} has none yet, and weights "
        f"need all draws before theirs. Label that draw, or mark it in a column 'unlabelable'."
    )


def _columns(
    path: str, schema: pa.Schema, wanted: Sequence[str], others: Sequence[str]
) -> tuple[str, ...]:
    try:
        return feature_columns(schema, wanted, others=others, name=path)
    except PoolError as none:
        raise PoolError(f"{none} Features that are in the pool are found by --pool.") from none


def _ids(answers: Sequence[AnswerRow], path: str) -> list[str | int]:
    ids = [answer.id for answer in answers if answer.id is not None]
    if len(ids) < len(answers):
        raise PoolError(f"{path} has rows without an id, so their features cannot be looked up.")
    return ids


def _notes(examples: Examples, n_draws: int) -> Iterator[str]:
    settled = len(examples.draws)
    if settled < n_draws:
        yield (
            f"{n_draws - settled} of {n_draws} draws {'is' if n_draws - settled == 1 else 'are'} "
            f"left out: draw {settled + 1} has no label yet, and weights need all draws before "
            f"theirs"
        )
    without = settled - len(examples)
    if without:
        yield (
            f"{without} draw{'' if without == 1 else 's'} could not be labelled; the verdict is "
            f"about items that can be"
        )
