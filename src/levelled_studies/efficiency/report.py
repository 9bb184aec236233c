"""Claims of the benchmark `label-efficiency`."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from levelled._check import FloatArray
from levelled_studies.efficiency.peers import PACKAGES
from levelled_studies.study import Claim, Row, Ruling
from levelled_studies.tables import verdict

__all__ = ["OURS", "PEERS", "claims", "factor", "rule_coverage"]

SIX = ("fashion-mnist-strong", "mnist-strong", "credit-card", "adult", "imdb", "spam")
"""The real pools of 0/1 losses over which medians are taken."""
PEERS = ("static", "active-testing", "ppi", "with-replacement")
OURS = "adaptive"
_ALLOWANCE = 3.0
"""Standard errors in the method's favour."""
_RARE = 0.005
"""Risks below this are left out where the worst cell is judged."""
_MANY = 400
"""Repetitions from which on a coverage is known well enough."""
_RATIOS = ("precision", "recall", "f1")
_COVERS = 0.92
"""The least coverage of a ratio in any cell."""
_WHERE = "Levelled, label efficiency"


def claims(table: pa.Table, settings: Any) -> list[Claim]:  # noqa: ANN401
    """Each bar of the benchmark: met, or not.

    Label factors and coverages have three standard errors of allowance. Ratios have claims of
    their own.
    """
    everything = table.to_pylist()
    ratios = [row for row in everything if row["metric"].partition(":")[0] in _RATIOS]
    rows = [row for row in everything if row not in ratios]
    ours = [row for row in rows if row["method"] == OURS]
    large = [row for row in ours if row["budget"] >= 100]
    return [
        _median("six pools, 500 labels", ours, 500, 2.1),
        _median("six pools, 100 labels", ours, 100, 1.9),
        _to_the_limit(ours),
        _worst("worst label factor", "label_factor", large, "From 100 labels on"),
        *(_against(peer, rows) for peer in PEERS),
        _median_width(ours),
        _worst(
            "worst width factor",
            "width_factor",
            [row for row in ours if row["budget"] == 500],
            "At 500 labels",
        ),
        _unbiased(ours),
        _coverage(large),
        _packages(rows),
        *(_ratio_claims(ratios) if ratios else ()),
    ]


def factor(row: Row) -> tuple[float, float]:
    """The label factor with its standard error; from squared errors where no other is known."""
    if row["label_factor"] is not None:
        return row["label_factor"], row["label_factor_se"]
    return row["label_factor_mse"], row["label_factor_mse_se"]


def _allowed(row: Row) -> float:
    value, stderr = factor(row)
    return value + _ALLOWANCE * stderr


def _rule(measured: Iterable[float], holds: Callable[[Sequence[float]], bool]) -> Ruling:
    values = list(measured)
    if not values:
        return "cannot tell"
    return "holds" if holds(values) else "does not hold"


def _median(name: str, ours: Sequence[Row], budget: int, bar: float) -> Claim:
    own = [row for row in ours if row["task"] in SIX and row["budget"] == budget]
    listed = ", ".join(f"{row['task']} {_text(row)}" for row in own)
    middle = f"median {np.median([factor(row)[0] for row in own]):.2f}: " if own else ""
    return Claim(
        name,
        _WHERE,
        f"The median label factor of adaptive campaigns over six real pools is at least {bar} at "
        f"{budget} labels.",
        f"{middle}{listed}",
        _rule(map(_allowed, own), lambda values: float(np.median(values)) >= bar),
    )


def _to_the_limit(ours: Sequence[Row]) -> Claim:
    own = [row for row in ours if row["task"] in SIX and row["budget"] == 500 and row["limit"] < 5]
    shares = [factor(row)[0] / row["limit"] for row in own]
    listed = ", ".join(
        f"{row['task']} {share:.2f} of {row['limit']:.2f}"
        for row, share in zip(own, shares, strict=True)
    )
    middle = f"median {np.median(shares):.2f}: " if own else ""
    return Claim(
        "share of the limit",
        _WHERE,
        "Where the limit of the label factor is below 5, adaptive campaigns reach at least .85 of "
        "it at 500 labels, in the median of six real pools.",
        f"{middle}{listed}",
        _rule(
            (_allowed(row) / row["limit"] for row in own),
            lambda values: float(np.median(values)) >= 0.85,
        ),
    )


