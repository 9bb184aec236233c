"""Arguments and options that several commands share."""

import inspect
from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from levelled.campaigns.options import DEFAULT_STORAGE as DEFAULT_STORAGE
from levelled.campaigns.options import OPTIONS, Option


class Form(StrEnum):
    """Formats of data on stdout."""

    table = "table"
    json = "json"
    jsonl = "jsonl"
    csv = "csv"


def _campaigns(ctx: typer.Context, incomplete: str) -> list[str]:
    """The campaigns whose name begins like this, for the completion of the shell."""
    from levelled.campaigns import open_store
    from levelled.errors import LevelledError

    try:
        with open_store(ctx.params.get("storage") or DEFAULT_STORAGE, create=False) as store:
            return [name for name in store.names() if name.startswith(incomplete)]
    except LevelledError:
        return []


Name = Annotated[
    str,
    typer.Argument(help="Name of the campaign.", show_default=False, autocompletion=_campaigns),
]
NewName = Annotated[str, typer.Argument(help="New name of the campaign.", show_default=False)]
Draw = Annotated[int, typer.Argument(help="Number of the draw.", show_default=False)]
Storage = Annotated[
    str,
    typer.Option(envvar="LEVELLED_STORAGE", help="Database of the campaigns.", show_envvar=True),
]
Owner = Annotated[
    str | None,
    typer.Option(envvar="LEVELLED_OWNER", help="Name of the labeller.", show_envvar=True),
]
Raw = Annotated[
    bool,
    typer.Option(
        "--raw", help="Leave cells of CSV as they are, also those that a spreadsheet computes."
    ),
]
Format = Annotated[
    Form | None,
    typer.Option(
        "--format",
        envvar="LEVELLED_FORMAT",
        help="Format of the data: by default a table on a terminal, json elsewhere.",
        show_default=False,
    ),
]
PoolFile = Annotated[
    str | None,
    typer.Option("--pool", help="The pool file, if it has moved.", show_default=False),
]
ScoreFiles = Annotated[
    list[str],
    typer.Option("--scores", help="A file it was rescored with, if it has moved; repeatable."),
]
ClassNames = Annotated[str | None, typer.Option(metavar="A,B,...", help=OPTIONS["classes"].help)]
Workers = Annotated[int, typer.Option(min=1, help="Number of processes on this machine.")]
BackendName = Annotated[
    str, typer.Option("--backend", help="Where the work runs: local, or a dask or ray cluster.")
]
Address = Annotated[
    str | None,
    typer.Option(
        help="Address of the dask or ray cluster, as HOST:PORT; by default one is started here.",
        show_default=False,
    ),
]


def takes(
    *options: Option, unset: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command options of campaigns, which it gets as keywords, as Python takes them.

    With `unset` none has a default: one that is not named is None.
    """
    flags = {(one.flag or one.name).replace("-", "_"): one for one in options}

    def add(command: Callable[..., None]) -> Callable[..., None]:
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
    if option.kind is dict:
        return _split_pairs(given)
    if option.kind is list:
        return given.split(",") if isinstance(given, str) else given or option.default
    return _read_text(given) if option.in_file else given


def _count_or_none(text: object) -> int:
    """A number, 0 for none."""
    if str(text) == "none":
        return 0
    if not str(text).isdigit():
        raise typer.BadParameter(f"{text!r} is neither a number nor none.")
    return int(str(text))


def _split_pairs(texts: list[str]) -> dict[str, str]:
    """The kind of each column, from texts such as output=markdown."""
    parts = [text.rpartition("=") for text in texts]
    for text, (column, _, kind) in zip(texts, parts, strict=True):
        if not column or not kind:
            raise typer.BadParameter(
                f"{text!r} names no column and its kind, as output=markdown does."
            )
    return {column: kind for column, _, kind in parts}


def _read_text(file: Path | None) -> str:
    try:
        return "" if file is None else file.read_text(encoding="utf-8")
    except UnicodeDecodeError as wrong:
        raise typer.BadParameter(f"{file} is no text in UTF-8.") from wrong
