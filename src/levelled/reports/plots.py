"""Plots: parts that all of them share, and those of a report.

Those of a report are SVG in the colour of the page's text, for dark screens and for print.
"""

import io
import warnings
from collections.abc import Sequence
from html import escape
from math import isfinite, nan
from typing import Any, NamedTuple

from levelled._check import FloatArray, IntArray
from levelled._optional import optional
from levelled.metrics.comparison import Figure
from levelled.reports.numbers import is_in_per_cent

Axes = Any
"""Matplotlib's axes; matplotlib is optional and imported at first use."""

BLACK = "#000000"
COLOURS = {"naive": "#D55E00", "PURE": "#0072B2", "LURE": "#009E73"}
"""Of Okabe and Ito's palette, which colour-blind readers can tell apart."""
DASHES: dict[str, Any] = {"naive": (0, (1, 1)), "PURE": (0, (5, 1.5)), "LURE": "-"}
"""Curves that can be told apart in print without colour."""
COLUMN = 3.5
"""The width of one column of print, in inches."""


class CalibrationPoint(NamedTuple):
    """The mean predicted and observed loss of some draws, with the interval of the observed."""

    predicted: float
    observed: float
    low: float
    high: float
    n_labels: int


_BLUE = "#0072B2"
_INK, _ACCENT, _MUTED = "#010203", "#010204", "#8a8f98"
"""Placeholders for the colour of the page's text and for its accent, and a grey for any page."""
_OPEN_FRAME = {"axes.spines.top": False, "axes.spines.right": False}
_STYLE = {
    **_OPEN_FRAME,
    "font.size": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.3,
}
_REPORT_STYLE = {
    **_OPEN_FRAME,
    "axes.edgecolor": _MUTED,
    "axes.labelcolor": _INK,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": _MUTED,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    **dict.fromkeys(("xtick.color", "ytick.color"), _MUTED),
    **dict.fromkeys(("xtick.labelcolor", "ytick.labelcolor"), _INK),
}
_SHADE, _GREY = 0.18, 0.25
"""The opacity of a band and of that of random labels; the chart of the web page has the same."""
_IN_PAGE = {_INK: "currentColor", _ACCENT: "var(--accent)"}
"""Colours of the page around a plot, light or dark."""
_WIDTH = 5.6
"""Inches: narrow, so that text can be read where a phone shows the plot smaller."""
_RANDOM = "random labels"
"""The name of the grey band: the interval that as many random labels would have given."""
_MOST_SLICES = 40  # as many fit one screen or page; the table has them all
_OPENING = 0.1
"""The share of draws at the start that may be cut off: their intervals are very wide."""


def canvas(*, rows: int = 1, height: float = 2.6) -> tuple[Any, Any]:
    """An empty figure one column wide, and its axes; several rows share their horizontal axis."""
    return _make(_STYLE, (COLUMN, height), rows)


def _make(style: dict[str, Any], size: tuple[float, float], rows: int = 1) -> tuple[Any, Any]:
    matplotlib = optional("matplotlib", extra="plots")
    figures = optional("matplotlib.figure", extra="plots")
    with matplotlib.rc_context(style):
        figure = figures.Figure(figsize=size, layout="constrained")
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
    """Draw a curve, and the region from `low` to `high` in a lighter shade.

    The curve is dashed as `dashes` says, or as `DASHES` says for its label.
    """
    axes.fill_between(x, low, high, color=colour, alpha=_SHADE, linewidth=0)
    dashes = dashes or DASHES.get(label, "-")
    above = 3 if dashes != "-" else 2  # dashes on top let a solid curve under them be seen
    for edge in (low, high) if edged else ():
        axes.plot(x, edge, color=colour, linestyle=dashes, linewidth=0.6, alpha=0.7, zorder=above)
    axes.plot(x, centre, color=colour, linestyle=dashes, label=label, zorder=above)


def reference(axes: Axes, value: float, label: str) -> None:
    """Draw a dashed black line at a reference value."""
    axes.axhline(value, color=BLACK, linestyle="--", linewidth=0.8, label=label)


def legend(axes: Axes, place: str) -> None:
    """Add the names of the curves, without a frame."""
    axes.legend(loc=place, fontsize=7, frameon=False, handlelength=2.4)


def title(axes: Axes, text: str) -> None:
    """Set the title of one panel."""
    axes.set_title(text, fontsize=8, loc="left")


def footnote(figure: Any, text: str) -> None:  # noqa: ANN401
    """Write the settings of a run in small print below the plot."""
    figure.supxlabel(text, fontsize=6, color="#555555")


