"""The commands for mistakes, as people type them."""

import json
import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from cli.terminal import Levelled

FULL = Path("/dev/full")


@pytest.fixture
def spam(levelled: Levelled, pool: Path) -> str:
    levelled("create", "spam", "--pool", pool, "--seed", 7, "--budget", 100)
    return "spam"


def draws_of(asked: str) -> list[int]:
    return [json.loads(line)["draw"] for line in asked.splitlines()]


def in_shell(command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command.replace("levelled", f"{sys.executable} -m levelled"),
        shell=True,
        cwd=cwd,
        capture_output=True,
        text=True,
    )


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("owner", ["--owner ann", ""])
@pytest.mark.parametrize("lost", ["> /dev/full", "> lost.jsonl", "| head -1", "| true"])
def test_asking_is_not_in_vain_when_its_output_is_lost(
    levelled: Levelled, spam: str, tmp_path: Path, owner: str, lost: str
) -> None:
    in_shell(f"levelled ask spam -n 40 {owner} {lost}", tmp_path)
    words = ("ask", spam, "-n", 40, *owner.split()) if owner else ("open", spam, "--mine")
    again = levelled(*words).out
    if not again:  # the command noticed that nobody saw the items, and gave them back
        assert lost != "> lost.jsonl"
        again = levelled("ask", spam, "-n", 40).out
    assert draws_of(again) == [*range(1, 41)]


def test_open_items_are_listed_printed_again_and_returned(levelled: Levelled, spam: str) -> None:
    assert draws_of(levelled("ask", spam, "-n", 3, "--owner", "ann").out) == [1, 2, 3]
    assert draws_of(levelled("ask", spam, "-n", 2, "--owner", "bob").out) == [4, 5]
    assert draws_of(levelled("open", "--mine", spam, "--owner", "ann").out) == [1, 2, 3]
    rows = json.loads(levelled("open", spam, "--format", "json").out)
    assert [(row["draw"], row["owner"]) for row in rows][2:4] == [(3, "ann"), (4, "bob")]
    assert all(row["since"] <= row["until"] for row in rows)
    table = levelled("open", spam, "--format", "table").out
    assert "labeller" in table
    assert "bob" in table
    assert (
        levelled("open", "--return", spam, "--owner", "ann", "--draw", 2).err == "1 item returned\n"
    )
    assert levelled("open", "--return", spam, "--owner", "ann").err == "2 items returned\n"
    assert levelled("open", "--return", spam, "--owner", "ann").err == "no open items of ann\n"
    assert levelled("open", "--return", spam, "--all").err == "2 items returned\n"
    assert draws_of(levelled("ask", spam, "-n", 6, "--owner", "cy").out) == [1, 2, 3, 4, 5, 6]
    assert levelled("open", "--mine", spam, "--owner", "ann").err == "no open items of ann\n"


def test_items_without_a_name_can_be_printed_again(levelled: Levelled, spam: str) -> None:
    assert levelled("ask", spam, "-n", 2).err == ""
    assert "2 items that were asked" in levelled("ask", spam).err
    assert draws_of(levelled("open", "--mine", spam).out) == [1, 2, 3]


