"""Labelling over HTTP does what the command line does, in the name of the token."""

import json

import pytest

from levelled.campaigns import load_campaign
from web.conftest import Site

SPAM = "/api/campaigns/spam"


def test_an_item_is_asked_for_and_told(either_site: Site) -> None:
    (item,) = either_site.ask()
    assert item["draw"] == 1
    assert item["data"]["text"].startswith("message ")
    assert "proba_spam" not in json.dumps(item)
    assert either_site.tell(1, "ham").json()["draws"] == [1]
    state = load_campaign("spam", storage=either_site.settings.storage).state
    assert (state.answers[1].label, state.answers[1].by) == ("ham", "ann")


def test_two_labellers_never_get_the_same_item(either_site: Site) -> None:
    ann, bob = either_site.ask(5, "ann"), either_site.ask(5, "bob")
    assert {one["draw"] for one in ann} | {one["draw"] for one in bob} == {*range(1, 11)}


def test_open_items_come_again_after_a_reload(site: Site) -> None:
    first = site.ask(3)
    assert [one["draw"] for one in site.ask(3)] == [one["draw"] for one in first]
    assert [one["draw"] for one in site.get(f"{SPAM}/mine", "ann").json()["items"]] == [1, 2, 3]
    assert site.get(f"{SPAM}/mine", "bob").json()["items"] == []


def test_reading_open_items_writes_nothing(site: Site) -> None:
    site.ask(2)
    before = site.get(SPAM).json()["n_events"]
    site.get(f"{SPAM}/mine", "ann")
    assert site.get(SPAM).json()["n_events"] == before


def test_telling_the_same_again_is_harmless(site: Site) -> None:
    site.ask()
    first = site.tell(1, "ham").json()["n_events"]
    assert site.tell(1, "ham").json()["n_events"] == first


def test_a_contradiction_is_refused_in_one_line(site: Site) -> None:
    site.ask()
    site.tell(1, "ham")
    refused = site.tell(1, "spam")
    assert refused.status_code == 409
    assert "what ann told" in refused.json()["error"]


def test_another_labellers_label_is_a_second_opinion(site: Site) -> None:
    site.ask()
    site.tell(1, "ham")
    assert site.tell(1, "spam", "bob").status_code == 409, "it was never his"
    body = {"answers": [{"draw": 1, "label": "spam"}], "owner": "bob"}
    assert site.post(f"{SPAM}/tell", body, "eve").json()["second_opinions"] == [1]
    assert site.get(f"{SPAM}/agreement").json()["n_items"] == 1


@pytest.mark.parametrize("label", ["eggs", "", "Ham ", 3, 1.5, "x" * 1001])
def test_a_label_that_is_no_class_is_refused(site: Site, label: object) -> None:
    site.ask()
    refused = site.tell(1, label)
    assert refused.status_code in (409, 422)
    assert "\n" not in refused.json()["error"]
    assert site.get(SPAM).json()["n_labels"] == 0


def test_all_labels_are_stored_or_none(site: Site) -> None:
    site.ask(2)
    answers = [{"draw": 1, "label": "ham"}, {"draw": 2, "label": "eggs"}]
    assert site.post(f"{SPAM}/tell", {"answers": answers}).status_code in (409, 422)
    assert site.get(SPAM).json()["n_labels"] == 0


def test_a_skipped_item_goes_to_another_labeller(site: Site) -> None:
    site.ask()
    assert site.post(f"{SPAM}/skip", {"draw": 1, "reason": "unreadable"}).status_code == 200
    assert [one["draw"] for one in site.ask(1, "ann")] == [2]
    assert [one["draw"] for one in site.ask(1, "bob")] == [1]


def test_an_item_that_cannot_be_labelled_is_marked(site: Site) -> None:
    site.ask()
    site.post(f"{SPAM}/unlabelable", {"draw": 1, "reason": "empty"})
    assert site.get(SPAM).json()["n_unlabelable"] == 1


def test_the_last_label_is_undone(site: Site) -> None:
    site.ask(2)
    site.tell(1, "ham")
    site.tell(2, "ham")
    assert site.post(f"{SPAM}/undo").json()["draws"] == [2]
    assert [one["draw"] for one in site.get(f"{SPAM}/history", "ann").json()] == [1]
    assert site.post(f"{SPAM}/undo", name="bob").status_code == 409


