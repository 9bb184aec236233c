"""Rows of `simulate` as a table for people and as a plot."""

from collections.abc import Mapping, Sequence
from typing import Any

from levelled.reports import plots

_COLOURS = ("#000000", "#0072B2", "#009E73", "#D55E00", "#CC79A7", "#E69F00", "#56B4E9", "#999999")
"""Of Okabe and Ito's palette, which colour-blind readers can tell apart, and grey."""
_MARKERS = "osD^vPX*"
_KEYS = ("label_factor", "width_factor")
_POOR = 0.9
_WIDE = 8.0
"""Factors that differ by more are on a log scale."""

Row = Mapping[str, Any]


def factor_table(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """The titles and the rows of a table for people."""
    return ["method", "labels", "label factor", "width factor", "bias z", "coverage"], [
        [
            row["method"],
            f"{row['budget']:,}",
            _cell(row["label_factor"], row["label_factor_se"]),
            _cell(row["width_factor"]),
            "–" if row["bias_z"] is None else f"{row['bias_z']:+.1f}",  # noqa: RUF001
            _cell(row["coverage"]),
        ]
        for row in rows
    ]


def plot_factors(rows: Sequence[Row], *, about: str) -> Any:  # noqa: ANN401
    """Label factors above, width factors below, against the number of labels, by method.

    Widths of intervals that hold in less than 90% of the repetitions have open markers.
    """
    plot, panels = plots.canvas(rows=2, height=4.6)
    names = list(dict.fromkeys(row["method"] for row in rows))
    for at, name in enumerate(names):
        own = [row for row in rows if row["method"] == name]
        colour, marker = _COLOURS[at % len(_COLOURS)], _MARKERS[at % len(_MARKERS)]
        for axes, key in zip(panels, _KEYS, strict=True):
            _draw_curve(axes, own, key, colour, marker)
    for axes, key in zip(panels, _KEYS, strict=True):
        axes.axhline(1.0, color=plots.BLACK, linestyle="--", linewidth=0.6)
        axes.set_ylabel(key.replace("_", " "))
        scale_factors(axes, [row[key] for row in rows if row[key]])
    panels[1].set_xlabel("labels")
    panels[1].set_xscale("log")
    budgets = sorted({row["budget"] for row in rows})
    panels[1].set_xticks(budgets, [f"{one:,}" for one in budgets])
    panels[1].minorticks_off()
    lines = panels[0].get_legend_handles_labels()
    plot.legend(*lines, loc="outside upper center", ncols=3, fontsize=7, frameon=False)
    plots.footnote(plot, f"{about}\nopen: the interval holds in less than {_POOR:.0%} of them")
    return plot


def _draw_curve(axes: plots.Axes, rows: Sequence[Row], key: str, colour: str, marker: str) -> None:
    """Draw the factors of one method, label factors with their standard errors."""
    there = [row for row in rows if row[key]]
    budgets, factors = ([row[name] for row in there] for name in ("budget", key))
    axes.plot(budgets, factors, color=colour, linewidth=1.2, label=rows[0]["method"])
    for row in there:
        poor = key == "width_factor" and row["coverage"] < _POOR
        axes.plot(
            row["budget"], row[key], marker, ms=4, color=colour, mfc="white" if poor else colour
        )
        if key == "label_factor":
            low, high = (row[key] + side * row["label_factor_se"] for side in (-1, 1))
            axes.vlines(row["budget"], low, high, color=colour, linewidth=1.2)


def scale_factors(axes: plots.Axes, values: Sequence[float]) -> None:
    """Put factors that differ much on a log scale, with ticks such as 0.5 and 20."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if not values or max(values) <= _WIDE * min(values):
        return
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _cell(value: float | None, stderr: float | None = None) -> str:
    if value is None:
        return "–"  # noqa: RUF001
    digits = 2 if value < 100 else 0
    return f"{value:.{digits}f}" + (f" ± {stderr:.{digits}f}" if stderr is not None else "")
