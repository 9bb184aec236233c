"""JSON objects, one a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from levelled.errors import PoolError

__all__ = ["lines", "object_of", "objects"]


def objects(file: Iterable[bytes], name: str) -> Iterator[dict[str, Any]]:
    """The objects of a file; lines without anything are passed over."""
    for number, line in lines(file):
        yield object_of(line, number, name)


def lines(file: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines that hold something, numbered from 1."""
    for number, line in enumerate(file, start=1):
        # The mark in front is left by programs on Windows.
        text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        if text.strip():
            yield number, text


def object_of(line: bytes, number: int, name: str) -> dict[str, Any]:
    """The object of a line, or what is wrong with it."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as wrong:
        raise PoolError(f"Line {number} of {name} is not JSON: {wrong}.") from wrong
    if not isinstance(found, dict):
        raise PoolError(
            f'Line {number} of {name} is no object; write one a line, such as {{"id": 1}}.'
        )
    return found
