"""Attacks, each of which is refused and leaves campaigns and files as they were."""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.websockets import WebSocketDisconnect

from levelled.campaigns import create_campaign, load_campaign
from levelled.campaigns.stores import hash_token
from levelled.campaigns.trust import approve
from sources.bombs import BOMBS, picture
from web.conftest import Site

SPAM = "/api/campaigns/spam"
SECRET = "the content of a file outside"


@pytest.fixture
def fort(make_site: Callable[..., Site], tmp_path: Path) -> Site:
    """A site with folders for uploads and images, beside a file that nobody may see."""
    for name in ("uploads", "images", "images/sub", "elsewhere"):
        (tmp_path / name).mkdir()
    for place in ("secret.csv", "secret.png", "uploads2.csv", "elsewhere/secret.png"):
        (tmp_path / place).write_text(f"id,pred\n{SECRET},1\n")
    (tmp_path / "images/sub/cat.png").write_bytes(b"\x89PNG")
    (tmp_path / "images/page.html").write_text(SECRET)
    (tmp_path / "images/drawing.svg").write_text("<svg onload='alert(1)'/>")
    (tmp_path / "images/link.png").symlink_to(tmp_path / "secret.png")
    (tmp_path / "images/outside").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "uploads/link.csv").symlink_to(tmp_path / "secret.csv")
    os.mkfifo(tmp_path / "images/pipe.png")
    return make_site(uploads=tmp_path / "uploads", images=tmp_path / "images")


def state_of(site: Site) -> str:
    return load_campaign("spam", storage=site.settings.storage).last_hash


TRAVERSALS = [
    "../secret.png",
    "sub/../../secret.png",
    "%2e%2e/secret.png",
    "..%2fsecret.png",
    "..%5csecret.png",
    "....//secret.png",
    "/etc/passwd",
    "%2fetc%2fpasswd",
    "//etc/passwd.png",
    "sub%00/cat.png",
    "cat.png%00.html",
    "~/secret.png",
    "link.png",
    "outside/secret.png",
    "page.html",
    "drawing.svg",
    "pipe.png",
    ".",
    "sub",
    "x" * 5000 + ".png",
    "file:///etc/passwd",
    "sub/cat.png/../../../secret.png",
]


@pytest.mark.parametrize("path", TRAVERSALS)
def test_no_image_outside_the_folder_is_sent(fort: Site, path: str) -> None:
    reply = fort.get(f"/images/{path}", "ann")
    assert 400 <= reply.status_code < 500
    assert SECRET not in reply.text


def test_an_image_inside_the_folder_is_sent(fort: Site) -> None:
    reply = fort.get("/images/sub/cat.png", "ann")
    assert (reply.status_code, reply.headers["content-type"]) == (200, "image/png")


FILE_NAMES = [
    "../secret.csv",
    "..",
    "/etc/passwd",
    "link.csv",
    "*.csv",
    "[s]ecret.csv",
    "uploads/../../secret.csv",
    "~/secret.csv",
    "C:\\secret.csv",
    "\\\\server\\share\\secret.csv",
    "http://example.org/pool.csv",
    "a\x00.csv",
    "",
    ".hidden.csv",
    "-rf.csv",
]


@pytest.mark.parametrize("name", FILE_NAMES)
def test_no_file_outside_the_folder_becomes_a_pool(fort: Site, name: str) -> None:
    for path, body in (("/api/look", {}), ("/api/campaigns", {"name": "new"})):
        reply = fort.post(path, {"file": name, **body}, "eve")
        assert reply.status_code in (404, 422)
        assert SECRET not in reply.text


UPLOADS = [
    "evil.py",
    "evil.html",
    "pool.csv.exe",
    ".csv",
    "..%2fescape.csv",
    "a%2f..%2f..%2fescape.csv",
    "a%00b.csv",
    "a%0d%0ab.csv",
    "%2fetc%2fcron.d%2fx.csv",
    "x" * 300 + ".csv",
    "levelled.db",
    "*.csv",
]


