"""Batches of rows -> the columns of a pool, each checked as it comes in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from levelled._check import FloatArray
from levelled.errors import PoolError
from levelled.sources.coded import Coded
from levelled.sources.columns import Roles, is_list, is_number
from levelled.sources.ids import as_ids, check_unique
from levelled.sources.texts import Numbers, Texts, refuse

__all__ = ["Read", "read"]

Single = NDArray[np.float32]

_OFF = 1e-3 + 1e-6
"""How far from one probabilities may sum: as rounding to three digits leaves them."""

_ROUNDING = 1e-6
"""How far outside [0, 1] single precision may leave a probability."""


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """The columns of a pool that have a role."""

    ids: pa.ChunkedArray
    pred: Mapping[str, Coded | Numbers]
    proba: Mapping[str, Single]
    surrogate: Single | None
    score: FloatArray | None
    loss_hat: FloatArray | None
    slices: Mapping[str, Coded]
    features: FloatArray | None = None


def read(batches: Iterable[pa.RecordBatch], roles: Roles, *, untyped: bool = False) -> Read:
    """Read all rows once, refusing what cannot be used.

    `untyped` says that all comes as text, so that what looks like a number is one.
    """
    ids: list[pa.Array] = []
    pred = {model: Texts(column, "prediction") for model, column in roles.pred.items()}
    slices = {name: Texts(name) for name in roles.slices}
    proba = {model: _Probabilities(columns, roles) for model, columns in roles.proba.items()}
    surrogate = _Probabilities(roles.surrogate, roles) if roles.surrogate else None
    score = _Numbers(roles.score, least=0.0) if roles.score else None
    loss_hat = _Numbers(roles.loss_hat) if roles.loss_hat else None
    features = _Features(roles.features) if roles.features else None
    single = [surrogate, score, loss_hat, features]
    gathered = [*pred.values(), *slices.values(), *proba.values(), *single]
    n_rows = 0
    for batch in batches:
        names = _names(batch, roles.id, n_rows)
        for one in gathered:
            if one is not None and len(batch):
                one.add(batch, names)
        ids.append(names)
        n_rows += len(batch)
    if not n_rows:
        raise PoolError("The pool is empty: it has columns, but not a single row.")
    joined = _joined(ids, roles.id)
    check_unique(joined)
    return Read(
        joined,
        {model: one.labels(joined, roles.classes, untyped) for model, one in pred.items()},
        {model: one.done() for model, one in proba.items()},
        None if surrogate is None else surrogate.done(),
        None if score is None else score.done(),
        None if loss_hat is None else loss_hat.done(),
        {name: one.slices() for name, one in slices.items()},
        None if features is None else features.done(),
    )


@dataclass(slots=True)
class _Probabilities:
    """Probabilities [N, C] in single precision, each row scaled to sum to one."""

    columns: tuple[str, ...]
    roles: Roles
    parts: list[Single] = field(default_factory=list)

    def add(self, batch: pa.RecordBatch, ids: pa.Array) -> None:
        """Take in a batch."""
        p = self._matrix(batch, ids)
        told = ", ".join(self.columns[:3]) + (", ..." if len(self.columns) > 3 else "")
        refuse(
            np.logical_or.reduce([(one < -_ROUNDING) | (one > 1 + _ROUNDING) for one in p.T]),
            ids,
            lambda row: (
                f"has probabilities ({told}) outside [0, 1]: {_few(p[row])}. Turn logits into "
                f"probabilities with a softmax, or rename columns that are something else."
            ),
        )
        np.clip(p, 0, 1, out=p)
        total = p @ np.ones(p.shape[1])
        refuse(
            np.abs(total - 1) > _OFF,
            ids,
            lambda row: (
                f"has probabilities ({told}) that sum to {total[row]:.6g}, not to one. Divide each "
                f"row by its sum if that is what you mean."
            ),
        )
        p /= total[:, None]
        self.parts.append(p.astype(np.float32))

    def done(self) -> Single:
        """All rows."""
        return np.concatenate(self.parts)

    def _matrix(self, batch: pa.RecordBatch, ids: pa.Array) -> FloatArray:
        n_classes, name = len(self.roles.classes or ()), self.columns[0]
        if len(self.columns) > 1:
            return np.stack(
                [_floats(batch.column(name), name, ids) for name in self.columns], axis=1
            )
        column = batch.column(name)
        if is_list(column.type):
            return _of_lists(column, name, n_classes, ids)
        if n_classes != 2:
            raise PoolError(
                f"The column {name!r} holds one number a row, which is enough for two classes, not "
                f"for {n_classes}. Write a list a row, or a column proba_<class> for each class."
            )
        second = _floats(column, name, ids)
        return np.stack([1 - second, second], axis=1)


@dataclass(slots=True)
class _Numbers:
    """A column of numbers."""

    column: str
    least: float = -np.inf
    parts: list[FloatArray] = field(default_factory=list)

    def add(self, batch: pa.RecordBatch, ids: pa.Array) -> None:
        """Take in a batch."""
        found = _floats(batch.column(self.column), self.column, ids)
        refuse(
            found < self.least,
            ids,
            lambda row: (
                f"has the {self.column} {found[row]:g}; it must be at least {self.least:g}."
            ),
        )
        self.parts.append(found)

    def done(self) -> FloatArray:
        """All rows."""
        return np.concatenate(self.parts)


@dataclass(slots=True)
class _Features:
    """Numbers [N, D]: columns of numbers, and of lists of them, side by side. Gaps are NaN."""

    columns: tuple[str, ...]
    parts: list[FloatArray] = field(default_factory=list)
    widths: dict[str, int] = field(default_factory=dict)

    def add(self, batch: pa.RecordBatch, ids: pa.Array) -> None:
        """Take in a batch."""
        found = [self._numbers(batch.column(name), name, ids) for name in self.columns]
        self.parts.append(np.concatenate(found, axis=1))

    def done(self) -> FloatArray:
        """All rows."""
        return np.concatenate(self.parts)

    def _numbers(self, column: pa.Array, name: str, ids: pa.Array) -> FloatArray:
        if not is_list(column.type):
            return _as_floats(column, name)[:, None]
        lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
        width = self.widths.setdefault(name, max(int(lengths[0]), 1))
        refuse(
            lengths != width,
            ids,
            lambda row: f"has {lengths[row]} numbers in {name!r}, and the first item has {width}.",
        )
        return _as_floats(column.flatten(), name).reshape(-1, width)


def _names(batch: pa.RecordBatch, column: str, start: int) -> pa.Array:
    """The ids of a batch; without a column of them, the numbers of its rows."""
    if not column:
        return pa.array(np.arange(start, start + len(batch)))
    return as_ids(batch.column(column), column, start)


def _floats(column: pa.Array, name: str, ids: pa.Array) -> FloatArray:
    """A column as numbers, refusing gaps, NaN and whatever is none."""
    found = _as_floats(column, name)
    refuse(
        ~np.isfinite(found),
        ids,
        lambda row: (
            f"has no number in the column {name!r}"
            + (f", but {found[row]}." if np.isinf(found[row]) else ": it is missing or NaN.")
        ),
    )
    return found


def _as_floats(column: pa.Array, name: str) -> FloatArray:
    """A column as numbers, NaN where there is none."""
    if not is_number(column.type) and not pa.types.is_null(column.type):
        raise PoolError(f"The column {name!r} must hold numbers; it holds {column.type}.")
    return np.array(column.cast(pa.float64()).to_numpy(zero_copy_only=False))


def _of_lists(column: pa.Array, name: str, n_classes: int, ids: pa.Array) -> FloatArray:
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    refuse(
        lengths != n_classes,
        ids,
        lambda row: (
            f"has {lengths[row]} probabilities in the column {name!r}, and there are {n_classes} "
            f"classes."
        ),
    )
    each = pc.take(ids, pa.array(np.repeat(np.arange(len(ids)), n_classes)))
    return _floats(column.flatten(), name, each).reshape(-1, n_classes)


def _joined(ids: list[pa.Array], name: str) -> pa.ChunkedArray:
    kinds = {one.type for one in ids if len(one)}
    if len(kinds) == 1:
        return pa.chunked_array([one for one in ids if len(one)])
    if pa.int64() in kinds:
        raise PoolError(
            f"The column {name!r} holds whole numbers in some places and text in others. Write "
            f"all ids as text."
        )
    return pa.chunked_array([one.cast(pa.large_string()) for one in ids])


def _few(numbers: FloatArray) -> str:
    told = ", ".join(f"{number:.4g}" for number in numbers[:4])
    return told + (", ..." if len(numbers) > 4 else "")
