"""An item as a terminal shows it: each field by the kind of its content, all text made harmless."""

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from levelled.cli import show

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.segment import Segment

    from levelled.sources import ShownField

_ROLES = {"system": "magenta", "user": "cyan", "assistant": "green", "tool": "yellow"}
_SIDE_BY_SIDE = 100
"""Columns of a terminal from which on a pair is shown side by side."""
_LONGEST = 2_000_000


def render_fields(fields: "Sequence[ShownField]", width: int) -> "list[RenderableType]":
    """The fields of an item; one alone needs no heading, and short facts share a table."""
    facts = [one for one in fields if one.kind == "number"]
    pair = [one for one in fields if one.name in ("left", "right")]
    texts = [one for one in fields if one not in facts]
    shown: list[RenderableType] = []
    if facts:
        shown.append(_facts(facts))
    sides = len(pair) == 2 and width >= _SIDE_BY_SIDE
    for one in texts:
        if not (sides and one in pair):
            shown += _field(one, heading=len(fields) > 1)
    if sides:
        shown.append(_side_by_side(pair))
    return shown


def _safe_lines(lines: "Iterable[Iterable[Segment]]") -> "list[list[Segment]]":
    """Rendered lines without a character that could act upon a terminal."""
    from rich.segment import Segment

    return [
        [Segment(show.plain(one.text, _LONGEST), one.style) for one in line if not one.control]
        for line in lines
    ]


def render_markdown(text: str) -> "RenderableType":
    """Markdown with the addresses of its links in view."""
    from rich.markdown import Markdown

    return Markdown(_plain(text), hyperlinks=False)


def _plain(text: object) -> str:
    """Text from outside with its line ends, and control characters escaped."""
    lines = ("" if text is None else str(text)).expandtabs(4).splitlines()
    return "\n".join(show.plain(line, _LONGEST) for line in lines)


def _field(field: "ShownField", *, heading: bool) -> "list[RenderableType]":
    from rich.text import Text

    name = [Text(show.plain(field.name, 80), style="bold")] if heading else []
    return [*name, *_content(field.kind, field.value), Text("")]


def _content(kind: str, value: Any) -> "list[RenderableType]":  # noqa: ANN401
    from rich.text import Text

    if kind == "chat":
        return [part for message in value for part in _message(message)]
    if kind == "markdown":
        return [render_markdown(value)]
    if kind == "json":
        return [Text(_plain(json.dumps(value, indent=2, ensure_ascii=False)))]
    if kind == "image":
        data, path = value.startswith("data:"), show.plain(value)
        size = f"[image of {len(value) * 3 // 4 // 1000 + 1} kB, not shown in a terminal]"
        return [Text(size if data else f"[image: {path}]", style="italic")]
    return [Text(_plain(value))]


def _message(message: dict[str, Any]) -> "list[RenderableType]":
    """A message of a chat: its role, what was said, and the tools that were called."""
    from rich.text import Text

    from levelled.sources import shown_fields

    role = show.plain(message["role"], 40)
    shown: list[RenderableType] = [Text(role, style=f"bold {_ROLES.get(role, 'blue')}")]
    if message["content"] not in ("", None):
        (content,) = shown_fields({"content": message["content"]})
        shown += _content(content.kind, content.value)
    for call in message.get("tool_calls") or ():
        shown.append(Text(f"calls {_plain(json.dumps(call, ensure_ascii=False))}", style="yellow"))
    return [*shown, Text("")]


def _facts(fields: "Sequence[ShownField]") -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for one in fields:
        table.add_row(Text(show.plain(one.name, 40), style="bold"), Text(_plain(one.value)))
    return table


def _side_by_side(pair: "Sequence[ShownField]") -> "RenderableType":
    from rich.console import Group
    from rich.table import Table

    table = Table(expand=True, padding=(0, 1))
    for one in pair:
        table.add_column(one.name, ratio=1, overflow="fold")
    table.add_row(*(Group(*_content(one.kind, one.value)) for one in pair))
    return table


def render_lines(
    console: "Console", shown: "Sequence[RenderableType]", width: int
) -> "list[list[Segment]]":
    """What is shown as lines of at most `width` characters."""
    from rich.console import Group

    options = console.options.update(width=width, height=None)
    return _safe_lines(console.render_lines(Group(*shown), options, pad=False))
