"""Single keys from a terminal, without waiting for the end of a line."""

import codecs
import os
import re
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto

__all__ = ["Key", "Keyboard", "open_keyboard"]


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
