"""A real browser, and a server process with a campaign for each test."""

import importlib.util
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from levelled.campaigns import Campaign, create_campaign, load_campaign, open_store
from web.conftest import Process, write_pool

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

IS_REQUIRED = "chromium" in os.environ.get("LEVELLED_REQUIRE", "").split(",")
CHROMIUM = shutil.which("chromium")
HAS_PLAYWRIGHT = importlib.util.find_spec("playwright") is not None
collect_ignore_glob = [] if HAS_PLAYWRIGHT or IS_REQUIRED else ["test_*.py"]

OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
PATIENCE = 120_000
"""Milliseconds that a page has to show what a test expects, on a machine that is busy too."""
SEEN_ITEM = "#item[data-draw]:not([data-draw=''])"


@pytest.fixture(scope="package")
def browser() -> "Iterator[Browser]":
    """Chromium without a window."""
    from playwright.sync_api import expect, sync_playwright

    if CHROMIUM is None and not IS_REQUIRED:
        pytest.skip("chromium is not installed; LEVELLED_REQUIRE=chromium fails instead")
    assert CHROMIUM is not None, "chromium is required and not installed"
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*OPTIONS])
        yield browser
        browser.close()


@dataclass
class Site:
    """A server, and browsers of people who have a link to it."""

    browser: "Browser"
    process: Process
    contexts: "list[BrowserContext]"
    complaints: list[str]

    def campaign(self, name: str) -> Campaign:
        """A campaign as it is stored now."""
        return load_campaign(name, storage=self.process.storage)

    def create(self, name: str, pool: object = None, **settings: Any) -> Campaign:  # noqa: ANN401
        """Create a campaign, by default of the spam filter."""
        source = self.process.folder / "pool.parquet" if pool is None else pool
        given = {"seed": 7, "budget": 100, **settings}
        return create_campaign(name, source, storage=self.process.storage, **given)

    def context(
        self,
        name: str | None = None,
        role: str = "labeller",
        **how: Any,  # noqa: ANN401
    ) -> "BrowserContext":
        """The browser of a person with a token, by default of whoever started the server."""
        context = self.browser.new_context(**{"viewport": {"width": 1200, "height": 800}, **how})
        context.set_default_timeout(PATIENCE)
        self.contexts.append(context)
        token = self.process.token
        if name is not None:
            with open_store(self.process.storage) as store:
                token = store.tokens.add(name, role)
        context.request.get(f"{self.process.url}/?token={token}")
        return context

    def open(self, path: str, context: "BrowserContext | None" = None) -> "Page":
        """A page; messages of its console that tell of a fault are kept."""
        page = (self.context() if context is None else context).new_page()
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on(
            "console",
            lambda message: (
                self.complaints.append(message.text)
                if "Content Security Policy" in message.text
                else None
            ),
        )
        page.goto(f"{self.process.url}{path}")
        return page

    def label(self, name: str, context: "BrowserContext | None" = None) -> "Page":
        """The labelling page of a campaign, with an item on it."""
        page = self.open(f"/c/{name}/label", context)
        page.wait_for_selector(SEEN_ITEM)
        return page


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """`levelled serve` over an empty storage, with a file and folders for uploads and images."""
    folder = tmp_path_factory.mktemp("browser")
    for name in ("uploads", "images"):
        (folder / name).mkdir()
    write_pool(folder / "pool.parquet")
    options = ["--storage", f"sqlite:///{folder}/levelled.db"]
    options += ["--uploads", str(folder / "uploads"), "--images", str(folder / "images")]
    process = Process(folder, *options, str(folder / "pool.parquet"))
    yield process
    process.stop(signal.SIGKILL)


@pytest.fixture
def new_site(browser: "Browser") -> Iterator[Callable[[Process], Site]]:
    """Visit a server; no page may raise an error or break the policy of its content."""
    sites: list[Site] = []

    def visit(process: Process) -> Site:
        sites.append(Site(browser, process, [], []))
        return sites[-1]

    yield visit
    for site in sites:
        for context in site.contexts:
            context.close()
        assert site.complaints == []


@pytest.fixture
def site(server: Process, new_site: Callable[[Process], Site]) -> Site:
    """The server that the tests share."""
    return new_site(server)


@pytest.fixture
def folder(server: Process) -> Path:
    """The folder of the server that the tests share."""
    return server.folder
