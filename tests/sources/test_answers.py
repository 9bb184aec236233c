import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from levelled.errors import PoolError
from levelled.sources import AnswerRow, read_answers, read_result
from levelled.sources.answers import read_cell, safe_cell
from sources.samples import Columns, write

FORMATS = [".parquet", ".csv", ".tsv", ".jsonl"]
GIVEN: Columns = {"draw": [3, 1], "id": ["r7", "r1"], "label": ["spam", None], "data": ["x", "y"]}
READ = [AnswerRow(1, 3, "r7", "spam"), AnswerRow(2, 1, "r1", None)]


@pytest.mark.parametrize("ending", FORMATS)
def test_labels_are_the_same_in_every_format(ending: str, tmp_path: Path) -> None:
    assert read_answers(write(tmp_path / f"done{ending}", GIVEN)) == READ


def test_labels_come_from_frames_and_open_files() -> None:
    assert read_answers(pa.table(dict(GIVEN))) == READ
    text = "draw,label\n3,spam\n1,\n"
    for file in (io.StringIO(text), io.BytesIO(text.encode())):
        assert read_answers(file) == [AnswerRow(1, 3, None, "spam"), AnswerRow(2, 1, None, None)]
    lines = '\n  {"id": 7, "label": true}\n\n{"id": "x", "answer": 2.5, "other": [1]}\n'
    assert read_answers(io.StringIO(lines)) == [
        AnswerRow(1, None, 7, True),
        AnswerRow(2, None, "x", 2.5),
    ]
    assert read_answers(io.StringIO("")) == []


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["1", "0"], [1, 0]),
        (["4.5", "3"], [4.5, 3.0]),
        (["01", "3"], ["01", "3"]),
        (["1", "spam"], ["1", "spam"]),
        (["NA", "null"], ["NA", "null"]),
        (["=1+1", "'; drop"], ["=1+1", "'; drop"]),
    ],
)
def test_in_csv_labels_are_numbers_if_all_are(
    texts: list[str], labels: list[object], tmp_path: Path
) -> None:
    path = write(tmp_path / "done.csv", {"id": ["007", "8"], "label": texts})
    found = read_answers(path)
    assert [answer.label for answer in found] == labels
    assert [answer.id for answer in found] == ["007", "8"]


def test_another_column_may_hold_the_ids(tmp_path: Path) -> None:
    path = write(tmp_path / "done.csv", {"key": ["a"], "label": ["x"]})
    assert read_answers(path, id_column="key") == [AnswerRow(1, None, "a", "x")]


