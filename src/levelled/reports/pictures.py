"""Pictures of a report: SVG in the ink of the page, so it works in the dark and in print."""

import io
from collections.abc import Sequence
from typing import Any

from levelled._optional import optional
from levelled.reports.record import Figure

__all__ = ["running", "slices"]

_INK = "#010203"
"""Stands for the colour of the page's text until the picture is written."""
_ACCENT = "#2b7bd6"
_MUTED = "#8a8f98"

_MOST_SLICES = 40
_OPENING = 0.1
"""The first draws say so little that they would flatten all that follows."""


def running(history: Sequence[Figure], target_width: float | None = None) -> str:
    """A figure with its interval as the draws came in."""
    figure, axes = _axes(height=3.3)
    at = [one.n_settled for one in history]
    limits = [
        (one.low, one.high) for one in history if one.low is not None and one.high is not None
    ]
    if len(limits) == len(history):
        low, high = zip(*limits, strict=True)
        axes.fill_between(at, low, high, color=_ACCENT, alpha=0.22, linewidth=0)
        later = [pair for n, pair in zip(at, limits, strict=True) if n >= _OPENING * at[-1]]
        lowest, highest = min(pair[0] for pair in later), max(pair[1] for pair in later)
        axes.set_ylim(lowest - 0.05 * (highest - lowest), highest + 0.05 * (highest - lowest))
    told = [(one.n_settled, one.value) for one in history if one.value is not None]
    if told:
        axes.plot(*zip(*told, strict=True), color=_ACCENT, linewidth=1.8)
        axes.plot(*told[-1], "o", color=_ACCENT, markersize=4.5)
        _aim(axes, told[-1][1], target_width)
    axes.set_xlim(left=0)
    axes.set_xlabel("draws settled")
    _write(axes.set_ylabel(""), history[-1].metric)
    return _svg(figure, f"{history[-1].metric} with its interval against the number of draws")


def slices(figures: Sequence[Figure], overall: Figure) -> str:
    """Each slice as a dot with its interval, and the whole pool as a line."""
    shown = figures[:_MOST_SLICES]
    figure, axes = _axes(height=0.9 + 0.3 * len(shown))
    if overall.value is not None:
        axes.axvline(overall.value, color=_MUTED, linewidth=1, linestyle=(0, (4, 3)))
    for place, one in enumerate(shown):
        if one.low is not None and one.high is not None:
            axes.plot([one.low, one.high], [place, place], color=_ACCENT, linewidth=2.4, alpha=0.5)
        if one.value is not None:
            axes.plot(one.value, place, "o", color=_ACCENT, markersize=5.5)
    axes.set_yticks(range(len(shown)))
    axes.set_yticklabels([_short(_named(one)) for one in shown])
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    _write(axes.set_xlabel(""), overall.metric)
    return _svg(figure, f"{overall.metric} by slice, the whole pool as a dashed line")


def _named(figure: Figure) -> str:
    return " · ".join(filter(None, (figure.model, figure.slice)))


def _aim(axes: Any, value: float, width: float | None) -> None:  # noqa: ANN401
    """Where the interval would end if it were as narrow as wanted."""
    if width is not None:
        for end in (value - width / 2, value + width / 2):
            axes.axhline(end, color=_MUTED, linewidth=1, linestyle=(0, (2, 3)))


def _axes(height: float) -> tuple[Any, Any]:
    optional("matplotlib", extra="plots")
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(7.4, height), layout="constrained")
    axes = figure.add_subplot()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(_MUTED)
    axes.tick_params(colors=_INK, labelsize=9, color=_MUTED)
    axes.grid(visible=True, color=_MUTED, alpha=0.25, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.xaxis.label.set_color(_INK)
    axes.yaxis.label.set_color(_INK)
    return figure, axes


def _write(label: Any, text: str) -> None:  # noqa: ANN401
    """Text from outside: a dollar sign in it is no formula."""
    label.set_parse_math(False)
    label.set_text(_short(text))


def _clean(text: str) -> str:
    return "".join(one if one.isprintable() else "�" for one in text)


def _short(text: str) -> str:
    clean = _clean(text)
    return clean if len(clean) <= 36 else f"{clean[:35]}…"


def _svg(figure: Any, about: str) -> str:  # noqa: ANN401
    import warnings
    from html import escape

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
    drawn = out.getvalue()
    drawn = drawn[drawn.index("<svg") :].replace(_INK, "currentColor")
    return drawn.replace("<svg", f'<svg role="img" aria-label="{escape(_clean(about))}"', 1)
