"""How often the path of a small campaign changes from one package of Levelled to another.

python benchmarks/count_package_changes.py [create|tell|report]

Runs `levelled create`, `ask`, `tell` and `report` on a campaign of 60 items and 5 labels, and
prints how many packages `create`, `tell` and `report` go through: 1 for the first, and 1 more for
each change. With the name of a command it prints the path of that command.

Counted are calls of Python functions in `levelled.*`: consecutive calls in different sub-packages
are one change. `_check`, `errors` and `draws`, which all packages use, are not counted, nor are
comprehensions and lambdas. Everything was imported before, by a campaign that is not counted.
"""

import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path
from types import FrameType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from levelled.cli.app import run

N_ITEMS, N_LABELS = 60, 5
NOT_COUNTED = ("_check", "errors", "draws")
BARS = {"create": 50, "tell": 15, "report": 60}


class CallPath:
    """The functions at which a call changes to another package; a profile function."""

    def __init__(self) -> None:
        self.package: str | None = None
        self.functions: list[str] = []

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        module, function = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        if event != "call" or not module.startswith("levelled.") or function.startswith("<"):
            return
        package = module.split(".")[1]
        if package not in NOT_COUNTED and package != self.package:
            self.package = package
            self.functions.append(f"{module} {function}")


def run_campaign(name: str, folder: Path) -> dict[str, CallPath]:
    """The path of each command of one campaign."""
    storage = ("--storage", f"sqlite:///{folder}/levelled.db")
    pool, answers = folder / "pool.parquet", folder / "answers.jsonl"
    return {
        "create": profile("create", name, "--pool", pool, "--budget", 20, "--seed", 7, *storage),
        "ask": profile("ask", name, "-n", N_LABELS, *storage),
        "tell": profile("tell", name, answers, *storage),
        "report": profile("report", name, "--out", folder / "report.html", *storage),
    }


def profile(*words: object) -> CallPath:
    path = CallPath()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        sys.setprofile(path)
        try:
            run([str(word) for word in words])
        except SystemExit as ended:
            if ended.code:
                raise RuntimeError(f"levelled {words[0]} failed") from ended
        finally:
            sys.setprofile(None)
    return path


def write_files(folder: Path) -> None:
    p = np.random.default_rng(0).beta(8, 1, N_ITEMS)
    ids = [f"i{k}" for k in range(N_ITEMS)]
    pq.write_table(pa.table({"id": ids, "proba_a": p, "proba_b": 1 - p}), folder / "pool.parquet")
    lines = [json.dumps({"draw": draw, "label": "a"}) for draw in range(1, N_LABELS + 1)]
    (folder / "answers.jsonl").write_text("\n".join(lines))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        write_files(Path(made))
        run_campaign("first", Path(made))
        paths = run_campaign("second", Path(made))
    for command in sys.argv[1:]:
        print(*paths[command].functions, sep="\n")
    for command, bar in BARS.items():
        print(f"{command}: {len(paths[command].functions)} packages (bar: {bar})")
