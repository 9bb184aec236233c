from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import psycopg
import pyarrow as pa
import pytest
import sqlglot

from levelled import Draws
from levelled.errors import InputError
from levelled.samplers import draws_from_result, race_batches, select_statement
from levelled.samplers.sql import DIALECTS
from postgres_server import PostgresServer

Run = Callable[[str, pa.Table], pa.Table]
"""Runs a SELECT on a table named pool."""


def on_duckdb(select: str, pool: pa.Table) -> pa.Table:
    with duckdb.connect() as connection:
        connection.register("pool", pool)
        return connection.sql(select).to_arrow_table()


@pytest.fixture
def on_postgres(postgres: PostgresServer) -> Run:
    def run(select: str, pool: pa.Table) -> pa.Table:
        with psycopg.connect(postgres.new_schema()) as connection:
            kind = "bigint" if pa.types.is_integer(pool["id"].type) else "text"
            connection.execute(f"CREATE TABLE pool (id {kind}, score double precision)".encode())
            with connection.cursor().copy("COPY pool FROM STDIN") as copy:
                for row in pool.to_pylist():
                    copy.write_row([row["id"], row["score"]])
            cursor = connection.execute(select.encode())
            names = [column.name for column in cursor.description or ()]
            rows: list[tuple[Any, ...]] = cursor.fetchall()
        return pa.table(dict(zip(names, zip(*rows, strict=True), strict=True)))

    return run


@pytest.fixture(params=["duckdb", "postgresql"])
def engine(request: pytest.FixtureRequest) -> tuple[str, Run]:
    run = on_duckdb if request.param == "duckdb" else request.getfixturevalue("on_postgres")
    return request.param, run


def make_pool(n: int, *, sigma: float, texts: bool = False) -> pa.Table:
    rng = np.random.default_rng(n)
    ids = rng.permutation(10 * n)[:n] - n
    return pa.table(
        {
            "id": [f"né/{one}'\"" for one in ids] if texts else ids,
            "score": rng.lognormal(0, sigma, size=n),
        }
    )


def same_draws(one: Draws, other: Draws, *, rtol: float) -> None:
    assert one.ids == other.ids
    np.testing.assert_allclose(one.probability, other.probability, rtol=rtol)
    assert (one.pool_size, one.excluded) == (other.pool_size, other.excluded)


@pytest.mark.parametrize("texts", [False, True])
@pytest.mark.parametrize(
    ("n", "k", "sigma"), [(20_000, 100, 1.0), (2_000, 1_500, 2.0), (30, 30, 3.0), (1, 1, 1.0)]
)
def test_engines_draw_the_rows_that_numpy_draws(
    engine: tuple[str, Run], n: int, k: int, sigma: float, texts: bool
) -> None:
    dialect, run = engine
    pool = make_pool(n, sigma=sigma, texts=texts)
    result = run(select_statement(dialect, "pool", k, seed=11, weight="score"), pool)
    draws = draws_from_result(result)
    same_draws(draws, race_batches(pool, k, seed=11, key="id", weight="score"), rtol=1e-12)
    assert draws.index.tolist() == [*range(k)]
    given = np.array(result["probability"].to_pylist(), dtype=float)[:k]  # may be used as it is
    far = np.abs(given / draws.probability - 1) > 1e-10
    assert not far[~np.isnan(given)].any()
    assert result.num_rows == min(k + 1, n)


def test_rows_of_weight_zero_are_left_out_if_that_is_wanted(engine: tuple[str, Run]) -> None:
    dialect, run = engine
    pool = pa.table({"id": [*range(9)], "score": [0.0, 1.0, 2.0] * 3})
    options = {"seed": 3, "weight": "score"}
    draws = draws_from_result(
        run(select_statement(dialect, "pool", 6, allow_zero=True, **options), pool)  # type: ignore[arg-type]
    )
    expected = race_batches(pool, 6, seed=3, key="id", weight="score", allow_zero=True)
    same_draws(draws, expected, rtol=1e-14)
    assert draws.excluded == 3
    refused = run(select_statement(dialect, "pool", 6, **options), pool)  # type: ignore[arg-type]
    assert set(refused["probability"].to_pylist()) == {None}
    with pytest.raises(InputError, match=r"3 of 9 rows.*'0'"):
        draws_from_result(refused)


@pytest.mark.parametrize("wrong", [None, np.nan, np.inf, -np.inf, -1.0, 1e-300, 1e300])
def test_a_table_with_a_wrong_weight_is_refused(
    engine: tuple[str, Run], wrong: float | None
) -> None:
    dialect, run = engine
    pool = pa.table({"id": ["a", "b", "c"], "score": [1.0, wrong, 2.0]})
    result = run(select_statement(dialect, "pool", 1, seed=1, weight="score"), pool)
    with pytest.raises(InputError, match=r"1 of 3 rows.*'b'"):
        draws_from_result(result)


