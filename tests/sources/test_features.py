from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from levelled.errors import PoolError
from levelled.sources.features import feature_columns, gaps_in, read_features, read_numbers
from sources.samples import Columns, write

PATIENTS: Columns = {
    "id": ["a", "b", "c"],
    "age": [40, 50, 60],
    "dose": [0.5, None, 1.5],
    "city": ["Ulm", "Bonn", "Jena"],
    "label": [1, 0, 1],
}
NUMBER, TEXT, LIST = pa.float64(), pa.string(), pa.list_(pa.float64())


def schema(**kinds: pa.DataType) -> pa.Schema:
    return pa.schema([("id", TEXT), *kinds.items()])


@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv", "jsonl"])
def test_all_numbers_without_another_meaning_are_features(tmp_path: Path, ending: str) -> None:
    found = read_features(write(tmp_path / f"pool.{ending}", PATIENTS))
    assert found.columns == ("age", "dose")
    np.testing.assert_array_equal(found.X, [[40, 0.5], [50, np.nan], [60, 1.5]])
    assert found.rows_of(["c", "a"]).tolist() == [2, 0]
    assert len(found) == 3


def test_files_follow_each_other(tmp_path: Path) -> None:
    for name, ids in (("x", ["a", "b"]), ("y", ["c"])):
        write(tmp_path / f"{name}.parquet", {"id": ids, "age": [len(name + one) for one in ids]})
    found = read_features(tmp_path)
    assert found.ids.to_pylist() == ["a", "b", "c"]


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_an_embedding_is_several_features(tmp_path: Path, ending: str) -> None:
    columns: Columns = {"id": [1, 2], "embedding": [[1.0, 2.0], [3.0, 4.0]], "age": [7, 8]}
    path = write(tmp_path / f"pool.{ending}", columns)
    np.testing.assert_array_equal(read_features(path).X, [[1, 2], [3, 4]])
    both = read_features(path, ["age", "emb*"])
    assert both.columns == ("embedding", "age")
    np.testing.assert_array_equal(both.X, [[1, 2, 7], [3, 4, 8]])


def test_columns_that_are_named_features_come_before_other_numbers() -> None:
    given = schema(f_a=NUMBER, price=NUMBER, f_b=NUMBER, text=TEXT)
    assert feature_columns(given) == ("f_a", "f_b")


def test_what_other_models_say_is_a_feature_only_if_asked_for() -> None:
    given = schema(age=NUMBER, score=NUMBER, proba_ham=NUMBER, pred=NUMBER)
    assert feature_columns(given) == ("age",)
    assert feature_columns(given, ["score", "proba_*"]) == ("score", "proba_ham")


def test_a_pattern_never_takes_in_the_label_or_the_chance_of_the_draw() -> None:
    given = schema(draw=NUMBER, row=NUMBER, probability=NUMBER, label=NUMBER, age=NUMBER)
    assert feature_columns(given, ["*"]) == ("age",)
    for name in ("label", "probability", "id"):
        with pytest.raises(PoolError, match=f"'{name}' is no feature"):
            feature_columns(given, [name])


@pytest.mark.parametrize(
    ("given", "wanted", "told"),
    [
        (schema(text=TEXT), [], r"no column.*numbers"),
        (schema(text=TEXT), ["text"], "holds string"),
        (schema(f_a=NUMBER, f_b=TEXT), [], r"'f_b'.*string"),
        (schema(age=NUMBER), ["f_*"], "'f_\\*'"),
        (schema(label=NUMBER), ["lab*"], "'lab\\*'"),
        (pa.schema([("a", NUMBER), ("a", NUMBER)]), [], "two columns"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(
    given: pa.Schema, wanted: list[str], told: str
) -> None:
    with pytest.raises(PoolError, match=told):
        feature_columns(given, wanted)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"age": [1, 2, 3], "dose": [0.5, 1.5, 2.5]}, []),
        (
            {"age": [1, 2, 3], "dose": [0.5, None, float("inf")]},
            ["'dose'", "2 of 3", "row 1"],
        ),
        (
            {"age": [1, 2, 3], "embedding": [[1.0, 2.0], [1.0, float("nan")], [1.0, 2.0]]},
            ["'age', 'embedding'", "1 of 3", "row 1"],
        ),
        (
            {name: [None, 1.0, 2.0] for name in "abcd"},
            ["'a', 'b', 'c', ...", "1 of 3", "row 0"],
        ),
    ],
)
def test_gaps_are_told_by_column_and_row(tmp_path: Path, columns: Columns, told: list[str]) -> None:
    gaps = gaps_in(write(tmp_path / "pool.parquet", columns), [*columns])
    assert [words for words in told if words not in gaps] == []
    assert bool(gaps) == bool(told)


def test_lists_of_different_lengths_are_refused(tmp_path: Path) -> None:
    columns: Columns = {"id": ["a", "b"], "embedding": [[1.0, 2.0], [3.0]]}
    with pytest.raises(PoolError, match=r"'b'.* 1 .*'embedding'"):
        read_features(write(tmp_path / "pool.parquet", columns))


def test_an_item_without_an_embedding_is_refused(tmp_path: Path) -> None:
    columns: Columns = {"id": ["a", "b"], "embedding": [[1.0, 2.0], None]}
    with pytest.raises(PoolError, match="Item 'b' has 0 numbers"):
        read_features(write(tmp_path / "pool.jsonl", columns))


def test_a_file_without_ids_is_refused_unless_only_numbers_are_wanted(tmp_path: Path) -> None:
    path = write(tmp_path / "pool.csv", {"age": [1, 2], "dose": [3, 4]})
    with pytest.raises(PoolError, match="no column 'id'"):
        read_features(path)
    np.testing.assert_array_equal(read_numbers(path, ["dose", "age"]), [[3, 1], [4, 2]])
    with pytest.raises(PoolError, match="no column 'weight'"):
        read_numbers(path, ["weight"])
