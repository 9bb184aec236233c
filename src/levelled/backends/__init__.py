"""Backends: functions shaped like `map` that run work in processes or on a cluster."""

from levelled._check import choice
from levelled.backends.clusters import dask, ray
from levelled.backends.local import Backend, local
from levelled.errors import InputError

__all__ = ["Backend", "dask", "local", "named", "ray"]

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
