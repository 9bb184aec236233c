"""A report as one HTML file that loads nothing from elsewhere, with all text escaped."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from math import isfinite

from levelled.errors import MissingExtraError
from levelled.metrics.figure import Figure
from levelled.reports.numbers import FIXED, VALIDITY, figure_cells, figure_notes
from levelled.reports.plots import plot_history, plot_slices

__all__ = ["Report", "Section", "page"]


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
    learnt: Sequence[Section] = ()
    """What a predictor has learnt from the labels, if there is one; shown below the plots."""


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

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1f24; --soft: #5b616b; --line: #d9dce1;
  --back: #ffffff; --wash: #f5f6f8; --accent: #1c63b8; --note: #fff6dd; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --soft: #a2a9b4; --line: #383d45;
  --back: #16181c; --wash: #1f2329; --accent: #7db3f2; --note: #38301a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.25rem 4rem; max-width: 60rem; background: var(--back);
  color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2.4rem 0 0.5rem; }
p { margin: 0.4rem 0; max-width: 46rem; }
.soft { color: var(--soft); font-size: 0.9rem; }
.headline { margin: 1.6rem 0; padding: 1.1rem 1.3rem; background: var(--wash);
  border-left: 4px solid var(--accent); }
.headline .value { font-size: 2.3rem; font-weight: 650; line-height: 1.15;
  font-variant-numeric: tabular-nums; }
.headline .interval { font-size: 1.15rem; color: var(--soft); margin-left: 0.6rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; width: 100%; }
th, td { padding: 0.38rem 0.7rem; text-align: left; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: anywhere; }
th { color: var(--soft); font-weight: 600; border-bottom-width: 2px; white-space: nowrap; }
td, th { min-width: 6rem; }
td.number, th.number { min-width: 0; text-align: right; font-variant-numeric: tabular-nums;
  white-space: nowrap; }
tr.whole td { font-weight: 600; }
tr.part td:first-child { color: var(--soft); }
.facts { display: grid; grid-template-columns: minmax(9rem, max-content) 1fr; gap: 0.2rem 1.2rem;
  font-size: 0.9rem; margin: 0.4rem 0; }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.notes { background: var(--note); padding: 0.6rem 1.1rem 0.6rem 2.2rem; margin: 0.5rem 0; }
svg { display: block; width: 100%; max-width: 46rem; height: auto; color: var(--ink);
  font-family: inherit; }
code { font: 0.9em ui-monospace, "SF Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }
@page { margin: 15mm; }
@media print { body { padding: 0; max-width: none; font-size: 11pt; }
  :root { --ink: #000000; --soft: #444444; --line: #bbbbbb; --back: #ffffff; --wash: #ffffff;
    --accent: #000000; --note: #ffffff; }
  .notes { border: 1px solid var(--line); }
  h2 { break-after: avoid; } svg, .headline, .facts, tr { break-inside: avoid; } }
"""

_MOST_ROWS = 200
_TEXTS = ("metric", "model", "slice")


def page(report: Report) -> str:
    """The HTML text of a report. Without matplotlib it has no plots and says how to get them.

    >>> from levelled.estimators import Estimate
    >>> est = Estimate(0.12, 0.08, 0.17, 0.95, 0.02, 300, 5000, 280.0, 2.0, "lure", "betting")
    >>> one = Figure("error", "", None, est, n_labels=300, n_settled=300, n_pending=0)
    >>> text = page(Report("<reviews>", "today", [("pool", "preds.parquet")], [one]))
    >>> "<h1>&lt;reviews&gt;</h1>" in text, "<script" in text
    (True, False)
    """
    parts = [
        _HEAD.format(title=_text(report.title), style=_STYLE),
        f"<header><h1>{_text(report.title)}</h1>",
        f'<p class="soft">{_text(report.at)}</p></header>\n<main>\n',
        _headline(report),
        _warnings(report.figures),
        "<h2>Figures</h2>\n",
        _figures(report.figures),
        *_plots(report),
        *(_section(section) for section in report.learnt),
        "<h2>Pool and settings</h2>\n",
        _facts(report.facts),
        *(_section(section) for section in report.sections),
        "<h2>How to check this report</h2>\n",
        _facts(report.record),
        "</main>\n</body>\n</html>\n",
    ]
    return "".join(parts)


