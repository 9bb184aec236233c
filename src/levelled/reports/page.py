"""A report as one HTML file that loads nothing from elsewhere, with all text escaped.

Its templates and styles are in `templates` and `static`; the web page is built from the same ones.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from levelled.errors import MissingExtraError
from levelled.metrics.comparison import Figure
from levelled.reports.numbers import (
    FIXED,
    VALIDITY,
    figure_cells,
    headline,
    number_format,
    reading_notes,
    why_trust,
)
from levelled.reports.plots import plot_history, plot_slices

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES, STATIC = (Path(__file__).parent / name for name in ("templates", "static"))
"""The folders of templates and styles that the web page uses too."""
_MOST_ROWS = 200  # of a table; more make a page that nobody reads, and exports have them all


class Section(NamedTuple):
    """A table under a title, with a sentence about it; there may be no rows.

    `plots` are functions that draw what is shown between the two.
    """

    title: str
    about: str
    columns: tuple[str, ...] = ()
    rows: Sequence[Sequence[str]] = ()
    plots: Sequence[Callable[[], str]] = ()


class Report(NamedTuple):
    """The content of a page, in its order.

    `figures` begin with the most important one; `history` is that one after ever more draws.
    """

    title: str
    at: str
    facts: Sequence[tuple[str, str]]
    figures: Sequence[Figure]
    history: Sequence[Figure] = ()
    target_width: float | None = None
    sections: Sequence[Section] = ()
    record: Sequence[tuple[str, str]] = ()
    """How the figures can be checked."""


def page(report: Report) -> str:
    """The HTML text of a report. Without matplotlib it has no plots and says how to get them.

    >>> from levelled.estimators import Estimate
    >>> est = Estimate(0.12, 0.08, 0.17, 0.95, 0.02, 300, 5000, 280.0, 2.0, "lure", "betting")
    >>> one = Figure("error", "", None, est, n_labels=300, n_settled=300, n_pending=0)
    >>> text = page(Report("<reviews>", "today", [("pool", "preds.parquet")], [one]))
    >>> "<h1>&lt;reviews&gt;</h1>" in text, "<script" in text
    (True, False)
    """
    from markupsafe import Markup

    sections = [(name, title, Markup(inner)) for name, title, inner in html_sections(report)]
    content = {"headline": Markup(html_headline(report)), "sections": sections}
    return _environment().get_template("report.html").render(report=report, **content)


def html_headline(report: Report) -> str:
    """The most important figure in words, and why to trust it."""
    first = report.figures[0]
    notes = " ".join(reading_notes(first, report.target_width))
    return str(_parts().headline(headline(first), why_trust(first), notes))


def html_sections(report: Report) -> Iterator[tuple[str, str, str]]:
    """The parts of a report in their order: a short name, a title and safe HTML of each.

    Parts without content are left out. A web page can show the same parts.
    """
    html = _parts()
    warnings: dict[str, list[str]] = {}  # with the names of the figures that each is about
    for one in report.figures:
        for warning in one.estimate.warnings:
            warnings.setdefault(warning, []).append(one.name)
    parts = [
        ("notes", "Take note", html.notes(warnings)),
        ("figures", "All figures", html.table(*_figures(report.figures))),
        *_plots(report),
        *(("section", one.title, _section(one)) for one in report.sections),
        ("settings", "Pool and settings", html.facts(report.facts)),
        ("record", "How to check this report", html.facts(report.record)),
    ]
    seen: dict[str, int] = {}
    for name, title, inner in parts:
        if inner.strip():
            seen[name] = seen.get(name, 0) + 1
            yield (name if seen[name] == 1 else f"{name}-{seen[name]}"), title, str(inner)


@cache
def _environment() -> "Environment":
    """The templates, in which all that is filled in is cleaned and escaped.

    Imported here, because a campaign that is only asked for items writes no report.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader([TEMPLATES, STATIC]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: value if hasattr(value, "__html__") else _clean(str(value)),
    )


def _parts() -> Any:  # noqa: ANN401
    """The macros of parts.html, as functions that return safe HTML."""
    return _environment().get_template("parts.html").module


def _clean(value: str, most: int = 2000) -> str:
    """Text from outside, cut, and with its control characters replaced."""
    cut = value if len(value) <= most else f"{value[: most - 1]}…"
    return "".join(one if one.isprintable() or one in "\n\u200c\u200d" else "�" for one in cut)


def _figures(figures: Sequence[Figure]) -> tuple[list[str], list[list[str]], list[str]]:
    """All figures; a slice stands below the figure of the whole pool that it is a part of."""
    rows = []
    for figure in figures:
        cells = figure_cells(figure, number_format(figure))
        name = figure.slice or " · ".join(filter(None, (figure.metric, figure.model)))
        shown = ("value", "interval", "random labels")
        rows.append({"figure": name, **{column: cells[column] for column in shown}})
    columns = [name for name in rows[0] if any(row[name] for row in rows)]
    styles = ["whole" if figure.slice is None else "part" for figure in figures]
    return columns, [[_clean(row[name], 300) for name in columns] for row in rows], styles


def _plots(report: Report) -> Iterator[tuple[str, str, str]]:
    """The plots, or how to get them."""
    first, soft = report.figures[0], _parts().soft
    parts = [one for one in report.figures if one.slice is not None and one.metric == first.metric]
    try:
        if len(report.history) > 1:
            plot, last = plot_history(report.history, report.target_width), report.history[-1]
            about = (
                f"The line is the estimate as it was shown after each number of draws, the band "
                f"its interval, {VALIDITY.get(last.estimate.interval, FIXED)}."
            )
            if last.random_limits[0] is not None and (last.look or not last.n_looks):
                about += " Grey: the interval that as many random labels would have given."
            if last.look is not None:
                about += " Between planned looks the interval is that of the last one."
            if report.target_width:
                about += " The dotted lines are as far apart as the target width."
            yield "history", "As the labels came in", f"{soft(about)}{plot}"
        if parts:
            about = "The estimate of each slice with its interval; dashed: the whole pool."
            yield "slices", "By slice", f"{soft(about)}{plot_slices(parts, first)}"
    except MissingExtraError as missing:
        yield "plots", "No plots", soft(str(missing))


def _section(section: Section) -> str:
    from markupsafe import Markup

    try:
        plots = [Markup(plot()) for plot in section.plots]
    except MissingExtraError:  # the page says so where its first plots would be
        plots = []
    rows = section.rows[:_MOST_ROWS]
    filled = [at for at in range(len(section.columns)) if any(row[at] for row in rows)]
    columns = [section.columns[at] for at in filled]
    cells = [[_clean(row[at], 300) for at in filled] for row in rows]
    more = len(section.rows) - _MOST_ROWS
    return str(_parts().section(section.about, plots, columns, cells, more))
