"""What a user may get wrong, one by one: told in one line, with nothing lost."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cli.terminal import Levelled
from levelled.campaigns import create_campaign, load_campaign

GOOD = "id,proba_ham,proba_spam\na,0.9,0.1\nb,0.2,0.8\nc,0.6,0.4\n"


@dataclass(frozen=True)
class Case:
    """Words of a command, what its message must name, and files it finds there."""

    words: str
    told: str
    given: str = ""
    files: Mapping[str, str | bytes] = field(default_factory=dict)

    def __str__(self) -> str:
        return "".join(c if c.isascii() and c.isprintable() else "?" for c in self.words)[:60]


def create(options: str, told: str) -> Case:
    """A campaign that cannot begin because of its options."""
    return Case(f"create new --pool good.csv --seed 1 {options}", told, files={"good.csv": GOOD})


def pool(text: str | bytes, told: str, *, ending: str = "csv", options: str = "") -> Case:
    """A campaign that cannot begin because of its pool."""
    name = f"bad.{ending}"
    return Case(f"create new --pool {name} --seed 1{options}", told, files={name: text})


def tell(given: str, told: str) -> Case:
    """Labels that cannot be taken in."""
    return Case("tell spam -", told, given=given)


POOLS = [
    Case("create new --pool nowhere.parquet", "nowhere.parquet"),
    Case("create new --pool none-*.csv", "none-*.csv"),
    Case("create new --pool empty", "empty"),
    Case("create new --pool notes.docx", ".docx", files={"notes.docx": "x"}),
    Case(
        "create new --pool a.csv --pool b.jsonl", "format", files={"a.csv": GOOD, "b.jsonl": "{}"}
    ),
    Case("create new", "--pool"),
    pool("", "bad.csv"),
    pool("id,pred\n", "not a single row"),
    pool(b"\x00\x01\x02 nonsense", "bad.parquet", ending="parquet"),
    pool(b"PAR1 cut off", "bad.parquet", ending="parquet"),
    pool(b"id,pred\n\xff\xfe,a\n", "bad.csv"),
    pool("name,pred\na,x\n", "'id'"),
    pool("id,id,pred\n1,2,x\n", "two columns"),
    pool("id,pred\na,x\na,y\n", "'a'"),
    pool("id,pred\n,x\nb,y\n", "id"),
    pool('{"id": null, "pred": "x"}\n', "id", ending="jsonl"),
    pool('{"id": 1, "pred": "x"}\n{"id": 2,\n', "bad.jsonl", ending="jsonl"),
    pool("[1, 2]\n", "bad.jsonl", ending="jsonl"),
    pool("id,proba_a,proba_b\nq,0.9,0.9\n", "'q'"),
    pool("id,proba_a,proba_b\nq,1.5,-0.5\n", "'q'"),
    pool("id,proba_a,proba_b\nq,nan,0.5\n", "'q'"),
    pool("id,proba_a,proba_b\nq,,0.5\n", "'q'"),
    pool("id,proba_a,proba_b\nq,high,low\n", "bad.csv"),
    pool("id,proba_a\nq,1.0\n", "proba_a"),
    pool("id,proba\nq,0.4\n", "classes"),
    pool("id,pred,prediction\nq,a,b\n", "prediction"),
    pool("id,pred\nq,\n", "'q'"),
    pool("id,text\nq,hello\n", "pred"),
    pool("id,pred,score\nq,a,-1\nr,a,1\n", "'q'"),
    pool("id,pred\nq,a\n", "number", options=" --metric mse"),
    pool("id,pred\nq,a\n", "proba", options=" --metric log_loss"),
    pool("id,pred\nq,a\n", "proba", options=" --score entropy"),
]

ARGUMENTS = [
    create("--metric accurracy", "accurracy"),
    create("--metric f1", "f1"),
    create("--metric f1:eggs", "eggs"),
    create("--metric log_loss:-3", "log_loss:-3"),
    create("--metric log_loss:x", "log_loss:x"),
    create("--metric nowhere.module:loss", "nowhere"),
    create("--metric os.path:nothing", "nothing"),
    create("--metric error --metric mean", "mean"),
    create("--level 2", "level"),
    create("--level 0", "level"),
    create("--level nan", "level"),
    create("--floor -1", "floor"),
    create("--floor 1.5", "floor"),
    create("--score surprise", "surprise"),
    create("--proposal greedy", "greedy"),
    create("--proposal boltzmann:hot", "boltzmann:hot"),
    create("--slice country", "country"),
    create("--classes a", "classes"),
    create("--classes a,a", "classes"),
    create("--classes a,b", "classes"),
    create("--budget 0", "--budget"),
    create("--budget -5", "--budget"),
    create("--budget many", "--budget"),
    create("--target-width 0", "width"),
    create("--target-width -0.1", "width"),
    create("--target-width nan", "width"),
    create("--metric log_loss --target-width 0.1", "log_loss"),
    create("--lease-seconds 0", "--lease-seconds"),
    create("--lease-seconds 1000000000000000", "--lease-seconds"),
    create("--in-flight 0", "--in-flight"),
    create("--seed -1", "--seed"),
    create("--seed seven", "--seed"),
    create("--labelled nowhere.csv", "nowhere.csv"),
    Case(
        "create new --pool good.csv --labelled s.csv",
        "zz",
        "",
        {"good.csv": GOOD, "s.csv": "id,label\nzz,ham\n"},
    ),
    Case(
        "create new --pool good.csv --labelled s.csv",
        "twice",
        "",
        {"good.csv": GOOD, "s.csv": "id,label\na,ham\na,ham\n"},
    ),
    Case(
        "create new --pool good.csv --labelled s.csv",
        "eggs",
        "",
        {"good.csv": GOOD, "s.csv": "id,label\na,eggs\n"},
    ),
    Case("create spam --pool good.csv", "'spam'", files={"good.csv": GOOD}),
    Case("create a/b --pool good.csv", "a/b", files={"good.csv": GOOD}),
    Case("create  --pool good.csv", "''", files={"good.csv": GOOD}),
    Case("create \x1b[31mred --pool good.csv", "x1b[31mred", files={"good.csv": GOOD}),
    Case(f"create {'n' * 101} --pool good.csv", "100", files={"good.csv": GOOD}),
    Case("ask spam -n 0", "-n"),
    Case("ask spam -n -3", "-n"),
    Case("ask spam --format yaml", "yaml"),
    Case("ask nobody", "nobody"),
    Case("ask spam --pool moved.parquet", "moved.parquet"),
    Case("ask spam --pool changed.csv", "changed.csv", files={"changed.csv": GOOD}),
    Case("ask", "name"),
    Case("asc spam", "asc"),
    Case("ask done", "enough"),
    Case("tell done done.csv", "enough", files={"done.csv": "draw,label\n1,ham\n"}),
    Case("close done", "enough"),
    Case("change done --budget 50", "enough"),
    Case("change spam", "--budget"),
    Case("change spam --budget 3", "12"),
    Case("change spam --budget 0", "--budget"),
    Case("change spam --target-width -1", "width"),
    Case("change spam --target-width nan", "width"),
    Case("skip spam 1", "amend"),
    Case("skip spam 99", "99"),
    Case("skip spam 0", "0"),
    Case("skip spam first", "draw"),
    Case("unlabelable spam 11", "--reason"),
    Case("unlabelable spam 1 --reason no", "amend"),
    Case("amend spam 11 ham", "11"),
    Case("amend spam 1 eggs", "eggs"),
    Case("amend spam 1 ", "label"),
    Case("amend spam 1", "label"),
    Case("estimate nobody", "nobody"),
    Case("estimate spam --target-width 0", "width"),
    Case("estimate spam --target-width wide", "--target-width"),
    Case("estimate spam --watch --every 0", "--every"),
    Case("audit nobody", "nobody"),
    Case("report nobody", "nobody"),
    Case("report spam --out file/r.html", "file", files={"file": "not a folder"}),
    Case("report spam --out nowhere/r.html", "nowhere"),
    Case("report spam --out empty", "empty"),
    Case("export spam --out out.docx", ".docx"),
    Case("export spam --out nowhere/out.csv", "nowhere"),
    Case("attach spam --predictions no.csv --model v2", "no.csv"),
    Case("attach spam --predictions v2.csv --model v2", "r", files={"v2.csv": "id,pred\nzz,ham\n"}),
    Case(
        "attach spam --predictions v2.csv --model v2",
        "eggs",
        files={"v2.csv": "id,proba_eggs,proba_ham\nr1,0.5,0.5\n"},
    ),
    Case("attach spam --model v2", "--predictions"),
    Case("plan --pool good.csv --width 0", "width", files={"good.csv": GOOD}),
    Case("plan --pool good.csv --width 0.1 --metric f1:eggs", "eggs", files={"good.csv": GOOD}),
    Case("plan --pool good.csv --width 0.1 --metric mse", "numbers", files={"good.csv": GOOD}),
    Case("plan --pool good.csv --width 0.1 --expected 2", "expected", files={"good.csv": GOOD}),
    Case(
        "plan --pool bare.csv --width 0.1 --metric brier",
        "proba",
        files={"bare.csv": "id,pred\na,x\nb,x\n"},
    ),
    Case("plan --width 0.1", "--from"),
    Case("plan --width 0.1 --from nobody", "nobody"),
    Case("plan --width 0.1 --from spam --metric mse", "number"),
    Case("plan --width 0.1 --from spam --pool good.csv", "content", files={"good.csv": GOOD}),
    Case("simulate --pool good.csv --label y", "'y'", files={"good.csv": GOOD}),
    Case("simulate --pool good.csv --label id", "none of the classes", files={"good.csv": GOOD}),
    Case("simulate --pool nowhere.csv", "nowhere.csv"),
    Case("draw good.csv -k 0", "-k", files={"good.csv": GOOD}),
    Case("draw good.csv -k 4 --seed 1", "4", files={"good.csv": GOOD}),
    Case("draw good.csv -k 2 --weight interest", "interest", files={"good.csv": GOOD}),
    Case("draw w.csv -k 1 --weight w", "'b'", files={"w.csv": "id,w\na,1\nb,-1\n"}),
    Case("draw w.csv -k 1 --weight w", "'b'", files={"w.csv": "id,w\na,1\nb,nan\n"}),
    Case("draw w.csv -k 1 --weight w", "0", files={"w.csv": "id,w\na,1\nb,0\n"}),
    Case("draw w.csv -k 1 --weight w", "w.csv", files={"w.csv": "id,w\na,1\nb,much\n"}),
    Case("draw good.csv -k 1 --out nowhere/d.parquet", "nowhere", files={"good.csv": GOOD}),
]

LABELS = [
    Case("tell spam nowhere.jsonl", "nowhere.jsonl"),
    Case("tell spam", "files"),
    tell('{"draw": 11, "label": "eggs"}', "eggs"),
    tell('{"draw": 11, "label": ["ham"]}', "Row 1"),
    tell('{"draw": 11, "label": {"a": 1}}', "Row 1"),
    tell('{"draw": 99, "label": "ham"}', "99"),
    tell('{"draw": 13, "label": "ham"}', "13"),
    tell('{"draw": 0, "label": "ham"}', "0"),
    tell('{"draw": -1, "label": "ham"}', "-1"),
    tell('{"draw": 1.5, "label": "ham"}', "1.5"),
    tell('{"draw": true, "label": "ham"}', "True"),
    tell('{"draw": "first", "label": "ham"}', "first"),
    tell('{"draw": 1e400, "label": "ham"}', "Row 1"),
    tell('{"draw": 99999999999999999999999, "label": "ham"}', "99999"),
    tell('{"id": "zz", "label": "ham"}', "zz"),
    tell('{"id": 1.5, "label": "ham"}', "1.5"),
    tell('{"label": "ham"}', "Row 1"),
    tell('{"draw": 11}', "label"),
    tell('{"draw": 11, "label": "   "}', "mpty"),
    tell('{"draw": 11, "label": "ham"}\n{"draw": 12, "label": "eggs"}', "Row 2"),
    tell('{"draw": 11, "label": "ham"}\n{"draw": 12,', "2"),
    tell('{"draw": 11, "label": "ham"}\nnonsense', "2"),
    tell("draw,verdict\n11,ham\n", "label"),
    tell("label\nham\n", "Row 1"),
    tell("draw,label\n11,ham,what\n", "11,ham,what"),
    tell("draw,label\nten,ham\n", "ten"),
    tell("draw,label\n11,\x1b[31mred\n", "x1b"),
    tell('{"draw": 11, "label": "\\ud800"}', "ud800"),
    tell('{"draw": 11, "label": NaN, "id": "zz"}\n{"draw": 12, "label": Infinity}', "inf"),
]

STORAGES = [
    Case("list --storage nonsense", "nonsense"),
    Case("list --storage postgres://here/db", "postgres"),
    Case("list --storage sqlite:///", "sqlite:///"),
    Case("list --storage sqlite:///:memory:", "memory"),
    Case("list --storage nowhere.db", "nowhere.db"),
    Case("list --storage sqlite:///empty", "empty"),
    Case(
        "create new --pool good.csv --storage no/where.db", "no/where.db", files={"good.csv": GOOD}
    ),
    Case("list --storage text.db", "text.db", files={"text.db": "no database at all " * 100}),
    Case(
        "list --storage cut.db", "cut.db", files={"cut.db": b"SQLite format 3\x00" + b"\xff" * 5000}
    ),
    Case("list --storage x.db/y.db", "x.db", files={"x.db": "a file"}),
    Case("storage upgrade --storage nowhere.db", "nowhere.db"),
    Case("storage copy nowhere.db there.db", "nowhere.db"),
    Case("storage copy levelled.db no/where.db", "no/where.db"),
    Case("storage move", "move"),
]


@pytest.fixture(scope="module")
def kept(pool: Path, truth: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A storage with a campaign under way, two of its items still out, and one that is closed."""
    path = tmp_path_factory.mktemp("kept") / "levelled.db"
    for name in ("spam", "done"):
        campaign = create_campaign(name, pool, storage=path, seed=1, budget=20)
        for ask in campaign.ask(12)[:10]:
            campaign.tell(ask.draw, truth[ask.id])  # type: ignore[index]
    campaign.close(reason="enough")
    return path