def _text(value: str, most: int = 2000) -> str:
    """Escape text from outside, and replace its control characters."""
    cut = value if len(value) <= most else f"{value[: most - 1]}…"
    shown = "".join(one if one.isprintable() or one in "\n\u200c\u200d" else "�" for one in cut)
    return escape(shown)


def _headline(report: Report) -> str:
    first = report.figures[0]
    est, cells = first.estimate, figure_cells(first)
    value = "not known yet" if est.value is None else cells["value"]
    notes = [
        f"{est.level * 100:.4g}% confidence, {VALIDITY.get(est.interval, FIXED)}",
        f"{first.n_settled} draws settled",
        *figure_notes(first),
    ]
    if report.target_width is not None and isfinite(est.high - est.low):
        reached = est.high - est.low <= report.target_width
        notes.append(f"target width {report.target_width:g} {'' if reached else 'not yet '}reached")
    return (
        f'<div class="headline"><div>{_text(first.name)}</div>'
        f'<span class="value">{value}</span><span class="interval">{cells["interval"]}</span>'
        f'<div class="soft">{escape("; ".join(notes))}</div></div>\n'
    )


def _figures(figures: Sequence[Figure]) -> str:
    rows = [figure_cells(figure) for figure in figures]
    columns = [name for name in rows[0] if any(row[name] for row in rows)]
    kinds = {name: "" if name in _TEXTS else ' class="number"' for name in columns}
    head = "".join(f"<th{kinds[name]}>{name}</th>" for name in columns)
    body = "".join(
        f'<tr class="{"whole" if figure.slice is None else "part"}">'
        + "".join(f"<td{kinds[name]}>{_text(row[name])}</td>" for name in columns)
        + "</tr>\n"
        for figure, row in zip(figures, rows, strict=True)
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n{body}</table></div>\n'


def _plots(report: Report) -> Iterator[str]:
    """The plots, or how to get them."""
    first = report.figures[0]
    parts = [one for one in report.figures if one.slice is not None and one.metric == first.metric]
    try:
        if len(report.history) > 1:
            plot = plot_history(report.history, report.target_width)
            yield f"<h2>As the labels came in</h2>\n{_about_history(report)}{plot}\n"
        if parts:
            about = "The estimate of each slice with its interval; dashed: the whole pool."
            plot = plot_slices(parts, first)
            yield f'<h2>By slice</h2>\n<p class="soft">{about}</p>\n{plot}\n'
    except MissingExtraError as missing:
        yield f'<p class="soft">No plots: {_text(str(missing))}</p>\n'


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
    return f'<h2>Take note</h2>\n<ul class="notes">{items}</ul>\n'


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _facts(facts: Sequence[tuple[str, str]]) -> str:
    inner = "".join(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>\n" for name, value in facts)
    return f'<dl class="facts">{inner}</dl>\n'


def _section(section: Section) -> str:
    heading = f"<h2>{_text(section.title)}</h2>\n<p>{_text(section.about)}</p>\n"
    with suppress(MissingExtraError):  # the page says so where its first plots would be
        heading += "".join(plot() for plot in section.plots)
    if not section.rows:
        return heading
    head = "".join(f"<th>{_text(column)}</th>" for column in section.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{_text(cell, 300)}</td>" for cell in row) + "</tr>\n"
        for row in section.rows[:_MOST_ROWS]
    )
    more = len(section.rows) - _MOST_ROWS
    rest = f'<p class="soft">and {more} more</p>\n' if more > 0 else ""
    table = f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n{rows}</table></div>\n'
    return heading + table + rest
