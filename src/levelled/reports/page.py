"""A report as one HTML file: everything inside, nothing fetched, all text escaped."""

from collections.abc import Callable, Iterator, Sequence
from html import escape

from levelled.errors import MissingExtraError
from levelled.reports import pictures
from levelled.reports.record import Figure, Report, Section
from levelled.reports.style import STYLE

__all__ = ["page"]

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
_HOLDS = {
    "betting": "at every look at once",
    "anytime": "at every look at once, asymptotically",
    "undefined": "and nothing is known yet",
}
_DASH = "–"  # noqa: RUF001


def page(report: Report) -> str:
    """The whole page. Without matplotlib it has no pictures and says how to get them.

    >>> one = Figure("error", "", None, 0.12, 0.08, 0.17, 0.95, "betting", 300, 280.0)
    >>> text = page(Report("<reviews>", "today", [("pool", "preds.parquet")], [one]))
    >>> "<h1>&lt;reviews&gt;</h1>" in text, "<script" in text
    (True, False)
    """
    parts = [
        _HEAD.format(title=_text(report.title), style=STYLE),
        f"<header><h1>{_text(report.title)}</h1>",
        f'<p class="soft">{_text(report.at)}</p></header>\n<main>\n',
        _headline(report),
        _warnings(report.figures),
        "<h2>Figures</h2>\n",
        _figures(report.figures),
        *_drawn(report),
        "<h2>Pool and settings</h2>\n",
        _facts(report.facts),
        *(_section(section) for section in report.sections),
        "<h2>On record</h2>\n",
        _facts(report.record),
        "</main>\n</body>\n</html>\n",
    ]
    return "".join(parts)


def _text(value: str, most: int = 2000) -> str:
    """Text from outside: escaped, with control characters made visible."""
    cut = value if len(value) <= most else f"{value[: most - 1]}…"
    shown = "".join(one if one.isprintable() or one in "\n\u200c\u200d" else "�" for one in cut)
    return escape(shown)


def _headline(report: Report) -> str:
    first = report.figures[0]
    value = "not known yet" if first.value is None else _number(first.value)
    holds = _HOLDS.get(first.interval, "for a number of labels fixed beforehand")
    told = [f"at {first.level:.4g}, {holds}; {first.n_settled} draws settled"]
    if report.target_width is not None and first.low is not None and first.high is not None:
        reached = first.high - first.low <= report.target_width
        told.append(f"target width {report.target_width:g} {'' if reached else 'not yet '}reached")
    return (
        f'<div class="headline"><div>{_text(_name(first))}</div>'
        f'<span class="value">{value}</span><span class="interval">{_interval(first)}</span>'
        f'<div class="soft">{escape("; ".join(told))}</div></div>\n'
    )


def _name(figure: Figure) -> str:
    return " · ".join(filter(None, (figure.metric, figure.model, figure.slice)))


def _figures(figures: Sequence[Figure]) -> str:
    columns: list[tuple[str, bool, Callable[[Figure], str]]] = [
        ("metric", False, lambda one: _text(one.metric)),
        ("model", False, lambda one: _text(one.model)),
        ("slice", False, lambda one: _text(one.slice or "")),
        ("value", True, lambda one: _DASH if one.value is None else _number(one.value)),
        ("interval", True, _interval),
        ("with what is still out", True, _bracket),
        ("worth uniform labels", True, lambda one: f"{one.ess:.0f}"),
    ]
    optional = {"model", "slice", "with what is still out"}
    columns = [
        column for column in columns if column[0] not in optional or any(map(column[2], figures))
    ]
    head = "".join(_cell("th", name, number) for name, number, _ in columns)
    rows = "".join(
        f'<tr class="{"whole" if one.slice is None else "part"}">'
        + "".join(_cell("td", told(one), number) for _, number, told in columns)
        + "</tr>\n"
        for one in figures
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n{rows}</table></div>\n'


def _cell(kind: str, inner: str, number: bool) -> str:
    return f'<{kind} class="number">{inner}</{kind}>' if number else f"<{kind}>{inner}</{kind}>"


def _number(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:.6g}"


def _interval(figure: Figure) -> str:
    low = "-∞" if figure.low is None else _number(figure.low)
    high = "∞" if figure.high is None else _number(figure.high)
    return f"{low} {_DASH} {high}"


def _bracket(figure: Figure) -> str:
    if figure.pending_low is None or figure.pending_high is None:
        return ""
    return f"{_number(figure.pending_low)} {_DASH} {_number(figure.pending_high)}"


def _drawn(report: Report) -> Iterator[str]:
    """The pictures, or how to get them."""
    first = report.figures[0]
    parts = [one for one in report.figures if one.slice is not None and one.metric == first.metric]
    try:
        if len(report.history) > 1:
            drawn = pictures.running(report.history, report.target_width)
            yield f"<h2>As the labels came in</h2>\n{_running_about(report)}{drawn}\n"
        if parts:
            drawn = pictures.slices(parts, first)
            yield f"<h2>By slice</h2>\n{drawn}\n"
    except MissingExtraError as missing:
        yield f'<p class="soft">No pictures: {_text(str(missing))}</p>\n'


def _running_about(report: Report) -> str:
    holds = _HOLDS.get(report.history[-1].interval, "for each number by itself")
    aim = " The dotted lines are as far apart as the target width." if report.target_width else ""
    return (
        f'<p class="soft">The band is the interval after each number of draws; it holds {holds}.'
        f"{aim}</p>\n"
    )


def _warnings(figures: Sequence[Figure]) -> str:
    told: dict[str, list[str]] = {}
    for one in figures:
        for warning in one.warnings:
            told.setdefault(warning, []).append(_name(one))
    if not told:
        return ""
    items = "".join(
        f'<li>{_text(warning)} <span class="soft">({_text(_few(names))})</span></li>'
        for warning, names in told.items()
    )
    return f'<h2>Take note</h2>\n<ul class="notes">{items}</ul>\n'


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _facts(facts: Sequence[tuple[str, str]]) -> str:
    inner = "".join(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>\n" for name, value in facts)
    return f'<dl class="facts">{inner}</dl>\n'


def _section(section: Section) -> str:
    told = f"<h2>{_text(section.title)}</h2>\n<p>{_text(section.about)}</p>\n"
    if not section.rows:
        return told
    head = "".join(f"<th>{_text(column)}</th>" for column in section.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{_text(cell, 300)}</td>" for cell in row) + "</tr>\n"
        for row in section.rows[:_MOST_ROWS]
    )
    more = len(section.rows) - _MOST_ROWS
    rest = f'<p class="soft">and {more} more</p>\n' if more > 0 else ""
    table = f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n{rows}</table></div>\n'
    return told + table + rest
