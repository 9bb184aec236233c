"""Arguments and options that several commands share."""

from enum import StrEnum
from typing import Annotated

import typer

__all__ = [
    "DEFAULT_STORAGE",
    "ClassNames",
    "Draw",
    "Floor",
    "Form",
    "Format",
    "Name",
    "Owner",
    "PoolFile",
    "Storage",
]

DEFAULT_STORAGE = "sqlite:///levelled.db"
"""The same as in campaigns, repeated here because importing them would slow --help."""


class Form(StrEnum):
    """Formats of data on stdout."""

    table = "table"
    json = "json"
    jsonl = "jsonl"
    csv = "csv"


Name = Annotated[str, typer.Argument(help="Name of the campaign.", show_default=False)]
Draw = Annotated[int, typer.Argument(help="Number of the draw.", show_default=False)]
Storage = Annotated[
    str,
    typer.Option(envvar="LEVELLED_STORAGE", help="Database of the campaigns.", show_envvar=True),
]
Owner = Annotated[
    str | None,
    typer.Option(envvar="LEVELLED_OWNER", help="Name of the labeller.", show_envvar=True),
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
ClassNames = Annotated[
    str | None, typer.Option(help="The classes, as a,b,c, where no columns name them.")
]
Floor = Annotated[float, typer.Option(help="The share of draws made uniformly.")]
