"""Arguments and options of commands, and commands made from functions that declare them.

A command is a function. Each parameter is annotated with its type and with its help, by `flag` or
`argument`; its default is that of the option.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import wraps
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, get_args, get_origin

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

import levelled as lv
from levelled.campaigns.options import DEFAULT_STORAGE as DEFAULT_STORAGE
from levelled.campaigns.options import OPTIONS, Option


class Form(StrEnum):
    """Formats of data on stdout."""

    table = "table"
    json = "json"
    jsonl = "jsonl"
    csv = "csv"


Command = Callable[..., None]
"""A function that is a command."""


@dataclass(frozen=True, slots=True)
class _Declared:
    """All that a function says of a parameter, beside its name, type and default."""

    about: str | Callable[[], str]
    names: tuple[str, ...] = ()
    is_argument: bool = False
    panel: str = ""
    least: float | None = None
    most: float | None = None
    parser: Callable[[str], Any] | None = None
    more: Any = None


def argument(about: str, **more: Any) -> Any:  # noqa: ANN401
    """An argument of a command, with its help."""
    return _Declared(about, is_argument=True, more=more)


def flag(
    about: str | Callable[[], str],
    *names: str,
    min: float | None = None,  # noqa: A002
    max: float | None = None,  # noqa: A002
    parser: Callable[[str], Any] | None = None,
    panel: str = "",
    **more: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """An option of a command, with its names where they are not the parameter's.

    `about` may be a function that makes the help when it is read, `panel` is the heading above it
    there, and `parser` reads the value; `more` are settings of `click.Option`.
    """
    return _Declared(about, names, False, panel, min, max, parser, more)


class _Argument(click.Argument):
    """An argument that has a help, as options do."""

    about = ""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        return self.make_metavar(ctx), self.about + ("  [required]" if self.required else "")


class _Option(click.Option):
    """An option whose help may have to be made."""

    about: str | Callable[[], str] = ""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        self.help = self.about if isinstance(self.about, str) else self.about()
        return super().get_help_record(ctx)


class _Command(click.Command):
    """A command whose options are shown under headings."""

    panels: dict[str, str]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the arguments and options under their headings."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for one in self.get_params(ctx):
            if record := one.get_help_record(ctx):
                heading = "Arguments" if isinstance(one, click.Argument) else "Options"
                heading = self.panels.get(one.name or "") or heading
                sections.setdefault(heading, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def make_command(function: Command, name: str) -> click.Command:
    """The command of a function, as users type it."""
    function = _opening(function)
    panels, params = {}, []
    for one in inspect.signature(function).parameters.values():
        kind, declared = get_args(one.annotation)
        panels[one.name] = declared.panel
        params.append(_param(one.name, kind, declared, one.default))

    def run(**given: Any) -> None:  # noqa: ANN401
        function(**{key: [*v] if isinstance(v, tuple) else v for key, v in given.items()})

    command = _Command(name, params=params, callback=run, help=inspect.getdoc(function))
    command.panels = panels
    return command


def make_group(about: str, *functions: Command) -> click.Group:
    """A command whose first word says which of these functions it is."""
    made = {one.__name__: make_command(one, one.__name__) for one in functions}
    return click.Group(help=about, commands=made, no_args_is_help=True)


def _param(name: str, kind: Any, declared: _Declared, default: Any) -> click.Parameter:  # noqa: ANN401
    """The parameter of a command."""
    more = {**declared.more}
    if get_origin(kind) is UnionType:
        (kind,) = (one for one in get_args(kind) if one is not NoneType)
    several = get_origin(kind) is list
    kind = get_args(kind)[0] if several else kind
    required = default is inspect.Parameter.empty
    if not required and not (several and not default):
        more["default"] = default
    more["type"] = _type_of(kind, declared)
    if kind is str:  # most texts are names of files
        more = {"shell_complete": _files, **more}
    if declared.is_argument:
        made = _Argument([name], required=required, nargs=-1 if several else 1, **more)
        made.about = str(declared.about)
        return made
    names = declared.names or (f"--{name.replace('_', '-')}",)
    if kind is bool:
        more = {key: value for key, value in more.items() if key != "type"} | {"is_flag": True}
    shown = not (default is None or default is False or default in ("", []))
    more = {"show_default": shown, **more}
    option = _Option([name, *names], required=required, multiple=several, **more)
    option.about = declared.about
    return option


def _type_of(kind: Any, declared: _Declared) -> Any:  # noqa: ANN401
    if declared.parser is not None:
        return declared.parser
    if kind is Path:
        return click.Path(path_type=Path)
    if issubclass(kind, Enum):
        return click.Choice([*kind])
    if declared.least is None and declared.most is None:
        return kind
    ranged = click.IntRange if kind is int else click.FloatRange
    return ranged(declared.least, declared.most)  # type: ignore[arg-type]


def _files(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The files whose name begins like this, which the shell knows."""
    return [CompletionItem(incomplete, "file")]


