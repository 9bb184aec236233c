"""Write the measured error rates into the page on advice.

    python -m levelled_studies.verdicts.page docs/advice.md

The table is written between two comments of the page from the folder of results, so a
test can tell when the two disagree.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv

from levelled_studies.all_or_nothing import TOLERANCE
from levelled_studies.learning.page import replace_section
from levelled_studies.verdicts.report import Outcome, outcomes
from levelled_studies.verdicts.settings import SETTINGS
from levelled_studies.verdicts.trial import VERDICTS

__all__ = ["lines", "write"]


def write(page: Path) -> None:
    """Renew the table of `page` from `results/verdicts` beside it."""
    table = pacsv.read_csv(page.parent / "results" / "verdicts" / "table.csv")
    page.write_text(replace_section(page.read_text(), "verdicts", lines(table)))


def lines(table: pa.Table) -> Iterator[str]:
    """The table of the page, a row a setting."""
    yield "| model, problem, labels | true gain | " + " | ".join(VERDICTS) + " | right |"
    yield "| --- " * (len(VERDICTS) + 3) + "|"
    for name, own in outcomes(table).items():
        shares = " | ".join(f"{own.share(advice):.0%}" for advice in VERDICTS)
        mark = "" if SETTINGS[name].used_for_rule else " *"
        yield f"| {name}{mark} | {own.gain:+.1%} ± {own.stderr:.1%} | {shares} | {_right(own)} |"


def _right(own: Outcome) -> str:
    return f"{own.n_right(TOLERANCE) / own.n_decided:.0%}" if own.n_decided else "-"


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/advice.md"))
