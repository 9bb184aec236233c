"""Logs that something else has altered in place: no command and no page goes on with one."""

import json
import re
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from campaigns.simulated import spam
from cli.terminal import Levelled
from levelled.campaigns import backup, create_campaign, open_store
from levelled.campaigns.log.records import canonical, hash_of
from levelled.web import WebSettings, make_app

POOL, TRUTH = spam(90)

Change = Callable[[sqlite3.Connection], object]


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a campaign in which a bit of everything happened, and another campaign."""
    folder = tmp_path_factory.mktemp("untouched")
    for name in ("spam", "other"):
        made = create_campaign(name, POOL, storage=folder / "levelled.db", seed=7, kind="static")
        for one in made.ask(20, owner="ann"):
            made.tell(one.draw, TRUTH[str(one.id)], owner="ann", note="sure")
        first, second, third, *_ = made.ask(5, owner="bob")
        made.skip(first.draw, owner="bob")
        made.mark_unlabelable(second.draw, reason="blank", owner="bob")
        made.tell(third.draw, "ham", owner="bob")
        made.tell(third.draw, "spam", owner="boss", on_behalf_of="carl")
        made.amend(5, "spam" if TRUTH[str(made.state.draws[4].id)] == "ham" else "ham")
        made.change(target_width=0.9)
        made.ask(3, owner="ann")
    return backup(folder / "levelled.db", folder / "whole.db")


def body(kind: str, *path: Any, at: int = -1) -> Change:  # noqa: ANN401
    """Set a value in the body of an event of a kind, whose text stays canonical."""
    *names, last, value = path

    def change(database: sqlite3.Connection) -> None:
        rows = _rows(database, kind)
        seq, text = rows[at]
        event = place = json.loads(text)
        for name in names:
            place = place[name]
        place[last] = value(place[last]) if callable(value) else value
        _write(database, seq, canonical(event))

    return change


def without(kind: str, key: str) -> Change:
    def change(database: sqlite3.Connection) -> None:
        seq, text = _rows(database, kind)[-1]
        event = json.loads(text)
        del event[key]
        _write(database, seq, canonical(event))

    return change


def text(kind: str, old: str, new: str) -> Change:
    """Replace characters in the body of the last event of a kind."""

    def change(database: sqlite3.Connection) -> None:
        seq, before = _rows(database, kind)[-1]
        assert old in before
        _write(database, seq, before.replace(old, new, 1))

    return change


def sql(statement: str) -> Change:
    """Run a statement, in which EVENTS stands for those of the campaign."""
    return lambda database: database.execute(
        statement.replace("EVENTS", "campaign = 'spam' AND seq")
    )


def with_hash(kind: str) -> Change:
    """Change a label together with the hash of its event, but not the events behind it."""

    def change(database: sqlite3.Connection) -> None:
        body(kind, "label", flipped, at=3)(database)
        seq, text = _rows(database, kind)[3]
        (prev,) = database.execute(
            "SELECT prev_hash FROM events WHERE campaign = 'spam' AND seq = ?", [seq]
        ).fetchone()
        database.execute(
            "UPDATE events SET hash = ? WHERE campaign = 'spam' AND seq = ?",
            [hash_of(prev, text), seq],
        )

    return change


def swap(*columns: str) -> Change:
    """Let two events change places, by these columns of theirs."""

    def change(database: sqlite3.Connection) -> None:
        where = "WHERE campaign = 'spam' AND seq = ?"
        chosen = ", ".join(columns)
        rows = [database.execute(f"SELECT {chosen} FROM events {where}", [at]) for at in (8, 9)]
        values = [one.fetchone() for one in rows]
        sets = ", ".join(f"{one} = ?" for one in columns)
        for at, one in zip((9, 8), values, strict=True):
            database.execute(f"UPDATE events SET {sets} {where}", [*one, at])

    return change


def _rows(database: sqlite3.Connection, kind: str) -> list[tuple[int, str]]:
    rows = database.execute("SELECT seq, body FROM events WHERE campaign = 'spam' ORDER BY seq")
    return [row for row in rows.fetchall() if json.loads(row[1])["type"] == kind]


def _write(database: sqlite3.Connection, seq: int, new: str) -> None:
    where = "WHERE campaign = 'spam' AND seq = ?"
    assert database.execute(f"SELECT body FROM events {where}", [seq]).fetchone() != (new,)
    database.execute(f"UPDATE events SET body = ? {where}", [new, seq])


def flipped(label: str) -> str:
    return "ham" if label == "spam" else "spam"


def all_labels(database: sqlite3.Connection) -> None:
    for at in range(len(_rows(database, "answered"))):
        body("answered", "label", flipped, at=at)(database)


COPY = (
    "INSERT INTO events (campaign, seq, prev_hash, hash, body, type, at) "
    "SELECT campaign, {}, prev_hash, hash, body, type, at FROM events WHERE EVENTS = {}"
)
SPLICE = (
    "UPDATE events SET body = (SELECT body FROM events AS o WHERE o.campaign = 'other' "
    "AND o.seq = events.seq){} WHERE EVENTS {}"
)
LAST = "(SELECT max(seq) FROM events WHERE campaign = 'spam')"
ALTERED: dict[str, Change] = {
    "a label": body("answered", "label", flipped),
    "the first label": body("answered", "label", flipped, at=0),
    "all labels": all_labels,
    "a label and its hash": with_hash("answered"),
    "an amended label": body("amended", "label", flipped),
    "a note": body("answered", "note", "unsure", at=0),
    "a labeller removed": without("answered", "by"),
    "the labeller": body("answered", "by", "zoe", at=0),
    "the time of a label": body("answered", "at", "2026-01-01T00:00:00+00:00"),
    "the draw of a label": body("answered", "draw", 19, at=0),
    "an answer as an amendment": body("answered", "type", "amended", at=0),
    "an answer as a mark": text("resolved", '"resolved"', '"skipped"'),
    "the reason of a mark": body("resolved", "reason", "rude"),
    "the draw of a mark": body("resolved", "draw", 23),
    "the draw of a skip": body("skipped", "draw", 23),
    "a probability": body("drawn", "draws", 4, "probability", lambda q: q / 2),
    "the last digit of a probability": body(
        "drawn", "draws", 4, "probability", lambda q: q + 1e-16
    ),
    "an id": body("drawn", "draws", 4, "id", "r0"),
    "a row": body("drawn", "draws", 4, "row", 89),
    "a prediction": body("drawn", "draws", 4, "pred", "", flipped),
    "class probabilities": body("drawn", "draws", 4, "proba", "", [0.5, 0.5]),
    "a field shown": body("drawn", "draws", 4, "data", "text", "other"),
    "a design column": body("drawn", "draws", 4, "design", {}),
    "a draw left out": body("drawn", "draws", lambda draws: draws[:-1]),
    "the seed": body("created", "settings", "seed", 8),
    "the level": body("created", "settings", "level", 0.5),
    "the metric": body("created", "settings", "metrics", ["accuracy"]),
    "the size of the pool": body("created", "settings", "pool_size", 91),
    "the fingerprint": body("created", "settings", "fingerprint", "0" * 64),
    "the guidelines": body("created", "settings", "guidelines", "Say spam."),
    "a lease": body("leased", "until", "2099-01-01T00:00:00+00:00"),
    "the owner of a lease": body("leased", "by", "zoe"),
    "the target width": body("changed", "settings", "target_width", 0.3),
    "the log that it belongs to": body("answered", "log", "0" * 16),
    "the name of a key": text("leased", '"until"', '"uptil"'),
    "an unknown type": body("skipped", "type", "sorcery"),
    "a blank": text("answered", '"draw":', '"draw": '),
    "somebody else for nobody": text("changed", "null", '"eve"'),
    "a bit": text("answered", "carl", "carm"),
    "another key": text("skipped", '{"at"', '{"x":1,"at"'),
    "no JSON": text("answered", "{", "["),
    "half of a text": sql(f"UPDATE events SET body = substr(body, 1, 40) WHERE EVENTS = {LAST}"),
    "an empty text": sql("UPDATE events SET body = '' WHERE EVENTS = 9"),
    "an empty object": sql("UPDATE events SET body = '{}' WHERE EVENTS = 9"),
    "a text of bytes": sql("UPDATE events SET body = CAST(body AS BLOB) WHERE EVENTS = 9"),
    "a hash": sql("UPDATE events SET hash = lower(hex(randomblob(32))) WHERE EVENTS = 9"),
    "the last hash": sql(f"UPDATE events SET hash = prev_hash WHERE EVENTS = {LAST}"),
    "the hash before": sql("UPDATE events SET prev_hash = hash WHERE EVENTS = 9"),
    "the hash before the first": sql("UPDATE events SET prev_hash = hash WHERE EVENTS = 0"),
    "an event deleted": sql("DELETE FROM events WHERE EVENTS = 9"),
    "the first event deleted": sql("DELETE FROM events WHERE EVENTS = 0"),
    "several events deleted": sql("DELETE FROM events WHERE EVENTS BETWEEN 5 AND 12"),
    "an event deleted, later ones moved up": lambda database: [
        sql("DELETE FROM events WHERE EVENTS = 9")(database),
        sql("UPDATE events SET seq = -seq WHERE EVENTS > 9")(database),
        sql("UPDATE events SET seq = -seq - 1 WHERE EVENTS < 0")(database),
    ],
    "an event repeated at the end": sql(COPY.format(f"{LAST} + 1", LAST)),
    "an event behind a gap": sql(COPY.format(f"{LAST} + 5", LAST)),
    "the place of the last event": sql(f"UPDATE events SET seq = 999 WHERE EVENTS = {LAST}"),
    "two texts swapped": swap("body"),
    "two texts swapped with their hashes": swap("body", "prev_hash", "hash"),
    "a text of another campaign": sql(SPLICE.format("", "= 6")),
    "a text and hash of another campaign": sql(
        SPLICE.format(
            ", hash = (SELECT hash FROM events AS o WHERE o.campaign = 'other' "
            "AND o.seq = events.seq)",
            "= 6",
        )
    ),
}


@pytest.fixture
def altered(untouched: Path, tmp_path: Path) -> Callable[[Change], Path]:
    """Alter a copy of the database."""

    def alter(change: Change) -> Path:
        path = tmp_path / "levelled.db"
        shutil.copy(untouched, path)
        with sqlite3.connect(path) as database:
            change(database)
        database.close()
        return path

    return alter


def everything(path: Path) -> list[Any]:
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT * FROM events ORDER BY campaign, seq").fetchall()
    database.close()
    return rows


def commands() -> list[list[object]]:
    return [
        ["estimate", "spam"],
        ["gate", "spam", "--at-most", 0.9],
        ["report", "spam"],
        ["ask", "spam"],
        ["tell", "spam", "-"],
        ["status", "spam"],
        ["audit", "spam"],
    ]


def test_there_are_at_least_40_kinds() -> None:
    assert len(ALTERED) >= 40


def test_the_untouched_campaign_is_read_by_all(levelled: Levelled, altered: Any) -> None:  # noqa: ANN401
    altered(lambda _: None)
    assert [levelled(*words).code for words in commands()[:4]] == [0, 0, 0, 0]
    assert json.loads(levelled("list").out)[1]["n_labels"] == 21


@pytest.mark.parametrize("kind", ALTERED)
def test_every_command_refuses_an_altered_log_and_names_the_event(
    levelled: Levelled, altered: Callable[[Change], Path], kind: str
) -> None:
    path = altered(ALTERED[kind])
    before = everything(path)
    for words in commands():
        done = levelled(*words, given='{"draw": 24, "label": "ham"}')
        assert (done.code, done.out) == (1, ""), words
        (line,) = done.err.splitlines()
        assert re.search(r"Event \d+\b.*'spam'.*backup", line), line
    assert not Path("report.html").exists()
    assert everything(path) == before


def token_of(path: Path) -> dict[str, str]:
    """The headers of an analyst."""
    with open_store(f"sqlite:///{path}") as store:
        return {"authorization": f"Bearer {store.tokens.add('eve', 'analyst')}"}


@pytest.mark.parametrize("kind", ALTERED)
def test_the_page_refuses_an_altered_log_and_names_the_event(
    altered: Callable[[Change], Path], kind: str
) -> None:
    path = altered(ALTERED[kind])
    web = WebSettings(f"sqlite:///{path}", owner="eve", hosts=("testserver",))
    headers = token_of(path)
    with TestClient(make_app(web)) as client:
        replies = [
            client.get(f"/api/campaigns/spam{part}", headers=headers)
            for part in ("", "/estimate", "/headline", "/trajectory")
        ]
        replies.append(client.post("/api/campaigns/spam/ask", json={"n": 1}, headers=headers))
        for reply in replies:
            assert reply.status_code == 503, reply.text
            assert re.search(r"^Event \d+\b.*backup[^\n]*$", reply.json()["error"])
        assert client.get("/api/campaigns/other/estimate", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "kind", ["a label", "an event deleted", "the first event deleted", "a hash"]
)
def test_a_list_shows_the_other_campaigns(
    levelled: Levelled, altered: Callable[[Change], Path], kind: str
) -> None:
    path = altered(ALTERED[kind])
    done = levelled("list")
    assert done.code == 1
    assert [one["name"] for one in json.loads(done.out)] == ["other"]
    (line,) = done.err.splitlines()
    assert re.search(r"Event \d+\b.*'spam'", line)
    web = WebSettings(f"sqlite:///{path}", owner="eve", hosts=("testserver",))
    with TestClient(make_app(web)) as client:
        reply = client.get("/api/campaigns", headers=token_of(path)).json()
    assert ["problem" in one for one in reply] == [False, True]


@pytest.mark.parametrize(
    "column", ["type = 'drawn'", "type = 'answered'", "type = ''", "at = '2030-01-01'", "at = ''"]
)
def test_columns_that_no_hash_covers_change_nothing_that_is_shown(
    levelled: Levelled, altered: Callable[[Change], Path], column: str
) -> None:
    altered(lambda _: None)
    words = [["list"], ["status", "spam"], ["estimate", "spam"]]
    before = [levelled(*one).out for one in words]
    altered(sql(f"UPDATE events SET {column} WHERE EVENTS > 0"))
    assert [levelled(*one).out for one in words] == before


def test_events_before_a_snapshot_change_no_figure_and_are_found_by_the_audit(
    levelled: Levelled, altered: Callable[[Change], Path]
) -> None:
    path = altered(lambda _: None)
    before = levelled("estimate", "spam").out
    with sqlite3.connect(path) as database:
        all_labels(database)
    database.close()
    assert levelled("estimate", "spam").out == before
    refused = levelled("audit", "spam")
    assert refused.code == 1
    assert "event " in refused.out


def test_an_event_that_does_not_follow_from_a_snapshot_is_refused(
    levelled: Levelled, altered: Callable[[Change], Path]
) -> None:
    path = altered(lambda _: None)
    assert levelled("estimate", "spam").code == 0
    levelled("ask", "spam", "-n", 2, "--owner", "zoe")
    with sqlite3.connect(path) as database:
        body("leased", "by", "eve")(database)
    database.close()
    done = levelled("estimate", "spam")
    assert (done.code, done.out) == (1, "")
    assert re.search(r"Event \d+ \(leased\) of 'spam'", done.err)
