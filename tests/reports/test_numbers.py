"""Figures as text: numbers, notes, and the first sentences of a report."""

from dataclasses import replace

import pytest

from levelled.estimators import Estimate
from levelled.metrics.comparison import Figure
from levelled.reports.numbers import (
    figure_cells,
    figure_notes,
    headline,
    number_format,
    reading_notes,
    why_trust,
)
from levelled.reports.page import Report, page

ESTIMATE = Estimate(0.12, 0.08, 0.17, 0.95, 0.02, 300, 5000, 280.0, 2.0, "lure", "betting")
FIGURE = Figure("error", "", None, ESTIMATE, n_labels=300, n_settled=300, n_pending=0)


@pytest.mark.parametrize(("n", "words"), [(1, "1 label is pending"), (3, "3 labels are pending")])
def test_the_bracket_of_pending_labels_is_worded_unlike_an_interval(n: int, words: str) -> None:
    figure = replace(FIGURE, n_pending=n, pending_value_min=0.11, pending_value_max=0.13)
    assert figure_cells(figure)["interval"] == "0.0800 to 0.1700"
    (note,) = [note for note in figure_notes(figure) if "pending" in note]
    assert note.startswith(words)
    assert "between 0.1100 and 0.1300" in note
    assert "no interval" in note
    text = page(Report("mail", "today", [], [figure]))
    assert words in text
    assert "between 11.0% and 13.0%" in text


def test_without_pending_labels_there_is_no_bracket() -> None:
    assert not any("pending" in note for note in figure_notes(FIGURE))


@pytest.mark.parametrize(
    ("metric", "high", "shown"),
    [
        ("error", 0.17, "12.0%"),
        ("f1:spam", 0.17, "12.0%"),
        ("error", 0.125, "12.00%"),
        ("error", 0.1201, "12.000%"),
        ("brier", 0.17, "0.1200"),
        ("mean:1:5", 0.17, "0.1200"),
    ],
)
def test_numbers_are_in_per_cent_where_people_know_them_so(
    metric: str, high: float, shown: str
) -> None:
    low = 0.08 if high == 0.17 else 0.12
    figure = replace(FIGURE, metric=metric, estimate=replace(ESTIMATE, low=low, high=high))
    assert number_format(figure)(0.12) == shown
    assert figure_cells(figure, number_format(figure))["value"] == shown
    assert number_format(figure)(float("inf")) == "∞"


LOOKED = Estimate(
    0.0923, 0.068, 0.127, 0.95, 0.02, 200, 5000, 180.0, 2.0, "lure", "looks", worth=340
)
ERROR = Figure("error", "v2", None, LOOKED, n_labels=200, n_settled=200, n_pending=0)


@pytest.mark.parametrize(
    ("metric", "model", "sentence"),
    [
        ("error", "v2", "The model v2 is wrong on 9.2% of the 5,000 items"),
        ("error", "", "The model is wrong on 9.2% of the 5,000 items"),
        ("accuracy", "", "The model is right on 9.2% of the 5,000 items"),
        ("share:spam", "", "9.2% of the 5,000 items are spam"),
        ("precision:spam", "v2", "9.2% of the items that the model v2 predicts as spam are spam"),
        ("recall:spam", "v2", "The model v2 finds 9.2% of the items that are spam"),
        ("f1:spam", "v2", "The F1 of the model v2 for spam is 9.2%"),
        ("mean:1:5", "", "The mean label of the 5,000 items is 0.0923"),
        ("brier", "v2", "The brier of the model v2 on the 5,000 items is 0.0923"),
        ("own.module:loss", "", "The own.module:loss of the model on the 5,000 items is 0.0923"),
    ],
)
def test_the_headline_is_a_sentence_about_the_model(metric: str, model: str, sentence: str) -> None:
    text = headline(replace(ERROR, metric=metric, model=model))
    limits = "6.8% to 12.7%" if "9.2%" in sentence else "0.0680 to 0.1270"
    assert text == f"{sentence} (95% interval {limits})."


def test_a_name_with_braces_is_a_name() -> None:
    assert "{0} {model}" in headline(replace(ERROR, model="{0} {model}"))


def test_it_says_why_to_trust_it() -> None:
    for words in ("200 labels", "unbiased", "however often you look", "Random labels: about 340"):
        assert words in why_trust(ERROR)
    for ratio in (replace(ERROR, metric="f1:spam"), replace(ERROR, unlabelable=0.1)):
        assert "unbiased" not in why_trust(ratio)
    assert "that can be labelled" in headline(replace(ERROR, unlabelable=0.1))
    fixed = replace(ERROR, estimate=replace(LOOKED, interval="t", worth=None))
    assert "fixed beforehand" in why_trust(fixed)
    assert "however often" not in why_trust(fixed)


def test_before_the_first_and_after_the_last_label() -> None:
    nothing = replace(LOOKED, value=None, low=0.0, high=1.0, interval="undefined", worth=None)
    unknown = replace(ERROR, estimate=nothing, n_labels=0, n_looks=5)
    for metric, name in (("error", "The error of the model v2"), ("share:a", "The share of a")):
        assert headline(replace(unknown, metric=metric)) == f"{name} is not known yet."
    (note,) = reading_notes(unknown)
    assert "look" in note
    exact = replace(ERROR, estimate=replace(LOOKED, interval="point"))
    assert "5,000 items (known exactly)" in headline(exact)
    assert why_trust(exact) == "Every item is labelled."


def test_the_target_is_reached_or_not() -> None:
    for width, words in ((0.1, "0.1 is reached"), (0.05, "0.05 is not reached")):
        assert [note for note in reading_notes(ERROR, width) if words in note]
