"""Draws by key on Spark, as docs/spark.md makes them: `make engines` runs them."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from contracts.engines import Engine, EngineContract, RacePart, make_race
from levelled.draws import Draws
from levelled.samplers import finish, merge

sql = pytest.importorskip("pyspark.sql")
types = pytest.importorskip("pyspark.sql.pandas.types")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java", allow_module_level=True)


class TestSpark(EngineContract):
    @pytest.fixture
    def engine(self, monkeypatch: pytest.MonkeyPatch) -> Engine:
        monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
        return draw


def draw(pool: Path, run: RacePart, *, workers: int, rows: int) -> Draws:
    def race(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from run(batch).to_batches()

    spark = (
        sql.SparkSession.builder.master(f"local[{workers},4]")  # 4 tries, as on a cluster
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", rows)
        .config("spark.log.level", "OFF")
        .getOrCreate()
    )
    try:
        table = spark.read.parquet(str(pool))
        kind = pa.string() if dict(table.dtypes)["id"] == "string" else pa.int64()
        schema = make_race()(pa.table({"id": pa.array([0]).cast(kind), "score": [1.0]})).schema
        parts = table.mapInArrow(race, types.from_arrow_schema(schema))
        return finish(merge(parts.toArrow()))
    finally:
        spark.stop()