@pytest.mark.parametrize("name", UPLOADS)
def test_no_upload_lands_outside_or_as_another_kind_of_file(
    fort: Site, tmp_path: Path, name: str
) -> None:
    before = sorted(tmp_path.rglob("*"))
    reply = fort.client.put(f"/api/files/{name}", content=b"x", headers=fort.headers("eve"))
    assert 400 <= reply.status_code < 500
    assert sorted(tmp_path.rglob("*")) == before


def test_an_upload_does_not_replace_a_file_that_a_campaign_may_use(fort: Site) -> None:
    def put(content: bytes) -> int:
        url, headers = "/api/files/mine.csv", fort.headers("eve")
        return fort.client.put(url, content=content, headers=headers).status_code

    assert put(b"id,pred\n1,2\n") == 200
    assert put(b"id,pred\n1,2\n") == 200
    assert put(b"id,pred\n1,3\n") == 409


def test_an_upload_through_a_link_stays_inside(fort: Site, tmp_path: Path) -> None:
    url, headers = "/api/files/link.csv", fort.headers("eve")
    assert fort.client.put(url, content=b"id\n1\n", headers=headers).status_code == 409
    assert SECRET in (tmp_path / "secret.csv").read_text()


def test_labellers_upload_and_create_nothing(fort: Site) -> None:
    headers = fort.headers("ann")
    assert fort.client.put("/api/files/a.csv", content=b"x", headers=headers).status_code == 403
    assert fort.get("/api/files", "ann").status_code == 403
    assert fort.post("/api/look", {"file": "a.csv"}, "ann").status_code == 403
    assert fort.post("/api/campaigns", {"name": "a", "file": "a.csv"}, "ann").status_code == 403


METRICS = [
    "os:system",
    "subprocess:run",
    "package.module:function",
    "error:system",
    "mymodule:loss",
    "__import__('os').system('x'):y",
    "accuracy:__init__",
    " os:getcwd",
]


@pytest.mark.parametrize("metric", METRICS)
def test_no_metric_runs_code(fort: Site, tmp_path: Path, metric: str) -> None:
    (tmp_path / "uploads/pool.csv").write_text("id,pred\n1,a\n2,b\n")
    body = {"name": "new", "file": "pool.csv", "metrics": [metric]}
    reply = fort.post("/api/campaigns", body, "eve")
    assert reply.status_code == 422
    assert "There is no metric" in reply.json()["error"]


OWN = """
from pathlib import Path
Path(__file__).with_name("ran").write_text("")

def loss(labels, predictions):
    return (labels != predictions) * 1.0

loss.bounds = (0, 1)
"""
FIGURES = [
    *("estimate", "headline", "slices", "trajectory", "report", "compare?model=second"),
    *("plan?width=0.1", "plan?width=0.1&metric=foreign:loss"),
]
OTHERS = [
    *("", "/agreement", "/labellers", "/open", "/history", "/mine", "/items/1"),
    *("/export?format=csv", "/diagnostics", "/predictor", "/important", "/judge?positive=spam"),
]


@pytest.mark.parametrize("kind", ["static", "adaptive"])
def test_no_request_runs_code_that_the_database_names_before_it_is_approved(
    fort: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "foreign.py").write_text(OWN)
    with monkeypatch.context() as stranger:
        stranger.setenv("LEVELLED_CACHE", str(tmp_path / "cache of a stranger"))
        storage, pool = fort.settings.storage, tmp_path / "pool.parquet"
        made = create_campaign("own", pool, "foreign:loss", storage=storage, kind=kind, seed=7)
        for ask in made.ask(10, owner="ann"):
            made.tell(ask.draw, "ham", owner="ann")
        made.attach(pool, "second")
    monkeypatch.setenv("LEVELLED_CACHE", str(tmp_path / "cache of the server"))
    marker = tmp_path / "ran"
    marker.unlink()
    del sys.modules["foreign"]
    for page in ("/", "/c/own", "/c/own/label", "/api/campaigns"):
        assert fort.get(page).status_code == 200
    for part in OTHERS:
        reply = fort.get(f"/api/campaigns/own{part}")
        assert reply.status_code in (200, 422), (part, reply.text)
    asked = fort.post("/api/campaigns/own/ask", {"n": 1}, "bob")
    if kind == "static":
        answers = [{"draw": asked.json()["items"][0]["draw"], "label": "ham"}]
        told = fort.post("/api/campaigns/own/tell", {"answers": answers}, "bob")
        assert told.status_code == 200
    else:
        assert "levelled trust foreign" in asked.json()["error"]
    for part in FIGURES:
        reply = fort.get(f"/api/campaigns/own/{part}")
        assert reply.status_code == 422, part
        assert "levelled trust foreign" in reply.json()["error"]
    assert not marker.exists()
    approve("foreign")
    assert fort.get("/api/campaigns/own/estimate").status_code == 200
    assert marker.exists()
    del sys.modules["foreign"]


