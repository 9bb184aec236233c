"""Kept tables as the rules read them, and the words of verdicts, without the studies' code."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from levelled._check import FloatArray

Row = dict[str, Any]
Settings = Mapping[str, Any]
Rule = Callable[[Sequence[Row], Settings, str], str]
"""From the rows of a table, its settings and the name of a claim to the verdict."""

ALARM = 0.05


def pick(rows: Iterable[Row], **where: object) -> list[Row]:
    return [row for row in rows if all(row[key] == value for key, value in where.items())]


def column(rows: Iterable[Row], name: str) -> FloatArray:
    return np.array([row[name] for row in rows], float)


def each(held: Iterable[object]) -> str:
    """Of claims that were checked several times: all, some or none."""
    checks = [bool(one) for one in held]
    return "holds" if all(checks) else "holds partly" if any(checks) else "does not hold"


def shown(held: Iterable[object], refuted: Iterable[object]) -> str:
    """Of claims that chance may hide: shown everywhere, somewhere, refuted, or neither."""
    checks = [bool(one) for one in held]
    if any(checks):
        return "holds" if all(checks) else "holds partly"
    return "does not hold" if any(map(bool, refuted)) else "cannot tell"


def yes(held: object) -> str:
    return "holds" if held else "does not hold"


def reach(values: FloatArray, comparisons: int) -> tuple[float, float]:
    """The mean over trajectories, and Student's t times its standard error, for so many looks."""
    n = len(values)
    error = values.std(ddof=1) / np.sqrt(n)
    return float(values.mean()), float(stats.t.ppf(1 - ALARM / (2 * comparisons), n - 1) * error)


def beyond(values: FloatArray, limit: float, comparisons: int = 1) -> tuple[bool, bool]:
    """True, False if the mean is shown to be above the limit; False, True if below."""
    mean, margin = reach(values, comparisons)
    return mean - margin > limit, mean + margin < limit


def within(values: FloatArray, limit: float, comparisons: int = 1) -> tuple[bool, bool]:
    """True, False if the mean is shown to be within the limit on both sides; False, True if out."""
    mean, margin = reach(values, comparisons)
    return abs(mean) + margin <= limit, abs(mean) - margin > limit
