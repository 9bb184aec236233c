"""Precision, recall and F1 of one class as metrics with a name: ratios of two pool means."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from levelled._check import FloatArray
from levelled.errors import InputError
from levelled.metrics.classes import Items
from levelled.metrics.classification import NEEDED, outcomes, terms
from levelled.metrics.known import PoolPredictions, loss_moment
from levelled.metrics.labelled import Labelled, Values, is_class
from levelled.metrics.metric import Bounds, Metric
from levelled.metrics.ratio import Pairs
from levelled.scores import root_mean_squared_loss

__all__ = ["ClassRatio"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassRatio(Metric):
    """True positives in proportion to what is predicted, what is there, or both."""

    base: Literal["precision", "recall", "f1"]
    bounds: Bounds | None = (0.0, 1.0)
    higher_is_better: bool | None = True
    positive: str
    d_max: float

    def pairs(
        self, labels: Items, pred: Items, pool_size: int, pred_counts: Mapping[str, int]
    ) -> Pairs:
        """The values, with what the unlabelled items may still add to them."""
        A, D = self._sides(Labelled(labels, pred))
        left, unlabelled = pool_size - len(labels), pred_counts.get(self.positive, 0)
        unlabelled -= int(is_class("pred", pred, self.positive).sum())
        if not 0 <= unlabelled <= left:
            raise InputError(
                f"pred_counts do not fit {len(labels)} labels of a pool of {pool_size}: they leave "
                f"{unlabelled} unlabelled items predicted {self.positive!r}."
            )
        unseen = [
            (unlabelled, outcomes(self.base, (1.0,), 1.0)),
            (left - unlabelled, outcomes(self.base, (0.0,), 1.0)),
        ]
        what = NEEDED[self.base].format(self.positive)
        return Pairs(A, D, unseen, what, self.denominator_mean(pred_counts, pool_size))

    def denominator_mean(self, pred_counts: Mapping[str, int], pool_size: int) -> float | None:
        """Of a precision the share of the pool that is predicted to be of the class."""
        if self.base != "precision":
            return None
        return pred_counts.get(self.positive, 0) / pool_size or None

    def _values(self, given: Labelled) -> Values:
        return Values(*self._sides(given))

    def _sides(self, given: Labelled) -> tuple[FloatArray, FloatArray]:
        pred = given.answers(self.name)
        y = is_class("labels", given.labels, self.positive)
        return terms(self.base, y, is_class("pred", pred, self.positive), 1.0)

    def _interest(self, known: PoolPredictions) -> FloatArray | None:
        if known.loss_hat is not None:
            return np.sqrt(self._size(known.loss_hat))
        return loss_moment(root_mean_squared_loss, known, "zero_one")
