"""Write the measured rows of docs/paper/related.md from docs/results.

    python -m levelled_studies.neighbours.page docs

They stand between two comments of the page, and a test compares them with the results. Methods
that `neighbours` leaves out come from `label-efficiency`.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow.csv as pacsv

from levelled_studies.learning.page import replace_section
from levelled_studies.neighbours.methods import BIASED, EXPECTED, ROOT
from levelled_studies.neighbours.study import Cells, read_cells
from levelled_studies.study import Row

__all__ = ["write"]

_ROWS = {
    "uniform": "random labels, plain mean",
    "naive": "chosen labels, plain mean (naive)",
    "R_LURE": "**R_LURE** (`static`)",
    "R_PURE": "R_PURE, with these draws [Des Raj's mean](#des-raj-1956-and-murthy-1957)",
    "Murthy": "[Murthy](#des-raj-1956-and-murthy-1957)",
    "with replacement": "[with replacement](#ganti-and-gray-upal-2012)",
    "with replacement, repeats free": "with replacement, repeats free",
    "Poisson": "each item by chance, as [IWAL](#iwal-2009)",
    "importance weights": "[importance weights](#sugiyama-2006), draws without replacement",
    "importance weights, normalised": "importance weights, normalised",
    "stratified": "[strata](#cochran-1977), Neyman's allocation",
    "regression": "[regression estimator](#cochran-1977), random labels",
    "Active Testing, own": "[Active Testing](#active-testing-2021), the model's own E[L]",
    EXPECTED: "Active Testing, E[L] under an ensemble",
    ROOT: "R_LURE, sqrt(E[L^2]) under that ensemble",
    "surrogate mean": "[surrogate mean](#active-surrogate-estimators-2022)",
}
"""The methods of the study in the order of the page."""
_OTHERS = {
    "oasis": "OASIS (Marchant and Rubinstein, 2017) *",
    "adaptive": "**Levelled, `adaptive`** *",
}
"""Methods of `label-efficiency`."""


def write(docs: Path) -> None:
    """Write the rows into paper/related.md."""
    page = docs / "paper" / "related.md"
    page.write_text(replace_section(page.read_text(), "neighbours", _lines(docs / "results")))


def _lines(results: Path) -> Iterator[str]:
    cells = read_cells(pacsv.read_csv(results / "neighbours" / "table.csv"))
    peers = _read_peers(results, list(cells))
    yield f"| method | {' | '.join(f'{task} {n}' for task, n in cells)} | bias |"
    yield "| --- " * (len(cells) + 2) + "|"
    for method, title in _ROWS.items():
        rows = [cell[method] for cell in cells.values()]
        yield f"| {title} | {' | '.join(map(_factor, rows))} | {_bias(rows)} |"
    for method, title in _OTHERS.items():
        factors = [f"{peers[cell, method]:.2f}" for cell in cells]
        yield f"| {title} | {' | '.join(factors)} | 0 |"
    yield ""
    yield from _notes(cells)


def _read_peers(
    results: Path, cells: Sequence[tuple[str, int]]
) -> dict[tuple[tuple[str, int], str], float]:
    """The label factors of other methods in the same pools, by cell and method."""
    table = pacsv.read_csv(results / "label-efficiency" / "table.csv").to_pylist()
    return {
        ((row["task"], row["budget"]), row["method"]): row["label_factor"]
        for row in table
        if (row["task"], row["budget"]) in cells and row["method"] in _OTHERS
    }


def _factor(row: Row) -> str:
    mark = "~" if row["by"] == "squared errors" else ""
    return f"{mark}{row['label_factor']:.2f}"


def _bias(rows: Sequence[Row]) -> str:
    """0 for a method that has none by construction, else its range in percent of the risk."""
    if rows[0]["method"] == "regression":  # its coefficient is estimated from the same labels
        return "of order 1/M"
    if rows[0]["method"] not in BIASED:
        return "0"
    biases = [row["bias"] for row in rows]
    return f"{min(biases):+.0%} to {max(biases):+.0%}"


def _notes(cells: Cells) -> Iterator[str]:
    pools = {task: cell["R_LURE"] for (task, _), cell in cells.items()}
    listed = "; ".join(
        f"{task}: {row['pool_size']:,} items, {row['risk']:.1%} wrong"
        for task, row in pools.items()
    )
    exact = [row for cell in cells.values() for row in cell.values() if row["by"] == "variance"]
    rough = [
        row for cell in cells.values() for row in cell.values() if row["by"] == "squared errors"
    ]
    yield (
        f"- {listed}. The number after a pool is that of the labels M. {exact[0]['repetitions']} "
        f"repetitions; rows with * are from [`label-efficiency`](studies.md)."
    )
    yield (
        f"- Label factors are from exact variances (standard errors up to "
        f"{_largest(exact):.1%}), those with ~ from squared errors, bias included (up to "
        f"{_largest(rough):.0%}). *Bias* is in percent of the risk, the least and the largest of "
        f"all columns; 0 where theory excludes it."
    )


def _largest(rows: Sequence[Row]) -> float:
    return float(max(row["label_factor_se"] / row["label_factor"] for row in rows))


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
