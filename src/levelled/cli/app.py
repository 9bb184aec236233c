"""The commands and what they share."""

import sys
from typing import Annotated

import typer

from levelled import __version__
from levelled.cli.demo import demo
from levelled.cli.reproduce import reproduce
from levelled.errors import LevelledError

__all__ = ["app", "run"]

app = typer.Typer(
    name="levelled",
    help="Unbiased figures and fair training weights from labels that were chosen, not sampled.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(demo)
app.command()(reproduce)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"levelled {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    pass


def run() -> None:
    """Run the application; a refusal is one line on stderr and exit code 1."""
    try:
        app()
    except LevelledError as refused:
        typer.echo(f"levelled: {refused}", err=True)
        sys.exit(1)
    except OSError as refused:
        typer.echo(f"levelled: {refused.strerror}: {refused.filename}", err=True)
        sys.exit(1)
