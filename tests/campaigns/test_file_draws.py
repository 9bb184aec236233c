"""Draws from files without a campaign: the same for any threads, and clear about bad input."""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from levelled import proposals
from levelled._check import FloatArray
from levelled.campaigns import draw_from_file
from levelled.errors import InputError, PoolError, ProposalError
from levelled.metrics.named import parse_metric
from levelled.predictions import PoolPredictions
from levelled.samplers import finish, merge, part, race
from levelled.sources import rows
from samplers.test_race_parts import same

N = 30_000


@pytest.fixture(scope="module")
def columns() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    chance = rng.beta(8, 1, N).astype(np.float32).astype(np.float64)
    return {
        "id": [f"r{row}" for row in range(N)],
        "score": rng.lognormal(sigma=2, size=N),
        "log_score": rng.normal(size=N),
        "proba_ham": chance,
        "proba_spam": 1 - chance,
    }


@pytest.fixture(scope="module")
def folder(columns: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three files, with row groups of 5,000 rows and shorter ones."""
    folder, table = tmp_path_factory.mktemp("pool"), pa.table(columns)
    for name, start, stop in (("a", 0, 12_000), ("b", 12_000, 12_001), ("c", 12_001, N)):
        path = folder / f"{name}.parquet"
        pq.write_table(table.slice(start, stop - start), path, row_group_size=5_000)
    return folder


def row_groups(weights: FloatArray) -> list[FloatArray]:
    ends = [5_000, 10_000, 12_000, 12_001, 17_001, 22_001, 27_001]
    return np.split(weights, ends)


@pytest.mark.parametrize("k", [1, 700, N])
@pytest.mark.parametrize("threads", [1, 3])
def test_row_groups_are_the_units_of_a_race(
    folder: Path, columns: dict[str, Any], threads: int, k: int
) -> None:
    draws = draw_from_file(folder, k, seed=7, weight="score", threads=threads)
    groups = row_groups(columns["score"])
    parts = [part(group, k, seed=7, unit=unit, design=True) for unit, group in enumerate(groups)]
    assert same(draws, finish(merge(parts)))
    assert draws.ids == tuple(f"r{row}" for row in draws.index)


def test_row_groups_read_in_pieces_give_the_same_draws(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = draw_from_file(folder, 500, seed=7, weight="score")
    monkeypatch.setattr(rows, "_UNIT_BATCH", 1_500)
    monkeypatch.setattr(sys.modules["levelled.samplers.race"], "_PIECE", 4_096)
    draws = draw_from_file(str(folder / "*.parquet"), 500, seed=7, weight="score")
    assert same(draws, expected)


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_a_file_of_one_unit_gives_the_draws_of_a_race(
    columns: dict[str, Any], tmp_path: Path, ending: str
) -> None:
    table = pa.table({name: columns[name] for name in ("id", "score")})
    path = tmp_path / f"pool.{ending}"
    if ending == "parquet":
        pq.write_table(table, path)
    elif ending == "csv":
        table.to_pandas().to_csv(path, index=False)
    else:
        table.to_pandas().to_json(path, orient="records", lines=True, double_precision=15)
    draws = draw_from_file(path, 50, seed=3, weight="score", threads=2)
    expected = race(columns["score"], 50, seed=3)
    assert draws.index.tolist() == expected.index.tolist()
    np.testing.assert_allclose(draws.probability, expected.probability, rtol=1e-12)
    assert draws.ids == tuple(f"r{row}" for row in expected.index)
    uniform = draw_from_file(path, 50, seed=3)
    assert same(uniform, race(np.ones(N), 50, seed=3, design=True))


def test_logarithms_are_taken_as_they_are(folder: Path, columns: dict[str, Any]) -> None:
    draws = draw_from_file(folder, 300, seed=5, weight="log_score", log=True, design=False)
    groups = row_groups(columns["log_score"])
    parts = [part(group, 300, seed=5, unit=unit, log=True) for unit, group in enumerate(groups)]
    assert same(draws, finish(merge(parts)))


@pytest.mark.parametrize("log", [False, True])
def test_a_floor_mixes_the_weights_with_uniform_ones(
    folder: Path, columns: dict[str, Any], log: bool
) -> None:
    column = "log_score" if log else "score"
    weights = np.exp(columns[column]) if log else columns[column]
    mixed = proposals.mixture(weights / weights.sum(), share=0.2)
    expected = finish(merge(part(g, 99, seed=5, unit=u) for u, g in enumerate(row_groups(mixed))))
    for threads in (1, 3):
        draws = draw_from_file(
            folder, 99, seed=5, weight=column, log=log, floor=0.2, threads=threads
        )
        assert draws.index.tolist() == expected.index.tolist()
        np.testing.assert_allclose(draws.probability, expected.probability, rtol=1e-12)


def test_a_metric_scores_rows_as_a_campaign_does(folder: Path, columns: dict[str, Any]) -> None:
    proba = np.stack([columns["proba_ham"], columns["proba_spam"]], axis=1)
    predictions = PoolPredictions(N, ("ham", "spam"), proba=proba)
    score = parse_metric("error").score(predictions)
    mixed = proposals.mixture(score / score.sum(), share=0.5)
    expected = finish(merge(part(g, 99, seed=5, unit=u) for u, g in enumerate(row_groups(mixed))))
    draws = draw_from_file(folder, 99, seed=5, metric="error")
    assert draws.index.tolist() == expected.index.tolist()
    np.testing.assert_allclose(draws.probability, expected.probability, rtol=1e-12)


def test_progress_counts_the_rows_of_all_passes(folder: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    draw_from_file(
        folder,
        9,
        seed=5,
        weight="score",
        floor=0.1,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen[-1] == (2 * N, 2 * N)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_addresses_are_read_like_paths(folder: Path) -> None:
    expected = draw_from_file(folder, 50, seed=3, weight="score")
    for address in (f"file://{folder}", f"file://{folder}/*.parquet"):
        draws = draw_from_file(address, 50, seed=3, weight="score")
        assert same(draws, expected)
        assert draws.ids == expected.ids


def test_storages_of_fsspec_are_read(folder: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    for path in folder.iterdir():
        memory.pipe_file(f"/draws/{path.name}", path.read_bytes())
    try:
        expected = draw_from_file(folder, 50, seed=3, weight="score")
        draws = draw_from_file("memory://draws/*.parquet", 50, seed=3, weight="score")
        assert same(draws, expected)
    finally:
        memory.rm("/draws", recursive=True)


def written(folder: Path, **columns: list[Any]) -> Path:
    """Two files with row groups of two rows, of which the second has these columns."""
    good = {"id": ["a", "b", "c"], "w": [1.0, 2.0, 3.0]}
    pq.write_table(pa.table(good), folder / "1.parquet", row_group_size=2)
    pq.write_table(pa.table({**good, **columns}), folder / "2.parquet", row_group_size=2)
    return folder


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            [1.0, 2.0, -3.0],
            r"Row 2 .*2.parquet has -3.0.*'w'",
        ),
        ([1.0, 2.0, np.nan], r"Row 2 .*2.parquet.*number.*'w'"),
        (
            [1.0, 2.0, np.inf],
            r"Row 2 .*2.parquet.* inf .*'w'",
        ),
        ([1.0, 2.0, None], r"Row 2 .*2.parquet.*number.*'w'"),
        ([1.0, 0.0, 1.0], r"Row 1 .*2.parquet.*zero.*'w'"),
        (["x", "y", "z"], r"2.parquet.*1.parquet.*'w'.*string"),
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_wrong_weight_is_named_by_row_and_file(
    tmp_path: Path, values: list[Any], message: str, threads: int
) -> None:
    with pytest.raises(InputError, match=message):
        draw_from_file(written(tmp_path, w=values), 1, seed=1, weight="w", threads=threads)


def test_a_wrong_prediction_is_named_by_row_and_file(tmp_path: Path) -> None:
    good = {"id": [*"abc"], "proba_x": [0.5, 0.5, 0.5], "proba_y": [0.5, 0.5, 0.5]}
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({**good, "proba_y": [0.5, 0.5, 0.9]}), path, row_group_size=2)
    with pytest.raises(PoolError, match=r"p.parquet.*Item 2.*sum"):
        draw_from_file(path, 1, seed=1, metric="error")
    twice = pa.table([[1.0], [2.0], ["a"]], names=["w", "w", "id"])
    pq.write_table(twice, path)
    with pytest.raises(PoolError, match=r"p.parquet.*two.*'w'"):
        draw_from_file(path, 1, seed=1, weight="w")


def test_all_weights_zero_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["a", "b"], "w": [0.0, 0.0]}), tmp_path / "p.parquet")
    with pytest.raises(ProposalError, match=r"All 2 .*zero"):
        draw_from_file(tmp_path, 1, seed=1, weight="w", allow_zero=True)
    with pytest.raises(ProposalError, match=r"All 2 .*zero"):
        draw_from_file(tmp_path, 1, seed=1, weight="w", floor=0.5)


def test_zero_weights_are_left_out_if_they_may_be(tmp_path: Path) -> None:
    folder = written(tmp_path, id=[*"def"], w=[0.0, 0.0, 1.0])
    draws = draw_from_file(folder, 4, seed=1, weight="w", allow_zero=True)
    assert draws.excluded == 2
    assert sorted(draws.index) == [0, 1, 2, 5]
    assert draws.ids == tuple("abcdef"[row] for row in draws.index)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weight": "v"}, r"'v'.*'id', 'w'"),
        ({"weight": "id"}, r"'id'.*numbers.*string"),
        ({"id_column": "name"}, r"'name'.*ids"),
        ({"k": 7}, r"7 draws.*6 rows"),
        ({"weight": "w", "metric": "error"}, "name one"),
        ({"log": True}, "as weight"),
        ({"metric": "errr"}, "errr"),
        ({"weight": "w", "floor": 2}, r"floor.*0 and 1"),
        ({"weight": "w", "threads": 0}, r"threads.*at least 1"),
        ({"metric": "log_loss"}, "log_loss needs probabilities"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(
    tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        draw_from_file(written(tmp_path), **{"k": 1, "seed": 1, **arguments})


def test_files_that_are_no_pool_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PoolError, match="No file matches"):
        draw_from_file(str(tmp_path / "*.parquet"), 1, seed=1)
    with pytest.raises(PoolError, match="No file matches"):
        draw_from_file(f"file://{tmp_path}/x*.parquet", 1, seed=1)
    with pytest.raises(PoolError, match="'nosuch://pool'"):
        draw_from_file("nosuch://pool", 1, seed=1)
    folder = written(tmp_path, other=[1, 2, 3])
    with pytest.raises(PoolError, match=r"2.parquet.*'other'"):
        draw_from_file(folder, 1, seed=1)
    (folder / "2.parquet").write_bytes(b"no Parquet at all")
    with pytest.raises(PoolError, match=r"2.parquet.*as parquet"):
        draw_from_file(folder, 1, seed=1)
    pq.write_table(pa.table({"id": ["a"]}).slice(0, 0), folder / "2.parquet")
    with pytest.raises(InputError, match="pool is empty"):
        draw_from_file(folder / "2.parquet", 1, seed=1)


def test_ids_of_drawn_rows_must_be_there_and_differ(tmp_path: Path) -> None:
    with pytest.raises(PoolError, match=r"Row 1 .*2.parquet.*\bid\b"):
        draw_from_file(written(tmp_path, id=["d", None, "e"]), 6, seed=1)
    with pytest.raises(PoolError, match=r"'a'.*twice.*rows 0 and 4"):
        draw_from_file(written(tmp_path, id=["d", "a", "e"]), 6, seed=1)


@pytest.mark.parametrize("change", ["rewritten", "longer", "gone", "touched"])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path, change: str) -> None:
    folder = written(tmp_path)
    path = folder / "2.parquet"

    def alter(done: int, total: int | None) -> None:
        if change == "gone":
            path.unlink(missing_ok=True)
        elif change == "touched":
            os.utime(path, ns=(0, 0))
        elif change == "longer":
            pq.write_table(pa.table({"id": [*"abcd"], "w": [1.0] * 4}), path)
        else:
            path.write_bytes(path.read_bytes()[::-1])

    with pytest.raises(PoolError, match=r"2.parquet changed"):
        draw_from_file(folder, 2, seed=1, weight="w", threads=1, progress=alter)


def test_a_text_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pool.csv"
    path.write_text("id,w\na,1\nb,2\n")
    with pytest.raises(PoolError, match=r"pool.csv changed"):
        draw_from_file(
            path, 1, seed=1, weight="w", progress=lambda done, total: os.utime(path, ns=(0, 0))
        )
