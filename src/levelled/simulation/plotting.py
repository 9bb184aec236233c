"""Rows of `simulate` as a table for people and as a plot."""

from collections.abc import Mapping, Sequence
from typing import Any

from levelled.reports import plots

__all__ = ["factor_table", "plot_factors"]

_COLOURS = ("#000000", "#0072B2", "#009E73", "#D55E00", "#CC79A7", "#E69F00", "#56B4E9", "#999999")
"""Of Okabe and Ito's palette, which colour-blind readers can tell apart, and grey."""
_MARKERS = "osD^vPX*"
_WIDE = 8.0
"""Factors that differ by more are on a log scale."""

Row = Mapping[str, Any]


def factor_table(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """The titles and the rows of a table for people."""
    titles = ["method", "labels", "label factor", "by errors", "width factor", "bias z", "coverage"]
    return titles, [
        [
            row["method"],
            f"{row['budget']:,}",
            _cell(row["label_factor"], row["label_factor_se"]),
            _cell(row["label_factor_mse"], row["label_factor_mse_se"]),
            _cell(row["width_factor"]),
            "–" if row["bias_z"] is None else f"{row['bias_z']:+.1f}",  # noqa: RUF001
            _cell(row["coverage"]),
        ]
        for row in rows
    ]


def plot_factors(rows: Sequence[Row], *, about: str) -> Any:  # noqa: ANN401
    """Label factors above, width factors below, against the number of labels, by method."""
    plot, panels = plots.canvas(rows=2, height=4.6)
    names = list(dict.fromkeys(row["method"] for row in rows))
    for axes, key in zip(panels, ("label_factor", "width_factor"), strict=True):
        for at, name in enumerate(names):
            own = [row for row in rows if row["method"] == name and row[key]]
            style = {"color": _COLOURS[at % len(_COLOURS)], "marker": _MARKERS[at % len(_MARKERS)]}
            axes.errorbar(
                [row["budget"] for row in own],
                [row[key] for row in own],
                yerr=[row[f"{key}_se"] or 0 for row in own] if key == "label_factor" else None,
                label=name,
                markersize=3.5,
                linewidth=1.2,
                **style,
            )
        axes.axhline(1.0, color=plots.BLACK, linestyle="--", linewidth=0.6)
        axes.set_ylabel(key.replace("_", " "))
        values = [row[key] for row in rows if row[key]]
        if values and max(values) > _WIDE * min(values):
            axes.set_yscale("log")
            _plain_ticks(axes.yaxis)
    panels[1].set_xlabel("labels")
    panels[1].set_xscale("log")
    budgets = sorted({row["budget"] for row in rows})
    panels[1].set_xticks(budgets, [f"{one:,}" for one in budgets])
    panels[1].minorticks_off()
    plots.legend(panels[0], "best")
    plots.footnote(plot, about)
    return plot


def _plain_ticks(axis: Any) -> None:  # noqa: ANN401
    """Numbers such as 0.5 and 20 in place of powers of ten, on a log axis of any range."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _cell(value: float | None, stderr: float | None = None) -> str:
    if value is None:
        return "–"  # noqa: RUF001
    digits = 2 if value < 100 else 0
    return f"{value:.{digits}f}" + (f" ± {stderr:.{digits}f}" if stderr is not None else "")
