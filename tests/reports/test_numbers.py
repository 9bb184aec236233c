from dataclasses import replace

import pytest

from levelled.estimators import Estimate
from levelled.metrics.comparison import Figure
from levelled.reports.numbers import figure_cells, figure_notes, number_format
from levelled.reports.page import Report, page

ESTIMATE = Estimate(0.12, 0.08, 0.17, 0.95, 0.02, 300, 5000, 280.0, 2.0, "lure", "betting")
FIGURE = Figure("error", "", None, ESTIMATE, n_labels=300, n_settled=300, n_pending=0)


@pytest.mark.parametrize(("n", "words"), [(1, "1 label is pending"), (3, "3 labels are pending")])
def test_the_bracket_of_pending_labels_is_worded_unlike_an_interval(n: int, words: str) -> None:
    figure = replace(FIGURE, n_pending=n, pending_value_min=0.11, pending_value_max=0.13)
    assert figure_cells(figure)["interval"] == "0.0800 to 0.1700"
    (note,) = [note for note in figure_notes(figure) if "pending" in note]
    assert note.startswith(words)
    assert "between 0.1100 and 0.1300, depending on what they say" in note
    assert "no interval" in note
    text = page(Report("mail", "today", [], [figure]))
    assert words in text
    assert "between 11.0% and 13.0%, depending on what they say" in text


def test_without_pending_labels_there_is_no_bracket() -> None:
    assert not any("pending" in note for note in figure_notes(FIGURE))


@pytest.mark.parametrize(
    ("metric", "high", "shown"),
    [
        ("error", 0.17, "12.0%"),
        ("f1:spam", 0.17, "12.0%"),
        ("error", 0.085, "12.00%"),
        ("error", 0.0801, "12.000%"),
        ("brier", 0.17, "0.1200"),
        ("mean:1:5", 0.17, "0.1200"),
    ],
)
def test_numbers_are_in_per_cent_where_people_know_them_so(
    metric: str, high: float, shown: str
) -> None:
    figure = replace(FIGURE, metric=metric, estimate=replace(ESTIMATE, high=high))
    assert number_format(figure)(0.12) == shown
    assert figure_cells(figure, number_format(figure))["value"] == shown
    assert number_format(figure)(float("inf")) == "∞"