def _worst(name: str, key: str, ours: Sequence[Row], when: str) -> Claim:
    own = [row for row in ours if row["risk"] >= _RARE and row[key] is not None]
    slack = _ALLOWANCE if key == "label_factor" else 0.0
    low = sorted(own, key=lambda row: float(row[key]))[:3]
    return Claim(
        name,
        _WHERE,
        f"{when}, no {key.replace('_', ' ')} of an adaptive campaign is below .80 "
        f"where the risk is at least .5%.",
        ", ".join(f"{row['task']} at {row['budget']}: {row[key]:.2f}" for row in low),
        _rule(
            (row[key] + slack * row["label_factor_se"] for row in own),
            lambda values: min(values) >= 0.8,
        ),
    )


def _against(peer: str, rows: Sequence[Row]) -> Claim:
    at = {(row["task"], row["method"]): row for row in rows if row["budget"] == 500}
    pairs = [
        (at[task, OURS], row)
        for (task, method), row in at.items()
        if method == peer and (task, OURS) in at
    ]
    behind = [
        f"{ours['task']} ({_text(ours)}, {_text(other)})"
        for ours, other in pairs
        if _allowed(ours) < 0.97 * factor(other)[0]
    ]
    told = f"{len(pairs) - len(behind)} of {len(pairs)} tasks"
    return Claim(
        f"against {peer}",
        _WHERE,
        f"At 500 labels adaptive campaigns are ahead of {peer}, or within 3% of it, on at least "
        f"80% of the tasks.",
        told + (f"; behind on {', '.join(behind)}" if behind else ""),
        _rule([len(behind)] * bool(pairs), lambda values: values[0] <= 0.2 * len(pairs)),
    )


def _median_width(ours: Sequence[Row]) -> Claim:
    own = [row for row in ours if row["task"] in SIX and row["budget"] == 500]
    widths = [row["width_factor"] for row in own]
    listed = ", ".join(f"{row['task']} {row['width_factor']:.2f}" for row in own)
    return Claim(
        "width shown",
        _WHERE,
        "The median width factor of adaptive campaigns over six real pools, with planned looks, is "
        "at least 1.8 at 500 labels.",
        (f"median {np.median(widths):.2f}: " if own else "") + listed,
        _rule(widths, lambda values: float(np.median(values)) >= 1.8),
    )


def _unbiased(ours: Sequence[Row]) -> Claim:
    z = [abs(row["bias_z"]) for row in ours if row["bias_z"] is not None]
    return Claim(
        "unbiased",
        _WHERE,
        "The mean error of adaptive campaigns is within four standard errors of 0 in every cell.",
        f"largest |z| {max(z, default=0):.1f} of {len(z)} cells",
        _rule(z, lambda values: max(values) < 4),
    )


def _coverage(large: Sequence[Row]) -> Claim:
    low = sorted(large, key=lambda row: float(row["coverage"]))[:3]
    lowest = ", ".join(f"{row['task']} at {row['budget']}: {row['coverage']:.3f}" for row in low)
    values = np.array([row["coverage"] for row in large])
    n = large[0]["repetitions"] if large else 0
    ruling = rule_coverage(values, n)
    return Claim(
        "coverage of all planned looks",
        _WHERE,
        "From 100 labels on, the intervals of all five planned looks hold at once in at least 92% "
        "of the repetitions of every cell, and in 94.5% on average.",
        f"mean {values.mean():.3f}; lowest {lowest}" if large else "",
        ruling,
        f"{n} repetitions are too few to tell" if ruling == "cannot tell" else "",
    )


def rule_coverage(values: FloatArray, repetitions: int) -> Ruling:
    """The verdict on coverages; an allowance decides only where there are many repetitions."""
    if not len(values):
        return "cannot tell"
    slack = _ALLOWANCE * np.sqrt(0.92 * 0.08 / repetitions)
    mean, least = float(values.mean()), float(values.min())
    if least + slack < 0.92 or mean + slack / np.sqrt(len(values)) < 0.945:
        return "does not hold"
    return "holds" if least >= 0.92 or repetitions >= _MANY else "cannot tell"


