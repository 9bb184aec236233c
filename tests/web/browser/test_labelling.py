"""Labelling in a real browser: by keyboard, without losing an answer."""

import signal
import time
from collections.abc import Callable
from itertools import cycle, islice

from playwright.sync_api import BrowserContext, Page, Response, Route, expect

from web.browser.conftest import PATIENCE, SEEN_ITEM, Site
from web.conftest import Process

SAVED = "All answers are saved"

_WATCH_KEYS = """() => {
  window.delays = [];
  let pressed = null;
  addEventListener("keydown", () => (pressed = performance.now()), true);
  new MutationObserver(() => requestAnimationFrame(() => {
    if (!document.getElementById("item").dataset.draw) return;
    if (pressed !== null) window.delays.push(performance.now() - pressed);
    pressed = null;
  })).observe(document.getElementById("item"), { attributeFilter: ["data-draw"] });
}"""


def draw_of(page: Page) -> int:
    return int(page.get_attribute(SEEN_ITEM, "data-draw") or "0")


def press(page: Page, key: str) -> int:
    """Answer the item on a page by a key, wait for the next one, and return its draw."""
    draw = draw_of(page)
    page.keyboard.press(key)
    page.wait_for_selector(f"#item[data-draw]:not([data-draw='{draw}']):not([data-draw=''])")
    return draw


def until(context: BrowserContext, is_so: Callable[[], bool]) -> None:
    """Wait for what a request that nobody waits for brings about."""
    deadline = time.monotonic() + PATIENCE / 1000
    while not is_so():
        assert time.monotonic() < deadline
        context.new_page().close()


def test_thirty_items_are_labelled_by_keyboard_with_undo_skip_and_reload(site: Site) -> None:
    site.create("thirty")
    page = site.label("thirty")
    told = {}
    for at, key in enumerate(islice(cycle("122"), 30)):
        told[press(page, key)] = "ham" if key == "1" else "spam"
        if at == 9:
            page.keyboard.press("Backspace")
            last = max(told)
            page.wait_for_selector(f"#item[data-draw='{last}']")
            told[press(page, "1")] = "ham"
        if at == 14:
            page.keyboard.press("s")
            page.keyboard.type("no text in it")
            skipped = draw_of(page)
            page.keyboard.press("Enter")
            page.wait_for_selector(f"#item:not([data-draw='{skipped}'])")
        if at == 19:
            current = draw_of(page)
            page.reload()
            page.wait_for_selector(f"#item[data-draw='{current}']")
    expect(page.locator("#state")).to_have_text(SAVED)
    state = site.campaign("thirty").state
    assert {draw: answer.label for draw, answer in state.answers.items()} == told
    assert len(told) == 30
    assert skipped not in state.answers
    expect(page.locator("#count")).to_have_text("30 of 100 labels")


def test_a_label_that_came_late_is_said_not_to_count(site: Site) -> None:
    site.create("late")
    page = site.label("late")
    campaign, draw = site.campaign("late"), draw_of(page)
    campaign.give_back(everyone=True)
    campaign.ask(draw, owner="bob")
    campaign.tell(draw, "ham", owner="bob")
    press(page, "2")
    expect(page.locator("#problems")).to_contain_text("will not count")
    assert [one.label for one in campaign.state.opinions[draw]] == ["spam"]
    page.reload()
    page.locator("#problems button").click()
    expect(page.locator("#problems")).to_be_empty()


def test_the_next_item_is_there_within_a_tenth_of_a_second(site: Site) -> None:
    site.create("fast")
    page = site.label("fast")
    page.evaluate(_WATCH_KEYS)
    for key in islice(cycle("12"), 25):
        press(page, key)
    delays = page.evaluate("window.delays")
    assert len(delays) == 25
    assert min(delays) <= 100  # milliseconds; a busy machine delays some of them, and not all


def test_an_item_is_kept_only_while_it_is_shown(site: Site) -> None:
    campaign = site.create("shown")
    page = site.label("shown", site.context("gina"))
    assert [*campaign.state.leases] == [1]
    draw = press(page, "1")
    expect(page.locator("#state")).to_have_text(SAVED)
    assert [*campaign.state.leases] == [draw + 1]


