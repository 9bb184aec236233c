"""Options that commands share, and their output: data to stdout, messages to stderr."""

import csv
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import levelled as lv
from levelled.campaigns.options import DEFAULT_STORAGE as DEFAULT_STORAGE
from levelled.campaigns.options import OPTIONS, Option

if TYPE_CHECKING:
    from rich.console import Group

    from levelled.backends import Backend
    from levelled.campaigns import Campaign, Figure


class Form(StrEnum):
    """Formats of data on stdout."""

    table = "table"
    json = "json"
    jsonl = "jsonl"
    csv = "csv"


def argument(about: str, **more: Any) -> Any:  # noqa: ANN401
    """An argument of a command, with its help."""
    return typer.Argument(help=about, show_default=False, **more)


def flag(about: str, *names: str, **more: Any) -> Any:  # noqa: ANN401
    """An option of a command, with its help, and its names where they are not the parameter's."""
    return typer.Option(*names, help=about, **more)


def _campaigns(ctx: typer.Context, incomplete: str) -> list[str]:
    """The campaigns whose name begins like this, for the completion of the shell."""
    from levelled.campaigns import open_store
    from levelled.errors import LevelledError

    try:
        with open_store(ctx.params.get("storage") or DEFAULT_STORAGE, create=False) as store:
            return [name for name in store.names() if name.startswith(incomplete)]
    except LevelledError:
        return []


Name = Annotated[str, argument("Name of the campaign.", autocompletion=_campaigns)]
NewName = Annotated[str, argument("New name of the campaign.")]
Draw = Annotated[int, argument("Number of the draw.")]
Storage = Annotated[
    str, flag("Database of the campaigns.", envvar="LEVELLED_STORAGE", show_envvar=True)
]
Owner = Annotated[
    str | None, flag("Name of the labeller.", envvar="LEVELLED_OWNER", show_envvar=True)
]
Reason = Annotated[str, flag("The reason, for the record.")]
Raw = Annotated[
    bool, flag("Leave cells of CSV as they are, also those that a spreadsheet computes.", "--raw")
]
Format = Annotated[
    Form | None,
    flag(
        "Format of the data: by default a table on a terminal, json elsewhere.",
        "--format",
        envvar="LEVELLED_FORMAT",
        show_default=False,
    ),
]
PoolFile = Annotated[
    str | None, flag("The pool file, if it has moved.", "--pool", show_default=False)
]
ScoreFiles = Annotated[
    list[str], flag("A file it was rescored with, if it has moved; repeatable.", "--scores")
]
ClassNames = Annotated[str | None, flag(OPTIONS["classes"].help, metavar="A,B,...")]
Workers = Annotated[int, flag("Number of processes on this machine.", min=1)]
BackendName = Annotated[
    str, flag("Where the work runs: local, or a dask or ray cluster.", "--backend")
]
Address = Annotated[
    str | None,
    flag(
        "Address of the dask or ray cluster, as HOST:PORT; by default one is started here.",
        show_default=False,
    ),
]


Command = Callable[..., None]


def opening(command: Command) -> Command:
    """A command on a campaign, as one that takes NAME and --storage and opens it.

    That is a command whose first parameter is `campaign`; any other is returned as it is.
    """
    first, *own = inspect.signature(command).parameters.values()
    if first.name != "campaign":
        return command

    @wraps(command, assigned=("__name__", "__doc__"))
    def run(name: Name, *, storage: Storage = DEFAULT_STORAGE, **given: Any) -> None:  # noqa: ANN401
        command(lv.load_campaign(name, storage=storage), **given)

    name, storage, _ = inspect.signature(run, follow_wrapped=False).parameters.values()
    run.__signature__ = inspect.Signature([name, *own, storage])  # type: ignore[attr-defined]
    return run


def takes(*options: Option, unset: bool = False) -> Callable[[Command], Command]:
    """Give a command options of campaigns, which it gets as keywords, as Python takes them.

    With `unset` none has a default: one that is not named is None.
    """
    flags = {(one.flag or one.name).replace("-", "_"): one for one in options}

    def add(command: Command) -> Command:
        signature = inspect.signature(command)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]

        @wraps(command)
        def run(**given: Any) -> None:  # noqa: ANN401
            values = {one.name: _value_of(one, given.pop(flag)) for flag, one in flags.items()}
            command(**given, **values)

        further = [_flag(name, one, unset=unset) for name, one in flags.items()]
        run.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*own, *further]
        )
        return run

    return add


def _flag(name: str, option: Option, *, unset: bool) -> inspect.Parameter:
    """The parameter of a command for an option."""
    kind: Any = option.kind
    default, metavar = option.default, option.metavar
    about = option.help if unset else option.about
    limits: dict[str, Any] = {}
    if option.repeated or kind is dict:
        kind, default, about = list[str], [], f"{about} May be repeated."
    elif kind is list:
        kind, default, metavar = str, None, metavar or "A,B,..."
    elif option.in_file:
        kind, default = Path, None
    elif kind is int and metavar:
        limits = {"parser": _count_or_none}
    elif kind is int:
        limits = {"min": option.least, "max": option.most}
    if option.choices:
        metavar = "|".join(option.choices if unset else option.words)
    if unset or default in (None, inspect.Parameter.empty):
        kind, default = kind | None, None
    info = typer.Option(help=about, metavar=metavar, rich_help_panel=option.group, **limits)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
    )


