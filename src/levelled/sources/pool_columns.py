"""The columns of a pool that have a role, of all its rows or of a run of them, in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from levelled._check import FloatArray, IntArray
from levelled.labels import Id
from levelled.predictions import Categorical, Numbers, PoolPredictions
from levelled.sources.ids import rows_of

_Single = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class PoolColumns:
    """The columns that have a role, of rows that are held in memory."""

    in_runs: ClassVar[bool] = False
    """False: all rows are one run."""

    ids: pa.ChunkedArray
    pred: Mapping[str, Categorical | Numbers]
    proba: Mapping[str, _Single]
    surrogate: _Single | None
    score: FloatArray | None
    loss_hat: FloatArray | None
    slices: Mapping[str, Categorical]
    features: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def pred_counts(self, model: str, classes: tuple[str, ...] | None) -> dict[str, int]:
        """The number of predictions of each class; empty if there are none, or too many classes."""
        return self.predictions(model, classes).counts()

    def held(self) -> PoolColumns:
        """These columns, which are in memory already."""
        return self

    def ids_at(self, rows: IntArray) -> list[Id]:
        """The ids of some rows."""
        return [self.ids[row].as_py() for row in rows.tolist()]

    def rows_of(self, ids: Sequence[Id], where: str) -> IntArray:
        """The rows of some ids; `where` names the pool in an error."""
        return rows_of(self.ids.chunks, ids, where=where)

    def runs(self) -> Iterator[PoolColumns]:
        """All rows at once, as the only run."""
        yield self

    def at(self, rows: IntArray) -> PoolColumns:
        """The columns of some rows."""
        return self.take(rows)

    def take(self, rows: IntArray) -> PoolColumns:
        """The columns of some of these rows, in the order of `rows`."""

        def some(column: NDArray[Any] | None) -> Any:  # noqa: ANN401
            return None if column is None else column[rows]

        pred = {
            model: one.at(rows) if isinstance(one, Categorical) else one[rows]
            for model, one in self.pred.items()
        }
        return PoolColumns(
            pa.chunked_array([pa.array(self.ids_at(rows), type=self.ids.type)]),
            pred,
            {model: one[rows] for model, one in self.proba.items()},
            some(self.surrogate),
            some(self.score),
            some(self.loss_hat),
            {name: one.at(rows) for name, one in self.slices.items()},
            some(self.features),
        )

    def predictions(self, model: str, classes: tuple[str, ...] | None) -> PoolPredictions:
        """The predictions of a model for these rows.

        Where it has only probabilities, it predicts the most probable class.
        """
        pred, proba = self.pred.get(model), self.proba.get(model)
        if pred is None and proba is not None and classes is not None:
            pred = Categorical(classes, proba.argmax(axis=1).astype(np.int32))
        return PoolPredictions(
            pool_size=len(self),
            classes=classes,
            pred=pred,
            proba=proba,
            surrogate=self.surrogate,
            score=self.score,
            loss_hat=self.loss_hat,
            features=self.features,
        )
