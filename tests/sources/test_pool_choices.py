"""Columns that the user names."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from levelled.errors import PoolError
from levelled.sources import ColumnChoices, open_pool
from sources.samples import Columns, write

TRACES: Columns = {
    "trace_id": ["a", "b", "c"],
    "input": ["1?", "2?", "3?"],
    "output": ["1", "2", "4"],
    "verdict": ["good", "good", "bad"],
    "stars": [5, 4, 1],
    "reason": ["right", "right", "wrong"],
}


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_columns_of_any_name_make_a_pool(ending: str, tmp_path: Path) -> None:
    path = write(tmp_path / f"traces{ending}", TRACES)
    pool = open_pool(
        path,
        id_column="trace_id",
        judge_columns=["verdict", "stars"],
        hide=["reason"],
    )
    assert pool.ids([0, 2]) == ["a", "c"]
    assert pool.models == ("verdict", "stars")
    assert pool.predictions("verdict").of([0, 2]) == ["good", "bad"]
    assert pool.predictions("stars").of([0, 2]) == [5, 1]
    assert pool.shown([2]) == [{"input": "3?", "output": "4"}]
    assert open_pool(path, **pool.choices.to_json()).shown([2]) == pool.shown([2])


def test_exactly_the_named_columns_are_shown_in_their_order() -> None:
    pool = open_pool(pa.table(TRACES), id_column="trace_id", show="output,input")
    assert [*pool.shown([0])[0]] == ["output", "input"]


def test_a_named_column_replaces_predictions_that_their_names_tell() -> None:
    table = pa.table({"id": [1, 2], "pred@old": ["a", "b"], "pred": ["x", "y"], "v2": ["a", "a"]})
    judged = open_pool(table, judge_columns=["v2"])
    assert judged.models == ("", "v2")
    assert judged.shown([0]) == [{}]
    assert open_pool(table, judge_columns=["old"]).predictions("old").of([1]) == ["b"]
    predicted = open_pool(table, pred_column="v2")
    assert (predicted.predictions("").of([1]), predicted.shown([0])) == (["a"], [{}])


WRONG: list[tuple[str, Mapping[str, Any]]] = [
    (r"'verdit'.*judge.*'verdict'", {"judge_columns": ["verdit"]}),
    (r"'x'.*predictions", {"pred_column": "x"}),
    (r"'x'.*show", {"show": ["x"]}),
    (r"'x'.*hide", {"hide": ["x"]}),
    ("of the two", {"show": ["input"], "hide": ["output"]}),
    (
        "'verdict'.*judge",
        {"judge_columns": ["verdict"], "pred_column": "verdict"},
    ),
    ("'trace_id'.*id and judge", {"judge_columns": ["trace_id"]}),
    ("reader 'x'", {"reader": "x"}),
]


@pytest.mark.parametrize(("words", "options"), WRONG, ids=[words for words, _ in WRONG])
def test_a_choice_that_cannot_be_is_refused(
    words: str, options: Mapping[str, Any], tmp_path: Path
) -> None:
    path = write(tmp_path / "traces.csv", TRACES)
    with pytest.raises(PoolError, match=words):
        open_pool(path, id_column="trace_id", **options)


def test_choices_that_were_written_come_back() -> None:
    choices = ColumnChoices("trace_id", "p", ("a", "b"), ("x",), (), "plain")
    plain = {
        key: [*one] if isinstance(one, tuple) else one for key, one in choices.to_json().items()
    }
    assert ColumnChoices.from_json(plain) == choices
    assert ColumnChoices.from_json({}) == ColumnChoices()
    with pytest.raises(PoolError, match=r"newer.*'colour'"):
        ColumnChoices.from_json({"colour": 1})


def test_a_raw_column_of_ids_reads_the_file_of_a_tool_as_it_is(tmp_path: Path) -> None:
    rows = {"trace_id": ["a", "b"], "trace": ["{}", "{}"], "verdict": ["yes", "no"]}
    path = write(tmp_path / "traces.csv", rows)
    assert open_pool(path).recognised.reader == "mlflow"
    pool = open_pool(path, id_column="trace_id", judge_columns=["verdict"])
    assert (pool.recognised.reader, pool.ids([0])) == ("plain", ["a"])
