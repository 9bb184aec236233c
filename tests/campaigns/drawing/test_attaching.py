"""Predictions that are attached to a campaign need those of the drawn items."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from campaigns.simulated import begun, label, spam
from levelled.campaigns import create_campaign, load_campaign
from levelled.errors import CampaignError
from postgres_server import PostgresServer

N = 60
SPAM, LABELS = spam(N, seed=2)
TRUTH: dict[Any, Any] = {**LABELS}
SECOND = pa.table({"id": SPAM["id"], "proba_ham": [0.4] * N, "proba_spam": [0.6] * N})


def test_a_file_without_drawn_items_is_named(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", SPAM, kind="adaptive")
    label(campaign, 10, TRUTH)
    rows = [item.row for item in campaign.state.draws]
    pq.write_table(SECOND.take([at for at in range(N) if at not in rows]), tmp_path / "v2.parquet")
    others = len(rows) - 1
    refusal = rf"v2\.parquet.*\bid '.*\b{others} others\b"
    with pytest.raises(CampaignError, match=refusal):
        campaign.attach(tmp_path / "v2.parquet", "v2")


def test_a_later_draw_of_an_item_that_was_not_attached_says_what_to_do(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", SPAM, kind="adaptive")
    label(campaign, 10, TRUTH)
    rows = [item.row for item in campaign.state.draws]
    pq.write_table(SECOND.take(rows), tmp_path / "drawn.parquet")
    campaign.attach(tmp_path / "drawn.parquet", "v2")
    refusal = r"drawn\.parquet.*\battach\b"
    with pytest.raises(CampaignError, match=refusal):
        campaign.ask(N)
    assert len(campaign.state.draws) == len(rows)
    pq.write_table(SECOND, tmp_path / "all.parquet")
    campaign.attach(tmp_path / "all.parquet", "v2")
    label(campaign, 20, TRUTH)
    assert campaign.audit() == []


def test_a_frame_that_was_attached_serves_further_draws_of_any_process(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", SPAM, kind="adaptive")
    label(campaign, 10, TRUTH)
    campaign.attach(SECOND, "gpt 4/new")
    attached = campaign.state.attached["gpt 4/new"]
    saved = Path(str(attached.source))
    assert saved.parent == tmp_path
    assert saved.name.startswith("spam-gpt_4_new-")
    assert saved.suffix == ".parquet"
    campaign.ask(N)
    other = load_campaign("spam", storage=tmp_path / "c.db", pool=SPAM)
    label(other, 20, TRUTH)
    assert len(other.state.attached["gpt 4/new"].pred) == len(other.state.draws)
    assert [*other.audit()] == []
    assert other.audit().notes == []
    with pytest.raises(CampaignError):
        campaign.attach(SECOND.slice(0, 1), "v3")
    assert [*tmp_path.glob("*v3*")] == []


def test_a_frame_beside_no_file_serves_its_process(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = create_campaign("spam", SPAM, storage=postgres.new_database(), seed=7)
    label(campaign, 10, TRUTH)
    campaign.attach(SECOND, "v2")
    campaign.ask(20)
    drawn = len(campaign.state.draws)
    monkeypatch.setattr("levelled.campaigns.drawing.pools._IN_MEMORY", {})  # as in another process
    with pytest.raises(CampaignError, match=r"'v2'.*memory.*attach.*file"):
        campaign.ask(N)
    assert len(campaign.state.draws) == drawn
