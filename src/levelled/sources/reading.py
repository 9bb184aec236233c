"""Columns of a pool read from batches of rows, each checked as it comes in."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from levelled._check import BoolArray, FloatArray, IntArray, whole
from levelled.errors import InputError, PoolError
from levelled.labels import Id, class_text, list_names
from levelled.predictions import MOST_CLASSES, Categorical, Numbers, PoolPredictions, spread_chances
from levelled.sources.columns import (
    Roles,
    batch_ids,
    check_unique,
    id_keys,
    is_length,
    is_list,
    is_number,
    is_text,
    join_ids,
    log_lengths,
    refuse_repeats,
    shorten,
)
from levelled.sources.rows import Files, Origin

_Single = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class PoolColumns:
    """The columns that have a role, of rows that are held in memory."""

    ids: pa.ChunkedArray
    classes: tuple[str, ...] | None
    pred: Mapping[str, Categorical | Numbers]
    proba: Mapping[str, _Single]
    surrogate: _Single | None
    score: FloatArray | None
    loss_hat: FloatArray | None
    slices: Mapping[str, Categorical]
    features: FloatArray | None = None
    confidence: FloatArray | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    """With a confidence, how often each class is predicted in the whole pool."""

    def __len__(self) -> int:
        return len(self.ids)

    def pred_counts(self, model: str) -> dict[str, int]:
        """The number of predictions of each class; empty if there are none, or too many classes."""
        return self.predictions(model).counts()

    def held(self) -> PoolColumns:
        """These columns, which are in memory already."""
        return self

    def ids_at(self, rows: IntArray) -> list[Id]:
        """The ids of some rows."""
        return [self.ids[row].as_py() for row in rows.tolist()]

    def id_chunks(self) -> Iterable[pa.Array]:
        """The ids of all rows."""
        return self.ids.chunks

    def runs(self) -> Iterator[PoolColumns]:
        """All rows at once, as the only run."""
        yield self

    def at(self, rows: IntArray) -> PoolColumns:
        """The columns of some of these rows, in the order of `rows`."""

        def some(column: Any) -> Any:  # noqa: ANN401
            if isinstance(column, Mapping):
                return {name: some(one) for name, one in column.items()}
            if isinstance(column, Categorical):
                return column.at(rows)
            return None if column is None else column[rows]

        kept = {one.name for one in fields(self)} - {"ids", "classes", "counts"}
        ids = pa.chunked_array([pa.array(self.ids_at(rows), type=self.ids.type)])
        return replace(self, ids=ids, **{name: some(getattr(self, name)) for name in kept})

    def predictions(self, model: str) -> PoolPredictions:
        """The predictions of a model for these rows.

        Where it has only probabilities, it predicts the most probable class.
        """
        pred, proba = self.pred.get(model), self.proba.get(model)
        if pred is None and proba is not None and self.classes is not None:
            pred = Categorical(self.classes, proba.argmax(axis=1).astype(np.int32))
        classes, surrogate = self.classes, self.surrogate
        sure = self.confidence if surrogate is None else None
        if sure is not None and isinstance(pred, Categorical) and 1 < len(pred.values) <= _SPREAD:
            classes, surrogate = pred.values, spread_chances(pred, sure, self.counts)
        return PoolPredictions(
            pool_size=len(self),
            classes=classes,
            pred=pred,
            proba=proba,
            surrogate=surrogate,
            score=self.score,
            loss_hat=self.loss_hat,
            features=self.features,
            open_classes=self.classes is None,
        )


_OFF = 1e-3 + 1e-6
"""The error that a sum of probabilities may have, as left by rounding to three digits."""

_CHANCE = "from 0 to 1, the chance of the predicted class: divide percent by 100, or hide it"
_SPREAD = 1000  # guard: the most classes over which a confidence is spread, which takes [N, C]
_ROUNDING = 1e-6
"""The error that single precision may leave in a probability."""


def read_columns(
    batches: Iterable[pa.RecordBatch],
    roles: Roles,
    *,
    untyped: bool = False,
    known: Mapping[str, Sequence[str]] | None = None,
    distinct: bool = True,
    first_row: int = 0,
) -> PoolColumns:
    """Read all rows once, refusing what cannot be used.

    `untyped` says that all columns come as text, so that text that looks like a number is one.
    `known` are the classes that a model predicts in rows that are not all of its pool, and
    `first_row` is the number of the first of them. Ids must be `distinct` unless that is checked
    elsewhere.
    """
    ids: list[pa.Array] = []
    pred = {model: _Texts((column,), "prediction") for model, column in roles.pred.items()}
    slices = {name: _Texts((name,)) for name in roles.slices}
    proba = {model: _Probabilities(columns, roles) for model, columns in roles.proba.items()}
    single = {
        "surrogate": _Probabilities(roles.surrogate, roles) if roles.surrogate else None,
        "score": _Numbers((roles.score,), least=0.0) if roles.score else None,
        "loss_hat": _Numbers((roles.loss_hat,)) if roles.loss_hat else None,
        "features": _Features(roles.features) if roles.features else None,
        "confidence": _Numbers((roles.confidence,), 0, 1, _CHANCE) if roles.confidence else None,
    }
    readers = [*pred.values(), *slices.values(), *proba.values(), *filter(None, single.values())]
    n_rows = 0
    for batch in batches:
        names = batch_ids(batch, roles.id, first_row + n_rows)
        for reader in readers:
            if len(batch):
                reader.add(batch, names)
        ids.append(names)
        n_rows += len(batch)
    if not n_rows:
        raise PoolError("The pool is empty: it has columns, but not a single row.")
    joined = join_ids(ids, roles.id)
    if distinct and roles.id:
        check_unique(joined)
    classes = {model: roles.classes or (known or {}).get(model) for model in pred}
    coded = {model: one.classes(joined, classes[model], untyped) for model, one in pred.items()}
    judged = [one for one in coded.values() if roles.confidence and isinstance(one, Categorical)]
    return PoolColumns(
        ids=joined,
        classes=roles.classes,
        pred=coded,
        counts=judged[0].counts() if judged else {},
        proba={model: one.join() for model, one in proba.items()},
        slices={name: one.slices() for name, one in slices.items()},
        **{name: None if one is None else one.join() for name, one in single.items()},
    )


@dataclass(slots=True)
class _Reader:
    """Columns that come in batches."""

    columns: tuple[str, ...]
    parts: list[Any] = field(default_factory=list, kw_only=True)

    def add(self, batch: pa.RecordBatch, ids: pa.Array) -> None:
        """Check a batch and take it in."""
        raise NotImplementedError

    def join(self) -> NDArray[Any]:
        """The numbers of all rows."""
        return np.concatenate(self.parts)


@dataclass(slots=True)
class _Probabilities(_Reader):
    """Probabilities [N, C] in single precision, each row scaled to sum to one."""

    roles: Roles

    def add(self, batch: pa.RecordBatch, ids: pa.Array) -> None:
        p = self._matrix(batch, ids)
        names = shorten(self.columns)
        _refuse(
            np.logical_or.reduce([(one < -_ROUNDING) | (one > 1 + _ROUNDING) for one in p.T]),
            ids,
            lambda row: (
                f"has probabilities ({names}) outside [0, 1]: "
                f"{shorten([f'{chance:.4g}' for chance in p[row]], 4)}. Turn logits into "
                f"probabilities with a softmax, or rename columns that are something else."
            ),
        )
        np.clip(p, 0, 1, out=p)
        total = p @ np.ones(p.shape[1])
        _refuse(
            np.abs(total - 1) > _OFF,
            ids,
            lambda row: (
                f"has probabilities ({names}) that sum to {total[row]:.6g}, not to one. Divide "
                f"each row by its sum if that is what you mean."
            ),
        )
        p /= total[:, None]
        self.parts.append(p.astype(np.float32))

    def _matrix(self, batch: pa.RecordBatch, ids: pa.Array) -> FloatArray:
        n_classes, name = len(self.roles.classes or ()), self.columns[0]
        if len(self.columns) > 1:
            columns = [_floats(batch.column(name), name, ids) for name in self.columns]
            return np.stack(columns, axis=1)
        column = batch.column(name)
        if is_list(column.type):
            what = f"probabilities in the column {name!r}, and there are {n_classes} classes"
            values = _flatten(column, n_classes, ids, what)
            each = pc.take(ids, pa.array(np.repeat(np.arange(len(ids)), n_classes)))
            return _floats(values, name, each).reshape(-1, n_classes)
        if n_classes != 2:
            raise PoolError(
                f"The column {name!r} holds one number a row, which is enough for two classes, not "
                f"for {n_classes}. Write a list a row, or a column proba_<class> for each class."
            )
        second = _floats(column, name, ids)
        return np.stack([1 - second, second], axis=1)


@dataclass(slots=True)
class _Numbers(_Reader):
    """A column of numbers."""

    least: float = -np.inf
    most: float = np.inf
    range: str = "at least 0"

    def add(self, batch: pa.RecordBatch, ids: pa.Array) -> None:
        name = self.columns[0]
        numbers = _floats(batch.column(name), name, ids)
        _refuse(
            (numbers < self.least) | (numbers > self.most),
            ids,
            lambda row: f"has the {name} {numbers[row]:g}; it must be {self.range}.",
        )
        self.parts.append(numbers)


@dataclass(slots=True)
class _Features(_Reader):
    """Numbers [N, D]: columns of numbers, of lists of them, and lengths of text, side by side.

    Gaps are NaN.
    """

    widths: dict[str, int] = field(default_factory=dict)

    def add(self, batch: pa.RecordBatch, ids: pa.Array) -> None:
        columns = [
            log_lengths(batch, name)[:, None]
            if is_length(name)
            else self._numbers(batch.column(name), name, ids)
            for name in self.columns
        ]
        self.parts.append(np.concatenate(columns, axis=1))

    def _numbers(self, column: pa.Array, name: str, ids: pa.Array) -> FloatArray:
        if not is_list(column.type):
            return _as_floats(column, name)[:, None]
        width = self.widths.setdefault(name, max(len(column[0].as_py() or ()), 1))
        values = _flatten(
            column, width, ids, f"numbers in {name!r}, and the first item has {width}"
        )
        return _as_floats(values, name).reshape(-1, width)


@dataclass(slots=True)
class _Texts(_Reader):
    """A column of classes or slices.

    Numbers are kept as they are until it is known whether they are classes; all else is kept as
    codes of its distinct values.
    """

    required: str | None = None
    """The noun for a value that no item may lack; None where it may be missing."""

    def add(self, batch: pa.RecordBatch, ids: pa.Array) -> None:
        name = self.columns[0]
        column = batch.column(name)
        coded = pa.types.is_dictionary(column.type)
        kind = column.type.value_type if coded else column.type
        if not (is_text(kind) or is_number(kind) or pa.types.is_boolean(kind) or kind == pa.null()):
            raise PoolError(f"The column {name!r} must hold text or numbers, not {kind}.")
        missing = pc.is_null(column, nan_is_null=pa.types.is_floating(kind))
        if self.required is not None:
            _refuse(
                missing.to_numpy(zero_copy_only=False),
                ids,
                lambda row: f"has no {self.required} in the column {name!r}.",
            )
        plain = is_number(kind) and not coded and self.required is not None
        self.parts.append(column if plain or coded else column.dictionary_encode())

    def classes(
        self, ids: pa.ChunkedArray, classes: Sequence[str] | None, untyped: bool
    ) -> Categorical | Numbers:
        """Numbers if the column holds nothing else and no classes are known, else classes."""
        if classes is None and all(is_number(part.type) for part in self.parts):
            whole = all(pa.types.is_integer(part.type) for part in self.parts)
            kind = pa.int64() if whole else pa.float64()
            numbers: Numbers = pa.chunked_array([p.cast(kind) for p in self.parts]).to_numpy()
            return numbers
        values, codes = self._codes()
        if classes is None and untyped and (parsed := parse_numbers(values)) is not None:
            return parsed[codes]
        coded = compact(values.to_pylist(), codes)
        return coded if classes is None else self._recode(coded, classes, ids)

    def slices(self) -> Categorical:
        """The slice of each item."""
        values, codes = self._codes()
        check_slices(self.columns[0], len(values))
        return compact(values.to_pylist(), codes)

    def _codes(self) -> tuple[pa.Array, NDArray[np.int32]]:
        """The distinct values as text, and the code of each item's; -1 for gaps."""
        chunks = pa.chunked_array([with_text(part) for part in self.parts]).unify_dictionaries()
        codes = [pc.fill_null(chunk.indices, -1).to_numpy() for chunk in chunks.chunks]
        return chunks.chunk(0).dictionary, np.concatenate(codes)

    def _recode(
        self, coded: Categorical, classes: Sequence[str], ids: pa.ChunkedArray
    ) -> Categorical:
        """The same with the classes as its values."""
        known = {*classes}
        other = next((at for at, name in enumerate(coded.values) if name not in known), None)
        if other is not None:
            row = int(np.argmax(coded.codes == other))
            raise PoolError(
                f"Item {ids[row].as_py()!r} has the prediction {coded.values[other]!r} in the "
                f"column {self.columns[0]!r}, which is none of the classes "
                f"{list_names(classes, 12)}."
            )
        return _renumber(coded.values, coded.codes, classes)


