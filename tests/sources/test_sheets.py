"""Cells that spreadsheets and terminals leave alone, and that are read back as they were."""

import pytest

from levelled.sources.sheets import read_cell, safe_cell


@pytest.mark.parametrize("text", ["=1+1", "+49 30", "-3", "@SUM(A1)", "\tx", "'=1", "''-x"])
def test_text_like_a_formula_gets_an_apostrophe_that_is_taken_away_again(text: str) -> None:
    assert safe_cell(text) == f"'{text}".replace("\r", "\\r")
    assert read_cell(safe_cell(text)) == text


@pytest.mark.parametrize("text", ["", "ham", "a=b", "'tis", "3", "größer", "👩‍🚒", "two\nlines"])
def test_other_text_stays_as_it_is(text: str) -> None:
    assert safe_cell(text) == text
    assert read_cell(text) == text


def test_a_terminal_is_not_told_anything() -> None:
    assert safe_cell("\x1b]0;title\x07\x9b31m\u202e") == "\\x1b]0;title\\x07\\x9b31m\\u202e"
