"""Regret of ways of training: the risk beside the better of never and always correcting.

A cell is one model on one problem with one number of labels, M. With R_w the mean test risk of
the models trained in the way w, over trajectories that share their draws, the regret of w is

    R_w / min(R_naive, R_LURE) - 1,

below 0 where w does better than both. The better of the two is known only afterwards, and picking
it by the same trajectories counts their noise against w.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from levelled._check import FloatArray
from levelled_studies.study import Claim, Ruling
from levelled_studies.tables import Difference, alarm_rate, judge

__all__ = ["WAYS", "Bars", "Cell", "Spread", "relative", "share_claims", "spread"]

WAYS = ("naive", "PURE", "LURE", "verdict", "share", "shuffled")
"""Never corrected; with the weights of R_PURE; of R_LURE; all or nothing, as the verdict of the
first version had it; by the share; by the same rule with the weights permuted over the labels."""
LARGE = 0.02
"""A regret above this is counted."""
SURE = 2.0
"""Standard errors from which on a way counts as worse than another."""


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """The test risks of each way of training on the same draws, [trajectories]."""

    title: str
    risks: Mapping[str, FloatArray]

    @property
    def better(self) -> str:
        """The better of never and always correcting, by the mean risk."""
        return min(("naive", "LURE"), key=lambda way: float(self.risks[way].mean()))

    def regret(self, way: str) -> float:
        """The mean risk of a way, as a share above that of the better of naive and LURE."""
        return self.beside(way, self.better).mean

    def beside(self, way: str, other: str, comparisons: int = 1) -> Difference:
        """The share by which the mean risk of one way is above that of another."""
        return relative(self.risks[way], self.risks[other], comparisons)


def relative(risks: FloatArray, beside: FloatArray, comparisons: int = 1) -> Difference:
    """The ratio of mean risks over the same trajectories, less one.

    Its standard error is that of the linearised ratio, trajectory by trajectory, so what both
    have in common cancels.

    >>> relative(np.array([0.9, 1.9]), np.array([1.0, 2.0]))
    Difference(mean=-0.066666..., stderr=0.0222222..., n=2, comparisons=1)
    """
    base, n = float(beside.mean()), len(risks)
    ratio = float(risks.mean()) / base
    error = (risks - ratio * beside).std(ddof=1) / base / np.sqrt(n)
    return Difference(ratio - 1, float(error), n, comparisons)


@dataclass(frozen=True, slots=True)
class Bars:
    """Limits of the regret: of single cells, and the share of cells that may be above 2%."""

    worst: float = 0.07
    share_above: float = 0.03

    def __str__(self) -> str:
        if self.worst <= LARGE:
            return f"nowhere above {self.worst:.0%}"
        return (
            f"above {LARGE:.0%} in at most {self.share_above:.0%} of the cells and nowhere above "
            f"{self.worst:.0%}"
        )


@dataclass(frozen=True, slots=True)
class Spread:
    """The regrets of one way over all cells."""

    mean: float
    worst: float
    where: str
    """The cell of the worst."""
    above: int
    """Cells above 2%."""
    worse: Mapping[str, float]
    """Cells that are worse than naive beyond two standard errors, and by how much."""
    n_better: int
    """Cells that are better than naive beyond two standard errors."""
    n: int

    def within(self, bars: Bars) -> bool:
        """True if no cell, and no more cells than allowed, are above the limits."""
        return self.worst <= bars.worst and self.above <= bars.share_above * self.n


def spread(cells: Sequence[Cell], way: str) -> Spread:
    """The regrets of a way over the cells."""
    regrets = [cell.regret(way) for cell in cells]
    at = int(np.argmax(regrets))
    naive = {cell.title: cell.beside(way, "naive") for cell in cells}
    return Spread(
        mean=float(np.mean(regrets)),
        worst=regrets[at],
        where=cells[at].title,
        above=sum(regret > LARGE for regret in regrets),
        worse={name: one.mean for name, one in naive.items() if one.mean > SURE * one.stderr},
        n_better=sum(one.mean < -SURE * one.stderr for one in naive.values()),
        n=len(cells),
    )


def share_claims(cells: Sequence[Cell], bars: Bars, where: str) -> list[Claim]:
    """One claim for each promise: little regret, no harm, more than averaging and verdicts give."""
    return [
        _mean_regret(cells, where),
        _worst_regret(cells, bars, where),
        _beside_naive(cells, where),
        _beside_control(cells, where),
        _beside_verdict(cells, where),
    ]


def _mean_regret(cells: Sequence[Cell], where: str) -> Claim:
    means = {way: spread(cells, way).mean for way in WAYS}
    others = ", ".join(f"{way} {mean:+.1%}" for way, mean in means.items() if way != "share")
    return Claim(
        "share-mean",
        where,
        "On average over the cells, training by the share has no higher risk than the better of "
        "never and always correcting, which is known only afterwards.",
        f"mean regret {means['share']:+.2%} over {len(cells)} cells; {others}",
        _ruling(means["share"] <= 0),
    )


def _worst_regret(cells: Sequence[Cell], bars: Bars, where: str) -> Claim:
    own, others = spread(cells, "share"), {way: spread(cells, way) for way in WAYS}
    listed = ", ".join(
        f"{way} {one.above} and {one.worst:.1%}" for way, one in others.items() if way != "share"
    )
    return Claim(
        "share-worst",
        where,
        f"The regret of the share is {bars}.",
        f"above {LARGE:.0%} in {own.above} of {own.n} cells, at most {own.worst:.1%} "
        f"({own.where}); {listed}",
        _ruling(own.within(bars)),
    )


def _beside_naive(cells: Sequence[Cell], where: str) -> Claim:
    own = spread(cells, "share")
    listed = ", ".join(f"{name} {change:+.2%}" for name, change in own.worse.items())
    return Claim(
        "share-naive",
        where,
        "Training by the share is worse than plain training beyond two standard errors in at most "
        "5% of the cells, and nowhere by more than 1%.",
        f"worse in {len(own.worse)} of {own.n} cells{f' ({listed})' if listed else ''}, better in "
        f"{own.n_better}",
        _ruling(len(own.worse) <= 0.05 * own.n and max(own.worse.values(), default=0.0) <= 0.01),
    )


def _beside_control(cells: Sequence[Cell], where: str) -> Claim:
    return _compare(
        cells,
        ("share-control", "shuffled"),
        "The share gains by correcting, not by averaging two models alone: its risk is lower than "
        "that of the same rule with the weights permuted over the labels.",
        where,
    )


def _beside_verdict(cells: Sequence[Cell], where: str) -> Claim:
    return _compare(
        cells,
        ("share-verdict", "verdict"),
        "The risk of training by the share is lower than that of correcting all or nothing by the "
        "verdict of the first version.",
        where,
    )


def _compare(cells: Sequence[Cell], names: tuple[str, str], says: str, where: str) -> Claim:
    name, other = names
    each = [cell.beside("share", other, len(cells)) for cell in cells]
    lower, higher = ([one.shows(sign) for one in each] for sign in (-1, 1))
    mean = float(np.mean([one.mean for one in each]))
    return Claim(
        name,
        where,
        says,
        f"{mean:+.2%} on average over {len(cells)} cells; lower in {sum(lower)}, higher in "
        f"{sum(higher)}",
        judge(lower, higher),
        f"By Student's t over {each[0].n} trajectories, with {alarm_rate(len(cells))}.",
    )


def _ruling(held: bool) -> Ruling:
    return "holds" if held else "does not hold"
