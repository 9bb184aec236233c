"""The files of learning: labels of a pool by id, test sets, and drawn labels, one row a draw.

`levelled learn` and `levelled export` write drawn labels, and `levelled learn --advise` reads them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from levelled._check import BoolArray, FloatArray, between
from levelled._optional import import_attribute, optional
from levelled.draws import Draws
from levelled.errors import InputError, PoolError
from levelled.learning.drawing import Examples, LearnerState, add_labels, check_one_kind
from levelled.learning.simulation import LabelledPool, TestSet, make_labelled_pool, split_pool
from levelled.learning.training import training_weights
from levelled.models import Model, error_line
from levelled.sources import AnswerRow, read_answers
from levelled.sources.features import (
    Features,
    feature_columns,
    gaps_in,
    read_features,
    read_flags,
    read_numbers,
)
from levelled.sources.rows import Files

_MODELS = ("logistic", "ridge", "forest", "boosting")
MOST_CLASSES = 20  # a choice: digits and ratings are classes, ages and years are not
"""Whole numbers of more different values than this are numbers to be predicted, not classes."""


def make_model(name: str, labels: Sequence[Any]) -> Model:
    """The model of that name, for these labels: a classifier, or a regressor for numbers.

    A name is logistic, ridge, forest or boosting, or package.module:name of a user's model or of
    a function that makes one.
    """
    if ":" in name:
        return _import_model(name)
    if name not in _MODELS:
        raise InputError(
            f"model= must be one of {', '.join(_MODELS)}, or package.module:name for a model of "
            f"your own; it is {name!r}."
        )
    if name in ("logistic", "ridge"):
        return _make_linear(name, labels)
    kind = "Classifier" if _are_classes(labels) else "Regressor"
    ensemble = _sklearn("ensemble")
    if name == "forest":
        return cast(Model, getattr(ensemble, f"RandomForest{kind}")())
    # Its own default, 20 items a leaf, would not split the first 40 labels even once.
    make = getattr(ensemble, f"HistGradientBoosting{kind}")
    return cast(Model, make(max_iter=50, min_samples_leaf=5))


def _import_model(name: str) -> Model:
    """A user's model, or the result of their function; modules may be in the working folder."""
    module, _, attribute = name.partition(":")
    try:
        thing = import_attribute(module, attribute)
    except (Exception, SystemExit) as error:  # somebody else's module may raise anything
        raise InputError(
            f"model={name!r} cannot be imported: {one_line(error)} Give package.module:name, of "
            f"an installed package or of a file in this folder."
        ) from error
    model: Any = thing
    if callable(thing) and not _is_model(thing):
        try:
            model = thing()
        except (Exception, SystemExit) as error:
            raise InputError(f"model={name!r} could not make a model: {one_line(error)}") from error
    if not _is_model(model):
        raise InputError(
            f"model={name!r} gives {_short(model)}, which is no model: a model has fit and predict."
        )
    return cast(Model, model)


def _is_model(thing: object) -> bool:
    return not isinstance(thing, type) and hasattr(thing, "fit") and hasattr(thing, "predict")


def _make_linear(name: str, labels: Sequence[Any]) -> Model:
    """A linear model on features of mean 0 and variance 1, so that their units do not matter."""
    text = next((label for label in labels if isinstance(label, str)), None)
    if name == "logistic" and not _are_classes(labels):
        raise InputError(
            f"logistic tells classes apart, and the labels are numbers of {len(set(labels))} "
            f"values, such as {(_fractions(labels) or labels)[0]:g}. Use ridge, forest or boosting "
            f"to predict them, or write classes as text."
        )
    if name == "ridge" and text is not None:
        raise InputError(
            f"ridge predicts numbers, and there is a label {_short(text)}. To tell classes apart "
            f"use logistic, forest or boosting."
        )
    linear = _sklearn("linear_model")
    model = linear.Ridge() if name == "ridge" else linear.LogisticRegression(max_iter=1000)
    scaler = _sklearn("preprocessing").StandardScaler()
    return cast(Model, _sklearn("pipeline").make_pipeline(scaler, model))


