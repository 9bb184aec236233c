"""Backends: functions shaped like `map` that run work in processes or on a cluster."""

import io
import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from functools import partial
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from levelled._check import choice, whole
from levelled._optional import optional
from levelled.errors import InputError, LevelledError

__all__ = ["Backend", "dask", "local", "named", "ray"]

Backend = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]
"""Takes a function and its arguments; gives the results in the order of the arguments."""


def local(workers: int = 1) -> Backend:
    """A backend that uses this process alone, or several processes of this machine.

    >>> list(local()(abs, [-1, 2]))
    [1, 2]
    """
    if whole("workers", workers, least=1) == 1:
        return map

    def processes(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        from joblib import Parallel, delayed
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        run = Parallel(n_jobs=workers, return_as="generator")
        try:
            yield from run(delayed(function)(item) for item in items)
        except TerminatedWorkerError as wrong:
            raise LevelledError(
                "One of the processes was ended by the system, most often for lack of memory. Run "
                "it again, with fewer workers if necessary: saved results are kept."
            ) from wrong

    return processes


PATIENCE = 5
"""Seconds that a server has to answer."""

LOST = (
    "Workers of the {cluster} cluster ended several times during the same work, most often for "
    "lack of memory. Run it again, with more memory a worker: saved results are kept."
)

_BATCHES = 16
"""Batches a worker: enough that all end at about the same time, and that sending costs little."""

_SECOND = ("tls", "ws", "wss")
"""Protocols in which the client sends the first bytes."""

_ONE_AT_A_TIME = threading.Lock()


def run_batch(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """The results of a batch, computed by a worker.

    A worker of Dask may have several threads. They take turns, because some of the packages that
    studies compare with draw from random numbers that a process has once.
    """
    with _ONE_AT_A_TIME:
        return [function(item) for item in items]


def split_batches(items: Sequence[Any], workers: int) -> list[Sequence[Any]]:
    """Items in batches, because a cluster needs milliseconds for each task however small it is.

    >>> split_batches(range(5), workers=1)
    [range(0, 1), range(1, 2), range(2, 3), range(3, 4), range(4, 5)]
    >>> len(split_batches(range(100_000), workers=2))
    32
    """
    size = max(1, -(-len(items) // (_BATCHES * workers)))
    return [items[at : at + size] for at in range(0, len(items), size)]


def check_place(address: str | None, workers: int) -> None:
    """Refuse a number of workers for a cluster that has its own."""
    if whole("workers", workers, least=1) > 1 and address is not None:
        raise InputError(
            f"workers={workers} does not go with an address: the cluster at {address} has its own "
            f"workers, and all of them are used."
        )


def check_server(address: str, cluster: str, start: str) -> None:
    """Refuse an address at which no such cluster answers, after a few seconds.

    Schedulers of Dask and Ray send the first bytes of a connection, so a server that waits for
    them, such as a dashboard, is something else. Both clients would wait for it for minutes.
    """
    url = urlsplit(address if "://" in address else f"tcp://{address}")
    try:
        host, port = url.hostname, url.port
    except ValueError:
        host = port = None
    if not host or not port:
        raise InputError(f"{address!r} is no address of a {cluster} cluster: write HOST:PORT.")
    try:
        with socket.create_connection((host, port), PATIENCE) as connection:
            connection.settimeout(PATIENCE)
            answers = url.scheme in _SECOND or bool(connection.recv(1))
    except OSError:
        answers = False
    if not answers:
        raise InputError(
            f"No {cluster} cluster answers at {address}. Start one with {start}, or correct the "
            f"address: it is not that of the dashboard."
        )


_ANY_SIZE = {"distributed.admin.large-graph-warning-threshold": "1TB"}
"""A function may hold a whole pool, of which Dask would warn."""


def dask(address: str | None = None, *, workers: int = 1) -> Backend:
    """A backend that uses the Dask cluster at an address, or one of this machine.

    Without an address, a cluster with this number of processes runs as long as the work. Workers
    need the same version of Levelled. Results are those of `local`, also if a worker is lost.
    """
    check_place(address, workers)
    distributed = optional("distributed", extra="dask")

    def mapped(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        with _connect_dask(address, workers) as client:
            batches = split_batches(items, sum(client.ncores().values()))
            with optional("dask.config", extra="dask").set(_ANY_SIZE):
                futures = client.map(partial(run_batch, function), batches, pure=False)
            try:
                for future in futures:
                    yield from future.result()
            except distributed.KilledWorker as wrong:
                raise LevelledError(LOST.format(cluster="Dask")) from wrong

    return mapped


@contextmanager
def _connect_dask(address: str | None, workers: int) -> Iterator[Any]:
    """A client of the cluster; one that was started here ends with it."""
    distributed = optional("distributed", extra="dask")
    if address is not None:
        check_server(address, "Dask", "'dask scheduler'")
        with distributed.Client(address, timeout=PATIENCE, set_as_default=False) as client:
            _check_workers(client, address)
            yield client
        return
    with (
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        try:
            yield client
        finally:  # a cluster that closes while it replaces a worker fails
            with suppress(TimeoutError):
                client.wait_for_workers(workers, timeout=PATIENCE)


def _check_workers(client: Any, address: str) -> None:  # noqa: ANN401
    """Refuse a cluster whose workers are missing or have another version of Levelled."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise InputError(
            f"The Dask cluster at {address} has no worker. Start one with 'dask worker {address}'."
        ) from None
    versions = client.get_versions(packages=["levelled"])
    own = versions["client"]["packages"]["levelled"]
    for worker, about in versions["workers"].items():
        if (theirs := about["packages"]["levelled"]) != own:
            raise InputError(
                f"The worker {worker} of the Dask cluster has levelled {theirs}, and this is "
                f"{own}: install the same version on all machines."
            )


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
        with _connect_ray(address, workers) as package:
            batches = split_batches(items, int(package.cluster_resources().get("CPU", 1)))
            task = package.remote(run_batch).options(max_retries=_RETRIES)
            shared = package.put(function)
            futures = [task.remote(shared, batch) for batch in batches]
            try:
                for future in futures:
                    with redirect_stdout(io.StringIO()):  # Ray prints of its workers there
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
def _connect_ray(address: str | None, workers: int) -> Iterator[ModuleType]:
    """The package with a connection to the cluster; one that was started here ends with it."""
    package = _import(address)
    if package.is_initialized():
        yield package
        return
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is not None:
        check_server(address, "Ray", "'ray start --head'")
        try:
            package.init(address=address, **quiet)
        except (ConnectionError, ValueError, RuntimeError) as wrong:
            raise InputError(
                f"The Ray cluster at {address} cannot be used: {wrong}. If it asks for a token, "
                f"set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN."
            ) from wrong
    else:
        own = {"include_dashboard": False, "object_store_memory": _OBJECT_STORE}
        package.init(num_cpus=workers, **own, **quiet)
    try:
        yield package
    finally:
        with redirect_stdout(io.StringIO()):
            package.shutdown()


_CLUSTERS = {"dask": dask, "ray": ray}


def named(name: str, *, workers: int = 1, address: str | None = None) -> Backend:
    """The backend of that name: local, dask or ray.

    >>> list(named("local")(abs, [-1, 2]))
    [1, 2]
    """
    if choice("backend", name, ("local", *_CLUSTERS)) != "local":
        return _CLUSTERS[name](address, workers=workers)
    if address is not None:
        raise InputError(
            f"The address {address} needs the kind of its cluster too: the backend dask or ray."
        )
    return local(workers)
