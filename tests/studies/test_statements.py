"""The list of what the paper says: every place that it names is there, and the page is its own."""

from pathlib import Path

import pytest

from levelled_studies.statements import Item, missing, page, sections
from levelled_studies.study import StudyError

ROOT = Path(__file__).parents[2]
ITEMS = [item for section in sections() for item in section.items]


def test_the_committed_page_is_the_generated_one() -> None:
    assert (ROOT / "docs/paper/coverage.md").read_text() == page(ROOT), (
        "write it anew: python -m levelled_studies.statements docs"
    )


def test_there_are_at_least_as_many_items_as_were_asked_for_and_none_twice() -> None:
    assert len(ITEMS) >= 151
    said = [(item.where, item.says) for item in ITEMS]
    assert len(set(said)) == len(said)


def test_items_stand_in_every_part_of_the_paper() -> None:
    wheres = " ".join(item.where for item in ITEMS)
    for part in ("abstract", *(f"section {n}" for n in range(1, 9)), "B.1", "B.9", "C.1", "C.2"):
        assert part in wheres
    panels = {"2": "abc", "3": "abcdef", "4": "abc", "5": "ab", "6": "ab"}
    figures = [f"{number}{letter}" for number, letters in panels.items() for letter in letters]
    figures += ["1", "7", "8", "9", "10"]
    for figure in figures:
        assert f"Figure {figure}" in wheres
    for theorem in range(1, 8):
        assert f"Theorem {theorem}" in wheres


def test_every_place_is_there() -> None:
    assert missing(ROOT, ITEMS) == []


@pytest.mark.parametrize(
    "place",
    [
        "tests/studies/test_coverage.py::test_nothing",
        "levelled.estimators.lure:nothing",
        "levelled.nothing:lure_weights",
        "study nothing",
        "claim linear-bias/nothing",
        "claim nothing/naive-biased",
        "figure linear-bias/nothing.png",
        "theorem Theorem 8",
        "note D",
        "docs/nothing.md",
    ],
)
def test_a_place_that_is_not_there_is_found(place: str) -> None:
    assert missing(ROOT, [Item("section 1", "It is so.", (place,), "right")]) == [place]


@pytest.mark.parametrize("status", ["wrong", "partly", "partly: ", "right: because", "not"])
def test_a_status_without_its_reason_is_refused(status: str) -> None:
    with pytest.raises(StudyError, match="status"):
        Item("section 1", "It is so.", ("docs/start.md",), status)


def test_an_item_without_a_place_is_refused() -> None:
    with pytest.raises(StudyError, match="names no place"):
        Item("section 1", "It is so.", (), "right")
