import subprocess
import sys
from pathlib import Path

import pytest

from levelled import __version__


def levelled(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "levelled", *words], capture_output=True, text=True, cwd=cwd
    )


def test_the_version_is_printed() -> None:
    assert levelled("--version").stdout == f"levelled {__version__}\n"


def test_the_demo_shows_a_table_and_writes_a_figure(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    result = levelled("demo", "--repetitions", "20", "--labels", "30", "--out", str(tmp_path))
    assert result.returncode == 0, result.stderr
    for word in ("truth", "naive", "PURE", "LURE"):
        assert word in result.stdout
    assert (tmp_path / "digits.png").stat().st_size > 10_000
    assert "digits.csv" in result.stderr


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["nonsense"], 2, "nonsense"),
        (["demo", "--labels", "many"], 2, "--labels"),
        (["demo", "--labels", "1", "--repetitions", "2"], 2, "--labels"),
        (["demo", "--out", "/dev/null/x", "--repetitions", "2"], 1, "/dev/null"),
    ],
)
def test_bad_input_is_told_in_words(
    words: list[str], code: int, message: str, tmp_path: Path
) -> None:
    result = levelled(*words, cwd=tmp_path)
    assert result.returncode == code
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_help_waits_for_nothing_heavy() -> None:
    loaded = "import sys, levelled.cli.app; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert not {"numpy", "scipy", "pyarrow", "sqlite3", "matplotlib"} & {*result.stdout.split()}


def test_an_output_that_cannot_be_written_is_told() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("only Linux has a device that is always full")
    with full.open("w") as out:
        result = subprocess.run(
            [sys.executable, "-m", "levelled", "--version"],
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert result.returncode == 1
    assert result.stderr.startswith("levelled: ")
    assert "Traceback" not in result.stderr
