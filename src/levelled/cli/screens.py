"""Ways to talk with a labeller: keys and the whole screen of a terminal, or lines through pipes."""

import codecs
import os
import re
import select
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TYPE_CHECKING, TextIO

from levelled.cli import show

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.segment import Segment


LONGEST = 2_000_000
"""The most characters of one line that are shown."""


class Key(Enum):
    """Keys that are no characters, and what else may happen instead of a key."""

    UP = auto()
    DOWN = auto()
    PAGE_UP = auto()
    PAGE_DOWN = auto()
    HOME = auto()
    END = auto()
    ENTER = auto()
    BACKSPACE = auto()
    ESCAPE = auto()
    CLEAR = auto()
    """Ctrl-U, which clears a line."""
    RESIZED = auto()
    END_OF_INPUT = auto()


_CHARACTERS = {
    "\r": Key.ENTER,
    "\n": Key.ENTER,
    "\x7f": Key.BACKSPACE,
    "\x08": Key.BACKSPACE,
    "\x15": Key.CLEAR,
    "\x04": Key.END_OF_INPUT,
}
_SEQUENCES = {
    **dict.fromkeys(("[A", "OA"), Key.UP),
    **dict.fromkeys(("[B", "OB"), Key.DOWN),
    "[5~": Key.PAGE_UP,
    "[6~": Key.PAGE_DOWN,
    **dict.fromkeys(("[H", "OH", "[1~"), Key.HOME),
    **dict.fromkeys(("[F", "OF", "[4~"), Key.END),
}
_SEQUENCE = re.compile(r"(\[[0-9;?]*[A-Za-z~]|O[A-Za-z])")
_PATIENCE = 0.25
"""Seconds between looks at the size of the terminal."""


class Keyboard:
    """Keys of a terminal in the order in which they were pressed."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._waiting = ""
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        self._size = os.get_terminal_size(fd)

    def read(self) -> Key | str:
        """The next key: a printable character, or one of `Key`."""
        while True:
            if not self._waiting:
                if not select.select([self._fd], [], [], _PATIENCE)[0]:
                    if (size := os.get_terminal_size(self._fd)) != self._size:
                        self._size = size
                        return Key.RESIZED
                    continue
                data = os.read(self._fd, 4096)
                if not data:
                    return Key.END_OF_INPUT
                self._waiting += self._decode(data)
                continue
            if (key := self._take()) is not None:
                return key

    def _take(self) -> Key | str | None:
        """The first of the keys that wait; None for one without a meaning."""
        first, self._waiting = self._waiting[0], self._waiting[1:]
        if first == "\x1b":
            sequence = _SEQUENCE.match(self._waiting)
            if sequence is None:
                return Key.ESCAPE
            self._waiting = self._waiting[sequence.end() :]
            return _SEQUENCES.get(sequence[0])
        if first in _CHARACTERS:
            return _CHARACTERS[first]
        return first if first.isprintable() else None


if sys.platform == "win32":
    import msvcrt

    _WINDOWS = {"H": Key.UP, "P": Key.DOWN, "I": Key.PAGE_UP, "Q": Key.PAGE_DOWN}
    _WINDOWS |= {"G": Key.HOME, "O": Key.END}

    class _WindowsKeyboard(Keyboard):
        """Keys of the console of Windows, which is no file to wait for."""

        def read(self) -> Key | str:
            """The next key."""
            while True:
                first = msvcrt.getwch()
                if first in ("\0", "\xe0"):
                    key: Key | str | None = _WINDOWS.get(msvcrt.getwch())
                else:
                    self._waiting = first
                    key = self._take()
                if first == "\x03":
                    raise KeyboardInterrupt
                if key is not None:
                    return key

    @contextmanager
    def open_keyboard(fd: int) -> Iterator[Keyboard]:
        """The keys of a terminal."""
        yield _WindowsKeyboard(fd)

else:
    import termios
    import tty

    @contextmanager
    def open_keyboard(fd: int) -> Iterator[Keyboard]:
        """The keys of a terminal, which is as it was before at the end, whatever happens."""
        before = termios.tcgetattr(fd)
        try:
            tty.setcbreak(fd, termios.TCSADRAIN)
            yield Keyboard(fd)
        finally:
            termios.tcsetattr(fd, termios.TCSADRAIN, before)


@dataclass(frozen=True, slots=True)
class Page:
    """One view: a title, a text that may be longer than the screen, and what can be done.

    `body` is a function of the width. `prompt` is the question; `message` is what happened last.
    """

    title: str
    body: "Callable[[int], Sequence[RenderableType]]"
    prompt: str
    keys: str
    message: str = ""


@contextmanager
def open_screen() -> "Iterator[Screen]":
    """The whole screen where there is a terminal, else lines of standard input and output."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or console.is_dumb_terminal:
        yield _LineScreen(console, sys.stdin)
        return
    with open_keyboard(sys.stdin.fileno()) as keyboard, console.screen(hide_cursor=True):
        yield _WholeScreen(console, keyboard)


