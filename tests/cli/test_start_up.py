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
HEAVY = {
    *("sqlalchemy", "psycopg", "pyarrow", "pandas", "scipy", "sklearn", "joblib", "matplotlib"),
    *("jinja2", "torch", "levelled.sources.pool", "levelled.samplers", "levelled.surrogates"),
    *("levelled.campaigns.create", "levelled.campaigns.drawing.pools", "levelled.reports"),
    *(
        "levelled.estimators",
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
        ("ask spam -n 1 --owner ann", 450, HEAVY | METRICS),
        ("tell spam done.jsonl --owner ann", 500, HEAVY),  # its labels are checked by the metrics
        ("status spam", 450, HEAVY | METRICS),
        ("list", 450, HEAVY | METRICS),
    ],
)
def test_a_command_of_labellers_imports_little(
    folder: Path, words: str, most: int, unneeded: set[str]
) -> None:
    for _ in range(2):  # the second begins with what the first kept
        done = subprocess.run(
            [sys.executable, "-c", RUN, *words.split()],
            cwd=folder,
            env={**os.environ, "LEVELLED_CACHE": str(folder / "home" / "cache")},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        modules = {*done.stderr.splitlines()[-1].split()}
        assert not modules & unneeded
        assert len(modules) <= most
