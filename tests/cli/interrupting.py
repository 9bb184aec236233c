"""Commands that are interrupted after a number of function calls: interrupting.py JOBS.

JOBS is a file of JSON: a list of [words, given, parts]. Each command runs once as a whole, on
copies of the files in this folder, to import what it needs; once to count its calls; then once for
each of `parts`, with a SIGINT after this part of them. All are forks of one process. Prints for
each run but the first a line of JSON: its name, part, folder, exit code, stdout and stderr.
"""

import json
import os
import shutil
import signal
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any


def run(folder: Path, words: list[str], given: str, calls: int) -> tuple[int, int]:
    """Run a command in a folder; returns its exit code and the number of calls it made."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        (folder / "given").write_text(given)
        for descriptor, name, mode in ((0, "given", "r"), (1, "out", "w"), (2, "err", "w")):
            with (folder / name).open(mode) as file:
                os.dup2(file.fileno(), descriptor)
        counted = 0

        def count(_: FrameType, event: str, __: Any) -> None:  # noqa: ANN401
            nonlocal counted
            counted += event == "call"
            if counted == calls and event == "call":
                os.kill(os.getpid(), signal.SIGINT)

        from levelled.cli import main

        sys.argv = ["levelled", *words]
        code: object = 0
        try:
            sys.setprofile(count)
            main()
        except SystemExit as ended:
            code = ended.code
        except BaseException:  # noqa: BLE001
            sys.excepthook(*sys.exc_info())
            code = 99
        finally:
            sys.setprofile(None)
            sys.stdout.flush()
            sys.stderr.flush()
            names = [name for name in sys.modules if name != "__main__"]
            with os.fdopen(writer, "w") as pipe:
                json.dump([code or 0, counted, names], pipe)
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        its_code, its_calls, names = json.load(pipe)
    os.waitpid(child, 0)
    for name in names:  # once here, and not again in each fork
        with suppress(ImportError):
            import_module(name)
    return its_code, its_calls


def main(jobs: Path) -> None:
    here = jobs.parent
    for number, (words, given, parts) in enumerate(json.loads(jobs.read_text())):
        total = 0
        for part in ["first", 0, *parts]:
            folder = here.with_name(f"{here.name}-{number}-{part}")
            shutil.copytree(here, folder)
            moment = int(part * total) if part in parts else 0
            code, total_here = run(folder, words, given, moment)
            if part == "first":
                continue
            total = total or total_here
            out, err = ((folder / name).read_text() for name in ("out", "err"))
            said = [words[0], part, str(folder), code, out, err]
            os.write(1, f"{json.dumps(said)}\n".encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
