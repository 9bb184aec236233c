"""The application: all commands, and the way errors are printed."""

import io
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer
from typer.core import TyperCommand
from typer.main import get_command

from levelled import __version__
from levelled.cli import (
    drawing,
    label,
    labelling,
    learning,
    managing,
    reading,
    show,
    simulating,
)
from levelled.errors import LevelledError


class _Command(TyperCommand):
    """A command whose help names only those variables that several commands share."""

    def __init__(self, *args: Any, **settings: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **settings)
        for option in self.params:
            option.show_envvar = option.envvar is not None  # type: ignore[attr-defined]

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write the options under the headings of their groups."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for one in self.get_params(ctx):
            heading = "Arguments" if one.param_type_name == "argument" else "Options"
            heading = getattr(one, "rich_help_panel", None) or heading
            if record := one.get_help_record(ctx):
                sections.setdefault(heading, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


app = typer.Typer(
    name="levelled",
    help="Unbiased estimates and corrective training weights from actively chosen labels.",
    epilog="Every option has a variable: LEVELLED_ASK_COUNT is --count of levelled ask.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"auto_envvar_prefix": "LEVELLED"},
)
for command in (
    simulating.demo,
    managing.look,
    managing.create,
    managing.list_,
    managing.status,
    label.label,
    labelling.ask,
    labelling.mine,
    labelling.return_,
    labelling.open_,
    labelling.tell,
    labelling.skip,
    labelling.unlabelable,
    labelling.amend,
    labelling.undo,
    reading.estimate,
    reading.compare,
    reading.judge,
    reading.gate,
    reading.report,
    managing.change,
    managing.attach,
    managing.rescore,
    managing.close,
    managing.reopen,
    managing.rename,
    managing.delete,
    reading.audit,
    reading.export,
    managing.serve,
    simulating.plan,
    simulating.simulate,
    drawing.draw,
    learning.learn,
    learning.advise,
    managing.doctor,
):
    names_more = {"allow_extra_args": command is drawing.draw}  # which it refuses in its own words
    name = command.__name__.rstrip("_")
    app.command(name, cls=_Command, context_settings=names_more)(show.opening(command))
app.add_typer(managing.token_app, name="token")
app.add_typer(managing.storage_app, name="storage")
for entry in sorted(entry_points(group="levelled.commands"), key=lambda entry: entry.name):
    registered = entry.load()  # by an installed package
    if isinstance(registered, typer.Typer):
        app.add_typer(registered, name=entry.name)
    else:
        app.command(entry.name, cls=_Command)(registered)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"levelled {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version,
            is_eager=True,
            help="Print the version.",
            allow_from_autoenv=False,
        ),
    ] = False,
) -> None:
    pass


@cache
def _built() -> Callable[..., None]:
    """All commands, built once a process."""
    return get_command(app)


def run(words: Sequence[str] | None = None) -> None:
    """Run the application; an error is one line on stderr and exit code 1."""
    if sys.stdout is None:  # closed
        sys.stdout = io.StringIO()
    elif isinstance(sys.stdout, io.TextIOWrapper):  # JSON needs UTF-8
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        try:
            _built()(words, prog_name="levelled")
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # levelled ask ... | head -1
        _let_go_of_stdout()
        sys.exit(1)
    except LevelledError as refused:
        _refuse(str(refused))
    except OSError as refused:
        _let_go_of_stdout()
        named = "" if refused.filename is None else f": {refused.filename}"
        _refuse(f"{refused.strerror or refused}{named}")


def _refuse(why: str) -> None:
    typer.echo(f"levelled: {show.plain(' '.join(why.split()), 5000)}", err=True)
    sys.exit(1)


def _let_go_of_stdout() -> None:
    """Discard output that cannot be written, which Python would flush again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
