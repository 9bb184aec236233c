"""`levelled audit`: the last hash, hashes that were kept, and signatures."""

import json
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cli.terminal import Levelled
from levelled.campaigns.log.records import GENESIS, canonical, carried_log, hash_of


@pytest.fixture
def last(levelled: Levelled, pool: Path) -> str:
    """The last hash of a campaign named spam with five labels."""
    levelled("create", "spam", "--pool", pool, "--seed", 7, "--slice", "country")
    asked = levelled("ask", "spam", "-n", 5).out.splitlines()
    labels = [{"draw": json.loads(line)["draw"], "label": "ham"} for line in asked]
    levelled("tell", "spam", "-", given="".join(f"{json.dumps(one)}\n" for one in labels))
    found: str = json.loads(levelled("status", "spam").out)[0]["last_hash"]
    return found


def rewrite(change: dict[str, Any], at: int = -1) -> None:
    """Change an event of the database, and compute all hashes anew."""
    with sqlite3.connect("levelled.db") as database:
        rows = database.execute("SELECT seq, body FROM events ORDER BY seq").fetchall()
        events = [json.loads(body) for _, body in rows]
        events[at] |= change
        prev, log = GENESIS, ""
        for (seq, _), event in zip(rows, events, strict=True):
            event |= {"log": log} if log else {}
            new = hash_of(prev, canonical(event))
            log = log or carried_log(event, new)
            database.execute(
                "UPDATE events SET prev_hash = ?, hash = ?, body = ? WHERE seq = ?",
                [prev, new, canonical(event), seq],
            )
            prev = new
    database.close()


def test_the_last_hash_is_shown_everywhere(levelled: Levelled, last: str) -> None:
    audit = levelled("audit", "spam")
    n_events = json.loads(levelled("status", "spam").out)[0]["n_events"]
    assert (audit.code, audit.out) == (0, f"ok: {n_events} events, last {last}\n")
    assert {one["last_hash"] for one in json.loads(levelled("estimate", "spam").out)} == {last}
    assert json.loads(levelled("list").out)[0]["last_hash"] == last
    assert last in levelled("status", "spam", "--format", "table").out
    levelled("report", "spam")
    assert last in Path("report.html").read_text()


def test_a_hash_that_was_kept_is_compared(levelled: Levelled, last: str) -> None:
    assert levelled("audit", "spam", "--expect", last).out == f"ok: 10 events, last {last}\n"
    levelled("change", "--close", "spam")
    later = levelled("audit", "spam", "--expect", last[:12])
    assert later.code == 0
    assert later.out.splitlines()[-1].startswith("events up to 10 unchanged, 1 more")
    refused = levelled("audit", "spam", "--expect", last[:11])
    assert (refused.code, refused.err.count("\n")) == (1, 1)


def test_a_log_that_was_written_anew_is_found_by_the_hash(levelled: Levelled, last: str) -> None:
    rewrite({"label": "spam"})
    assert levelled("audit", "spam").code == 0, "a consistent log with another label"
    found = levelled("audit", "spam", "--expect", last)
    assert found.code == 1
    assert "the log was written" in found.out


def test_events_that_were_cut_off_are_found_by_the_hash(levelled: Levelled, last: str) -> None:
    with sqlite3.connect("levelled.db") as database:
        database.execute("DELETE FROM events WHERE seq > 6")
    database.close()
    assert levelled("audit", "spam").code == 0
    assert levelled("audit", "spam", "--expect", last).code == 1


