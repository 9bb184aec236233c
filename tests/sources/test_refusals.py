"""Whatever is wrong with a pool is said in one line that tells what to do."""

import gzip
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from levelled.errors import InputError, LevelledError, PoolError
from levelled.sources import open_pool
from sources.samples import Columns, write

OK = {"id": ["a", "b"], "pred": ["x", "y"]}
ESCAPE = "\x1b[31m"


def refused(given: Any, **options: Any) -> str:  # noqa: ANN401
    with pytest.raises(PoolError) as caught:
        open_pool(given, **options)
    told = str(caught.value)
    assert "\n" not in told
    assert ESCAPE not in told
    assert len(told) < 600
    assert told.endswith((".", "..."))
    return told


def frame(**columns: Any) -> pa.Table:  # noqa: ANN401
    return pa.table({"id": ["a", "b"], **columns})


def test_a_pool_error_is_an_input_error() -> None:
    assert issubclass(PoolError, InputError)
    assert issubclass(PoolError, LevelledError)
    assert issubclass(PoolError, ValueError)


FRAMES: list[tuple[str, Mapping[str, Any], dict[str, Any]]] = [
    (r"'pred'.*perhaps 'ID'", {"ID": [1], "pred": [1]}, {}),
    ("no column 'key'", {"id": [1]}, {"id_column": "key"}),
    (r"single|empty", {"id": pa.array([], pa.int64())}, {}),
    (r"Row 1 .*no id", {"id": ["a", None]}, {}),
    (r"Row 1 .*no id", {"id": ["a", ""]}, {}),
    (r"Row 0 .*no id", {"id": pa.nulls(2)}, {}),
    (r"whole numbers.*double", {"id": [1.0, 2.5]}, {}),
    (r"whole numbers.*list", {"id": [[1], [2]]}, {}),
    ("beyond 63 bits", {"id": pa.array([2**63], pa.uint64())}, {}),
    (r"'b'.*row 1.*row 3", {"id": ["a", "b", "c", "b"]}, {}),
    (r"-5 .*row 0.*row 2", {"id": [-5, 3, -5]}, {}),
    (r"no prediction.*'pred'", {"id": ["a", "b"], "pred": ["x", None]}, {}),
    (r"Item 'b'.*prediction", {"id": ["a", "b"], "pred": [1.0, float("nan")]}, {}),
    ("numbers, not list", {"id": ["a"], "pred": [["x"]]}, {}),
    ("'pred' and 'y_pred'", {"id": ["a"], "pred": [1], "y_pred": [1]}, {}),
    ("after the @", {"id": ["a"], "pred@": [1]}, {}),
    (r"'city'.*slice.*'id'", {"id": ["a"]}, {"slices": ["city"]}),
    (r"'Sex'.*perhaps 'sex'", {"id": ["a"], "sex": ["f"]}, {"slices": "Sex"}),
    (r"'by'.*text", {"id": ["a"], "by": [{"x": 1}]}, {"slices": "by"}),
    ("two different", {"id": ["a"]}, {"classes": ["x"]}),
    ("two different", {"id": ["a"]}, {"classes": ["x", "y", "x"]}),
]


@pytest.mark.parametrize(
    ("words", "columns", "options"), FRAMES, ids=[words for words, *_ in FRAMES]
)
def test_a_frame_that_cannot_be_used_is_refused(
    words: str, columns: Mapping[str, Any], options: dict[str, Any]
) -> None:
    assert re.search(words, refused(pa.table(dict(columns)), **options))


