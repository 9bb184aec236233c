"""Arguments and options of commands, and commands made from functions that declare them.

A command is a function. Each parameter is annotated with its type and with its help, by `flag` or
`argument`; its default is that of the option. `takes` adds options of campaigns to a function.
`make_command` first has the campaign opened that a function works on (`_opening`), then makes a
parameter of Click from each annotation (`_make_param`), named as users type it.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, StrEnum
from functools import partial, wraps
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

import levelled as lv
from levelled.campaigns.options import DEFAULT_STORAGE as DEFAULT_STORAGE
from levelled.campaigns.options import OPTIONS, Option

if TYPE_CHECKING:
    from levelled.campaigns import Campaign


class Form(StrEnum):
    """Formats of data on stdout."""

    table = "table"
    json = "json"
    jsonl = "jsonl"
    csv = "csv"


Command = Callable[..., None]
"""A function that is a command."""


def argument(about: str, **more: Any) -> Any:  # noqa: ANN401
    """An argument of a command, with its help; `more` are settings of `click.Argument`."""
    return partial(_make_param, _Argument, about, (), **more)


def flag(about: str | Callable[[], str], *names: str, **more: Any) -> Any:  # noqa: ANN401
    """An option of a command, with its names where they are not the parameter's.

    `about` may be a function that makes the help when it is read. Of `more`, `panel` is the heading
    above it there, `min` and `max` are limits; all others are settings of `click.Option`.
    """
    return partial(_make_param, _Option, about, names, **more)


class _Argument(click.Argument):
    """An argument that has a help, as options do."""

    about = panel = ""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        return self.make_metavar(ctx), self.about + ("  [required]" if self.required else "")


class _Option(click.Option):
    """An option whose help may have to be made."""

    about: str | Callable[[], str] = ""
    panel = ""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        self.help = self.about if isinstance(self.about, str) else self.about()
        return super().get_help_record(ctx)


class _Command(click.Command):
    """A command whose options are shown under headings."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words; negative numbers are arguments where a command takes any number."""
        if any(one.nargs == -1 for one in self.params):
            ctx.ignore_unknown_options = any(re.match(r"-\.?\d", word) for word in args)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the arguments and options under their headings."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for one in self.get_params(ctx):
            if record := one.get_help_record(ctx):
                heading = "Arguments" if isinstance(one, click.Argument) else "Options"
                sections.setdefault(getattr(one, "panel", "") or heading, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def make_command(function: Command, name: str) -> click.Command:
    """The command of a function, as users type it."""
    function = _opening(function)
    params: dict[str, click.Parameter] = {}
    for one in inspect.signature(function).parameters.values():
        kind, make = get_args(one.annotation)
        params[one.name] = make(one.name, kind, one.default)

    def run(**given: Any) -> None:  # noqa: ANN401
        values = {key: given[one.name or ""] for key, one in params.items()}
        function(**{key: [*v] if isinstance(v, tuple) else v for key, v in values.items()})

    return _Command(name, params=[*params.values()], callback=run, help=inspect.getdoc(function))


class Group(click.Group):
    """Commands that are listed with their whole first sentence."""

    def sections(self, ctx: click.Context) -> Mapping[str, Sequence[str]]:
        """The headings of the list, each with the names of its commands."""
        return {"Commands": self.list_commands(ctx)}

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the words name, and the words after it."""
        if self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            from levelled._check import suggest

            guess = suggest(args[0], self.list_commands(ctx))
            ctx.fail(f"No such command {args[0]!r}{guess or '.'}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first sentence of each command under its heading."""
        for heading, names in self.sections(ctx).items():
            with formatter.section(heading):
                found = {name: self.get_command(ctx, name) for name in names}
                formatter.write_dl(
                    [
                        (f"{name:9}", one.get_short_help_str(200))
                        for name, one in found.items()
                        if one
                    ]
                )


def make_group(about: str, *functions: Command) -> click.Group:
    """A command whose first word says which of these functions it is."""
    made = {one.__name__: make_command(one, one.__name__) for one in functions}
    return Group(help=about, commands=made, no_args_is_help=True)


def _make_param(
    made_of: type[_Argument | _Option],
    about: Any,  # noqa: ANN401
    names: tuple[str, ...],
    name: str,
    kind: Any,  # noqa: ANN401
    default: Any,  # noqa: ANN401
    *,
    panel: str = "",
    **more: Any,  # noqa: ANN401
) -> click.Parameter:
    """The parameter of a command, from all that its function says of it."""
    if get_origin(kind) is UnionType:
        (kind,) = (one for one in get_args(kind) if one is not NoneType)
    several = get_origin(kind) is list
    kind = get_args(kind)[0] if several else kind
    more["required"] = default is inspect.Parameter.empty
    if default not in (inspect.Parameter.empty, []):
        more["default"] = default
    least, most = more.pop("min", None), more.pop("max", None)
    if kind is float:
        more["type"] = Number(least, most)
    elif least is not None or most is not None:
        more["type"] = click.IntRange(least, most)
        more["type"].name = "integer"  # Click adds "range"
    elif kind is Path:
        more["type"] = click.Path(path_type=Path)
    elif issubclass(kind, Enum):
        more["type"] = click.Choice([*kind])
    elif kind is not bool:
        more = {"type": kind, **more}
    if more.get("type") is str:  # most texts are names of files
        more = {"shell_complete": _files, **more}
    if made_of is _Argument:
        more["nargs"] = -1 if several else 1
    else:
        names = names or (f"--{name.replace('_', '-')}",)
        more = {"show_default": default != "", "multiple": several, **more}
        more |= {"is_flag": True} if kind is bool else {}
    made = made_of(names or (name,), **more)
    made.about, made.panel = about, panel
    return made


class Number(click.FloatRange):
    """A number; 5% is 0.05."""

    name = "float"  # Click adds "range"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ANN401
        """The number that a text stands for."""
        text = str(value).rstrip()
        share: Any = f"{text[:-1].rstrip()}e-2" if text.endswith("%") else value
        return super().convert(share, param, ctx)

    def _describe_range(self) -> str:
        """The limits as help shows them; Click writes x<=None where there are none."""
        return super()._describe_range() if (self.min, self.max) != (None, None) else ""


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
    bool, flag("Leave cells of CSV as they are, also those that a spreadsheet computes.")
]


