"""Clocks that jump or disagree neither steal an item nor keep it from the others."""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from campaigns.simulated import begun, spam
from levelled.campaigns import Campaign, create_campaign
from levelled.campaigns.stores import Store, open_store
from levelled.campaigns.stores.database import Turn
from levelled.campaigns.stores.sqlite import SQLite
from postgres_server import PostgresServer

POOL, _ = spam(60)
HOUR = timedelta(hours=1)


class SetSQLite(SQLite):
    """A file that is written by a machine whose clock the test sets."""

    clock = datetime(2026, 11, 18, 12, tzinfo=UTC)

    def now(self, turn: Turn) -> datetime:
        del turn
        return self.clock


def on_a_machine(path: Path) -> tuple[Campaign, SetSQLite]:
    """The campaign as another machine with a clock of its own has it."""
    database = SetSQLite(path, str(path))
    return Campaign("spam", Store(database)), database


def times(campaign: Campaign) -> list[datetime]:
    events = campaign._log.store.events("spam")
    return [datetime.fromisoformat(one.event["at"]) for one in events]


def drawn(campaign: Campaign, owner: str) -> list[int]:
    return [one.draw for one in campaign.ask(1, owner=owner, lease_seconds=120)]


def test_time_never_runs_backwards_when_a_clock_jumps_back_and_forth(tmp_path: Path) -> None:
    first = begun(tmp_path / "c.db", POOL)
    campaign, machine = on_a_machine(tmp_path / "c.db")
    machine.clock = start = datetime.now(UTC) + HOUR
    for hours in (0, -2, 1, -3, 2, 0):
        machine.clock = start + hours * HOUR
        campaign.ask(1)
    stamps = times(campaign)
    assert stamps == sorted(stamps)
    assert stamps[-1] - start < 2 * HOUR + timedelta(minutes=10)
    assert first.audit() == []


def test_a_clock_that_was_set_back_strands_nothing(tmp_path: Path) -> None:
    begun(tmp_path / "c.db", POOL)
    campaign, machine = on_a_machine(tmp_path / "c.db")
    machine.clock = datetime.now(UTC) + HOUR
    (ask,) = campaign.ask(1, owner="ann", lease_seconds=1)
    machine.clock -= 2 * HOUR
    assert campaign.state.leases[1].until == ask.lease_until
    deadline = time.monotonic() + 60
    while campaign._log.now() <= datetime.fromisoformat(ask.lease_until):
        assert time.monotonic() < deadline, "time stands still"
        time.sleep(0.01)
    assert drawn(campaign, "bob") == [1]


def test_a_machine_whose_clock_is_behind_steals_nothing(tmp_path: Path) -> None:
    here = begun(tmp_path / "c.db", POOL)
    assert drawn(here, "ann") == [1]
    there, machine = on_a_machine(tmp_path / "c.db")
    machine.clock = datetime.now(UTC) - HOUR
    assert drawn(there, "bob") == [2]
    assert drawn(here, "cy") == [3], "bob's lease did not end an hour ago"


def test_the_clock_of_the_server_counts_and_not_that_of_a_client(postgres: PostgresServer) -> None:
    url = postgres.new_schema()
    schema = url.rpartition("%3D")[2]
    postgres.execute(
        f"CREATE FUNCTION {schema}.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS "
        "$$ SELECT pg_catalog.clock_timestamp() + interval '5 hours' $$",
    )
    skewed = url.replace(schema, f"{schema},pg_catalog")
    campaign = create_campaign("spam", POOL, storage=skewed, seed=7, kind="static")
    campaign.ask(1, owner="ann", lease_seconds=120)
    with open_store(skewed) as store:
        ahead = store.now() - datetime.now(UTC)
    assert abs(ahead - 5 * HOUR) < timedelta(minutes=10)
    assert all(abs(at - datetime.now(UTC) - 5 * HOUR) < HOUR for at in times(campaign))
