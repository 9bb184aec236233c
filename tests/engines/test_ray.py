"""Draws by key on Ray Data, as docs/clusters.md makes them."""

import importlib.util
import logging
from pathlib import Path

import pytest

from contracts.engines import Engine, EngineContract, RacePart
from levelled.backends import ray as ray_backend
from levelled.draws import Draws
from levelled.samplers import finish, merge

if importlib.util.find_spec("ray") is None:
    pytest.skip("Ray is not installed", allow_module_level=True)


class TestRay(EngineContract):
    @pytest.fixture
    def engine(self) -> Engine:
        return draw


def draw(pool: Path, run: RacePart, *, workers: int, rows: int) -> Draws:
    ray_backend()  # sets what Ray reads when it is imported
    import ray
    import ray.data

    ray.init(
        num_cpus=workers,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
        object_store_memory=200_000_000,
    )
    try:
        rows_of = ray.data.read_parquet(str(pool)).select_columns(["id", "score"])
        parts = rows_of.map_batches(run, batch_format="pyarrow", batch_size=rows)
        return finish(merge(parts.iter_batches(batch_format="pyarrow", batch_size=None)))
    finally:
        ray.shutdown()
