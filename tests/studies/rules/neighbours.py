"""The rules of the claims about neighbouring methods and shifted test data, as stated."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from studies.rules.reading import Row, Rule, Settings, column, each, pick

__all__ = ["RULES"]

ORDERS = {
    "orders": ("R_PURE", "R_LURE", "Murthy"),
    "without-replacement": ("with replacement", "with replacement, repeats free", "R_LURE"),
    "fixed-number": ("Poisson", "R_LURE"),
    "surrogate": ("Active Testing, own", "Active Testing, ensemble"),
    "root": ("Active Testing, ensemble", "R_LURE, root of the ensemble's E[L^2]"),
}
"""Methods in ascending order of their label factors."""


def fourth_rule(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """Where the shift outweighs ALB, R_LURE saves less than without shift, and costs nothing."""
    held = []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        start, *shifted = pick(rows, kind=kind)
        for row in shifted:
            if row["shift_bias"] > abs(row["alb"]):
                stderr = np.hypot(row["gain_se"], start["gain_se"])
                less = start["gain"] - row["gain"] > 4 * stderr
                held.append(less and row["gain"] > -4 * row["gain_se"])
    return each(held)


def with_replacement(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """For as many different points R_LURE is better by 4 standard errors, at each M up to 50."""
    other, lure, different = (
        pick(rows, series=one) for one in ("with replacement", "LURE", "different points")
    )
    points = column(different, "mean")
    labels = column(lure, "labels")
    labels = labels[labels <= min(50, points[-1])]
    error, stderr = (np.interp(labels, points, column(other, one)) for one in ("mean", "stderr"))
    gain = error - column(lure, "mean")[: len(labels)]
    return each(gain > 4 * np.hypot(stderr, column(lure, "stderr")[: len(labels)]))


def ahead(one: Row, other: Row, allowance: float = 3) -> bool:
    stderr = np.hypot(one["label_factor_se"], other["label_factor_se"])
    return bool(one["label_factor"] - other["label_factor"] > allowance * stderr)


def cells(rows: Sequence[Row]) -> list[dict[str, Row]]:
    found: dict[tuple[str, int], dict[str, Row]] = {}
    for row in rows:
        found.setdefault((row["task"], row["budget"]), {})[row["method"]] = row
    return list(found.values())


def fifth_rule(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """R_LURE's label factor is above 1 and above that of the naive mean, by 3 standard errors."""
    return each(
        ahead(cell["R_LURE"], cell["naive"])
        and cell["R_LURE"]["label_factor"] - 3 * cell["R_LURE"]["label_factor_se"] > 1
        for cell in cells(rows)
    )


def combined(verdicts: Iterable[str]) -> str:
    """All alike; or partly, if any holds."""
    kinds = {*verdicts}
    if len(kinds) == 1:
        return kinds.pop()
    return "holds partly" if "holds" in kinds else "cannot tell"


def ordered(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """Each method is ahead of the one before it by 3 standard errors; "orders" allows ties."""

    def one(low: Row, high: Row) -> str:
        if ahead(low, high):
            return "does not hold"
        return "holds" if name == "orders" or ahead(high, low) else "cannot tell"

    found = cells(rows)
    pairs = list(pairwise(ORDERS[name]))
    return combined(one(cell[low], cell[high]) for cell in found for low, high in pairs)


def importance(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """The bias is shown from 4 standard errors on."""
    own = [row for row in rows if row["method"].startswith("importance weights")]
    return combined(
        "holds" if abs(row["bias"]) > 4 * row["bias_se"] else "cannot tell" for row in own
    )


RULES: dict[str, dict[str, Rule]] = {
    "linear-shift": {"fourth-rule": fourth_rule},
    "neighbours": {
        "fifth-rule": fifth_rule,
        **dict.fromkeys(ORDERS, ordered),
        "importance-weights": importance,
    },
    "linear-training": {"with-replacement": with_replacement},
}
