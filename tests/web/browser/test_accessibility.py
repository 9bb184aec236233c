"""No page has a violation that axe-core finds, light or dark, wide or narrow."""

import json
import subprocess
import tarfile
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from web.browser.conftest import Site
from web.browser.examples import kinds_of_content
from web.browser.test_content import show
from web.browser.test_figures import label_some

AXE = "axe-core@4.14.0"


@cache
def axe_source() -> str:
    """The script of axe-core, from its package."""
    with TemporaryDirectory() as folder:
        quiet = ["--ignore-scripts", "--loglevel=error"]
        subprocess.run(["npm", "pack", *quiet, AXE], cwd=folder, check=True, capture_output=True)
        (archive,) = Path(folder).glob("*.tgz")
        with tarfile.open(archive) as package:
            member = package.extractfile("package/axe.min.js")
            assert member is not None
            return member.read().decode()


def violations(page: Page) -> list[str]:
    """What axe-core finds on a page as it is now."""
    page.evaluate(axe_source())
    found: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {json.dumps([node['target'] for node in one['nodes']])}"
        for one in found["violations"]
    ]


@pytest.fixture(params=["light", "dark"])
def scheme(request: pytest.FixtureRequest, registry: None) -> str:
    del registry
    return str(request.param)


def test_the_pages_have_no_violation(site: Site, scheme: str) -> None:
    name = f"axe {scheme}"
    campaign = site.create(name, slices=["country"], metric=["error", "f1:spam"])
    label_some(campaign, 25)
    context = site.context(color_scheme=scheme)
    pages = {"/": ".cards li", "/new": "#file", f"/c/{name}": "#learnt"}
    found = {}
    for path, ready in pages.items():
        page = site.open(path, context)
        expect(page.locator(ready).first).to_be_visible()
        found[path] = violations(page)
    assert found == {path: [] for path in pages}


def test_the_page_to_log_in_has_no_violation(site: Site, scheme: str) -> None:
    context = site.browser.new_context(color_scheme="dark" if scheme == "dark" else "light")
    site.contexts.append(context)
    page = site.open("/", context)
    expect(page.locator("h1")).to_have_text("Log in")
    assert violations(page) == []


def test_the_form_of_a_new_campaign_has_no_violation(site: Site, scheme: str) -> None:
    page = site.open("/new", site.context(color_scheme=scheme))
    page.select_option("#file", "pool.parquet")
    expect(page.locator("#settings")).to_be_visible()
    assert violations(page) == []


def test_the_labelling_page_and_its_windows_have_no_violation(site: Site, scheme: str) -> None:
    name = f"axe label {scheme}"
    questions = ["tone=rude,kind", "clarity=1:5", "price=number", "why=text"]
    site.create(name, questions=questions, guidelines="# Rules\n\n- be **strict**")
    page = site.label(name, site.context(color_scheme=scheme))
    page.keyboard.press("1")
    found = [violations(page)]
    for key in ("?", "s"):
        page.keyboard.press(key)
        expect(page.locator("dialog[open]")).to_be_visible()
        found.append(violations(page))
        page.keyboard.press("Escape")
    page.set_viewport_size({"width": 390, "height": 844})
    found.append(violations(page))
    assert found == [[]] * 4


@pytest.mark.parametrize("kind", ["markdown", "chat", "json", "image", "table"])
def test_no_kind_of_content_has_a_violation(site: Site, kind: str, registry: None) -> None:
    del registry
    page, _ = show(site, f"{kind} for axe", kinds_of_content()[kind])
    assert violations(page) == []


def test_nothing_is_wider_than_a_phone(site: Site) -> None:
    campaign = site.create("phone", slices=["country"])
    label_some(campaign, 25)
    context = site.context(viewport={"width": 390, "height": 844}, has_touch=True)
    for path, ready in {"/": ".cards li", "/new": "#file", "/c/phone": "#learnt"}.items():
        page = site.open(path, context)
        expect(page.locator(ready).first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page = site.label("phone", context)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="spam").tap()
    expect(page.locator("#state")).to_have_text("All answers are saved")