def _refuse(wrong: BoolArray, ids: pa.Array, describe: Callable[[int], str]) -> None:
    """Name the first item that is wrong, if any."""
    if wrong.any():
        row = int(np.argmax(wrong))
        raise PoolError(f"Item {ids[row].as_py()!r} {describe(row)}")


def _floats(column: pa.Array, name: str, ids: pa.Array) -> FloatArray:
    """A column as numbers, refusing gaps, NaN and whatever is none."""
    numbers = _as_floats(column, name)
    _refuse(
        ~np.isfinite(numbers),
        ids,
        lambda row: (
            f"has no number in the column {name!r}"
            + (f", but {numbers[row]}." if np.isinf(numbers[row]) else ": it is missing or NaN.")
        ),
    )
    return numbers


def _as_floats(column: pa.Array, name: str) -> FloatArray:
    """A column as numbers, NaN where there is none."""
    if not is_number(column.type) and not pa.types.is_null(column.type):
        raise PoolError(f"The column {name!r} must hold numbers; it holds {column.type}.")
    return np.array(column.cast(pa.float64()).to_numpy(zero_copy_only=False))


def _flatten(column: pa.Array, width: int, ids: pa.Array, what: str) -> pa.Array:
    """The values of lists one after the other, all of which must have this width."""
    sizes = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    _refuse(sizes != width, ids, lambda row: f"has {sizes[row]} {what}.")
    return column.flatten()


