"""What `levelled learn --compare` found, as a table and as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from levelled.campaigns.exporting import write_table
from levelled.learning.playing import TITLES, Row
from levelled.reports import plots
from levelled.reports.numbers import with_error

__all__ = ["cells", "figure", "save"]


def cells(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """The titles and the rows of a table for people; of errors, that which matters alone."""
    return ["labels", *TITLES.values(), "naive less LURE"], [
        [
            str(row["labels"]),
            *(_told(row[name], None) for name in TITLES),
            _told(row["difference"], row["difference_stderr"]),
        ]
        for row in rows
    ]


def figure(rows: Sequence[Row], *, risk: str, about: str) -> Any:  # noqa: ANN401
    """Risks against the number of labels, and what weights gain; bands are one standard error."""
    drawn, (above, below) = plots.canvas(rows=2, height=4.2)
    for name, title in TITLES.items():
        _curve(above, rows, name, plots.COLOURS[title], title)
    _curve(below, rows, "difference", plots.BLACK, "naive less LURE")
    plots.reference(below, 0.0, "no difference")
    above.set_ylabel(risk)
    below.set_ylabel("gain by the weights of LURE")
    below.set_xlabel("labels")
    plots.legend(above, "upper right")
    plots.legend(below, "best")
    plots.footnote(drawn, about)
    return drawn


def save(rows: Sequence[Row], out: Path, *, risk: str, about: str) -> list[Path]:
    """Write the figure and the numbers to a folder, and say where they are."""
    paths = [out / "compare.png", out / "compare.csv"]
    figure(rows, risk=risk, about=about).savefig(paths[0], dpi=200)
    write_table(pa.Table.from_pylist([*rows]), paths[1])
    return paths


def _curve(axes: plots.Axes, rows: Sequence[Row], name: str, colour: str, title: str) -> None:
    known = [row for row in rows if row[name] is not None]
    labels = np.array([row["labels"] for row in known])
    mean = np.array([row[name] for row in known])
    off = np.array([row[f"{name}_stderr"] or 0.0 for row in known])
    plots.band(axes, labels, mean, mean - off, mean + off, colour, title)


def _told(value: float | None, stderr: float | None) -> str:
    if value is None:
        return "–"  # noqa: RUF001
    return with_error(value, stderr) if stderr else f"{value:.4g}"
