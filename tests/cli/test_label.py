"""Labelling in the terminal, through a real pseudo-terminal and through a pipe."""

import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import levelled as lv
from cli.terminal import Levelled
from levelled.campaigns import Campaign

HOSTILE = "hello \x1b[31mred\x1b]0;title\x07 \u202ebackwards [bold]x[/bold]"
LONG = "\n\n".join(f"Paragraph {n}. " + "Many words follow. " * 10 for n in range(12))
CONTROL = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[()][0-9A-B]|\x1b[=>]")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")


class Terminal:
    """A terminal in which somebody runs `levelled label`."""

    def __init__(self, words: list[str], folder: Path, columns: int = 80, rows: int = 24) -> None:
        import pty
        import termios

        self.ours, theirs = pty.openpty()
        termios.tcsetwinsize(self.ours, (rows, columns))
        env = {**os.environ, "TERM": "xterm-256color", "LEVELLED_CACHE": str(folder)}
        for name in ("COLUMNS", "LINES", "NO_COLOR", "LEVELLED_OWNER"):
            env.pop(name, None)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "levelled", *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=folder,
            env=env,
            start_new_session=True,
        )
        os.close(theirs)
        self.raw = b""

    def expect(self, text: str, seconds: float = 120) -> str:
        """Wait until the text was printed since the last keys; all that was printed since."""
        until = time.monotonic() + seconds
        while text not in (seen := self.seen()):
            if not select.select([self.ours], [], [], max(until - time.monotonic(), 0))[0]:
                raise AssertionError(f"{text!r} was not shown. This was:\n{seen}")
            try:
                self.raw += os.read(self.ours, 65536)
            except OSError as ended:  # the process has ended
                raise AssertionError(f"{text!r} was never shown:\n{seen}") from ended
        return seen

    def seen(self) -> str:
        return CONTROL.sub(b"", self.raw).decode(errors="replace").replace("\r", "")

    def press(self, keys: str, expect: str) -> str:
        """Press keys, and wait for what they bring."""
        self.raw = b""
        os.write(self.ours, keys.encode())
        return self.expect(expect)

    def resize(self, columns: int, rows: int, expect: str) -> str:
        import termios

        self.raw = b""
        termios.tcsetwinsize(self.ours, (rows, columns))
        return self.expect(expect)

    def end(self, keys: str = "") -> str:
        """Press the last keys and wait for the end; all that was printed."""
        self.raw = b""
        os.write(self.ours, keys.encode())
        try:
            while data := os.read(self.ours, 65536):
                self.raw += data
        except OSError:
            pass
        assert self.process.wait(120) == 0, self.seen()
        return self.seen()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.ours)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Any]:
    """A function that starts `levelled label` in a terminal."""
    terminals: list[Terminal] = []

    def start(name: str = "spam", owner: str = "ann", **size: int) -> Terminal:
        terminals.append(Terminal(["label", name, "--owner", owner], tmp_path, **size))
        return terminals[-1]

    yield start
    for one in terminals:
        one.close()


def campaign(folder: Path, texts: list[Any], metric: str = "error", **more: Any) -> Campaign:  # noqa: ANN401
    """A campaign about these texts, whose predictions a labeller must not see."""
    n = len(texts)
    columns = {"id": [f"r{i}" for i in range(n)], "text": texts}
    if metric == "error":
        columns |= {"proba_ham": [0.25] * n, "proba_spam": [0.75] * n}
    pq.write_table(pa.table(columns), folder / "pool.parquet")
    settings = {"seed": 7, "budget": min(n, 10), "kind": "uniform", **more}
    path = f"sqlite:///{folder / 'levelled.db'}"
    return lv.create_campaign("spam", folder / "pool.parquet", metric, storage=path, **settings)


def labels(made: Campaign) -> dict[int, object]:
    return {draw: answer.label for draw, answer in sorted(made.state.answers.items())}