def complete_campaigns(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The campaigns whose name begins like this, for the completion of the shell."""
    from levelled.errors import LevelledError

    try:
        storage = ctx.params.get("storage") or DEFAULT_STORAGE
        with lv.campaigns.open_store(storage, create=False) as store:
            return [name for name in store.names() if name.startswith(incomplete)]
    except LevelledError:
        return []


Name = Annotated[str, argument("Name of the campaign.", shell_complete=complete_campaigns)]
Storage = Annotated[
    str, flag("Database of the campaigns.", envvar="LEVELLED_STORAGE", show_envvar=True)
]
Owner = Annotated[
    str | None, flag("Name of the labeller.", envvar="LEVELLED_OWNER", show_envvar=True)
]
Reason = Annotated[str | None, flag("The reason, for the record.")]
Raw = Annotated[
    bool, flag("Leave cells of CSV as they are, also those that a spreadsheet computes.", "--raw")
]
Format = Annotated[
    Form | None,
    flag(
        "Format of the data: by default a table on a terminal, json elsewhere.",
        "--format",
        envvar="LEVELLED_FORMAT",
        show_envvar=True,
    ),
]
PoolFile = Annotated[str | None, flag("The pool file, if it has moved.", "--pool")]
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
    flag("Address of the dask or ray cluster, as HOST:PORT; by default one is started here."),
]


def _opening(command: Command) -> Command:
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
    info = flag(about, metavar=metavar, panel=option.group, **limits)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
    )


def _value_of(option: Option, given: Any) -> Any:  # noqa: ANN401
    """The value that Python takes for what a command was given."""
    if option.kind is dict:  # texts such as output=markdown
        parts = [text.rpartition("=") for text in given]
        for text, (column, _, kind) in zip(given, parts, strict=True):
            if not column or not kind:
                raise click.BadParameter(
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
        raise click.BadParameter(f"{given} is no text in UTF-8.") from wrong


def _count_or_none(text: object) -> int:
    """A number, 0 for none."""
    if str(text) == "none":
        return 0
    if not str(text).isdigit():
        raise click.BadParameter(f"{text!r} is neither a number nor none.")
    return int(str(text))


def refuse(reason: str, *names: str) -> None:
    """Refuse parameters that would be passed over; variables may be set for other commands."""
    context = click.get_current_context()
    for one in context.command.params:
        source = context.get_parameter_source(one.name or "")
        given = context.params.get(one.name or "") != ()  # Click 8.2 calls no words given ones
        if one.name in names and given and source is ParameterSource.COMMANDLINE:
            spelt = "/".join([one.opts[-1], *one.secondary_opts])
            if isinstance(one, click.Argument):
                spelt = one.human_readable_name
            raise click.BadParameter(f"{spelt} does not go with {reason}.")


def choose_one(**flags: object) -> str:
    """The name of the one flag that is set, or "" if none is; two are refused."""
    chosen = [name for name, value in flags.items() if value == "" or value]
    if len(chosen) > 1:
        spelt = " and ".join(f"--{name.replace('_', '-')}" for name in chosen)
        raise click.BadParameter(f"{spelt} do not go together.")
    return chosen[0] if chosen else ""
