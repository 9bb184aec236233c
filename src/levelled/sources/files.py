"""The files that a path stands for, their formats, and lines of JSON.

Nothing here needs pyarrow, which takes longer to load than a file of labels to read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from os import PathLike, fspath
from pathlib import Path, PurePath
from typing import IO, Any
from urllib.parse import unquote

from levelled.errors import PoolError

PathName = str | PathLike[str]

ENDINGS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
"""The format of a file by the ending of its name."""
LONGEST = 1 << 24
"""Bytes of the longest row of a file."""
SAMPLED = "parquet-sample:"
"""How the fingerprint of a sample begins; any other is the sha256 of all content."""
SIGNS = "*?["
"""The signs of a pattern."""


def files_of(source: PathName) -> list[Path]:
    """The files of this machine that a path, a pattern or a folder stands for.

    In a folder, files of other formats and hidden ones are passed over.
    """
    if not fspath(source):
        raise PoolError("The name of the file is empty: name a file, a pattern or a folder.")
    path = local_path(source)
    try:
        is_folder, is_file, is_there = path.is_dir(), path.is_file(), path.exists()
    except (OSError, ValueError) as wrong:  # such as a name that is too long
        why = wrong.strerror if isinstance(wrong, OSError) else wrong
        raise PoolError(f"{str(source)[:80]!r} cannot be a file: {why}.") from wrong
    if is_folder:
        return _files_in(path)
    if is_file:
        return [path]
    if is_there:
        raise PoolError(
            f"{str(path)!r} is a pipe, a socket or a device, not a file: write its content to a "
            f"file, and name that."
        )
    if not any(sign in str(path) for sign in SIGNS):
        raise PoolError(f"There is no file {str(path)!r} (looked from {Path.cwd()}).")
    return _matches(path)


def one_file(source: PathName, wanted: str) -> Path:
    """The only file that a path stands for; `wanted` says what is to be in one."""
    paths = files_of(source)
    if len(paths) > 1:
        raise PoolError(f"{source} are {len(paths)} files; {wanted}.")
    return paths[0]


def is_address(source: object) -> bool:
    """True for s3://bucket/pool/*.parquet and the like."""
    return isinstance(source, str) and "://" in source


def local_path(source: PathName) -> Path:
    """The path of a file of this machine, which may be written as an address: file:///pool.csv."""
    name = fspath(source)
    local = unquote(name.removeprefix("file://")) if name.startswith("file://") else name
    return Path(local).expanduser()


def format_of(path: str | Path) -> str:
    """The format of a file, by its name."""
    ending = PurePath(path).suffix
    try:
        return ENDINGS[ending.lower()]
    except KeyError:
        raise PoolError(
            f"{path} ends in {ending or 'nothing'}, which is not known: files are read by "
            f"their ending, one of {', '.join(ENDINGS)}. Outputs of other tools (.eval, .json, a "
            f"folder) are named alone."
        ) from None


def is_one_of(path: Path, source: PathName) -> bool:
    """True if a file at this path is, or would be, one of those that the source stands for."""
    if is_address(source) and not fspath(source).startswith("file://"):
        return False
    path, whole = path.expanduser(), local_path(source)
    if path.exists() and any(path.samefile(one) for one in files_of(source)):
        return True
    target = path.resolve()
    if whole.is_dir():
        return target.is_relative_to(whole.resolve())
    at = next((n for n, one in enumerate(whole.parts) if set(one) & {*SIGNS}), len(whole.parts))
    folder = Path(*whole.parts[:at]).resolve()
    return fits(target.parts, (*folder.parts, *whole.parts[at:]))


def is_sampled(fingerprint: str) -> bool:
    """True for a fingerprint of a sample."""
    return fingerprint.startswith(SAMPLED)


def json_objects(file: IO[bytes], name: str) -> Iterator[dict[str, Any]]:
    """The objects of a file with one a line; empty lines are passed over."""
    for number, line in json_lines(file, name):
        yield parse_object(line, number, name)


def json_lines(file: IO[bytes], name: str) -> Iterator[tuple[int, bytes]]:
    """The lines that are not empty, numbered from 1."""
    for number, line in enumerate(iter(lambda: file.readline(LONGEST + 1), b""), start=1):
        if len(line) > LONGEST:
            raise PoolError(
                f"Line {number} of {name} is longer than {LONGEST >> 20} MB: write one object a "
                f"line."
            )
        # The mark in front is left by programs on Windows.
        text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        if text.strip():
            yield number, text


def parse_object(line: bytes, number: int, name: str) -> dict[str, Any]:
    """The object of one line; anything else is refused with the number of the line."""
    try:
        value = json.loads(line, object_pairs_hook=_with_names_once)
    except (ValueError, RecursionError) as wrong:
        raise PoolError(f"Line {number} of {name} is not JSON: {wrong}.") from wrong
    if not isinstance(value, dict):
        raise PoolError(
            f'Line {number} of {name} is no object; write one a line, such as {{"id": 1}}.'
        )
    return value


def _with_names_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return values


def _matches(path: Path) -> list[Path]:
    """The files that match a pattern."""
    try:
        matches = [*Path(path.anchor).glob(str(path.relative_to(path.anchor)))]
    except ValueError as wrong:
        raise PoolError(f"{str(path)!r} is no pattern: {wrong}.") from wrong
    files = [file for file in matches if file.is_file()]
    if not files:
        raise PoolError(f"No file matches {str(path)!r} (looked from {Path.cwd()}).")
    return files


def fits(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """True if a path matches a pattern, part by part; ** stands for any number of folders."""
    if not parts or not pattern:
        return not parts and not pattern
    if pattern[0] == "**":
        return any(fits(parts[n:], pattern[1:]) for n in range(len(parts)))
    return fnmatchcase(parts[0], pattern[0]) and fits(parts[1:], pattern[1:])


def is_row_file(parts: Sequence[str]) -> bool:
    """True for the path in a folder of a file with rows: one of a known format, none hidden."""
    is_known = PurePath(parts[-1]).suffix.lower() in ENDINGS
    return is_known and not any(part.startswith((".", "_")) for part in parts)


def _files_in(folder: Path) -> list[Path]:
    files = [
        path
        for path in folder.rglob("*")
        if is_row_file(path.relative_to(folder).parts) and path.is_file()
    ]
    if not files:
        raise PoolError(
            f"The folder {folder} holds no file that ends in one of {', '.join(ENDINGS)}."
        )
    return files
