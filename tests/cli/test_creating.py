"""`levelled look` and `create`, from files of other tools and from columns of any name."""

import csv
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import levelled as lv
from cli.terminal import Levelled

FILES = Path(__file__).parent.parent / "sources/readers/files"


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    path = tmp_path / "traces.csv"
    with path.open("w") as file:
        rows = csv.writer(file)
        rows.writerow(["trace_id", "input", "output", "verdict", "reason"])
        rows.writerows(
            [f"t{n}", f"{n}?", f"{n}", "fail" if n % 5 else "pass", "?"] for n in range(40)
        )
    return path


def test_a_look_says_what_is_recognised_and_how_to_go_on(levelled: Levelled) -> None:
    shutil.copy(FILES / "inspect.eval", "run.eval")
    looked = levelled("look", "run.eval", "--format", "table")
    out = looked.out
    assert (looked.code, looked.err) == (0, "")
    for words in ("Inspect AI log", "task sums", "model mockllm/model"):
        assert words in out
    assert "groups: 6" in out
    assert "includes: fail 8, pass 4" in out
    roles = {line.split()[0]: line.split()[1] for line in out.splitlines()}
    assert {roles[one] for one in ("input", "messages", "output", "target")} == {"shown"}
    assert roles["pred@grader"] == "judge"
    (plain,) = json.loads(levelled("look", "run.eval", "--format", "json").out)
    assert "explanation@grader" in plain["hidden"]
    assert out.endswith("next: levelled create NAME --pool run.eval --metric share:pass\n")
    assert not Path("levelled.db").exists()


def test_a_look_can_be_read_by_programs(levelled: Levelled, traces: Path) -> None:
    words = ("--id-column", "trace_id", "--judge-column", "verdict", "--hide", "reason")
    (row,) = json.loads(levelled("look", traces.name, *words, "--format", "json").out)
    assert row["predictions"] == {"verdict": {"pass": 8, "fail": 32}}
    assert (row["shown"], row["hidden"]) == (["input", "output"], ["verdict", "reason"])
    assert row["command"] == (
        "levelled create NAME --pool traces.csv --id-column trace_id --judge-column verdict "
        "--hide reason --metric share:pass"
    )


def test_what_was_chosen_is_kept_with_the_campaign(levelled: Levelled, traces: Path) -> None:
    words = ("--id-column", "trace_id", "--judge-column", "verdict", "--show", "input,output")
    made = levelled("create", "s", "--pool", traces.name, *words, "--metric", "error")
    assert made.code == 0
    assert "fail 32, pass 8" in made.err
    asked = [
        json.loads(line) for line in levelled("ask", "s", "--format", "jsonl").out.splitlines()
    ]
    assert [*asked[0]["data"]] == ["input", "output"]
    told = [{"id": one["id"], "label": "pass"} for one in asked]
    Path("done.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in told))
    assert levelled("tell", "s", "done.jsonl").code == 0
    traces.rename("moved.csv")
    assert levelled("audit", "s", "--pool", "moved.csv").code == 0
    (status,) = json.loads(levelled("status", "s", "--format", "json").out)
    assert status["columns"]["judge_columns"] == ["verdict"]
    table = levelled("status", "s", "--format", "table").out
    assert "judge_columns verdict" in table
    assert levelled("report", "s").code == 0


def test_every_choice_has_a_variable(
    levelled: Levelled, traces: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "ID_COLUMN": "trace_id",
        "JUDGE_COLUMN": "verdict",
        "PRED_COLUMN": "reason",
        "SHOW": "input",
        "READER": "plain",
    }.items():
        monkeypatch.setenv(f"LEVELLED_CREATE_{name}", value)
    assert levelled("create", "s", "--pool", traces.name, "--metric", "error").code == 0
    columns = lv.load_campaign("s").settings.columns
    assert columns == lv.sources.ColumnChoices(
        "trace_id", "reason", ("verdict",), ("input",), (), "plain"
    )


def test_a_file_that_is_nothing_is_refused_in_one_line(levelled: Levelled) -> None:
    Path("run.eval").write_bytes(b"nothing")
    for words in (["look", "run.eval"], ["create", "c", "--pool", "run.eval"]):
        refused = levelled(*words)
        assert (refused.code, refused.out) == (1, "")
        assert refused.err.startswith("levelled: run.eval")
        assert refused.err.count("\n") == 1


def test_lengths_that_only_a_smaller_pool_uses_by_itself_are_told(
    levelled: Levelled, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"a text that is long enough to be measured {n}" for n in range(60)]
    pq.write_table(pa.table({"id": range(60), "pred": ["a", "b"] * 30, "text": texts}), "p.parquet")
    words = ("--pool", "p.parquet", "--metric", "error", "--seed", "1", "--budget", "60")
    assert "note:" not in levelled("create", "held", *words).err
    monkeypatch.setenv("LEVELLED_STREAM_ABOVE", "0")
    assert "as in --features length:text" in levelled("create", "large", *words).err
    named = levelled("create", "named", *words, "--features", "length:text")
    assert (named.code, "note:" in named.err) == (0, False)


@pytest.mark.parametrize("source", ["pool", "pool/*.parquet", "file://{}/pool", "file://{}/p*/?.*"])
def test_all_commands_take_the_same_addresses(levelled: Levelled, source: str) -> None:
    Path("pool").mkdir()
    chance = np.linspace(0.05, 0.95, 60)
    for number, part in enumerate((slice(25), slice(25, 60))):
        p = chance[part]
        columns = {"id": [f"{number}-{at}" for at in range(len(p))], "proba_x": p, "proba_y": 1 - p}
        table = pa.table({**columns, "label": ["x" if one > 0.4 else "y" for one in p]})
        pq.write_table(table, f"pool/{number}.parquet", row_group_size=10)
    address = source.format(Path.cwd())
    assert '"n_items": 60' in levelled("look", address, "--format", "json").out
    created = levelled("create", "c", "--pool", address, "--metric", "error", "--seed", "1")
    assert created.code == 0
    assert levelled("ask", "c", "-n", "2", "--owner", "ann").code == 0
    assert levelled("audit", "c").code == 0
    planned = levelled("plan", "--pool", address, "--metric", "error", "--width", "0.3")
    assert planned.code == 0
    words = ("--metric", "error", "--budgets", "10", "--repetitions", "2", "--methods", "static")
    assert levelled("simulate", "--pool", address, *words).code == 0
    assert "3 of 60 items drawn" in levelled("draw", address, "-k", "3", "--seed", "1").err


def test_roles_are_looked_at_kept_and_printed(levelled: Levelled, traces: Path) -> None:
    roles = ("trace_id=id", "verdict=judge", "reason=shown", "reason=slice")
    words = [word for role in roles for word in ("--role", role)]
    looked = levelled("look", traces.name, *words, "--format", "table")
    assert re.search(r"^reason +slice, shown +said", looked.out, re.MULTILINE)
    assert "--role reason=shown,slice" in looked.out.splitlines()[-1]
    made = levelled("create", "s", "--pool", traces.name, *words, "--metric", "error", "--seed", 1)
    assert made.code == 0, made.err
    assert re.search(r"^verdict +judge", made.err, re.MULTILINE)
    assert "reason=shown+slice" in levelled("status", "s", "--format", "table").out
    for wrong, named in (("=id", "COLUMN=ROLE"), ("reason=weight", "weight"), ("x=id", "'x'")):
        refused = levelled("look", traces.name, "--role", wrong)
        assert refused.code in (1, 2)
        assert named in refused.err.splitlines()[-1]
