"""The comparison of ways of training that `Simulation.compare` made, as a table and a plot."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from levelled.campaigns.exporting import write_table
from levelled.learning.simulation import Row
from levelled.reports import plots
from levelled.reports.numbers import with_error

__all__ = ["comparison_table", "plot_comparison", "save_comparison"]

_TITLES = {"naive": "plain", "pure": "PURE", "lure": "LURE"}


def comparison_table(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """The titles and the rows of a table for people, with the error of the difference alone."""

    def cell(value: float | None, stderr: float | None = None) -> str:
        if value is None:
            return "–"  # noqa: RUF001
        return with_error(value, stderr) if stderr else f"{value:.4g}"

    return ["labels", *_TITLES.values(), "plain less LURE"], [
        [
            str(row["labels"]),
            *(cell(row[name]) for name in _TITLES),
            cell(row["difference"], row["difference_stderr"]),
        ]
        for row in rows
    ]


def plot_comparison(rows: Sequence[Row], *, risk: str, about: str) -> Any:  # noqa: ANN401
    """Risks against the number of labels, and the gain by weights, +- one standard error."""
    plot, (above, below) = plots.canvas(rows=2, height=4.2)
    curves = [
        (above, name, plots.COLOURS[style], _TITLES[name], plots.DASHES[style])
        for name, style in zip(_TITLES, plots.COLOURS, strict=True)
    ]
    curves.append((below, "difference", plots.BLACK, "plain less LURE", "-"))
    for axes, name, colour, title, dashes in curves:
        measured = [row for row in rows if row[name] is not None]
        mean = np.array([row[name] for row in measured])
        error = np.array([row[f"{name}_stderr"] or 0.0 for row in measured])
        labels = np.array([row["labels"] for row in measured])
        plots.band(axes, labels, mean, mean - error, mean + error, colour, title, dashes=dashes)
    plots.reference(below, 0.0, "no difference")
    above.set_ylabel(risk)
    below.set_ylabel("gain by the weights of LURE")
    below.set_xlabel("labels")
    plots.legend(above, "upper right")
    plots.legend(below, "best")
    plots.footnote(plot, about)
    return plot


def save_comparison(rows: Sequence[Row], out: Path, *, risk: str, about: str) -> list[Path]:
    """Write the plot and the numbers to a folder, and return their paths."""
    paths = [out / "compare.png", out / "compare.csv"]
    plot_comparison(rows, risk=risk, about=about).savefig(paths[0], dpi=200)
    write_table(pa.Table.from_pylist([*rows]), paths[1])
    return paths
