"""Questions beside the label, notes and guidelines: kept, checked, exported and audited."""

from pathlib import Path
from typing import Any

import pyarrow.csv as pacsv
import pytest

from campaigns.simulated import begun, spam
from levelled.campaigns import Campaign, create_campaign, load_campaign
from levelled.campaigns.options import OPTIONS
from levelled.campaigns.settings import CampaignSettings, check_option, parse_question
from levelled.errors import CampaignError, InputError

POOL, TRUTH = spam(60)
QUESTIONS = ["tone=rude,neutral,kind", "clarity=1:5", "price=number", "why=text"]


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """A campaign with a rubric, of which ann has the first five items."""
    made = begun(tmp_path / "c.db", POOL, questions=QUESTIONS, guidelines="# Be fair")
    made.ask(5, owner="ann")
    return made


def remarks(campaign: Campaign, draw: int) -> tuple[object, str | None, dict[str, Any]]:
    answer = campaign.state.answers[draw]
    return answer.label, answer.note, {**answer.rubric}


@pytest.mark.parametrize("text", QUESTIONS)
def test_a_question_is_written_as_it_is_read(text: str) -> None:
    assert parse_question(text).notation == text


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("tone", "is no question"),
        ("=a,b", "is no question"),
        ("tone=", "is no question"),
        ("tone=rude", "is no question"),
        ("tone=rude,rude", "is no question"),
        ("tone=rude,,kind", "is no question"),
        ("clarity=5:1", r"lower.*higher"),
        ("label=a,b", "exports have a column"),
        ("pred@v2=a,b", "exports have a column"),
        (f"{'x' * 41}=a,b", "is no name"),
        ("a\nb=a,b", "is no name"),
    ],
)
def test_a_malformed_question_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(CampaignError, match=complaint):
        parse_question(text)


def test_questions_and_guidelines_are_part_of_the_campaign(
    campaign: Campaign, tmp_path: Path
) -> None:
    again = load_campaign("spam", storage=tmp_path / "c.db")
    label, *rubric = again.questions
    assert (label.name, label.kind, label.classes) == ("label", "classes", ("ham", "spam"))
    assert [one.notation for one in rubric] == QUESTIONS
    assert again.settings.guidelines == "# Be fair"


