"""How many modules and packages of Levelled a reader meets on the way of a small campaign.

python benchmarks/count_package_changes.py [create|ask|tell|estimate|report]

Runs `levelled create`, `ask`, `tell`, `estimate` and `report` on two campaigns of 60 items and 5
labels in one process, and prints

- the modules of which a command of the first campaign calls a function: also those that are called
  while a module is imported, which is part of the way the first time;
- the packages that a command of the second campaign goes through, when all is imported: 1 for the
  first, and 1 more for each change from one call to the next;
- the lines and files of the product, and the median length of a function in lines.

With the name of a command it prints both of that command. `_check`, `errors` and `draws`, which all
packages use, are not counted, nor are comprehensions and lambdas.
"""

import ast
import contextlib
import inspect
import io
import json
import statistics
import sys
import tempfile
from pathlib import Path
from types import FrameType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import levelled
from levelled.cli.app import run

N_ITEMS, N_LABELS = 60, 5
NOT_COUNTED = ("_check", "errors", "draws")
PACKAGE_BARS = {"create": 50, "tell": 15, "report": 60}
MODULE_BARS = {"create": 60, "ask": 45, "tell": 22, "estimate": 40}


class CallPath:
    """The modules of called functions, and those functions at which the package changes.

    It is a profile function.
    """

    def __init__(self) -> None:
        self.package: str | None = None
        self.functions: list[str] = []
        self.modules: set[str] = set()

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        module, function = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        if event != "call" or not module.startswith("levelled.") or function.startswith("<"):
            return
        package = module.split(".")[1]
        if package in NOT_COUNTED or not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            return  # the latter is the body of a class
        self.modules.add(module)
        if package != self.package:
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
        "estimate": profile("estimate", name, *storage),
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


def measure_house(folder: Path) -> str:
    """The size of all modules in a folder."""
    texts = [path.read_text() for path in sorted(folder.rglob("*.py"))]
    functions = [
        node.end_lineno - node.lineno + 1
        for text in texts
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None
    ]
    n_lines = sum(len(text.splitlines()) for text in texts)
    median = statistics.median(functions)
    return (
        f"{n_lines} lines (bar: 38500) in {len(texts)} files (bar: 200); "
        f"the median function has {median:g} lines (bar: 9)"
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        write_files(Path(made))
        first = run_campaign("first", Path(made))
        second = run_campaign("second", Path(made))
    for command in sys.argv[1:]:
        print(*sorted(first[command].modules), *second[command].functions, sep="\n")
    for command, bar in MODULE_BARS.items():
        print(f"{command}: {len(first[command].modules)} modules (bar: {bar})")
    for command, bar in PACKAGE_BARS.items():
        print(f"{command}: {len(second[command].functions)} packages (bar: {bar})")
    print(measure_house(Path(levelled.__file__).parent))
