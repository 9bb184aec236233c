"""Files by name, on this machine or in any storage with an address, and lines of JSON.

The format of a file is that of its ending, also before .gz and .zip; a file with another ending,
or none, is recognised by its content.

pyarrow takes longer to load than a file of labels to read, so it is loaded only where it is needed.

The fingerprint of large Parquet files reads the footer of each, which lists the rows, sizes, places
and extreme values of all column chunks, and blocks of bytes spread evenly over the files. It
notices files that were written anew, cut, extended, exchanged or put in another order. Bytes that
were overwritten in place, without a change of any size or extreme value, it notices only where it
looks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from os import PathLike, fspath
from pathlib import Path, PurePath
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import unquote

from levelled._optional import optional
from levelled.errors import MissingExtraError, PoolError
from levelled.sources.packed import open_text

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import fs

PathName = str | PathLike[str]

ENDINGS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".xlsx": "",
}
"""The format of a file by the ending of its name; that of a workbook is found by its content."""
PACKED = (".gz", ".zip")
"""Endings of a file that holds another one, of text."""
LONGEST = 1 << 24
"""Bytes of the longest row of a file; a block of CSV is held in memory, and must hold a row."""
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
        inside = [
            one
            for one in path.rglob("*")
            if is_row_file(one.relative_to(path).parts) and one.is_file()
        ]
        if not inside:
            raise PoolError(
                f"The folder {path} holds no file that ends in one of {', '.join(ENDINGS)}."
            )
        return inside
    if is_file:
        return [path]
    if is_there:
        raise PoolError(
            f"{str(path)!r} is a pipe, a socket or a device, not a file: write its content to a "
            f"file, and name that."
        )
    if not any(sign in str(path) for sign in SIGNS):
        raise PoolError(f"There is no file {str(path)!r} (looked from {Path.cwd()}).")
    try:
        matches = [*Path(path.anchor).glob(str(path.relative_to(path.anchor)))]
    except ValueError as wrong:
        raise PoolError(f"{str(path)!r} is no pattern: {wrong}.") from wrong
    files = [file for file in matches if file.is_file()]
    if not files:
        raise PoolError(f"No file matches {str(path)!r} (looked from {Path.cwd()}).")
    return files


def one_file(source: PathName, wanted: str) -> Path:
    """The only file that a path stands for; `wanted` says what is to be in one."""
    paths = files_of(source)
    if len(paths) > 1:
        raise PoolError(f"{source} are {len(paths)} files; {wanted}.")
    return paths[0]


def is_address(source: object) -> bool:
    """True for s3://bucket/pool/*.parquet and the like."""
    return isinstance(source, str) and "://" in source


def is_remote(source: PathName) -> bool:
    """True for an address that is not of this machine."""
    return is_address(source) and not fspath(source).startswith("file://")


def local_path(source: PathName) -> Path:
    """The path of a file of this machine, which may be written as an address: file:///pool.csv."""
    name = fspath(source)
    local = unquote(name.removeprefix("file://")) if name.startswith("file://") else name
    return Path(local).expanduser()


def format_of(name: str | Path, open_file: Callable[[], IO[bytes]]) -> str:
    """The format of a file with rows, by the ending of its name, or else by its content."""
    if known := ENDINGS.get(ending_of(name)):
        return known
    with open_file() as file, open_text(file, str(name)) as text:
        start = text.read(LONGEST).removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"PAR1"):
        return "parquet"
    return "jsonl" if start.startswith((b"{", b"[")) else "csv"


def ending_of(name: str | Path) -> str:
    """The ending of a name, before that of packing."""
    path = PurePath(name)
    return (PurePath(path.stem) if path.suffix.lower() in PACKED else path).suffix.lower()


def opener(path: Path) -> Callable[[], IO[bytes]]:
    """A function that opens a file of this machine."""
    return lambda: path.open("rb")


def is_one_of(path: Path, source: PathName) -> bool:
    """True if a file at this path is, or would be, one of those that the source stands for."""
    if is_remote(source):
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


_DEEPEST = 100
"""Levels of the deepest value: those of tools have about ten, and Python itself stops at 1,000."""