def plot_history(history: Sequence[Figure], target_width: float | None = None) -> str:
    """The plot of an estimate with its interval against the number of draws.

    The grey band is the interval that as many random labels would have given.
    """
    figure, axes = _axes(height=3.3)
    at = [one.n_settled for one in history]
    estimates = [one.estimate for one in history]
    low, high = [est.low for est in estimates], [est.high for est in estimates]
    random = [_random_ends(one) for one in history]
    has_random = any(isfinite(end) for ends in random for end in ends)
    if has_random:
        axes.fill_between(at, *zip(*random, strict=True), color=_MUTED, alpha=_GREY, linewidth=0)
    if all(map(isfinite, (*low, *high))):
        axes.fill_between(at, low, high, color=_ACCENT, alpha=_SHADE, linewidth=0)
        later = [i for i, n in enumerate(at) if n >= _OPENING * at[-1]]
        values = [v for i in later if (v := estimates[i].value) is not None]
        settled = [i for i in later if at[i] >= at[-1] / 2]  # before, its band may be cut off
        values += [end for i in settled for end in random[i] if isfinite(end)]
        lowest = min([0.0, *(low[i] for i in later), *values])
        highest = max([*(high[i] for i in later), *values, lowest])
        axes.set_ylim(lowest, highest + 0.05 * (highest - lowest))
    points = [(n, est.value) for n, est in zip(at, estimates, strict=True) if est.value is not None]
    if points:
        axes.plot(*zip(*points, strict=True), color=_ACCENT, linewidth=1.8)
        axes.plot(*points[-1], "o", color=_ACCENT, markersize=4.5)
        if target_width is not None:  # the ends of an interval as narrow as the target
            for end in (points[-1][1] - target_width / 2, points[-1][1] + target_width / 2):
                axes.axhline(end, color=_MUTED, linewidth=1, linestyle=(0, (2, 3)))
    if has_random:
        _name_bands(axes, "interval")
    axes.set_xlim(left=0)
    axes.set_xlabel("draws settled")
    _write(axes.set_ylabel(""), history[-1].metric)
    _count_in_per_cent(axes.yaxis, history[-1])
    return _svg(figure, f"{history[-1].metric} with its interval against the number of draws")


def draw_figures(figures: Sequence[Figure], axes: Axes = None) -> Axes:
    """Draw each figure as a dot with its interval, and in grey that of as many random labels."""
    if axes is None:
        optional("matplotlib", extra="plots")
        plt = optional("matplotlib.pyplot", extra="plots")
        _, axes = plt.subplots(figsize=(_WIDTH, 1.1 + 0.3 * len(figures)), layout="constrained")
    for place, one in enumerate(figures):
        est, (least, most) = one.estimate, _random_ends(one)
        if isfinite(least) and isfinite(most):
            axes.barh(place, most - least, left=least, height=0.6, color=_MUTED, alpha=_GREY)
        if isfinite(est.low) and isfinite(est.high):
            axes.plot([est.low, est.high], [place, place], color=_BLUE, linewidth=2.4, alpha=0.6)
        if est.value is not None:
            axes.plot(est.value, place, "o", color=_BLUE, markersize=5)
    _name_rows(axes, [one.name for one in figures])
    axes.spines[["top", "right"]].set_visible(False)
    if all(is_in_per_cent(one.metric) for one in figures):
        _count_in_per_cent(axes.xaxis, figures[0])
    if figures:
        _name_bands(axes, f"{100 * figures[0].estimate.level:.4g}% interval", _BLUE)
    return axes


def _random_ends(figure: Figure) -> tuple[float, float]:
    """The limits that random labels would have given; not a number where they are not known.

    Before the first planned look there are none: no interval for a number of labels is read then.
    """
    low, high = figure.random_limits
    is_early = figure.n_looks > 0 and figure.look is None
    return (nan, nan) if is_early or low is None or high is None else (low, high)


def _name_bands(axes: Axes, interval: str, colour: str = _ACCENT) -> None:
    """Say above the plot what the bands are."""
    patches = optional("matplotlib.patches", extra="plots")
    names = ((interval, colour, 2 * _SHADE), (_RANDOM, _MUTED, 2 * _GREY))
    handles = [
        patches.Patch(facecolor=fill, alpha=alpha, label=name, linewidth=0)
        for name, fill, alpha in names
    ]
    found = axes.legend(
        handles=handles,
        loc="lower right",
        bbox_to_anchor=(1, 1),
        borderaxespad=0.2,
        ncols=2,
        frameon=False,
        fontsize=8,
    )
    for text in found.get_texts() if colour == _ACCENT else ():
        text.set_color(_INK)


