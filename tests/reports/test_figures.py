"""Figures as a list that prints as a table, with a frame and a plot."""

import sys
from dataclasses import replace

import pytest

from levelled.errors import MissingExtraError
from levelled.estimators import Estimate
from levelled.metrics.comparison import Figure
from levelled.reports.figures import Figures

ESTIMATE = Estimate(
    *(0.12, 0.08, 0.17, 0.95, 0.02, 300, 5000, 280.0, 2.0, "ramped", "looks"),
    worth=1234.5,
    random=(0.06, 0.2),
)
FIRST = Figure(
    "error",
    "v2",
    None,
    ESTIMATE,
    n_labels=300,
    n_settled=300,
    n_pending=0,
    look=272,
    next_look=28,
    n_looks=5,
)
PART = replace(FIRST, slice="by=<b>\x1b[31m", estimate=replace(ESTIMATE, worth=None, random=None))
FIGURES = Figures([FIRST, PART], "mails", lambda: "much was learnt")


def test_they_are_a_list_that_prints_as_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    assert FIGURES == [FIRST, PART]
    text = str(FIGURES)
    assert repr(FIGURES) == text
    for words in (
        "mails: 300 labels",
        "random labels",
        "about 1,200 for this width",
        "next look in 28 labels.",
        "much was learnt.",
    ):
        assert words in text
    assert "\x1b" not in text
    assert str(Figures([])) == "no figures"


@pytest.mark.parametrize(("columns", "words"), [("80", "about 1,200"), ("40", "error v2")])
def test_a_narrow_terminal_gets_fewer_words(
    columns: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert words in str(FIGURES)
    assert "1,200 for this width" not in str(FIGURES)


def test_a_notebook_gets_the_same_in_html() -> None:
    html = FIGURES._repr_html_()
    assert "about 1,200 for this width" in html
    assert "8.0% to 17.0%" in html
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert "\x1b" not in html
    assert "no figures" in Figures([])._repr_html_()


def test_the_frame_has_a_row_for_each_figure() -> None:
    pytest.importorskip("pandas")
    frame = FIGURES.to_pandas()
    assert frame["worth"][0] == 1234.5
    assert frame[["random_low", "random_high"]].iloc[0].tolist() == [0.06, 0.2]
    assert len(frame) == 2


@pytest.mark.parametrize(("module", "method"), [("pandas", "to_pandas"), ("matplotlib", "plot")])
def test_what_is_not_installed_is_named(
    module: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match="pip install"):
        getattr(FIGURES, method)()


def test_the_plot_has_every_row_and_the_grey_band() -> None:
    figures = pytest.importorskip("matplotlib.figure")
    axes = figures.Figure().subplots()
    assert FIGURES.plot(axes) is axes
    (band,) = [bar for one in axes.containers for bar in one]
    assert band.get_x() == pytest.approx(0.06)
    assert band.get_width() == pytest.approx(0.14)
    assert len(axes.get_yticklabels()) == 2
    assert [one.get_text() for one in axes.get_legend().get_texts()] == [
        "95% interval",
        "random labels",
    ]
