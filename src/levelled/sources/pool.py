"""A pool: the items that may be drawn, what is predicted of them, and what a labeller sees."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled._check import FloatArray, IntArray
from levelled.errors import PoolError
from levelled.metrics.classes import class_text
from levelled.metrics.known import PoolPredictions
from levelled.sources.coded import Coded
from levelled.sources.paths import Given, ending, files_of

if TYPE_CHECKING:
    from levelled.sources.columns import Roles
    from levelled.sources.origin import Origin
    from levelled.sources.reading import Read

__all__ = ["Pool", "Predicted", "open_pool"]

Id = str | int
Numbers = NDArray[np.float64] | NDArray[np.int64]

_MOST_CLASSES = 10_000


class ArrowStream(Protocol):
    """A frame that can hand over its columns: of pandas, polars, duckdb, pyarrow and others."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The columns as an Arrow stream."""


@dataclass(frozen=True, slots=True, eq=False)  # arrays have no single truth value
class Predicted:
    """What one model says of each item: a class or a number, and probabilities [N, C]."""

    pred: Coded | Numbers | None
    proba: NDArray[np.float32] | None

    def of(self, rows: ArrayLike) -> list[str | int | float] | None:
        """The predictions of some items."""
        at = np.asarray(rows, dtype=np.int64)
        if isinstance(self.pred, Coded):
            return [*self.pred.of(at)]
        return None if self.pred is None else self.pred[at].tolist()

    def counts(self) -> dict[str, int]:
        """How often each class is predicted; nothing for numbers or text of too many values."""
        if isinstance(self.pred, Coded):
            return self.pred.counts() if len(self.pred.values) <= _MOST_CLASSES else {}
        if self.pred is None:
            return {}
        values, counts = np.unique(self.pred, return_counts=True)
        if len(values) > _MOST_CLASSES:
            return {}
        return {class_text(v): n for v, n in zip(values.tolist(), counts.tolist(), strict=True)}


class Pool:
    """The items of a pool in the order of their rows; made by `open_pool`."""

    def __init__(
        self, source: str | tuple[str, ...] | None, origin: Origin, roles: Roles, read: Read
    ) -> None:
        self.source = source
        """The path or pattern as it was given; None for a frame in memory."""
        self._origin, self._roles, self._read = origin, roles, read

    def __len__(self) -> int:
        return len(self._read.ids)

    def __repr__(self) -> str:
        told = f", classes {', '.join(self.classes)}" if self.classes else ""
        return f"Pool({len(self)} items{told})"

    @cached_property
    def fingerprint(self) -> str:
        """The sha256 of the content: of a file what `sha256sum` says, of files all their bytes."""
        return self._origin.fingerprint()

    @property
    def classes(self) -> tuple[str, ...] | None:
        """The classes that were declared or that columns of probabilities name."""
        return self._roles.classes

    @property
    def models(self) -> tuple[str, ...]:
        """The models with predictions; the empty name is that of `pred` and `proba_<class>`."""
        return self._roles.models

    @property
    def surrogate(self) -> NDArray[np.float32] | None:
        """A second model's probabilities [N, C]."""
        return self._read.surrogate

    @property
    def score(self) -> FloatArray | None:
        """The column `score`."""
        return self._read.score

    @property
    def loss_hat(self) -> FloatArray | None:
        """The column `loss_hat`."""
        return self._read.loss_hat

    def ids(self, rows: ArrayLike) -> list[Id]:
        """The ids of some rows."""
        return [self._read.ids[row].as_py() for row in self._checked(rows).tolist()]

    def rows_of(self, ids: Sequence[Id]) -> IntArray:
        """The rows of some ids; a number and its text find each other."""
        from levelled.sources.ids import rows_of

        return rows_of(self._read.ids, ids)

    def predicted(self, model: str = "") -> Predicted:
        """What a model says of every item; the most probable class where it names none."""
        if model not in self.models:
            if not self.models and not model:
                return Predicted(None, None)
            told = ", ".join(repr(name) for name in self.models) or "none"
            raise PoolError(f"The pool has no predictions of a model {model!r}; it has {told}.")
        pred, proba = self._read.pred.get(model), self._read.proba.get(model)
        if pred is None and proba is not None and self.classes is not None:
            pred = Coded(self.classes, proba.argmax(axis=1).astype(np.int32))
        return Predicted(pred, proba)

    def known(self, model: str = "") -> PoolPredictions:
        """What a metric may know of the items before there are labels."""
        said = self.predicted(model)
        coded = said.pred if isinstance(said.pred, Coded) else None
        return PoolPredictions(
            pool_size=len(self),
            classes=self.classes,
            predicted=said.pred is not None,
            answer=None if coded is None or self.classes is None else coded.codes,
            number=None if isinstance(said.pred, Coded) else said.pred,
            proba=said.proba,
            surrogate=self.surrogate,
            score=self.score,
            loss_hat=self.loss_hat,
        )

    def slice_values(self, name: str) -> Coded:
        """The slice of each item; `np.asarray` makes it an array of text."""
        if name not in self._read.slices:
            told = ", ".join(repr(known) for known in self._read.slices) or "none"
            raise PoolError(
                f"The pool was opened without the slice {name!r}; its slices are {told}. Name it "
                f"when opening: slices=[{name!r}]."
            )
        return self._read.slices[name]

    def shown(self, rows: ArrayLike) -> list[dict[str, Any]]:
        """What a labeller sees of some rows, as values that JSON can hold; only they are read."""
        from levelled.sources.columns import shown_columns

        wanted = self._checked(rows)
        columns = shown_columns(self._origin.schema, self._roles)
        if not columns or not len(wanted):
            return [{} for _ in wanted]
        distinct, place = np.unique(wanted, return_inverse=True)
        found = [
            {name: _as_json(value) for name, value in row.items()}
            for row in self._origin.rows(distinct, columns)
        ]
        return [found[at] for at in place.tolist()]

    def _checked(self, rows: ArrayLike) -> IntArray:
        at = np.atleast_1d(np.asarray(rows, dtype=np.int64))
        outside = at[(at < 0) | (at >= len(self))]
        if outside.size:
            raise PoolError(f"Row {outside[0]} is outside the pool of {len(self)} items.")
        return at


