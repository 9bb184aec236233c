"""`levelled storage`, and a whole campaign on a PostgreSQL server."""

import json
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.terminal import Levelled
from levelled.campaigns import load_campaign
from postgres_server import PostgresServer


@pytest.fixture
def spam(levelled: Levelled, pool: Path) -> str:
    levelled("create", "spam", "--pool", pool, "--seed", 7, "--budget", 20)
    levelled("ask", "spam", "--owner", "ann")
    return "spam"


def test_a_backup_is_a_storage(levelled: Levelled, spam: str) -> None:
    backup = levelled("storage", "backup", "sqlite:///levelled.db", "safe.db")
    assert (backup.code, backup.out, backup.err) == (0, "", "written: safe.db\n")
    assert levelled("audit", spam, "--storage", "safe.db").code == 0
    again = levelled("storage", "backup", "sqlite:///levelled.db", "safe.db")
    assert (again.code, again.err.count("\n")) == (1, 1)
    assert "replaces nothing" in again.err


def test_an_upgrade_says_where_the_backup_is(levelled: Levelled, spam: str) -> None:
    with sqlite3.connect("levelled.db") as database:
        database.execute("ALTER TABLE events DROP COLUMN type")
        database.execute("ALTER TABLE events DROP COLUMN at")
        database.execute("DROP TABLE tokens")
        database.execute("UPDATE levelled_version SET version_num = '0001'")
    database.close()
    assert "levelled storage upgrade" in levelled("status", spam).err
    upgraded = levelled("storage", "upgrade")
    assert "version 0001" in upgraded.err
    assert "levelled.version-0001.db" in upgraded.err
    assert levelled("status", spam).code == 0


def test_a_campaign_moves_to_a_server_and_goes_on_there(
    levelled: Levelled, spam: str, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.new_schema()
    assert levelled("storage", "copy", "sqlite:///levelled.db", url).err == "copied: spam\n"
    monkeypatch.setenv("LEVELLED_STORAGE", url)
    asked = levelled("ask", spam, "-n", 5, "--owner", "bob", "--format", "jsonl").out.splitlines()
    answers = [json.dumps({"draw": json.loads(line)["draw"], "label": "ham"}) for line in asked]
    assert levelled("tell", spam, "-", "--owner", "bob", given="\n".join(answers)).code == 0
    assert levelled("audit", spam).code == 0
    assert json.loads(levelled("estimate", spam).out)[0]["n_labels"] == 5
    assert "opens, 1 campaigns" in levelled("doctor").out


def test_no_command_shows_the_password(
    levelled: Levelled, pool: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.new_schema()
    wrong = url.replace("s3cr", "s3crs3cr")
    for storage in (url, wrong, wrong.replace("127.0.0.1", "no.such.host.invalid")):
        monkeypatch.setenv("LEVELLED_STORAGE", storage)
        for words in (
            ("create", "spam", "--pool", pool, "--seed", 7),
            ("list",),
            ("status", "spam"),
            ("ask", "missing"),
            ("doctor",),
            ("storage", "upgrade"),
            ("storage", "copy", storage, "there.db"),
            ("storage", "backup", storage, storage),
            ("ask", "--help"),
        ):
            result = levelled(*words)
            assert "s3cr" not in result.out + result.err, words
            assert result.code in (0, 1, 2, 3)
            if result.code == 1 and words != ("doctor",):
                assert result.err.count("\n") == 1


WATCH = "from levelled.cli import main; main()"


def test_a_watcher_of_a_server_prints_a_look_after_each_change(
    levelled: Levelled, pool: Path, postgres: PostgresServer
) -> None:
    url = postgres.new_schema()
    levelled("create", "spam", "--pool", pool, "--seed", 7, "--storage", url)
    command = [sys.executable, "-c", WATCH, "estimate", "spam", "--watch", "--every", "300"]
    with subprocess.Popen(
        [*command, "--format", "jsonl", "--storage", url], stdout=subprocess.PIPE, text=True
    ) as watcher:
        assert watcher.stdout is not None
        assert json.loads(watcher.stdout.readline())["n_labels"] == 0
        campaign = load_campaign("spam", storage=url)
        (ask,) = campaign.ask(1)
        campaign.tell(ask.draw, "spam")
        start = time.monotonic()
        while json.loads(watcher.stdout.readline())["n_labels"] == 0:
            pass
        assert time.monotonic() - start < 250  # and not the 300 s after which it looks anyway
        campaign.close()
        watcher.stdout.read()
        assert watcher.wait(120) == 0
