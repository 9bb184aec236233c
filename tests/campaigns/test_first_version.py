"""A database of the first version, once it is upgraded, gives the figures it gave then."""

import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from levelled.campaigns import copy, load_campaign, upgrade
from levelled.campaigns.drawing.drawing import draw_events
from levelled.campaigns.log import decide
from levelled.campaigns.log.events import apply_events

FILES = Path(__file__).parent / "first_version"


RENAMED = {
    "n_pool": "pool_size",
    "pending_low": "pending_value_min",
    "pending_high": "pending_value_max",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The database, restored from its dump and upgraded."""
    with sqlite3.connect(tmp_path / "first.db") as database:
        database.executescript((FILES / "first_version.sql").read_text())
    database.close()
    upgrade(tmp_path / "first.db")
    return tmp_path / "first.db"


def figures_then() -> list[dict[str, object]]:
    """The figures as the first version printed them, under the names of today."""
    rows = json.loads((FILES / "figures.json").read_text())
    return [{RENAMED.get(k, k): v for k, v in row.items()} for row in rows]


def test_its_figures_are_the_same(path: Path) -> None:
    figures = load_campaign("spam", storage=path).estimate()
    for figure, then in zip(figures, figures_then(), strict=True):
        now = figure.as_dict()
        assert then.keys() <= now.keys()
        for name, value in then.items():
            rounded = isinstance(value, float)
            assert now[name] == (pytest.approx(value, rel=1e-12) if rounded else value)


def test_it_passes_an_audit_with_its_pool(path: Path) -> None:
    campaign = load_campaign("spam", storage=path, pool=FILES / "pool.csv")
    assert campaign.audit() == []
    assert {draw: mark.reason for draw, mark in campaign.state.unlabelable.items()} == {17: "empty"}


def test_it_can_be_copied_and_reported(path: Path, tmp_path: Path) -> None:
    assert copy(path, tmp_path / "copy.db") == ["spam"]
    campaign = load_campaign("spam", storage=tmp_path / "copy.db", pool=FILES / "pool.csv")
    assert campaign.audit() == []
    campaign.report(tmp_path / "report.html")
    assert "empty" in (tmp_path / "report.html").read_text()


def test_it_is_static_and_could_have_become_adaptive(path: Path) -> None:
    campaign = load_campaign("spam", storage=path, pool=FILES / "pool.csv")
    assert (campaign.settings.kind, campaign.settings.features) == ("static", ())
    assert (campaign.state.rounds, campaign.predictor) == ((), None)
    events = [one.event for one in campaign._log.store.events("spam")]
    state = apply_events(event for event in events if event["type"] not in ("closed", "attached"))
    given = state.draws[: state.n_asked]
    later = apply_events(decide.change(state, None, datetime.now(UTC), kind="adaptive"), state)
    assert later.draws == given
    needed = len(given) + 5
    later = apply_events(draw_events(campaign.pool(), later, needed, at="now"), later)
    assert later.draws[: len(given)] == given
    assert len(later.draws) >= needed
    assert [one.first for one in later.rounds] == [len(given) + 1]
