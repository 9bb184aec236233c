"""What a user may get wrong, one by one: told in one line, with nothing lost."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from cli.bad_input import CASES, GOOD, Case
from cli.terminal import Levelled
from levelled.campaigns import create_campaign, load_campaign


@pytest.fixture(scope="module")
def kept(pool: Path, truth: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A storage with a campaign under way, two of its items still out, and one that is closed."""
    path = tmp_path_factory.mktemp("kept") / "levelled.db"
    for name in ("spam", "done"):
        campaign = create_campaign(name, pool, storage=path, seed=1, budget=20)
        for ask in campaign.ask(12)[:10]:
            campaign.tell(ask.draw, truth[ask.id])  # type: ignore[index]
    campaign.close(reason="enough")
    return path


@pytest.mark.parametrize("case", CASES, ids=str)
def test_bad_input_is_told_in_one_line_and_nothing_is_lost(
    case: Case, levelled: Levelled, kept: Path, tmp_path: Path
) -> None:
    shutil.copy(kept, tmp_path / "levelled.db")
    (tmp_path / "empty").mkdir()
    for name in ("pipe.csv", "pipe.db"):
        os.mkfifo(tmp_path / name)
    for ending in ("csv", "jsonl", "parquet"):
        with (tmp_path / f"sparse.{ending}").open("wb") as file:
            file.truncate(1 << 40)
    for name, content in case.files.items():
        data = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(data)
    result = levelled(*case.words.split(" "), given=case.given)
    assert result.code in (1, 2)
    assert case.told in result.err
    assert "Traceback" not in result.err
    assert "\x1b" not in result.err
    told = [line for line in result.err.splitlines() if line]
    if result.code == 1:
        assert len(told) == 1
        assert told[0].startswith("levelled: ")
    assert levelled("audit", "spam").out.startswith("ok: ")
    state = load_campaign("spam", storage=tmp_path / "levelled.db").state
    assert (len(state.answers), state.n_asked) == (10, 12)


def test_there_are_cases_enough() -> None:
    assert len({*map(repr, CASES)}) >= 250


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("name", ["levelled.db", "secret.csv"])
def test_files_that_may_not_be_read_are_named(
    name: str, levelled: Levelled, kept: Path, tmp_path: Path
) -> None:
    shutil.copy(kept, tmp_path / "levelled.db")
    (tmp_path / "secret.csv").write_text(GOOD)
    (tmp_path / name).chmod(0)
    result = levelled("create", "new", "--pool", "secret.csv")
    assert result.code == 1
    assert name in result.err


def test_an_event_that_was_changed_afterwards_is_found(
    levelled: Levelled, kept: Path, tmp_path: Path
) -> None:
    import sqlite3

    shutil.copy(kept, tmp_path / "levelled.db")
    with sqlite3.connect(tmp_path / "levelled.db") as database:
        tables: list[Any] = database.execute("select name from sqlite_master").fetchall()
        assert ("events",) in tables
        database.execute(
            'update events set body = replace(body, \'"label":"ham"\', \'"label":"spam"\')'
        )
    database.close()
    found = levelled("audit", "spam")
    assert found.code == 1
    assert "Event 5" in found.err


def test_a_campaign_that_cannot_begin_leaves_no_database(
    levelled: Levelled, tmp_path: Path
) -> None:
    (tmp_path / "bad.csv").write_text("id,pred\na,x\na,y\n")
    assert levelled("create", "new", "--pool", "bad.csv").code == 1
    assert levelled("create", "new", "--pool", "nowhere.csv").code == 1
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]


def test_a_label_whose_loss_would_overflow_is_refused(levelled: Levelled, tmp_path: Path) -> None:
    (tmp_path / "house.csv").write_text("id,pred\na,1\nb,2\nc,3\n")
    levelled("create", "prices", "--pool", "house.csv", "--metric", "mse", "--seed", "1")
    levelled("ask", "prices")
    told = levelled("tell", "prices", "-", given="draw,label\n1,1e200\n")
    assert told.code == 1
    assert "1e+200" in told.err
    assert levelled("estimate", "prices").code == 0


def test_labels_without_end_are_refused_unread(
    monkeypatch: pytest.MonkeyPatch, levelled: Levelled, kept: Path, tmp_path: Path
) -> None:
    monkeypatch.setattr("levelled.sources.answers._MOST_BYTES", 1 << 10)
    shutil.copy(kept, tmp_path / "levelled.db")
    told = levelled("tell", "spam", "-", given="x" * 5000)
    assert told.code == 1
    assert "more than" in told.err


WITHOUT_RIGHTS = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"]


@pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root may write everywhere"
)
def test_a_database_that_cannot_be_written_can_be_read(kept: Path, tmp_path: Path) -> None:
    """Root loses its right to write everywhere first, as far as it can."""
    import subprocess
    import sys

    place = tmp_path / "read-only"
    place.mkdir()
    shutil.copy(kept, place / "levelled.db")
    (place / "levelled.db").chmod(0o444)
    place.chmod(0o555)
    ahead = WITHOUT_RIGHTS if os.geteuid() == 0 else []

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [*ahead, sys.executable, "-m", "levelled", *words]
        return subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)

    try:
        for words in ("status spam", "list", "audit spam"):
            assert run(*words.split()).returncode == 0
        told = run("ask", "spam")
        assert told.returncode == 1
        assert "read-only" in told.stderr
    finally:
        place.chmod(0o755)