MISSING = "(missing)"
"""The slice of items whose value is not known."""

_MOST_SLICES = 10_000  # a column with more is a name or a number of the item; codes fit 16 bits
_WHOLE = r"^-?(0|[1-9][0-9]*)$"
_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"


def with_text(part: pa.Array) -> pa.DictionaryArray:
    """Classes as codes of their text."""
    if not pa.types.is_dictionary(part.type):
        part = part.dictionary_encode()
    values = part.dictionary
    if not is_text(values.type):
        texts = [None if value is None else class_text(value) for value in values.to_pylist()]
        values = pa.array(texts, type=pa.string())
    return pa.DictionaryArray.from_arrays(
        part.indices.cast(pa.int32()), values.cast(pa.large_string())
    )


def parse_numbers(values: pa.Array) -> Numbers | None:
    """Numbers, if every text writes one and would be written so again."""
    if values.null_count or not pc.all(pc.match_substring_regex(values, _NUMBER)).as_py():
        return None
    whole = pc.all(pc.match_substring_regex(values, _WHOLE)).as_py()
    try:
        numbers: Numbers = values.cast(pa.int64() if whole else pa.float64()).to_numpy()
    except pa.ArrowInvalid:  # more digits than a number holds
        return None
    return numbers if np.isfinite(numbers).all() else None


