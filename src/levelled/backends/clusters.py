"""What backends on clusters share: batches of work, and addresses that answer."""

import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from levelled._check import whole
from levelled.errors import InputError

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
