"""The files of a campaign are read no more often than needed, and opened again if touched."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from campaigns.simulated import label, spam
from levelled.campaigns import Campaign, create_campaign, load_campaign
from levelled.errors import CampaignError
from levelled.sources import files, rows

SPAM, LABELS = spam(120, seed=4)
TRUTH: dict[Any, Any] = {**LABELS}


def begin(folder: Path, table: pa.Table = SPAM) -> Campaign:
    (folder / "pool").mkdir()
    for number in range(2):
        pq.write_table(table.slice(60 * number, 60), folder / "pool" / f"{number}.parquet")
    source = str(folder / "pool" / "*.parquet")
    return create_campaign("spam", source, storage=folder / "c.db", seed=5, budget=60)


def touch(path: Path) -> None:
    """Let a file look changed, whatever the clock."""
    later = path.stat().st_mtime_ns + 10**9
    os.utime(path, ns=(later, later))


@pytest.fixture
def n_hashed(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How often the files of a pool were hashed so far."""
    calls: list[Sequence[Path]] = []
    for name in ("digest", "sample_digest"):
        hashing = getattr(files, name)

        def counted(
            paths: Sequence[Path], hashing: Callable[[Sequence[Path]], str] = hashing
        ) -> str:
            calls.append(paths)
            return hashing(paths)

        monkeypatch.setattr(files, name, counted)
    return lambda: len(calls)


@pytest.mark.parametrize("large", [1 << 30, 100])
def test_files_are_hashed_once_in_a_process(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    n_hashed: Callable[[], int],
    large: int,
) -> None:
    monkeypatch.setattr(files, "_LARGE", large)
    campaign = begin(tmp_path)
    for _ in range(5):
        label(campaign, 5, TRUTH)
    assert len(campaign.state.rounds) > 3
    assert n_hashed() == 1
    assert load_campaign("spam", storage=tmp_path / "c.db").audit() == []
    assert n_hashed() == 2


def test_a_campaign_keeps_its_kind_of_fingerprint_at_one_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_hashed: Callable[[], int]
) -> None:
    label(begin(tmp_path), 30, TRUTH)
    monkeypatch.setattr(files, "_LARGE", 100)
    before = n_hashed()
    again = load_campaign("spam", storage=tmp_path / "c.db")
    label(again, 50, TRUTH)
    assert n_hashed() == before + 1


def test_a_frame_is_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    class Counted(rows._Hash):
        def __init__(self) -> None:
            super().__init__()
            made.append(1)

    monkeypatch.setattr(rows, "_Hash", Counted)
    campaign = create_campaign("spam", SPAM, storage=tmp_path / "c.db", seed=5, budget=60)
    label(campaign, 30, TRUTH)
    assert campaign.audit() == []
    assert len(made) == 1


def test_an_open_campaign_goes_on_after_its_files_were_touched(tmp_path: Path) -> None:
    campaign = begin(tmp_path)
    label(campaign, 10, TRUTH)
    for number in range(2):
        touch(tmp_path / "pool" / f"{number}.parquet")
        label(campaign, 20 + 10 * number, TRUTH)
    assert campaign.audit() == []


def test_new_predicted_losses_outlive_a_pool_that_was_touched(tmp_path: Path) -> None:
    campaign = begin(tmp_path)
    label(campaign, 10, TRUTH)
    campaign.rescore(pa.table({"id": SPAM["id"], "loss_hat": [0.1, 0.4] * 60}))
    touch(tmp_path / "pool" / "0.parquet")
    label(campaign, 30, TRUTH)
    assert campaign.audit() == []


def test_a_pool_that_moved_is_opened_again_where_it_is(tmp_path: Path) -> None:
    begin(tmp_path)
    (tmp_path / "pool").rename(tmp_path / "moved")
    moved = str(tmp_path / "moved" / "*.parquet")
    campaign = load_campaign("spam", storage=tmp_path / "c.db", pool=moved)
    label(campaign, 10, TRUTH)
    touch(tmp_path / "moved" / "1.parquet")
    label(campaign, 20, TRUTH)


def test_an_open_campaign_names_itself_and_the_remedy(tmp_path: Path) -> None:
    campaign = begin(tmp_path)
    label(campaign, 10, TRUTH)
    path = tmp_path / "pool" / "1.parquet"
    content = path.read_bytes()
    pq.write_table(SPAM.slice(0, 30), path)
    refusal = r"pool.*'spam'.*--pool"
    with pytest.raises(CampaignError, match=refusal):
        campaign.ask(10)
    (tmp_path / "pool").rename(tmp_path / "away")
    with pytest.raises(CampaignError, match=refusal):
        campaign.ask(10)
    (tmp_path / "away").rename(tmp_path / "pool")
    path.write_bytes(content)
    label(campaign, 20, TRUTH)
