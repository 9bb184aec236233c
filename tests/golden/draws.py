"""Draws and probabilities: arrays in memory, files of all kinds, and by key."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from golden import pools
from golden.surface import command, printed
from levelled import Draws, samplers
from levelled.campaigns import draw_from_file
from levelled.estimators import lure_weights

duckdb = pytest.importorskip("duckdb")


def draws(folder: Path) -> dict[str, Any]:
    return {**in_memory(), **in_parts(), **from_files(folder), **by_key(folder)}


def plain(made: Draws) -> dict[str, Any]:
    """A record of draws as JSON, with every column it has."""
    columns: dict[str, Any] = {"index": made.index, "probability": made.probability}
    columns |= {"weight": lure_weights(made), **(made.design or {})}
    if made.ids is not None:
        columns["ids"] = made.ids
    lists = {name: np.asarray(column).tolist() for name, column in columns.items()}
    return {"pool_size": made.pool_size, "excluded": made.excluded, **lists}


def in_memory() -> dict[str, Any]:
    made = {}
    for seed in range(12):
        n = (3, 50, 4_095, 4_096, 4_097, 20_000)[seed % 6]
        weight = np.array(pools.weights(n))
        k = min(n, 12)
        made[f"race {seed}"] = plain(samplers.race(weight, k, seed=seed))
        made[f"race {seed} design"] = plain(samplers.race(weight, k, seed=seed, design=True))
        logs = np.array([-float(at % 700) for at in range(n)])
        made[f"race {seed} log"] = plain(samplers.race(logs, k, seed=seed, log=True))
    zeros = np.array([0.0, 1.0, 0.0, 2.0, 3.0] * 20)
    made["race zeros"] = plain(samplers.race(zeros, 10, seed=1, allow_zero=True, design=True))
    made["race whole pool"] = plain(samplers.race(np.arange(1.0, 41.0), 40, seed=2, design=True))
    made["race seed of many digits"] = plain(samplers.race(np.ones(100), 5, seed=2**63 + 11))
    rng = np.random.default_rng(5)
    steps = samplers.sequential(lambda left: (left + 1) / (left + 1).sum(), 30, rng=rng)
    made["sequential"] = {"steps": [[one.index, one.probability] for one in steps]}
    return made


def in_parts() -> dict[str, Any]:
    """One race over several parts, merged in another order; and over Arrow batches."""
    weight = np.array(pools.weights(10_000))
    starts = [0, 4_000, 4_500]
    parts = [
        samplers.part(cut, 15, seed=9, unit=unit, design=True)
        for unit, cut in enumerate(np.split(weight, starts[1:]))
    ]
    made = {"parts": plain(samplers.finish(samplers.merge(parts[::-1])))}
    table = pa.table({"id": list(range(10_000)), "w": weight})
    batches = table.to_batches(max_chunksize=999)
    made["batches"] = plain(samplers.race_batches(batches, 15, seed=9, weight="w"))
    return made


def from_files(folder: Path) -> dict[str, Any]:
    columns = {**pools.spam(600), "w": pools.weights(600)}
    columns["log_w"] = [-10 * pools.uniform(at, "log") for at in range(600)]
    one = pools.write_parquet(folder / "one.parquet", columns, 90)
    many = pools.write_folder(folder / "many", columns)
    csv = pools.write_csv(folder / "pool.csv", columns)
    jsonl = pools.write_jsonl(folder / "pool.jsonl", columns)
    made: dict[str, Any] = {}
    for name, path in (("parquet", one), ("folder", many), ("csv", csv), ("jsonl", jsonl)):
        for seed in (0, 7):
            words = ("draw", path, "-k", 12, "--seed", seed)
            made[f"{name} {seed} weight"] = printed(*words, "--weight", "w")
            made[f"{name} {seed} equal"] = printed(*words)
        words = ("draw", path, "-k", 12, "--seed", 3)
        made[f"{name} log"] = printed(*words, "--weight", "log_w", "--log", "--no-design")
        made[f"{name} floor"] = printed(*words, "--weight", "w", "--floor", 0.2)
        made[f"{name} metric"] = printed(*words, "--metric", "error")
    pattern = folder / "many" / "part-*.parquet"
    made["pattern"] = printed("draw", pattern, "-k", 9, "--seed", 4, "--weight", "w")
    made["address"] = printed("draw", one.as_uri(), "-k", 9, "--seed", 4, "--weight", "w")
    listed = [folder / "many" / f"part-{at}.parquet" for at in (0, 2)]
    made["several files"] = plain(draw_from_file(listed, 9, seed=4, weight="w"))
    made["one thread"] = plain(draw_from_file(many, 9, seed=4, weight="w", threads=1))
    command("draw", one, "-k", 9, "--seed", 4, "--weight", "w", "--out", folder / "d.parquet")
    made["written"] = _columns(folder / "d.parquet")
    made["as csv"] = command("draw", one, "-k", 4, "--weight", "w", "--seed", 4, "--format", "csv")
    return made


def by_key(folder: Path) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for engine in ("duckdb", "postgresql", "spark", "bigquery", "snowflake"):
        words = ("draw", "--sql", engine, "--table", "preds", "--weight", "w", "-k", 9)
        made[f"select {engine}"] = command(*words, "--seed", 4)
    table = folder / "one.parquet"
    words = ("draw", "--sql", "duckdb", "--table", str(table), "--weight", "w", "-k", 9)
    select = command(*words, "--seed", 4)["out"]
    duckdb.execute(f"COPY ({select}) TO '{folder / 'result.parquet'}'")
    made["by key"] = printed("draw", "--from-result", folder / "result.parquet")
    weighed = pa.table({"id": pools.ids(200), "w": pools.weights(200)})
    part = samplers.race_part(weighed, 9, seed=4, key="id", weight="w", first_row=0)
    made["race part"] = plain(samplers.finish(samplers.merge([part])))
    return made


def _columns(path: Path) -> dict[str, Any]:
    table = pq.read_table(path)
    types = {field.name: str(field.type) for field in table.schema}
    return {"types": types, "columns": table.to_pydict()}
