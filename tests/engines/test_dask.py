"""Draws by key on a Dask cluster, as docs/clusters.md makes them."""

import logging
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from contracts.engines import Engine, EngineContract, RacePart
from levelled.draws import Draws
from levelled.samplers import finish, merge

distributed = pytest.importorskip("distributed")


class TestDask(EngineContract):
    @pytest.fixture
    def engine(self) -> Engine:
        return draw


def draw(pool: Path, run: RacePart, *, workers: int, rows: int) -> Draws:
    def race_file(path: Path) -> list[object]:
        return [run(batch) for batch in pq.ParquetFile(path).iter_batches(rows)]

    place = {
        "host": "127.0.0.1",
        "dashboard_address": "127.0.0.1:0",
        "silence_logs": logging.CRITICAL,
    }
    with (
        distributed.LocalCluster(n_workers=workers, threads_per_worker=1, **place) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        parts = client.gather(client.map(race_file, sorted(pool.glob("*.parquet"))))
        client.wait_for_workers(workers)  # one that is being replaced cannot be closed
    return finish(merge(part for some in parts for part in some))
