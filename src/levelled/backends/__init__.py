"""Functions shaped like `map`, so that nobody who uses one learns what runs the work."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from levelled._check import whole

__all__ = ["Backend", "local"]

Backend = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]
"""A function and its arguments -> the results, in the order of the arguments."""


def local(workers: int = 1) -> Backend:
    """This process alone, or several processes of this machine.

    >>> list(local()(abs, [-1, 2]))
    [1, 2]
    """
    if whole("workers", workers, least=1) == 1:
        return map

    def processes(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        from joblib import Parallel, delayed

        run = Parallel(n_jobs=workers, return_as="generator")
        yield from run(delayed(function)(item) for item in items)

    return processes