SCORE = {"roles": {"score": "score"}}
PROBABILITIES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("Item 'b' .*sum to 0.9", {"proba_x": [0.5, 0.5], "proba_y": [0.5, 0.4]}, {}),
    ("Item 'b' .*sum to 1.0021", {"proba_x": [0.5, 0.5021], "proba_y": [0.5, 0.5]}, {}),
    (
        r"Item 'b' .*outside \[0, 1\]: 1.5, -0.5",
        {"proba_x": [0.5, 1.5], "proba_y": [0.5, -0.5]},
        {},
    ),
    (r"Item 'a'.*'proba_y'.*missing", {"proba_x": [1.0, 1], "proba_y": [None, 0.0]}, {}),
    (r"Item 'b' .*NaN", {"proba_x": [1.0, np.nan], "proba_y": [0.0, 0.0]}, {}),
    ("Item 'b' .*but inf", {"proba_x": [1.0, np.inf], "proba_y": [0.0, 0.0]}, {}),
    (
        r"'proba_y'.*string",
        {"proba_x": [1, 1], "proba_y": ["0", "0"]},
        {},
    ),
    (
        r"'proba_y'.*bool",
        {"proba_x": [1, 1], "proba_y": [True, False]},
        {},
    ),
    (r"only one.*prob", {"proba_x": [1.0, 1.0]}, {}),
    ("names no class", {"proba_": [1.0, 1.0], "proba_x": [0.0, 0.0]}, {}),
    ("class 'z' has none", {"proba_x": [1, 1], "proba_y": [0, 0]}, {"classes": ["x", "z"]}),
    (
        "'y' is no class",
        {"proba_x": [1, 1], "proba_y": [0, 0], "proba_z": [0, 0]},
        {"classes": ["x", "z"]},
    ),
    (
        r"'b' .*'z' .*'x', 'y'",
        {"proba_x": [1, 1], "proba_y": [0, 0], "pred": ["x", "z"]},
        {},
    ),
    ("classes 'x', 'y'", {"pred": ["x", "z"]}, {"classes": "x,y"}),
    (r"'proba'.*all classes", {"proba": [[0.5, 0.5]] * 2}, {}),
    ("Item 'b' has 1 prob", {"proba": [[0.5, 0.5], [1.0]]}, {"classes": ["x", "y"]}),
    ("Item 'a' has 0 prob", {"proba": [None, [0.5, 0.5]]}, {"classes": ["x", "y"]}),
    (r"Item 'b' .*NaN", {"proba": [[0.5, 0.5], [1.0, None]]}, {"classes": ["x", "y"]}),
    ("Item 'b' .*sum to 1.2", {"proba": [[0.5, 0.5], [0.4, 0.8]]}, {"classes": ["x", "y"]}),
    (r"two.*not for 3", {"proba": [0.5, 0.5]}, {"classes": ["x", "y", "z"]}),
    ("Item 'b' .*outside", {"proba": [0.5, 1.2]}, {"classes": ["x", "y"]}),
    ("both hold probabilities", {"proba": [[1.0]] * 2, "proba_x": [1, 1]}, {}),
    ("both hold probabilities", {"proba": [0.5] * 2, "prediction_proba": [0.5] * 2}, {}),
    (
        "'proba@v' and another",
        {"proba@v_x": [1, 1], "proba@v": [0.5, 0.5], "pred@v": ["x", "x"]},
        {"classes": "x,y"},
    ),
    (
        "class 'y' has none",
        {"proba_x": [1, 1], "proba_y": [0, 0], "surrogate_x": [1, 1]},
        {},
    ),
    (
        r"'q' is no|'x' has",
        {"proba_x": [1, 1], "proba_y": [0, 0], "proba@v_p": [1, 1], "proba@v_q": [0, 0]},
        {},
    ),
    (r"surrogate_x, surrogate_y.* 2", {"surrogate_x": [1, 1], "surrogate_y": [0, 1]}, {}),
    (r"'b'.* -1;.*at least 0", {"score": [0, -1]}, SCORE),
    ("Item 'b' .*'score'", {"score": [0, None]}, SCORE),
    (r"'score'.*numbers", {"score": ["high", "low"]}, SCORE),
    ("Item 'a' .*'loss_hat'", {"loss_hat": [np.nan, 0]}, {}),
]


@pytest.mark.parametrize(
    ("words", "columns", "options"), PROBABILITIES, ids=[words for words, *_ in PROBABILITIES]
)
def test_numbers_that_cannot_be_used_are_refused(
    words: str, columns: dict[str, Any], options: dict[str, Any]
) -> None:
    assert re.search(words, refused(frame(**columns), **options))


@pytest.mark.parametrize(
    "given", [17, None, {"id": [1]}, [1, 2], [{"id": 1}], np.zeros(3), object()]
)
def test_what_is_no_pool_at_all_is_refused(given: object) -> None:
    assert "A pool is a path" in refused(given)


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["id", "id"])
    assert "two columns 'id'" in refused(table)
    path = tmp_path / "pool.csv"
    path.write_text("id,x,x\n1,2,3\n")
    assert "two columns 'x'" in refused(path)