def test_corrections_are_confirmed_by_amend(
    levelled: Levelled, spam: str, truth: dict[str, str], tmp_path: Path
) -> None:
    levelled("ask", spam, "-n", 20, "--owner", "ann")
    rows = [{"draw": draw, "label": "ham"} for draw in range(1, 21)]
    wrong = "\n".join(map(json.dumps, rows))
    for row in rows[:3]:
        row["label"] = "spam"
    (tmp_path / "done.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert levelled("tell", spam, "-", "--owner", "ann", given=wrong).err == "20 new answers\n"
    refused = levelled("tell", spam, "done.jsonl", "--owner", "ann")
    assert refused.code == 1
    assert "3 of these 20 labels" in refused.err
    assert "levelled tell spam FILE --amend" in refused.err
    amended = levelled("tell", "--amend", spam, "done.jsonl", "--owner", "ann")
    assert amended.err == "3 labels replaced, 17 as they were\n"
    assert levelled("tell", "--amend", spam, 1, "ham", "--owner", "ann").err == "1 label replaced\n"
    undone = levelled("tell", "--undo", spam, "--owner", "ann").err
    assert undone.startswith("undone: draw 1 (item r")
    assert undone.endswith(" is spam\n")
    assert levelled("audit", spam).out.startswith("ok: ")


def test_undo_opens_the_last_answer_again(levelled: Levelled, spam: str) -> None:
    levelled("ask", spam, "-n", 2, "--owner", "ann")
    levelled("tell", spam, "-", "--owner", "ann", given="draw,label\n1,ham\n2,ham\n")
    assert levelled("tell", "--undo", spam, "--owner", "ann").err.endswith("is open again\n")
    assert draws_of(levelled("open", "--mine", spam, "--owner", "ann").out) == [2]


def test_agreement_is_in_the_status(levelled: Levelled, spam: str) -> None:
    assert json.loads(levelled("status", spam, "--format", "json").out)[0]["agreement"] is None
    levelled("ask", spam, "-n", 4, "--owner", "ann")
    for owner, labels in {"ann": "ham ham spam spam", "bob": "ham spam spam spam"}.items():
        rows = "".join(f"{n},{one}\n" for n, one in enumerate(labels.split(), start=1))
        levelled("tell", spam, "-", "--owner", "eve", "--for", owner, given=f"draw,label\n{rows}")
    found = json.loads(levelled("status", spam, "--format", "json").out)[0]["agreement"]
    assert (found["n_items"], found["share"], found["kappa"]) == (4, 0.75, 0.5)
    assert found["low"] < 0.5 < found["high"]
    assert "Cohen's kappa 0.50" in levelled("status", spam, "--format", "table").out


def test_a_campaign_is_reopened_renamed_and_deleted(levelled: Levelled, spam: str) -> None:
    levelled("change", "--close", spam)
    assert levelled("change", "--reopen", spam).err == "reopened spam. Next: levelled ask spam\n"
    assert levelled("change", spam, "--rename", "ham").err == "spam is now ham\n"
    assert levelled("audit", "ham").out.startswith("ok: ")
    assert levelled("change", "--delete", "ham", given="spam\n").code == 1
    assert json.loads(levelled("list", "--format", "json").out)[0]["name"] == "ham"
    assert levelled("change", "--delete", "ham", given="ham\n").err == "deleted ham\n"
    assert json.loads(levelled("list", "--format", "json").out) == []
    levelled("create", "spam", "--pool", "nowhere")
    assert levelled("change", "--delete", "spam", "--yes").code == 1


def test_a_shorter_lease_applies_to_what_is_out(levelled: Levelled, spam: str) -> None:
    levelled("ask", spam, "-n", 2, "--owner", "ann")
    levelled("change", spam, "--lease-seconds", 60)
    rows = json.loads(levelled("open", spam, "--format", "json").out)
    for row in rows:
        since, until = (datetime.fromisoformat(row[name]) for name in ("since", "until"))
        assert (until - since).total_seconds() == 60


def test_the_shell_completes_commands_and_campaigns(
    levelled: Levelled, spam: str, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    shell = {**os.environ, "HOME": str(home), "SHELL": "/bin/bash"}

    def run(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "levelled", *words]
        return subprocess.run(
            command, cwd=tmp_path, env={**shell, **more}, capture_output=True, text=True
        )

    shown = run("--show-completion", "bash").stdout
    assert "-F _levelled_completion levelled" in shown
    for _ in range(2):
        assert run("--install-completion").returncode == 0
    script = home / ".bash_completions" / "levelled.sh"
    assert script.read_text() == shown.rstrip("\n") + "\n"
    assert (home / ".bashrc").read_text() == f"source '{script}'\n"
    assert run("--show-completion", "abacus").returncode == 1

    def complete(line: str) -> list[str]:
        words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
        return run(**words, _LEVELLED_COMPLETE="bash_complete").stdout.split()

    assert complete("levelled rep") == ["plain,report", "plain,reproduce"]
    assert complete("levelled status s") == ["plain,spam"]
    assert complete("levelled tell spam d") == ["file,d"]
    assert complete("levelled status x") == []
    assert complete("levelled status --storage sqlite:///nowhere.db s") == []
    assert not (tmp_path / "nowhere.db").exists()


def test_the_start_up_file_of_the_shell_keeps_its_bytes(
    levelled: Levelled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    before = b"\n  # caf\xe9 in Latin-1\nalias ll='ls -l'"
    (tmp_path / ".bashrc").write_bytes(before)
    for _ in range(2):
        assert levelled("--install-completion", "bash").code == 0
    line = f"source '{tmp_path / '.bash_completions' / 'levelled.sh'}'"
    assert (tmp_path / ".bashrc").read_bytes() == before + f"\n{line}\n".encode()
