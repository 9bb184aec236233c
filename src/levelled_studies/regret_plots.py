"""Plots of regrets, all on one scale: cell by cell, and the cells of many studies together."""

from collections.abc import Mapping, Sequence
from typing import Any

from levelled._optional import optional
from levelled.reports.plots import BLACK, COLOURS, Axes, footnote
from levelled_studies.regret import LARGE, WAYS, Cell, spread
from levelled_studies.study import Plot

__all__ = ["NAMES", "plot_cells", "plot_kinds"]

_MARKS: Mapping[str, Mapping[str, Any]] = {
    "naive": {"marker": "o", "color": COLOURS["naive"], "markersize": 4},
    "PURE": {"marker": "_", "color": COLOURS["PURE"], "markersize": 6},
    "LURE": {"marker": "s", "color": COLOURS["LURE"], "markersize": 3.5},
    "verdict": {"marker": "^", "color": "#999999", "markersize": 4},
    "shuffled": {"marker": "D", "color": "#CC79A7", "markersize": 4, "fillstyle": "none"},
    "share": {"marker": "D", "color": BLACK, "markersize": 4},
}
NAMES = {"naive": "plain", "verdict": "verdict (first version)", "shuffled": "share, shuffled"}
_KINDS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
_LINEAR = 0.05
"""The scale is linear up to this regret and logarithmic beyond."""
_TICKS = (-0.1, -0.02, 0, 0.02, 0.1, 0.3, 1.0)
_LOW, _HIGH = -0.12, 1.0
"""The range of all plots, unless a regret lies outside."""


def plot_cells(cells: Sequence[Cell], about: str) -> Plot:
    """A row a cell, and in it a mark for each way of training."""
    figure, axes = _canvas(height=1.1 + 0.15 * len(cells))
    for way, mark in _MARKS.items():
        regrets = [cell.regret(way) for cell in cells]
        axes.plot(regrets, range(len(cells)), label=NAMES.get(way, way), linestyle="none", **mark)
    axes.set_yticks(range(len(cells)), [cell.title for cell in cells], fontsize=6.5)
    axes.grid(axis="y", linewidth=0.3, color="#DDDDDD")
    axes.set_ylim(len(cells) - 0.4, -0.6)
    _scale(axes, [cell.regret(way) for cell in cells for way in WAYS])
    figure.legend(loc="outside upper center", ncols=6, fontsize=7, frameon=False, columnspacing=1)
    footnote(figure, about)
    return figure


def plot_kinds(kinds: Mapping[str, Sequence[Cell]], about: str) -> Plot:
    """A row a way of training, and in it a dot for each cell, coloured by kind of model."""
    figure, axes = _canvas(height=4.4)
    every = [cell for cells in kinds.values() for cell in cells]
    ways = sorted(WAYS, key=lambda way: spread(every, way).mean)
    for row, way in enumerate(ways):
        for at, (cells, colour) in enumerate(zip(kinds.values(), _KINDS, strict=False)):
            regrets = [cell.regret(way) for cell in cells]
            height = row + (at - (len(kinds) - 1) / 2) * 0.8 / len(kinds)
            axes.plot(regrets, [height] * len(cells), "o", color=colour, markersize=3, alpha=0.6)
        mean = spread(every, way).mean
        axes.plot([mean, mean], [row - 0.42, row + 0.42], color=BLACK, linewidth=1.4)
    axes.set_yticks(range(len(ways)), [NAMES.get(way, way) for way in ways], fontsize=8)
    axes.set_ylim(len(ways) - 0.5, -0.5)
    _scale(axes, [cell.regret(way) for cell in every for way in WAYS])
    for name, colour in zip(kinds, _KINDS, strict=False):
        axes.plot([], [], "o", color=colour, markersize=4, label=name)
    axes.plot([], [], color=BLACK, linewidth=1.4, label="mean")
    figure.legend(loc="outside upper center", ncols=4, fontsize=7, frameon=False)
    footnote(figure, about)
    return figure


def _canvas(*, height: float) -> tuple[Any, Axes]:
    figures = optional("matplotlib.figure", extra="plots")
    figure = figures.Figure(figsize=(6.4, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _scale(axes: Axes, regrets: Sequence[float]) -> None:
    """Linear in the middle; the region of less than 2% is shaded."""
    axes.axvspan(-LARGE, LARGE, color="#EEEEEE", zorder=0)
    axes.axvline(0, color=BLACK, linewidth=0.6, zorder=1)
    axes.set_xscale("symlog", linthresh=_LINEAR, linscale=1.0)
    axes.set_xticks(_TICKS, [f"{tick:+.0%}" if tick else "0" for tick in _TICKS], fontsize=7)
    axes.minorticks_off()
    axes.set_xlim(min(_LOW, *regrets), max(_HIGH, *regrets))
    axes.set_xlabel("risk beside the better of plain and LURE", fontsize=8)
