"""Write the results of the learning studies into the pages on studies, advice and learning.

    python -m levelled_studies.learning.page docs

The results are written between two comments of a page, and a test compares them with the folder
of results. The page on advice counts the cells of all studies that compare ways of training, and
shows them in one plot.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow.csv as pacsv

from levelled_studies.learning.floor_report import read_cells
from levelled_studies.learning.reading import CaseRuns, Effect, read
from levelled_studies.learning.settings import Case, FloorSettings
from levelled_studies.learning.studies import STUDIES
from levelled_studies.regret import LARGE, WAYS, Cell, spread
from levelled_studies.regret_plots import NAMES, plot_kinds
from levelled_studies.study import StudyError
from levelled_studies.tables import alarm_rate
from levelled_studies.verdicts.report import outcomes

__all__ = ["replace_section", "write"]

Cases = Mapping[Case, CaseRuns]
Kinds = Mapping[str, Sequence[Cell]]


def write(docs: Path) -> None:
    """Write the results in `docs` into its pages, and draw shares.png."""
    by_study = {name: _read_runs(docs / "results" / name) for name in STUDIES}
    runs = {case: own for each in by_study.values() for case, own in each.items()}
    runs = dict(sorted(runs.items(), key=lambda item: item[1].change("share").value[-1]))
    kinds = _kinds(docs / "results", by_study)
    for name, section, lines in (
        ("paper/studies.md", "learning", _table(runs)),
        ("advice.md", "shares", _summary(kinds)),
        ("learn.md", "floor", _floors(docs / "results" / "learning-floor")),
    ):
        page = docs / name
        page.write_text(replace_section(page.read_text(), section, lines))
    plot_kinds(kinds, _small_print(kinds)).savefig(docs / "shares.png", dpi=150)


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


def _read_runs(folder: Path) -> Cases:
    """All cases of a study."""
    table = pacsv.read_csv(folder / "table.csv")
    settings = json.loads((folder / "settings.json").read_text())
    return {case: read(table, case) for case in (Case(*c.split()) for c in settings["cases"])}


def _kinds(results: Path, by_study: Mapping[str, Cases]) -> Kinds:
    """The cells of all studies by kind of model, those of simulated problems last."""
    real = {
        name.removeprefix("learning-"): [c for case, own in runs.items() for c in own.cells(case)]
        for name, runs in by_study.items()
    }
    simulated = outcomes(pacsv.read_csv(results / "verdicts" / "table.csv"))
    return real | {"simulated": [own.cell for own in simulated.values()]}


def _table(runs: Cases) -> Iterator[str]:
    titles = "with R_LURE | share | by the share | log loss | error"
    yield f"| case | overfitting | active learning | {titles} |"
    yield "| --- " * 8 + "|"
    for case, own in runs.items():
        biases = f"{own.share_of(own.overfitting):z.0%} | {own.share_of(own.bias):z.0%}"
        changes = [_marked(own.change(way), len(runs)) for way in ("LURE", "share")]
        others = " | ".join(
            own.change("share", measure=each).text() if each in own.tested else "-"
            for each in ("log loss", "error")
        )
        amount = f"{np.mean(own.share[:, -1]):.0%}"
        yield f"| {case.title} | {biases} | {changes[0]} | {amount} | {changes[1]} | {others} |"
    yield ""
    yield from _counts(runs)


def _marked(change: Effect, comparisons: int) -> str:
    mark = "**" if any(_count([change], sign, comparisons) for sign in (-1, 1)) else ""
    return f"{mark}{change.text()}{mark}"


def _counts(runs: Cases) -> Iterator[str]:
    n = len(runs)
    lure, share = ([own.change(way) for own in runs.values()] for way in ("LURE", "share"))
    yield (
        f"- Bold changes differ from 0 by Student's t over trajectories, with {alarm_rate(n)}: "
        f"R_LURE lowers the risk in {_count(lure, -1, n)} of {n} cases and raises it in "
        f"{_count(lure, 1, n)}; the share lowers it in {_count(share, -1, n)} and raises it in "
        f"{_count(share, 1, n)}."
    )
    apart = [own.change("LURE", "PURE") for own in runs.values()]
    largest = max(abs(each.value[-1]) for each in apart)
    yield (
        f"- Beside R_PURE, by the same rule, R_LURE is better in {_count(apart, -1, n)} of {n} "
        f"cases and worse in {_count(apart, 1, n)}; the means differ by at most {largest:.1%}."
    )


def _count(effects: Sequence[Effect], sign: int, comparisons: int) -> int:
    """The number of effects after the last label that have that sign, beyond chance."""
    return sum(each.at(-1, comparisons=comparisons).shows(sign) for each in effects)


def _summary(kinds: Kinds) -> Iterator[str]:
    cells = [cell for each in kinds.values() for cell in each]
    n, n_real = len(cells), len(cells) - len(kinds["simulated"])
    yield (
        f"| {n} cells, {n_real} on real data | mean regret | worst | above {LARGE:.0%} | worse "
        f"than plain | better than plain |"
    )
    yield "| --- " * 6 + "|"
    for way in sorted(WAYS, key=lambda way: spread(cells, way).mean):
        own = spread(cells, way)
        name = f"**{way}**" if way == "share" else NAMES.get(way, way)
        yield (
            f"| {name} | {own.mean:+.1%} | {own.worst:.1%} | {own.above} | {len(own.worse)} | "
            f"{own.n_better} |"
        )


def _floors(folder: Path) -> Iterator[str]:
    """What each floor costs training and gains in evaluating, on average over the cells."""
    told = json.loads((folder / "settings.json").read_text())
    floors, checkpoints = tuple(told["floors"]), tuple(told["checkpoints"])
    settings = FloorSettings(cases=tuple(told["cases"]), floors=floors, checkpoints=checkpoints)
    cells = read_cells(pacsv.read_csv(folder / "table.csv"), settings)
    titles = "test risk, plain | by the share | variance of evaluating"
    yield f"| beside a floor of {floors[0]} | {titles} |"
    yield "| --- " * 4 + "|"
    for floor in floors[1:]:
        changes = (
            [cell.training(floor, "naive").mean for cell in cells],
            [cell.training(floor, "share").mean for cell in cells],
            [cell.evaluation(floor).mean for cell in cells],
        )
        risks = " | ".join(f"{np.mean(each):+.1%}" for each in changes[:2])
        yield f"| {floor} | {risks} | {np.mean(changes[2]):+.0%} |"


def _small_print(kinds: Kinds) -> str:
    n = min(len(cell.risks["naive"]) for cells in kinds.values() for cell in cells)
    return (
        f"a dot: one model, problem and number of labels, {n} trajectories or more; grey: less "
        f"than {LARGE:.0%}"
    )


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
