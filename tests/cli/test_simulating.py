"""`levelled simulate`, as a user types it."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.terminal import Levelled

SIMULATE = ["simulate", "--pool", "labelled.parquet", "--label", "y", "--repetitions", "3"]


@pytest.fixture(autouse=True)
def pool(items: dict[str, list[Any]], truth: dict[str, str], tmp_path: Path) -> None:
    labels = [truth[name] for name in items["id"]]
    pq.write_table(pa.table({**items, "y": labels}), tmp_path / "labelled.parquet")


def test_simulate_prints_a_row_for_each_method_and_budget(levelled: Levelled) -> None:
    result = levelled(*SIMULATE, "--budgets", "20,50", "--format", "json")
    rows = json.loads(result.out)
    assert result.code == 0
    assert len(rows) == 12
    wanted = "method budget label_factor label_factor_se width_factor bias_z coverage"
    assert {*wanted.split()} <= {*rows[0]}
    assert "400 items, error" in result.err


def test_simulate_takes_a_ratio(levelled: Levelled) -> None:
    words = ["--metric", "f1:spam", "--methods", "all", "--budgets", "50", "--format", "json"]
    result = levelled(*SIMULATE, *words)
    assert result.code == 0
    rows = json.loads(result.out)
    assert [row["method"] for row in rows] == [
        "uniform",
        "static",
        "adaptive",
        "active-testing",
        "ppi",
        "with-replacement",
    ]
    assert "400 items, f1:spam 0." in result.err
    assert "left out" not in result.err


def test_simulate_prints_a_table_and_draws_a_plot(levelled: Levelled, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    words = [*SIMULATE, "--budgets", "30", "--methods", "static,ppi", "--out", "plot.png"]
    result = levelled(*words, "--format", "table")
    assert "width factor" in result.out
    assert "uniform" not in result.out
    assert (tmp_path / "plot.png").stat().st_size > 10_000


def test_simulate_gives_the_same_rows_on_a_cluster(levelled: Levelled) -> None:
    pytest.importorskip("distributed")
    words = [*SIMULATE, "--budgets", "30", "--methods", "static", "--format", "json"]
    here, there = levelled(*words), levelled(*words, "--backend", "dask", "--workers", "2")
    assert there.code == 0
    assert there == here  # the messages too: Dask prints nothing


def test_simulate_says_which_methods_lack_columns(levelled: Levelled, tmp_path: Path) -> None:
    table = pa.table({"id": range(50), "pred": ["a"] * 50, "y": ["a", "b"] * 25})
    pq.write_table(table, tmp_path / "labelled.parquet")
    result = levelled(*SIMULATE, "--budgets", "20", "--format", "jsonl")
    assert "adaptive, active-testing, ppi" in result.err
    assert [json.loads(line)["method"] for line in result.out.splitlines()] == [
        "uniform",
        "static",
        "with-replacement",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--budgets", "many"], "'many'"),
        (["--budgets", "400"], "leaves nothing to estimate"),
        (["--methods", "static,magic"], "'magic'"),
        (["--metric", "f1:spma"], "spma"),
        (["--out", "nowhere/plot.png"], "folder that exists"),
        (["--out", "plot.txt"], ".png"),
        (["--backend", "spark"], "'spark'"),
        (["--address", "127.0.0.1:8786"], "dask or ray"),
    ],
)
def test_bad_options_are_refused_before_the_work(
    levelled: Levelled, words: list[str], message: str
) -> None:
    result = levelled(*SIMULATE, *words)
    assert result.code != 0
    assert message in result.err
    assert result.out == ""
