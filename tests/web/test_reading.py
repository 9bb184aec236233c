"""Analysts read the numbers of the command line, and change campaigns."""

import json
import subprocess
import sys
from typing import Any

import pytest

from levelled.campaigns import load_campaign
from web.conftest import Site

SPAM = "/api/campaigns/spam"


def label_some(site: Site, n: int = 30) -> None:
    items = site.ask(n)
    labels = ["spam" if int(str(one["id"])[1:]) % 3 == 0 else "ham" for one in items]
    rows = zip(items, labels, strict=True)
    answers = [{"draw": one["draw"], "label": label} for one, label in rows]
    assert site.post(f"{SPAM}/tell", {"answers": answers}).status_code == 200


def test_the_estimate_is_that_of_the_command_line(site: Site) -> None:
    label_some(site)
    command = [sys.executable, "-m", "levelled", "estimate", "spam", "--format", "json"]
    printed = subprocess.run(
        [*command, "--storage", site.settings.storage], capture_output=True, check=False
    )
    assert site.get(f"{SPAM}/estimate").json() == json.loads(printed.stdout)


def test_a_new_label_is_in_the_next_estimate(either_site: Site) -> None:
    label_some(either_site, 3)
    first = either_site.get(f"{SPAM}/estimate").json()
    assert either_site.get(f"{SPAM}/estimate").json() == first
    either_site.tell(either_site.ask()[0]["draw"], "ham")
    second = either_site.get(f"{SPAM}/estimate").json()
    assert (first[0]["n_labels"], second[0]["n_labels"]) == (3, 4)


def test_a_label_of_another_process_is_in_the_next_estimate(site: Site) -> None:
    label_some(site, 3)
    site.get(f"{SPAM}/estimate")
    other = load_campaign("spam", storage=site.settings.storage)
    other.tell(other.ask(1, owner="bob")[0].draw, "ham", owner="bob")
    assert site.get(f"{SPAM}/estimate").json()[0]["n_labels"] == 4


def test_the_trajectory_ends_with_the_estimate(site: Site) -> None:
    label_some(site)
    rows = site.get(f"{SPAM}/trajectory").json()
    first = site.get(f"{SPAM}/estimate").json()[0]
    assert [row["n_settled"] for row in rows] == [*range(1, 31)]
    assert rows[-1]["value"] == pytest.approx(first["value"], rel=1e-12)


def test_a_judge_is_that_of_the_command_line(site: Site) -> None:
    assert site.get(f"{SPAM}/judge?positive=spam").status_code == 409  # no label yet
    label_some(site)
    command = [sys.executable, "-m", "levelled", "judge", "spam", "--positive", "spam"]
    printed = subprocess.run(
        [*command, "--format", "json", "--storage", site.settings.storage],
        capture_output=True,
        check=False,
    )
    assert [site.get(f"{SPAM}/judge?positive=spam").json()] == json.loads(printed.stdout)
    refused = site.get(f"{SPAM}/judge?positive=eggs")
    assert (refused.status_code, "'eggs'" in refused.json()["error"]) == (409, True)
    assert site.get(f"{SPAM}/judge?tpr=2").status_code == 422


def test_slices_are_those_of_the_estimate(site: Site) -> None:
    label_some(site, 5)
    rows = site.get(f"{SPAM}/slices").json()
    assert {row["slice"] for row in rows} == {"country=de", "country=fr"}


def test_weights_and_the_labels_that_matter_most(site: Site) -> None:
    assert site.get(f"{SPAM}/diagnostics").json() is None
    label_some(site)
    found = site.get(f"{SPAM}/diagnostics").json()
    assert len(found["weights"]) == 30
    assert found["max_weight"] == max(found["weights"])
    shares = [one["variance_share"] for one in found["items"]]
    assert shares == sorted(shares, reverse=True)
    assert 0 < sum(shares) <= 1 + 1e-12


