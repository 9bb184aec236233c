import json
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

import levelled as lv
from cli.terminal import Levelled


@pytest.fixture
def result(levelled: Levelled, pool: Path, tmp_path: Path) -> Path:
    """The result of a SELECT, as DuckDB writes it."""
    words = ("draw", "--sql", "duckdb", "--table", pool, "--weight", "proba_spam", "-k", 20)
    printed = levelled(*words, "--seed", 7)
    assert printed.code == 0, printed.err
    path = tmp_path / "result.parquet"
    duckdb.execute(f"COPY ({printed.out}) TO '{path}'")
    return path


def test_a_select_and_its_result_give_the_draws_of_a_race_by_key(
    levelled: Levelled, pool: Path, result: Path
) -> None:
    read = levelled("draw", "--from-result", result, "--out", "draws.parquet")
    assert read.code == 0, read.err
    draws = lv.Draws.from_parquet("draws.parquet")
    table = pq.read_table(pool)
    expected = lv.samplers.race_batches(table, 20, seed=7, key="id", weight="proba_spam")
    assert draws.ids == expected.ids
    assert draws.probability.tolist() == pytest.approx(expected.probability.tolist(), rel=1e-12)
    printed = json.loads(levelled("draw", "--from-result", result).out)
    assert [one["id"] for one in printed] == [*(draws.ids or ())]
    assert [*printed[0]] == ["draw", "id", "probability"]


@pytest.mark.parametrize("form", ["csv", "json"])
def test_results_are_read_from_other_files_too(
    levelled: Levelled, result: Path, tmp_path: Path, form: str
) -> None:
    path = tmp_path / ("result.csv" if form == "csv" else "result.jsonl")
    duckdb.sql(f"COPY (FROM '{result}') TO '{path}' (FORMAT {form})")
    expected = levelled("draw", "--from-result", result)
    assert levelled("draw", "--from-result", path).out == expected.out


def test_files_of_draws_keep_ids(levelled: Levelled, pool: Path) -> None:
    levelled("draw", pool, "-k", 5, "--seed", 7, "--out", "draws.parquet")
    draws = lv.Draws.from_parquet("draws.parquet")
    assert draws.ids == tuple(f"r{row}" for row in draws.index)


def test_a_seed_is_chosen_if_none_is_given(levelled: Levelled) -> None:
    words = ("draw", "--sql", "postgresql", "--table", "public.preds", "-k", 20)
    one, other = levelled(*words).out, levelled(*words).out
    assert one != other
    assert 'FROM "public"."preds"' in one


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Name one of a pool, --sql with --table, and --from-result"),
        (["pool.parquet"], "say how many items"),
        (["pool.parquet", "--table", "t", "-k", 3], "--sql and --table go together"),
        (["--sql", "duckdb", "-k", 3], "--sql and --table go together"),
        (["--sql", "duckdb", "--table", "t"], "say how many items"),
        (["--sql", "duckdb", "--table", "t", "-k", 3, "--log"], "--log does not go with --sql"),
        (["--sql", "oracle", "--table", "t", "-k", 3], "is not one of 'duckdb'"),
        (["--from-result", "r.csv", "--seed", 3], "--seed does not go with --from-result"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    levelled: Levelled, words: list[str | int], message: str
) -> None:
    refused = levelled("draw", *words)
    assert refused.code == 2
    assert message in refused.err


def test_a_file_that_is_no_result_is_refused_in_one_line(levelled: Levelled, pool: Path) -> None:
    refused = levelled("draw", "--from-result", pool)
    assert refused.code == 1
    assert refused.err.startswith("levelled: The result has no column 'draw'.")
    assert len(refused.err.splitlines()) == 1
