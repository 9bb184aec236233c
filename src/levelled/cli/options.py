"""Arguments and options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

DEFAULT_STORAGE = "sqlite:///levelled.db"
"""The same as in campaigns, repeated here because importing them would slow --help."""


_YEAR = 366 * 24 * 3600
LEASE = typer.Option(min=1, max=_YEAR, help="How long an item is kept for its labeller.")
IN_FLIGHT = typer.Option(min=1, help="The most items that may wait for a label at once.")


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
IdColumn = Annotated[str, typer.Option(help="Column of the ids.")]
PredColumn = Annotated[
    str | None, typer.Option(help="Column of the model's predictions, if it has another name.")
]
JudgeColumns = Annotated[
    list[str],
    typer.Option(
        "--judge-column",
        help="Column of a judge's verdicts; the judge has its name. May be repeated.",
    ),
]
Show = Annotated[
    str | None,
    typer.Option(help="Columns that labellers see, and no others, as a,b,c."),
]
Hide = Annotated[str | None, typer.Option(help="Columns that labellers do not see, as a,b,c.")]
Reader = Annotated[
    str | None,
    typer.Option(
        help="Tool that wrote the file, instead of recognising it, or plain: columns by name."
    ),
]
ClassNames = Annotated[
    str | None, typer.Option(help="The classes, as a,b,c, where no columns name them.")
]
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
Floor = Annotated[float, typer.Option(help="The share of draws made uniformly.")]
Budget = Annotated[int | None, typer.Option(min=1, help="The most labels to ask for.")]


def _count_looks(text: object) -> int:
    """The number of planned looks, 0 for none."""
    if str(text) == "none":
        return 0
    if not str(text).isdigit():
        raise typer.BadParameter(f"{text!r} is neither a number of looks nor none.")
    return int(str(text))


Looks = Annotated[
    int,
    typer.Option(
        parser=_count_looks,
        metavar="N|none",
        help="Readings planned over the budget; with none, every reading is by betting.",
    ),
]
TargetWidth = Annotated[
    float | None, typer.Option(help="How narrow the first metric's interval should become.")
]
Guarantee = Annotated[
    str,
    typer.Option(
        help="asymptotic, or finite: an interval with a finite-sample proof, aimed at the budget, "
        "and wider."
    ),
]
Kind = Annotated[
    str,
    typer.Option(
        help="Way to draw: adaptive, static, uniform, or auto: static with --score, --proposal or "
        "--floor, else adaptive if it can."
    ),
]

Drive = Annotated[
    str,
    typer.Option(
        help="Metrics that adaptive draws serve: first, or worst, which balances all of them."
    ),
]
Questions = Annotated[
    list[str],
    typer.Option(
        metavar="NAME=ANSWERS",
        help="A question beside the label: 'tone=rude,neutral,kind', 'clarity=1:5', "
        "'price=number' or 'why=text'; repeatable.",
    ),
]
Guidelines = Annotated[
    Path | None, typer.Option(help="Instructions for labellers, a file in Markdown.")
]
Pair = Annotated[
    str | None,
    typer.Option(
        metavar="A,B",
        help="Two columns to compare: shown side by side in random order; the label is the better.",
    ),
]

Content = Annotated[
    list[str],
    typer.Option(
        metavar="COLUMN=KIND",
        help="How a column is shown: text, markdown, chat, json, image or number; repeatable.",
    ),
]
Images = Annotated[Path | None, typer.Option(help="Folder with the images that columns name.")]


def split_content(texts: list[str]) -> dict[str, str]:
    """The kind of each column, from texts such as output=markdown."""
    parts = [text.rpartition("=") for text in texts]
    for text, (column, _, kind) in zip(texts, parts, strict=True):
        if not column or not kind:
            raise typer.BadParameter(
                f"{text!r} names no column and its kind, as output=markdown does."
            )
    return {column: kind for column, _, kind in parts}


def read_guidelines(file: Path | None) -> str:
    """The text of a file of guidelines."""
    try:
        return "" if file is None else file.read_text(encoding="utf-8")
    except UnicodeDecodeError as wrong:
        raise typer.BadParameter(f"{file} is no text in UTF-8.") from wrong