def parse_json(text: str | bytes, **options: Any) -> Any:  # noqa: ANN401
    """The value of a JSON text, a ValueError if there is none or if it is nested too deeply."""
    try:
        value = json.loads(text, **options)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if isinstance(text, bytes):
        n_opened = text.count(b"[") + text.count(b"{")
    else:
        n_opened = text.count("[") + text.count("{")
    if n_opened > _DEEPEST:
        level = [value] if isinstance(value, dict | list) else []
        for _ in range(_DEEPEST + 1):
            inside = [one.values() if isinstance(one, dict) else one for one in level]
            level = [one for some in inside for one in some if isinstance(one, dict | list)]
        if level:
            raise ValueError(f"it is nested too deeply, beyond {_DEEPEST} levels")
    return value


def parse_object(line: bytes, number: int, name: str) -> dict[str, Any]:
    """The object of one line; anything else is refused with the number of the line."""
    try:
        value = parse_json(line, object_pairs_hook=_with_names_once)
    except ValueError as wrong:
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


def fits(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """True if a path matches a pattern, part by part; ** stands for any number of folders."""
    if not parts or not pattern:
        return not parts and not pattern
    if pattern[0] == "**":
        return any(fits(parts[n:], pattern[1:]) for n in range(len(parts)))
    return fnmatchcase(parts[0], pattern[0]) and fits(parts[1:], pattern[1:])


def is_row_file(parts: Sequence[str]) -> bool:
    """True for the path in a folder of a file with rows: one of a known format, none hidden."""
    is_known = ending_of(parts[-1]) in ENDINGS
    return is_known and not any(part.startswith((".", "_")) for part in parts)


_LARGE = 1 << 30
"""Bytes of Parquet files from which on not all of them are read for a fingerprint.

To read more takes seconds from a disk and minutes from elsewhere, each time that a campaign is
opened. Other numbers here would be other fingerprints, and refuse pools that have not changed.
"""
_BLOCK, _BLOCKS, _LEAST = 1 << 16, 1024, 4
"""Bytes of a block, how many there are, and the fewest in a file: 64 MB are read in all."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """One file: its name as users know it, and where it is."""

    name: str
    path: str
    filesystem: fs.FileSystem

    def stamp(self) -> tuple[int | None, int | None]:
        """The size and the time of change, by which a change is noticed without reading."""
        with name_unreadable(self.name):
            info = self.filesystem.get_file_info(self.path)
        if not info.is_file:
            raise PoolError(f"{self.name} cannot be read: No such file or directory.")
        return info.size, info.mtime_ns

    def open(self) -> pa.NativeFile:
        """The bytes of the file."""
        return self.filesystem.open_input_file(self.path)

    @property
    def format(self) -> str:
        """The format of its rows."""
        with name_unreadable(self.name):
            return format_of(self.name, self.open)

    def open_text(self) -> Any:  # noqa: ANN401
        """Its text; the rows of a workbook are lines of JSON."""
        return open_text(self.open(), self.name)


def local_places(paths: Sequence[Path]) -> list[Place]:
    """Files of this machine as places."""
    from pyarrow import fs

    return [Place(str(path), str(path), fs.LocalFileSystem()) for path in paths]


def find_places(source: PathName | Sequence[PathName]) -> list[Place]:
    """The files that a path, an address, a pattern, a folder or a list of these stands for, sorted.

    All must have one format.
    """
    several = [source] if isinstance(source, str | PathLike) else source
    found: dict[str, Place] = {}
    for name in several:
        places = _find_remote(str(name)) if is_remote(name) else local_places(files_of(name))
        found |= {one.name: one for one in places}
    if not found:
        raise PoolError("The list of files is empty: name at least one.")
    formats = {place.format: name for name, place in found.items()}
    if len(formats) > 1:
        kinds = [f"{Path(name).name} is {kind}" for kind, name in sorted(formats.items())]
        raise PoolError(f"The files of a pool must be of one format: {', '.join(kinds)}.")
    return [found[name] for name in sorted(found, key=lambda name: Path(name).as_posix())]


def _find_remote(address: str) -> list[Place]:
    """The files that an address stands for: a file, a folder or a pattern."""
    from pyarrow import fs

    scheme, _, rest = address.partition("://")
    signs = [rest.index(sign) for sign in SIGNS if sign in rest]
    base = rest[: min(signs)].rpartition("/")[0] if signs else rest
    with name_unreadable(address):
        filesystem, root = _filesystem(f"{scheme}://{base}")
        if filesystem.get_file_info(root).is_file:
            return [Place(address, root, filesystem)]
        selector = fs.FileSelector(root, allow_not_found=True, recursive=True)
        inside = [one.path for one in filesystem.get_file_info(selector) if one.is_file]
    pattern = rest[len(base) :].strip("/").split("/")
    places = []
    for path in inside:
        parts = path.removeprefix(root).strip("/").split("/")
        if fits(parts, pattern) if signs else is_row_file(parts):
            name = f"{scheme}://{base.rstrip('/')}/{'/'.join(parts)}"
            places.append(Place(name, path, filesystem))
    if not places:
        raise PoolError(f"No file of rows is found at {address!r}.")
    return places


def _filesystem(address: str) -> tuple[fs.FileSystem, str]:
    """The file system of an address, and the path in it: pyarrow's own, else one of fsspec."""
    import pyarrow as pa
    from pyarrow import fs

    try:
        return fs.FileSystem.from_uri(address)
    except pa.ArrowInvalid:  # a scheme that pyarrow does not know
        fsspec = optional("fsspec", extra="remote")
        try:
            found, path = fsspec.core.url_to_fs(address)
        except ValueError as wrong:
            raise PoolError(f"{address!r} is no address of files: {wrong}.") from wrong
        except ImportError as missing:
            scheme = address.partition("://")[0]
            raise MissingExtraError(
                f"Files at {scheme}:// need a further package, which pip installs: {missing}."
            ) from missing
        return fs.PyFileSystem(fs.FSSpecHandler(found)), path


def is_large(places: Sequence[Place]) -> bool:
    """True for Parquet files of which only a sample is read for their fingerprint."""
    sizes = (one.stamp()[0] or 0 for one in places)
    return places[0].format == "parquet" and sum(sizes) > _LARGE


def digest(places: Sequence[Place]) -> str:
    """The sha256 of the files' bytes, one after the other; for one file that of `sha256sum`."""
    total = hashlib.sha256()
    for place in places:
        place.stamp()  # it says best that a file is gone
        with name_unreadable(place.name), place.open() as file:
            hashlib.file_digest(file, lambda: total)
    return total.hexdigest()


def sample_digest(places: Sequence[Place]) -> str:
    """The sha256 of the sizes, the footers and a sample of the bytes of Parquet files in order."""
    total, blocks = hashlib.sha256(), max(_LEAST, _BLOCKS // len(places))
    for place in places:
        size = place.stamp()[0] or 0
        with name_unreadable(place.name), place.open() as file:
            total.update(size.to_bytes(8, "little"))
            footer = int.from_bytes(file.read_at(4, max(size - 8, 0)), "little")
            start = max(size - 8 - footer, 0)
            total.update(file.read_at(min(footer, size - start), start))
            for at in range(blocks):
                total.update(file.read_at(_BLOCK, at * max(size - _BLOCK, 0) // (blocks - 1)))
    return f"{SAMPLED}{total.hexdigest()}"


@contextmanager
def name_unreadable(name: object, kind: str | None = None) -> Iterator[None]:
    """Turn an error of reading into one line that names the file."""
    import pyarrow as pa

    how = "" if kind is None else f" as {kind}"
    try:
        yield
    except MemoryError:  # pyarrow's is also one of its own errors
        raise
    except (pa.ArrowException, OSError, UnicodeError) as wrong:
        raise PoolError(f"{name} cannot be read{how}: {one_line(wrong)}") from wrong


def one_line(wrong: Exception) -> str:
    """The beginning of a message, without what a terminal might act upon."""
    line = (str(wrong) or type(wrong).__name__).partition("\n")[0][:200].rstrip(".")
    return "".join(sign if sign.isprintable() else "?" for sign in line) + "."