def test_a_plan_imports_no_module_that_a_request_names(fort: Site, tmp_path: Path) -> None:
    (tmp_path / "named.py").write_text(OWN)
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(tmp_path)
        for metric in ("named:loss", " named:loss", "os:getcwd"):
            reply = fort.get(f"{SPAM}/plan?width=0.1&metric={metric}")
            assert reply.status_code in (409, 422)
            assert "plan error" in reply.json()["error"]
    assert not (tmp_path / "ran").exists()


def endless(size: int) -> Iterator[bytes]:
    for _ in range(size):
        yield b"x" * 65536


def test_a_body_without_a_length_is_cut_off_while_it_streams(fort: Site) -> None:
    headers = {**fort.headers("ann"), "content-type": "application/json"}
    reply = fort.client.post(f"{SPAM}/tell", content=endless(1000), headers=headers)
    assert reply.status_code == 413


def test_uploads_stop_when_the_folder_is_full(
    make_site: Callable[..., Site], tmp_path: Path
) -> None:
    (tmp_path / "uploads").mkdir()
    (tmp_path / "uploads/there.csv").write_bytes(b"x" * 600)
    site = make_site(uploads=tmp_path / "uploads", uploads_limit=1000)
    put, headers = site.client.put, site.headers("eve")
    assert put("/api/files/a.csv", content=b"x" * 300, headers=headers).status_code == 200
    refused = put("/api/files/b.csv", content=b"x" * 300, headers=headers)
    assert (refused.status_code, "more than 1,000 bytes" in refused.json()["error"]) == (413, True)
    assert sorted(path.name for path in (tmp_path / "uploads").iterdir()) == ["a.csv", "there.csv"]


def test_an_upload_larger_than_allowed_leaves_nothing_behind(
    make_site: Callable[..., Site], tmp_path: Path
) -> None:
    (tmp_path / "uploads").mkdir()
    site = make_site(uploads=tmp_path / "uploads", upload_limit=100_000)
    url, headers = "/api/files/large.csv", site.headers("eve")
    assert site.client.put(url, content=endless(10), headers=headers).status_code == 413
    assert site.client.put(url, content=b"x" * 100_001, headers=headers).status_code == 413
    assert [*(tmp_path / "uploads").iterdir()] == []


@pytest.mark.parametrize("length", ["-1", "1e9", "99999999999999999999", "abc", "²"])
def test_a_length_that_is_none_is_refused(site: Site, length: str) -> None:
    headers = [
        (b"content-length", length.encode()),
        (b"authorization", f"Bearer {site.tokens['ann']}".encode()),
        (b"content-type", b"application/json"),
    ]
    reply = site.client.request("POST", f"{SPAM}/ask", content=b"{}", headers=headers)
    assert 400 <= reply.status_code < 500


@pytest.mark.parametrize("name", ["forged-footer.parquet", "mlflow.parquet", "rows.zip"])
def test_a_file_that_unpacks_to_too_much_is_refused(fort: Site, tmp_path: Path, name: str) -> None:
    (tmp_path / "uploads" / name).write_bytes(BOMBS[name]())
    for address, body in (("look", {}), ("campaigns", {"name": "new"})):
        reply = fort.post(f"/api/{address}", {"file": name, **body}, "eve")
        assert reply.status_code == 422
        assert re.search(r"\d MB", reply.json()["error"])
        assert "\n" not in reply.json()["error"]


def test_a_picture_of_too_many_pixels_is_not_sent(
    make_site: Callable[..., Site], tmp_path: Path
) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "large.png").write_bytes(picture())
    reply = make_site(images=tmp_path / "images").get("/images/large.png", "ann")
    assert (reply.status_code, "900,000,000" in reply.text) == (422, True)