def test_the_history_has_the_newest_label_first(site: Site) -> None:
    for _ in range(3):
        site.tell(site.ask()[0]["draw"], "spam")
    rows = site.get(f"{SPAM}/history?n=2", "ann").json()
    assert [(row["draw"], row["label"]) for row in rows] == [(3, "spam"), (2, "spam")]


def test_items_are_returned_to_the_others(site: Site) -> None:
    site.ask(2)
    assert site.post(f"{SPAM}/return", {"draws": [2]}).json()["draws"] == [2]
    assert [one["draw"] for one in site.ask(1, "bob")] == [2]


def test_a_lease_is_renewed_without_another_item(site: Site) -> None:
    site.ask(2)
    again = site.post(f"{SPAM}/renew").json()["items"]
    assert [one["draw"] for one in again] == [1, 2]


def test_an_answer_on_its_way_is_no_reason_to_hand_out_another_item(site: Site) -> None:
    site.ask()
    reply = site.post(f"{SPAM}/ask", {"besides": [1], "lease_seconds": 60}).json()
    assert [one["draw"] for one in reply["items"]] == [2]
    site.tell(1, "ham")
    reply = site.post(f"{SPAM}/ask", {"besides": [1], "lease_seconds": 60}).json()
    assert [one["draw"] for one in reply["items"]] == [2]


def test_an_item_that_another_has_is_not_renewed(either_site: Site) -> None:
    either_site.ask(2)
    either_site.post(f"{SPAM}/return", {"draws": [1]})
    assert [one["draw"] for one in either_site.ask(1, "bob")] == [1]
    again = either_site.post(f"{SPAM}/renew", {"draws": [1, 2]}).json()["items"]
    assert [one["draw"] for one in again] == [2]


def test_labels_that_wait_are_said_to_all_and_freed_by_an_analyst(site: Site) -> None:
    site.post(f"{SPAM}/change", {"away_seconds": 1}, "eve")
    site.ask(1, "bob")
    site.tell(site.ask()[0]["draw"], "ham")
    site.post(f"{SPAM}/return", {"draws": [1], "everyone": True}, "eve")
    for name in ("ann", "eve"):
        waiting = site.get(SPAM, name).json()["waiting"]
        assert (waiting["n_labels"], waiting["draws"]) == (1, [])
        assert "nobody has" in waiting["text"]
    assert [one["draw"] for one in site.ask()] == [1]


def test_an_analyst_acts_for_others_and_a_labeller_does_not(site: Site) -> None:
    assert site.post(f"{SPAM}/ask", {"owner": "bob"}, "ann").status_code == 403
    assert site.post(f"{SPAM}/ask", {"owner": "bob"}, "eve").status_code == 200
    assert [one["owner"] for one in site.get(f"{SPAM}/open").json()] == ["bob"]


def test_only_an_analyst_frees_the_items_of_others(site: Site) -> None:
    site.ask(1, "bob")
    assert site.post(f"{SPAM}/return", {"everyone": True}, "ann").status_code == 403
    assert site.post(f"{SPAM}/return", {"everyone": True}, "eve").json()["draws"] == [1]


def test_fewer_items_than_asked_for_come_with_the_reason(site: Site) -> None:
    site.post(f"{SPAM}/change", {"budget": 2}, "eve")
    reply = site.post(f"{SPAM}/ask", {"n": 3}).json()
    assert len(reply["items"]) == 2
    assert "the budget of 2 labels" in reply["note"]


def test_a_labeller_sees_nothing_of_the_model(site: Site) -> None:
    seen = site.get(SPAM, "ann").json()
    assert seen["classes"] == ["ham", "spam"]
    assert not {"metrics", "models", "pool", "agreement", "seed"} & seen.keys()
    assert seen["visitor"] == {"name": "ann", "role": "labeller"}


def test_the_events_of_both_surfaces_are_one_log(site: Site) -> None:
    site.ask(2)
    site.tell(1, "ham")
    campaign = load_campaign("spam", storage=site.settings.storage)
    campaign.tell(2, "spam", owner="ann")
    assert [row["draw"] for row in site.get(f"{SPAM}/history", "ann").json()] == [2, 1]
    assert campaign.audit() == []
