"""Plots of the studies of intervals: coverage of every cell, and widths beside uniform draws."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from levelled._optional import optional
from levelled_studies.study import Plot, Row, StudySettings

__all__ = ["coverage_and_width", "looks_plot"]

COLOURS = {"uniform": "#777777", "floor 0.1": "#E69F00", "floor 0.5": "#0072B2"}
_OTHER = "#CC79A7"
_LEAST = 0.80
"""The lowest coverage that has a place of its own; lower ones are drawn there."""
_SIZE = 13
_RATIOS = (0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.5, 2, 3, 5, 8)
"""Ticks of the axis of relative widths."""


def coverage_and_width(table: pa.Table, settings: StudySettings) -> Mapping[str, Plot]:
    """Coverage of the default intervals in every cell, and their widths at the largest budget."""
    rows = [row for row in table.to_pylist() if not _is_control(row["method"])]
    return {"coverage": _coverage(rows), "width": _width(rows)}


def _is_control(method: str) -> bool:
    return method.startswith(("t,", "anytime")) or method.endswith("control")


def _coverage(rows: Sequence[Row]) -> Plot:
    fig, axes_of = _panels(_lines(rows), wide=11)
    left = max(_LEAST, min(0.91, *(row["coverage"] for row in rows)))
    for kind, (axes, lines) in axes_of.items():
        own = [row for row in rows if row["kind"] == kind]
        for row in own:
            _dot(axes, row, lines.index(row["pool"]))
        for at, line in enumerate(lines):
            _write_lowest(axes, [row for row in own if row["pool"] == line], at)
        axes.set_xlim(left - 0.004, 1.004)
        axes.axvline(0.95, color="black", linewidth=1)
        axes.axvline(0.93, color="black", linewidth=1, linestyle=":")
    last = [*axes_of.values()][-1][0]
    last.set_xlabel("share of repetitions whose interval contains the truth", fontsize=_SIZE)
    first = next(iter(axes_of.values()))[0]
    for x, text, side in ((0.95, " nominal 0.95", "left"), (0.93, "bar 0.93 ", "right")):
        first.annotate(
            text, (x, 1), xycoords=("data", "axes fraction"), ha=side, va="bottom", fontsize=11
        )
    _legend(fig, rows, hollow=True)
    return fig


def _dot(axes: Any, row: Row, at: int) -> None:  # noqa: ANN401
    watched = row["method"].endswith("watched")
    colour = COLOURS.get(row["proposal"], _OTHER)
    order = [*COLOURS].index(row["proposal"]) if row["proposal"] in COLOURS else 3
    hollow = row["warned"] > 0.5 and not watched
    axes.plot(
        max(row["coverage"], _LEAST),
        at + (order - 1.5) * 0.2,
        marker="|" if watched else "o",
        markersize=9,
        markerfacecolor="white" if hollow else colour,
        markeredgecolor=colour,
        markeredgewidth=1.8 if watched else 1.3,
        alpha=0.85,
        zorder=3,
    )


def _write_lowest(axes: Any, rows: Sequence[Row], at: int) -> None:  # noqa: ANN401
    """Name the cell with the lowest coverage, where it is below the bar."""
    worst = min(rows, key=lambda row: row["coverage"])
    if worst["coverage"] >= 0.93:
        return
    text = f"{worst['coverage']:.2f}: {worst['proposal']}, {worst['labels']} labels"
    left = worst["coverage"] < (_LEAST + 0.93) / 2
    x = max(worst["coverage"], _LEAST)
    axes.annotate(
        text,
        (x, at),
        xytext=(8 if left else -8, -11),
        textcoords="offset points",
        ha="left" if left else "right",
        va="center",
        fontsize=9,
        color="#444444",
    )


def _width(rows: Sequence[Row]) -> Plot:
    measured = [row for row in rows if row["width"] is not None and row["proposal"] in COLOURS]
    largest = max(row["pool_size"] for row in measured)
    measured = [row for row in measured if row["pool_size"] == largest]
    last = max(row["labels"] for row in measured)
    shown = [row for row in measured if row["labels"] == last]
    uniform = {
        (row["kind"], row["pool"]): row["width"]
        for row in shown
        if row["proposal"] == "uniform" and not row["method"].endswith("watched")
    }
    fig, axes_of = _panels(_lines(shown), wide=11)
    for row in (row for row in shown if (row["kind"], row["pool"]) in uniform):
        axes, lines = axes_of[row["kind"]]
        axes.plot(
            row["width"] / uniform[row["kind"], row["pool"]],
            lines.index(row["pool"]) + 0.12 * ([*COLOURS].index(row["proposal"]) - 1),
            marker="|" if row["method"].endswith("watched") else "o",
            markersize=10,
            markeredgewidth=2,
            color=COLOURS[row["proposal"]],
            zorder=3,
        )
    for axes, _ in axes_of.values():
        axes.axvline(1, color="black", linewidth=1)
        axes.set_xscale("log")
        axes.set_xticks(_RATIOS, [f"{ratio:g}" for ratio in _RATIOS])
        axes.set_xticks([], minor=True)
    bottom = [*axes_of.values()][-1][0]
    bottom.set_xlabel(
        f"median width / that of {last} uniform labels read once ({last} labels of {largest:,})",
        fontsize=_SIZE,
    )
    _legend(fig, shown)
    return fig


def _lines(rows: Sequence[Row]) -> dict[str, list[str]]:
    """The rows of each panel, the one with the lowest coverage at the bottom."""
    least: dict[str, dict[str, float]] = {}
    for row in rows:
        lines = least.setdefault(row["kind"], {})
        lines[row["pool"]] = min(row["coverage"], lines.get(row["pool"], 1.0))
    return {kind: sorted(lines, key=lines.__getitem__) for kind, lines in least.items()}


def _panels(lines: Mapping[str, list[str]], *, wide: float) -> tuple[Plot, dict[str, Any]]:
    """A panel for each kind of loss below one another, with a line for each of its rows."""
    plt = optional("matplotlib.pyplot", extra="plots")
    heights = [len(own) + 0.6 for own in lines.values()]
    fig, axes = plt.subplots(
        len(lines),
        1,
        figsize=(wide, 0.5 * sum(heights) + 1.6),
        sharex=True,
        squeeze=False,
        layout="constrained",
        gridspec_kw={"height_ratios": heights},
    )
    for (kind, own), one in zip(lines.items(), axes.flat, strict=True):
        one.set_title(kind, loc="left", fontsize=_SIZE, fontweight="bold")
        _tidy(one, own)
    plt.close(fig)  # savefig does not need pyplot's hold on it
    return fig, {kind: (one, lines[kind]) for kind, one in zip(lines, axes.flat, strict=True)}


def _tidy(axes: Any, lines: Sequence[str]) -> None:  # noqa: ANN401
    """Name the lines of a panel, and leave out what only fills it."""
    axes.set_yticks(range(len(lines)), lines, fontsize=_SIZE - 1)
    axes.set_ylim(-0.6, len(lines) - 0.4)
    axes.tick_params(axis="x", labelsize=_SIZE - 2)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", alpha=0.25)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)


def looks_plot(table: pa.Table, settings: StudySettings) -> Mapping[str, Plot]:
    """Coverage of all that is shown at once beside the width at the budget."""
    plt = optional("matplotlib.pyplot", extra="plots")
    rows = table.to_pylist()
    pools = list(dict.fromkeys(row["pool"] for row in rows))[::-1]
    fig, (left, right) = plt.subplots(
        1, 2, figsize=(12, 0.5 * len(pools) + 2.2), sharey=True, layout="constrained"
    )
    for row in rows:
        order = [*COLOURS].index(row["proposal"]) - 1.5
        size = 25 + 90 * row["labels"] / max(other["labels"] for other in rows)
        style = {"s": size, "color": COLOURS[row["proposal"]], "alpha": 0.8, "zorder": 3}
        at = pools.index(row["pool"]) + 0.24 * order
        left.scatter(row["coverage"], at, **style)
        if row["width_ratio"] is not None:
            right.scatter(row["width_ratio"], at, **style)
    for axes, bar, text, label in (
        (left, 0.945, "bar 0.945 ", "all that is shown contains the truth: share of repetitions"),
        (right, 1.08, "bar 1.08 ", "width at the budget / width of an interval read once"),
    ):
        axes.axvline(bar, color="black", linewidth=1, linestyle=":")
        axes.annotate(
            text, (bar, 1), xycoords=("data", "axes fraction"), ha="right", va="bottom", fontsize=11
        )
        axes.set_xlabel(label, fontsize=_SIZE)
        _tidy(axes, pools)
    left.set_xlim(min(0.93, *(row["coverage"] - 0.003 for row in rows)), 1.002)
    _legend(fig, rows, sizes=True)
    plt.close(fig)
    return {"looks": fig}


def _legend(fig: Plot, rows: Sequence[Row], *, hollow: bool = False, sizes: bool = False) -> None:
    lines = optional("matplotlib.lines", extra="plots")

    def entry(
        label: str, colour: str, marker: str = "o", face: str | None = None, size: float = 9
    ) -> Any:  # noqa: ANN401
        line = lines.Line2D([], [], linestyle="", marker=marker, color=colour, label=label)
        line.set(markersize=size, markeredgewidth=1.8, markerfacecolor=face or colour)
        return line

    proposals = {row["proposal"] for row in rows}
    names = {"uniform": "uniform draws", "floor 0.1": "floor 0.1", "floor 0.5": "floor 0.5"}
    handles = [entry(text, COLOURS[name]) for name, text in names.items() if name in proposals]
    if proposals - set(COLOURS):
        handles.append(entry("other proposals", _OTHER))
    if hollow and any(row["warned"] > 0.5 for row in rows):
        handles.append(entry("most have a warning", "#444444", face="white"))
    if any(row["method"].endswith("watched") for row in rows):
        handles.append(entry("betting, read at every label", "#444444", marker="|"))
    if sizes:
        budgets = sorted({row["labels"] for row in rows})
        handles += [entry(f"{n} labels", "#aaaaaa", size=3 + 6 * n / budgets[-1]) for n in budgets]
    fig.legend(
        handles=handles,
        loc="outside lower center",
        ncols=5 if len(handles) <= 5 else 3,
        frameon=False,
        fontsize=_SIZE - 1,
    )