def test_a_note_and_a_rubric_are_kept_beside_the_label(campaign: Campaign, tmp_path: Path) -> None:
    answers = {"tone": "kind", "clarity": "4", "price": 2, "why": "short"}
    campaign.tell(1, "ham", owner="ann", note="odd", rubric=answers)
    campaign.tell(2, "spam", owner="ann")
    campaign.keep()
    for one in (campaign, load_campaign("spam", storage=tmp_path / "c.db")):
        kept = {"tone": "kind", "clarity": 4, "price": 2.0, "why": "short"}
        assert remarks(one, 1) == ("ham", "odd", kept)
        assert remarks(one, 2) == ("spam", None, {})
    assert campaign.audit() == []
    table = campaign.to_table().to_pylist()
    assert [row["note"] for row in table] == ["odd", None, None, None, None]
    assert table[0]["clarity"] == 4
    campaign.report(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "Notes of labellers" in text
    assert "tone=rude,neutral,kind; clarity=1:5" in text
    campaign.export(tmp_path / "out.csv")
    exported = pacsv.read_csv(tmp_path / "out.csv").to_pylist()
    assert (exported[0]["tone"], exported[0]["why"]) == ("kind", "short")


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"rubric": {"tune": "kind"}}, r"'tune'.*'tone', 'clarity'"),
        ({"rubric": {"tone": "nice"}}, r"'nice'.*'tone'.*'rude'"),
        ({"rubric": {"clarity": 6}}, r"6 .*'clarity'.*whole"),
        ({"rubric": {"clarity": 2.5}}, "2.5 is no answer"),
        ({"rubric": {"clarity": "high"}}, r"number.*'high'"),
        ({"rubric": {"price": float("nan")}}, "must be a number"),
        ({"rubric": {"why": "x" * 10_001}}, "10,001 characters"),
        ({"rubric": ["kind"]}, "each question"),
        ({"note": 3}, "A note is text"),
        ({"note": "x" * 10_001}, "10,001 characters"),
    ],
)
def test_remarks_that_do_not_fit_are_refused(
    campaign: Campaign, more: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(CampaignError, match=complaint):
        campaign.tell(1, "ham", owner="ann", **more)
    assert campaign.state.answers == {}


def test_telling_the_same_label_with_another_note_amends_the_note(campaign: Campaign) -> None:
    campaign.tell(1, "ham", owner="ann", note="odd", rubric={"tone": "kind"})
    n_events = campaign.state.n_events
    campaign.tell(1, "ham", owner="ann")
    campaign.tell(1, "ham", owner="ann", note="odd", rubric={"tone": "kind"})
    assert campaign.state.n_events == n_events, "the same again changes nothing"
    campaign.tell(1, "ham", owner="ann", rubric={"clarity": 2})
    assert remarks(campaign, 1) == ("ham", "odd", {"tone": "kind", "clarity": 2})
    campaign.tell(1, "ham", owner="ann", note="", rubric={"tone": None})
    assert remarks(campaign, 1) == ("ham", None, {"clarity": 2})
    assert campaign.state.relabelled() == [], "no label was replaced"
    assert campaign.undo(owner="ann") == 1
    assert remarks(campaign, 1) == ("ham", "odd", {"tone": "kind", "clarity": 2})
    with pytest.raises(CampaignError, match=r"differs.*ann"):
        campaign.tell(1, "spam", owner="ann", note="odd")
    campaign.amend(1, "spam", owner="ann")
    assert remarks(campaign, 1) == ("spam", "odd", {"tone": "kind", "clarity": 2})
    assert campaign.state.relabelled() == [1]
    assert campaign.audit() == []


def test_a_second_opinion_has_remarks_of_its_own(campaign: Campaign) -> None:
    campaign.tell(1, "ham", owner="ann", note="hers")
    campaign.tell(1, "spam", owner="boss", on_behalf_of="bob", note="his")
    campaign.tell(1, "spam", owner="bob", note="his, later")
    (opinion,) = campaign.state.opinions[1]
    assert (opinion.label, opinion.note) == ("spam", "his, later")
    assert remarks(campaign, 1) == ("ham", "hers", {})
    assert campaign.audit() == []


def test_two_rows_for_one_draw_are_joined(campaign: Campaign) -> None:
    rows = [
        {"draw": 1, "label": "ham", "note": "odd", "rubric": {"tone": "kind"}},
        {"draw": 1, "label": "ham", "rubric": {"clarity": 3}},
    ]
    assert campaign.tell_all(rows, owner="ann") == 1
    assert remarks(campaign, 1) == ("ham", "odd", {"tone": "kind", "clarity": 3})


def test_an_audit_notices_remarks_that_no_labeller_could_give(campaign: Campaign) -> None:
    campaign.tell(1, "ham", owner="ann", rubric={"clarity": 3})
    store = campaign._log.store
    last = store.events("spam")[-1].event
    forged = {
        "log": last["log"],
        "type": "answered",
        "at": last["at"],
        "by": "ann",
        "label": "ham",
    }
    for more in ({"draw": 2, "rubric": {"clarity": 9}}, {"draw": 3, "note": ""}):
        store.append("spam", [{**forged, **more}], expected=store.count("spam"))
    found = campaign.audit()
    assert len(found) == 2
    assert "9 is no answer" in found[0]
    assert "would be kept as {}" in found[1]


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"questions": ["a=x,y", "a=1:5"]}, "'a' is named twice"),
        ({"questions": [f"q{i}=text" for i in range(51)]}, "51 questions"),
        ({"guidelines": "x" * 100_001}, "100,001 characters"),
        ({"guidelines": Path("guide.md")}, "text in Markdown"),
    ],
)
def test_a_campaign_with_unusable_questions_does_not_begin(
    tmp_path: Path, settings: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(CampaignError, match=complaint):
        create_campaign("spam", POOL, storage=tmp_path / "c.db", seed=1, **settings)
    assert not (tmp_path / "c.db").exists()


PLAIN = CampaignSettings("x", ("error",), None, "", 10, seed=1).to_json()


def test_settings_come_back_from_plain_values() -> None:
    assert CampaignSettings.from_json(PLAIN).to_json() == PLAIN


@pytest.mark.parametrize("drive", ["first", "balanced", "worst", "error", "error,brier"])
def test_what_draws_serve_comes_back_from_a_log(drive: str) -> None:
    plain = {**PLAIN, "metrics": ["error", "brier"], "drive": drive}
    assert CampaignSettings.from_json(plain).drive == drive


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("sorcery", 1, "newer"),
        ("kind", "auto", "newer"),
        ("drive", "sorcery", "newer"),
        ("drive", "both", "newer"),
        ("drive", "error,brier", "newer"),
        ("guarantee", 3, "newer"),
        ("budget", 0, "at least 1"),
        ("floor", 2.0, "between"),
        ("level", True, "level"),
        ("seed", "7", "seed"),
        ("seed", 1.5, "seed"),
        ("score", None, "score"),
        ("target_width", -0.1, "between"),
        ("content", [], "content"),
        ("slices", "country", "slices"),
        ("pair", [1, 2], "pair"),
    ],
)
def test_a_setting_that_no_campaign_has_is_refused_by_name(
    name: str, value: object, says: str
) -> None:
    with pytest.raises(CampaignError, match=name) as refused:
        CampaignSettings.from_json({**PLAIN, name: value})
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seed", -1),
        ("seed", None),
        ("lease_seconds", 0),
        ("lease_seconds", 10**9),
        ("looks", 101),
        ("level", 1.0),
        ("floor", float("nan")),
        ("drive", 3),
        ("model", 3),
    ],
)
def test_a_value_out_of_its_range_is_refused_by_name(name: str, value: Any) -> None:  # noqa: ANN401
    with pytest.raises(InputError, match=name):
        check_option(OPTIONS[name], value)


def test_a_large_seed_is_kept_to_the_last_digit() -> None:
    assert check_option(OPTIONS["seed"], 2**63 + 1) == 2**63 + 1
