"""Pools and answers in workbooks, European CSV and packed files come back as they were."""

import csv
import gzip
import io
import zipfile
from collections.abc import Callable
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pytest

from levelled.errors import MissingExtraError, PoolError
from levelled.sources import AnswerRow, open_pool, read_answers
from sources.samples import Columns, rows_of, write

openpyxl = pytest.importorskip("openpyxl")

HARD = (
    *("=1+1", "-3", "-3.5", "+1.5", "-3e4", "@SUM(A1)", "+49 30", "'quoted'", "'=1", "''-x", "'"),
    *(
        'He said "hi", then; left|',
        "two\nlines",
        "two\n\nlines\n ",
        "a,b;c\td|e",
        " blanks ",
        "007",
    ),
    *(
        "👩‍🚒 🏴󠁧󠁢󠁥󠁮󠁧󠁿 é",
        "größer ﷽",
        "\xa0non-breaking\u3000",
        "NA",
        "null",
        "1,5",
        "3.14",
        "true",
        "{",
        "[1]",
    ),
)
N = 200
TEXTS = [f"{HARD[n % len(HARD)]}" if n < 5 * len(HARD) else f"text {n}" for n in range(N)]
NUMBERS = [round(-3 + n / 7, 3) for n in range(N)]
LABELS = [["ham", "spam", "=ham", "-1"][n % 4] for n in range(N)]
COLUMNS: dict[str, list[Any]] = {
    "id": [f"{n}-{TEXTS[n]}" for n in range(N)],
    "pred": LABELS,
    "f_x": NUMBERS,
    "text": TEXTS,
}


def workbook(columns: Columns) -> bytes:
    book = openpyxl.Workbook()
    book.active.append([*columns])
    for number, row in enumerate(rows_of(columns), start=2):
        for at, value in enumerate(row.values(), start=1):
            cell = book.active.cell(number, at, value)
            if isinstance(value, str):
                cell.data_type = "s"  # text, also where it looks like a formula
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def table(columns: Columns, delimiter: str, point: str = ".") -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter)
    writer.writerow(columns)
    for row in rows_of(columns):
        values = row.values()
        writer.writerow([str(v).replace(".", point) if isinstance(v, float) else v for v in values])
    return out.getvalue().encode()


def zipped(*contents: bytes, mac: bool = False) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        if mac:
            archive.writestr("__MACOSX/._0.csv", b"\0\5\26\7")
        for at, content in enumerate(contents):
            archive.writestr(f"{at}.csv", content)
    return out.getvalue()


WAYS: dict[str, Callable[[Columns], bytes]] = {
    "pool.xlsx": workbook,
    "pool": workbook,
    "european.csv": lambda columns: table(columns, ";", ","),
    "tabs.txt": lambda columns: table(columns, "\t", ",").decode().encode("utf-16"),
    "pipes.csv": lambda columns: b"\xef\xbb\xbf" + table(columns, "|"),
    "pool.csv.gz": lambda columns: gzip.compress(table(columns, ";", ",")),
    "tabs.tsv.gz": lambda columns: gzip.compress(table(columns, "\t")),
    "packed": lambda columns: gzip.compress(table(columns, ",")),
    "pool.zip": lambda columns: zipped(table(columns, ",")),
    "mac.csv.zip": lambda columns: zipped(table(columns, ","), mac=True),
}


