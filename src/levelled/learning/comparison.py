"""The comparison of ways of training that `Simulation.compare` made, as a table and a plot."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from levelled.campaigns.figures.exporting import write_table
from levelled.learning.simulation import Row
from levelled.reports import plots
from levelled.reports.numbers import with_error

_TITLES = {"naive": "plain", "pure": "PURE", "lure": "LURE", "share": "share"}
_STYLES = {
    "naive": (plots.COLOURS["naive"], plots.DASHES["naive"]),
    "pure": (plots.COLOURS["PURE"], plots.DASHES["PURE"]),
    "lure": (plots.COLOURS["LURE"], (0, (4, 1, 1, 1))),
    "share": (plots.BLACK, "-"),
}
_GAINS = {"difference": "plain less LURE", "share_difference": "plain less share"}


def comparison_table(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """The titles and the rows of a table for people, with the errors of the differences alone."""

    def cell(value: float | None, stderr: float | None = None) -> str:
        if value is None:
            return "–"  # noqa: RUF001
        return with_error(value, stderr) if stderr else f"{value:.4g}"

    return ["labels", *_TITLES.values(), *_GAINS.values()], [
        [
            str(row["labels"]),
            *(cell(row[name]) for name in _TITLES),
            *(cell(row[name], row[f"{name}_stderr"]) for name in _GAINS),
        ]
        for row in rows
    ]


def plot_comparison(rows: Sequence[Row], *, risk: str, about: str) -> Any:  # noqa: ANN401
    """Risks against the number of labels, and the gain by weights, +- one standard error."""
    plot, (above, below) = plots.canvas(rows=2, height=4.2)
    curves = [(above, name, title, *_STYLES[name]) for name, title in _TITLES.items()]
    curves += [
        (below, name, title, *_STYLES[way])
        for (name, title), way in zip(_GAINS.items(), ("lure", "share"), strict=True)
    ]
    for axes, name, title, colour, dashes in curves:
        measured = [row for row in rows if row[name] is not None]
        mean = np.array([row[name] for row in measured])
        error = np.array([row[f"{name}_stderr"] or 0.0 for row in measured])
        labels = np.array([row["labels"] for row in measured])
        plots.band(axes, labels, mean, mean - error, mean + error, colour, title, dashes=dashes)
    plots.reference(below, 0.0, "no difference")
    above.set_ylabel(risk)
    below.set_ylabel("gain over plain training")
    below.set_xlabel("labels")
    plots.legend(above, "best")
    plots.legend(below, "best")
    plots.footnote(plot, about)
    return plot


def save_comparison(rows: Sequence[Row], out: Path, *, risk: str, about: str) -> list[Path]:
    """Write the plot and the numbers to a folder, and return their paths."""
    paths = [out / "compare.png", out / "compare.csv"]
    plot_comparison(rows, risk=risk, about=about).savefig(paths[0], dpi=200)
    write_table(pa.Table.from_pylist([*rows]), paths[1])
    return paths