def _value_of(option: Option, given: Any) -> Any:  # noqa: ANN401
    """The value that Python takes for what a command was given."""
    if option.kind is dict:  # texts such as output=markdown
        parts = [text.rpartition("=") for text in given]
        for text, (column, _, kind) in zip(given, parts, strict=True):
            if not column or not kind:
                raise typer.BadParameter(
                    f"{text!r} names no column and its kind, as output=markdown does."
                )
        return {column: kind for column, _, kind in parts}
    if option.kind is list:
        return given.split(",") if isinstance(given, str) else given or option.default
    if not option.in_file:
        return given
    try:
        return "" if given is None else given.read_text(encoding="utf-8")
    except UnicodeDecodeError as wrong:
        raise typer.BadParameter(f"{given} is no text in UTF-8.") from wrong


def _count_or_none(text: object) -> int:
    """A number, 0 for none."""
    if str(text) == "none":
        return 0
    if not str(text).isdigit():
        raise typer.BadParameter(f"{text!r} is neither a number nor none.")
    return int(str(text))


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


def data(form: Form | None, rows: Sequence[Mapping[str, Any]], table: Callable[[], object]) -> None:
    """Print data: `table` prints it for people, `rows` are its records for programs."""
    if (wanted := chosen(form)) is Form.table:
        table()
    else:
        records(rows, wanted)


def lines(texts: Iterable[object], most: int) -> None:
    """Print texts to stdout, each as one safe line of at most so many characters."""
    for text in texts:
        typer.echo(plain(text, most))


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


_LATEST, _WORTH = "with all labels", "as precise as"
_NAMES = ("metric", "model", "slice")
_NUMBERS = ("value", "interval", _LATEST, _WORTH)


def figure_table(figures: "Sequence[Figure]", campaign: "Campaign") -> "Group":
    """The figures as a table; below it what was learnt, how they were read, and each warning."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console, Group
    from rich.table import Table
    from rich.text import Text

    from levelled.reports.numbers import FIXED, VALIDITY, figure_cells, figure_notes

    first, est = figures[0], figures[0].estimate
    pending = f", {first.n_pending} pending" if first.n_pending else ""
    title = (
        f"{plain(campaign.name, 60)}: {first.n_labels} labels, {first.n_settled} draws "
        f"settled{pending}; {est.level * 100:.4g}% confidence, {VALIDITY.get(est.interval, FIXED)}"
    )
    cells = map(figure_cells, figures)
    rows = [{column: plain(cell, 40) for column, cell in row.items()} for row in cells]
    filled = [column for column in rows[0] if any(row[column] for row in rows)]
    rows = [{column: row[column] for column in filled} for row in rows]
    for shorten in (_shorten_worth, _break_heading, _drop(_WORTH), _join_names, _drop(_LATEST)):
        if _width_of(rows) <= Console().width:
            break
        rows = [shorten(row) for row in rows]
    table = Table(box=SIMPLE_HEAD)
    for column in rows[0]:
        number = column.replace("\n", " ") in _NUMBERS
        justify: Literal["left", "right"] = "right" if number else "left"
        table.add_column(column, justify=justify, no_wrap=number, overflow="fold")
    for figure, row in zip(figures, rows, strict=True):
        style = "bold" if figure.slice is None else ""
        table.add_row(*(Text(cell, style=style) for cell in row.values()))
    warnings = dict.fromkeys(text for figure in figures for text in figure.estimate.warnings)
    learnt = campaign.predictor
    notes = [f"{note}." for note in figure_notes(figures[0])]
    notes += [] if learnt is None else [f"{learnt.summary}."]
    notes += [f"note: {plain(text, 500)}" for text in warnings]
    return Group(Text(title, style="bold"), table, *map(Text, notes))


def _width_of(rows: list[dict[str, str]]) -> int:
    """The characters that a table of these rows takes, with its rules and blanks."""
    from rich.cells import cell_len

    texts = [[*column.split("\n"), *(row[column] for row in rows)] for column in rows[0]]
    return sum(max(map(cell_len, column)) + 3 for column in texts) + 1


def _shorten_worth(row: dict[str, str]) -> dict[str, str]:
    if _WORTH not in row:
        return row
    return row | {_WORTH: row[_WORTH].removeprefix("about ").removesuffix(" labels")}


def _break_heading(row: dict[str, str]) -> dict[str, str]:
    broken = {_LATEST: "with all\nlabels"}
    return {broken.get(column, column): cell for column, cell in row.items()}


def _drop(name: str) -> Callable[[dict[str, str]], dict[str, str]]:
    """A function that leaves out a column, whose heading may be broken by now."""
    return lambda row: {
        column: cell for column, cell in row.items() if column.replace("\n", " ") != name
    }


def _join_names(row: dict[str, str]) -> dict[str, str]:
    """One column for the names: the slice, or the metric and the model of the whole pool."""
    whole = " ".join(filter(None, (row["metric"], row.get("model", ""))))
    rest = {column: cell for column, cell in row.items() if column not in _NAMES}
    return {"figure": f"  {row['slice']}" if row.get("slice") else whole, **rest}
