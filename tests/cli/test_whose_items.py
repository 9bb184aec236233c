"""On the command line too, an item belongs to those who were given it."""

from pathlib import Path

import pytest

from cli.terminal import Levelled
from levelled.campaigns import Campaign, load_campaign
from whose_items import PLACES, STEPS, TABLE, hand_out


@pytest.fixture
def spam(levelled: Levelled, pool: Path) -> Campaign:
    levelled("create", "spam", "--pool", pool, "--seed", 7, "--budget", 100)
    campaign = load_campaign("spam", storage="sqlite:///levelled.db")
    hand_out(campaign)
    return campaign


def words(actor: str, step: str, draw: int) -> list[object]:
    """The command of a step: ann in her own name, eve as an analyst."""
    if step == "return":
        mark = ["--all"] if actor == "eve" else []
        return ["open", "spam", "--return", "--draw", draw, "--owner", actor, *mark]
    more = {
        "tell": [draw, "spam"],
        "skip": [draw, "--skip"],
        "unlabelable": [draw, "--unlabelable", "--reason", "blank"],
        "amend": [draw, "spam", "--amend"],
    }
    mark = ["--for", "eve"] if actor == "eve" else []
    return ["tell", "spam", *more[step], "--owner", actor, *mark]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("actor", ["ann", "eve"])
def test_a_step_works_on_the_items_of_the_table(
    levelled: Levelled, spam: Campaign, actor: str, step: str
) -> None:
    works = {place: row for who, what, place, row in TABLE if (who, what) == (actor, step)}
    for place, draw in PLACES.items():
        result = levelled(*words(actor, step, draw))
        assert result.code == (0 if works[place] else 1), result.err
        assert works[place] or result.err.count("\n") == 1, "one line says why"
    assert spam.audit() == []


def test_whoever_answers_for_another_is_told_how_to_say_so(
    levelled: Levelled, spam: Campaign
) -> None:
    refused = levelled("tell", "spam", 4, "ham", "--owner", "ann")
    assert (refused.code, "--for" in refused.err) == (1, True)
    assert levelled("tell", "spam", 4, "ham", "--owner", "ann", "--for", "bob").code == 0
    assert spam.state.answers[4].by == "bob"
    event = spam._log.store.events("spam")[-1].event
    assert (event["by"], event["on_behalf_of"]) == ("ann", "bob")


def test_a_file_without_a_name_is_of_those_who_have_the_items(
    levelled: Levelled, spam: Campaign
) -> None:
    told = "draw,label\n1,ham\n2,ham\n4,spam\n"
    assert levelled("tell", "spam", "-", given=told).err == "3 new answers\n"
    assert [spam.state.answers[draw].by for draw in (1, 2, 4)] == ["ann", "bob", "bob"]
    assert levelled("tell", "spam", "-", given=told).err == "3 already known\n"


def test_the_command_says_which_labels_came_late(levelled: Levelled, spam: Campaign) -> None:
    said = levelled("tell", "spam", 3, "spam", "--owner", "ann").err
    assert "1 kept as second opinions" in said
    assert "draw 3 came late" in said
    said = levelled("tell", "spam", 3, "ham", "--amend", "--owner", "ann").err
    assert "draw 3 came late" in said


def test_a_single_person_needs_no_name(levelled: Levelled, pool: Path) -> None:
    levelled("create", "mine", "--pool", pool, "--seed", 7)
    levelled("ask", "mine", "-n", 4)
    assert levelled("tell", "mine", 1, "ham").code == 0
    assert levelled("tell", "mine", 1, "spam", "--amend").code == 0
    assert levelled("tell", "mine", 2, "--skip").code == 0
    assert levelled("tell", "mine", 3, "--unlabelable", "--reason", "blank").code == 0
    assert levelled("tell", "mine", "--undo").code == 0
    assert levelled("open", "mine", "--return").code == 0
    assert levelled("audit", "mine").code == 0
