"""Takes the screenshots of docs/pages. CONTRIBUTING.md names the command."""

import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image
from playwright.sync_api import BrowserContext, Page, sync_playwright

from web.browser.conftest import CHROMIUM, OPTIONS, SEEN_ITEM, Site
from web.browser.examples import kinds_of_content
from web.conftest import Process

HOW: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1200, "height": 800}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1200, "height": 800}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True},
}
PAGES = {
    "campaigns": ("/", ".cards li"),
    "create": ("/new", "#settings"),
    "figures": ("/c/mails", "#learnt"),
    "label": ("/c/mails/label", SEEN_ITEM),
    "chat": ("/c/support/label", SEEN_ITEM),
    "pair": ("/c/duel/label", SEEN_ITEM),
}
GUIDELINES = (
    "Mark as **spam** what nobody asked for:\n\n- prizes and lotteries\n- offers of loans\n"
)


def write_mails(path: Path, n: int = 2000) -> list[str]:
    """Write a pool of mails with predictions of a filter; return the true label of each."""
    rng = np.random.default_rng(3)
    spam = rng.random(n) < 0.3
    doubt = np.clip(rng.beta(1, 12, n), 0, 0.45)
    wrong = rng.random(n) < doubt
    predicted = np.where(spam ^ wrong, 1 - doubt, doubt)
    text = kinds_of_content()["text"]["text"]
    meeting = "From: ann@office.example\nSubject: Monday\n\nShall we meet at ten, as last week?\n"
    columns = {
        "id": [f"mail-{at}" for at in range(n)],
        "proba_ham": 1 - predicted,
        "proba_spam": predicted,
        "country": rng.choice(["de", "fr", "nl"], n),
        "text": [text if one else meeting for one in spam],
    }
    pq.write_table(pa.table(columns), path)
    return ["spam" if one else "ham" for one in spam]


def prepare(site: Site) -> None:
    """Create the campaigns of the screenshots."""
    folder = site.process.folder
    labels = write_mails(folder / "mails.parquet")
    metrics = ["error", "f1:spam"]
    mails = site.create(
        "mails",
        folder / "mails.parquet",
        metric=metrics,
        budget=300,
        slices=["country"],
        guidelines=GUIDELINES,
    )
    for at in range(21):
        owner = ("ann", "bob", "carl")[at % 3]
        asks = mails.ask(10, owner=owner)
        answers = [
            {"draw": one.draw, "label": labels[int(str(one.id).removeprefix("mail-"))]}
            for one in asks
        ]
        mails.tell_all(answers, owner=owner)
    kinds = kinds_of_content()
    for name, kind, more in (
        ("support", "chat", {"questions": ["tone=rude,neutral,kind", "clarity=1:5"]}),
        ("duel", "pair", {"pair": ["answer_a", "answer_b"], "metric": "share:answer_b"}),
    ):
        columns = {column: [value] * 60 for column, value in kinds[kind].items()}
        predictions = {} if kind == "pair" else {"pred": ["good", "bad"] * 30}
        path = folder / f"{kind}.parquet"
        pq.write_table(pa.table({"id": [*range(60)], **predictions, **columns}), path)
        site.create(name, path, budget=40, **more)


def take(page: Page, path: Path) -> None:
    """Write a picture of a page, in few colours."""
    page.wait_for_timeout(400)
    picture = Image.open(BytesIO(page.screenshot(full_page=True)))
    picture.convert("RGB").quantize(64).save(path, optimize=True)


def take_all(site: Site, folder: Path) -> None:
    """Take every page, light, dark and on a phone."""
    for how, settings in HOW.items():
        context: BrowserContext = site.context(**settings)
        for name, (path, ready) in PAGES.items():
            page = site.open(path, context)
            if name == "create":
                page.select_option("#file", "mails.parquet")
            page.locator(ready).first.wait_for()
            take(page, folder / f"{name}-{how}.png")
            page.close()
        stranger = site.browser.new_context(**settings)
        page = site.open("/", stranger)
        take(page, folder / f"login-{how}.png")
        stranger.close()


def main(folder: Path) -> None:
    """Start a server and a browser, and take the screenshots."""
    with TemporaryDirectory() as place, sync_playwright() as playwright:
        Path(place, "uploads").mkdir()
        write_mails(Path(place, "uploads", "mails.parquet"))
        options = ["--storage", f"sqlite:///{place}/levelled.db", "--uploads", f"{place}/uploads"]
        process = Process(Path(place), *options)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*OPTIONS])
        site = Site(browser, process, [], [])
        prepare(site)
        folder.mkdir(parents=True, exist_ok=True)
        take_all(site, folder)
        browser.close()
        process.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