def _packages(rows: Sequence[Row]) -> Claim:
    there = {row["method"] for row in rows}
    missing = [name for name in PACKAGES if name not in there]
    return Claim(
        "packages of others",
        _WHERE,
        "Packages of others run on the same pools.",
        "in this run: " + (", ".join(name for name in PACKAGES if name in there) or "none"),
        "holds partly" if missing else "holds",
        f"not installed: {', '.join(missing)}" if missing else "",
    )


def _text(row: Row) -> str:
    value, stderr = factor(row)
    return f"{value:.2f} ± {stderr:.2f}"


def _ratio_claims(rows: Sequence[Row]) -> list[Claim]:
    """The claims on precision, recall and F1."""
    ours = [row for row in rows if row["method"] == OURS]
    spam = [row for row in ours if row["task"].startswith("spam ") and row["budget"] == 500]
    z = [abs(row["bias_z"]) for row in ours if row["bias_z"] is not None]
    return [
        Claim(
            "ratios, spam",
            _WHERE,
            "For the F1 and the recall of spam the label factor of adaptive campaigns is at least "
            "2 at 500 labels.",
            ", ".join(f"{row['task']} {_text(row)}" for row in spam),
            _rule(map(_allowed, spam), lambda values: min(values) >= 2),
        ),
        _ratios_against(rows),
        _ratio_coverage([row for row in ours if row["budget"] >= 100]),
        Claim(
            "ratios, unbiased",
            _WHERE,
            "The mean error of adaptive campaigns in the linearised values of F1 and recall is "
            "within four standard errors of 0 in every cell.",
            f"largest |z| {max(z, default=0):.1f} of {len(z)} cells",
            _rule(z, lambda values: max(values) < 4),
        ),
    ]


def _ratios_against(rows: Sequence[Row]) -> Claim:
    """Adaptive campaigns against all others that have an interval, ratio by ratio."""
    at = [row for row in rows if row["budget"] == 500]
    ours = {row["task"]: row for row in at if row["method"] == OURS}
    others = [row for row in at if row["method"] not in (OURS, "uniform") and row["task"] in ours]
    behind = [row for row in others if _allowed(ours[row["task"]]) < 0.97 * factor(row)[0]]
    listed = ", ".join(
        f"{row['task']} ({_text(ours[row['task']])}, {row['method']} {_text(row)}, whose interval "
        f"holds in {row['coverage']:.0%})"
        for row in behind
    )
    return Claim(
        "ratios, against others",
        _WHERE,
        "At 500 labels adaptive campaigns are ahead of each other method for F1 and recall, or "
        "within 3% of it.",
        f"{len(others) - len(behind)} of {len(others)} comparisons"
        + (f"; behind on {listed}" if behind else ""),
        verdict([row not in behind for row in others]) if others else "cannot tell",
    )


def _ratio_coverage(large: Sequence[Row]) -> Claim:
    low = sorted(large, key=lambda row: float(row["coverage"]))[:3]
    n = min((row["repetitions"] for row in large), default=0)
    ruling: Ruling = "cannot tell"
    if large and low[0]["coverage"] >= _COVERS:
        ruling = "holds"
    elif large:
        slack = _ALLOWANCE * np.sqrt(_COVERS * (1 - _COVERS) / n)
        ruling = "cannot tell" if low[0]["coverage"] + slack >= _COVERS else "does not hold"
    return Claim(
        "ratios, coverage of all planned looks",
        _WHERE,
        "From 100 labels on, the intervals of all five planned looks for an F1 or a recall hold at "
        "once in at least 92% of the repetitions of every cell.",
        "lowest "
        + ", ".join(f"{row['task']} at {row['budget']}: {row['coverage']:.3f}" for row in low),
        ruling,
        f"{n} repetitions are too few to tell" if ruling == "cannot tell" else "",
    )
