"""What a race by key promises on every engine. Inherit and say how the engine runs it."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from levelled.draws import Draws
from levelled.samplers import race_batches, race_part

K, SEED, ROWS = 100, 7, 40_000
RacePart = Callable[[pa.Table], pa.Table]


class Engine(Protocol):
    def __call__(self, pool: Path, run: RacePart, *, workers: int, rows: int) -> Draws: ...


def make_race() -> RacePart:
    """The race over one batch. Workers cannot import a module of tests, so it is made here."""
    k, seed = K, SEED
    return lambda batch: race_part(batch, k, seed=seed, key="id", weight="score")


def make_race_that_dies_once(folder: Path) -> RacePart:
    """The same, but the first process that runs it is killed."""
    race = make_race()

    def die_once(batch: pa.Table) -> pa.Table:
        try:
            (folder / "died").touch(exist_ok=False)
            os.kill(os.getpid(), signal.SIGKILL)
        except FileExistsError:
            pass
        return race(batch)

    return die_once


class EngineContract:
    """Provide a fixture `engine`."""

    def test_one_worker_and_large_batches_of_numbers(self, engine: Engine, tmp_path: Path) -> None:
        write_pool(tmp_path / "pool", np.arange(ROWS))
        _check_same(engine, tmp_path / "pool", make_race(), workers=1, rows=1_000_000)

    def test_four_workers_of_which_one_is_killed_and_small_batches_of_texts(
        self, engine: Engine, tmp_path: Path
    ) -> None:
        write_pool(tmp_path / "pool", [f"ü{n}" for n in range(ROWS)])
        race = make_race_that_dies_once(tmp_path)
        _check_same(engine, tmp_path / "pool", race, workers=4, rows=10_000)
        assert (tmp_path / "died").exists()


def write_pool(folder: Path, ids: object) -> None:
    """Write four files of ids and scores."""
    folder.mkdir()
    table = pa.table({"id": ids, "score": np.random.default_rng(0).gamma(0.5, size=ROWS) + 0.01})
    for at in range(4):
        file = table.slice(at * ROWS // 4, ROWS // 4)
        pq.write_table(file, folder / f"{at}.parquet", row_group_size=5_000)


def _check_same(engine: Engine, pool: Path, race: RacePart, *, workers: int, rows: int) -> None:
    """The engine draws what one process draws: ids, order and probabilities bit for bit."""
    batches = ds.dataset(pool).to_batches()
    expected = race_batches(batches, K, seed=SEED, key="id", weight="score")
    draws = engine(pool, race, workers=workers, rows=rows)
    assert draws.ids == expected.ids
    np.testing.assert_array_equal(draws.probability, expected.probability)
    assert draws.pool_size == ROWS