@pytest.mark.parametrize(
    ("change", "at"),
    [
        ({"type": "sorcery"}, -1),
        ({"settings": {"name": "spam", "format": 2, "sorcery": 1}}, 0),
        ({"settings": {"name": "spam", "format": 3}}, 0),
        ({"settings": {"name": "spam", "format": 2, "kind": "sorcery"}}, 0),
        ({"type": "changed", "settings": {"sorcery": 1}}, -1),
        ({"type": "drawn", "draws": [{"sorcery": 1}]}, 2),
    ],
)
@pytest.mark.parametrize("command", ["status", "estimate", "ask", "audit", "list"])
def test_a_log_of_a_newer_version_is_one_line(
    levelled: Levelled, last: str, command: str, change: dict[str, Any], at: int
) -> None:
    rewrite(change, at)
    refused = levelled(command, *(() if command == "list" else ("spam",)))
    assert refused.code == 1 or (command == "list" and change["type"] == "drawn")
    if refused.code:
        assert refused.err.count("\n") == 1
        assert "newer Levelled" in refused.err
        assert "pip install --upgrade levelled" in refused.err


def make_keys(name: str) -> None:
    pytest.importorskip("cryptography")
    made = ["openssl", "genpkey", "-algorithm", "ed25519", "-out", f"{name}.pem"]
    subprocess.run(made, check=True)
    public = ["openssl", "pkey", "-in", f"{name}.pem", "-pubout", "-out", f"{name}.pub"]
    subprocess.run(public, check=True)


def test_a_signature_holds_under_another_name(levelled: Levelled, last: str) -> None:
    make_keys("key")
    levelled("audit", "spam", "--sign", "key.pem", "--out", "signed.json")
    levelled("change", "spam", "--rename", "ham")
    found = levelled("audit", "ham", "--verify", "signed.json", "--key", "key.pub")
    assert (found.code, "up to 10 unchanged, 1 more" in found.out) == (0, True)


def test_a_log_can_be_signed(levelled: Levelled, last: str) -> None:
    make_keys("key")
    make_keys("other")
    signed = levelled("audit", "spam", "--sign", "key.pem")
    assert (signed.code, signed.err) == (0, "signed: audit.json\n")
    plain = json.loads(Path("audit.json").read_text())
    assert (plain["campaign"], plain["n_events"], plain["last_hash"]) == ("spam", 10, last)
    levelled("change", "--close", "spam")
    later = levelled("audit", "spam", "--verify", "audit.json", "--key", "key.pub")
    assert (later.code, "1 more since" in later.out) == (0, True)
    for refused in (
        levelled("audit", "spam", "--verify", "audit.json", "--key", "other.pub"),
        levelled("audit", "spam", "--verify", "key.pub", "--key", "key.pub"),
        levelled("audit", "spam", "--verify", "audit.json", "--key", "key.pem"),
        levelled("audit", "spam", "--sign", "key.pub"),
    ):
        assert (refused.code, refused.err.count("\n")) == (1, 1)
    Path("forged.json").write_text(json.dumps({**plain, "n_events": 9}))
    assert levelled("audit", "spam", "--verify", "forged.json", "--key", "key.pub").code == 1
    rewrite({"reason": "other"})
    assert levelled("audit", "spam", "--verify", "audit.json", "--key", "key.pub").code == 0
    rewrite({"label": "spam"}, -2)
    found = levelled("audit", "spam", "--verify", "audit.json", "--key", "key.pub")
    assert (found.code, "log was written anew" in found.out) == (1, True)
    assert levelled("audit", "spam", "--verify", "audit.json").code == 2
    assert levelled("audit", "spam", "--out", "other.json").code == 2


def test_gate_and_report_print_the_last_hash_and_gate_compares_a_kept_one(
    levelled: Levelled, last: str
) -> None:
    gate = "gate", "spam", "--at-most", 1
    assert last in levelled("report", "spam").err
    assert last in levelled(*gate, "--format", "table").out
    assert levelled(*gate, "--expect", last[:12]).code == levelled(*gate).code
    refused = levelled(*gate, "--expect", "0" * 64)
    assert (refused.code, refused.out) == (1, "")
    assert "0" * 64 in refused.err
    rewrite({"label": "spam"})
    assert levelled(*gate, "--expect", last).code == 1


def test_an_anchor_that_is_not_there_is_refused(levelled: Levelled, last: str) -> None:
    del last
    refused = levelled("audit", "spam", "--anchor", "nowhere")
    assert (refused.code, refused.out) == (1, "")
    assert "nowhere" in refused.err