@pytest.mark.parametrize("name", WAYS)
def test_every_field_of_a_pool_is_as_it_was(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(WAYS[name](COLUMNS))
    pool = open_pool(path, features=["f_x"])
    rows = range(N)
    assert pool.ids(rows) == COLUMNS["id"]
    assert pool.predictions().of(rows) == LABELS
    assert pool.predictions().features[:, 0].tolist() == NUMBERS  # type: ignore[index]
    assert pool.shown(rows) == [{"text": text} for text in TEXTS]
    assert open_pool(path).fingerprint == pool.fingerprint


@pytest.mark.parametrize("name", WAYS)
def test_every_answer_is_as_it_was(name: str, tmp_path: Path) -> None:
    columns: Columns = {"id": COLUMNS["id"], " Label ": LABELS, "NOTE": TEXTS, "x": NUMBERS}
    path = tmp_path / name
    path.write_bytes(WAYS[name](columns))
    found = read_answers(path, remarks=["note"])
    assert [row.row for row in found] == [*range(1, N + 1)]
    assert [row.id for row in found] == COLUMNS["id"]
    assert [row.label for row in found] == LABELS
    guarded = {"'=1": "=1", "''-x": "'-x"}  # as a sheet would have =1 and '-x
    assert [row.remarks["note"] for row in found] == [guarded.get(text, text) for text in TEXTS]
    numbers = read_answers(path, label_column="X")
    assert [row.label for row in numbers] == NUMBERS


@pytest.mark.parametrize("name", WAYS)
def test_a_wrong_row_is_named(name: str, tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {"id": COLUMNS["id"], "label": LABELS, "draw": ["1"] * N}
    columns["draw"][150] = "first"
    path = tmp_path / name
    path.write_bytes(WAYS[name](columns))
    with pytest.raises(PoolError, match=r"Row 151\b.*first"):
        read_answers(path)


def test_cells_of_a_workbook_have_plain_values(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    rows: list[list[Any]] = [
        ["id", "pred", "day", "at", "whole", "empty", "line"],
        [1.0, 0.5, date(2024, 3, 1), datetime(2024, 3, 1, 7, 30), 3.0, None, "a_x000D_b"],
        [],
        [2, -1, datetime(2024, 3, 2), time(7, 30), 4, "", "c"],
    ]
    for row in rows:
        book.active.append(row)
    book.create_sheet("second").append(["not", "read"])
    book.save(tmp_path / "pool.xlsx")
    pool = open_pool(tmp_path / "pool.xlsx")
    assert pool.ids([0, 1]) == [1, 2]
    assert pool.predictions().of([0, 1]) == [0.5, -1.0]
    assert pool.shown([0, 1]) == [
        {
            "day": "2024-03-01",
            "at": "2024-03-01T07:30:00",
            "whole": 3,
            "empty": None,
            "line": "a\rb",
        },
        {"day": "2024-03-02", "at": "07:30:00", "whole": 4, "empty": None, "line": "c"},
    ]


def computed(value: str) -> bytes:
    """A workbook with a formula, and the value that a spreadsheet computed for it."""
    book = openpyxl.Workbook()
    for row in (["id", "label"], [1, "=1+1"]):
        book.active.append(row)
    out, with_value = io.BytesIO(), io.BytesIO()
    book.save(out)
    with zipfile.ZipFile(out) as old, zipfile.ZipFile(with_value, "w") as new:
        for one in old.infolist():
            content = old.read(one)
            if one.filename == "xl/worksheets/sheet1.xml":
                content = content.replace(b"<v></v>", value.encode()).replace(
                    b"<v />", value.encode()
                )
            new.writestr(one, content)
    return with_value.getvalue()


def test_a_formula_is_its_value_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "done.xlsx"
    path.write_bytes(computed("<v>2</v>"))
    assert read_answers(path) == [AnswerRow(1, None, 1, 2)]
    assert read_answers(io.BytesIO(path.read_bytes())) == [AnswerRow(1, None, 1, 2)]
    path.write_bytes(computed("<v></v>"))
    with pytest.raises(PoolError, match=r"B2\b.*formula.*save"):
        read_answers(path)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([["id", None], [1, "x"]], r"Row 2\b.*'x'.*name"),
        ([["id"], [1], [2, "y"]], r"Row 3\b.*'y'.*name"),
        ([["id", "a", "a"], [1, 2, 3]], r"two columns"),
        ([], "as xlsx"),
    ],
)
def test_a_sheet_that_is_no_table_is_refused(
    rows: list[list[Any]], words: str, tmp_path: Path
) -> None:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(tmp_path / "pool.xlsx")
    with pytest.raises(PoolError, match=words):
        open_pool(tmp_path / "pool.xlsx")


def test_a_workbook_without_openpyxl_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pool.xlsx").write_bytes(workbook({"id": ["only here"]}))
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"levelled\[xlsx\]"):
        open_pool(tmp_path / "pool.xlsx")


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("pool.csv.gz", gzip.compress),
        ("pool.zip", zipped),
        ("pool.xlsx", lambda data: workbook({"id": [data.decode()[:30_000]] * 100})),
    ],
)
def test_a_small_file_that_unpacks_to_a_large_one_is_refused(
    name: str, pack: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("levelled.sources.packed._MOST_BYTES", 1 << 16)
    path = tmp_path / name
    path.write_bytes(pack(b"id\n" + b"1\n" * 50_000))
    assert path.stat().st_size < 1 << 16
    for read in (open_pool, read_answers):
        with pytest.raises(PoolError, match=r"pool\..* MB"):
            read(path)


def test_one_file_is_packed_alone(tmp_path: Path) -> None:
    (tmp_path / "two.zip").write_bytes(zipped(b"id\n1\n", b"id\n2\n"))
    for name, content in (("none.zip", zipped()), ("empty.csv.zip", zipped(b""))):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(PoolError, match=rf"{name} holds no file"):
            open_pool(tmp_path / name)
    with pytest.raises(PoolError, match=r"two\.zip holds 2 files"):
        open_pool(tmp_path / "two.zip")


def test_packed_files_of_a_folder_are_one_pool(tmp_path: Path) -> None:
    for n in (0, 1):
        content = table({"id": [n], "pred": ["x"]}, ";")
        (tmp_path / f"{n}.csv.gz").write_bytes(gzip.compress(content))
    assert open_pool(tmp_path).ids([0, 1]) == ["0", "1"]


def test_decimal_commas_are_read_by_column_where_cells_have_none_between(tmp_path: Path) -> None:
    path = tmp_path / "pool.csv"
    path.write_text("id;pred;f_x;version\n1;0,5;1.5;1.2\n2;-1,25;2;1,3\n")
    pool = open_pool(path, features=None)
    assert pool.predictions().of([0, 1]) == [0.5, -1.25]
    assert pool.predictions().features.tolist() == [[1.5], [2.0]]  # type: ignore[union-attr]
    assert pool.shown([0, 1]) == [{"version": "1.2"}, {"version": "1,3"}]
    path.write_text('id,pred\n1,"0,5"\n2,"1,5"\n')
    assert open_pool(path).predictions().of([0, 1]) == ["0,5", "1,5"]
    path.write_text("id;f_x\n1;0,5\n2;1.000,5\n")
    with pytest.raises(PoolError, match="'f_x'"):
        open_pool(path, features=["f_x"])


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
def test_a_file_without_an_ending_is_known_by_its_content(ending: str, tmp_path: Path) -> None:
    columns = {"id": ["a", "b"], "pred": ["x", "y"], "label": ["x", "x"]}
    plain = tmp_path / "pool"
    plain.write_bytes(write(tmp_path / f"pool{ending}", columns).read_bytes())
    assert open_pool(plain).predictions().of([0, 1]) == ["x", "y"]
    assert [row.label for row in read_answers(plain)] == ["x", "x"]
