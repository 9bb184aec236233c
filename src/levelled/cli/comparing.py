"""The same draws, trained on without weights, with those of R_PURE and with those of R_LURE."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from levelled.campaigns.exporting import write_table
from levelled.cli.known import Known, teach
from levelled.studies import plots
from levelled.studies.tables import with_error

if TYPE_CHECKING:
    from levelled.learning import ActiveLearner
    from levelled.studies.study import Figure

__all__ = ["WAYS", "cells", "checkpoints", "compared", "figure", "save", "summary"]

WAYS = {"naive": "none", "pure": "pure", "lure": "lure"}
"""How a model is trained, and the name of the weights."""
_TITLES = {"naive": "naive", "pure": "PURE", "lure": "LURE"}

Risks = tuple[int, dict[str, float]]
"""A number of labels, and the risk of the model trained on them each way."""
Row = dict[str, Any]


def checkpoints(counts: Sequence[int], most: int = 10) -> list[int]:
    """Some of the numbers of labels, evenly spaced, at which models are trained; the last is one.

    >>> checkpoints([10, 20, 30, 40, 50, 55], most=3)
    [20, 40, 55]
    """
    apart = -(-len(counts) // most)
    return [*counts][::-1][::apart][::-1]


def compared(
    learner_of: Callable[[int], ActiveLearner], known: Known, counts: Sequence[int], n: int
) -> Iterator[Risks | None]:
    """Play n trajectories through; a step is a number of labels, with risks at checkpoints.

    Which items are drawn does not depend on the weights, so all ways of training share them.
    While all labels are of one class, nothing is trained and there are no risks.
    """
    at = {*checkpoints(counts)}
    for number in range(n):
        learner = learner_of(number)
        for n_labels in counts:
            teach(learner, known, n_labels)
            yield (n_labels, _risks(learner, known)) if n_labels in at else None


def summary(found: Iterable[Risks | None], n: int) -> list[Row]:
    """A row a checkpoint: mean risks over n trajectories, and their standard errors.

    `difference` is naive less LURE, trajectory by trajectory. Where a trajectory had labels of
    one class alone there is no mean.
    """
    at: dict[int, list[dict[str, float]]] = {}
    for each in found:
        if each is not None:
            at.setdefault(each[0], []).append(each[1])
    rows = []
    for n_labels, risks in at.items():
        complete = [one | {"difference": one["naive"] - one["lure"]} for one in risks if one]
        row: Row = {"labels": n_labels}
        for name in (*WAYS, "difference"):
            values = np.array([one[name] for one in complete]) if len(complete) == n else None
            row[name] = None if values is None else float(values.mean())
            spread = None if values is None or n == 1 else values.std(ddof=1) / np.sqrt(n)
            row[f"{name}_stderr"] = None if spread is None else float(spread)
        rows.append(row)
    return rows


def cells(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """The titles and the rows of a table for people; of errors, that which matters alone."""
    return ["labels", *_TITLES.values(), "naive less LURE"], [
        [
            str(row["labels"]),
            *(_told(row[name], None) for name in _TITLES),
            _told(row["difference"], row["difference_stderr"]),
        ]
        for row in rows
    ]


def figure(rows: Sequence[Row], *, risk: str, about: str) -> Figure:
    """Risks against the number of labels, and what weights gain; bands are one standard error."""
    drawn, (above, below) = plots.canvas(rows=2, height=4.2)
    for name, title in _TITLES.items():
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


def _risks(learner: ActiveLearner, known: Known) -> dict[str, float]:
    told = known.label(learner.draws.index)
    if known.problem.classes is not None and (told == told[0]).all():
        return {}
    return {
        way: known.risk(learner.set_params(weights=kind).fit().model_, learner.draws.index)
        for way, kind in WAYS.items()
    }


def _told(value: float | None, stderr: float | None) -> str:
    if value is None:
        return "–"  # noqa: RUF001
    return f"{value:.4g}" if stderr is None else with_error(value, stderr)
