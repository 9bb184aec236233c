"""Work on a Dask cluster."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from levelled._optional import optional
from levelled.backends.clusters import (
    LOST,
    PATIENCE,
    check_place,
    check_server,
    run_batch,
    split_batches,
)
from levelled.backends.local import Backend
from levelled.errors import InputError, LevelledError

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
        with _connect(address, workers) as client:
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
def _connect(address: str | None, workers: int) -> Iterator[Any]:
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
