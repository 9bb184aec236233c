"""How results and long jobs look on a terminal. Data goes to stdout, the rest to stderr."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from levelled.backends import Backend

__all__ = ["show_rows", "tell", "with_progress"]

_errors = Console(stderr=True)


def tell(message: str) -> None:
    """A message to the person, kept apart from the data."""
    _errors.print(message, highlight=False, soft_wrap=True)


def show_rows(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, figures: bool = True
) -> None:
    """A table on stdout; `figures` says that all but the first column are to the right."""
    table = Table(title=title, title_justify="left")
    for at, column in enumerate(columns):
        table.add_column(column, justify="right" if at and figures else "left")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def with_progress(backend: Backend, title: str) -> Backend:
    """The same backend, with a bar that moves while its results are taken."""

    def mapped(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        results = backend(function, items)
        yield from track(results, title, len(items), console=_errors)

    return mapped
