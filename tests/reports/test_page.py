import re
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from levelled.estimators import Estimate
from levelled.metrics.comparison import Figure
from levelled.reports import Report, Section, html_headline, html_sections, page

ESTIMATE = Estimate(
    0.12, 0.08, 0.17, 0.95, 0.02, 300, 5000, 280.0, 2.0, "lure", "betting", worth=310
)
ERROR = Figure("error", "", None, ESTIMATE, n_labels=300, n_settled=300, n_pending=0)
SLICES = [
    replace(ERROR, slice=f"country={name}", estimate=replace(ESTIMATE, ess=90.0))
    for name in ("de", "fr")
]
HISTORY = [
    replace(ERROR, n_settled=n, estimate=replace(ESTIMATE, low=0.12 - 1 / n, high=0.12 + 1 / n))
    for n in (50, 150, 300)
]
REPORT = Report(
    title="reviews",
    at="today",
    facts=[("pool", "preds.parquet"), ("seed", "7")],
    figures=[ERROR, *SLICES],
    history=HISTORY,
    target_width=0.1,
    sections=[Section("Amended answers", "One.", ("draw", "before"), [("3", "ham")])],
    record=[("last hash", "ab12")],
)
HOSTILE = "<script>alert(1)</script><img src=x onerror=y>\" onload='z' \x1b[31m $x_{ [red] \u202e"


class Tags(HTMLParser):
    """Every tag with its attributes; the text beside it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_everything_in_the_record_is_on_the_page() -> None:
    text = Tags(page(REPORT)).text
    for told in ("reviews", "today", "preds.parquet", "12.0%", "8.0%", "17.0%", "country=de"):
        assert told in text
    for told in (
        "Amended answers",
        "ham",
        "ab12",
        "about 310 for this width",
        "It rests on 300 labels",
        "width of 0.1 is reached",
    ):
        assert told in text


def test_each_warning_is_told_once_with_what_it_is_about() -> None:
    warned = [
        replace(one, estimate=replace(one.estimate, warnings=("few labels",)))
        for one in REPORT.figures
    ]
    text = page(REPORT._replace(figures=warned))
    assert text.count("few labels") == 1
    assert "country=fr" in text[text.index("few labels") :]
    assert "Take note" not in page(REPORT)


def test_the_page_stands_alone() -> None:
    for tag, attributes in Tags(page(REPORT)).tags:
        assert tag not in ("script", "img", "link", "iframe", "object", "base", "form")
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in ("src", "href", "xlink:href"):
                assert str(value).startswith("#")


def test_hostile_text_stays_text() -> None:
    pytest.importorskip("matplotlib")
    bad = Figure(HOSTILE, HOSTILE, HOSTILE, ESTIMATE, n_labels=9, n_settled=9, n_pending=0)
    warned = replace(ESTIMATE, warnings=(HOSTILE,))
    report = Report(
        HOSTILE,
        HOSTILE,
        [(HOSTILE, HOSTILE)],
        [replace(bad, slice=None, estimate=warned), bad],
        [bad, bad],
        None,
        [Section(HOSTILE, HOSTILE, (HOSTILE,), [(HOSTILE,)])],
        [(HOSTILE, HOSTILE)],
    )
    text = page(report)
    assert "\x1b" not in text
    assert "\u202e" not in text
    tags = Tags(text).tags
    assert {tag for tag, _ in tags} <= {tag for tag, _ in Tags(page(REPORT)).tags} | {
        "ul",
        "li",
        "span",
    }
    assert not any(name.startswith("on") for _, attributes in tags for name in attributes)
    assert text.count("<svg") == 2


def test_a_page_without_matplotlib_says_how_to_get_pictures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [*sys.modules]:
        if name.partition(".")[0] == "matplotlib":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    text = page(REPORT)
    assert "<svg" not in text
    assert "levelled[plots]" in text
    assert "12.0%" in text


def test_pictures_take_the_ink_of_the_page() -> None:
    pytest.importorskip("matplotlib")
    text = page(REPORT)
    assert text.count("<svg") == 2
    assert "currentColor" in text
    assert "#010203" not in text
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_a_page_can_be_made_before_the_first_label() -> None:
    unknown = replace(ESTIMATE, value=None, low=0.0, high=1.0, interval="undefined")
    nothing = replace(ERROR, estimate=unknown, n_settled=0)
    text = page(REPORT._replace(figures=[nothing], history=[]))
    assert "not known yet" in text
    assert "<svg" not in text


def test_an_interval_without_an_end_is_shown_as_such() -> None:
    pytest.importorskip("matplotlib")
    open_ended = replace(ERROR, estimate=replace(ESTIMATE, high=float("inf"), interval="anytime"))
    text = page(REPORT._replace(figures=[open_ended], history=[open_ended, open_ended]))
    assert "∞" in text
    assert "asymptotically" in text


def test_the_page_is_the_same_when_made_again() -> None:
    assert page(REPORT) == page(REPORT)


def test_long_tables_are_cut_and_say_so() -> None:
    rows = [(str(n),) for n in range(500)]
    text = page(REPORT._replace(sections=[Section("Long", "", ("n",), rows)]))
    assert "and 300 more" in text
    assert len(re.findall("<td", text)) < 300


def test_what_is_empty_is_left_out() -> None:
    empty = Section("Nothing", "")
    half = Section("Half", "", ("draw", "notes"), [("3", "")])
    report = REPORT._replace(record=[], history=[], figures=[ERROR], sections=[empty, half])
    assert [name for name, _, _ in html_sections(report)] == ["figures", "section", "settings"]
    assert "notes</th>" not in page(report)


def test_a_web_page_can_show_the_parts_of_the_report() -> None:
    pytest.importorskip("matplotlib")
    text = page(REPORT)
    assert html_headline(REPORT) in text
    names = [name for name, _, _ in html_sections(REPORT)]
    assert names == ["figures", "history", "slices", "section", "settings", "record"]
    for _, title, inner in html_sections(REPORT):
        assert title in text
        assert inner in text
