"""Plots of the benchmark `label-efficiency`."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from levelled._optional import optional
from levelled.reports import plots
from levelled.simulation.running import scale_factors
from levelled_studies.efficiency.report import OURS, PEERS, factor
from levelled_studies.study import Plot, Row

__all__ = ["figures"]

_MISSES = 0.85
"""Widths of intervals that hold less often are not compared."""
_COLOURS = ("#009E73", "#0072B2", "#D55E00", "#CC79A7", "#E69F00")
"""Of adaptive campaigns and their peers."""


def figures(table: pa.Table, settings: Any) -> dict[str, Plot]:  # noqa: ANN401
    """Label and width factors of all methods on all tasks, and against the number of labels."""
    rows = table.to_pylist()
    budget = 500 if any(row["budget"] == 500 for row in rows) else max(r["budget"] for r in rows)
    at = [row for row in rows if row["budget"] == budget and row["method"] != "uniform"]
    limits = [row | {"method": "limit", "label_factor": row["limit"]} for row in at]
    by_method = sorted(at, key=lambda row: row["method"] != OURS)
    return {
        "label-factors": _grid(
            [*by_method, *(row for row in limits if row["limit"])],
            _label,
            f"label factor at {budget} labels; in bold: within 3% of the best; ~ by squared errors",
        ),
        "width-factors": _grid(
            [row for row in by_method if row["coverage"] is not None],
            _width,
            f"width factor at {budget} labels; grey: the interval holds so often only",
        ),
        "budgets": _against_labels(rows),
    }


def _label(row: Row) -> tuple[float, str]:
    """The label factor; that by squared errors, which is noisy, as text."""
    if row["label_factor"] is None:
        return np.nan, f"~{row['label_factor_mse']:.1f}"
    return row["label_factor"], ""


def _width(row: Row) -> tuple[float, str]:
    """The width factor, or the coverage of an interval that does not hold."""
    if row["coverage"] < _MISSES or row["width_factor"] is None:
        return np.nan, f"{row['coverage']:.0%}"
    return row["width_factor"], ""


def _grid(rows: Sequence[Row], value: Callable[[Row], tuple[float, str]], title: str) -> Plot:
    """A table of colours: green saves labels, red wastes them; a text stands in for no number."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    cells = {(row["task"], row["method"]): value(row) for row in rows}
    grid = np.array(
        [[cells.get((task, name), (np.nan, ""))[0] for name in methods] for task in tasks]
    )
    figure = optional("matplotlib.figure", extra="plots").Figure(
        figsize=(1.7 + 0.62 * len(methods), 1.5 + 0.25 * len(tasks)), layout="constrained"
    )
    axes = figure.add_subplot()
    axes.imshow(np.log2(grid), cmap="RdYlGn", vmin=-2, vmax=2, aspect="auto", alpha=0.8)
    ours = np.array([name != "limit" for name in methods])
    for y, task in enumerate(tasks):
        best = np.nanmax(np.where(ours, grid[y], np.nan), initial=0)
        for x, name in enumerate(methods):
            number, text = cells.get((task, name), (np.nan, ""))
            if np.isfinite(number):
                bold = bool(ours[x]) and number >= 0.97 * best
                text = f"{number:.2f}" if number < 10 else f"{number:.0f}"
                _write_cell(axes, x, y, text, plots.BLACK, bold)
            else:
                _write_cell(axes, x, y, text, "#888888", False)
    if not ours.all():
        axes.axvline(len(methods) - 1.5, color=plots.BLACK, linewidth=1.2)
    axes.set_xticks(range(len(methods)), methods, rotation=35, ha="right", fontsize=7)
    axes.set_yticks(range(len(tasks)), tasks, fontsize=7)
    axes.set_title(title, fontsize=8, loc="left")
    return figure


def _write_cell(axes: Any, x: int, y: int, text: str, colour: str, bold: bool) -> None:  # noqa: ANN401
    weight = "bold" if bold else "normal"
    axes.text(x, y, text, ha="center", va="center", fontsize=7, fontweight=weight, color=colour)


def _against_labels(rows: Sequence[Row]) -> Plot:
    """The label factor of each task against the number of labels, a panel each."""
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    across = min(4, len(tasks))
    down = -(-len(tasks) // across)
    figure = optional("matplotlib.figure", extra="plots").Figure(
        figsize=(2.1 * across, 1.6 * down + 0.4), layout="constrained"
    )
    panels = figure.subplots(down, across, squeeze=False, sharex=True).ravel()
    for axes, task in zip(panels, tasks, strict=False):
        _panel(axes, [row for row in rows if row["task"] == task])
        axes.set_title(task, fontsize=7, loc="left")
        axes.tick_params(labelsize=6, which="both")
    for axes in panels[len(tasks) :]:
        axes.set_visible(False)
    for axes in panels[max(len(tasks) - across, 0) : len(tasks)]:  # the lowest of each column
        axes.tick_params(labelbottom=True)
    lines = panels[0].get_legend_handles_labels()
    figure.legend(*lines, loc="outside lower center", ncols=5, fontsize=7, frameon=False)
    figure.supylabel("label factor against the number of labels (dotted: the limit)", fontsize=7)
    return figure


def _panel(axes: plots.Axes, rows: Sequence[Row]) -> None:
    shown = []
    for name, colour in zip((OURS, *PEERS), _COLOURS, strict=True):
        curve = [row for row in rows if row["method"] == name]
        factors = [factor(row)[0] for row in curve]
        width = 1.8 if name == OURS else 1.0
        budgets = [row["budget"] for row in curve]
        axes.plot(budgets, factors, color=colour, linewidth=width, label=name)
        shown += factors
    if rows[0]["limit"] is not None and rows[0]["limit"] < 2 * max(shown):
        axes.axhline(rows[0]["limit"], color=plots.BLACK, linestyle=":", linewidth=0.9)
    axes.axhline(1.0, color=plots.BLACK, linestyle="--", linewidth=0.6)
    scale_factors(axes, shown)
    axes.set_xscale("log")
    ticks = sorted({row["budget"] for row in rows})[::2]
    axes.set_xticks(ticks, [f"{one:,}" for one in ticks])
    axes.minorticks_off()