def test_a_frame_that_breaks_is_refused() -> None:
    class Broken:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise ValueError("the connection\nwas closed")

    assert "the connection" in refused(Broken())


FILES: list[tuple[str, str, bytes]] = [
    ("pool.txt", "no column 'id'", b"name\n1\n"),
    ("pool", "no column 'id'", b"name\n1\n"),
    ("pool.csv.gz", r"pool\.csv\.gz.*ended", gzip.compress(b"id\n1\n")[:-9]),
    ("pool.xlsx", "zip", b"PK\x03\x04 and nothing more"),
    ("pool.xls", "as xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600),
    ("pool.json", "empty list", b"[]"),
    ("pool.xyz", "empty list", b"[]"),
    ("pool.parquet", "as parquet", b"not parquet at all"),
    ("pool.parquet", "as parquet", b""),
    ("pool.parquet", "as parquet", b"PAR1" + b"\0" * 50 + b"PAR1"),
    ("pool.csv", "as csv", b""),
    ("pool.csv", "pool is empty", b"id,pred\n"),
    ("pool.csv", "Expected 2 columns, got 3", b"id,pred\n1,a\n2,b,c\n"),
    ("pool.csv", r"'pred'.*UTF-8.*\.xlsx", b"id,pred\n1,\xff\xfe\n"),
    ("pool.csv", "utf-8", "id,größe\n1,2\n".encode("latin-1")),
    ("pool.csv", "as csv", b"id,pred\n1,a\n2," + ESCAPE.encode() + b"b,c\n"),
    ("pool.csv", "invalid value 'high'", b"id,loss_hat\n1,0.5\n2,high\n"),
    ("pool.csv", "invalid value 'NA'", b"id,loss_hat\n1,NA\n"),
    ("pool.csv", "Item '2' .*missing", b"id,loss_hat\n1,0.5\n2,\n"),
    ("pool.csv", "Item '1' .*NaN", b"id,loss_hat\n1,nan\n"),
    ("pool.csv", r"Row 1 .*no id", b"id,pred\n1,a\n,b\n"),
    ("pool.csv", r"'1'.*row 0.*row 1", b"id,pred\n1,a\n1,b\n"),
    ("pool.csv", r"Item '2'.*prediction", b"id,pred\n1,a\n2,\n"),
    ("pool.csv", r"'id'.*ids.*'name'", b"name\n1\n"),
    ("pool.tsv", r"'id'.*ids.*'id,pred'", b"id,pred\n1,a\n"),
    ("pool.jsonl", r"Line 2.*pool.jsonl.*JSON", b'{"id": 1}\n{"id": \n'),
    ("pool.jsonl", r"Line 1.*pool.jsonl.*object", b"[1, 2]\n"),
    ("pool.jsonl", r"Line 1.*pool.jsonl.*JSON", b"[" * 100_000 + b"\n"),
    ("pool.jsonl", "is not JSON", b'{"id": "\xff"}\n'),
    ("pool.jsonl", "is not JSON", b'{"id": ' + b"1" * 5000 + b"}\n"),
    ("pool.jsonl", "no column 'id'", b""),
    ("pool.jsonl", r"Row 1 .*no id", b'{"id": 1}\n{"pred": "a"}\n'),
    ("pool.jsonl", r"'loss_hat'.*pool.jsonl.*numbers", b'{"id": 1, "loss_hat": "high"}\n'),
    ("pool.jsonl", r"Item 1.*prediction", b'{"id": 1, "pred": null}\n'),
    ("pool.jsonl", "Item 1 .*NaN", b'{"id": 1, "loss_hat": NaN}\n'),
    ("pool.jsonl", "whole numbers", b'{"id": true}\n'),
    ("pool.jsonl", "whole numbers", b'{"id": {"a": 1}}\n'),
    ("pool.jsonl", "struct", b'{"id": 1, "pred": {"a": 1}}\n'),
    ("pool.jsonl", r"'1'.*row 0.*again", b'{"id": 1}\n{"id": "1"}\n'),
]


@pytest.mark.parametrize(
    ("name", "words", "content"), FILES, ids=[f"{name}: {words}" for name, words, _ in FILES]
)
def test_a_file_that_cannot_be_used_is_refused(
    name: str, words: str, content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert re.search(words, refused(path))


PLACES: list[tuple[str, Callable[[Path], Any]]] = [
    ("There is no file", lambda folder: folder / "none.parquet"),
    ("No file matches", lambda folder: folder / "none-*.csv"),
    ("holds no file", lambda folder: folder / "empty"),
    ("files is empty", lambda folder: []),
    ("There is no file", lambda folder: [folder / "a.csv", folder / "none.csv"]),
    (
        "a.csv is csv, c.jsonl",
        lambda folder: [folder / "a.csv", folder / "c.jsonl"],
    ),
    ("of one format", lambda folder: folder / "mixed"),
    ("it lacks 'pred'", lambda folder: [folder / "a.csv", folder / "less.csv"]),
    ("it also has 'more'", lambda folder: [folder / "a.csv", folder / "more.csv"]),
    ("in row 0 and again", lambda folder: [folder / "a.csv", folder / "b.csv"]),
    ("There is no file", lambda folder: "a\0b"),
    ("cannot be a file", lambda folder: "x" * 5000),
    ("is no pattern", lambda folder: folder / "a**b.csv"),
    ("text in others", lambda folder: folder / "kinds"),
]


@pytest.mark.parametrize(
    ("words", "given"), PLACES, ids=[f"{n}: {w}" for n, (w, _) in enumerate(PLACES)]
)
def test_paths_that_cannot_be_used_are_refused(
    words: str, given: Callable[[Path], Any], tmp_path: Path
) -> None:
    for folder in ("empty", "mixed", "kinds"):
        (tmp_path / folder).mkdir()
    for name in ("a.csv", "b.csv", "c.jsonl", "mixed/a.csv", "mixed/b.parquet"):
        write(tmp_path / name, OK)
    write(tmp_path / "less.csv", {"id": ["c"]})
    write(tmp_path / "more.csv", {"id": ["c"], "pred": ["x"], "more": [1]})
    write(tmp_path / "kinds/1.parquet", {"id": [1], "pred": ["x"]})
    write(tmp_path / "kinds/2.parquet", {"id": ["1"], "pred": ["x"]})
    assert words in refused(given(tmp_path))


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "pool.csv", OK)
    pool = open_pool(path)
    path.unlink()
    with pytest.raises(PoolError, match=r"pool\.csv.*read"):
        _ = pool.fingerprint
    write(tmp_path / "text.csv", {**OK, "text": ["s", "t"]})
    pool = open_pool(tmp_path / "text.csv")
    write(tmp_path / "text.csv", {"id": ["a"], "pred": ["x"], "text": ["s"]})
    with pytest.raises(PoolError, match="changed"):
        pool.shown([1])
    (tmp_path / "text.csv").unlink()
    with pytest.raises(PoolError, match=r"text\.csv.*read"):
        pool.shown([1])


def test_a_slice_of_too_many_values_is_no_slice() -> None:
    table = pa.table({"id": range(10_001), "by": range(10_001)})
    assert "more than 10000 different values" in refused(table, slices=["by"])


def test_the_first_wrong_item_is_named_wherever_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("levelled.sources.files.LONGEST", 100_000)
    n = 70_000
    first = [0.5] * n
    first[68_000] = 0.7
    columns: Columns = {
        "id": [f"k{row}" for row in range(n)],
        "proba_x": first,
        "proba_y": [0.5] * n,
    }
    for ending in (".parquet", ".csv", ".jsonl"):
        assert "Item 'k68000'" in refused(write(tmp_path / f"pool{ending}", columns))


def test_hostile_text_is_only_text(tmp_path: Path) -> None:
    hostile = [
        "=cmd|' /C calc'!A0",
        "'; DROP TABLE draws;--",
        "<script>x</script>",
        ESCAPE,
        "\u202e",
    ]
    columns = {"id": hostile, "pred": hostile, "text": hostile}
    for ending in (".parquet", ".csv", ".jsonl"):
        pool = open_pool(write(tmp_path / f"pool{ending}", columns))
        assert pool.ids(range(5)) == hostile
        assert pool.predictions().of(range(5)) == hostile
        assert pool.shown(range(5)) == [{"text": text} for text in hostile]
        assert pool.rows_of(hostile).tolist() == [*range(5)]
    assert json.loads(json.dumps(pool.shown([3]))) == [{"text": ESCAPE}]