@pytest.mark.parametrize(
    ("pool", "words"),
    [
        ({"id": ["a", None], "score": [1.0, 1.0]}, "1 of 2 rows.*without"),
        ({"id": ["a", "a"], "score": [1.0, 1.0]}, "'a'.*twice"),
        ({"id": ["a", "b"], "score": [0.0, 0.0]}, "2 of 2 rows"),
        ({"id": ["a"], "score": [1.0]}, "2 draws .* only 1 of 1"),
    ],
)
def test_a_table_that_cannot_be_drawn_from_is_refused(
    engine: tuple[str, Run], pool: dict[str, list[Any]], words: str
) -> None:
    dialect, run = engine
    result = run(select_statement(dialect, "pool", 2, seed=1, weight="score"), pa.table(pool))
    with pytest.raises(InputError, match=words):
        draws_from_result(result)


def test_an_empty_table_is_refused(engine: tuple[str, Run]) -> None:
    dialect, run = engine
    pool = pa.table({"id": pa.array([], pa.int64()), "score": pa.array([], pa.float64())})
    with pytest.raises(InputError, match="pool is empty"):
        draws_from_result(run(select_statement(dialect, "pool", 2, seed=1), pool))


def test_equal_weights_need_no_column(engine: tuple[str, Run]) -> None:
    dialect, run = engine
    pool = make_pool(1_000, sigma=1)
    draws = draws_from_result(run(select_statement(dialect, "pool", 20, seed=2**100), pool))
    expected = race_batches(
        pool.append_column("one", [np.ones(1_000)]), 20, seed=2**100, key="id", weight="one"
    )
    same_draws(draws, expected, rtol=1e-14)


NAMES = ["about", 'Na"me', "a`b", "x; DROP TABLE pool; --", "select", "é 1", "it's"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_read_as_a_name_whatever_it_holds(name: str) -> None:
    pool = pa.table({name: [1, 2, 3], f"{name}2": [1.0, 2.0, 3.0]})
    options: dict[str, Any] = {"seed": 1, "key": name, "weight": f"{name}2"}
    with duckdb.connect() as connection:
        connection.register("arrow", pool)
        quoted = name.replace('"', '""')
        connection.execute(f'CREATE TABLE "{quoted}" AS FROM arrow')
        select = select_statement("duckdb", name, 2, **options)
        draws = draws_from_result(connection.sql(select).to_arrow_table())
    assert draws.ids == race_batches(pool, 2, **options).ids


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", [*NAMES, "catalogue.schema.table"])
def test_a_real_parser_reads_every_dialect_as_one_query(dialect: str, name: str) -> None:
    if {*name} & {*DIALECTS[dialect].never}:
        with pytest.raises(InputError, match="be the name"):
            select_statement(dialect, name, 100, seed=7)
        return
    select = select_statement(dialect, name, 100, seed=7, key=name, weight=name, allow_zero=True)
    words = {"postgresql": "postgres"}.get(dialect, dialect)
    (query,) = sqlglot.parse(select, read=words)
    assert isinstance(query, sqlglot.exp.Select)
    ctes = {cte.alias for cte in query.find_all(sqlglot.exp.CTE)}
    tables = {
        ".".join(part.name for part in table.parts)
        for table in query.find_all(sqlglot.exp.Table)
        if table.name not in ctes
    }
    assert tables == {name}
    assert len(query.selects) == 16


@pytest.mark.parametrize("dialect", ["bigquery", "snowflake"])
def test_dialects_that_no_test_runs_say_so(dialect: str) -> None:
    assert "no engine" in select_statement(dialect, "pool", 1, seed=1)


def test_duckdb_takes_the_path_of_a_file(tmp_path_factory: pytest.TempPathFactory) -> None:
    import pyarrow.parquet as pq

    path = tmp_path_factory.mktemp("pool") / "pool.v1.parquet"
    pool = make_pool(100, sigma=1)
    pq.write_table(pool, path)
    select = select_statement("duckdb", str(path), 5, seed=1, weight="score")
    draws = draws_from_result(on_duckdb(select, pool))
    assert draws.ids == race_batches(pool, 5, seed=1, key="id", weight="score").ids


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dialect": "oracle"}, "duckdb.*postgresql.*spark"),
        ({"table": ""}, "''.*name"),
        ({"table": "Levelled_about"}, "schema"),
        ({"table": "a..b"}, "''.*name"),
        ({"key": "a\nb"}, "be the name"),
        ({"dialect": "spark", "key": "a\\"}, "be the name"),
        ({"k": 0}, r"\bk\b.*at least 1"),
        ({"seed": -1}, "seed.*at least 0"),
        ({"seed": 2**128}, "seed.*below"),
    ],
)
def test_what_no_select_can_be_written_for_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        select_statement(**{"dialect": "duckdb", "table": "pool", "k": 1, "seed": 1, **options})


