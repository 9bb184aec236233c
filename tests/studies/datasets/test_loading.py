import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from levelled.errors import InputError, PoolError
from levelled_studies.datasets import fetch_data, list_data, load_data
from levelled_studies.datasets.cache import cache_file, checksum, pack, write_cache
from levelled_studies.datasets.catalogue import CATALOGUE, Entry
from levelled_studies.datasets.clients import Package
from levelled_studies.datasets.images import idx_files
from levelled_studies.datasets.loading import obtain, read_cached
from levelled_studies.datasets.record import DataSet
from studies.datasets.packages import IDX, TRAIN, deb, npm, wheel

FETCHED = [name for name, entry in CATALOGUE.items() if entry.sources]
SMALL = [name for name in CATALOGUE if name not in FETCHED]

CLASSES = ("zero", "one", "two")
TINY = Entry(
    "tiny",
    "pictures of next to nothing",
    3,
    2,
    CLASSES,
    sources=(
        Package("npm", "tiny", "1", 10, ("package/*ubyte",), idx_files),
        Package("apt", "tiny", "", 10, ("usr/*ubyte",), idx_files),
    ),
    checksum=checksum(pack(DataSet("tiny", classes=CLASSES, **idx_files(dict(IDX))))),
)


def place(folder: Path, *, changed: bool = False) -> Path:
    """Put the file of the first source into a folder."""
    files = {f"package/{name}": content for name, content in IDX.items()}
    if changed:
        files["package/train-labels-idx1-ubyte"] = IDX["t10k-labels-idx1-ubyte"][:-2] + b"\1\0"
    return npm(folder / "tiny-1.tgz", files)


@pytest.fixture
def no_clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))


@pytest.mark.usefixtures("no_clients")
def test_a_file_placed_in_the_folder_serves_as_a_source(tmp_path: Path) -> None:
    place(tmp_path)
    report: list[str] = []
    data = obtain(TINY, tmp_path, report=lambda step, share: report.append(step))
    np.testing.assert_array_equal(data.X, TRAIN)
    assert data.classes == CLASSES
    assert report == ["from npm tiny@1"]
    np.testing.assert_array_equal(read_cached(TINY, cache_file(tmp_path, "tiny")).X, TRAIN)


@pytest.mark.usefixtures("no_clients")
def test_the_next_source_serves_where_one_fails(tmp_path: Path) -> None:
    files = {f"usr/{name}": content for name, content in IDX.items()}
    deb(tmp_path / "tiny_0.0~git2020-1_all.deb", files)
    assert obtain(TINY, tmp_path).y.tolist() == [2, 0, 1]


@pytest.mark.usefixtures("no_clients")
def test_data_of_another_checksum_are_refused_and_not_kept(tmp_path: Path) -> None:
    place(tmp_path)
    with pytest.raises(PoolError, match=r"tiny@1.*checksum.*000"):
        obtain(replace(TINY, checksum="0" * 64), tmp_path)
    assert not cache_file(tmp_path, "tiny").exists()


@pytest.mark.usefixtures("no_clients")
def test_a_refusal_names_every_source_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(PoolError) as caught:
        obtain(TINY, tmp_path)
    for words in ("'tiny'", "npm tiny@1: ", "apt tiny: ", "tiny-1.tgz", "tiny_*.deb", tmp_path):
        assert str(words) in str(caught.value)


@pytest.mark.usefixtures("no_clients")
def test_a_placed_file_that_does_not_fit_is_told(tmp_path: Path) -> None:
    place(tmp_path, changed=True)
    with pytest.raises(PoolError, match=r"tiny@1.*'tiny'.*row"):
        obtain(TINY, tmp_path)


def test_a_file_in_the_cache_that_was_changed_is_refused(tmp_path: Path) -> None:
    place(tmp_path)
    data = obtain(TINY, tmp_path)
    path = cache_file(tmp_path, "tiny")
    write_cache(path, {**pack(data), "y": np.array([0, 0, 1])})
    with pytest.raises(PoolError, match=r"tiny\.npz.*Delete.*again"):
        read_cached(TINY, path)


def test_a_foreign_file_under_the_name_of_a_data_set_is_refused(tmp_path: Path) -> None:
    write_cache(cache_file(tmp_path, "mnist"), {"X": TRAIN, "y": np.arange(3)})
    for use in (load_data, fetch_data):
        with pytest.raises(PoolError, match="'mnist'"):
            use("mnist", folder=tmp_path)


def test_several_who_fetch_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    archive = place(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        found = [*pool.map(lambda _: obtain(TINY, tmp_path), range(40))]
    assert all(np.array_equal(data.X, TRAIN) for data in found)
    assert sorted(tmp_path.iterdir()) == [archive, cache_file(tmp_path, "tiny")]


@pytest.mark.parametrize("name", ["nist", "", "../mnist", None, 3])
def test_a_name_that_is_none_is_refused_with_those_there_are(name: str) -> None:
    for use in (load_data, fetch_data):
        with pytest.raises(InputError, match=r"mnist, fashion-.*diabetes"):
            use(name)


def test_the_list_says_what_is_in_the_cache(tmp_path: Path) -> None:
    cache_file(tmp_path, "adult").write_bytes(b"12345")
    listed = {one.name: one for one in list_data(folder=tmp_path)}
    assert [*listed] == [*CATALOGUE]
    assert listed["adult"].path == tmp_path / "adult.npz"
    assert listed["adult"].n_bytes == 5
    assert [name for name, one in listed.items() if one.path] == ["adult"]
    assert [name for name, one in listed.items() if not one.needs_fetching] == SMALL


@pytest.mark.parametrize("name", FETCHED)
def test_a_data_set_that_is_fetched_has_sources_and_a_checksum(name: str) -> None:
    assert len(CATALOGUE[name].checksum) == 64
    assert not CATALOGUE[name].sklearn


@pytest.mark.parametrize("name", SMALL)
def test_what_scikit_learn_brings_needs_no_fetching(name: str, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    data, entry = load_data(name, folder=tmp_path), CATALOGUE[name]
    assert fetch_data(name, folder=tmp_path) is None
    assert (len(data.X), data.X_test) == (entry.n_train, None)
    assert data.X.dtype == (np.uint8 if name == "digits" else np.float64)
    if name == "diabetes":
        assert data.y.dtype == np.float64
    else:
        assert set(data.y) == set(range(len(data.classes)))
    assert [*tmp_path.iterdir()] == []


def test_loading_by_name_imports_no_client_and_no_scikit_learn() -> None:
    code = "import sys, levelled.sources; print('sklearn' in sys.modules, 'pip' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


def test_a_wheel_is_opened_as_an_archive_only(tmp_path: Path) -> None:
    package = Package("pip", "tiny", "1", 10, ("d/*ubyte",), idx_files)
    ran = tmp_path / "ran"
    code = f"open({str(ran)!r}, 'w')".encode()
    files = {f"d/{name}": content for name, content in IDX.items()}
    wheel(tmp_path / "tiny-1-py3-none-any.whl", {**files, "d/__init__.py": code, "setup.py": code})
    obtain(replace(TINY, sources=(package,)), tmp_path)
    assert not ran.exists()
