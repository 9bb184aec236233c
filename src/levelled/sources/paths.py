"""Which files a pool consists of, and their fingerprint."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path

from levelled.errors import PoolError

__all__ = ["ENDINGS", "Given", "digest", "ending", "files_of"]

Given = str | PathLike[str]

ENDINGS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
"""How files are read, by the ending of their names."""

_CHUNK = 1 << 20


def files_of(given: Given | Sequence[Given]) -> tuple[Path, ...]:
    """The files that a path, a pattern, a folder or a list of these stands for, sorted.

    All must be of one format. In a folder, files of other kinds and hidden ones are passed over.
    """
    several = [given] if isinstance(given, str | PathLike) else given
    if not all(fspath(one) for one in several):
        raise PoolError("The name of the file is empty: name a file, a pattern or a folder.")
    found = sorted({path for one in several for path in _expanded(one)}, key=Path.as_posix)
    if not found:
        raise PoolError("The list of files is empty: name at least one.")
    kinds = {ending(path): path for path in found}
    if len(kinds) > 1:
        told = ", ".join(f"{path.name} is {kind}" for kind, path in sorted(kinds.items()))
        raise PoolError(f"The files of a pool must be of one format: {told}.")
    return tuple(found)


def ending(path: Path) -> str:
    """The format of a file, by its name."""
    try:
        return ENDINGS[path.suffix.lower()]
    except KeyError:
        raise PoolError(
            f"{path} ends in {path.suffix or 'nothing'}, which is not known: files are read by "
            f"their ending, one of {', '.join(ENDINGS)}."
        ) from None


def digest(paths: Sequence[Path]) -> str:
    """The sha256 of the files' bytes, one after the other: of one file, what `sha256sum` says."""
    total = hashlib.sha256()
    for path in paths:
        try:
            with path.open("rb") as file:
                while chunk := file.read(_CHUNK):
                    total.update(chunk)
        except OSError as wrong:
            raise PoolError(f"{path} cannot be read: {wrong.strerror or wrong}.") from wrong
    return total.hexdigest()


def _expanded(given: Given) -> list[Path]:
    path = Path(given).expanduser()
    try:
        if path.is_dir():
            return _inside(path)
        if path.exists():
            return [path]
    except (OSError, ValueError) as wrong:  # such as a name that is too long
        told = wrong.strerror if isinstance(wrong, OSError) else wrong
        raise PoolError(f"{str(given)[:80]!r} cannot be a file: {told}.") from wrong
    if not any(sign in str(path) for sign in "*?["):
        raise PoolError(f"There is no file {str(path)!r} (looked from {Path.cwd()}).")
    try:
        found = [*Path(path.anchor).glob(str(path.relative_to(path.anchor)))]
    except ValueError as wrong:
        raise PoolError(f"{str(path)!r} is no pattern: {wrong}.") from wrong
    files = [file for file in found if file.is_file()]
    if not files:
        raise PoolError(f"No file matches {str(path)!r} (looked from {Path.cwd()}).")
    return files


def _inside(folder: Path) -> list[Path]:
    found = [
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in ENDINGS
        and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
        and path.is_file()
    ]
    if not found:
        raise PoolError(
            f"The folder {folder} holds no file that ends in one of {', '.join(ENDINGS)}."
        )
    return found
