"""Output of commands: data goes to stdout, messages and progress to stderr."""

import csv
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from levelled.cli.options import Form

if TYPE_CHECKING:
    from levelled.backends import Backend

_JOINERS = "\u200c\u200d"
"""Not printable, but needed to write Persian and many emoji."""

_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that JSON does not escape and that can harm a terminal or an encoder."""


def plain(value: object, most: int = 200) -> str:
    r"""Text from outside as one safe line: control characters are escaped, the length is cut.

    >>> plain("two\nlines \x1b[31m")
    'two\\nlines \\x1b[31m'
    """
    text = "" if value is None else str(value)
    cut = text if len(text) <= most else f"{text[: most - 1]}…"
    return "".join(
        one if one.isprintable() or one in _JOINERS else one.encode("unicode_escape").decode()
        for one in cut
    )


def tell(message: str) -> None:
    """Print a message to stderr, apart from the data."""
    from rich.console import Console

    text = plain(message, 5000)
    Console(stderr=True).print(text, highlight=False, soft_wrap=True, markup=False, emoji=False)


def show_rows(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, figures: bool = True
) -> None:
    """Print a table to stdout; with `figures` all columns but the first are right-aligned."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title, style="italic") if title else None, title_justify="left")
    for at, column in enumerate(columns):
        table.add_column(Text(column), justify="right" if at and figures else "left")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)


def chosen(form: Form | None, otherwise: Form = Form.json) -> Form:
    """The format of the option; else a table on a terminal, and `otherwise` elsewhere."""
    if form is not None:
        return form
    return Form.table if sys.stdout.isatty() else otherwise


def records(rows: Sequence[Mapping[str, Any]], form: Form, *, raw: bool = False) -> None:
    """Print rows to stdout as JSON (always an array), JSONL or CSV.

    Cells of CSV that a spreadsheet would compute are made harmless, unless they are left `raw`.
    """
    out = sys.stdout
    if form is Form.csv:
        writer = csv.writer(out, lineterminator="\n")
        names = list(dict.fromkeys(name for row in rows for name in row))
        writer.writerow([_cell(name, raw=raw) for name in names])
        writer.writerows([_cell(row.get(name), raw=raw) for name in names] for row in rows)
    elif form is Form.jsonl:
        out.writelines(f"{_json(row)}\n" for row in rows)
    else:
        inner = ",\n ".join(map(_json, rows))
        out.write(f"[{inner}]\n")
    out.flush()  # a reader of the pipe sees each look at once


def _json(row: Mapping[str, Any]) -> str:
    text = json.dumps(row, ensure_ascii=False, allow_nan=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _cell(value: object, *, raw: bool) -> object:
    from levelled.sources.answers import safe_cell

    if isinstance(value, list | tuple | dict):
        value = json.dumps(value, ensure_ascii=False)
    return safe_cell(value) if isinstance(value, str) and not raw else value


def with_progress(backend: "Backend", title: str) -> "Backend":
    """The same backend, with a progress bar."""
    from rich.console import Console
    from rich.progress import track

    def mapped(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        results = backend(function, items)
        yield from track(results, title, len(items), console=Console(stderr=True))

    return mapped


@contextmanager
def row_counter(title: str) -> Iterator[Callable[[int, int | None], None]]:
    """A progress bar on a terminal, to be called with the rows read so far and all there are.

    It shows the title until it is called.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.fields[text]}", markup=False), BarColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=None, text=plain(title))
        yield lambda done, total: bar.update(
            task, completed=done, total=total, text=f"{done:,} rows"
        )
