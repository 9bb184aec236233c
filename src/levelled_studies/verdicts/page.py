"""Write what was measured of the verdicts into the page on advice.

    python -m levelled_studies.verdicts.page docs/advice.md

The table is written between two comments of the page from the folder of results, so a
test can tell when the two disagree.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from levelled_studies.learning.page import replace_section
from levelled_studies.verdicts.report import outcomes

__all__ = ["lines", "write"]

_ADVICE = ("correct", "correct partly", "do not correct")


def write(page: Path) -> None:
    """Renew the table of `page` from `results/verdicts` beside it."""
    table = pacsv.read_csv(page.parent / "results" / "verdicts" / "table.csv")
    page.write_text(replace_section(page.read_text(), "verdicts", lines(table)))


def lines(table: pa.Table) -> Iterator[str]:
    """The table of the page, a row a setting."""
    yield (
        f"| model, problem, labels | with R_LURE | by the share | mean share | "
        f"{' | '.join(_ADVICE)} |"
    )
    yield "| --- " * (len(_ADVICE) + 4) + "|"
    for name, own in outcomes(table).items():
        changes = (own.cell.beside(way, "naive") for way in ("LURE", "share"))
        lure, share = (f"{one.mean:+.1%} ± {one.stderr:.1%}" for one in changes)
        advice = " | ".join(f"{own.given(each) / len(own.advice):.0%}" for each in _ADVICE)
        yield f"| {name} | {lure} | {share} | {np.mean(own.shares):.0%} | {advice} |"


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/advice.md"))