BROKEN = {
    "no.parquet": b"PAR1 this is none PAR1",
    "half.zip.jsonl": b"PK\x03\x04" + b"\x00" * 20,
    "deep.jsonl": b'{"id": ' + b"[" * 100_000,
    "binary.csv": bytes(range(256)) * 10,
    "empty.csv": b"",
    "twice.jsonl": b'{"id": 1, "id": 2, "pred": "a"}\n',
    "long.csv": b"id,pred\n" + b"x" * 20_000_000,
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_one_line(fort: Site, tmp_path: Path, name: str) -> None:
    (tmp_path / "uploads" / name).write_bytes(BROKEN[name])
    reply = fort.post("/api/look", {"file": name}, "eve")
    assert reply.status_code in (404, 422)
    assert "\n" not in reply.json()["error"]
    assert len(reply.json()["error"]) < 1000


BODIES: list[Any] = [
    None,
    [],
    "text",
    {"answers": "x"},
    {"answers": []},
    {"answers": [{"draw": 1}]},
    {"answers": [{"draw": "1; DROP TABLE events", "label": "ham"}]},
    {"answers": [{"draw": 0, "label": "ham"}]},
    {"answers": [{"draw": -1, "label": "ham"}]},
    {"answers": [{"draw": 2**31, "label": "ham"}]},
    {"answers": [{"draw": 10**30, "label": "ham"}]},
    {"answers": [{"draw": True, "label": "ham"}]},
    {"answers": [{"draw": 1.5, "label": "ham"}]},
    {"answers": [{"draw": 50, "label": "ham"}]},
    {"answers": [{"draw": 1, "label": {"$ne": None}}]},
    {"answers": [{"draw": 1, "label": ["ham"]}]},
    {"answers": [{"draw": 1, "label": None}]},
    {"answers": [{"draw": 1, "label": True}]},
    {"answers": [{"draw": 1, "label": "x" * 10_000}]},
    {"answers": [{"draw": 1, "label": "' OR 1=1 --"}]},
    {"answers": [{"draw": 1, "label": "<script>alert(1)</script>"}]},
    {"answers": [{"draw": 1, "label": "ham", "by": "bob"}]},
    {"answers": [{"draw": 1, "label": "ham", "__proto__": {}}]},
    {"answers": [{"draw": 1, "label": "ham"}], "owner": "bob"},
    {"answers": [{"draw": 1, "label": "ham"}] * 1001},
]


@pytest.mark.parametrize("body", BODIES)
def test_a_body_that_is_wrong_stores_nothing(site: Site, body: object) -> None:
    site.ask()
    before = state_of(site)
    headers = site.headers("ann")
    reply = site.client.post(f"{SPAM}/tell", content=json.dumps(body), headers=headers)
    assert 400 <= reply.status_code < 500
    assert "\n" not in reply.json()["error"]
    assert state_of(site) == before


RAW = [
    b"{",
    b"",
    b"\xff\xfe\x00",
    b"\x00" * 100,
    b'{"answers": [{"draw": 1, "label": NaN}]}',
    b'{"answers": [{"draw": 1, "label": Infinity}]}',
    b'{"answers": [{"draw": 1, "label": 1e999}]}',
    b'{"answers": [{"draw": 1, "label": "\\ud800"}]}',
    b'{"answers": ' + b"[" * 50_000,
    b'{"answers": [{"draw": ' + b"9" * 5000 + b"}]}",
    b"<?xml version='1.0'?><!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><x>&a;</x>",
]


@pytest.mark.parametrize("raw", RAW)
def test_bytes_that_are_no_answer_store_nothing(site: Site, raw: bytes) -> None:
    site.ask()
    before = state_of(site)
    headers = {**site.headers("ann"), "content-type": "application/json"}
    reply = site.client.post(f"{SPAM}/tell", content=raw, headers=headers)
    assert 400 <= reply.status_code < 500
    assert state_of(site) == before


TOKENS = [
    "Bearer ",
    "Bearer null",
    "Bearer ' OR '1'='1",
    "Bearer " + "a" * 10_000,
    "Bearer \x80\xff",
    "Basic YW5uOmFubg==",
    "bearer",
    "Digest username=ann",
    "Bearer e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
]


@pytest.mark.parametrize("value", TOKENS)
def test_a_header_that_is_no_token_is_refused(site: Site, value: str) -> None:
    headers = [(b"authorization", value.encode("latin-1"))]
    assert site.client.get("/api/campaigns", headers=headers).status_code == 401


def test_the_hash_of_a_token_is_no_token(site: Site) -> None:
    site.tokens["hash"] = hash_token(site.tokens["eve"])
    assert site.get("/api/campaigns", "hash").status_code == 401


def test_a_token_in_the_address_opens_no_api(site: Site) -> None:
    url = f"/api/campaigns?token={site.tokens['eve']}"
    assert site.get(url, None).status_code == 401


REDIRECTS = ["//evil.example/", "/\\evil.example", "/%2f%2fevil.example", "/%0d%0aset-cookie:a=b"]


@pytest.mark.parametrize("path", REDIRECTS)
def test_a_link_never_leads_to_another_site(site: Site, path: str) -> None:
    url = f"http://testserver{path}?token={site.tokens['ann']}"
    reply = site.client.get(url, follow_redirects=False)
    location = reply.headers.get("location", "/")
    assert location.startswith("/")
    assert not location.startswith(("//", "/\\"))
    assert "a" not in reply.cookies


METHODS = ["PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "PROPFIND"]


@pytest.mark.parametrize("method", METHODS)
def test_other_methods_do_nothing(site: Site, method: str) -> None:
    before = state_of(site)
    reply = site.client.request(method, f"{SPAM}/close", headers=site.headers("eve"))
    assert 400 <= reply.status_code < 500
    assert state_of(site) == before


def test_a_method_cannot_be_overridden(site: Site) -> None:
    before = state_of(site)
    headers = {**site.headers("eve"), "x-http-method-override": "POST"}
    assert site.client.get(f"{SPAM}/close", headers=headers).status_code in (404, 405)
    assert state_of(site) == before


def test_no_other_origin_may_read_replies(site: Site) -> None:
    headers = {
        "origin": "https://evil.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "x-levelled",
    }
    reply = site.client.options(f"{SPAM}/tell", headers=headers)
    assert "access-control-allow-origin" not in reply.headers
    assert reply.status_code == 401


NAMES = [
    "..",
    "%2e%2e%2fspam",
    "spam%00",
    "' OR 1=1 --",
    "spam%0a",
    "{{7*7}}",
    "%s",
    "a" * 5000,
    "<script>alert(1)</script>",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_no_campaign_is_not_found(site: Site, name: str) -> None:
    for path in (f"/api/campaigns/{name}/estimate", f"/campaigns/{name}/label"):
        reply = site.get(path)
        assert reply.status_code == 404
        assert "<script>" not in reply.text
    reply = site.client.get("/api/events", params={"campaign": name}, headers=site.headers("ann"))
    assert reply.status_code in (404, 422)


def test_a_websocket_is_refused(site: Site) -> None:
    with pytest.raises(WebSocketDisconnect), site.client.websocket_connect("/api/events"):
        pass


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\x00\u202e\"'`{{7*7}}"


def test_hostile_content_of_a_pool_comes_as_data_alone(site: Site, tmp_path: Path) -> None:
    rows = {"id": [HOSTILE, "b"], "pred": ["x", "y"], "text": ["\u2028 half", HOSTILE]}
    lines = [dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True)]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (tmp_path / "hostile.jsonl").write_text(text)
    create_campaign("<b>x", tmp_path / "hostile.jsonl", storage=site.settings.storage, seed=1)
    reply = site.post("/api/campaigns/%3Cb%3Ex/ask", {"n": 2})
    assert reply.headers["content-type"] == "application/json"
    items = {str(one["id"]): one["data"]["text"] for one in reply.json()["items"]}
    assert items == {HOSTILE: "\u2028 half", "b": HOSTILE}
    for page in ("/", "/campaigns/%3Cb%3Ex", "/campaigns/%3Cb%3Ex/label"):
        assert "<b>x" not in site.get(page).text