def _name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Write names along the vertical axis, the first on top."""
    axes.set_yticks(range(len(names)))
    axes.set_yticklabels([_short(name) for name in names])
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    axes.set_ylim(len(names) - 0.4, -0.6)


def plot_slices(figures: Sequence[Figure], overall: Figure) -> str:
    """The plot of each slice as a dot with its interval, and of the whole pool as a line."""
    shown = figures[:_MOST_SLICES]
    figure, axes = _axes(height=0.9 + 0.3 * len(shown))
    if overall.estimate.value is not None:
        axes.axvline(overall.estimate.value, color=_MUTED, linewidth=1, linestyle=(0, (4, 3)))
    for place, est in enumerate(one.estimate for one in shown):
        if isfinite(est.low) and isfinite(est.high):
            axes.plot([est.low, est.high], [place, place], color=_ACCENT, linewidth=2.4, alpha=0.5)
        if est.value is not None:
            axes.plot(est.value, place, "o", color=_ACCENT, markersize=5.5)
    _name_rows(axes, [" · ".join(filter(None, (one.model, one.slice))) for one in shown])
    axes.grid(visible=False, axis="y")
    _write(axes.set_xlabel(""), overall.metric)
    _count_in_per_cent(axes.xaxis, overall)
    axes.locator_params(axis="x", nbins=6)  # more would touch each other where they have decimals
    return _svg(figure, f"{overall.metric} by slice, the whole pool as a dashed line")


def plot_calibration(points: Sequence[CalibrationPoint]) -> str:
    """The plot of observed against predicted losses; dashed: where the two are equal."""
    figure, axes = _axes(height=3.3)
    end = max(max(one.predicted, one.high) for one in points) * 1.03 or 1.0
    axes.plot([0, end], [0, end], color=_MUTED, linewidth=1, linestyle=(0, (4, 3)))
    for one in points:
        axes.plot([one.predicted] * 2, [one.low, one.high], color=_ACCENT, linewidth=2.4, alpha=0.5)
    axes.plot(
        [one.predicted for one in points],
        [one.observed for one in points],
        "o",
        color=_ACCENT,
        markersize=5.5,
    )
    axes.set_xlim(0, 1.08 * max(one.predicted for one in points))
    axes.set_ylim(0, end)
    axes.set_xlabel("loss predicted before the draw")
    axes.set_ylabel("loss observed")
    return _svg(figure, "Observed against predicted losses, with 95% intervals")


def plot_rounds(
    floors: Sequence[tuple[int, float]], shares: Sequence[tuple[int, float]], n_draws: int
) -> str:
    """The plot of the floor and the background share of each round against the draws."""
    figure, axes = _axes(height=2.4)
    for points, colour, dashes in ((floors, _ACCENT, "-"), (shares, _MUTED, (0, (4, 2)))):
        at, values = zip(*points, strict=True)
        axes.step([*at, n_draws], [*values, values[-1]], where="post", color=colour, ls=dashes)
        axes.annotate(
            "floor" if colour == _ACCENT else "background share",
            (n_draws, values[-1]),
            xytext=(4, 0),
            textcoords="offset points",
            color=_INK,
            fontsize=10,
            va="center",
        )
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("draws")
    return _svg(figure, "Floor and background share of each round against the number of draws")


def _count_in_per_cent(axis: Any, figure: Figure) -> None:  # noqa: ANN401
    """Write per cent along an axis where the headline does."""
    if is_in_per_cent(figure.metric):
        ticker = optional("matplotlib.ticker", extra="plots")
        axis.set_major_formatter(ticker.PercentFormatter(xmax=1))


def _axes(height: float) -> tuple[Any, Any]:
    return _make(_REPORT_STYLE, (_WIDTH, height))


def _write(label: Any, text: str) -> None:  # noqa: ANN401
    """Set a text in which a dollar sign starts no formula."""
    label.set_parse_math(False)
    label.set_text(_short(text))


def _clean(text: str) -> str:
    return "".join(one if one.isprintable() else "�" for one in text)


def _short(text: str) -> str:
    clean = _clean(text)
    return clean if len(clean) <= 36 else f"{clean[:35]}…"


def _svg(figure: Any, about: str) -> str:  # noqa: ANN401
    matplotlib = optional("matplotlib", extra="plots")
    out = io.StringIO()
    settings = {"svg.fonttype": "none", "svg.hashsalt": "levelled"}
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # the browser has them
        figure.savefig(
            out,
            format="svg",
            transparent=True,
            metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")),
        )
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    for placeholder, colour in _IN_PAGE.items():
        svg = svg.replace(placeholder, colour)
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(_clean(about))}"', 1)