def test_labels_in_jsonl_are_read_without_pyarrow(tmp_path: Path) -> None:
    path = write(tmp_path / "done.jsonl", GIVEN)
    code = (
        "import sys; from levelled.sources import read_answers;"
        f"read_answers({str(path)!r}); print('pyarrow' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


WRONG: list[tuple[str, list[dict[str, Any]]]] = [
    (r"Row 2 .*neither", [{"id": "a", "label": "x"}, {"label": "x"}]),
    (r"'label'.*'id'.*'Verdict'.*--label-column", [{"id": "a", "Verdict": "x"}]),
    ("two columns 'label'", [{"id": "a", "Label": "x", " label": "x"}]),
    (r"draw 0;.*1, 2", [{"draw": 0, "label": "x"}]),
    ("the draw 1.5", [{"draw": 1.5, "label": "x"}]),
    ("the draw True", [{"draw": True, "label": "x"}]),
    ("the draw 'first'", [{"draw": "first", "label": "x"}]),
    (r"ids.*whole numbers", [{"id": 1.5, "label": "x"}]),
    ("label is text", [{"id": "a", "label": ["x"]}]),
]


@pytest.mark.parametrize(("words", "rows"), WRONG, ids=[words for words, _ in WRONG])
def test_rows_that_say_too_little_are_refused(words: str, rows: list[dict[str, Any]]) -> None:
    lines = io.StringIO("\n".join(map(json.dumps, rows)))
    with pytest.raises(PoolError, match=words):
        read_answers(lines)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("done.csv", b"", "as csv"),
        ("done.csv", b"id,label\n1\n", "Expected 2 columns, got 1"),
        ("done.csv", b"id,name\n1,x\n", r"'label'.*'id'.*'name'"),
        ("done.parquet", b"nothing", "as parquet"),
        ("done.jsonl", b"{", r"Line 1.*JSON"),
        ("done.txt", b"", "as csv"),
        ("a.csv", b"id,label\n1,x\n", "are 2 files"),
    ],
)
def test_files_that_cannot_be_read_are_named(
    name: str, content: bytes, words: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    given = tmp_path / name
    if name == "a.csv":
        (tmp_path / "b.csv").write_bytes(content)
        given = tmp_path / "*.csv"
    with pytest.raises(PoolError, match=words):
        read_answers(given)
    with pytest.raises(PoolError, match="no file"):
        read_answers(tmp_path / "none.csv")


def test_rows_may_be_known_by_their_place_alone() -> None:
    text = "label,age\nham,3\nspam,4\n"
    found = read_answers(io.StringIO(text), named=False)
    assert [(one.row, one.draw, one.id, one.label) for one in found] == [
        (1, None, None, "ham"),
        (2, None, None, "spam"),
    ]
    with pytest.raises(PoolError, match=r"Row 1.*neither"):
        read_answers(io.StringIO(text))


@pytest.mark.parametrize(
    "text",
    [
        "draw,label,answer\n1,ham,spam\n",
        "draw,label,answer\n1,,spam\n",
        "draw,label,label\n1,ham,spam\n",
        '{"draw": 1, "label": "ham", "answer": "ham"}',
    ],
)
def test_two_columns_that_may_be_the_label_are_refused(text: str) -> None:
    with pytest.raises(PoolError, match="either"):
        read_answers(io.StringIO(text))


@pytest.mark.parametrize("text", ["1,ham\n2,spam\n", "ham\nspam\n"])
def test_a_file_without_a_header_is_told_to_have_one(text: str) -> None:
    with pytest.raises(PoolError, match=r"CSV.*columns"):
        read_answers(io.StringIO(text))


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_remarks_are_read_where_they_are_wanted(tmp_path: Path, ending: str) -> None:
    columns: dict[str, list[Any]] = {"draw": [1, 2], "label": ["a", "b"], "text": ["x", "y"]}
    columns["note"] = ["odd", None]
    path = write(tmp_path / f"done{ending}", columns)
    assert [row.remarks for row in read_answers(path, remarks=["note"])] == [{"note": "odd"}, {}]
    assert [row.remarks for row in read_answers(path)] == [{}, {}]


@pytest.mark.parametrize("text", ["=1+1", "+49 30", "-x", "@SUM(A1)", "\tx", "'=1", "''-3"])
def test_text_like_a_formula_gets_an_apostrophe_that_is_taken_away_again(text: str) -> None:
    assert safe_cell(text) == f"'{text}".replace("\r", "\\r")
    assert read_cell(safe_cell(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ham",
        "a=b",
        "'tis",
        "3",
        "-3",
        "+1.5",
        "-3e4",
        "-3,5",
        "größer",
        "👩‍🚒",
        "\xa0\u3000",
        "two\r\nlines",
    ],
)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert safe_cell(text) == text
    assert read_cell(text) == text


def test_a_terminal_is_not_told_anything() -> None:
    assert safe_cell("\x1b]0;title\x07\x9b31m\u202e") == "\\x1b]0;title\\x07\\x9b31m\\u202e"


def test_ids_of_csv_are_numbers_only_if_they_are_written_so(tmp_path: Path) -> None:
    for ids, expected in [
        (["12", "-3", "0"], [12, -3, 0]),
        (["12", "007"], ["12", "007"]),
        (["1.0", "2"], ["1.0", "2"]),
        (["12345678901234567890"], ["12345678901234567890"]),
    ]:
        path = tmp_path / "result.csv"
        path.write_text("id,seed\n" + "".join(f"{one},07\n" for one in ids))
        table = read_result(path)
        assert table["id"].to_pylist() == expected
        assert table["seed"].to_pylist()[0] == "07"


def test_files_that_are_no_result_are_refused(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("id\n1\n")
    with pytest.raises(PoolError, match="are 2 files"):
        read_result(tmp_path)
    (tmp_path / "text.parquet").write_text("hello")
    with pytest.raises(PoolError, match="as parquet"):
        read_result(tmp_path / "text.parquet")