class _WholeScreen:
    """Pages on the whole screen; longer ones are scrolled by the arrows, j and k, and pages."""

    whole_lines = False  # the labeller sends single keys

    def __init__(self, console: "Console", keyboard: Keyboard) -> None:
        self._console = console
        self._keyboard = keyboard
        self._page = Page("", lambda _: (), "", "")
        self._top = 0
        self._rows = 1
        self._longest_top = 0

    def show(self, page: Page) -> None:
        """Show a page from its beginning."""
        self._page, self._top = page, 0
        self._draw()

    def read(self) -> Key | str:
        """The next key that is not about scrolling."""
        while True:
            key = self._keyboard.read()
            if (top := self._scrolled(key)) is None:
                return key
            self._top = min(max(top, 0), self._longest_top)
            self._draw()

    def ask(self, prompt: str, start: str = "") -> str | None:
        """A line of text that is edited at its end; Esc gives up."""
        before, text = self._page, start
        try:
            while True:
                hint = "Enter: done   Esc: back   Ctrl-U: clear"
                self._page = replace(before, prompt=f"{prompt} {text}▏", keys=hint)
                self._draw()
                key = self._keyboard.read()
                if key is Key.ENTER:
                    return text
                if key in (Key.ESCAPE, Key.END_OF_INPUT):
                    return None
                if key is Key.BACKSPACE:
                    text = text[:-1]
                elif key is Key.CLEAR:
                    text = ""
                elif isinstance(key, str):
                    text += key
        finally:
            self._page = before

    def _scrolled(self, key: Key | str) -> int | None:
        """The first line to show after a key; None if the key does not scroll."""
        page = max(self._rows - 1, 1)
        places = {
            **dict.fromkeys((Key.DOWN, "j"), self._top + 1),
            **dict.fromkeys((Key.UP, "k"), self._top - 1),
            Key.PAGE_DOWN: self._top + page,
            Key.PAGE_UP: self._top - page,
            Key.HOME: 0,
            Key.END: self._longest_top,
            Key.RESIZED: self._top,
        }
        return places.get(key)

    def _draw(self) -> None:
        from rich.screen import Screen as FullScreen
        from rich.segment import SegmentLines

        width, height = self._console.size
        page = self._page
        body = _render_lines(self._console, page.body(width), width)
        parts = ((page.prompt, "bold"), (page.message, "yellow"), (page.keys, "dim"))
        below = [line for text, style in parts for line in self._lines(text, style, width)]
        below = below[: max(height - 4, 1)]
        self._rows = max(height - len(below) - 3, 1)
        self._longest_top = max(len(body) - self._rows, 0)
        self._top = min(self._top, self._longest_top)
        shown = body[self._top : self._top + self._rows]
        shown += [[] for _ in range(self._rows - len(shown))]
        position = ""
        if len(body) > self._rows:
            last = min(self._top + self._rows, len(body))
            position = f"─── lines {self._top + 1} to {last} of {len(body)}, ↓ ↑ to scroll"
        lines = [
            self._lines(page.title, "bold", width)[0],
            self._rule(width, ""),
            *shown,
            self._rule(width, position),
            *below,
        ]
        self._console.print(FullScreen(SegmentLines(lines[:height], new_lines=True)), end="")

    def _lines(self, text: str, style: str, width: int) -> "list[list[Segment]]":
        from rich.text import Text

        return _render_lines(self._console, [Text(text, style=style)], width) if text else []

    def _rule(self, width: int, text: str) -> "list[Segment]":
        from rich.segment import Segment
        from rich.style import Style

        return [Segment(f"{text} {'─' * width}"[:width] if text else "─" * width, Style(dim=True))]


def _render_lines(
    console: "Console", shown: "Sequence[RenderableType]", width: int
) -> "list[list[Segment]]":
    """Lines of at most `width` characters, none of which could act upon a terminal."""
    from rich.console import Group
    from rich.segment import Segment

    options = console.options.update(width=width, height=None)
    return [
        [Segment(show.plain(one.text, LONGEST), one.style) for one in line if not one.control]
        for line in console.render_lines(Group(*shown), options, pad=False)
    ]


class _LineScreen:
    """Pages as plain text, answered by lines: for pipes, and for terminals that can do no more."""

    whole_lines = True

    def __init__(self, console: "Console", source: TextIO) -> None:
        self._console = console
        self._source = source
        self._title = ""
        self._last = ""

    def show(self, page: Page) -> None:
        """Print a page; of one that has been printed already, only the question."""
        width = self._console.width
        if page.title != self._title:
            self._print(page.title)
            for shown in _render_lines(self._console, page.body(width), width):
                self._print("".join(one.text for one in shown).rstrip())
        self._title = page.title
        for line in (*page.message.splitlines(), page.prompt):
            self._print(line)

    def read(self) -> Key | str:
        """The next line without blanks around it; an empty one is the key Enter."""
        line = self._source.readline()
        if not line:
            return Key.END_OF_INPUT
        return line.strip() or Key.ENTER

    def ask(self, prompt: str, start: str = "") -> str | None:
        """The next line of text."""
        if prompt != self._last:
            self._print(prompt)
        line = self._source.readline()
        return line.strip() if line else None

    def _print(self, text: str) -> None:
        self._last = text
        self._console.print(show.plain(text, 5000), soft_wrap=True)


Screen = _WholeScreen | _LineScreen
"""A place to show pages, and to read what the labeller does."""
