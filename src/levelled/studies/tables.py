"""Tables of series against the number of labels, and how their figures are told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from levelled._check import BoolArray, FloatArray, IntArray
from levelled.studies.study import Verdict

__all__ = ["Curve", "compact", "curves", "summarised", "verdict", "where_told", "with_error"]


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

    def told(self, labels: int) -> str:
        """The mean and its standard error, for people."""
        at = self.at(labels)
        return with_error(self.mean[at], self.stderr[at])


def with_error(value: float, stderr: float) -> str:
    """A figure to the second digit of its standard error.

    >>> with_error(0.2004321, 0.00054), with_error(7.812e-6, 1.46e-7)
    ('0.20043 ± 0.00054', '(7.81 ± 0.15)e-06')
    """
    largest = max(abs(value), stderr)
    exponent = int(np.floor(np.log10(largest))) if largest > 0 else 0
    if stderr > 0 and exponent < -3:
        unit = 10.0**exponent
        return f"({with_error(value / unit, stderr / unit)})e{exponent:03d}"
    digits = max(0, 1 - int(np.floor(np.log10(stderr)))) if stderr > 0 else 6
    return f"{value:.{digits}f} ± {stderr:.{digits}f}"


def summarised(series: Mapping[str, FloatArray], labels: Sequence[int] | IntArray) -> pa.Table:
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
                | {column: compact(found) for column, found in columns.items()}
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
    found = {}
    for name in dict.fromkeys(row["series"] for row in rows):
        own = [row for row in rows if row["series"] == name]
        found[name] = Curve(
            labels=np.array([row["labels"] for row in own]),
            **{
                column: np.array([row[column] for row in own])
                for column in ("mean", "sd", "stderr", "q25", "median", "q75")
            },
        )
    return found


def verdict(held: Sequence[bool] | BoolArray) -> Verdict:
    """What to say of a claim that was checked several times."""
    if all(held):
        return "holds"
    return "holds partly" if any(held) else "does not hold"


def where_told(labels: IntArray, held: BoolArray) -> str:
    """At which of the budgets something held, as ranges of neighbours.

    >>> where_told(np.array([10, 20, 30, 40]), np.array([True, True, False, True]))
    'M = 10 to 20, 40'
    """
    places = np.flatnonzero(held)
    ranges = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1) if len(places) else []
    told = [
        f"{labels[each[0]]} to {labels[each[-1]]}" if len(each) > 1 else str(labels[each[0]])
        for each in ranges
    ]
    return "M = " + ", ".join(told) if told else "no M"
