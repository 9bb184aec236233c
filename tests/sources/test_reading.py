"""Pools that are read a run of rows at a time: the same content, and the same refusals."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from levelled.errors import InputError, PoolError
from levelled.sources import Pool, open_pool, reading, rows

N = 60
COLUMNS: Mapping[str, Any] = {
    "id": [f"r{row}" for row in range(N)],
    "pred": [("ham", "spam", "eggs")[row % 7 % 3] for row in range(N)],
    "country": [(None, "de", "fr")[row // 25] for row in range(N)],
    "loss_hat": np.linspace(0, 1, N),
    "f_1": np.arange(N) / 7,
    "text": [f"text {row}" for row in range(N)],
}


@pytest.fixture(autouse=True)
def in_small_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEVELLED_STREAM_ABOVE", "10")
    monkeypatch.setattr(rows, "BATCH", 8)


def write(folder: Path, *parts: Mapping[str, Any]) -> str:
    for number, part in enumerate(parts):
        table = pa.table({name: pa.array(values) for name, values in part.items()})
        pq.write_table(table, folder / f"part-{number}.parquet", row_group_size=13)
    return str(folder / "*.parquet")


def halves(columns: Mapping[str, Any] = COLUMNS) -> list[dict[str, Any]]:
    return [{name: each[at] for name, each in columns.items()} for at in (slice(33), slice(33, N))]


def both(folder: Path, **options: Any) -> tuple[Pool, Pool]:  # noqa: ANN401
    """The same files read in runs, and held in memory."""
    source = write(folder, *halves())
    return open_pool(source, **options), open_pool(source, stream_above=1 << 20, **options)


def test_rows_ids_slices_and_counts_are_those_of_a_pool_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large, held = both(tmp_path, slices=["country"], features=None)
    rows = [59, 0, 33, 32, 0]
    assert (large.in_runs, held.in_runs) == (True, False)
    assert (len(large), large.classes, large.fingerprint) == (N, None, held.fingerprint)
    assert large.ids(rows) == held.ids(rows) == ["r59", "r0", "r33", "r32", "r0"]
    assert large.rows_of(["r40", "r2"]).tolist() == [40, 2]
    assert large.shown(rows) == held.shown(rows)
    assert large.pred_counts() == held.pred_counts() == held.predictions().counts()
    assert large.slice_values("country").counts() == held.slice_values("country").counts()
    assert large.at(rows).slices["country"].of(range(5)) == held.slice_values("country").of(rows)
    assert large.predictions_at(rows).of(range(5)) == held.predictions().of(rows)
    assert large.predictions_at([]).of([]) == []


def test_runs_together_are_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large, held = both(tmp_path, features=None)
    runs, whole = [*large.runs()], held.predictions()
    assert max(run.pool_size for run in runs) == 8
    predicted = [one for run in runs for one in run.of(range(run.pool_size)) or ()]
    assert predicted == whole.of(range(N)) == large.predictions().of(range(N))
    for name in ("loss_hat", "features"):
        joined = np.concatenate([np.asarray(getattr(run, name)) for run in runs])
        np.testing.assert_array_equal(joined, getattr(whole, name))


def test_a_size_that_is_no_number_of_bytes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(tmp_path, *halves())
    with pytest.raises(InputError, match="stream_above"):
        open_pool(source, stream_above=-1)
    monkeypatch.setenv("LEVELLED_STREAM_ABOVE", "64 MB")
    with pytest.raises(InputError, match=r"LEVELLED_STREAM_ABOVE .* '64 MB'"):
        open_pool(source)


def test_numbers_stay_numbers_and_are_counted_in_their_order(tmp_path: Path) -> None:
    pool = open_pool(write(tmp_path, {"id": range(20), "pred": [10, 9] * 10}))
    assert pool.pred_counts() == {"9": 10, "10": 10}
    assert [*pool.pred_counts()] == ["9", "10"]
    assert pool.predictions_at([0]).number is not None


def test_predictions_of_too_many_values_are_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_CLASSES", 20)
    pool = open_pool(write(tmp_path, {"id": range(N), "pred": [f"said {row}" for row in range(N)]}))
    assert pool.pred_counts() == {}
    assert pool.predictions_at([3]).of([0]) == ["said 3"]


def refuse(folder: Path, match: str, *parts: Mapping[str, Sequence[Any]], **options: Any) -> None:  # noqa: ANN401
    with pytest.raises(PoolError, match=match):
        open_pool(write(folder, *parts), **options)


def test_an_id_in_two_files_is_refused_with_its_rows(tmp_path: Path) -> None:
    first, second = halves()
    again = {**second, "id": ["r7", *second["id"][1:]]}
    refuse(tmp_path, r"'r7'.*row 7.*row 33", first, again)


def test_a_missing_id_is_refused_with_its_row(tmp_path: Path) -> None:
    first, second = halves()
    refuse(tmp_path, r"Row 34 .*\bid\b", first, {**second, "id": ["r33", None, *second["id"][2:]]})


def test_files_that_differ_are_refused(tmp_path: Path) -> None:
    first, second = halves({name: COLUMNS[name] for name in ("id", "pred")})
    n = len(second["id"])
    refuse(tmp_path, "lacks 'pred'", first, {"id": second["id"]})
    refuse(tmp_path, r"whole numbers.*places", first, {**second, "id": range(n)})
    refuse(tmp_path, r"numbers.*text", first, {**second, "pred": range(n)})


def test_lists_of_another_length_are_refused(tmp_path: Path) -> None:
    short, long = {"id": range(20), "embedding": [[1.0]] * 20}, [[1.0, 2.0]] * 20
    refuse(
        tmp_path,
        r"1 features.*row 20 and 2",
        short,
        {"id": range(20, 40), "embedding": long},
        features=None,
    )


def test_a_bad_number_is_refused_with_its_id(tmp_path: Path) -> None:
    first, second = halves()
    second["loss_hat"] = [*second["loss_hat"][:5], np.nan, *second["loss_hat"][6:]]
    refuse(tmp_path, r"'r38'.*'loss_hat'", first, second)


def test_too_many_slices_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_MOST_SLICES", 40)
    refuse(tmp_path, r"'text'.*more than 40", *halves(), slices=["text"])


def test_a_file_that_changes_during_a_pass_is_refused(tmp_path: Path) -> None:
    pool = open_pool(write(tmp_path, *halves()))
    runs = pool.runs()
    next(runs)
    os.utime(tmp_path / "part-0.parquet", ns=(1, 1))
    with pytest.raises(PoolError, match=r"part-0\.parquet.*changed"):
        list(runs)


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    pool = open_pool(write(tmp_path, *halves()))
    (tmp_path / "part-1.parquet").unlink()
    with pytest.raises(PoolError, match=r"part-1\.parquet.*No such"):
        list(pool.runs())
    with pytest.raises(PoolError, match=r"part-1\.parquet.*No such"):
        pool.shown([50])
