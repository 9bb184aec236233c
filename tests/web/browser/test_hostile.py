"""Hostile text in every field of a campaign runs nothing, on pages and in the report."""

import json
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
from playwright.sync_api import BrowserContext, Page, expect

from hostile import HOSTILE
from levelled.campaigns import Campaign
from web.browser.conftest import Site

NAME = "<img src=x onerror=window.pwned=1>"
OPEN = 3
"""Items that are left for the page."""


def create(site: Site) -> Campaign:
    """A campaign with such a text in ids, fields, slices, labels, notes, owners and guidelines."""
    n = len(HOSTILE)
    everything = {
        "messages": json.dumps([{"role": text, "content": text} for text in HOSTILE]),
        "record": json.dumps({text: [text] for text in HOSTILE}),
        "output": "\n\n".join(f"# {text}\n\n{text}" for text in HOSTILE),
    }
    columns = {
        "id": [f"{at} {text}" for at, text in enumerate(HOSTILE)],
        "pred": ["good", "bad"] * (n // 2) + ["good"] * (n % 2),
        "text": [*HOSTILE],
        "part": [*HOSTILE],
        **{name: [value] * n for name, value in everything.items()},
    }
    path = site.process.folder / "hostile.parquet"
    pq.write_table(pa.table(columns), path)
    campaign = site.create(
        NAME,
        path,
        budget=None,
        slices=["part"],
        open_classes=True,
        model="<b onclick=x>",
        guidelines="\n\n".join(HOSTILE),
        questions=["<script>x=text"],
    )
    for text in HOSTILE[: n - OPEN]:
        owner = text if text.isprintable() and text == text.strip() else None
        (one,) = campaign.ask(1, owner=owner)
        campaign.tell(one.draw, text, owner=owner, note=text, rubric={"<script>x": text})
    return campaign


def watch(context: BrowserContext, site: Site) -> list[str]:
    """Requests that leave the server, and dialogs."""
    seen: list[str] = []

    def leaves(url: str) -> bool:
        return not url.startswith((site.process.url, "data:", "file:", "blob:"))

    context.on("request", lambda one: seen.append(one.url) if leaves(one.url) else None)
    context.on("dialog", lambda one: seen.append(one.message))
    return seen


def is_harmless(page: Page) -> bool:
    """True if no text became code, a frame, a style or a link that runs code."""
    made = "#item, main, body > article"
    odd = "script:not([src]):not([type]), iframe, object, embed, base, [onerror], [onload]"
    count = page.locator(made).locator(odd).count()
    links = page.locator("a[href^='javascript' i], a[href^='data' i]").count()
    return bool(page.evaluate("window.pwned === undefined")) and not count and not links


def test_hostile_text_in_every_field_runs_nothing(site: Site, tmp_path: Path) -> None:
    campaign, context = create(site), site.context()
    seen = watch(context, site)
    page = site.label(quote(NAME), context)
    for summary in page.locator("summary").all()[:20]:
        if summary.is_visible():
            summary.click()
    assert is_harmless(page)
    expect(page.locator("#item")).to_be_visible()
    listed = site.open("/", context)
    expect(listed.locator("main")).to_contain_text(NAME)
    assert is_harmless(listed)
    figures = site.open(f"/c/{quote(NAME)}", context)
    expect(figures.locator("h1")).to_have_text(NAME)
    expect(figures.locator("main")).to_contain_text(HOSTILE[0])
    assert is_harmless(figures)
    campaign.report(tmp_path / "report.html")
    report = context.new_page()
    report.goto((tmp_path / "report.html").as_uri())
    assert report.evaluate("window.pwned === undefined")
    assert report.locator("script, iframe, object, embed, base").count() == 0
    assert seen == []
