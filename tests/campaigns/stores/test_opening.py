import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from levelled.campaigns.stores import open_store, upgrade
from levelled.errors import StorageError

NO_STORAGE = [
    "",
    "   ",
    "levelled",
    "levelled.txt",
    "://",
    "sqlite",
    "sqlite:",
    "sqlite:/levelled.db",
    "sqlite://",
    "sqlite:///",
    "sqlite:///:memory:",
    "sqlite://levelled.db",
    "sqlite://host/levelled.db",
    "sqlite:///levelled.db?mode=ro",
    "sqlite+aiosqlite:///levelled.db",
    "sqlite:///levelled.db\x00",
    "sqlite:///level\nled.db",
    "sqlite:///\ud800.db",
    "mysql://ann:secret@host/levelled",
    "postgres://ann:secret@host/levelled",
    "http://ann:secret@host:port:port",
    "C:",
    None,
    7,
]


def files(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


@pytest.mark.parametrize("url", NO_STORAGE)
@pytest.mark.parametrize("use", [open_store, upgrade])
def test_a_string_that_names_no_storage_is_answered_with_the_form_of_one(
    url: str, use: Callable[[str], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError, match=r"Write sqlite:///levelled\.db") as caught:
        use(url)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    "url", ["sqlite:///my.db", "my.db", "./my.db", "sqlite:///./my.db", Path("my.db")]
)
def test_a_file_in_this_folder_has_several_names(
    url: str | Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_store(url) as store:
        store.append("digits", [{}], expected=0)
    with open_store(f"sqlite:///{tmp_path}/my.db", create=False) as store:
        assert store.names() == ["digits"]


@pytest.mark.parametrize("name", ["a b.db", "ü.db", "100%20.db", "a#b.db", "a:b@c.db", "file:x.db"])
def test_a_path_is_taken_as_it_is_written(tmp_path: Path, name: str) -> None:
    with open_store(f"sqlite:///{tmp_path}/{name}"):
        pass
    assert files(tmp_path) == [name]


def test_the_default_is_a_file_in_this_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_store() as store:
        assert repr(store) == "<store at sqlite:///levelled.db>"
    assert files(tmp_path) == ["levelled.db"]


def test_a_database_that_must_be_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="There is no database at"):
        open_store(tmp_path / "levelled.db", create=False)
    assert files(tmp_path) == []


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    (tmp_path / "levelled.db").touch()
    with open_store(tmp_path / "levelled.db") as store:
        assert store.names() == []


def make(path: Path, kind: str) -> None:
    if kind == "another database":
        with sqlite3.connect(path) as other:
            other.execute("CREATE TABLE trials (number INTEGER)")
        other.close()
        return
    with open_store(path) as store:
        store.append("digits", [{"text": "x" * 500}] * 50, expected=0)
    whole = path.read_bytes()
    contents = {
        "a short text": b"hello",
        "a long text": b"id,label\n1,spam\n" * 1000,
        "a Parquet file": b"PAR1" + bytes(5000),
        "half a database": whole[: len(whole) // 2],
        "a piece of its head": whole[:50],
        "a damaged database": whole[:4096] + b"\xa5" * (len(whole) - 4096),
    }
    path.write_bytes(contents[kind])


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("a short text", "is not a database"),
        ("a long text", "is not a database"),
        ("a Parquet file", "is not a database"),
        ("half a database", "is damaged"),
        ("a piece of its head", "is damaged|is not a database"),
        ("a damaged database", "is damaged"),
        ("another database", "not one of Levelled: it has the tables trials"),
    ],
)
def test_a_file_that_is_no_storage_is_left_as_it_is(tmp_path: Path, kind: str, told: str) -> None:
    path = tmp_path / "levelled.db"
    make(path, kind)
    before = path.read_bytes()
    for use in (open_store, upgrade):
        with pytest.raises(StorageError, match=told) as caught:
            use(path)
        assert "\n" not in str(caught.value)
    assert path.read_bytes() == before
    assert files(tmp_path) == ["levelled.db"]


def test_a_place_where_no_file_can_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder.db").mkdir()
    os.mkfifo(tmp_path / "pipe.db")
    for name, told in {
        "folder.db": "is a folder",
        "pipe.db": "is not a file",
        "missing/levelled.db": "there is no folder",
        "file/levelled.db": "there is no folder",
        "x" * 300 + ".db": "File name too long",
    }.items():
        with pytest.raises(StorageError, match=told):
            open_store(tmp_path / name)
    with pytest.raises(StorageError, match="is not a file"):
        open_store("sqlite:////dev/null")
