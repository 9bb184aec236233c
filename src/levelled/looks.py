"""Planned looks: readings of an estimate at numbers of labels that were fixed beforehand.

`levelled.estimators.intervals.limits` plans them; the log of a campaign keeps them.
"""

from typing import NamedTuple

SHARE = 0.94
"""The part of the error rate that goes to the looks.

Half of it would make the last of five looks 14% wider, and all of it 1% narrower (`plan_looks`).
"""
_BETTING = 0.02
"""The part for betting between the looks: with .1 the last of five looks is 2% wider."""
_EXTENDED = 0.2
"""The reserve of a campaign whose budget may grow.

The look at the budget is then 4% wider than with the usual reserve of .04, and the first look
after a raise 15% narrower.
"""

_LEAST = 1e-12  # rounding


class Shares(NamedTuple):
    """The parts of the error rate for planned looks, for betting between them, and in reserve."""

    looks: float
    betting: float
    reserve: float


FIRST_SHARES = Shares(0.9, 0.1, 0.0)
"""The shares of campaigns with version 1 of the spending, which have no reserve."""


def share_rate(n_looks: int, *, may_extend: bool = False) -> Shares:
    """The parts of the error rate, which add up to 1.

    Without looks betting has all of it. One look has all of it too, so that there is no interval
    before it; where the budget may grow, a fifth is in reserve.

    >>> share_rate(1), share_rate(5, may_extend=True).reserve
    (Shares(looks=1.0, betting=0.0, reserve=0.0), 0.2)
    """
    if n_looks == 0:
        return Shares(0.0, 1.0, 0.0)
    betting = 0.0 if n_looks == 1 else _BETTING
    if may_extend:
        return Shares(1 - _EXTENDED - betting, betting, _EXTENDED)
    return Shares(1.0, 0.0, 0.0) if n_looks == 1 else Shares(SHARE, betting, 1 - SHARE - betting)


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