def open_pool(
    given: Given | Sequence[Given] | ArrowStream,
    *,
    classes: Sequence[str] | None = None,
    slices: Sequence[str] = (),
    id_column: str = "id",
) -> Pool:
    """Open a pool: a frame, or the path of a file or folder, a pattern, or a list of these.

    Files end in .parquet, .csv, .tsv or .jsonl; several must have the same columns, and their
    rows follow each other in the order of the sorted paths. `classes` are needed where no
    columns proba_<class> name them; `slices` are columns to report by.

    >>> import pyarrow as pa
    >>> table = pa.table({"id": [7, 8], "proba_ham": [0.9, 0.2], "proba_spam": [0.1, 0.8],
    ...                   "text": ["Lunch?", "You won"]})
    >>> pool = open_pool(table)
    >>> pool
    Pool(2 items, classes ham, spam)
    >>> pool.predicted().of([0, 1]), pool.shown([1])
    (['ham', 'spam'], [{'text': 'You won'}])
    """
    from levelled.sources.columns import roles_of
    from levelled.sources.origin import Files, Frame, as_table
    from levelled.sources.reading import read

    source: str | tuple[str, ...] | None = None
    origin: Origin
    untyped = False
    if hasattr(given, "__arrow_c_stream__") or _is_pandas(given):
        origin = Frame(as_table(given))
    elif isinstance(given, str | PathLike):
        source, origin = fspath(given), Files(files_of(given))
    elif _are_paths(given):
        source, origin = tuple(fspath(one) for one in given), Files(files_of(given))
    else:
        raise PoolError(
            f"A pool is a path, a list of paths, or a frame of pandas, polars, duckdb or pyarrow; "
            f"this is a {type(given).__name__}."
        )
    if isinstance(origin, Files):
        untyped = ending(origin.paths[0]) == "csv"
    by = (slices,) if isinstance(slices, str) else tuple(slices)
    roles = roles_of(origin.schema, classes=classes, slices=by, id_column=id_column)
    return Pool(source, origin, roles, read(origin.batches(roles), roles, untyped=untyped))


def _are_paths(given: object) -> TypeGuard[Sequence[Given]]:
    return isinstance(given, list | tuple) and all(isinstance(one, str | PathLike) for one in given)


def _is_pandas(given: object) -> bool:
    """A pandas frame from before it could hand over an Arrow stream."""
    return type(given).__name__ == "DataFrame" and type(given).__module__.startswith("pandas")


def _as_json(value: object) -> object:
    """A value as JSON can hold it: times as ISO text, bytes as base64, NaN as null."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [_as_json(one) for one in value]
    if isinstance(value, dict):
        return {str(name): _as_json(one) for name, one in value.items()}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
