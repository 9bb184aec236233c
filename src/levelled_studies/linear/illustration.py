"""Figure 1: one trajectory, and the lines that each objective fits to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled._check import FloatArray, between, whole
from levelled.estimators import lure
from levelled.reports.numbers import with_error
from levelled.reports.plots import BLACK, COLOURS, DASHES, canvas, footnote, legend
from levelled_studies.linear import data, experiment
from levelled_studies.linear.fits import Line
from levelled_studies.linear.settings import BUDGETS, LinearSettings, presets
from levelled_studies.study import Claim, Plot, Row, Study
from levelled_studies.tables import compact

__all__ = ["STUDIES"]

ENDS = np.array([-1.25, 1.55])


@dataclass(frozen=True, slots=True)
class IllustrationSettings(LinearSettings):
    """The number of points drawn. The first trajectory is shown, all of them are counted."""

    labels: int = 20

    def __post_init__(self) -> None:
        between("labels", whole("labels", self.labels, least=1), BUDGETS[0], BUDGETS[-1])
        whole("trajectories", self.trajectories, least=10)


def run(settings: IllustrationSettings, task: str, rng: Generator) -> pa.Table:
    """Points and lines of the first trajectory; how far lines are from the ideal in all.

    Points drawn have their weight under each objective. Lines are given by two points; their
    `distance` is the root mean squared distance from the ideal line over the population, and
    `nearer` the share of all trajectories in which it is shorter than the naive line's.
    """
    result = experiment.run(experiment.geometric(), settings, rng=rng)
    ideal = data.best_line(result.pool)
    rows = _points("pool", result.pool.x, result.pool.y)
    rows += _drawn_rows(result, settings.labels)
    rows += _points("ideal", ENDS, ideal.intercept + ideal.slope * ENDS)
    rows += _lines(result, settings.labels, ideal)
    table: dict[str, Any] = {"series": [row["series"] for row in rows]}
    for column in ("x", "y", *COLOURS, "distance", "nearer"):
        values = np.array([row.get(column, np.nan) for row in rows])
        table[column] = pa.array(compact(values), from_pandas=True)
    return pa.table(table)


def _drawn_rows(result: experiment.Experiment, labels: int) -> list[Row]:
    index, q = result.draws.index[0, :labels], result.draws.probability[0, :labels]
    weights = {
        "naive": np.ones(labels),
        "PURE": lure.plain_weights(q, len(result.pool)),
        "LURE": lure.weights(q, len(result.pool)),
    }
    rows = _points("drawn", result.pool.x[index], result.pool.y[index])
    return [row | {name: weights[name][m] for name in weights} for m, row in enumerate(rows)]


def _lines(result: experiment.Experiment, labels: int, ideal: Line) -> list[Row]:
    at = int(np.flatnonzero(labels == BUDGETS)[0])
    lines = {
        name: Line(fit.line.intercept[:, at], fit.line.slope[:, at])
        for name, fit in experiment.fit_lines(result).items()
    }
    apart = {name: _distance(line, ideal) for name, line in lines.items()}
    return [
        row | {"distance": apart[name][0], "nearer": np.mean(apart[name] < apart["naive"])}
        for name, line in lines.items()
        for row in _points(name, ENDS, line.intercept[0] + line.slope[0] * ENDS)
    ]


def _points(series: str, x: FloatArray, y: FloatArray) -> list[Row]:
    return [{"series": series, "x": a, "y": b} for a, b in zip(x, y, strict=True)]


def _distance(line: Line, ideal: Line) -> FloatArray:
    x = data.unseen().x
    a, b = line.intercept - ideal.intercept, line.slope - ideal.slope
    return np.sqrt(a * a + 2 * a * b * x.mean() + b * b * np.mean(x * x))


def figures(table: pa.Table, settings: IllustrationSettings) -> Mapping[str, Plot]:
    """The pool, what was drawn, and four lines."""
    rows = table.to_pylist()
    figure, axes = canvas()
    axes.plot(*_xy(rows, "pool"), ".", color=BLACK, markersize=2, label="pool")
    axes.plot(*_xy(rows, "drawn"), "x", color="#CC3311", markersize=5, label="drawn")
    axes.plot(*_xy(rows, "ideal"), "--", color=BLACK, linewidth=0.9, label="ideal: all labels")
    for name, colour in COLOURS.items():
        axes.plot(*_xy(rows, name), linestyle=DASHES[name], color=colour, label=name)
    axes.set(xlabel="$x$", ylabel="$y$")
    legend(axes, "upper left")
    footnote(
        figure,
        f"N = {sum(data.POOL_COUNTS)}, M = {settings.labels}, the first of "
        f"{settings.trajectories:,} trajectories, seed {settings.seed}",
    )
    return {"figure-1": figure}


def _xy(rows: list[Row], series: str) -> tuple[list[float], list[float]]:
    own = [row for row in rows if row["series"] == series]
    return [row["x"] for row in own], [row["y"] for row in own]


def claims(table: pa.Table, settings: IllustrationSettings) -> list[Claim]:
    """The claim that weights bring the line nearer to the ideal."""
    lines = {row["series"]: row for row in table.to_pylist() if row["distance"] is not None}
    near = lines["LURE"]["nearer"]
    error = np.sqrt(max(near * (1 - near), 1 / settings.trajectories) / settings.trajectories)
    text = ", ".join(f"{lines[name]['distance']:.3f} {name}" for name in COLOURS)
    return [
        Claim(
            "nearer-to-ideal",
            "section 6, Figure 1",
            "Corrective weights more closely approximate the ideal line.",
            f"distance from it with M = {settings.labels}: {text}; LURE is nearer than naive in "
            f"{with_error(near, error)} of {settings.trajectories:,} trajectories",
            "holds" if near > 0.5 + 4 * error else "does not hold",
            "Root mean squared distance over the population; the trajectory shown is the first. It "
            "holds if the share is above one half by 4 standard errors.",
        )
    ]


STUDIES = {
    "linear-illustration": Study(
        name="linear-illustration",
        title="Figure 1: lines fitted to one trajectory",
        presets=presets(IllustrationSettings(), IllustrationSettings(trajectories=200)),
        tasks=lambda settings: ("geometric",),
        run=run,
        figures=figures,
        claims=claims,
    )
}