@pytest.mark.parametrize("case", [*POOLS, *ARGUMENTS, *LABELS, *STORAGES], ids=str)
def test_bad_input_is_told_in_one_line_and_nothing_is_lost(
    case: Case, levelled: Levelled, kept: Path, tmp_path: Path
) -> None:
    shutil.copy(kept, tmp_path / "levelled.db")
    (tmp_path / "empty").mkdir()
    for name, content in case.files.items():
        data = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(data)
    result = levelled(*case.words.split(" "), given=case.given)
    assert result.code in (1, 2)
    assert case.told in result.err
    assert "Traceback" not in result.err
    assert "\x1b" not in result.err
    told = [line for line in result.err.splitlines() if line]
    if result.code == 1:
        assert len(told) == 1
        assert told[0].startswith("levelled: ")
    assert levelled("audit", "spam").out.startswith("ok: ")
    state = load_campaign("spam", storage=tmp_path / "levelled.db").state
    assert (len(state.answers), state.n_asked) == (10, 12)


def test_there_are_cases_enough() -> None:
    assert len({*map(repr, [*POOLS, *ARGUMENTS, *LABELS, *STORAGES])}) >= 60


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("name", ["levelled.db", "secret.csv"])
def test_files_that_may_not_be_read_are_named(
    name: str, levelled: Levelled, kept: Path, tmp_path: Path
) -> None:
    shutil.copy(kept, tmp_path / "levelled.db")
    (tmp_path / "secret.csv").write_text(GOOD)
    (tmp_path / name).chmod(0)
    result = levelled("create", "new", "--pool", "secret.csv")
    assert result.code == 1
    assert name in result.err


def test_an_event_that_was_changed_afterwards_is_found(
    levelled: Levelled, kept: Path, tmp_path: Path
) -> None:
    import sqlite3

    shutil.copy(kept, tmp_path / "levelled.db")
    with sqlite3.connect(tmp_path / "levelled.db") as database:
        tables: list[Any] = database.execute("select name from sqlite_master").fetchall()
        assert ("events",) in tables
        database.execute(
            'update events set body = replace(body, \'"label":"ham"\', \'"label":"spam"\')'
        )
    database.close()
    found = levelled("audit", "spam")
    assert found.code == 1
    assert "event" in found.out
