"""A campaign is created over HTTP: upload, look, start."""

from collections.abc import Callable
from pathlib import Path

import pytest

from levelled.campaigns import load_campaign
from web.conftest import Site, write_pool


@pytest.fixture
def studio(make_site: Callable[..., Site], tmp_path: Path) -> Site:
    """A site with a folder for uploads, and a file named on the command line."""
    (tmp_path / "uploads").mkdir()
    write_pool(tmp_path / "run.parquet", 50)
    return make_site(uploads=tmp_path / "uploads", file=tmp_path / "run.parquet")


def test_a_file_is_uploaded_looked_at_and_labelled(studio: Site, tmp_path: Path) -> None:
    content = (tmp_path / "run.parquet").read_bytes()
    url, headers = "/api/files/mine.parquet", studio.headers("eve")
    saved = studio.client.put(url, content=content, headers=headers).json()
    assert saved == {"file": "mine.parquet", "size": len(content)}
    assert studio.get("/api/files").json() == ["run.parquet", "mine.parquet"]
    seen = studio.post("/api/look", {"file": "mine.parquet"}, "eve").json()
    assert seen["pool_size"] == 50
    assert seen["classes"] == ["ham", "spam"]
    assert seen["metrics"][:4] == ["error", "accuracy", "log_loss", "brier"]
    assert {"precision:spam", "share:ham"} <= {*seen["metrics"]}
    assert "mse" not in seen["metrics"]
    assert seen["plan"]["metric"] == "error"
    assert seen["shown"][0] == {"country": "de", "text": "message 0"} | seen["shown"][0]
    body = {"name": "new", "file": "mine.parquet", "metrics": ["error", "f1:spam"], "budget": 20}
    assert studio.post("/api/campaigns", body, "eve").status_code == 201
    settings = load_campaign("new", storage=studio.settings.storage).settings
    assert (settings.metric_names, settings.budget) == (("error", "f1:spam"), 20)
    reply = studio.post("/api/campaigns/new/ask", {"n": 1}, "ann")
    assert len(reply.json()["items"]) == 1


def test_the_file_of_the_command_line_can_be_chosen(studio: Site) -> None:
    body = {"name": "run", "file": "run.parquet", "slices": ["country"], "seed": 3}
    assert studio.post("/api/campaigns", body, "eve").status_code == 201
    again = studio.post("/api/campaigns", body, "eve")
    assert again.status_code == 409
    assert "There is a campaign 'run'" in again.json()["error"]


def test_the_log_of_another_tool_becomes_a_campaign(make_site: Callable[..., Site]) -> None:
    log = Path(__file__).parents[1] / "sources" / "readers" / "files" / "inspect.eval"
    site = make_site(file=log)
    seen = site.post("/api/look", {"file": log.name}, "eve").json()
    assert seen["recognised"][0].startswith("recognised: Inspect AI log")
    assert seen["metrics"][0] == seen["plan"]["metric"] == "share:pass"
    assert "mean" not in seen["metrics"]
    body = {"name": "log", "file": log.name, "metrics": ["error"], "budget": 5}
    mixed = site.post("/api/campaigns", body, "eve")
    assert "tone predicts numbers" in mixed.json()["error"]
    body |= {"metrics": ["share:pass", "error"], "judge_columns": ["grader", "includes"]}
    assert site.post("/api/campaigns", body, "eve").status_code == 201
    asked = site.get("/api/campaigns/log", "ann").json()["questions"][0]
    assert asked["classes"] == ["fail", "partial", "pass"]
    item = site.post("/api/campaigns/log/ask", {"n": 1}, "ann").json()["items"][0]
    assert {one["name"]: one["kind"] for one in item["fields"]}["messages"] == "chat"


def test_roles_are_shown_and_chosen(studio: Site) -> None:
    look = {"file": "run.parquet", "roles": {"country": "hidden"}}
    seen = studio.post("/api/look", look, "eve").json()
    role = {one["name"]: (one["role"], one["why"]) for one in seen["roles"]}
    assert role["country"] == ("hidden", "said")
    assert "country" not in seen["shown"][0]
    refused = studio.post("/api/look", {**look, "roles": {"country": "cost"}}, "eve")
    assert refused.status_code == 422
    assert "'country'" in refused.json()["error"]
    body = {"name": "roles", "file": "run.parquet", "roles": {"country": "hidden,slice"}}
    assert studio.post("/api/campaigns", body, "eve").status_code == 201
    settings = load_campaign("roles", storage=studio.settings.storage).settings
    assert (settings.slices, settings.columns.hide) == (("country",), ("country",))


@pytest.mark.parametrize(
    "wrong",
    [
        {"metrics": ["nonsense"]},
        {"metrics": []},
        {"metrics": ["mse"]},
        {"metrics": ["f1:eggs"]},
        {"metrics": ["error", "error"]},
        {"slices": ["missing"]},
        {"classes": ["a"]},
        {"features": ["missing"]},
        {"kind": "other"},
        {"guarantee": "other"},
        {"drive": "other"},
        {"budget": 0},
        {"level": 1.0},
        {"target_width": 2.0},
        {"name": "a/b"},
        {"name": " "},
        {"model": "x" * 101},
        {"labelled": "/etc/passwd"},
        {"storage": "sqlite:////tmp/other.db"},
    ],
)
def test_a_setting_that_is_wrong_is_one_line(studio: Site, wrong: dict[str, object]) -> None:
    body = {"name": "new", "file": "run.parquet", **wrong}
    reply = studio.post("/api/campaigns", body, "eve")
    assert reply.status_code in (409, 422)
    assert "\n" not in reply.json()["error"]
    assert len(studio.get("/api/campaigns").json()) == 1


def test_without_a_folder_nothing_is_uploaded(site: Site) -> None:
    headers = site.headers("eve")
    reply = site.client.put("/api/files/a.csv", content=b"id,pred\n1,2\n", headers=headers)
    assert reply.status_code == 403
    assert site.get("/api/files").json() == []
