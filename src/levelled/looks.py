"""Planned looks: readings of an estimate at numbers of labels that were fixed beforehand.

`levelled.estimators.intervals.limits` plans them; the log of a campaign keeps them.
"""

from typing import NamedTuple

SHARE = 0.9
"""The part of the error rate that goes to the looks; betting between them has the rest.

Half of it would make the last of five looks 12% wider, and 0.99 only 2% narrower (`plan_looks`).
"""

_LEAST = 1e-12  # rounding


class PlannedLook(NamedTuple):
    """A reading of the estimate after `n` settled draws, with error rate `alpha` of its own."""

    n: int
    alpha: float

    @property
    def level(self) -> float:
        """The confidence level of its interval, at most 1 - 1e-12: numbers have no more digits.

        Where the budget is nearly the whole pool, early looks have next to no error rate.
        """
        return 1 - max(self.alpha, _LEAST)
