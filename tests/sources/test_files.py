import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from levelled.errors import PoolError
from levelled.sources import files, open_pool
from levelled.sources.files import digest, files_of, is_large, is_one_of, is_sampled, sample_digest


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


def write(path: Path, n: int = 1000, seed: int = 0) -> Path:
    table = pa.table({"id": np.arange(n), "score": np.random.default_rng(seed).random(n)})
    pq.write_table(table, path)
    return path


def test_it_says_what_it_is_and_stays_the_same(tmp_path: Path) -> None:
    one, copy = write(tmp_path / "a.parquet"), write(tmp_path / "b.parquet")
    assert sample_digest([one]) == sample_digest([copy])
    assert is_sampled(sample_digest([one]))
    assert not is_sampled(open_pool(one).fingerprint)
    assert len(sample_digest([one]).removeprefix("parquet-sample:")) == 64


def test_other_content_order_and_length_are_noticed(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a.parquet"), write(tmp_path / "b.parquet", seed=1)
    longer = write(tmp_path / "c.parquet", n=1001)
    several = [[a], [b], [longer], [a, b], [b, a], [a, b, a]]
    assert len({sample_digest(paths) for paths in several}) == len(several)


def test_a_byte_is_noticed_where_it_looks(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", n=100_000)
    before, content = sample_digest([path]), bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1  # blocks overlap in a file this small
    path.write_bytes(content)
    assert sample_digest([path]) != before


def test_only_large_parquet_files_are_sampled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, text = write(tmp_path / "a.parquet"), tmp_path / "a.csv"
    text.write_text("id,pred\n1,x\n")
    whole = open_pool(path).fingerprint
    monkeypatch.setattr(files, "_LARGE", 4)
    assert (is_large([path]), is_large([text])) == (True, False)
    pool = open_pool(path)
    assert pool.fingerprint == sample_digest([path])
    assert pool.fingerprint_like(whole) == whole
    assert pool.fingerprint_like(pool.fingerprint) == pool.fingerprint


@pytest.mark.parametrize("content", [b"", b"PAR1", b"\xff" * 100])
def test_a_file_that_is_no_parquet_still_has_one(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.parquet").write_bytes(content)
    assert is_sampled(sample_digest([tmp_path / "a.parquet"]))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PoolError, match=r"a\.parquet cannot be read: No such file"):
        sample_digest([tmp_path / "a.parquet"])
