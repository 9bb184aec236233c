"""Write the golden files anew, from the code that is imported.

    PYTHONPATH=src:tests python -m golden.write

The files come from commit c7169ca, with the versions and on the machine that
`files/written_with.json` names. They hold what must not change: write one anew only for a change
of results that is wanted, and say in the commit which numbers changed and why. The databases of
before stay as they are: only those that are missing are written.
"""

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # sums of several threads round otherwise

from golden import campaigns, databases
from golden.commands import commands
from golden.draws import draws
from golden.surface import streamed, without_times, written_with

FILES = Path(__file__).parent / "files"
Produce = Callable[[Path], dict[str, Any]]


def _streamed(name: str) -> Produce:
    def produce(folder: Path) -> dict[str, Any]:
        with streamed():
            return campaigns.run(campaigns.STREAMED[name], folder)

    return produce


def _campaign(name: str) -> Produce:
    return lambda folder: campaigns.run(campaigns.CASES[name], folder)


def _database(name: str) -> Produce:
    return lambda folder: databases.go_on(name, read_dump(name), folder)


PRODUCED: dict[str, Produce] = {
    "draws": draws,
    "commands": commands,
    **{f"campaign {name}": _campaign(name) for name in campaigns.CASES},
    **{f"streamed {name}": _streamed(name) for name in campaigns.STREAMED},
    **{f"database {name}": _database(name) for name in databases.DATABASES},
}
"""What each golden file is produced by, in an empty folder that is the working directory."""


def produce(name: str, folder: Path) -> dict[str, Any]:
    """The content of a golden file as this code gives it."""
    made = json.loads(json.dumps(PRODUCED[name](folder), allow_nan=True))
    found: dict[str, Any] = without_times(made, folder)
    return found


def path_of(name: str) -> Path:
    return FILES / f"{name.replace(' ', '_')}.json"


def read_dump(name: str) -> str:
    return (FILES / f"{name}.sql").read_text()


def lines(value: dict[str, Any]) -> str:
    """JSON with a line for each item of its lists, so that a difference can be read."""
    parts = []
    for key, inner in value.items():
        if isinstance(inner, list) and inner:
            body = ",\n".join(json.dumps(one, ensure_ascii=False) for one in inner)
            parts.append(f"{json.dumps(key)}: [\n{body}\n]")
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(inner, ensure_ascii=False)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main(names: list[str]) -> None:
    for name in databases.DATABASES:
        if not (FILES / f"{name}.sql").exists():
            with tempfile.TemporaryDirectory() as folder:
                (FILES / f"{name}.sql").write_text(databases.dump(name, Path(folder)))
    for name in names or PRODUCED:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["LEVELLED_CACHE"] = f"{folder}/cache"
            before = Path.cwd()
            os.chdir(folder)
            try:
                path_of(name).write_text(lines(produce(name, Path(folder))))
            finally:
                os.chdir(before)
    (FILES / "written_with.json").write_text(lines(written_with()))


if __name__ == "__main__":
    main(sys.argv[1:])
