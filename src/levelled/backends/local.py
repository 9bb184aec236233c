"""Work in this process, or in several processes of this machine."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from levelled._check import whole
from levelled.errors import LevelledError

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