def test_a_key_labels_an_item_and_shows_the_next(tmp_path: Path, started: Any) -> None:  # noqa: ANN401
    made = campaign(tmp_path, [f"message {i}" for i in range(40)], guidelines="# Be **fair**")
    terminal = started()
    seen = terminal.expect("q quit")
    assert "ann · 0 of 10 labels · item 1" in seen
    assert "[1] ham  [2] spam" in seen
    assert "0.75" not in seen, "labellers work blind"
    terminal.press("1", "1 of 10 labels · item 2")
    terminal.press("2", "2 of 10 labels · item 3")
    terminal.press(" ", "picks nothing here")
    assert labels(made) == {1: "ham", 2: "spam"}
    terminal.press("u", "the label of item 2 is withdrawn")
    terminal.press("\x7f", "the label of item 1 is withdrawn")
    assert labels(made) == {}
    terminal.press("g", "Be fair")
    terminal.press("q", "item 1")
    terminal.press("?", "any key: back")
    terminal.press("x", "item 1")
    terminal.press("f", "Note:")
    terminal.press("strange", "Note: strange")
    terminal.press("\r", "note: strange")
    terminal.press("2", "1 of 10 labels · item 2")
    terminal.press("s", "Skip: why?")
    terminal.press("dull\r", "item 2 goes to another labeller")
    terminal.press("x", "Cannot be labelled by anybody: why?")
    terminal.press("\x1b", "item 3")
    terminal.press("x", "why?")
    terminal.press("empty\r", "item 4")
    assert "1 label stored; 1 of 10 labels" in terminal.end("q")
    state = made.state
    assert (labels(made), state.answers[1].note) == ({1: "spam"}, "strange")
    assert state.skipped == {2: ("ann",)}
    assert {draw: mark.reason for draw, mark in state.unlabelable.items()} == {3: "empty"}


def test_it_resumes_with_the_open_item_and_ends_with_the_budget(
    tmp_path: Path,
    started: Any,  # noqa: ANN401
) -> None:
    made = campaign(tmp_path, [f"message {i}" for i in range(40)], budget=3)
    terminal = started()
    terminal.expect("item 1")
    terminal.press("1", "item 2")
    os.kill(terminal.process.pid, signal.SIGKILL)
    again = started()
    again.expect("1 of 3 labels · item 2")
    again.press("1", "item 3")
    assert "3 of 3 labels: the budget" in again.end("2")
    assert labels(made) == {1: "ham", 2: "ham", 3: "spam"}


def test_ctrl_c_leaves_the_terminal_as_it_was(tmp_path: Path, started: Any) -> None:  # noqa: ANN401
    import termios

    made = campaign(tmp_path, [f"message {i}" for i in range(40)])
    terminal = started()
    before = termios.tcgetattr(terminal.ours)
    terminal.expect("item 1")
    terminal.press("1", "item 2")
    assert termios.tcgetattr(terminal.ours)[3] != before[3]
    os.killpg(terminal.process.pid, signal.SIGINT)
    ended = terminal.end()
    assert "1 label stored" in ended
    assert labels(made) == {1: "ham"}
    assert not made.state.leases, "the open item is given back"


def test_an_item_is_kept_while_the_terminal_runs_and_no_longer(
    tmp_path: Path,
    started: Any,  # noqa: ANN401
) -> None:
    made = campaign(tmp_path, [f"message {i}" for i in range(40)], away_seconds=1)
    terminal = started()
    terminal.expect("item 1")
    first = made.state.leases[1]
    deadline = time.monotonic() + 120
    while made.state.leases[1].until <= first.until:  # it is renewed though nobody presses a key
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert made.state.leases[1].since == first.since
    assert "given back" in terminal.end("q")
    assert not made.state.leases


def test_the_whole_of_a_long_text_can_be_read(tmp_path: Path, started: Any) -> None:  # noqa: ANN401
    campaign(tmp_path, [LONG] * 20)
    terminal = started(columns=60, rows=20)
    seen = terminal.expect("q quit")
    assert "Paragraph 0." in seen
    assert "Paragraph 9." not in seen
    total = int(re.findall(r"lines 1 to \d+ of (\d+)", seen)[0])
    assert "Paragraph 11." in terminal.press("\x1b[F", f"to {total} of {total}")
    assert "Paragraph 0." in terminal.press("\x1b[H", "lines 1 to")
    terminal.press("\x1b[B", "lines 2 to")
    terminal.press("k", "lines 1 to")
    terminal.press("\x1b[6~", "lines 15 to" if total > 30 else "lines")
    narrow = terminal.resize(30, 12, "q quit")
    assert max(len(line) for line in narrow.splitlines()[-12:]) <= 30
    terminal.resize(200, 50, "q quit")
    terminal.end("q")


def test_text_cannot_act_upon_the_terminal(tmp_path: Path, started: Any) -> None:  # noqa: ANN401
    chat = [
        {"role": "us\x1b[31mer", "content": HOSTILE},
        {"role": "tool", "content": f"# {HOSTILE}"},
    ]
    for texts in ([HOSTILE] * 20, [f"**b** {HOSTILE} &#x202e; &#27;[31m"] * 20, [chat] * 20):
        (tmp_path / "levelled.db").unlink(missing_ok=True)
        campaign(tmp_path, texts)
        terminal = started()
        seen = terminal.expect("q quit")
        for forbidden in (b"\x1b[31mred", b"\x1b]0;", b"\x07", "\u202e".encode()):
            assert forbidden not in terminal.raw
        assert "[bold]x[/bold]" in seen
        terminal.end("q")


