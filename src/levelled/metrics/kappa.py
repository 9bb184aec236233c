"""Cohen's kappa of a judge against people, as a ratio of two pool means.

    1 - kappa = mean(1[label != verdict]) / mean(1 - j_label)

j_k is the share of verdicts k in the whole pool, which is known. The ratio may exceed 1, and kappa
be negative; divided by the largest that it may be it is a ratio with 0 <= A <= D.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from levelled.draws import Draws, check_draws, check_pool_column
from levelled.errors import InputError
from levelled.estimators.record import Estimate
from levelled.labels import ItemValues, as_classes, class_names
from levelled.metrics.metric import Bounds, LabelledItems, Metric, Values
from levelled.metrics.ratio import Look, Pairs, ratio_estimate, scaled


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Kappa(Metric):
    """Cohen's kappa of one judge, whose verdicts in the pool are known.

    `positive` is one of two verdicts; with more of them it is None.
    """

    bounds: Bounds | None = (0.0, 1.0)
    complemented: bool = True
    higher_is_better: bool | None = True
    shares: tuple[tuple[str, float], ...]
    """The verdicts of the pool, and the share of each."""

    @classmethod
    def of(cls, counts: Mapping[str, int], positive: str | None = None) -> "Kappa":
        """The kappa of a judge with so many verdicts of each class in the pool."""
        used = {name: n for name, n in counts.items() if n}
        if len(used) < 2:
            raise InputError(
                f"Every verdict is {next(iter(used), 'missing')!r}, so kappa is 0 whatever the "
                f"labels: leave it out."
            )
        total = sum(used.values())
        shares = tuple((name, n / total) for name, n in used.items())
        one = positive if len(used) == 2 and positive in used else None
        return cls(name="kappa", positive=one, d_max=_largest(shares), shares=shares)

    @property
    def scale(self) -> float:
        """The largest value of 1 - kappa."""
        return _largest(self.shares)

    def pairs(
        self, labels: ItemValues, pred: ItemValues, pool_size: int, pred_counts: Mapping[str, int]
    ) -> Pairs:
        """The values, with what the unlabelled items may still add to them."""
        wrong, expected = self._values(LabelledItems(labels, pred))
        assert expected is not None
        chance = {name: self._expected_part(share) for name, share in self.shares}
        left = pool_size - len(labels)
        if self.positive is None:
            outcomes = [(a, d) for d in (*chance.values(), self.scale) for a in (0.0, 1.0)]
            return Pairs(wrong, expected, [(left, outcomes)], "label", is_share=False)
        (other,) = (name for name in chance if name != self.positive)
        both = [(label, chance[label]) for label in (other, self.positive)]
        predicted = int(np.count_nonzero(as_classes("pred", pred) == self.positive))
        unlabelled = max(pred_counts.get(self.positive, 0) - predicted, 0)
        unseen = [
            (n, [(float(label != verdict), d) for label, d in both])
            for n, verdict in ((unlabelled, self.positive), (left - unlabelled, other))
        ]
        return Pairs(wrong, expected, unseen, "label", is_share=False)

    def from_losses(self, estimate: Estimate) -> Estimate:
        """Kappa from the estimated ratio."""
        return scaled(estimate, -self.scale, 1.0)

    def _values(self, items: LabelledItems) -> Values:
        labels, pred = as_classes("labels", items.labels), as_classes("pred", items.pred)
        shares = dict(self.shares)
        expected = [self._expected_part(shares.get(one, 0.0)) for one in labels.tolist()]
        return Values((labels != pred).astype(np.float64), np.array(expected, dtype=np.float64))

    def _expected_part(self, share: float) -> float:
        """The denominator of an item whose label is a verdict with this share: at least 1."""
        return max(self.scale * (1 - share), 1.0)  # rounding may leave a little less


def kappa(
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    pool_pred: ArrayLike,
    level: float = 0.95,
    interval: str = "auto",
) -> Estimate:
    """Cohen's kappa between labels and predictions over the whole pool.

    `pool_pred` are the predictions of all items.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> pool = ["yes", "no"] * 10
    >>> kappa(["yes", "no", "no", "no"], ["yes", "no", "yes", "no"], draws, pool_pred=pool).value
    0.5
    """
    check_draws(draws, labels=labels, pred=pred)
    y, p, pool = (
        as_classes(name, class_names(name, values))
        for name, values in (("labels", labels), ("pred", pred), ("pool_pred", pool_pred))
    )
    check_pool_column("pred", p, pool, draws)
    names, counts = np.unique(pool, return_counts=True)
    metric = Kappa.of(dict(zip(names.tolist(), counts.tolist(), strict=True)))
    pairs = metric.pairs(y, p, draws.pool_size, {})
    return metric.from_losses(ratio_estimate(pairs, Look(draws, level, interval)))


def _largest(shares: Sequence[tuple[str, float]]) -> float:
    """The largest value of 1 - kappa: all labels are the most frequent verdict, and wrong."""
    return 1 / min(1 - share for _, share in shares)
