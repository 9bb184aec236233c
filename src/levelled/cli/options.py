"""Arguments and options that several commands share."""

from enum import StrEnum
from typing import Annotated

import typer

__all__ = ["DEFAULT_STORAGE", "Draw", "Form", "Format", "Name", "Owner", "PoolFile", "Storage"]

DEFAULT_STORAGE = "sqlite:///levelled.db"
"""The same as the campaigns', written here because importing them takes longer than --help may."""


class Form(StrEnum):
    """How data is written to stdout."""

    table = "table"
    json = "json"
    jsonl = "jsonl"
    csv = "csv"


Name = Annotated[str, typer.Argument(help="The campaign.", show_default=False)]
Draw = Annotated[int, typer.Argument(help="The number of the draw.", show_default=False)]
Storage = Annotated[
    str,
    typer.Option(envvar="LEVELLED_STORAGE", help="Where campaigns are kept.", show_envvar=True),
]
Owner = Annotated[
    str | None,
    typer.Option(envvar="LEVELLED_OWNER", help="Who is at work.", show_envvar=True),
]
Format = Annotated[
    Form | None,
    typer.Option(
        "--format",
        envvar="LEVELLED_FORMAT",
        help="How the data is written: a table on a terminal, json elsewhere.",
        show_default=False,
    ),
]
PoolFile = Annotated[
    str | None,
    typer.Option("--pool", help="The file of the pool, if it has moved.", show_default=False),
]
