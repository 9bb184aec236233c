"""The analyst's page, the list of campaigns and the page that creates one, in a real browser."""

import re
import time
from contextlib import ExitStack
from pathlib import Path

import httpx2 as httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from playwright.sync_api import Response, expect

from levelled.campaigns import Campaign, open_store
from levelled.campaigns.summary import figure_records
from levelled.reports.numbers import headline
from levelled.web.settings import STREAMS_LIMIT, UPLOAD_LIMIT
from web.browser.conftest import SEEN_ITEM, Site

LABELS = "[data-tile='labels']"
LOGS = Path(__file__).parents[2] / "sources" / "readers" / "files"


def label_some(campaign: Campaign, n: int) -> None:
    asks = campaign.ask(n, owner="zoe")
    words = ("ham", "spam", "ham")
    campaign.tell_all(
        [{"draw": one.draw, "label": words[one.draw % 3]} for one in asks], owner="zoe"
    )


def test_a_page_follows_each_label(site: Site) -> None:
    campaign = site.create("live")
    label_some(campaign, 20)
    page = site.open("/c/live")
    expect(page.locator(LABELS)).to_have_text("20 of 100")
    expect(page.locator("#live")).to_have_text("Live")
    (ask,) = site.campaign("live").ask(1, owner="zoe")
    client = site.process.client
    answers = [{"draw": ask.draw, "label": "spam"}]
    reply = client.post("/api/campaigns/live/tell", json={"owner": "zoe", "answers": answers})
    assert reply.status_code == 200
    expect(page.locator(LABELS)).to_have_text("21 of 100")


def test_a_page_whose_link_is_revoked_stops_and_says_why(site: Site) -> None:
    label_some(site.create("revoked"), 5)
    page = site.open("/c/revoked", site.context("rex", "analyst"))
    expect(page.locator("#live")).to_have_text("Live")
    with open_store(site.process.storage) as store:
        assert store.tokens.remove("rex") == 1
    expect(page.locator("#live")).to_contain_text("not valid")


def test_a_page_beyond_the_streams_of_a_visitor_says_so(site: Site) -> None:
    label_some(site.create("busy"), 5)
    with open_store(site.process.storage) as store, ExitStack() as streams:
        token = store.tokens.add("ben", "analyst")
        for _ in range(STREAMS_LIMIT):
            headers = {"authorization": f"Bearer {token}"}
            url = f"{site.process.url}/api/events?campaign=busy"
            streams.enter_context(httpx.stream("GET", url, headers=headers, timeout=None))
        context = site.context()
        context.request.get(f"{site.process.url}/?token={token}")
        page = site.open("/c/busy", context)
        expect(page.locator(LABELS)).to_have_text("5 of 100")
        expect(page.locator("#live")).to_contain_text(f"{STREAMS_LIMIT} pages")
    expect(page.locator("#live")).to_have_text("Live")


def test_labels_that_wait_are_shown_and_freed_by_a_button(site: Site) -> None:
    campaign = site.create("blocked", away_seconds=1)
    campaign.ask(3, owner="gone")
    label_some(campaign, 60)
    deadline = time.monotonic() + 60
    while campaign.waiting() is None:  # for a second others may be at work
        assert time.monotonic() < deadline
        time.sleep(0.05)
    page = site.open("/c/blocked")
    expect(page.locator("#waiting")).to_contain_text("60 labels wait behind 3 items")
    labeller = site.label("blocked", site.context("otto"))
    expect(labeller.locator("#waiting")).to_contain_text("60 labels")
    expect(labeller.locator("#waiting button")).to_have_count(0)
    page.get_by_role("button", name="Free them").click()
    expect(page.locator("#waiting")).to_contain_text("nobody has")
    expect(page.locator("#waiting button")).to_have_count(0)
    assert [one.draw for one in campaign.ask(3, owner="zoe")] == [1, 2, 3]


def test_twelve_tabs_of_one_browser_stay_live(site: Site) -> None:
    campaign = site.create("tabs")
    label_some(campaign, 5)
    context = site.context()
    pages = [site.open("/c/tabs", context) for _ in range(12)]
    for page in pages:
        expect(page.locator(LABELS)).to_have_text("5 of 100")
    label_some(campaign, 5)
    for page in pages:
        expect(page.locator(LABELS)).to_have_text("10 of 100")


