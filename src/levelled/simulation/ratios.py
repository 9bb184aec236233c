"""Ratios of a class, such as its F1, in pools whose labels are known.

    theta = sum A / sum D

A and D of an item are linear in its label (1 for the class, 0 for others), so that a chance of the
class gives their expectations.
"""

from dataclasses import dataclass

from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.estimators import Estimate
from levelled.metrics import predicted_ratio
from levelled.metrics.classification import pairs_of, terms
from levelled.metrics.named import ClassRatio
from levelled.metrics.ratio import Look, ratio_estimate


@dataclass(frozen=True, slots=True, eq=False)
class KnownRatio:
    """Precision, recall or F1 of a class; one value for each item of the pool.

    `positive` is 1 where the label is the class, `predicted` where the prediction is. `chance` is
    the chance that the predictions alone give to the class, if they do.
    """

    metric: ClassRatio
    positive: FloatArray
    predicted: FloatArray
    chance: FloatArray | None = None

    @property
    def value(self) -> float:
        """The ratio theta."""
        A, D = self.pairs(self.positive)
        return float(A.sum() / D.sum())

    @property
    def denominator_mean(self) -> float:
        """The pool mean of D."""
        return float(self.pairs(self.positive)[1].mean())

    def pairs(
        self, chance: FloatArray, rows: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """A and D of some items, or of all, from the chance (or the label) of each of them."""
        predicted = self.predicted if rows is None else self.predicted[rows]
        return terms(self.metric.ratio, chance, predicted, 1.0)

    def linearise(self, chance: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """Values whose estimated mean is the error of the estimated ratio, to first order.

            (A - theta D) / Dbar,    Dbar the pool mean of D

        Their mean over the pool is 0.

        >>> import numpy as np
        >>> from levelled.metrics.named import parse_metric
        >>> y, p = np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0, 0.0])
        >>> KnownRatio(parse_metric("recall:spam"), y, p).linearise(y)
        array([ 1., -1.,  0.,  0.])
        """
        A, D = self.pairs(chance, rows)
        return (A - self.value * D) / self.denominator_mean

    def estimate(self, draws: Draws, level: float) -> Estimate:
        """The estimate of a campaign, with the predictor behind its draws if there is one."""
        predicted = self.predicted[draws.index]
        pairs = pairs_of(
            self.metric.ratio,
            self.metric.positive,
            self.positive[draws.index],
            predicted,
            draws.pool_size,
            int(self.predicted.sum()),
        )
        look = Look(draws, level, "auto")
        if set(predicted_ratio.COLUMNS) <= set(draws.design or {}):
            return predicted_ratio.predicted_ratio_estimate(pairs, predicted > 0, look)
        return ratio_estimate(pairs, look)
