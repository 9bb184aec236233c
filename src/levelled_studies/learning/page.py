"""Write the results of the learning studies into the pages on studies and on advice.

    python -m levelled_studies.learning.page docs

The results are written between two comments of a page, and a test compares them with the folder
of results.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow.csv as pacsv

from levelled_studies.all_or_nothing import TOLERANCE
from levelled_studies.learning.data import FRAUDS
from levelled_studies.learning.reading import CaseRuns, Effect, follow_advice, read
from levelled_studies.learning.settings import Case
from levelled_studies.learning.studies import STUDIES
from levelled_studies.study import StudyError
from levelled_studies.tables import alarm_rate

__all__ = ["replace_section", "write"]

Cases = Mapping[Case, CaseRuns]


def write(docs: Path) -> None:
    """Write the results in `docs` into paper/studies.md and advice.md."""
    runs = _read_runs(docs / "results")
    for name, lines in (("paper/studies.md", _table(runs)), ("advice.md", [_warning(runs)])):
        page = docs / name
        page.write_text(replace_section(page.read_text(), "learning", lines))


def replace_section(text: str, name: str, lines: Iterable[str]) -> str:
    """The page with other lines between its comments of that name.

    >>> replace_section("<!-- a: begin -->old<!-- a: end -->", "a", ["new"])
    '<!-- a: begin -->\\nnew\\n<!-- a: end -->'
    """
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, results, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not (results and closed):
        raise StudyError(f"The page has no place for {name}: put {begin} and {end} around it.")
    return f"{before}{begin}\n" + "\n".join(lines) + f"\n{end}{after}"


def _read_runs(results: Path) -> Cases:
    """All cases of all studies, by how much weights change the risk."""
    runs = {}
    for name in STUDIES:
        table = pacsv.read_csv(results / name / "table.csv")
        settings = json.loads((results / name / "settings.json").read_text())
        for case in (Case(*each.split()) for each in settings["cases"]):
            runs[case] = read(table, case)
    return dict(sorted(runs.items(), key=lambda item: item[1].change().value[-1]))


def _table(runs: Cases) -> Iterator[str]:
    yield "| case | overfitting | active learning | with R_LURE | log loss | error | verdicts |"
    yield "| --- " * 7 + "|"
    for case, own in runs.items():
        biases = f"{own.share(own.overfitting):z.0%} | {own.share(own.bias):z.0%}"
        change, advice = own.change(), follow_advice(own)
        mark = "**" if any(_count([change], sign, len(runs)) for sign in (-1, 1)) else ""
        others = " | ".join(
            own.change(measure=each).text() if each in own.tested else "-"
            for each in ("log loss", "error")
        )
        verdicts = f"{advice.agree} of {advice.decided}"
        yield f"| {case.title} | {biases} | {mark}{change.text()}{mark} | {others} | {verdicts} |"
    yield ""
    yield from _counts(runs)


def _counts(runs: Cases) -> Iterator[str]:
    n = len(runs)
    changes = [own.change() for own in runs.values()]
    yield (
        f"- Bold changes differ from 0 by Student's t over trajectories, with {alarm_rate(n)}: "
        f"R_LURE lowers the risk in {_count(changes, -1, n)} of {n} cases and raises it in "
        f"{_count(changes, 1, n)}."
    )
    apart = [own.change("LURE", "PURE") for own in runs.values()]
    largest = max(abs(each.value[-1]) for each in apart)
    yield (
        f"- Beside R_PURE, by the same rule, R_LURE is better in {_count(apart, -1, n)} of {n} "
        f"cases and worse in {_count(apart, 1, n)}; the means differ by at most {largest:.1%}."
    )
    costs = [follow_advice(own).cost.at(0, comparisons=2 * n) for own in runs.values()]
    small = [cost.below(TOLERANCE) for cost in costs]
    yield (
        f"- The test set confirms {_agreement(runs)} Following the verdicts costs at most "
        f"{TOLERANCE:.0%} of the risk, beside the better of always and never correcting, in "
        f"{small.count('holds')} of {n} cases, and more in {small.count('does not hold')}; for the "
        f"rest the trajectories are too few to tell ({alarm_rate(2 * n)})."
    )


def _count(effects: Sequence[Effect], sign: int, comparisons: int) -> int:
    """The number of effects after the last label that have that sign, beyond chance."""
    return sum(each.at(-1, comparisons=comparisons).shows(sign) for each in effects)


def _warning(runs: Cases) -> str:
    return (
        f"- On real data (the studies `learning-*`, [the studies](paper/studies.md)) the test set "
        f"confirms {_agreement(runs)} With rare classes ask for many more labels, and look at the "
        f"held-out risks themselves."
    )


def _agreement(runs: Cases) -> str:
    """The number of verdicts that the test set confirms, in all and on the rarest class."""
    agree, decided = _tally(runs.values())
    rare = _tally(own for case, own in runs.items() if case.data == "fraud")
    return (
        f"{agree} of the {decided} verdicts that decide ({agree / decided:.0%}), and {rare[0]} of "
        f"{rare[1]} on card payments with {FRAUDS:.0%} frauds."
    )


def _tally(runs: Iterable[CaseRuns]) -> tuple[int, int]:
    advice = [follow_advice(own) for own in runs]
    return sum(own.agree for own in advice), sum(own.decided for own in advice)


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
