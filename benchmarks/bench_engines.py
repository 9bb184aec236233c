"""How long a race by key takes on engines, beside what each engine takes for the hashes alone.

    python benchmarks/bench_engines.py           # 2e7 rows, some minutes; PostgreSQL has 1e6
    python benchmarks/bench_engines.py 1e6 1e5   # other numbers of rows

Times are medians of five runs that take turns; ratios are within one run. The draws of all engines
are compared.
"""

import hashlib
import sys
from collections.abc import Callable

import duckdb
import numpy as np
import pyarrow as pa

from bench_scale import in_turn
from levelled import Draws
from levelled.samplers import draws_from_result, race_batches, select_statement
from postgres_server import find_binaries, run_server

K = 1_000
SEED = 7

Jobs = dict[str, Callable[[], object]]


def make_pool(n_rows: int) -> pa.Table:
    weights = np.random.default_rng(0).random(n_rows) + 0.01
    return pa.table({"id": np.arange(n_rows), "score": weights})


def show(engine: str, n_rows: int, jobs: Jobs, *, cpu: bool) -> None:
    """Print the time of each job, and its ratio to that of the first one."""
    times = {name: each[cpu] for name, each in in_turn(jobs).items()}
    yardstick = next(iter(times.values()))
    kind = "CPU" if cpu else "wall"
    print(f"{engine}, {K:,} of {n_rows:,} rows, {kind} seconds")
    for name, seconds in times.items():
        per_row = seconds / n_rows * 1e9
        print(f"  {name:<44}{seconds:8.2f}{per_row:8.0f} ns a row {seconds / yardstick:7.2f} x")


def on_numpy(pool: pa.Table) -> Draws:
    n_rows = pool.num_rows
    draws = race_batches(pool, K, seed=SEED, key="id", weight="score")
    few = [f"{SEED}:{one}".encode() for one in range(min(n_rows, 200_000))]
    in_python = in_turn({"": lambda: [hashlib.md5(one).digest() for one in few]})[""][1]
    jobs: Jobs = {
        "race_batches by block": lambda: race_batches(pool, K, seed=SEED, weight="score"),
        "race_batches by key": lambda: race_batches(pool, K, seed=SEED, key="id", weight="score"),
    }
    show("NumPy", n_rows, jobs, cpu=True)
    print(f"  {'hashlib.md5 in a loop, alone':<52}{in_python / len(few) * 1e9:8.0f} ns a row")
    return draws


def on_duckdb(pool: pa.Table) -> Draws:
    with duckdb.connect() as connection:
        connection.register("arrow", pool)
        connection.execute("CREATE TABLE pool AS FROM arrow")
        connection.unregister("arrow")
        select = select_statement("duckdb", "pool", K, seed=SEED, weight="score")
        unit = "((hash(id, 7) >> 12)::DOUBLE + 0.5::DOUBLE) / 4503599627370496"
        statements = {
            "top by md5: ORDER BY md5(id) LIMIT 1000": (
                f"SELECT id FROM pool ORDER BY md5(id::VARCHAR) LIMIT {K}"
            ),
            "the SELECT (bar 1.5 x)": select,
            "top by native hash": f"SELECT id FROM pool ORDER BY hash(id) LIMIT {K}",
            "keys by native hash (not random!)": (
                f"SELECT id FROM pool ORDER BY -ln({unit}) / score LIMIT {K}"
            ),
        }
        jobs: Jobs = {
            name: lambda text=text: connection.execute(text).fetchall()  # type: ignore[misc]
            for name, text in statements.items()
        }
        show("DuckDB", pool.num_rows, jobs, cpu=True)
        return draws_from_result(connection.sql(select))


def on_postgres(pool: pa.Table) -> Draws:
    import psycopg

    with run_server() as server, psycopg.connect(server.new_database()) as connection:
        connection.execute("CREATE TABLE pool (id bigint, score double precision)")
        with connection.cursor().copy("COPY pool FROM STDIN") as copy:
            for row in zip(pool["id"].to_pylist(), pool["score"].to_pylist(), strict=True):
                copy.write_row(row)
        connection.execute("ANALYZE pool")
        select = select_statement("postgresql", "pool", K, seed=SEED, weight="score")
        top = f"SELECT id FROM pool ORDER BY md5(id::text) LIMIT {K}"
        jobs: Jobs = {
            "top by md5: ORDER BY md5(id) LIMIT 1000": lambda: connection.execute(
                top.encode()
            ).fetchall(),
            "the SELECT": lambda: connection.execute(select.encode()).fetchall(),
        }
        show("PostgreSQL", pool.num_rows, jobs, cpu=False)
        cursor = connection.execute(select.encode())
        names = [column.name for column in cursor.description or ()]
        rows = cursor.fetchall()
    return draws_from_result(dict(zip(names, zip(*rows, strict=True), strict=True)))


def compare(name: str, one: Draws, other: Draws) -> None:
    same = "the same ids in order" if one.ids == other.ids else "OTHER IDS"
    error = np.abs(one.probability / other.probability - 1).max()
    print(f"{name}: {same}, probabilities within {error:.0e}")


def main() -> None:
    n_rows, n_postgres = (int(float(one)) for one in (sys.argv[1:] or ["2e7", "1e6"]))
    pool = make_pool(n_rows)
    compare("NumPy and DuckDB", on_numpy(pool), on_duckdb(pool))
    if find_binaries() is not None:
        pool = make_pool(n_postgres)
        expected = race_batches(pool, K, seed=SEED, key="id", weight="score")
        compare("NumPy and PostgreSQL", expected, on_postgres(pool))


if __name__ == "__main__":
    main()
