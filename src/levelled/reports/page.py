"""A report as one HTML file that loads nothing from elsewhere, with all text escaped."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import escape

from levelled.errors import MissingExtraError
from levelled.metrics.figure import Figure
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
from levelled.reports.style import STYLE


@dataclass(frozen=True, slots=True)
class Section:
    """A table under a title, with a sentence about it; there may be no rows.

    `plots` are functions that draw what is shown between the two.
    """

    title: str
    about: str
    columns: tuple[str, ...] = ()
    rows: Sequence[Sequence[str]] = ()
    plots: Sequence[Callable[[], str]] = ()


@dataclass(frozen=True, slots=True)
class Report:
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


_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
"""

_MOST_ROWS = 200


def page(report: Report) -> str:
    """The HTML text of a report. Without matplotlib it has no plots and says how to get them.

    >>> from levelled.estimators import Estimate
    >>> est = Estimate(0.12, 0.08, 0.17, 0.95, 0.02, 300, 5000, 280.0, 2.0, "lure", "betting")
    >>> one = Figure("error", "", None, est, n_labels=300, n_settled=300, n_pending=0)
    >>> text = page(Report("<reviews>", "today", [("pool", "preds.parquet")], [one]))
    >>> "<h1>&lt;reviews&gt;</h1>" in text, "<script" in text
    (True, False)
    """
    sections = (
        f'<section id="{name}"><h2>{_text(title)}</h2>\n{inner}</section>\n'
        for name, title, inner in html_sections(report)
    )
    return "".join(
        [
            _HEAD.format(title=_text(report.title), style=STYLE),
            f"<header><h1>{_text(report.title)}</h1>",
            f'<p class="soft">{_text(report.at)}</p></header>\n<main>\n',
            html_headline(report),
            *sections,
            "</main>\n</body>\n</html>\n",
        ]
    )


def html_headline(report: Report) -> str:
    """The most important figure in words, and why to trust it."""
    first = report.figures[0]
    notes = " ".join(reading_notes(first, report.target_width))
    soft = f'<p class="soft">{_text(notes)}</p>' if notes else ""
    return (
        f'<div class="headline"><p class="value">{_text(headline(first))}</p>\n'
        f"<p>{_text(why_trust(first))}</p>{soft}</div>\n"
    )


def html_sections(report: Report) -> Iterator[tuple[str, str, str]]:
    """The parts of a report in their order: a short name, a title and safe HTML of each.

    Parts without content are left out. A web page can show the same parts.
    """
    parts = [
        ("notes", "Take note", _warnings(report.figures)),
        ("figures", "All figures", _figures(report.figures)),
        *_plots(report),
        *(("section", one.title, _section(one)) for one in report.sections),
        ("settings", "Pool and settings", _facts(report.facts)),
        ("record", "How to check this report", _facts(report.record)),
    ]
    seen: dict[str, int] = {}
    for name, title, inner in parts:
        if inner:
            seen[name] = seen.get(name, 0) + 1
            yield (name if seen[name] == 1 else f"{name}-{seen[name]}"), title, inner


def _text(value: str, most: int = 2000) -> str:
    """Escape text from outside, and replace its control characters."""
    cut = value if len(value) <= most else f"{value[: most - 1]}…"
    shown = "".join(one if one.isprintable() or one in "\n\u200c\u200d" else "�" for one in cut)
    return escape(shown)


def _figures(figures: Sequence[Figure]) -> str:
    """All figures; a slice stands below the figure of the whole pool that it is a part of."""
    rows = [_figure_row(figure) for figure in figures]
    columns = [name for name in rows[0] if any(row[name] for row in rows)]
    styles = ["whole" if figure.slice is None else "part" for figure in figures]
    return _table(columns, [[row[name] for name in columns] for row in rows], styles)


def _figure_row(figure: Figure) -> dict[str, str]:
    cells = figure_cells(figure, number_format(figure))
    name = " · ".join(filter(None, (figure.metric, figure.model)))
    latest = "" if cells["with all labels"] == cells["value"] else cells["with all labels"]
    return {
        "figure": figure.slice or name,
        **{column: cells[column] for column in ("value", "interval")},
        "with all labels": latest,
        "as precise as": cells["as precise as"],
    }


def _table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str] | None = None
) -> str:
    """A table; with more than three columns, its rows become cards on a narrow screen.

    Rows with `styles` are figures, whose numbers are aligned to the right.
    """
    names = [_text(column) for column in columns]
    kinds = [' class="number"' if styles and at else "" for at in range(len(names))]
    head = "".join(f"<th{kind}>{name}</th>" for name, kind in zip(names, kinds, strict=True))
    marks = [f' class="{style}"' for style in styles] if styles else [""] * len(rows)
    body = "".join(
        f"<tr{mark}>"
        + "".join(
            f'<td{kind} data-name="{name}">{_text(cell, 300)}</td>'
            for name, kind, cell in zip(names, kinds, row, strict=True)
        )
        + "</tr>\n"
        for mark, row in zip(marks, rows, strict=True)
    )
    cards = ' class="cards"' if len(names) > 3 else ""
    return f"<table{cards}><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>\n"


def _plots(report: Report) -> Iterator[tuple[str, str, str]]:
    """The plots, or how to get them."""
    first = report.figures[0]
    parts = [one for one in report.figures if one.slice is not None and one.metric == first.metric]
    try:
        if len(report.history) > 1:
            plot = plot_history(report.history, report.target_width)
            yield "history", "As the labels came in", f"{_about_history(report)}{plot}\n"
        if parts:
            about = "The estimate of each slice with its interval; dashed: the whole pool."
            plot = plot_slices(parts, first)
            yield "slices", "By slice", f'<p class="soft">{about}</p>\n{plot}\n'
    except MissingExtraError as missing:
        yield "plots", "No plots", f'<p class="soft">{_text(str(missing))}</p>\n'


def _about_history(report: Report) -> str:
    last = report.history[-1]
    validity = VALIDITY.get(last.estimate.interval, FIXED)
    flat = "" if last.look is None else " Between planned looks the line is flat."
    aim = " The dotted lines are as far apart as the target width." if report.target_width else ""
    return (
        f'<p class="soft">The line is the estimate as it was shown after each number of draws, '
        f"the band its interval, {validity}.{flat}{aim}</p>\n"
    )


def _warnings(figures: Sequence[Figure]) -> str:
    names: dict[str, list[str]] = {}
    for one in figures:
        for warning in one.estimate.warnings:
            names.setdefault(warning, []).append(one.name)
    if not names:
        return ""
    items = "".join(
        f'<li>{_text(warning)} <span class="soft">({_text(_few(about))})</span></li>'
        for warning, about in names.items()
    )
    return f'<ul class="notes">{items}</ul>\n'


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _facts(facts: Sequence[tuple[str, str]]) -> str:
    inner = "".join(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>\n" for name, value in facts)
    return f'<dl class="facts">{inner}</dl>\n' if facts else ""


def _section(section: Section) -> str:
    text = f"<p>{_text(section.about)}</p>\n" if section.about else ""
    with suppress(MissingExtraError):  # the page says so where its first plots would be
        text += "".join(plot() for plot in section.plots)
    if not section.rows:
        return text
    more = len(section.rows) - _MOST_ROWS
    rest = f'<p class="soft">and {more} more</p>\n' if more > 0 else ""
    rows = section.rows[:_MOST_ROWS]
    filled = [at for at in range(len(section.columns)) if any(row[at] for row in rows)]
    columns = [section.columns[at] for at in filled]
    return text + _table(columns, [[row[at] for at in filled] for row in rows]) + rest
