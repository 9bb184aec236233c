"""Tables of series against the number of labels; their values in words, and verdicts on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from levelled._check import BoolArray, FloatArray, IntArray
from levelled.estimators.intervals.limits import t_quantile
from levelled.reports.numbers import with_error
from levelled_studies.study import Ruling

__all__ = [
    "ALARM",
    "Curve",
    "Difference",
    "alarm_rate",
    "at_budgets",
    "compact",
    "curves",
    "judge",
    "summarise",
    "verdict",
    "would_decide",
]

POWER, MOST = 0.8, 100_000
"""The chance with which trajectories would decide, and the most that are counted."""
ALARM = 0.05
"""The most that the chance may be that a claim shows a difference where there is none."""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One series of a table against the number of labels, over all trajectories."""

    labels: IntArray
    mean: FloatArray
    sd: FloatArray
    stderr: FloatArray
    q25: FloatArray
    median: FloatArray
    q75: FloatArray

    def at(self, labels: int) -> int:
        """The place of that number of labels."""
        return int(np.flatnonzero(self.labels == labels)[0])

    @property
    def z(self) -> FloatArray:
        """The mean in standard errors."""
        return self.mean / np.where(self.stderr > 0, self.stderr, np.inf)

    def text(self, labels: int) -> str:
        """The mean and its standard error, for people."""
        at = self.at(labels)
        return with_error(self.mean[at], self.stderr[at])


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean over n trajectories with its standard error, one of several comparisons of a claim.

    With k comparisons it shows, by Student's t and Bonferroni's bound, where

        |mean| > t stderr,    t the quantile at 1 - 0.05 / (2 k) with n - 1 degrees of freedom,

    so where nothing differs the chance that any of the k shows is at most 5%. A single trajectory
    shows nothing.

    >>> [Difference(0.03, 0.01, n=10, comparisons=k).above(0) for k in (1, 4)]
    ['holds', 'cannot tell']
    """

    mean: float
    stderr: float
    n: int
    comparisons: int = 1

    def __str__(self) -> str:
        return with_error(self.mean, self.stderr)

    @property
    def least(self) -> float:
        """The smallest difference that so many trajectories show; NaN of a single one."""
        level = 1 - ALARM / (2 * self.comparisons)
        return float(t_quantile(np.asarray(self.n - 1.0), level)) * self.stderr

    def shows(self, sign: int) -> bool:
        """True if it has that sign, beyond chance."""
        return self.mean * sign > self.least

    def above(self, limit: float) -> Ruling:
        """The verdict on the claim that it is more than `limit`."""
        return judge([self.mean - self.least > limit], [self.mean + self.least < limit])

    def below(self, limit: float) -> Ruling:
        """The verdict on the claim that it is less than `limit`."""
        return judge([self.mean + self.least < limit], [self.mean - self.least > limit])

    def negligible(self, *, within: float) -> Ruling:
        """The verdict on the claim that it is none; differences up to `within` count as none.

        >>> [Difference(0.01, 0.01, n).negligible(within=0.05) for n in (2, 20)]
        ['cannot tell', 'holds']
        """
        size = abs(self.mean)
        return judge([size + self.least <= within], [size - self.least > within])

    def needed(self, gap: float, *, sides: Literal[1, 2] = 1) -> int:
        """Trajectories that would decide, with a chance of 80%, if the spread stays as it is.

        The true difference is `gap` away from the limit, or `gap` within limits on both sides.
        The smallest n with

            (t + z) s / sqrt(n) <= gap,    s = stderr sqrt(n of this difference),

        t the quantile by which a difference shows, z the normal one at 0.8 (two sides: 0.9).

        >>> Difference(0.0, 0.1, n=8).needed(0.1), Difference(0.0, 0.1, n=8).needed(0.1, sides=2)
        (65, 86)
        """
        level = 1 - ALARM / (2 * self.comparisons)
        z = ndtri(1 - (1 - POWER) / sides)
        n = np.arange(2, MOST + 1)
        margin = (t_quantile(np.asarray(n - 1.0), level) + z) / np.sqrt(n)
        enough = margin * self.stderr * np.sqrt(self.n) <= gap
        return int(n[enough.argmax()]) if enough.any() else MOST

    @property
    def reach(self) -> str:
        """The size of differences that so many trajectories can show, in words."""
        if self.n == 1:
            return "A single trajectory cannot tell a difference from chance."
        return (
            f"{self.n} trajectories show differences from about {self.least:.2g} on, with "
            f"{alarm_rate(self.comparisons)}; smaller ones, of either sign, they cannot tell from "
            f"chance."
        )


def would_decide(*needed: int) -> str:
    """The number of trajectories that would decide all of several comparisons, in words.

    >>> would_decide(120, 86), would_decide(MOST)
    ('120 trajectories would decide (chance 80%)', 'more than 100,000 trajectories would be needed')
    """
    if max(needed) >= MOST:
        return f"more than {MOST:,} trajectories would be needed"
    return f"{max(needed):,} trajectories would decide (chance {POWER:.0%})"


def alarm_rate(comparisons: int) -> str:
    """The rate of false alarms in words.

    >>> alarm_rate(4)
    'at most a 5% chance of any false alarm in 4 comparisons'
    """
    if comparisons == 1:
        return f"a {ALARM:.0%} chance of a false alarm"
    return f"at most a {ALARM:.0%} chance of any false alarm in {comparisons} comparisons"


def summarise(series: Mapping[str, FloatArray], labels: Sequence[int] | IntArray) -> pa.Table:
    """Mean, spread and quartiles over trajectories of each series [R, len(labels)]."""
    parts = []
    for name, values in series.items():
        q25, median, q75 = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
        sd = values.std(axis=0, ddof=1)
        columns = {
            "mean": values.mean(axis=0),
            "sd": sd,
            "stderr": sd / np.sqrt(len(values)),
            "q25": q25,
            "median": median,
            "q75": q75,
        }
        parts.append(
            pa.table(
                {"series": [name] * len(labels), "labels": np.asarray(labels)}
                | {column: compact(numbers) for column, numbers in columns.items()}
            )
        )
    return pa.concat_tables(parts)


def compact(values: FloatArray) -> FloatArray:
    """Six significant digits: more would be noise, and tables are kept small.

    >>> compact(np.array([0.123456789, 1e-17 / 3]))
    array([1.23457e-01, 3.33333e-18])
    """
    return np.array([float(f"{value:.6g}") for value in np.asarray(values).ravel()])


def curves(table: pa.Table, **where: object) -> dict[str, Curve]:
    """The series of a table, by name; `where` picks the rows that have these values."""
    rows = [row for row in table.to_pylist() if where.items() <= row.items()]
    series = {}
    for name in dict.fromkeys(row["series"] for row in rows):
        own = [row for row in rows if row["series"] == name]
        series[name] = Curve(
            labels=np.array([row["labels"] for row in own]),
            **{
                column: np.array([row[column] for row in own])
                for column in ("mean", "sd", "stderr", "q25", "median", "q75")
            },
        )
    return series


def verdict(held: Sequence[bool] | BoolArray) -> Ruling:
    """The verdict on a claim that was checked several times."""
    if all(held):
        return "holds"
    return "holds partly" if any(held) else "does not hold"


def judge(held: Sequence[bool] | BoolArray, refuted: Sequence[bool] | BoolArray) -> Ruling:
    """The verdict on a claim that was checked several times, where chance may hide the result.

    >>> judge([True, False], [False, False]), judge([False], [True]), judge([False], [False])
    ('holds partly', 'does not hold', 'cannot tell')
    """
    if any(held):
        return "holds" if all(held) else "holds partly"
    return "does not hold" if any(refuted) else "cannot tell"


def at_budgets(labels: IntArray, held: BoolArray) -> str:
    """The budgets at which something held, as ranges of neighbours.

    >>> at_budgets(np.array([10, 20, 30, 40]), np.array([True, True, False, True]))
    'M = 10 to 20, 40'
    """
    places = np.flatnonzero(held)
    ranges = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1) if len(places) else []
    text = [
        f"{labels[each[0]]} to {labels[each[-1]]}" if len(each) > 1 else str(labels[each[0]])
        for each in ranges
    ]
    return "M = " + ", ".join(text) if text else "no M"
