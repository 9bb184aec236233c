"""Work on a Ray cluster."""

import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from itertools import chain
from types import ModuleType
from typing import Any

from levelled._optional import optional
from levelled.backends.clusters import LOST, check_place, check_server, run_batch, split_batches
from levelled.backends.local import Backend
from levelled.errors import InputError, LevelledError

__all__ = ["ray"]

_RETRIES = {"max_restarts": 3, "max_task_retries": 3}
_OBJECT_STORE = 200_000_000
_WAVE = 4
"""Batches a worker that are sent together: joblib returns results of Ray when all are there."""


def ray(address: str | None = None, *, workers: int = 1) -> Backend:
    """A backend that uses the Ray cluster at an address, or one of this machine.

    Without an address, a cluster with this number of processes runs as long as the work, unless
    this process has called `ray.init`. Workers need the same version of Levelled. Results are
    those of `local`, also if a worker is lost.
    """
    check_place(address, workers)
    _import(address)

    def mapped(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        from joblib import delayed

        with _pool(address, workers) as (run, n_workers):
            batches = split_batches(items, n_workers)
            size = _WAVE * n_workers
            for at in range(0, len(batches), size):
                wave = batches[at : at + size]
                with _silence():
                    results = run(delayed(run_batch)(function, batch) for batch in wave)
                yield from chain.from_iterable(results)

    return mapped


def _import(address: str | None) -> ModuleType:
    """The package, told to send no statistics and to serve a cluster of its own on loopback."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address is None:
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # loopback on Linux too
    return optional("ray", extra="ray")


@contextmanager
def _pool(address: str | None, workers: int) -> Iterator[tuple[Any, int]]:
    """A pool of joblib on the cluster, and its number of workers."""
    from joblib import Parallel, parallel_config

    package = _import(address)
    optional("ray.util.joblib", extra="ray").register_ray()
    connected_before = package.is_initialized()
    if not connected_before:
        _connect(package, address, workers)
    pool = None
    try:
        n_workers = int(package.cluster_resources().get("CPU", 0)) or 1
        with parallel_config(backend="ray", ray_remote_args=_RETRIES):
            pool = Parallel(n_jobs=n_workers, batch_size=1, pre_dispatch="all")
        with _silence():
            run = pool.__enter__()
        yield run, n_workers
    except package.exceptions.RayError as wrong:
        raise LevelledError(LOST.format(cluster="Ray")) from wrong
    finally:
        with _silence():
            if pool is not None:
                pool.__exit__(None, None, None)
            if not connected_before:
                package.shutdown()


def _connect(package: ModuleType, address: str | None, workers: int) -> None:
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None:
        package.init(
            num_cpus=workers,
            include_dashboard=False,
            object_store_memory=_OBJECT_STORE,
            **quiet,
        )
        return
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