def _are_classes(labels: Sequence[Any]) -> bool:
    """True for text, and for whole numbers of few values."""
    if any(isinstance(label, str) for label in labels):
        return True
    return not _fractions(labels) and len(set(labels)) <= MOST_CLASSES


def _fractions(labels: Sequence[Any]) -> list[float]:
    return [one for one in labels if isinstance(one, float) and not one.is_integer()]


def _sklearn(part: str) -> Any:  # noqa: ANN401
    return optional(f"sklearn.{part}", extra="sklearn")


def one_line(error: BaseException | str) -> str:
    """An error or a warning as one sentence of at most 300 characters."""
    return f"{error_line(error)[:300].rstrip('.:')}."


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


_DRAWS = b"levelled.draws"
"""The key of the metadata that Draws.to_parquet writes."""


def read_labelled_pool(
    pool: str,
    labels: str,
    model: str,
    *,
    features: Sequence[str] = (),
    id_column: str = "id",
    loss: str = "auto",
    test: str | None = None,
    hold_out: float | None = None,
    seed: int = 0,
) -> tuple[Model, LabelledPool]:
    """The named model, and the pool with its labels and its test set.

    The test set is the file `test`, or a random share `hold_out` of the pool.
    """
    items = read_features(pool, features, id_column=id_column)
    y = read_labels(labels, items, id_column)
    test_set = None
    if test is not None:
        test_set = read_test(test, items.columns, y)
    elif hold_out is not None:
        share = between("hold_out", hold_out, 0, 1, open_=True)
        items, y, test_set = split_pool(items, y, share, rng=np.random.default_rng(seed))
    own = make_model(model, [*y, *([] if test_set is None else test_set[1])])
    kind: Any = loss  # checked there
    return own, make_labelled_pool(items, y, own, loss=kind, test=test_set)


def read_labels(path: str, pool: Features, id_column: str) -> list[Any]:
    """The label of each item of the pool, from a file that has them by id."""
    labels: dict[str, Any] = {}
    rows: dict[str, int] = {}
    for answer in read_answers(path, id_column=id_column):
        if answer.id is None:
            raise PoolError(f"Row {answer.row} of {path} has no id in the column {id_column!r}.")
        name = str(answer.id)
        if name in rows:
            raise PoolError(
                f"The id {answer.id!r} is in row {rows[name]} of {path} and again in row "
                f"{answer.row}: an item has one label."
            )
        rows[name] = answer.row
        if answer.label is not None:
            labels[name] = answer.label
    if not labels:
        raise PoolError(f"{path} has not a single label, and every item of the pool needs one.")
    ids = [str(one) for one in pool.ids.to_pylist()]
    missing = [name for name in ids if name not in labels]
    if len(missing) == len(ids):
        raise PoolError(
            f"None of the {len(labels)} labels in {path} is of an item of the pool: the ids, such "
            f"as {next(iter(labels))!r} and {pool.ids[0].as_py()!r}, do not meet."
        )
    if missing:
        raise PoolError(
            f"{path} has no label for {len(missing)} of the {len(ids)} items of the pool, such as "
            f"{missing[0]!r}, and any of them may be drawn. Add their labels, or take them out of "
            f"the pool."
        )
    ordered = [labels[name] for name in ids]
    check_one_kind(ordered)
    return ordered


def read_test(path: str, columns: Sequence[str], labels: Sequence[Any]) -> TestSet:
    """The features `columns` of a file, and its labels, which are of the same kind as `labels`."""
    own = [answer.label for answer in read_answers(path, named=False)]
    if not own or None in own:
        where = f"row {own.index(None) + 1} has none" if own else "it is empty"
        raise PoolError(f"Every row of {path} needs a label to judge by; {where}.")
    check_one_kind([*labels, *own])
    return read_numbers(path, columns), own


@dataclass(frozen=True, slots=True, eq=False)  # arrays have no single truth value
class DrawnLabels:
    """The labelled items in the order of their draws, and notes on what was left out."""

    X: FloatArray
    y: NDArray[Any]
    draws: Draws
    columns: tuple[str, ...]
    """The columns of the features."""
    notes: tuple[str, ...]

    def read_test(self, path: str) -> Any:  # noqa: ANN401
        """The same features of another file, with its labels if it has any."""
        if {"label", "answer"} & {*Files(path).schema.names}:
            return read_test(path, self.columns, self.y.tolist())
        return read_numbers(path, self.columns)


