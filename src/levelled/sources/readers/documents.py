"""JSON documents and lines of JSON, read whole but no more than fits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from levelled.errors import PoolError
from levelled.sources.files import json_lines, parse_object

_MOST_BYTES = 1 << 30
"""Bytes of the largest file that is read whole."""


def parse_json(data: bytes, name: str) -> Any:  # noqa: ANN401
    """The value of a JSON document."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as wrong:
        why = "it is empty" if not data.strip() else str(wrong) or "it is nested too deeply"
        raise PoolError(f"{name} is not JSON: {why}.") from wrong


def read_document(path: Path) -> Any:  # noqa: ANN401
    """The value of a file that holds one JSON document."""
    check_size(path)
    return parse_json(path.read_bytes().removeprefix(b"\xef\xbb\xbf"), str(path))


def first_line(path: Path) -> Mapping[str, Any] | None:
    """The first object of a file with one a line; None if there is none, or if it is damaged."""
    try:
        with path.open("rb") as file:
            for number, line in json_lines(file, str(path)):
                return parse_object(line, number, str(path))
    except PoolError:
        pass  # whoever reads the file as a plain pool says what is wrong
    return None


def read_lines(path: Path) -> list[dict[str, Any]]:
    """All objects of a file with one a line."""
    check_size(path)
    with path.open("rb") as file:
        return [
            parse_object(line, number, str(path)) for number, line in json_lines(file, str(path))
        ]


def check_size(path: Path) -> None:
    """Refuse a file that is too large to be read whole."""
    size = path.stat().st_size
    if size > _MOST_BYTES:
        raise PoolError(
            f"{path} has {size >> 20:,} MB, and files of this tool are read up to "
            f"{_MOST_BYTES >> 20:,} MB: split it, or write its items to a Parquet file."
        )
