"""The commands of labellers import what they need and no more: it is most of their time."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from levelled.campaigns import create_campaign

RUN = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
from levelled.cli import main
main()
"""
NUMPY = "import sys, numpy; print(*sys.modules, file=sys.stderr)"
HEAVY = {
    *("sqlalchemy", "psycopg", "pyarrow", "pandas", "scipy", "sklearn", "joblib", "matplotlib"),
    *("jinja2", "torch", "levelled.sources.pool", "levelled.samplers", "levelled.surrogates"),
    *("levelled.campaigns.create", "levelled.campaigns.drawing.pools", "levelled.reports"),
    *(
        *("levelled.estimators", "typer", "rich", "pydantic", "importlib.metadata", "email"),
        "levelled.campaigns.figures",
        "levelled.learning",
        "levelled.simulation",
        "levelled.web",
    ),
}
METRICS = {"levelled.metrics", "levelled.predictions"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a campaign of which an item is out, and a file with its label."""
    ids = [f"m{n}" for n in range(50)]
    pq.write_table(pa.table({"id": ids, "pred": ["ham", "spam"] * 25}), tmp_path / "pool.parquet")
    campaign = create_campaign(
        "spam", tmp_path / "pool.parquet", storage=tmp_path / "levelled.db", seed=7, kind="static"
    )
    campaign.ask(1, owner="ann")
    (tmp_path / "done.jsonl").write_text('{"draw": 1, "label": "ham"}\n')
    return tmp_path


@pytest.mark.parametrize(
    ("words", "most", "unneeded"),
    [
        ("ask spam -n 1 --owner ann", 140, HEAVY | METRICS),
        ("tell spam done.jsonl --owner ann", 150, HEAVY),  # its labels are checked by the metrics
        ("status spam", 140, HEAVY | METRICS),
        ("list", 140, HEAVY | METRICS),
    ],
)
def test_a_command_of_labellers_imports_little_beside_numpy(
    folder: Path, words: str, most: int, unneeded: set[str]
) -> None:
    numpy = modules_of(NUMPY, [], folder)
    for _ in range(2):  # the second begins with what the first kept
        modules = modules_of(RUN, words.split(), folder)
        assert not modules & unneeded
        assert len(modules - numpy) <= most


def modules_of(code: str, words: list[str], folder: Path) -> set[str]:
    """The modules that a process has imported at its end, as it says in its last line."""
    env = {**os.environ, "LEVELLED_CACHE": str(folder / "home" / "cache")}
    command = [sys.executable, "-c", code, *words]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {*done.stderr.splitlines()[-1].split()}
