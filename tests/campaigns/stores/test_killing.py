"""The smoke size of `benchmarks/kill_processes.py`; 200 rounds run by its command."""

import warnings
from pathlib import Path

import pytest

from kill_processes import kill_rounds
from postgres_server import PostgresServer


@pytest.fixture(autouse=True)
def forks_of_threads() -> None:
    """Python 3.12 warns of forks in a process with threads; these children are killed anyway."""
    warnings.filterwarnings("ignore", message=".*multi-threaded.*", category=DeprecationWarning)


def test_killed_labellers_lose_double_and_strand_nothing(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/levelled.db"
    assert "nothing lost" in kill_rounds(storage, tmp_path, rounds=2, processes=3, lease=1)


def test_a_killed_server_loses_doubles_and_strands_nothing(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    storage = postgres.new_database()
    outcome = kill_rounds(storage, tmp_path, rounds=4, processes=2, lease=1, server=postgres)
    assert "nothing lost" in outcome