def read_drawn_labels(
    path: str,
    *,
    pool: str | None = None,
    pool_size: int | None = None,
    features: Sequence[str] = (),
    id_column: str = "id",
) -> DrawnLabels:
    """The settled draws of a file that can be learned from.

    Rows need a label and the probability of their draw, and are in the order of the column
    `draw` if there is one. The pool size is that of the file, of `pool`, or `pool_size`; features
    are those of `pool` if it is given, else those in the file.
    """
    answers = read_answers(path, id_column=id_column, named=False)
    order = _order(answers, path)
    answers = [answers[at] for at in order]
    items = None if pool is None else read_features(pool, features, id_column=id_column)
    schema = Files(path).schema
    probability = read_numbers(path, ["probability"])[order, 0]
    about = json.loads((schema.metadata or {}).get(_DRAWS, "{}"))
    size = _pool_size(path, about.get("pool_size"), items, pool_size)
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
    if items is None:
        others = [id_column, *(about.get("design") or [])]
        try:
            columns = feature_columns(schema, features, others=others, name=path)
        except PoolError as none:
            raise PoolError(f"{none} Features that are in the pool are read with pool=.") from none
        X = read_numbers(path, columns)[order][examples.places]
    else:
        ids = [answers[at].id for at in examples.places]
        known = [one for one in ids if one is not None]
        if len(known) < len(ids):
            raise PoolError(
                f"{path} has rows without an id, so their features cannot be looked up."
            )
        columns, X = items.columns, items.X[items.rows_of(known)]
    notes = tuple(_notes(examples, len(draws)))
    return DrawnLabels(X, examples.labels, examples.labelled_draws(), columns, notes)


def write_drawn_labels(path: Path, draws: Draws, labels: ArrayLike, pool: Features) -> None:
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


def _pool_size(path: str, of_file: int | None, pool: Features | None, n: int | None) -> int:
    named = {
        "the file of the draws": of_file,
        "pool=": None if pool is None else len(pool),
        "pool_size=": n,
    }
    sizes = {where: size for where, size in named.items() if size is not None}
    if not sizes:
        raise PoolError(
            f"{path} does not say how many items there were to draw from, and a weight depends on "
            f"it: give pool_size=, or pool= with the file of the pool."
        )
    if len(set(sizes.values())) > 1:
        differing = ", ".join(f"{size} by {where}" for where, size in sizes.items())
        raise PoolError(f"The pool size is not the same everywhere: {differing}.")
    return next(iter(sizes.values()))


def _settled(
    answers: Sequence[AnswerRow], draws: Draws, unlabelable: BoolArray, path: str
) -> Examples:
    """The labelled items before the first pending draw."""
    labels = [answer.label for answer in answers]
    places = [m for m, label in enumerate(labels) if label is not None or unlabelable[m]]
    examples = add_labels(LearnerState(draws), places, [labels[m] for m in places]).settled()
    if len(examples):
        return examples
    n_settled, M = len(examples.draws), len(draws)
    if n_settled == M:
        raise PoolError(f"{path} has no label that can be used: all {M} draws are unlabelable.")
    raise PoolError(
        f"{path} has no label that can be used: draw {n_settled + 1} has none yet, and weights "
        f"need all draws before theirs. Label that draw, or mark it in a column 'unlabelable'."
    )


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


@contextmanager
def name_gaps(columns: Sequence[str], *files: str | None) -> Iterator[None]:
    """Add to an error about NaN or infinity the place in these files where numbers are missing."""
    try:
        yield
    except InputError as refused:
        if not re.search(r"\bNaN|\binfinit", str(refused)):
            raise
        gaps = [gaps_in(path, columns) for path in files if path is not None]
        if not any(gaps):
            raise
        failed, _, _ = str(refused).partition(". ")  # the rest counts columns and labelled rows
        raise InputError(
            f"{failed.rstrip('.')}. {next(filter(None, gaps))} Fill them in, name the features= "
            f"without them, or use model='boosting', which takes gaps."
        ) from refused
