import json
from pathlib import Path

import duckdb
import pyarrow as pa
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
        ([], "--from-result"),
        (["pool.parquet"], "how many items"),
        (["pool.parquet", "--table", "t", "-k", 3], "--sql and --table"),
        (["--sql", "duckdb", "-k", 3], "--sql and --table"),
        (["--sql", "duckdb", "--table", "t"], "how many items"),
        (["--sql", "duckdb", "--table", "t", "-k", 3, "--log"], "--log does not go"),
        (["--sql", "oracle", "--table", "t", "-k", 3], "'duckdb'"),
        (
            ["--sql", "duckdb", "--table", "t", "-k", 3, "--no-design"],
            "--design/--no-design does not",
        ),
        (["--sql", "duckdb", "--table", "t", "-k", 3, "--format", "csv"], "--format does not go"),
        (["--from-result", "r.csv", "--seed", 3], "--seed does not go"),
        (["--from-result", "r.csv", "--id-column", "id"], "--id-column does not go"),
        (["--from-result", "r.csv", "--allow-zero"], "--allow-zero does not go"),
        (["--from-result", "r.csv", "-k", 3], "--count does not go"),
        (["a.csv", "-k", 3, "--weight", "w", "--classes", "a,b"], "--classes needs --metric"),
        (["a.csv", "-k", 3, "--weight", "w", "--metric", "error"], "--metric does not go"),
        (["a.csv", "-k", 3, "--metric", "error", "--log"], "--log needs --weight"),
        (["a.csv", "-k", 3, "--floor", 0.1], "--floor needs"),
        (["a.csv", "-k", 3, "--allow-zero"], "--allow-zero needs"),
        (["a.csv", "-k", 3, "--out", "d.parquet", "--format", "csv"], "--format does not go"),
        (["a.csv", "b.csv", "-k", 3], "b.csv is a further"),
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
    assert refused.err.startswith("levelled: ")
    assert "column 'draw'" in refused.err
    assert len(refused.err.splitlines()) == 1


def test_a_format_set_for_all_commands_is_no_obstacle(
    levelled: Levelled, pool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEVELLED_FORMAT", "csv")
    assert levelled("draw", "--sql", "duckdb", "--table", "t", "-k", 3).code == 0
    assert levelled("draw", pool, "-k", 3, "--out", "draws.parquet").code == 0


@pytest.fixture
def weighed(tmp_path: Path) -> Path:
    """A folder with one file of weights."""
    folder = tmp_path / "weighed"
    folder.mkdir()
    columns = {
        "id": [1, 2, 3],
        "w": [0.0, 1.0, 2.0],
        "far": [0.0, -2_000.0, -1_000.0],
        "tiny": [1e-310, 2e-310, 3e-310],
    }
    pq.write_table(pa.table(columns), folder / "p.parquet")
    return folder


@pytest.mark.parametrize(
    ("source", "out"),
    [
        ("weighed/p.parquet", "weighed/p.parquet"),
        ("weighed", "weighed/draws.parquet"),
        ("weighed/*.parquet", "weighed/draws.parquet"),
        ("file://{folder}", "weighed/p.parquet"),
    ],
)
def test_draws_are_not_written_into_the_pool(
    levelled: Levelled, weighed: Path, source: str, out: str
) -> None:
    before = (weighed / "p.parquet").read_bytes()
    refused = levelled("draw", source.format(folder=weighed), "-k", 2, "--out", out)
    assert refused.code == 1
    assert refused.err.startswith(f"levelled: --out {out} ")
    assert [one.read_bytes() for one in weighed.iterdir()] == [before]


def test_draws_are_not_written_over_the_result_they_come_from(
    levelled: Levelled, result: Path
) -> None:
    before = result.read_bytes()
    refused = levelled("draw", "--from-result", result, "--out", result)
    assert "one of the files" in refused.err
    assert result.read_bytes() == before


def test_draws_are_written_to_parquet_only(levelled: Levelled, weighed: Path) -> None:
    refused = levelled("draw", weighed, "-k", 2, "--out", "draws.csv")
    assert refused.code == 1
    for words in ("--out", "draws.csv", ".parquet"):
        assert words in refused.err


def test_items_that_are_left_out_are_counted(levelled: Levelled, weighed: Path) -> None:
    words = ("draw", weighed, "--weight", "w", "-k", 2, "--seed", 7, "--allow-zero")
    counts = levelled(*words).err
    assert counts.startswith("2 of 3 items drawn, 1 left out")
    refused = levelled(*words, "--floor", 0.1)
    assert refused.err.startswith("levelled: A floor of 0.1")
    assert levelled(*words, "--floor", 0).err == counts
    refused = levelled(*words[:-1])
    assert "(allow_zero=True, --allow-zero)" in refused.err


@pytest.mark.parametrize("options", [["--weight", "far", "--log"], ["--weight", "tiny"]])
def test_design_columns_are_left_out_if_they_do_not_fit_a_float(
    levelled: Levelled, weighed: Path, options: list[str]
) -> None:
    words = ("draw", weighed, *options, "-k", 2, "--seed", 7, "--out", "draws.parquet")
    drawn = levelled(*words)
    assert drawn.code == 0
    assert drawn.err.startswith("no design columns")
    draws = lv.Draws.from_parquet("draws.parquet")
    assert draws.design is None
    assert levelled(*words, "--no-design").err.startswith("2 of 3 items drawn")
    assert lv.Draws.from_parquet("draws.parquet").index.tolist() == draws.index.tolist()
    assert levelled(*words, "--floor", 0.05).err.startswith("2 of 3 items drawn")
    assert lv.Draws.from_parquet("draws.parquet").design is not None


@pytest.mark.parametrize(
    ("columns", "origin"),
    [
        (
            {"score": [1.0, 2.0], "proba_a": [0.1, 0.2], "proba_b": [0.9, 0.8]},
            "the expected loss, by the columns 'proba_a', 'proba_b'",
        ),
        (
            {"proba_a": [0.1, 0.2], "proba_b": [0.9, 0.8]},
            "the expected loss, by the columns 'proba_a', 'proba_b'",
        ),
        ({"pred": ["a", "b"]}, "all the same, because no column predicts the loss"),
    ],
)
def test_the_columns_that_weights_come_from_are_named(
    levelled: Levelled, tmp_path: Path, columns: dict[str, list[object]], origin: str
) -> None:
    pq.write_table(pa.table({"id": [1, 2], **columns}), tmp_path / "p.parquet")
    drawn = levelled("draw", "p.parquet", "--metric", "error", "-k", 2)
    assert drawn.code == 0, drawn.err
    assert drawn.err.startswith(f"weights: {origin}\n")


def test_an_address_that_needs_a_package_is_refused_in_one_line(levelled: Levelled) -> None:
    pytest.importorskip("fsspec")
    refused = levelled("draw", "smb://host/pool", "-k", 2)
    assert refused.code == 1
    assert refused.err.startswith("levelled: Files at smb://")
    assert "smbprotocol" in refused.err
    assert len(refused.err.splitlines()) == 1
