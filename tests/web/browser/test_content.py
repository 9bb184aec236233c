"""Each kind of content is shown for what it is, and hostile content is harmless."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Locator, Page, Request, expect

from web.browser.conftest import Site
from web.browser.examples import digit_png, hostile_items, kinds_of_content

COPIES = 20


def show(site: Site, kind: str, item: dict[str, Any], **settings: Any) -> tuple[Page, Locator]:  # noqa: ANN401
    """The labelling page of a campaign whose items all look alike."""
    folder = site.process.folder
    (folder / "images" / "seven.png").write_bytes(digit_png(7))
    columns = {"id": [*range(COPIES)], "pred": ["good", "bad"] * (COPIES // 2)}
    columns |= {name: [value] * COPIES for name, value in item.items()}
    if "pair" in settings:
        del columns["pred"]
    name = f"content {kind}"
    path = folder / f"{kind}.parquet"
    pq.write_table(pa.table(columns), path)
    site.create(name, path, images=folder / "images", budget=None, **settings)
    page = site.label(name)
    return page, page.locator("#item")


def test_plain_text_keeps_its_lines(site: Site) -> None:
    _, item = show(site, "text", kinds_of_content()["text"])
    expect(item.locator(".text")).to_contain_text("Dear friend,\n\nyour address")


def test_markdown_is_rendered(site: Site) -> None:
    _, item = show(site, "markdown", kinds_of_content()["markdown"])
    expect(item.locator(".markdown h2")).to_have_text("Binary search")
    expect(item.locator("pre code")).to_contain_text("bisect_left")
    expect(item.locator("ol li")).to_have_count(2)
    link = item.get_by_role("link", name="the manual")
    assert link.get_attribute("rel") == "noopener noreferrer nofollow"


def test_a_chat_has_roles_and_folds_the_system_prompt_and_tools(site: Site) -> None:
    _, item = show(site, "chat", kinds_of_content()["chat"])
    expect(item.locator(".chat > li")).to_have_count(5)
    expect(item.get_by_text("Never promise a refund")).to_be_hidden()
    item.locator("li.system summary").click()
    expect(item.get_by_text("Never promise a refund")).to_be_visible()
    expect(item.get_by_text("Tool call: find_order")).to_be_visible()
    expect(item.get_by_text("4711", exact=True)).to_be_hidden()
    item.get_by_text("Tool call: find_order").click()
    expect(item.get_by_text("4711", exact=True)).to_be_visible()
    expect(item.locator("li.tool .text")).to_be_hidden()
    expect(item.locator("li.assistant strong")).to_have_text("on its way")
    expect(item.locator("li.assistant table td").first).to_have_text("shipped")


def test_json_is_folded_below_its_first_level(site: Site) -> None:
    _, item = show(site, "json", kinds_of_content()["json"])
    expect(item.get_by_text("Ann")).to_be_visible()
    expect(item.get_by_text("paid")).to_be_hidden()
    item.get_by_text("1 in a list").click()
    item.get_by_text("2 fields").last.click()
    expect(item.get_by_text("paid")).to_be_visible()


@pytest.mark.parametrize("kind", ["image", "image file"])
def test_an_image_is_shown(site: Site, kind: str) -> None:
    _, item = show(site, kind, kinds_of_content()[kind])
    image = item.get_by_role("img", name="Image in the field image")
    expect(image).to_have_class("small")
    assert image.evaluate("one => one.naturalWidth") == 8


def test_fields_are_a_table(site: Site) -> None:
    _, item = show(site, "table", kinds_of_content()["table"])
    expect(item.locator("table.facts tr")).to_have_count(5)
    expect(item.get_by_role("row", name="hours 40.5")).to_be_visible()


def test_a_pair_is_side_by_side_and_the_label_is_its_column(site: Site) -> None:
    pair = ["answer_a", "answer_b"]
    page, item = show(site, "pair", kinds_of_content()["pair"], pair=pair, metric="share:answer_b")
    sides = item.locator(".pair > .field")
    expect(sides).to_have_count(2)
    left = "answer_b" if "heavy" in sides.first.inner_text() else "answer_a"
    assert "answer_" not in page.content()
    draw = int(item.get_attribute("data-draw") or "0")
    page.keyboard.press("1")
    expect(page.locator("#state")).to_have_text("All answers are saved")
    assert site.campaign("content pair").state.answers[draw].label == left
    expect(page.locator("#history li").first).to_contain_text("left")


def test_hostile_content_is_harmless(site: Site) -> None:
    items = hostile_items()
    columns: dict[str, list[Any]] = {"id": [*range(len(items))]}
    columns["pred"] = ["<b>a</b>", "b"] * (len(items) // 2)
    columns |= {name: [item[name] for item in items] for name in items[0]}
    path = Path(site.process.folder) / "hostile.parquet"
    pq.write_table(pa.table(columns), path)
    name = "<b>hostile & {{ 7 }}"
    guidelines = "\n\n".join(item["text"] for item in items)
    site.create(name, path, budget=None, guidelines=guidelines, metric="error")
    context = site.context()
    outside: list[Request] = []
    context.on(
        "request",
        lambda one: (
            None if one.url.startswith((site.process.url, "data:")) else outside.append(one)
        ),
    )
    page = site.label(quote(name), context)
    for _ in items:
        for summary in page.locator("#item summary").all():
            if summary.is_visible():
                summary.click()
        assert page.evaluate("window.pwned === undefined")
        assert page.locator("#item").locator("script, iframe, svg, style, img").count() == 0
        assert page.locator("#item a[href^='javascript'], #item a[href^='data']").count() == 0
        draw = page.get_attribute("#item", "data-draw")
        page.keyboard.press("1")
        page.wait_for_selector(f"#item:not([data-draw='{draw}'])", state="attached")
    page.goto(f"{site.process.url}/c/{quote(name)}")
    expect(page.locator("h1")).to_have_text(name)
    expect(page.locator("#weights")).to_be_visible()
    assert page.evaluate("window.pwned === undefined")
    assert not outside
