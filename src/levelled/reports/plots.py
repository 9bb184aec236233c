"""What the figures of all studies share: size, colours, bands and the line that says of what."""

from typing import Any

from levelled._check import FloatArray, IntArray
from levelled._optional import optional

__all__ = [
    "BLACK",
    "COLOURS",
    "DASHES",
    "Axes",
    "band",
    "canvas",
    "footnote",
    "legend",
    "reference",
]

Axes = Any
"""Matplotlib's axes; matplotlib is optional and imported at first use."""

BLACK = "#000000"
COLOURS = {"naive": "#D55E00", "PURE": "#0072B2", "LURE": "#009E73"}
"""Of Okabe and Ito's palette, which colour-blind readers can tell apart."""
DASHES: dict[str, Any] = {"naive": (0, (1, 1)), "PURE": (0, (5, 1.5)), "LURE": "-"}
"""So that print without colour tells them apart too."""
COLUMN = 3.5
"""The width of one column of print, in inches."""

_STYLE = {
    "font.size": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.3,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def canvas(*, rows: int = 1, height: float = 2.6) -> tuple[Any, Any]:
    """An empty figure one column wide, and its axes; several rows share their horizontal axis."""
    matplotlib = optional("matplotlib", extra="plots")
    figures = optional("matplotlib.figure", extra="plots")
    with matplotlib.rc_context(_STYLE):
        figure = figures.Figure(figsize=(COLUMN, height), layout="constrained")
        return figure, figure.subplots(rows, sharex=True)


def band(
    axes: Axes,
    x: FloatArray | IntArray,
    centre: FloatArray,
    low: FloatArray,
    high: FloatArray,
    colour: str,
    label: str,
    *,
    dashes: Any = None,  # noqa: ANN401
    edged: bool = False,
) -> None:
    """A curve, and the region around it in a lighter shade, with thin edges if so wished.

    Curves are dashed by their name in `DASHES`, or as said.
    """
    axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
    dashes = dashes or DASHES.get(label, "-")
    above = 3 if dashes != "-" else 2  # dashes on top let a solid curve under them be seen
    for edge in (low, high) if edged else ():
        axes.plot(x, edge, color=colour, linestyle=dashes, linewidth=0.6, alpha=0.7, zorder=above)
    axes.plot(x, centre, color=colour, linestyle=dashes, label=label, zorder=above)


def reference(axes: Axes, value: float, label: str) -> None:
    """A dashed black line at what is true or best, with its name."""
    axes.axhline(value, color=BLACK, linestyle="--", linewidth=0.8, label=label)


def legend(axes: Axes, place: str) -> None:
    """Names of the curves, without a frame."""
    axes.legend(loc=place, fontsize=7, frameon=False, handlelength=2.4)


def title(axes: Axes, text: str) -> None:
    """What one panel of several shows."""
    axes.set_title(text, fontsize=8, loc="left")


def footnote(figure: Any, text: str) -> None:  # noqa: ANN401
    """What was run, in small print below the figure."""
    figure.supxlabel(text, fontsize=6, color="#555555")
