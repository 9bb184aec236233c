"""Pages of the docs that are made from the code: `python -m levelled_studies.manual docs/`."""

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

import levelled
from levelled.campaigns.options import GROUPS, OPTIONS
from levelled.cli.app import app

__all__ = ["described_parameters", "pages"]

_WIDTH = 96
_PARTS = (
    *("campaigns", "scores", "proposals", "samplers", "estimators", "metrics", "losses", "sources"),
    *("simulation", "backends", "advice", "learning", "web", "errors"),
)
_LABORATORY = "levelled_studies.bayes"
_FIRST = ("self", "cls")


def pages() -> dict[str, str]:
    """The text of each page under its file name; a test keeps the files equal to it."""
    return {"commands.md": _commands(), "reference.md": _reference()}


def _commands() -> str:
    return "# Commands\n\n" + "\n".join(_help(app, "levelled", None))


def _help(command: click.Command, name: str, parent: click.Context | None) -> Iterator[str]:
    """The help of a command, then of each command in it."""
    context = click.Context(
        command, info_name=name, parent=parent, terminal_width=_WIDTH, **command.context_settings
    )
    lines = "\n".join(line.rstrip() for line in command.get_help(context).strip().splitlines())
    yield f"## {context.command_path}\n\n```\n{lines}\n```\n"
    if isinstance(command, click.Group):
        for inner in sorted(command.list_commands(context)):
            found = command.get_command(context, inner)
            assert found is not None
            yield from _help(found, inner, context)


def _reference() -> str:
    first = sorted(set(levelled.__all__) - {*_PARTS})
    parts = (*(f"levelled.{part}" for part in _PARTS), _LABORATORY)
    sections = [_section("levelled", first), *map(_section, parts)]
    sections.append(_options())
    opening = "# Public names\n\nWritten `lv.` after `import levelled as lv`.\n\n"
    return opening + "\n".join(sections)


def _options() -> str:
    """A table of the options of a campaign, in their groups."""
    lines = ["| group | option | takes | default | meaning |", "|---|---|---|---|---|"]
    for one in sorted(OPTIONS.values(), key=lambda one: GROUPS.index(one.group)):
        default = "" if one.default is inspect.Parameter.empty else f"`{one.default!r}`"
        takes = one.takes.replace("|", "\\|")
        lines.append(f"| {one.group} | `{one.name}` | `{takes}` | {default} | {one.about} |")
    return "## Options of a campaign\n\n" + "\n".join(lines) + "\n"


def _section(name: str, names: list[str] | None = None) -> str:
    """The names of a package with their first lines; of its parts, with all they take as well."""
    module = importlib.import_module(name)
    title = name if name == _LABORATORY else name.replace("levelled", "lv", 1)
    if names:  # what they take is said in the section of their package
        entries = [_entry(each, getattr(module, each)) for each in names]
        return f"## {title}\n\n" + "".join(f"- {entry}\n" for entry in entries)
    lines = [line for each in module.__all__ for line in _lines(each, getattr(module, each))]
    return f"## {title}\n\n{_first_line(module)}\n\n" + "".join(f"{line}\n" for line in lines)


def _lines(name: str, thing: object, indent: str = "") -> Iterator[str]:
    """A thing, its parameters and, of a class, its methods, as nested lists."""
    yield f"{indent}- {_entry(name, thing)}"
    for names, about in described_parameters(thing).items():
        yield f"{indent}  - `{names}`: {about}"
    if inspect.isclass(thing):
        for method, function in vars(thing).items():
            function = getattr(function, "__func__", function)
            if inspect.isfunction(function) and not method.startswith("_") and function.__doc__:
                yield from _lines(f".{method}", function, indent + "  ")


def _entry(name: str, thing: object) -> str:
    signature = ""
    if inspect.isfunction(thing):
        takes = [each for each in inspect.signature(thing).parameters if each not in _FIRST]
        signature = f"({', '.join(takes)})"
    described = inspect.ismodule(thing) or (callable(thing) and hasattr(thing, "__module__"))
    about = _first_line(thing) if described else ""
    return f"`{name}{signature}`" + (f": {about}" if about else "")


def described_parameters(thing: object) -> dict[str, str]:
    """The lines that the docstring lists under `Parameters`: names, and what they are."""
    text = inspect.getdoc(thing) or ""
    section = text.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    lines = re.sub(r"\n +", " ", section).splitlines()
    return {names: about for names, _, about in (line.partition(" : ") for line in lines)}


def _first_line(thing: object) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0]


if __name__ == "__main__":
    for file, text in pages().items():
        (Path(sys.argv[1]) / file).write_text(text)