def test_the_next_item_comes_though_the_answer_is_not_stored_yet(site: Site) -> None:
    campaign = site.create("slow")
    page = site.label("slow")
    held: list[Route] = []
    page.route("**/tell", lambda route: held.append(route))
    assert (press(page, "1"), draw_of(page)) == (1, 2)
    assert not campaign.state.answers
    held.pop().continue_()
    expect(page.locator("#state")).to_have_text(SAVED)


def test_a_tab_that_is_closed_gives_its_item_back(site: Site) -> None:
    campaign = site.create("closed")
    page = site.label("closed", site.context("hugo"))
    with page.expect_event("close"):
        page.close(run_before_unload=True)
    until(page.context, lambda: not campaign.state.leases)
    others = site.label("closed", site.context("ida"))
    assert [press(others, "1") for _ in range(3)] == [1, 2, 3]


def test_a_tab_that_vanished_hides_the_labels_of_the_others_for_no_longer_than_it_may(
    site: Site,
) -> None:
    campaign = site.create("vanished", away_seconds=1)
    gone = site.label("vanished", site.context("karl"))
    lease = campaign.state.leases[1]
    gone.close()  # without a word, as in a crash
    page = site.label("vanished", site.context("lea"))
    told = [press(page, "1") for _ in range(60)]
    while 1 not in told:  # the lease ends within a second
        told.append(press(page, "1"))
    expect(page.locator("#state")).to_have_text(SAVED)
    state = campaign.state
    assert (lease.owner, state.answers[1].by) == ("karl", "lea")
    assert len(told) >= 60
    assert state.n_settled == len(told)
    assert campaign.estimate()[0].n_settled == len(told)
    assert campaign.audit() == []


def test_an_item_that_was_given_away_is_not_replaced_before_the_labeller_is_back(
    site: Site,
) -> None:
    campaign = site.create("absent", away_seconds=2)
    page = site.label("absent", site.context("mia"))
    campaign.give_back(everyone=True)
    (ask,) = campaign.ask(1, owner="noa")
    expect(page.locator("#item")).to_contain_text("somebody else")
    assert ask.draw == 1
    assert [*campaign.state.leases] == [1]
    page.get_by_role("button", name="Next item").click()
    page.wait_for_selector("#item[data-draw='2']")


def test_two_labellers_never_have_the_same_item(site: Site) -> None:
    site.create("two")
    pages = [site.label("two", site.context(name)) for name in ("bob", "carol")]
    seen = [{press(page, "1") for _ in range(8)} for page in pages]
    both = [[press(page, "2") for page in pages] for _ in range(4)]
    assert not seen[0] & seen[1]
    assert all(one != other for one, other in both)
    for page in pages:
        expect(page.locator("#state")).to_have_text(SAVED)
    state = site.campaign("two").state
    assert {answer.by for answer in state.answers.values()} == {"bob", "carol"}
    assert len(state.answers) == 24
    assert not state.opinions


def test_no_answer_is_lost_when_the_server_is_killed_and_starts_again(
    serve: Callable[..., Process], new_site: Callable[[Process], Site]
) -> None:
    site = new_site(serve())
    page = site.label("spam")
    told = {press(page, "1") for _ in range(3)}
    site.process.stop(signal.SIGKILL)
    told.add(draw_of(page))
    page.keyboard.press("2")
    expect(page.locator("#state")).to_contain_text("sent again")
    site.process.start()
    page.wait_for_selector(SEEN_ITEM)
    expect(page.locator("#state")).to_have_text(SAVED)
    assert {*site.campaign("spam").state.answers} == told


def test_answers_wait_in_the_browser_over_a_reload_without_a_connection(site: Site) -> None:
    site.create("offline")
    page = site.label("offline")
    page.route("**/tell", lambda route: route.abort())
    draw = press(page, "1")
    expect(page.locator("#state")).to_contain_text("1 answer is kept here")
    page.reload()
    page.wait_for_selector(SEEN_ITEM)
    assert draw_of(page) != draw
    page.unroute("**/tell")
    expect(page.locator("#state")).to_have_text(SAVED)
    assert site.campaign("offline").state.answers[draw].label == "ham"