def result_of(weights: list[float], k: int, ids: int | None = None) -> dict[str, list[Any]]:
    """The result for this many ids, by default one a row."""
    pool = pa.table({"id": np.arange(len(weights)) % (ids or len(weights)), "score": weights})
    with duckdb.connect() as connection:
        connection.register("pool", pool)
        select = select_statement("duckdb", "pool", k, seed=5, weight="score")
        columns: dict[str, list[Any]] = connection.sql(select).to_arrow_table().to_pydict()
        return columns


@pytest.fixture
def result() -> dict[str, list[Any]]:
    return result_of([*np.random.default_rng(0).lognormal(size=50)], 6)


def test_the_order_of_rows_the_case_of_names_and_texts_for_numbers_do_not_matter(
    result: dict[str, list[Any]],
) -> None:
    draws = draws_from_result(result)
    backwards = {name.upper(): values[::-1] for name, values in result.items()}
    texts = {
        name: [None if one is None else one if name == "id" else str(one) for one in values]
        for name, values in result.items()
    }
    for other in (backwards, texts):
        back = draws_from_result(other)
        assert back.ids == draws.ids
        assert back.probability.tolist() == draws.probability.tolist()


def test_a_result_without_a_column_is_refused(result: dict[str, list[Any]]) -> None:
    for name in result:
        with pytest.raises(InputError, match=f"no column '{name}'"):
            draws_from_result({one: values for one, values in result.items() if one != name})


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("id", 999, "race_key.*999"),
        ("weight", 0.123456, "race_key of id"),
        ("race_key", 1e-5, "race_key of id"),
        ("probability", 0.5, "probability of id"),
        ("draw", 2, "draws 1 to 7"),
        ("seed", "8", "'seed'.*2 values"),
        ("total_1", 12, "'total_1'.*2 values"),
        ("weight", "heavy", "'weight'.*SELECT"),
        ("weight", None, "Item [0-9]+.*no number"),
        ("id", None, "has no id"),
    ],
)
def test_a_result_in_which_one_value_was_changed_is_refused(
    result: dict[str, list[Any]], name: str, value: object, words: str
) -> None:
    changed = [*result[name]]
    changed[0] = value
    if isinstance(value, str):
        changed[1:] = map(str, changed[1:])
    with pytest.raises(InputError, match=words) as refusal:
        draws_from_result({**result, name: changed})
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("seed", "8", "race_key of id"),
        ("total_1", 10**9, "probability of id"),
        ("pool_size", 3, "6 draws .* only 3 of 3"),
        ("draws_wanted", 5, "draws 1 to 6"),
    ],
)
def test_a_result_in_which_one_column_was_changed_is_refused(
    result: dict[str, list[Any]], name: str, value: object, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        draws_from_result({**result, name: [value] * len(result[name])})


def test_a_result_that_was_cut_or_repeats_a_row_is_refused(result: dict[str, list[Any]]) -> None:
    cut = {name: values[:-1] for name, values in result.items()}
    longer = {name: [*values, values[-1]] for name, values in result.items()}
    for other in (cut, longer):
        with pytest.raises(InputError, match=r"draws 1 to 7.*row"):
            draws_from_result(other)
    with pytest.raises(InputError, match="has 0 values"):
        draws_from_result({name: values[:0] for name, values in result.items()})


def test_ids_that_come_often_are_named_as_a_cause() -> None:
    with pytest.raises(InputError, match=r"\b1 rows.*twice"):
        draws_from_result(result_of([1.0] * 100_000, 5, ids=1))


def test_weights_too_small_beside_the_largest_are_refused_where_it_matters() -> None:
    weights = [1.0] + [1e-30] * 1_000
    with pytest.raises(InputError, match=r"differ.*SQL"):
        draws_from_result(result_of(weights, 2))
    assert draws_from_result(result_of(weights, 1)).ids == (0,)


def test_what_is_left_after_heavy_rows_is_exact() -> None:
    weights = [1e15, 3e14, *np.random.default_rng(1).lognormal(size=200)]
    draws = draws_from_result(result_of(weights, 20))
    pool = pa.table({"id": np.arange(202), "weight": weights})
    expected = race_batches(pool, 20, seed=5, key="id")
    assert draws.ids == expected.ids
    np.testing.assert_allclose(draws.probability, expected.probability, rtol=1e-12)
