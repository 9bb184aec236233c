"""Tokens: links set a cookie, roles differ, guesses are limited, and nothing leaks."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from levelled.campaigns import create_campaign, open_store
from levelled.web import guard
from levelled.web.guard import Allowance
from levelled.web.routes import ROUTERS
from web.conftest import Site

PAGES = ["/", "/new", "/c/spam", "/c/spam/label", "/images/a.png"]


def log_in(site: Site, name: str) -> None:
    reply = site.client.get(f"/?token={site.tokens[name]}", follow_redirects=False)
    assert reply.status_code == 303


@pytest.mark.parametrize("path", [*PAGES, "/api/campaigns", "/api/openapi.json", "/nowhere"])
def test_nothing_is_shown_without_a_token(site: Site, path: str) -> None:
    assert site.get(path, None).status_code == 401


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_needs_no_token(site: Site, path: str) -> None:
    assert site.get(path, None).json() == {"ok": True}


def test_a_link_becomes_a_cookie_and_leaves_the_address(site: Site) -> None:
    link = f"/c/spam/label?token={site.tokens['ann']}&x=1"
    reply = site.client.get(link, follow_redirects=False)
    assert (reply.status_code, reply.headers["location"]) == (303, "/c/spam/label?x=1")
    cookie = reply.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert site.client.get("/c/spam/label").status_code == 200


def test_a_link_on_another_site_leads_on_by_a_page_that_sends_the_cookie(site: Site) -> None:
    link = f"/campaigns/a%22%3Eb/label?x=%22%3E&token={site.tokens['ann']}"
    headers = {"sec-fetch-site": "cross-site"}
    reply = site.client.get(link, headers=headers, follow_redirects=False)
    assert reply.status_code == 200
    assert 'content="0;url=/campaigns/a%22%3Eb/label?x=%22%3E"' in reply.text
    assert "samesite=strict" in reply.headers["set-cookie"].lower()
    assert site.tokens["ann"] not in reply.text


def test_a_cookie_over_https_is_secure(site: Site) -> None:
    link = f"https://testserver/?token={site.tokens['ann']}"
    assert "secure" in site.client.get(link, follow_redirects=False).headers["set-cookie"].lower()


def test_a_token_that_was_removed_ends_within_a_second(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert site.get("/api/campaigns", "ann").status_code == 200
    with open_store(site.settings.storage) as store:
        assert store.tokens.remove("ann") == 1
    monkeypatch.setattr(guard, "FRESH", 0.0)
    assert site.get("/api/campaigns", "ann").status_code == 401


def test_a_page_that_is_open_after_its_token_was_removed_locks_nobody_out(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert site.get("/api/campaigns", "ann").status_code == 200
    with open_store(site.settings.storage) as store:
        assert store.tokens.remove("ann") == 1
        site.tokens["new"] = store.tokens.add("new", "labeller")
    monkeypatch.setattr(guard, "FRESH", 0.0)
    for _ in range(2 * guard.FAILURES):
        assert site.get("/api/campaigns", "ann").status_code == 401
    assert site.get("/api/campaigns", "new").status_code == 200


def test_a_token_that_expired_is_not_valid(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert site.get("/api/campaigns", "ann").status_code == 200
    with closing(sqlite3.connect(tmp_path / "levelled.db")) as database, database:
        over = "2026-11-17T10:00:00+00:00"
        database.execute("UPDATE tokens SET expires = ? WHERE name = 'ann'", [over])
    monkeypatch.setattr(guard, "FRESH", 0.0)
    assert site.get("/api/campaigns", "ann").status_code == 401
    assert site.get("/api/campaigns", "bob").status_code == 200


@pytest.fixture
def narrow(site: Site, tmp_path: Path) -> Site:
    """A site with a campaign `mails`, which is the only one of lea, who labels, and of max."""
    place = site.settings.storage
    create_campaign("mails", tmp_path / "pool.parquet", storage=place, seed=7)
    with open_store(place) as store:
        for name, role in (("lea", "labeller"), ("max", "analyst")):
            site.tokens[name] = store.tokens.add(name, role, campaigns=["mails"])
    return site


def addresses() -> Iterator[tuple[str, str]]:
    """Method and path of every route about a campaign."""
    for router in ROUTERS:
        for route in router.routes:
            path = getattr(route, "path", "").replace("{draw}", "1")
            if "{name}" in path:
                yield from ((method, path) for method in getattr(route, "methods", ()))
    yield "GET", "/api/events?campaign={name}"


@pytest.mark.parametrize(("method", "path"), sorted(addresses()))
@pytest.mark.parametrize("accept", ["application/json", "text/html"])
def test_a_campaign_of_others_is_refused_as_one_that_does_not_exist(
    narrow: Site, method: str, path: str, accept: str
) -> None:
    for name in ("lea", "max"):
        headers = {**narrow.headers(name), "accept": accept}
        replies = {}
        for campaign in ("spam", "nothing"):
            url = path.replace("{name}", campaign)
            reply = narrow.client.request(method, url, json={}, headers=headers)
            replies[campaign] = reply.status_code, reply.text.replace(campaign, "NAME")
        assert replies["spam"] == replies["nothing"]
        assert replies["spam"][0] in ((404,) if name == "max" else (403, 404))


def test_a_token_for_one_campaign_works_there_and_lists_no_other(narrow: Site) -> None:
    for name in ("lea", "max"):
        assert [one["name"] for one in narrow.get("/api/campaigns", name).json()] == ["mails"]
        assert narrow.post("/api/campaigns/mails/ask", {"n": 1}, name).status_code == 200
        assert narrow.get("/c/mails/label", name).status_code == 200
    assert narrow.get("/api/campaigns/mails/estimate", "max").status_code == 200
    assert narrow.get("/api/campaigns/mails/estimate", "lea").status_code == 403
    assert len(narrow.get("/api/campaigns", "ann").json()) == 2


def test_an_analyst_of_one_campaign_makes_no_new_one(narrow: Site) -> None:
    headers = narrow.headers("max")
    replies = [
        narrow.client.put("/api/files/a.csv", content=b"x", headers=headers),
        narrow.get("/api/files", "max"),
        narrow.get("/new", "max"),
        narrow.post("/api/look", {"file": "a.csv"}, "max"),
        narrow.post("/api/campaigns", {"name": "spam", "file": "a.csv"}, "max"),
    ]
    assert {one.status_code for one in replies} == {403}
    assert "/new" not in narrow.get("/", "max").text
    assert "/new" in narrow.get("/", "eve").text


def test_a_token_works_as_soon_as_it_was_added(site: Site) -> None:
    with open_store(site.settings.storage) as store:
        site.tokens["joe"] = store.tokens.add("joe", "labeller")
    assert site.get("/api/campaigns", "joe").status_code == 200


def test_one_who_guesses_must_wait_and_others_go_on(site: Site) -> None:
    assert site.get("/api/campaigns", "ann").status_code == 200
    site.tokens["guess"] = "wrong"
    guesses = [site.get("/api/campaigns", "guess") for _ in range(guard.FAILURES + 1)]
    assert [one.status_code for one in guesses] == [*[401] * guard.FAILURES, 429]
    assert guesses[-1].headers["retry-after"] == "60"
    assert site.get("/api/campaigns", "bob").status_code == 429  # not seen before
    assert site.get("/api/campaigns", "ann").status_code == 200


def test_each_visitor_has_only_so_many_requests_a_minute(make_site: Callable[..., Site]) -> None:
    site = make_site(requests_limit=5)
    for name in ("ann", "bob"):
        assert site.get("/api/campaigns", name).status_code == 200  # a share of the address
    sent = [site.get("/api/campaigns", "ann") for _ in range(6)]
    assert [one.status_code for one in sent] == [*[200] * 5, 429]
    assert int(sent[-1].headers["retry-after"]) <= 12
    assert "5 a minute" in sent[-1].json()["error"]
    html = site.client.get("/", headers={**site.headers("ann"), "accept": "text/html"})
    assert (html.status_code, "5 a minute" in html.text) == (429, True)
    assert site.get("/api/campaigns", "bob").status_code == 200


def test_strangers_use_up_no_requests_of_those_who_work_at_their_address(
    make_site: Callable[..., Site],
) -> None:
    site = make_site(requests_limit=5)
    assert site.get("/api/campaigns", "ann").status_code == 200
    sent = [site.get("/static/style.css", None).status_code for _ in range(6)]
    assert sent == [*[200] * 4, 429, 429]
    assert site.get("/static/style.css", "ann").status_code == 200


def test_requests_come_back_as_time_passes() -> None:
    allowance = Allowance(60)
    waits = [allowance.take("ann", now=0.0) for _ in range(62)]
    assert waits == [*[0.0] * 60, 1.0, 1.0]
    assert [allowance.take("ann", now=2.0) for _ in range(3)] == [0.0, 0.0, 1.0]
    assert [allowance.take("ann", now=1000.0) for _ in range(61)] == [*[0.0] * 60, 1.0]


def test_a_request_by_cookie_needs_the_header_that_others_cannot_send(site: Site) -> None:
    log_in(site, "ann")
    ask = "/api/campaigns/spam/ask"
    assert site.client.post(ask, json={}).status_code == 403
    assert site.client.post(ask, json={}, headers={"x-levelled": "1"}).status_code == 200


OTHER_SITES = [
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://testserver.evil.example"},
    {"origin": "http://testserver:8080"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
]


@pytest.mark.parametrize("headers", OTHER_SITES)
def test_a_request_of_another_site_is_refused(site: Site, headers: dict[str, str]) -> None:
    log_in(site, "ann")
    headers = {"x-levelled": "1", **headers}
    reply = site.client.post("/api/campaigns/spam/ask", json={}, headers=headers)
    assert reply.status_code == 403


def test_a_page_of_this_server_is_not_another_site(site: Site) -> None:
    log_in(site, "ann")
    headers = {"x-levelled": "1", "origin": "http://testserver", "sec-fetch-site": "same-origin"}
    assert site.client.post("/api/campaigns/spam/ask", json={}, headers=headers).status_code == 200


def test_the_log_has_neither_labels_nor_tokens_nor_items(site: Site) -> None:
    log_in(site, "ann")
    item = site.ask()[0]
    site.tell(1, "spam")
    site.tell(1, "ham")
    site.tell(1, "a label that is no class")
    lines = [json.loads(line) for line in site.log.getvalue().splitlines()]
    assert {"at", "event", "method", "route", "campaign", "by", "status", "ms"} == lines[-1].keys()
    assert lines[-1]["route"] == "/api/campaigns/{name}/tell"
    text = site.log.getvalue().replace('"campaign": "spam"', "")
    for secret in (*site.tokens.values(), '"spam"', "ham", "no class", item["data"]["text"]):
        assert secret not in text


def test_a_fault_is_logged_without_its_message(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> list[str]:
        raise RuntimeError("a secret text")

    site.client.get("/healthz")
    with monkeypatch.context() as patch:
        patch.setattr("levelled.web.routes.reading.figure_records", fail)
        reply = site.get("/api/campaigns/spam/estimate")
    assert reply.status_code == 500
    assert "secret" not in reply.text + site.log.getvalue()
    assert "RuntimeError" in site.log.getvalue()


def test_every_reply_has_the_strict_headers(site: Site) -> None:
    for path, name in (("/", "eve"), ("/api/campaigns", "eve"), ("/", None), ("/healthz", None)):
        headers = site.get(path, name).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-opener-policy"] == "same-origin"


def test_behind_a_proxy_the_path_and_the_cookie_have_its_prefix(
    make_site: Callable[..., Site],
) -> None:
    site = make_site(root_path="/levelled")
    for path in ("/", "/levelled/"):  # a proxy may take its prefix away or leave it
        link = f"{path}?token={site.tokens['eve']}"
        reply = site.client.get(link, follow_redirects=False)
        assert reply.headers["location"] == "/levelled/"
        assert "path=/levelled" in reply.headers["set-cookie"].lower()
    assert site.get("/levelled/api/campaigns").status_code == 200
    assert 'data-root="/levelled"' in site.get("/levelled/").text


def test_a_server_with_another_name_is_refused_unless_allowed(
    make_site: Callable[..., Site],
) -> None:
    site = make_site(hosts=("127.0.0.1", "label.example.org"))
    headers = site.headers("eve")
    for host, status in {"label.example.org": 200, "127.0.0.1:8765": 200, "evil.org": 400}.items():
        reply = site.client.get("/api/campaigns", headers={**headers, "host": host})
        assert reply.status_code == status


@pytest.mark.parametrize(
    ("path", "name", "status", "says"),
    [
        ("/c/nothing", "eve", 404, "&#39;nothing&#39;"),
        ("/c/spam", "ann", 403, "for analysts"),
        ("/c/<b>/label", "ann", 404, "&lt;b&gt;"),
        ("/nowhere", "ann", 404, "no such address"),
    ],
)
def test_a_browser_gets_a_page_with_the_reason_and_a_way_back(
    site: Site, path: str, name: str, status: int, says: str
) -> None:
    headers = {**site.headers(name), "accept": "text/html,*/*"}
    reply = site.client.get(path, headers=headers)
    assert (reply.status_code, reply.headers["content-type"]) == (
        status,
        "text/html; charset=utf-8",
    )
    assert says in reply.text
    assert '<a href="/">' in reply.text
    assert "error" in site.get(path, name).json()
