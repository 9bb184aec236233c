"""Ctrl-C at several moments of commands: one line, exit code 130, nothing half done."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from levelled.campaigns import create_campaign, load_campaign
from postgres_server import free_port

INTERRUPTING = [sys.executable, str(Path(__file__).with_name("interrupting.py"))]
PARTS = [0.05, 0.5, 0.95]
"""The moments: after these parts of the function calls of a command."""

ANSWERS = "".join(f'{{"draw": {draw}, "label": "ham"}}\n' for draw in range(1, 31))
COMMANDS: dict[str, list[str]] = {
    "create": ["create", "other", "--pool", "labelled.parquet", "--seed", "1"],
    "ask": ["ask", "spam", "-n", "5", "--owner", "bob"],
    "tell": ["tell", "spam", "answers.jsonl", "--owner", "ann"],
    "estimate": ["estimate", "spam"],
    "report": ["report", "spam", "--out", "report.html"],
    "audit": ["audit", "spam"],
    "simulate": [
        *("simulate", "--pool", "labelled.parquet", "--label", "y", "--repetitions", "2"),
        *("--budgets", "20", "--methods", "uniform"),
    ],
    "label": ["label", "spam", "--owner", "cy"],
}


@pytest.fixture(scope="module")
def folder(
    items: dict[str, list[Any]], truth: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A folder with a campaign of 30 draws that are out, and 10 labels."""
    made = tmp_path_factory.mktemp("work") / "here"
    made.mkdir()
    labels = [truth[name] for name in items["id"]]
    pq.write_table(pa.table({**items, "y": labels}), made / "labelled.parquet")
    (made / "answers.jsonl").write_text(ANSWERS)
    campaign = create_campaign(
        "spam", made / "labelled.parquet", storage=f"sqlite:///{made}/levelled.db", seed=1
    )
    campaign.ask(30, owner="ann")
    campaign.tell_all([{"draw": draw, "label": "ham"} for draw in range(1, 11)], owner="ann")
    return made


@pytest.fixture(scope="module")
def runs(folder: Path) -> list[Any]:
    """All runs of all commands: name, part, folder, exit code, stdout and stderr."""
    jobs = [[words, "1\n" * 40, PARTS] for words in COMMANDS.values()]
    (folder / "jobs.json").write_text(json.dumps(jobs))
    done = subprocess.run(
        [*INTERRUPTING, str(folder / "jobs.json")],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "LEVELLED_STORAGE": "sqlite:///levelled.db"},
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("command", COMMANDS)
def test_ctrl_c_ends_a_command_in_one_line_and_nothing_is_half_done(
    command: str, runs: list[Any]
) -> None:
    whole, *interrupted = [run[1:] for run in runs if run[0] == command]
    _, _, code, out, err = whole
    assert code == 0, err
    assert len(interrupted) == len(PARTS)
    for part, place, code, told, err in interrupted:
        assert "Traceback" not in err, f"at {part}: {err}"
        if command == "label" and code == 0:  # there Ctrl-C is as good as q
            assert re.search(r"\d+ labels? stored", err)
        else:
            assert code == 130, f"at {part}: {err}"
            assert err.splitlines()[-1] == "levelled: interrupted"
        storage = f"sqlite:///{place}/levelled.db"
        campaign = load_campaign("spam", storage=storage)
        assert campaign.audit() == []
        n_labels = len(campaign.state.answers)
        assert n_labels in ((10, 30) if command == "tell" else range(10, 51))
        report = Path(place, "report.html")
        assert not report.exists() or report.read_text().rstrip().endswith("</html>")
        assert out.startswith(told) or command in ("audit", "report", "ask", "label", "create")


def test_ctrl_c_while_modules_are_imported_is_one_line_too(tmp_path: Path) -> None:
    kill = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"
    (tmp_path / "click.py").write_text(kill)  # the first module that a command imports
    done = subprocess.run(
        [sys.executable, "-m", "levelled", "list"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
    )
    assert (done.returncode, done.stderr) == (130, "levelled: interrupted\n")


def test_ctrl_c_ends_a_server_in_one_line(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    serving = subprocess.Popen(
        [sys.executable, "-m", "levelled", "serve", "--port", str(free_port())],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    assert serving.stdout is not None
    assert "http://127.0.0.1" in serving.stdout.readline()
    serving.send_signal(signal.SIGINT)
    _, err = serving.communicate(timeout=120)
    assert "Traceback" not in err
    assert serving.returncode == 130
    assert err.splitlines()[-1] == "levelled: interrupted"
