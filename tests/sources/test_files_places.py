import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from levelled.errors import PoolError
from levelled.sources import files, open_pool
from levelled.sources.files import (
    Place,
    digest,
    find_places,
    is_large,
    is_sampled,
    local_places,
    sample_digest,
)
from sources.samples import write as write_rows


def names(*sources: Path) -> list[str]:
    return [one.name for one in find_places(sources)]


def test_a_folder_is_searched_to_the_bottom_but_not_behind_hidden_names(tmp_path: Path) -> None:
    for name in ("b.csv", "a/z.CSV", "_tmp/x.csv", ".git/y.csv", "a/.hidden.csv", "read.me"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert names(tmp_path) == [str(tmp_path / "a/z.CSV"), str(tmp_path / "b.csv")]


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    assert names(tmp_path, tmp_path / "a.csv", tmp_path / "*.csv") == [str(tmp_path / "a.csv")]


def test_a_digest_is_that_of_the_bytes_in_order(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"one" * 1_000_000)
    (tmp_path / "b.csv").write_bytes(b"two")
    whole = hashlib.sha256(b"one" * 1_000_000 + b"two").hexdigest()
    assert digest(find_places(tmp_path)) == whole


def test_a_folder_without_a_file_to_read_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(PoolError, match=r"^The folder.*file"):
        find_places(tmp_path)


def write(path: Path, n: int = 1000, seed: int = 0) -> Place:
    table = pa.table({"id": np.arange(n), "score": np.random.default_rng(seed).random(n)})
    pq.write_table(table, path)
    return local_places([path])[0]


def test_it_says_what_it_is_and_stays_the_same(tmp_path: Path) -> None:
    one, copy = write(tmp_path / "a.parquet"), write(tmp_path / "b.parquet")
    assert sample_digest([one]) == sample_digest([copy])
    assert is_sampled(sample_digest([one]))
    assert not is_sampled(open_pool(one.path).fingerprint)
    assert len(sample_digest([one]).removeprefix("parquet-sample:")) == 64


def test_other_content_order_and_length_are_noticed(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a.parquet"), write(tmp_path / "b.parquet", seed=1)
    longer = write(tmp_path / "c.parquet", n=1001)
    several = [[a], [b], [longer], [a, b], [b, a], [a, b, a]]
    assert len({sample_digest(paths) for paths in several}) == len(several)


def test_a_byte_is_noticed_where_it_looks(tmp_path: Path) -> None:
    place = write(tmp_path / "a.parquet", n=100_000)
    before, content = sample_digest([place]), bytearray(Path(place.path).read_bytes())
    content[len(content) // 2] ^= 1  # blocks overlap in a file this small
    Path(place.path).write_bytes(content)
    assert sample_digest([place]) != before


def test_only_large_parquet_files_are_sampled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, text = write(tmp_path / "a.parquet"), tmp_path / "a.csv"
    text.write_text("id,pred\n1,x\n")
    whole = open_pool(place.path).fingerprint
    monkeypatch.setattr(files, "_LARGE", 4)
    assert (is_large([place]), is_large(find_places(text))) == (True, False)
    pool = open_pool(place.path)
    assert pool.fingerprint == sample_digest([place])
    assert pool.fingerprint_like(whole) == whole
    assert pool.fingerprint_like(pool.fingerprint) == pool.fingerprint


@pytest.mark.parametrize("content", [b"", b"PAR1", b"\xff" * 100])
def test_a_file_that_is_no_parquet_still_has_one(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.parquet").write_bytes(content)
    assert is_sampled(sample_digest(local_places([tmp_path / "a.parquet"])))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PoolError, match=r"a\.parquet.*No such"):
        sample_digest(local_places([tmp_path / "a.parquet"]))


def test_an_address_of_an_unknown_kind_is_refused() -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(PoolError, match="'nowhere://pool'"):
        find_places("nowhere://pool/*.csv")


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("pattern", ["pool", "pool/*.{}", "pool/a.{}", "**/*.{}"])
def test_addresses_stand_for_the_same_pools_as_paths(
    tmp_path: Path, pattern: str, ending: str
) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory, folder = fsspec.filesystem("memory"), tmp_path / "my pools"
    (folder / "pool").mkdir(parents=True)
    for name in "ab":
        columns = {"id": [f"{name}{row}" for row in range(3)], "pred": [*"xyx"], "text": [*"uvw"]}
        write_rows(folder / "pool" / f"{name}.{ending}", columns)
    source = pattern.format(ending)
    expected = open_pool(folder / source)
    memory.put(str(folder), "/pools", recursive=True)
    try:
        for address in (
            f"file://{folder}/{source}".replace(" ", "%20"),
            f"memory://pools/{source}",
        ):
            pool = open_pool(address)
            every = range(len(pool))
            assert pool.ids(every) == expected.ids(every)
            assert pool.shown(every) == expected.shown(every)
            assert pool.fingerprint == expected.fingerprint
            assert not pool.changed
    finally:
        memory.rm("/pools", recursive=True)