def test_a_rubric_is_asked_question_by_question(tmp_path: Path, started: Any) -> None:  # noqa: ANN401
    questions = ["tone=rude,neutral,kind", "clarity=1:5", "price=number", "why=text"]
    made = campaign(tmp_path, ["one", "two", "three"] * 10, "mean:1:5", questions=questions)
    terminal = started()
    terminal.expect("label?  [1]  [2]  [3]  [4]  [5]")
    terminal.press("4", "tone?  [1] rude")
    terminal.press("\x7f", "label?")
    terminal.press("3", "tone?")
    terminal.press("2", "clarity?  [1]")
    terminal.press("\r", "price: a number?")
    terminal.press("cheap\r", "must be a number; 'cheap' is none")
    terminal.press("2.5\r", "why?")
    terminal.press("weil schön\r", "1 of 10 labels · item 2")
    terminal.press("5", "tone?")
    terminal.press("\r", "clarity?")
    terminal.press("\r", "price")
    terminal.press("\r", "why?")
    terminal.press("\x1b", "price")
    terminal.press("\r", "why?")
    terminal.press("\r", "2 of 10 labels")
    terminal.end("q")
    first, second = made.state.answers[1], made.state.answers[2]
    assert (first.label, first.rubric) == (
        3,
        {"tone": "neutral", "price": 2.5, "why": "weil schön"},
    )
    assert (second.label, second.rubric) == (5, {})


def test_a_number_is_typed(tmp_path: Path, started: Any) -> None:  # noqa: ANN401
    made = campaign(tmp_path, ["one"] * 20, "mean:0:100")
    terminal = started()
    terminal.expect("label: a number from 0 to 100?")
    terminal.press("4", "100? 4")
    terminal.press("2\x7f3.5\r", "item 2")
    terminal.press("\r", "Esc: back")
    terminal.press("500\r", "declared to lie between 0 and 100")
    terminal.end("q")
    assert labels(made) == {1: 43.5}


@pytest.mark.parametrize(("columns", "beside"), [(80, False), (120, True)])
def test_a_pair_is_side_by_side_where_there_is_room(
    tmp_path: Path,
    started: Any,  # noqa: ANN401
    columns: int,
    beside: bool,
) -> None:
    answers = {"id": [*range(20)], "a": ["first answer"] * 20, "b": ["other answer"] * 20}
    path = f"sqlite:///{tmp_path / 'levelled.db'}"
    more: dict[str, Any] = {"storage": path, "seed": 1, "pair": ["a", "b"], "kind": "uniform"}
    made = lv.create_campaign("spam", pa.table(answers), "share:a", budget=5, **more)
    terminal = started(columns=columns)
    seen = terminal.expect("[1] left  [2] right  [3] tie")
    lines = [line for line in seen.splitlines() if "first answer" in line]
    assert ("other answer" in lines[0]) == beside
    terminal.press("1", "item 2")
    terminal.press("3", "item 3")
    terminal.end("q")
    left = made.to_table().to_pylist()[0]["shown_left"]
    assert labels(made) == {1: left, 2: "tie"}


def test_lines_of_a_pipe_are_keys_or_labels(levelled: Levelled, tmp_path: Path) -> None:
    made = campaign(tmp_path, [HOSTILE] * 20, questions=["tone=rude,kind"], guidelines="Be fair")
    lines = ["g", "spam", "2", "1", "", "u", "f", "odd", "ham", "rude", "eggs", "", "s", "dull"]
    done = levelled("label", "spam", "--owner", "ann", given="\n".join(lines))
    assert done.code == 0, done.err
    assert "Be fair" in done.out
    assert "\x1b" not in done.out
    assert "'eggs'" in done.out, "a label that is no class is refused, and asked again"
    first, second = made.state.answers[1], made.state.answers[2]
    assert (first.label, first.rubric, first.note) == ("spam", {"tone": "kind"}, None)
    assert (second.label, second.rubric, second.note) == ("ham", {"tone": "rude"}, "odd")
    assert made.state.skipped == {3: ("ann",)}
    assert done.err.startswith("2 labels stored; 2 of 10 labels")


def test_a_labeller_needs_a_name(levelled: Levelled, tmp_path: Path) -> None:
    campaign(tmp_path, ["x"] * 20)
    refused = levelled("label", "spam")
    assert (refused.code, "--owner NAME" in refused.err) == (2, True)
    closed = lv.load_campaign("spam")
    closed.close()
    refused = levelled("label", "spam", "--owner", "ann")
    assert refused.code == 1
    assert refused.err.startswith("levelled: 'spam' is closed")
    assert "levelled change spam --reopen" in refused.err