def compact(values: Sequence[str | None], codes: NDArray[np.int32]) -> Categorical:
    """The values that occur, each once, in order of their names."""
    texts = [MISSING if value is None else class_text(value) for value in values]
    texts.append(MISSING)  # where -1 points
    used = np.bincount(codes + 1, minlength=len(texts)) > 0
    names = sorted({text for text, some in zip(texts, [*used[1:], used[0]], strict=True) if some})
    return _renumber(texts, codes, names)


def _renumber(old: Iterable[str], codes: NDArray[Any], new: Sequence[str]) -> Categorical:
    """Codes of the values `old` as codes of the values `new`, in as many bytes."""
    place = {name: number for number, name in enumerate(new)}
    table = np.array([place.get(name, -1) for name in old], dtype=codes.dtype)
    return Categorical(tuple(new), table[codes])


def check_slices(name: str, n_values: int) -> None:
    """Refuse a column with so many values that they cannot be slices."""
    if n_values > _MOST_SLICES:
        raise PoolError(
            f"The column {name!r} has more than {_MOST_SLICES} different values, too many for "
            f"slices. Put them into groups first."
        )


_STREAM_ABOVE = 1 << 26
"""Bytes up to which the columns of a pool are held in memory, unless the user says otherwise.

Larger ones are read anew for each round, which then takes seconds; both give the same draws.
"""


