"""The ledger of the paper's claims: theorems by exact tests, experiments by studies.

    python -m levelled_studies.ledger        # writes docs/paper/claims.md from docs/results

Theorems name the tests that check them; what experiments say is read from the claims that
finished studies left in their folders.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from levelled_studies import NAMES, find
from levelled_studies.runner import load
from levelled_studies.study import Claim, StudyError
from levelled_studies.theorems import THEOREMS, WORDING, Theorem

__all__ = ["page", "write"]

_INTRODUCTION = """\
# The paper's claims, checked

This page lists the claims of *On Statistical Bias in Active Learning: How and When to Fix It*
(Farquhar, Gal and Rainforth, ICLR 2021, arXiv:2101.11665v2), and our own, each with the result of
its check. R_PURE and R_LURE are the paper's two unbiased estimators of a risk from actively drawn
labels; the naive estimator is the unweighted mean.

Theorems are checked exactly: a small pool has few paths, so an expectation is summed over all of
them. Only consistency (Theorems 2 and 5), a limit, is checked by simulation at growing sizes.
Claims from experiments carry the measured value with its standard error, and a verdict:
**holds**; **holds partly**, shown at some of the sizes or settings and not at others;
**does not hold**; or **cannot tell**, where the trajectories are too few to tell the result from
chance. Where studies on real data and on images compare trajectories, a difference counts if
Student's t shows it, with at most a 5% chance of any false alarm among the comparisons of one
claim; other claims state their rule. The figures are on the pages of [studies](studies.md) and of
the [image experiments](images.md).

This page is generated: `python -m levelled_studies.ledger` writes it from the results in
`docs/results`."""

_WORDING = """\
## Notes on the paper's wording

Misprints, and places where the text leaves something open. None of them changes a result of the
paper."""


def page(results: Path) -> str:
    """The ledger as Markdown, from the folder that holds one folder a study."""
    sections = [_INTRODUCTION, _theorems(THEOREMS)]
    sections += [_study(name, folder) for name, folder in _find_results(results)]
    sections.append(_WORDING + "\n\n" + _table(("where", "what"), WORDING))
    return "\n\n".join(sections) + "\n"


def write(docs: Path) -> Path:
    """Write docs/paper/claims.md from docs/results."""
    results = docs / "results"
    if not results.is_dir():
        raise StudyError(
            f"There is no folder {results}. Run this where docs is, or give the path of docs."
        )
    target = docs / "paper" / "claims.md"
    target.parent.mkdir(exist_ok=True)
    target.write_text(page(results))
    return target


def _find_results(results: Path) -> list[tuple[str, Path]]:
    """The folders in which studies have left claims, in the order in which they are listed."""
    return [
        (name, claims.parent)
        for name in NAMES
        for claims in sorted((results / name).rglob("claims.json"))
    ]


def _theorems(theorems: Sequence[Theorem]) -> str:
    rows = [
        (
            theorem.name,
            theorem.where,
            theorem.says,
            theorem.verdict if theorem.verdict == "holds" else f"**{theorem.verdict}**",
            "<br>".join(map(_link, theorem.tests)),
        )
        for theorem in theorems
    ]
    header = ("claim", "where", "what it says", "verdict", "checked by")
    return "## Theorems, lemmas and remarks\n\n" + _table(header, rows)


def _link(test: str) -> str:
    path, _, name = test.partition("::")
    return f"[{name}](../../{path})"


def _study(name: str, folder: Path) -> str:
    (study,) = (study for study in find(name) if study.name == name)
    settings = json.loads((folder / "settings.json").read_text())
    sizes = ", ".join(
        f"{key.replace('_', ' ')} {value}"
        for key, value in settings.items()
        if key != "study" and isinstance(value, int | float)
    )
    header = ("where", "what it says", "measured", "verdict", "why")
    variant = "" if folder.name == name else f" ({folder.name})"
    title = f"## {study.title}{variant}\n\n`{name}`: {sizes}.\n\n"
    return title + _table(header, _rows(load(folder)))


def _rows(claims: Iterable[Claim]) -> Iterator[tuple[str, ...]]:
    for claim in claims:
        yield claim.where, claim.says, claim.measured, f"**{claim.verdict}**", claim.because


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
