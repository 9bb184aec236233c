"""Options that all tests share."""

import importlib.util
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from postgres_server import PostgresServer, find_binaries, run_server

# Arrays here are small: threads of BLAS and torch would only compete with the other workers.
os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when NumPy or torch is first imported

# No deadline, because a busy machine is not a bug; derandomised, because a test must not flake.
settings.register_profile("levelled", deadline=None, derandomize=True)
settings.load_profile("levelled")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--seeds", default="0", help="which seeds the random tests run with: 7, or 0-99"
    )


def pytest_configure(config: pytest.Config) -> None:
    modules = {"psycopg" if one == "postgres" else one for one in _required() - {"registry"}}
    missing = sorted(part for part in modules if importlib.util.find_spec(part) is None)
    if missing:
        pytest.exit(f"LEVELLED_REQUIRE names what is not there: {', '.join(missing)}", 2)


def _required() -> set[str]:
    """Names of what must not be skipped.

    Modules, `registry` for fetching packages, and `postgres` for the server and its driver.
    """
    return set(filter(None, os.environ.get("LEVELLED_REQUIRE", "").split(",")))


@pytest.fixture
def registry() -> None:
    """Skip a test that fetches packages, unless it is asked for."""
    if "registry" not in _required():
        pytest.skip("fetches packages: only with LEVELLED_REQUIRE=registry")


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