def columns_of(
    origin: Origin, roles: Roles, stream_above: int | None
) -> PoolColumns | StreamedColumns:
    """The columns of a pool: held in memory, or read in passes if they are many bytes in Parquet.

    `stream_above` is that number of bytes; None takes LEVELLED_STREAM_ABOVE, or 64 MB.
    """
    untyped = isinstance(origin, Files) and origin.format == "csv"
    if isinstance(origin, Files) and origin.format == "parquet":
        if stream_above is None:
            text = os.environ.get("LEVELLED_STREAM_ABOVE") or str(_STREAM_ABOVE)
            if not text.isdecimal():
                raise InputError(f"LEVELLED_STREAM_ABOVE is a number of bytes; it is {text!r}.")
            stream_above = int(text)
        if origin.n_bytes(roles) > whole("stream_above", stream_above, least=0):
            return StreamedColumns(origin, roles)
    return read_columns(origin.batches(roles), roles, untyped=untyped)


class StreamedColumns:
    """The columns that have a role, read a run of rows at a time: a batch of rows of a file.

    Opening them makes one pass, which checks every row as `read_columns` does. Kept are only the
    slice of each item, two bytes each, and what the passes have in common.
    """

    def __init__(self, origin: Files, roles: Roles) -> None:
        self._origin, self._id = origin, roles.id
        self._roles = replace(roles, id="", slices=())
        self._size, n_rows = 0, origin.n_rows or 0
        self._first = next(iter(roles.pred), "")
        keys, heads = np.empty(n_rows, dtype=np.int64), list[pa.Array]()
        counts = {model: _ClassCounts(model) for model in roles.models or ("",)}
        codes = {name: np.empty(n_rows, dtype=np.int16) for name in roles.slices}
        numbers: dict[str, dict[str, int]] = {name: {} for name in roles.slices}
        width: int | None = None
        for batch in origin.batches(roles):
            run = read_columns([batch], roles, distinct=False, first_row=self._size)
            rows = slice(self._size, self._size + len(run))
            # Two ids tell whether the type has changed; all of them would fill the memory.
            heads = [*heads[-1:], run.ids.chunk(0).slice(0, 1)]
            join_ids(heads, roles.id)  # which refuses numbers here and text there
            keys[rows] = np.concatenate([id_keys(chunk) for chunk in run.ids.chunks])
            before, width = width, None if run.features is None else run.features.shape[1]
            if before not in (None, width):
                raise PoolError(
                    f"The items have {before} features up to row {self._size} and {width} from "
                    f"there on: lists of numbers must have the same length everywhere."
                )
            for model, count in counts.items():
                count.add(run.predictions(model))
            for name, number in numbers.items():
                part = run.slices[name]
                place = [number.setdefault(value, len(number)) for value in part.values]
                check_slices(name, len(number))
                codes[name][rows] = np.array(place, dtype=np.int16)[part.codes]
            self._size += len(run)
        refuse_repeats(keys, self.id_chunks)
        self._counts = {model: one.counts(roles.classes) for model, one in counts.items()}
        # Text that names classes, some of which a run may lack.
        self._known = {
            model: tuple(self._counts[model])
            for model, one in counts.items()
            if self._counts[model] and not one.is_number
        }
        self.slices = {
            name: _renumber(number, codes[name], sorted(number)) for name, number in numbers.items()
        }

    def __len__(self) -> int:
        return self._size

    def _read(self, batches: Iterable[pa.RecordBatch], roles: Roles) -> PoolColumns:
        """Rows that were checked before, with the classes of all rows."""
        read = read_columns(batches, roles, known=self._known, distinct=False)
        return read if roles.confidence is None else replace(read, counts=self._counts[self._first])

    @cached_property
    def _everything(self) -> PoolColumns:
        roles = replace(self._roles, id=self._id)
        return replace(self._read(self._origin.batches(roles), roles), slices=self.slices)

    def held(self) -> PoolColumns:
        """The columns of all rows in memory, for steps that need them at once."""
        return self._everything

    def ids_at(self, rows: IntArray) -> list[Id]:
        """The ids of some rows."""
        return self.at(rows).ids.to_pylist()

    def pred_counts(self, model: str) -> dict[str, int]:
        """The number of predictions of each class; empty if there are none, or too many classes."""
        return self._counts[model]

    def runs(self) -> Iterator[PoolColumns]:
        """The columns of all rows in a new pass, without ids and slices."""
        for batch in self._origin.batches(self._roles):
            yield self._read([batch], self._roles)

    def at(self, rows: IntArray) -> PoolColumns:
        """The columns of some rows, which are read from the files."""
        distinct, place = np.unique(rows, return_inverse=True)
        if not len(rows):  # no rows have no types: those of a run that was read are taken
            return next(self.runs()).at(place)
        roles = replace(self._roles, id=self._id)
        columns = self._read(self._origin.take(distinct, roles), roles).at(place)
        return replace(columns, slices={name: one.at(rows) for name, one in self.slices.items()})

    def id_chunks(self) -> Iterable[pa.Array]:
        """The ids of all rows, in a new pass."""
        start = 0
        for batch in self._origin.batches(Roles(self._id)):
            yield batch_ids(batch, self._id, start)
            start += len(batch)


@dataclass(slots=True)
class _ClassCounts:
    """How often each class is predicted, counted a run of rows at a time."""

    model: str
    n: Counter[str] = field(default_factory=Counter)
    is_number: bool | None = None
    too_many: bool = False

    def add(self, run: PoolPredictions) -> None:
        """Take in the predictions of the next rows."""
        if run.pred is None:
            return
        number = run.number is not None
        if self.is_number not in (None, number):
            raise PoolError(
                f"The predictions of {self.model or 'the model'} are numbers in some files and "
                f"text in others. Write them the same way in all files."
            )
        self.is_number = number
        if not self.too_many:
            counts = run.counts()
            self.n.update(counts)
            self.too_many = not counts or len(self.n) > MOST_CLASSES

    def counts(self, classes: Sequence[str] | None) -> dict[str, int]:
        """The number of predictions of each class, as `PoolPredictions.counts` gives it."""
        if self.too_many or not self.n:
            return {}
        names = sorted(self.n, key=float) if self.is_number else classes or sorted(self.n)
        return {name: self.n[name] for name in names}