def format_flag(elsewhere: str) -> Any:  # noqa: ANN401
    """The option --format, with its default where there is no terminal."""
    about = f"Format of the data: by default a table on a terminal, {elsewhere} elsewhere."
    return flag(about, "--format", envvar="LEVELLED_FORMAT", show_envvar=True)


Format = Annotated[Form | None, format_flag("json")]
PoolFile = Annotated[str | None, flag("The pool file, if it has moved.")]
ScoreFiles = Annotated[list[str], flag("The predictor's file, if it has moved; repeatable.")]
ClassNames = Annotated[str | None, flag(OPTIONS["classes"].help, metavar="A,B,...")]
Workers = Annotated[int, flag("Number of processes on this machine.", min=1)]
BackendName = Annotated[
    str,
    flag(
        "Where the work runs: local, or a dask or ray cluster.",
        type=click.Choice(["local", "dask", "ray"]),
    ),
]
Address = Annotated[
    str | None,
    flag("Address of the dask or ray cluster, as HOST:PORT; by default one is started here."),
]


Opened = Annotated["Campaign", ()]
"""A campaign that a command works on; make_command has it opened."""
OpenedWithPool = Annotated["Campaign", ("pool",)]
"""A campaign whose pool is read, which may have moved."""
OpenedWithFiles = Annotated["Campaign", ("pool", "scores")]
"""A campaign all of whose files are read."""


def _opening(command: Command) -> Command:
    """A command on a campaign, as one that takes NAME and --storage and opens it.

    That is a command whose first parameter is `campaign`; any other is returned as it is.
    """
    first, *own = inspect.signature(command).parameters.values()
    if first.name != "campaign":
        return command
    _, moved = get_args(first.annotation)

    @wraps(command, assigned=("__name__", "__doc__"), updated=())
    def run(
        name: Name,
        *,
        storage: Storage = DEFAULT_STORAGE,
        pool: PoolFile = None,
        scores: ScoreFiles = [],  # noqa: B006
        **given: Any,  # noqa: ANN401
    ) -> None:
        opened = lv.load_campaign(name, storage=storage, pool=pool, scores=scores)
        command(campaign=opened, **given)

    name, *added, _ = inspect.signature(run, follow_wrapped=False).parameters.values()
    added = [one for one in added if one.name in ("storage", *moved)]
    run.__signature__ = inspect.Signature([name, *own, *added])  # type: ignore[attr-defined]
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
        limits = {"type": _count_or_none}
    elif kind is int:
        limits = {"min": option.least, "max": option.most}
    if option.choices:
        words = option.choices if unset else option.words
        metavar, limits = "|".join(words), {"type": click.Choice(words)}
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
                raise click.UsageError(f"{text!r} is not of the form {option.metavar}.")
        named: dict[str, str] = {}
        for column, _, kind in parts:  # roles of a column add up
            named[column] = f"{named[column]},{kind}" if column in named else kind
        return named
    if option.kind is list:
        return given.split(",") if isinstance(given, str) else given or option.default
    if not option.in_file:
        return given
    try:
        return "" if given is None else given.read_text(encoding="utf-8")
    except UnicodeDecodeError as wrong:
        raise click.UsageError(f"{given} is no text in UTF-8.") from wrong


def _count_or_none(text: object) -> int:
    """A number, 0 for none."""
    if str(text) == "none":
        return 0
    if not str(text).isdecimal():
        raise click.BadParameter(f"{text!r} is neither a number nor none.")
    return int(str(text))


def refuse(why: str, *names: str) -> None:
    """Refuse parameters that would be passed over, as in "--draw" "needs --return".

    Only those that were typed: variables may be set for other calls.
    """
    context = click.get_current_context()
    for one in context.command.params:
        source = context.get_parameter_source(one.name or "")
        given = context.params.get(one.name or "") != ()  # Click 8.2 calls no words given ones
        if one.name in names and given and source is ParameterSource.COMMANDLINE:
            spelt = "/".join([one.opts[-1], *one.secondary_opts])
            if isinstance(one, click.Argument):
                spelt = one.human_readable_name
            raise click.UsageError(f"{spelt} {why}.")


def choose_one(**flags: object) -> str:
    """The name of the one flag that is set, or "" if none is; two are refused."""
    chosen = [name for name, value in flags.items() if value == "" or value]
    if len(chosen) > 1:
        spelt = " and ".join(f"--{name.replace('_', '-')}" for name in chosen)
        raise click.UsageError(f"{spelt} do not go together.")
    return chosen[0] if chosen else ""
