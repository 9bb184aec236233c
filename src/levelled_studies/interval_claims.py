"""Claims of the studies of intervals: each bar, with the worst cell that was found.

Coverage is compared with its bar after an allowance of three standard errors, because the worst
of many cells lies below its expectation. Cells in which most intervals come with a warning are
left out where the claim is about intervals without one.
"""

from collections.abc import Iterator, Sequence
from math import sqrt

import pyarrow as pa

from levelled_studies.study import Claim, Row, Ruling, StudySettings

__all__ = ["average_claims", "claim_at_least", "make_claim", "ratio_claims"]


def average_claims(table: pa.Table, settings: StudySettings) -> list[Claim]:
    """The claims about averages."""
    rows = table.to_pylist()
    claims = [*_default_claims(rows), *_watched_claims(rows), *_width_claims(rows)]
    return [claim for claim in (*claims, *_negative_controls(rows)) if claim is not None]


def ratio_claims(table: pa.Table, settings: StudySettings) -> list[Claim]:
    """The claims about ratios, slices and macro averages."""
    rows = table.to_pylist()
    claims = [
        claim_at_least(
            [row for row in rows if row["method"] in methods],
            name,
            f"The interval of {what} contains the truth with frequency 0.93 or more in every cell "
            f"without a warning.",
            0.93,
        )
        for name, what, methods in (
            ("ratios", "precision, recall or F1", ("precision", "recall", "F1")),
            ("macro", "the macro F1 of five classes", ("macro F1",)),
            ("slices", "the error rate of a slice of 1% of the pool", ("error in the slice",)),
        )
    ]
    betting = claim_at_least(
        [row for row in rows if row["method"].endswith("watched")],
        "betting",
        "The betting intervals of precision, recall and F1 contain the truth at every label with "
        "frequency 0.95 or more.",
        0.95,
    )
    return [claim for claim in (*claims, betting) if claim is not None]


def _default_claims(rows: list[Row]) -> Iterator[Claim | None]:
    floors = ("uniform", "floor 0.1", "floor 0.5")
    defaults = [row for row in rows if row["method"] == "default"]
    read = [row for row in defaults if row["labels"] >= 100 and row["proposal"] in floors]
    for name, kind, bar in (
        ("errors", "0/1 losses", 0.93),
        ("bounded", "losses with a bound", 0.93),
        ("differences", "differences of 0/1 losses", 0.93),
        ("unbounded", "losses without a bound", 0.90),
    ):
        yield claim_at_least(
            [row for row in read if row["kind"] == kind],
            name,
            f"The default interval of {kind} contains the truth with frequency {bar:.2f} or more "
            f"in every cell without a warning, from 100 labels on, for uniform draws and floors of "
            f"0.1 and 0.5.",
            bar,
        )
    yield claim_at_least(
        [row for row in defaults if row["kind"] == "0/1 losses"],
        "errors-everywhere",
        "The default interval of 0/1 losses contains the truth with frequency 0.92 or more for "
        "every proposal and number of labels, with or without a warning.",
        0.92,
        column="coverage",
    )
    yield claim_at_least(
        [
            row
            for row in rows
            if row["kind"] == "losses without a bound"
            and row["method"].startswith("default")
            and row["proposal"] in ("floor 0.5", "adaptive")
            and row["labels"] >= 100
        ],
        "log-t",
        "The default interval of losses without a bound, with or without a control, contains the "
        "truth with frequency 0.925 or more from 100 labels on, with a floor of 0.5 and with "
        "adaptive draws.",
        0.925,
        column="coverage",
    )


def _watched_claims(rows: list[Row]) -> Iterator[Claim | None]:
    yield claim_at_least(
        [row for row in rows if row["method"] == "betting, watched"],
        "betting",
        "The betting interval contains the truth at every label with frequency 0.95 or more, for "
        "every proposal.",
        0.95,
    )
    yield claim_at_least(
        [row for row in rows if row["method"] == "anytime, watched"],
        "anytime",
        "The anytime interval contains the truth at every label from 25 on with frequency 0.94 or "
        "more, with a floor of 0.5.",
        0.94,
    )


def _width_claims(rows: list[Row]) -> Iterator[Claim | None]:
    for method, proposal, bar in (
        ("default", "floor 0.5", 0.65),
        ("default", "uniform", 0.85),
        ("betting, watched", "floor 0.5", 1.05),
    ):
        cell = _cell(rows, "errors 5%", 10_000, 500, proposal, method)
        if cell is not None:
            yield make_claim(
                f"width-{method.partition(',')[0]}-{proposal}".replace(" ", "-"),
                f"The median width of the {method} interval is at most {bar} times an error rate "
                f"of 5%, with 500 labels of 10,000 ({proposal}).",
                f"{cell['width']:.3f}",
                "holds" if cell["width"] <= bar else "does not hold",
            )


def _negative_controls(rows: list[Row]) -> Iterator[Claim | None]:
    for method, pool, labels, bar in (
        ("t, M-1 df, watched", "errors 5%", 500, 0.65),
        ("t, M-1 df", "errors 0.5%", 25, 0.30),
    ):
        cell = _cell(rows, pool, 10_000, labels, "uniform", method)
        if cell is not None:
            yield make_claim(
                f"control-{pool.partition(' ')[2]}",
                f"Negative control: a {method} interval contains the truth with frequency below "
                f"{bar} ({pool}, uniform, {labels} labels).",
                f"{cell['coverage']:.3f}",
                "holds" if cell["coverage"] < bar else "does not hold",
            )


def _cell(
    rows: list[Row], pool: str, size: int, labels: int, proposal: str, method: str
) -> Row | None:
    wanted = {"pool": pool, "pool_size": size, "labels": labels}
    wanted |= {"proposal": proposal, "method": method}
    return next((row for row in rows if wanted.items() <= row.items()), None)


def claim_at_least(
    rows: Sequence[Row],
    name: str,
    says: str,
    bar: float,
    *,
    column: str = "silent_coverage",
) -> Claim | None:
    """The claim that a coverage reaches the bar in all rows that have one; None without any."""
    cells = [row for row in rows if row[column] is not None]
    if not cells:
        return None
    worst = min(cells, key=lambda row: row[column])
    n = worst["repetitions"] * (1 - worst["warned"] if column == "silent_coverage" else 1)
    allowance = 3 * sqrt(bar * (1 - bar) / n)
    below = sum(row[column] < bar for row in cells)
    because = (
        f"The lowest coverage is that of {_where(worst)}. Of {len(cells)} cells {below} are below "
        f"{bar}"
    )
    if left_out := len(rows) - len(cells):
        because += f"; {left_out} more have a warning and are not counted"
    return make_claim(
        name,
        says,
        f"{worst[column]:.3f} in the worst cell; read with three standard errors of allowance, "
        f"{allowance:.3f}",
        "holds" if worst[column] >= bar - allowance else "does not hold",
        because + ".",
    )


def _where(row: Row) -> str:
    method = "" if row["method"].startswith("default") else f"{row['method']}, "
    return (
        f"{row['pool']}: {method}{row['labels']} labels of {row['pool_size']:,}, {row['proposal']} "
        f"(effective sample size of the design: {row['design_size']:.0f})"
    )


def make_claim(name: str, says: str, measured: str, verdict: Ruling, because: str = "") -> Claim:
    """A claim about our own intervals."""
    return Claim(name, "Levelled, intervals", says, measured, verdict, because)
