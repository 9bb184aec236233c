"""Work on a Ray cluster."""

import io
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from types import ModuleType
from typing import Any

from levelled._optional import optional
from levelled.backends.clusters import LOST, check_place, check_server, run_batch, split_batches
from levelled.backends.local import Backend
from levelled.errors import InputError, LevelledError

_RETRIES = 3
"""How often work is repeated whose worker was lost, as on Dask."""

_OBJECT_STORE = 500_000_000
"""Bytes for functions and results, a small part of the memory that Ray would take."""


def ray(address: str | None = None, *, workers: int = 1) -> Backend:
    """A backend that uses the Ray cluster at an address, or one of this machine.

    Without an address, a cluster with this number of processes runs as long as the work, unless
    this process has called `ray.init`. Workers need the same version of Levelled. Results are
    those of `local`, also if a worker is lost.
    """
    check_place(address, workers)
    _import(address)

    def mapped(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        with _connect(address, workers) as package:
            batches = split_batches(items, int(package.cluster_resources().get("CPU", 1)))
            task = package.remote(run_batch).options(max_retries=_RETRIES)
            shared = package.put(function)
            futures = [task.remote(shared, batch) for batch in batches]
            try:
                for future in futures:
                    with _silence():
                        results = package.get(future)
                    yield from results
            except package.exceptions.RayTaskError as wrong:
                raise wrong.cause from None
            except package.exceptions.RayError as wrong:
                raise LevelledError(LOST.format(cluster="Ray")) from wrong

    return mapped


def _import(address: str | None) -> ModuleType:
    """The package, told to send no statistics and to use loopback alone on this machine."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address is None or address.startswith(("127.0.0.1:", "localhost:")):
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # loopback on Linux too
    return optional("ray", extra="ray")


@contextmanager
def _connect(address: str | None, workers: int) -> Iterator[ModuleType]:
    """The package with a connection to the cluster; one that was started here ends with it."""
    package = _import(address)
    if package.is_initialized():
        yield package
        return
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is not None:
        _join(package, address, quiet)
    else:
        own = {"include_dashboard": False, "object_store_memory": _OBJECT_STORE}
        package.init(num_cpus=workers, **own, **quiet)
    try:
        yield package
    finally:
        with _silence():
            package.shutdown()


def _join(package: ModuleType, address: str, quiet: Mapping[str, object]) -> None:
    check_server(address, "Ray", "'ray start --head'")
    try:
        package.init(address=address, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as wrong:
        raise InputError(
            f"The Ray cluster at {address} cannot be used: {wrong}. If it asks for a token, set "
            f"RAY_AUTH_MODE=token and RAY_AUTH_TOKEN."
        ) from wrong


def _silence() -> redirect_stdout[io.StringIO]:
    """Keep what Ray prints of its workers out of the data on stdout."""
    return redirect_stdout(io.StringIO())
