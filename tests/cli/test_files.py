"""Sheets that go out and come back, other names of columns, percentages, and files of reports."""

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.terminal import Levelled
from sources.samples import Columns, rows_of, write
from sources.test_packed import HARD, table, workbook

N = 200
SAID = ("--classes", "ham,spam", "--role", "Label=shown")
TEXTS = [f"{HARD[n % len(HARD)]} {n}" for n in range(N)]
POOL: dict[str, list[Any]] = {
    "id": [f"{TEXTS[n]} #{n}" for n in range(N)],
    "pred": ["ham"] * N,
    "text": TEXTS,
    "Label": [f"-{n}.5" for n in range(N)],
    "about": [HARD[-n % len(HARD)] for n in range(N)],
}


@pytest.fixture
def spam(levelled: Levelled, pool: Path) -> str:
    """A campaign with 10 labels."""
    levelled("create", "spam", "--pool", pool, "--seed", 7)
    items = levelled("ask", "spam", "-n", 10).out.splitlines()
    answers = [{"draw": json.loads(item)["draw"], "label": "ham"} for item in items]
    levelled("tell", "spam", "-", given="\n".join(map(json.dumps, answers)))
    return "spam"


def sheet_of(levelled: Levelled, *words: str) -> list[dict[str, str]]:
    return [*csv.DictReader(io.StringIO(levelled("ask", "mails", *words, "--format", "csv").out))]


SAVED: dict[str, Callable[[Columns], bytes]] = {
    "done.csv": lambda columns: table(columns, ","),
    "european.csv": lambda columns: table(columns, ";"),
    "done.xlsx": workbook,
}


@pytest.mark.parametrize("name", SAVED)
def test_every_field_survives_a_spreadsheet(name: str, levelled: Levelled, tmp_path: Path) -> None:
    write(tmp_path / "pool.jsonl", POOL)
    levelled(
        "create", "mails", "--pool", "pool.jsonl", "--seed", 1, *SAID, "--question", "why=text"
    )
    sheet = sheet_of(levelled, "-n", str(N))
    assert [*sheet[0]] == ["draw", "id", "label", "why", "data.Label", "about", "text"]
    by_id = {row["id"]: row for row in rows_of(POOL)}
    assert not any(row["id"].startswith(("=", "@")) for row in sheet)
    assert all(row["data.Label"].startswith("-") for row in sheet)
    done = {key: [row[key] for row in sheet] for key in sheet[0]}
    done["label"] = ["spam"] * N
    done["why"] = done["text"]  # guarded as the sheet has it
    (tmp_path / name).write_bytes(SAVED[name](done))
    told = levelled("tell", "mails", name)
    assert told.code == 0, told.err
    assert f"{N} new answers" in told.err
    levelled("export", "mails", "--out", "out.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert {row["id"] for row in rows} == {*by_id}
    assert all(row["why"] == by_id[row["id"]]["text"] for row in rows)


def test_a_wrong_row_of_a_sheet_is_named_and_nothing_is_stored(
    levelled: Levelled, tmp_path: Path
) -> None:
    write(tmp_path / "pool.jsonl", POOL)
    levelled("create", "mails", "--pool", "pool.jsonl", "--seed", 1, *SAID)
    sheet = sheet_of(levelled, "-n", "20")
    done = {"draw": [row["draw"] for row in sheet], "label": ["spam"] * 20}
    done["draw"][12] = "999"
    (tmp_path / "done.xlsx").write_bytes(workbook(done))
    told = levelled("tell", "mails", "done.xlsx")
    assert told.code == 1
    assert "Row 13" in told.err
    assert "999" in told.err


def test_columns_have_one_order_in_all_sheets(levelled: Levelled, tmp_path: Path) -> None:
    rows = rows_of({"id": range(60), "pred": ["x"] * 60, "zeta": ["z"] * 60, "alpha": ["a"] * 60})
    rows = [dict(reversed(row.items())) if n % 2 else row for n, row in enumerate(rows)]
    del rows[0]["alpha"]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "pool.jsonl").write_text(lines)
    for show, order in (((), ["alpha", "zeta"]), (("--show", "zeta,alpha"), ["zeta", "alpha"])):
        (tmp_path / "levelled.db").unlink(missing_ok=True)
        levelled("create", "mails", "--pool", "pool.jsonl", "--seed", 1, "--open-classes", *show)
        for words in (("-n", "3", "--owner", "ann"), ("-n", "40", "--owner", "ann"), ("-n", "9")):
            assert [*sheet_of(levelled, *words)[0]] == ["draw", "id", "label", *order]
            items = levelled("ask", "mails", *words, "--format", "jsonl").out.splitlines()
            assert {tuple(json.loads(item)["data"]) for item in items} <= {tuple(order)}


def test_columns_of_labels_and_ids_may_have_other_names(levelled: Levelled, tmp_path: Path) -> None:
    write(tmp_path / "pool.csv", {"id": ["a", "b", "c"], "pred": ["x", "y", "x"]})
    levelled("create", "mails", "--pool", "pool.csv", "--seed", 1, "--open-classes")
    levelled("ask", "mails", "-n", 3)
    write(tmp_path / "done.csv", {"key": ["a", "b"], "Verdict": ["x", "x"], "label": ["?", "?"]})
    told = levelled("tell", "mails", "done.csv", "--label-column", "verdict", "--id-column", "key")
    assert "2 new answers" in told.err
    wrong = levelled("tell", "mails", "done.csv", "--label-column", "score", "--id-column", "key")
    assert wrong.code == 1
    assert "'score'" in wrong.err
    assert "--label-column" in levelled("tell", "mails", 3, "x", "--label-column", "verdict").err


@pytest.mark.parametrize("out", ["r.pdf", "r", "r.html.zip", "report.md"])
def test_a_report_under_another_ending_is_refused(levelled: Levelled, spam: str, out: str) -> None:
    result = levelled("report", spam, "--out", out)
    assert (result.code, result.err.count("\n")) == (1, 1)
    assert ".html" in result.err
    assert not Path(out).exists()
    assert levelled("report", spam, "--out", "r.HTM").code == 0


def test_percentages_are_shares(levelled: Levelled, spam: str, pool: Path) -> None:
    def claims(*words: object) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = json.loads(levelled("gate", spam, *words).out)
        return rows

    assert claims("--at-most", "5%", "--level", "99.9%") == claims(
        "--at-most", 0.05, "--level", 0.999
    )
    assert claims("--claim", "error<=5 %") == claims("--claim", "error<=0.05")
    words = ("plan", "--pool", pool, "--metric", "error", "--expected")
    assert (
        levelled(*words, "5%", "--width", "2%").out == levelled(*words, 0.05, "--width", 0.02).out
    )
    for wrong in ("%", "5%%", "five%", "500%"):
        result = levelled("create", "new", "--pool", pool, "--level", wrong, "--seed", 1)
        assert result.code in (1, 2)
        assert "level" in result.err


@pytest.mark.parametrize("form", ["jsonl", "table"])
def test_a_pipe_sees_each_look_at_once(levelled: Levelled, spam: str, form: str) -> None:
    words = [sys.executable, "-m", "levelled", "estimate", spam, "--watch", "--every", "0.05"]
    with subprocess.Popen(
        [*words, "--format", form], stdout=subprocess.PIPE, text=True
    ) as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline()  # while the command goes on
        assert watching.poll() is None
        levelled("close", spam)
        os.set_blocking(watching.stdout.fileno(), True)
        rest = watching.stdout.read()
        assert rest
        assert watching.wait(20) in (0, 3)