def test_who_labels_and_who_has_items(site: Site) -> None:
    label_some(site, 4)
    site.ask(2, "bob")
    rows = site.get(f"{SPAM}/labellers").json()
    assert [(row["name"], row["n_labels"], row["n_open"]) for row in rows] == [
        ("ann", 4, 0),
        ("bob", 0, 2),
    ]


def test_what_was_learnt_and_the_items_of_highest_expected_loss(site: Site) -> None:
    label_some(site)
    assert "fifth of the pool" in site.get(f"{SPAM}/predictor").json()["summary"]
    rows = site.get(f"{SPAM}/important?n=5").json()
    losses = [row["expected_loss"] for row in rows]
    assert len(rows) == 5
    assert losses == sorted(losses, reverse=True)


def test_a_plan_and_a_comparison(site: Site) -> None:
    label_some(site)
    assert site.get(f"{SPAM}/plan?width=0.1").json()["width"] == 0.1
    assert site.get(f"{SPAM}/compare").json() == []
    assert site.get(f"{SPAM}/compare?model=v2").status_code == 409


def test_the_report_is_a_page_that_can_run_nothing(site: Site) -> None:
    label_some(site, 3)
    reply = site.get(f"{SPAM}/report")
    assert reply.headers["content-type"].startswith("text/html")
    assert "sandbox" in reply.headers["content-security-policy"]
    assert "<script" not in reply.text


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_exports_are_files(site: Site, form: str) -> None:
    label_some(site, 3)
    reply = site.get(f"{SPAM}/export?format={form}")
    assert reply.headers["content-disposition"] == f'attachment; filename="spam.{form}"'
    assert len(reply.content) > 100


def test_an_analyst_changes_closes_and_reopens(either_site: Site) -> None:
    post = either_site.post
    assert post(f"{SPAM}/change", {"budget": 50}, "eve").status_code == 200
    assert post(f"{SPAM}/change", {}, "eve").status_code == 422
    assert post(f"{SPAM}/close", {"reason": "enough"}, "eve").status_code == 200
    refused = post(f"{SPAM}/ask", {}, "ann")
    assert refused.status_code == 409
    assert "levelled change spam --reopen" in refused.json()["error"]
    assert post(f"{SPAM}/reopen", {}, "eve").status_code == 200
    assert either_site.get(SPAM).json()["budget"] == 50


def test_an_analyst_amends_a_label(site: Site) -> None:
    label_some(site, 1)
    answers = [{"draw": 1, "label": "spam"}]
    site.post(f"{SPAM}/amend", {"answers": answers, "owner": "ann"}, "eve")
    assert site.get(f"{SPAM}/history", "ann").json()[0]["label"] == "spam"


READING = (
    *("estimate", "trajectory", "compare", "slices", "agreement", "labellers", "open"),
    *("predictor", "important", "plan?width=0.1", "diagnostics", "report", "export"),
)


@pytest.mark.parametrize("what", READING)
def test_labellers_stay_blind(site: Site, what: str) -> None:
    assert site.get(f"{SPAM}/{what}", "ann").status_code == 403


CHANGING: list[tuple[str, dict[str, Any]]] = [
    ("close", {}),
    ("reopen", {}),
    ("change", {"budget": 3}),
    ("amend", {"answers": [{"draw": 1, "label": "ham"}]}),
]


@pytest.mark.parametrize(("what", "body"), CHANGING)
def test_labellers_change_nothing(site: Site, what: str, body: dict[str, Any]) -> None:
    assert site.post(f"{SPAM}/{what}", body, "ann").status_code == 403


def test_a_campaign_that_was_deleted_and_made_again_is_found(site: Site) -> None:
    site.ask()
    other = load_campaign("spam", storage=site.settings.storage)
    other.delete()
    assert site.get(f"{SPAM}/estimate").status_code in (404, 409)
    assert site.get(f"{SPAM}/estimate").status_code == 404
