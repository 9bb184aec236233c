"""CPU of commands that labellers type, as a multiple of `python -c "import numpy"` in the same run.

python benchmarks/bench_start_up.py

Nearly all of it is imports. Each command runs once to write its bytecode; then all take turns,
because other work on the machine comes and goes.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROUNDS, ITEMS = 11, 5000
COMMAND = [sys.executable, "-m", "levelled"]
COMMANDS = {
    "import numpy": [sys.executable, "-c", "import numpy"],
    "import levelled": [sys.executable, "-c", "import levelled"],
    "levelled --help": [*COMMAND, "--help"],
    "levelled ask spam -n 1": [*COMMAND, "ask", "spam", "-n", "1", "--owner", "ann"],
    "levelled tell spam done.jsonl": [*COMMAND, "tell", "spam", "done.jsonl", "--owner", "ann"],
    "levelled status spam": [*COMMAND, "status", "spam"],
    "levelled list": [*COMMAND, "list"],
}


def cpu(words: list[str], folder: Path) -> float:
    """The seconds of CPU that a process takes."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run(words, cwd=folder, env=env, check=True, capture_output=True)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def make_campaign(folder: Path) -> None:
    """An adaptive campaign whose first items are drawn and out, and a file with a label."""
    p = np.random.default_rng(0).beta(0.15, 0.6, ITEMS)
    ids = [f"mail-{row}" for row in range(ITEMS)]
    pq.write_table(pa.table({"id": ids, "proba_spam": p, "proba_ham": 1 - p}), folder / "p.parquet")
    cpu([*COMMAND, "create", "spam", "--pool", "p.parquet", "--seed", "7"], folder)
    cpu([*COMMAND, "ask", "spam", "-n", "2", "--owner", "ann"], folder)
    (folder / "done.jsonl").write_text('{"draw": 1, "label": "ham"}\n')


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="bench-") as made:
        folder = Path(made)
        make_campaign(folder)
        for words in COMMANDS.values():
            cpu(words, folder)
        taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
        for _ in range(ROUNDS):
            for name, words in COMMANDS.items():
                taken[name].append(cpu(words, folder))
    yardstick = median(taken["import numpy"])
    print(f"| command | CPU, ms (median of {ROUNDS}) | to import numpy |\n|---|---|---|")
    for name, seconds in taken.items():
        print(f"| {name} | {1000 * median(seconds):.0f} | {median(seconds) / yardstick:.2f} |")


if __name__ == "__main__":
    main()
