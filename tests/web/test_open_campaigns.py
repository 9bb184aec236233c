"""Campaigns in use: figures are computed once for all who wait, and no label waits for them."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.exceptions import HTTPException

from levelled.campaigns import Campaign, create_campaign, open_store
from levelled.web.open_campaigns import OpenCampaign, OpenCampaigns
from web.conftest import write_pool

TOLD: list[tuple[str, int]] = []


@pytest.fixture
def campaigns(tmp_path: Path) -> OpenCampaigns:
    TOLD.clear()
    write_pool(tmp_path / "pool.parquet")
    store = open_store(tmp_path / "levelled.db")
    create_campaign("spam", tmp_path / "pool.parquet", storage=tmp_path / "levelled.db", seed=1)
    return OpenCampaigns(store, lambda name, n: TOLD.append((name, n)))


@pytest.fixture
def spam(campaigns: OpenCampaigns) -> OpenCampaign:
    return campaigns.get("spam")


def test_a_campaign_is_opened_once(campaigns: OpenCampaigns, spam: OpenCampaign) -> None:
    assert campaigns.get("spam") is spam
    with pytest.raises(HTTPException):
        campaigns.get("ham")


def test_a_result_counts_until_the_next_change(spam: OpenCampaign) -> None:
    calls: list[int] = []

    def compute(campaign: Campaign) -> int:
        calls.append(campaign.state.n_events)
        return len(calls)

    assert [spam.read("x", compute), spam.read("x", compute)] == [1, 1]
    with spam.writing() as campaign:
        campaign.ask(1, owner="ann")
        n_events = campaign.state.n_events
    assert ("spam", n_events) in TOLD
    assert spam.read("x", compute) == 2
    assert calls[1] == n_events


def test_no_label_waits_for_a_figure(spam: OpenCampaign) -> None:
    computing, go_on = threading.Event(), threading.Event()

    def compute(_: Campaign) -> str:
        computing.set()
        assert go_on.wait(120)
        return "done"

    with ThreadPoolExecutor(1) as threads:
        reading = threads.submit(spam.read, "x", compute)
        assert computing.wait(120)
        with spam.writing() as campaign:
            asked = campaign.ask(1, owner="ann")
            campaign.tell(asked[0].draw, "ham", owner="ann")
        go_on.set()
        assert reading.result() == "done"


def test_many_who_wait_get_one_result(spam: OpenCampaign) -> None:
    first, go_on, calls = threading.Event(), threading.Event(), list[int]()

    def compute(_: Campaign) -> int:
        calls.append(1)
        first.set()
        assert go_on.wait(120)
        return len(calls)

    with ThreadPoolExecutor(20) as threads:
        one = threads.submit(spam.read, "x", compute)
        assert first.wait(120)
        with spam.writing() as campaign:  # what the first computes is old for all who come now
            campaign.ask(1, owner="ann")
        others = [threads.submit(spam.read, "x", compute) for _ in range(19)]
        go_on.set()
        assert one.result() == 1
        assert {other.result() for other in others} == {2}
    assert len(calls) == 2
