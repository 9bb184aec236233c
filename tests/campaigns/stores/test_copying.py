import sqlite3
from pathlib import Path

import pytest

from levelled.campaigns.stores import copy, open_store
from levelled.errors import ConflictError, StorageError


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "from.db"
    with open_store(path) as store:
        store.append("digits", [{"step": 0}, {"step": 1}], expected=0)
        store.append("letters", [{"step": "a"}], expected=0)
    return path


def test_a_copy_has_the_same_events_with_the_same_hashes(source: Path, tmp_path: Path) -> None:
    assert copy(source, tmp_path / "to.db") == ["digits", "letters"]
    with open_store(source) as one, open_store(tmp_path / "to.db") as other:
        assert one.names() == other.names()
        for name in one.names():
            assert one.events(name) == other.events(name)


def test_what_is_there_already_is_not_copied_again(source: Path, tmp_path: Path) -> None:
    copy(source, tmp_path / "to.db")
    with open_store(source) as store:
        store.append("more", [{}], expected=0)
    assert copy(source, tmp_path / "to.db") == ["more"]
    assert copy(source, source) == []


def test_a_campaign_that_differs_in_both_places_is_refused(source: Path, tmp_path: Path) -> None:
    with open_store(tmp_path / "to.db") as store:
        store.append("letters", [{"step": "b"}], expected=0)
    with pytest.raises(ConflictError, match="'letters' is in both"):
        copy(source, tmp_path / "to.db")
    with open_store(tmp_path / "to.db") as store:
        assert store.names() == ["letters"]


def test_a_log_that_was_changed_does_not_become_a_good_one_by_copying(
    source: Path, tmp_path: Path
) -> None:
    with sqlite3.connect(source) as database:
        database.execute("""UPDATE events SET body = '{"step":"z"}' WHERE campaign = 'letters'""")
    database.close()
    with pytest.raises(StorageError, match="'letters' cannot be trusted from event 0 on"):
        copy(source, tmp_path / "to.db")
    with open_store(tmp_path / "to.db") as store:
        assert store.names() == []


def test_there_must_be_something_to_copy(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="There is no database at"):
        copy(tmp_path / "missing.db", tmp_path / "to.db")
    assert not (tmp_path / "to.db").exists()