def test_the_figures_are_those_of_the_command_line(site: Site) -> None:
    metric = ["error", "f1:spam"]
    campaign = site.create("same", metric=metric, slices=["country"], budget=60)
    label_some(campaign, 30)
    page = site.open("/c/same")
    expect(page.locator("#learnt")).to_be_visible()
    figures = figure_records(campaign.estimate(), campaign.last_hash)
    rows = page.locator("#figures tbody tr")
    expect(rows).to_have_count(len(figures))
    for at, figure in enumerate(figures):
        for name in ("value", "low", "high"):
            expect(rows.nth(at)).to_contain_text(f"{figure[name]:.4f}")
    expect(page.locator("#sentence")).to_have_text(headline(campaign.estimate()[0]))
    expect(page.locator("#chart canvas")).to_be_visible()
    assert page.get_attribute("#chart", "role") == "img"
    assert "draws" in page.inner_text("#chart-text")


def test_sections_show_models_labellers_weights_and_what_is_open(site: Site, folder: Path) -> None:
    table = pq.read_table(folder / "pool.parquet")
    spam = np.clip(table["proba_spam"].to_numpy() + 0.1, 0, 1)
    for name, values in {"proba@v2_ham": 1 - spam, "proba@v2_spam": spam}.items():
        table = table.append_column(name, pa.array(values))
    pq.write_table(table, folder / "two.parquet")
    campaign = site.create("sections", folder / "two.parquet")
    label_some(campaign, 30)
    campaign.ask(2, owner="yan")
    campaign.tell(1, "ham", owner="boss", on_behalf_of="yan")
    page = site.open("/c/sections")
    expect(page.locator("#comparisons tbody")).to_contain_text("v2")
    expect(page.locator("#labellers tbody")).to_contain_text("zoe")
    expect(page.locator("#labellers")).to_contain_text("Two labellers agree on")
    expect(page.locator("#open tbody")).to_contain_text("yan")
    expect(page.locator("#weights")).to_contain_text("The largest weight is")
    page.fill("#width", "0.1")
    page.get_by_role("button", name="Compute").click()
    expect(page.locator("#plan-text")).to_contain_text("labels")


def test_a_report_and_exports_are_one_click_away(site: Site) -> None:
    campaign = site.create("exports")
    label_some(campaign, 10)
    page = site.open("/c/exports")
    with page.expect_download() as download:
        page.locator("summary", has_text="Export").click()
        page.get_by_role("link", name="CSV").click()
    assert download.value.suggested_filename == "exports.csv"
    page.get_by_role("link", name="Report").click()
    expect(page.locator("h1")).to_contain_text("exports")


def test_a_campaign_is_created_from_a_file_and_labelled(site: Site) -> None:
    page = site.open("/new")
    page.select_option("#file", "pool.parquet")
    expect(page.locator("#facts")).to_contain_text(re.compile("predictions.*ham .*spam "))
    page.fill("#name", "made here")
    page.check("input[value='f1:spam']")
    page.check("input[value='country']")
    page.fill("#budget", "40")
    page.fill("#questions", "tone=rude,kind\nwhy=text")
    page.fill("#guidelines", "Be *strict*.")
    page.get_by_role("button", name="Start").click()
    page.wait_for_url("**/c/made%20here")
    page.get_by_role("link", name="Label").click()
    expect(page.locator("#guidelines em")).to_have_text("strict")
    settings = site.campaign("made here").settings
    assert settings.metric_names == ("error", "f1:spam")
    assert (settings.budget, settings.slices) == (40, ("country",))


def test_a_file_is_uploaded_and_one_that_cannot_be_read_is_refused(
    site: Site, tmp_path: Path
) -> None:
    (tmp_path / "mails.csv").write_text("id,pred,text\n1,ham,hello\n2,spam,win\n3,ham,hi\n")
    (tmp_path / "broken.parquet").write_text("no table")
    page = site.open("/new")
    page.set_input_files("#upload", tmp_path / "broken.parquet")
    expect(page.locator("#problem")).to_contain_text("broken.parquet")
    page.set_input_files("#upload", tmp_path / "mails.csv")
    expect(page.locator("#facts")).to_contain_text("ham 2, spam 1")


