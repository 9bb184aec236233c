"""Steps on the log of a campaign: decided in turn, on the newest state."""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import pytest

from campaigns.simulated import begun, spam
from levelled.campaigns import load_campaign, open_store
from levelled.campaigns.log.events import Closed, Event, Leased
from levelled.campaigns.log.log import CampaignLog
from levelled.campaigns.log.records import canonical, hash_of, to_plain
from levelled.campaigns.log.state import CampaignState
from levelled.errors import CampaignError, ConflictError

POOL, TRUTH = spam(200)


def test_a_campaign_that_is_not_there_is_named(tmp_path: Path) -> None:
    with open_store(tmp_path / "c.db") as store:
        with pytest.raises(CampaignError, match="no campaign 'spam'"):
            _ = CampaignLog("spam", store).state
        with pytest.raises(CampaignError, match="no campaign 'spam'"):
            CampaignLog("spam", store).do(lambda _, __: [])


def test_a_slow_step_is_decided_once_while_others_write(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    other = load_campaign("spam", storage=tmp_path / "c.db")
    (ask,) = campaign.ask(1, owner="ann")
    decided, started = list[int](), threading.Event()

    def decide_slowly(state: CampaignState, _: datetime) -> Sequence[Event]:
        decided.append(len(state.answers))
        started.set()
        time.sleep(0.2)
        return [Closed(at="2026-11-16T09:00:00+00:00", by=None, reason="slow")]

    def tell() -> None:
        started.wait()
        with pytest.raises(CampaignError, match="closed"):
            other.tell(ask.draw, TRUTH[str(ask.id)], owner="ann")

    with ThreadPoolExecutor(1) as threads:
        telling = threads.submit(tell)
        assert campaign._do(decide_slowly) == 1
        telling.result()
    assert decided == [0]


def test_draws_and_their_lease_are_one_step(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL, kind="adaptive")
    before = campaign.state
    campaign.ask(1 + len(before.draws))  # more than have been drawn
    types = [one.event["type"] for one in campaign._log.store.events("spam", before.n_events)]
    assert types == ["round", "drawn", "leased"]
    assert campaign.audit() == []


def test_somebody_who_never_waits_is_a_conflict_in_the_end(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    stamp = "2026-11-16T09:00:00+00:00"
    nothing = Leased(at=stamp, by=None, draws=[], until=stamp)

    def overtake(state: CampaignState, _: datetime) -> Sequence[Event]:
        with campaign._log.store._database.writing() as connection:
            body = canonical({**to_plain(nothing), "log": campaign._log._log})
            connection.execute(
                "INSERT INTO events (campaign, seq, prev_hash, hash, body) "
                "SELECT campaign, seq + 1, hash, :hash, :body FROM events ORDER BY seq DESC "
                "LIMIT 1",
                {"body": body, "hash": hash_of(campaign._log._hash, body)},
            )
        assert state.n_events > 0
        return [nothing]

    with pytest.raises(ConflictError, match="too busy"):
        campaign._do(overtake)
