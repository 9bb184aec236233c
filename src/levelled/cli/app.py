"""The application: the groups of commands, their old names, and the way errors are printed."""

import io
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import click

from levelled import __version__
from levelled.cli import show
from levelled.cli.options import Group, make_command
from levelled.errors import LevelledError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUPS: Mapping[str, Mapping[str, str]] = {
    "Start": dict.fromkeys(("demo", "look", "plan", "create", "serve"), "starting"),
    "Label": {"label": "label", **dict.fromkeys(("ask", "tell", "open"), "labelling")},
    "Read": dict.fromkeys(
        ("list", "status", "estimate", "compare", "judge", "gate", "report", "export", "audit"),
        "reading",
    ),
    "Manage": dict.fromkeys(("change", "attach", "storage", "doctor", "trust"), "managing"),
    "Research": {"simulate": "simulating", "draw": "drawing", "learn": "simulating"},
}
"""The commands, each with the module that has its function; no other module is imported for it.

Commands that other packages register are listed under Research.
"""

_INTERRUPTED = 128 + signal.SIGINT
"""The exit code of programs that Ctrl-C has ended, as shells report it."""

_OLD: Mapping[str, str] = {
    "mine": "open --mine",
    "return": "open --return",
    "skip": "tell --skip",
    "unlabelable": "tell --unlabelable",
    "amend": "tell --amend",
    "undo": "tell --undo",
    "rescore": "attach --predictor",
    "close": "change --close",
    "reopen": "change --reopen",
    "rename": "change NAME --rename NAME",
    "delete": "change --delete",
    "token add": "serve --invite NAME",
    "token list": "serve --people",
    "token remove": "serve --revoke NAME",
    "advise": "learn --advise",
    "data list": "reproduce --datasets",
    "data fetch": "reproduce --fetch NAME",
}
"""Old names, which answer for one version, each with the words that took its place.

The last flag goes before each argument from the NAME after it on.
"""


def _rename(words: list[str], *, quiet: bool) -> list[str]:
    """The words of a command line with the new name of its command."""
    old = next((name for name in (" ".join(words[:2]), words[0]) if name in _OLD), None)
    if old is None:
        group = [new for name, new in _OLD.items() if name.startswith(f"{words[0]} ")]
        if group and not quiet:
            raise click.UsageError(f"levelled {words[0]} is now levelled {' or '.join(group)}.")
        return words
    form, rest = _OLD[old].split(), words[len(old.split()) :]
    new = [one for one in form if one != "NAME"]
    if old == "rescore":  # whose option has another name
        rest = [re.sub(r"^--pool(?=$|=)", "--predictor", one) for one in rest]
    elif form[-1] == "NAME":
        options: list[str] = []
        arguments: list[str] = []
        for last, one in pairwise(["", *rest]):
            is_value = last.startswith("-") and "=" not in last
            (options if is_value or one.startswith("-") else arguments).append(one)
        place = form.index(new[-1]) - 1
        rest = [*options, *arguments[:place]]
        rest += [word for one in arguments[place:] for word in (new[-1], one)]
    else:
        rest = [*new[1:], *rest]
    if not quiet:
        show.tell(
            f"note: levelled {old} is now levelled {' '.join(new)}; the old name ends with the "
            f"next version"
        )
    return [new[0], *rest]


class _Commands(Group):
    """The group of all commands, each of which is imported when it is needed."""

    def sections(self, ctx: click.Context) -> Mapping[str, Sequence[str]]:
        """The names of all commands in their groups, with those that other packages register."""
        registered = sorted(_registered())
        return {
            group: [*names, *(registered if group == "Research" else ())]
            for group, names in GROUPS.items()
        }

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands, group by group."""
        return [name for group in self.sections(ctx).values() for name in group]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name."""
        return _find_command(cmd_name)

    def make_context(self, *words: Any, **more: Any) -> click.Context:  # noqa: ANN401
        """The context of a command line; Ctrl-C ends it in one line."""
        with _interruptible():
            return super().make_context(*words, **more)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401
        """Run the command; Ctrl-C ends it in one line."""
        with _interruptible():
            return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the words name, perhaps by its old name, and the words after it."""
        return super().resolve_command(ctx, _rename(args, quiet=ctx.resilient_parsing))


@contextmanager
def _interruptible() -> Iterator[None]:
    """End with the usual exit code at Ctrl-C, which Click would take for a refusal."""
    try:
        yield
    except KeyboardInterrupt:
        show.tell("levelled: interrupted")
        sys.exit(_INTERRUPTED)


@cache
def _find_command(name: str) -> click.Command | None:
    """The command of this name, made once a process; None if there is none."""
    for names in GROUPS.values():
        if name in names:
            module = import_module(f"levelled.cli.{names[name]}")
            found = getattr(module, f"{name}_", None) or getattr(module, name)
            break
    else:
        found = _registered()[name].load() if name in _registered() else None
    if found is None or isinstance(found, click.Command):
        return found
    return make_command(found, name)


@cache
def _registered() -> "Mapping[str, EntryPoint]":
    """The commands that installed packages register, which takes a while to find out."""
    from importlib.metadata import entry_points

    found = entry_points(group="levelled.commands")
    return {one.name: one for one in found if one.name not in _OLD}


def _complete(context: click.Context, option: click.Parameter, shell: str | None) -> None:
    if shell is not None and not context.resilient_parsing:
        from levelled.cli.completion import write_script

        write_script(app, shell, install=option.name == "install_completion")
        context.exit()


def _version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        click.echo(f"levelled {__version__}")
        context.exit()


def _eager(name: str, about: str, callback: Callable[..., None], **more: Any) -> click.Option:  # noqa: ANN401
    return click.Option(
        [name],
        help=about,
        callback=callback,
        is_eager=True,
        expose_value=False,
        allow_from_autoenv=False,
        **more,
    )


app = _Commands(
    name="levelled",
    help="Unbiased estimates and corrective training weights from actively chosen labels.",
    epilog="Every option has a variable: LEVELLED_ASK_COUNT is --count of levelled ask.",
    no_args_is_help=True,
    context_settings={"auto_envvar_prefix": "LEVELLED"},
    params=[
        _eager("--version", "Print the version.", _version, is_flag=True),
        *(
            _eager(name, about, _complete, is_flag=False, flag_value="", metavar="[SHELL]")
            for name, about in {
                "--install-completion": "Let the shell complete commands and campaigns.",
                "--show-completion": "Print the script for it.",
            }.items()
        ),
    ],
)


def run(words: Sequence[str] | None = None) -> None:
    """Run the application; an error is one line on stderr and exit code 1."""
    if sys.stdout is None:  # closed
        sys.stdout = io.StringIO()
    elif isinstance(sys.stdout, io.TextIOWrapper):  # JSON needs UTF-8
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        try:
            app.main(words, prog_name="levelled")
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # levelled ask ... | head -1
        _let_go_of_stdout()
        sys.exit(1)
    except LevelledError as refused:
        _refuse(str(refused))
    except MemoryError as refused:
        _refuse(f"This takes more memory than there is: {str(refused) or 'nothing is left'}.")
    except OSError as refused:
        _let_go_of_stdout()
        named = "" if refused.filename is None else f": {refused.filename}"
        _refuse(f"{refused.strerror or refused}{named}")


def _refuse(why: str) -> None:
    show.tell(f"levelled: {' '.join(why.split())}")
    sys.exit(1)


def _let_go_of_stdout() -> None:
    """Discard output that cannot be written, which Python would flush again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
