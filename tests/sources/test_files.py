import hashlib
from pathlib import Path

import pytest

from levelled.errors import PoolError
from levelled.sources.files import digest, files_of, is_one_of


def test_a_folder_is_searched_to_the_bottom_but_not_behind_hidden_names(tmp_path: Path) -> None:
    for name in ("b.csv", "a/z.CSV", "_tmp/x.csv", ".git/y.csv", "a/.hidden.csv", "read.me"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert files_of(tmp_path) == (tmp_path / "a/z.CSV", tmp_path / "b.csv")


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    assert files_of([tmp_path, tmp_path / "a.csv", tmp_path / "*.csv"]) == (tmp_path / "a.csv",)


def test_a_digest_is_that_of_the_bytes_in_order(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"one" * 1_000_000)
    (tmp_path / "b.csv").write_bytes(b"two")
    whole = hashlib.sha256(b"one" * 1_000_000 + b"two").hexdigest()
    assert digest(files_of(tmp_path)) == whole


def test_a_folder_without_a_file_to_read_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(PoolError, match=r"^The folder .* holds no file"):
        files_of(tmp_path)


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        ("pool/a.csv", "pool/a.csv", True),
        ("pool/../pool/a.csv", "pool/a.csv", True),
        ("link.csv", "pool/a.csv", True),
        ("hard.csv", "pool", True),
        ("pool/new.csv", "pool", True),
        ("pool/new.csv", "linked", True),
        ("pool/new.csv", "pool/*.csv", True),
        ("pool/new.csv", "linked/*.csv", True),
        ("pool/new.csv", "p*/new.c?v", True),
        ("pool/new.csv", "**/*.csv", True),
        ("pool/b/c/new.csv", "pool/**/*.csv", True),
        ("pool/new.csv", "pool/a.csv", False),
        ("pool/new.pq", "pool/*.csv", False),
        ("pool/b/new.csv", "pool/*.csv", False),
        ("other/new.csv", "pool/**/*.csv", False),
        ("pool2.csv", "pool", False),
    ],
)
def test_a_file_to_be_written_is_told_from_those_of_a_pool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, source: str, *, expected: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pool").mkdir()
    Path("pool/a.csv").touch()
    Path("link.csv").symlink_to("pool/a.csv")
    Path("hard.csv").hardlink_to("pool/a.csv")
    Path("linked").symlink_to("pool")
    assert is_one_of(Path(path), source) is expected
