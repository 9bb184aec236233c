"""The files that a path stands for, their formats and fingerprint, and lines of JSON.

Nothing here needs pyarrow, which takes longer to load than a file of labels to read.

The fingerprint of large Parquet files reads the footer of each, which lists the rows, sizes, places
and extreme values of all column chunks, and blocks of bytes spread evenly over the files. It
notices files that were written anew, cut, extended, exchanged or put in another order. Bytes that
were overwritten in place, without a change of any size or extreme value, it notices only where it
looks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any

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
_SIGNS = "*?["
"""The signs of a pattern."""


def files_of(source: PathName | Sequence[PathName]) -> tuple[Path, ...]:
    """The files that a path, a pattern, a folder or a list of these stands for, sorted.

    All must have one format. In a folder, files of other formats and hidden ones are passed over.
    """
    several = [source] if isinstance(source, str | PathLike) else source
    if not all(fspath(one) for one in several):
        raise PoolError("The name of the file is empty: name a file, a pattern or a folder.")
    paths = sorted({path for one in several for path in _expand(one)}, key=Path.as_posix)
    if not paths:
        raise PoolError("The list of files is empty: name at least one.")
    formats = {format_of(path): path for path in paths}
    if len(formats) > 1:
        kinds = ", ".join(f"{path.name} is {kind}" for kind, path in sorted(formats.items()))
        raise PoolError(f"The files of a pool must be of one format: {kinds}.")
    return tuple(paths)


def format_of(path: Path) -> str:
    """The format of a file, by its name."""
    try:
        return ENDINGS[path.suffix.lower()]
    except KeyError:
        raise PoolError(
            f"{path} ends in {path.suffix or 'nothing'}, which is not known: files are read by "
            f"their ending, one of {', '.join(ENDINGS)}. Outputs of other tools (.eval, .json, a "
            f"folder) are named alone."
        ) from None


def is_one_of(path: Path, source: PathName) -> bool:
    """True if a file at this path is, or would be, one of those that the source stands for."""
    path, whole = path.expanduser(), Path(source).expanduser()
    if path.exists() and any(path.samefile(one) for one in _expand(source)):
        return True
    target = path.resolve()
    if whole.is_dir():
        return target.is_relative_to(whole.resolve())
    at = next((n for n, one in enumerate(whole.parts) if set(one) & {*_SIGNS}), len(whole.parts))
    folder = Path(*whole.parts[:at]).resolve()
    return _fits(target.parts, (*folder.parts, *whole.parts[at:]))


def digest(paths: Sequence[Path]) -> str:
    """The sha256 of the files' bytes, one after the other; for one file that of `sha256sum`."""
    total = hashlib.sha256()
    for path in paths:
        try:
            with path.open("rb") as file:
                hashlib.file_digest(file, lambda: total)
        except OSError as wrong:
            raise PoolError(f"{path} cannot be read: {wrong.strerror or wrong}.") from wrong
    return total.hexdigest()


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


def _expand(source: PathName) -> list[Path]:
    path = Path(source).expanduser()
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
    if not any(sign in str(path) for sign in _SIGNS):
        raise PoolError(f"There is no file {str(path)!r} (looked from {Path.cwd()}).")
    return _matches(path)


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


def _fits(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """True if a path matches a pattern, part by part; ** stands for any number of folders."""
    if not parts or not pattern:
        return not parts and not pattern
    if pattern[0] == "**":
        return any(_fits(parts[n:], pattern[1:]) for n in range(len(parts)))
    return fnmatchcase(parts[0], pattern[0]) and _fits(parts[1:], pattern[1:])


def _files_in(folder: Path) -> list[Path]:
    files = [
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in ENDINGS
        and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
        and path.is_file()
    ]
    if not files:
        raise PoolError(
            f"The folder {folder} holds no file that ends in one of {', '.join(ENDINGS)}."
        )
    return files


class Stamps:
    """The size and the time of change that files had when they were opened."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._stamps = {path: _stamp(path) for path in paths}

    @property
    def changed(self) -> bool:
        """True if a file has another stamp by now, or is gone."""
        try:
            return any(_stamp(path) != stamp for path, stamp in self._stamps.items())
        except PoolError:
            return True

    def check(self, *paths: Path) -> None:
        """Refuse a file that has changed: one of these, or of all if none is named."""
        for path in paths or self._stamps:
            if _stamp(path) != self._stamps[path]:
                raise PoolError(
                    f"{path} has changed since the pool was opened. Open the pool again once "
                    f"nobody writes to its files."
                )


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError as wrong:
        raise PoolError(f"{path} cannot be read: {wrong.strerror or wrong}.") from wrong
    return found.st_size, found.st_mtime_ns


_KIND = "parquet-sample:"
"""How such a fingerprint begins; any other is the sha256 of all content."""
_LARGE = 1 << 30
"""Bytes from which on not all of them are read."""
_BLOCK, _BLOCKS, _LEAST = 1 << 16, 1024, 4
"""Bytes of a block, how many there are, and the fewest in a file."""


def is_large(paths: Sequence[Path]) -> bool:
    """True for Parquet files of which only a sample is read."""
    return format_of(paths[0]) == "parquet" and sum(_size(path) for path in paths) > _LARGE


def is_sampled(fingerprint: str) -> bool:
    """True for a fingerprint of a sample."""
    return fingerprint.startswith(_KIND)


def sample_digest(paths: Sequence[Path]) -> str:
    """The sha256 of the sizes, the footers and a sample of the bytes of Parquet files in order."""
    total, blocks = hashlib.sha256(), max(_LEAST, _BLOCKS // len(paths))
    for path in paths:
        size = _size(path)
        total.update(size.to_bytes(8, "little"))
        try:
            with path.open("rb") as file:
                file.seek(max(size - 8, 0))
                footer = int.from_bytes(file.read(4), "little")
                places = [at * max(size - _BLOCK, 0) // (blocks - 1) for at in range(blocks)]
                for place, length in ((max(size - 8 - footer, 0), footer), *_pairs(places)):
                    file.seek(place)
                    total.update(file.read(length))
        except OSError as wrong:
            raise PoolError(f"{path} cannot be read: {wrong.strerror or wrong}.") from wrong
    return f"{_KIND}{total.hexdigest()}"


def _pairs(places: Sequence[int]) -> list[tuple[int, int]]:
    return [(place, _BLOCK) for place in places]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as wrong:
        raise PoolError(f"{path} cannot be read: {wrong.strerror or wrong}.") from wrong
