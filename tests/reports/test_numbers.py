from dataclasses import replace

import pytest

from levelled.estimators import Estimate
from levelled.metrics.figure import Figure
from levelled.reports.numbers import figure_cells, figure_notes
from levelled.reports.page import Report, page

ESTIMATE = Estimate(0.12, 0.08, 0.17, 0.95, 0.02, 300, 5000, 280.0, 2.0, "lure", "betting")
FIGURE = Figure("error", "", None, ESTIMATE, n_labels=300, n_settled=300, n_pending=0)


@pytest.mark.parametrize(("n", "words"), [(1, "1 label is pending"), (3, "3 labels are pending")])
def test_the_bracket_of_pending_labels_is_worded_unlike_an_interval(n: int, words: str) -> None:
    figure = replace(FIGURE, n_pending=n, pending_value_min=0.11, pending_value_max=0.13)
    cells = figure_cells(figure)
    assert cells["interval"] == "0.0800 to 0.1700"
    assert cells["value with pending labels"] == "at least 0.1100, at most 0.1300"
    (note,) = [note for note in figure_notes(figure) if "pending" in note]
    assert note.startswith(words)
    assert "between 0.1100 and 0.1300, depending on what they say" in note
    assert "no interval" in note
    text = page(Report("mail", "today", [], [figure]))
    assert words in text
    assert "at least 0.1100, at most 0.1300" in text


def test_without_pending_labels_there_is_no_bracket() -> None:
    assert not figure_cells(FIGURE)["value with pending labels"]
    assert not any("pending" in note for note in figure_notes(FIGURE))