def test_an_item_answered_before_a_reload_is_not_shown_again(site: Site) -> None:
    site.create("again")
    page = site.label("again")
    held: dict[str, Route] = {}
    page.route("**/tell", lambda route: held.__setitem__("tell", route))
    page.route("**/ask", lambda route: held.__setitem__("ask", route))
    draw = draw_of(page)
    page.keyboard.press("1")
    page.wait_for_selector(f"#item:not([data-draw='{draw}'])")
    held.clear()
    page.reload()
    while len(held) < 2:
        page.wait_for_timeout(10)
    items = held["ask"].fetch()  # the server has not stored the answer yet
    assert [draw] != [item["draw"] for item in items.json()["items"]]
    held["tell"].continue_()
    expect(page.locator("#state")).to_have_text(SAVED)
    held["ask"].fulfill(response=items)
    page.wait_for_selector(SEEN_ITEM)
    assert draw_of(page) != draw


def test_a_label_that_is_refused_is_shown_and_kept_until_it_is_dismissed(site: Site) -> None:
    campaign = site.create("refused")
    page = site.label("refused", site.context("dora"))
    campaign.tell(1, "spam", owner="dora")
    page.keyboard.press("1")
    expect(page.locator("#problems")).to_contain_text("draw 1 is not stored")
    page.get_by_role("button", name="Dismiss").click()
    expect(page.locator("#problems")).to_be_empty()
    assert campaign.state.answers[1].label == "spam"


def test_several_questions_and_a_note_are_answered_by_keyboard(site: Site) -> None:
    questions = ["tone=rude,neutral,kind", "clarity=1:5", "why=text"]
    site.create("rubric", questions=questions, guidelines="Mark **prizes** as spam.")
    page = site.label("rubric")
    expect(page.locator("#guidelines strong")).to_have_text("prizes")
    for key in ("2", "3", "4"):
        page.keyboard.press(key)
    page.keyboard.type("it is polite")
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    page.keyboard.type("odd")
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    page.wait_for_selector("#item[data-draw='2']")
    expect(page.locator("#state")).to_have_text(SAVED)
    answer = site.campaign("rubric").state.answers[1]
    assert (answer.label, answer.note) == ("spam", "odd")
    assert answer.rubric == {"tone": "kind", "clarity": 4, "why": "it is polite"}


def test_a_label_in_the_history_is_changed_and_the_change_undone(site: Site) -> None:
    site.create("changed")
    page = site.label("changed", site.context("emil"))
    press(page, "1")
    page.get_by_role("button", name="Change the label of draw 1").click()
    dialog = page.locator("#changing")
    dialog.get_by_role("button", name="spam").click()
    dialog.get_by_role("button", name="Save").click()
    expect(page.locator("#history li").first).to_contain_text("spam")
    page.keyboard.press("Control+z")
    expect(page.locator("#problems")).to_contain_text("the label “ham” again")


def test_keys_that_mean_nothing_label_nothing(site: Site) -> None:
    site.create("keys")
    page = site.label("keys")
    for key in ("Space", "3", "x", "Shift+1", "Control+1", "Enter"):
        page.keyboard.press(key)
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("1")
    page.keyboard.press("Escape")
    assert draw_of(page) == 1
    assert not site.campaign("keys").state.answers


def test_the_labelling_page_gets_neither_predictions_nor_figures(site: Site) -> None:
    site.create("blind")
    context = site.context("finn")
    replies: list[Response] = []
    context.on("response", lambda reply: replies.append(reply))
    page = site.label("blind", context)
    press(page, "1")
    expect(page.locator("#state")).to_have_text(SAVED)
    texts = [one.text() for one in replies if "/api/" in one.url]
    assert not any(name in one.url for one in replies for name in ("estimate", "trajectory"))
    assert not any(
        name in text for text in texts for name in ("proba", "pred", "metric", "last_hash")
    )
