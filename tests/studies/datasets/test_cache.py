import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from levelled.errors import PoolError
from levelled_studies.datasets.cache import cache_file, data_folder, read_cache, write_cache

ARRAYS = {"X": np.arange(6).reshape(3, 2), "features": np.array(["a", "β"])}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("LEVELLED_DATA", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.skipif(sys.platform != "linux", reason="every platform has its own cache")
def test_the_folder_is_the_one_given_or_named_or_in_the_cache_of_the_user(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert data_folder() == home / ".cache" / "levelled"
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "xdg"))
    assert data_folder() == home / "xdg" / "levelled"
    monkeypatch.setenv("LEVELLED_DATA", "~/data")
    assert data_folder() == home / "data"
    assert data_folder(home / "other") == home / "other"


def test_a_home_that_nobody_has_is_told() -> None:
    with pytest.raises(PoolError, match=r"no folder '~no-such-user/x'"):
        data_folder("~no-such-user/x")


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = cache_file(tmp_path / "new" / "folder", "tiny")
    write_cache(path, ARRAYS)
    read = read_cache(path)
    assert [*read] == [*ARRAYS]
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(read[name], array)
    assert [*path.parent.iterdir()] == [path]


def test_a_file_that_cannot_be_finished_leaves_the_old_one_and_no_other(tmp_path: Path) -> None:
    path = cache_file(tmp_path, "tiny")
    write_cache(path, ARRAYS)
    before = path.read_bytes()

    with pytest.raises((pickle.PicklingError, AttributeError)):
        write_cache(path, {**ARRAYS, "y": np.array([lambda: 0], dtype=object)})
    assert path.read_bytes() == before
    assert [*tmp_path.iterdir()] == [path]


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PoolError, match=r"tiny\.npz.*written"):
        write_cache(cache_file(tmp_path / "file", "tiny"), ARRAYS)


def test_a_file_that_is_cut_short_or_something_else_is_refused(tmp_path: Path) -> None:
    path = cache_file(tmp_path, "tiny")
    write_cache(path, ARRAYS)
    whole = path.read_bytes()
    np.save(tmp_path / "one.npy", ARRAYS["X"])
    one = (tmp_path / "one.npy").read_bytes()
    for content in (b"", b"nonsense", one, whole[: len(whole) // 2], whole[:-30]):
        path.write_bytes(content)
        with pytest.raises(PoolError, match="fetch it again"):
            read_cache(path)


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    path = cache_file(tmp_path, "tiny")
    np.savez(path, X=np.array([{"a": 1}], dtype=object))
    with pytest.raises(PoolError, match="is damaged"):
        read_cache(path)
    path.write_bytes(np.array([{"a": 1}], dtype=object).dumps())
    with pytest.raises(PoolError, match="is damaged"):
        read_cache(path)