def test_a_file_that_is_too_large_is_refused_with_the_limit(site: Site, tmp_path: Path) -> None:
    with (tmp_path / "large.csv").open("wb") as file:
        file.truncate(UPLOAD_LIMIT + 1)
    page = site.open("/new")
    page.set_input_files("#upload", tmp_path / "large.csv")
    expect(page.locator("#problem")).to_contain_text(f"{UPLOAD_LIMIT:,} bytes")


def test_the_log_of_another_tool_is_uploaded_and_its_judges_are_checked(site: Site) -> None:
    page = site.open("/new")
    page.set_input_files("#upload", LOGS / "inspect.eval")
    expect(page.locator("#facts")).to_contain_text("Inspect AI log")
    expect(page.locator("input[name=metric]:checked")).to_have_value("share:pass")
    page.uncheck("input[value=tone]")
    page.get_by_role("button", name="Start").click()
    page.wait_for_url("**/c/inspect")
    expect(page.locator("#judges")).to_be_hidden()
    campaign = site.campaign("inspect")
    assert campaign.settings.models == ("includes", "grader")
    asks = campaign.ask(6, owner="zoe")
    labels = ("pass", "fail")
    campaign.tell_all(
        [{"draw": one.draw, "label": labels[one.draw % 2]} for one in asks], owner="zoe"
    )
    report = campaign.judge("includes")
    expect(page.locator("#judges h3")).to_have_text(["includes", "grader"])
    table = page.get_by_role("group", name="Verdicts of includes")
    expect(table.locator("tr", has_text="TPR")).to_contain_text(f"{report.figures['TPR'].low:.4f}")
    expect(table.locator("tr", has_text="share of pass")).to_contain_text(f"{report.raw:.4f}")
    expect(page.locator("#judges")).to_contain_text("Used unattended?")


def test_the_list_shows_campaigns_to_label(site: Site) -> None:
    site.create("listed")
    page = site.open("/", site.context("gus"))
    card = page.locator("li", has_text="listed")
    expect(card).to_contain_text("0 labels of 100")
    assert page.get_by_role("link", name="New campaign").count() == 0
    assert page.get_by_role("link", name="Figures").count() == 0
    card.get_by_role("link").click()
    page.wait_for_url("**/c/listed/label")


def test_a_visitor_without_a_token_logs_in_on_the_page(site: Site) -> None:
    page = site.browser.new_context().new_page()
    page.goto(f"{site.process.url}/c/none")
    expect(page.locator("h1")).to_have_text("Log in")
    page.fill("#token", site.process.token)
    page.get_by_role("button", name="Log in").click()
    expect(page.locator("h1")).to_have_text("Campaigns")
    assert "token" not in page.url
    page.context.close()


def test_the_first_load_of_each_page_is_small(site: Site) -> None:
    campaign = site.create("small")
    label_some(campaign, 20)
    shown = {
        "/": "li:has-text('small')",
        "/new": "#facts:has-text('predictions')",
        "/c/small": "#weights:has-text('The largest weight is')",
        "/c/small/label": SEEN_ITEM,
    }
    for path, what in shown.items():
        assert 0 < loaded_bytes(site, path, what) <= 300_000


def loaded_bytes(site: Site, path: str, shown: str) -> int:
    """All bytes of a page and of what it loads, in a browser that has nothing yet."""
    context = site.context()
    replies: list[Response] = []
    context.on("response", lambda one: replies.append(one))
    page = site.open(path, context)
    if path == "/new":  # with uploads of other tests beside it, no file is chosen by itself
        page.select_option("#file", "pool.parquet")
    page.wait_for_selector(shown)
    return sum(map(_size_of, replies))


def _size_of(response: Response) -> int:
    """The bytes of a reply with its headers; the stream of changes never ends."""
    headers = sum(len(name) + len(value) + 4 for name, value in response.headers.items())
    return headers + (0 if "/api/events" in response.url else len(response.body()))
