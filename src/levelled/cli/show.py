"""Output of commands: data to stdout, messages to stderr."""

import csv
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from levelled._text import plain as plain
from levelled.cli.options import Form

if TYPE_CHECKING:
    from levelled.backends import Backend
    from levelled.campaigns import Campaign


_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that JSON does not escape and that can harm a terminal or an encoder."""


def tell(message: str) -> None:
    """Print a message to stderr, apart from the data."""
    click.echo(plain(message, 5000), err=True)


def tell_waiting(campaign: "Campaign") -> None:
    """Print to stderr which labels no figure counts yet, and how to go on."""
    waiting = campaign.waiting()
    if waiting is not None:
        free = f". To free them: levelled open {campaign.name} --return --all"
        tell(waiting.text + (free if waiting.draws else ""))


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


def data(form: Form | None, rows: Sequence[Mapping[str, Any]], table: Callable[[], object]) -> None:
    """Print data: `table` prints it for people, `rows` are its records for programs."""
    if (wanted := chosen(form)) is Form.table:
        table()
    else:
        records(rows, wanted)


def lines(texts: Iterable[object], most: int) -> None:
    """Print texts to stdout, each as one safe line of at most so many characters."""
    for text in texts:
        click.echo(plain(text, most))


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
    """The same backend, with a progress bar where there is a terminal."""
    if not sys.stderr.isatty():
        return backend
    from rich.console import Console
    from rich.progress import track

    def mapped(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        results = backend(function, items)
        yield from track(results, title, len(items), console=Console(stderr=True))

    return mapped


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[str, float, float | None], None]]:
    """A progress bar on a terminal, to be called with a text, what is done and what is to do.

    It shows the title until it is called.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_interactive:  # Rich before 15 ends even a bar that is disabled with a line
        yield lambda text, done, total: None
        return
    columns = (TextColumn("{task.fields[text]}", markup=False), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None, text=plain(title))
        yield lambda text, done, total: bar.update(task, completed=done, total=total, text=text)
