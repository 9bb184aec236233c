"""Files that a stranger may have made, opened in a child process with limits first.

A few kilobytes can stand for gigabytes, and a file need not be true about its own size. What is
opened in a child can fill the memory of the child alone, keep it busy for a while, or end it; the
process that asked then refuses the file in one line. Opened so are files below folders that are
not trusted, such as the uploads of a server, whatever `levelled look` is asked about, and any
other file that says itself that it holds far more than its size.

Where the system has no limits for a process (Windows) or does not keep them (macOS), that of time
remains.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from levelled import errors
from levelled.errors import LevelledError, PoolError
from levelled.sources.files import (
    PathName,
    files_of,
    format_of,
    is_remote,
    local_path,
    one_line,
    opener,
)
from levelled.sources.packed import unpacked_size

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_MEMORY, _TIMES = 480 << 20, 8
"""Bytes of data that a child may have, and how many more for each byte of the file.

With the programs themselves, some 90 MB, a small file is held to less than 600 MB. Text and objects
of Python take 3 to 8 times as much as the file that they are read from.
"""
_SECONDS, _BYTES_A_SECOND = 20, 1 << 20
"""Seconds that a child has, and one more for each of so many bytes: 20 to 200 times what it needs.
"""
_MOST_CHILDREN = 2  # at once, so that many requests cannot fill the memory together
_MUCH, _MANY_TIMES = 64 << 20, 50
"""Bytes, and times its size, that a file must promise to be opened in a child.

Predictions and text shrink 2 to 50 times when they are packed.
"""
_MOST_FILES, _MOST_COLUMNS = 100, 100  # whose footers and dictionaries are looked at
_CODE = (
    "import json, sys; asked = json.load(sys.stdin); sys.path[:] = asked['path']; "
    "from levelled.sources.child import answer; answer(asked)"
)
_SETTINGS = {
    # One thread reserves as much memory as is used by all of a small file.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    # Its own pools reserve memory ahead, which the limit counts.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}

_folders: set[Path] = set()
_room = threading.BoundedSemaphore(_MOST_CHILDREN)
is_child = False
"""True in a child, which opens everything itself."""


def distrust(folder: Path) -> None:
    """Open every file below a folder in a child process first, from now on."""
    _folders.add(folder.resolve())


def refuse_bomb(source: object, options: Mapping[str, Any]) -> None:
    """Open a pool in a child first, with the options of `open_pool`, if there is a reason to."""
    several: Sequence[Any] = source if isinstance(source, list | tuple) else [source]
    if is_child or not all(isinstance(one, str | PathLike) for one in several):
        return
    try:
        paths = _files(several)
    except PoolError:  # whoever opens it says what is wrong
        return
    strange = any(not _folders.isdisjoint(path.resolve().parents) for path in paths)
    if strange or any(map(_promises_much, paths[:_MOST_FILES])):
        look(several, options, through=strange)


def look(
    several: Sequence[PathName], options: Mapping[str, Any], *, through: bool = False
) -> dict[str, Any]:
    """The description of a pool that was opened in a child process, as `Recognised` has it.

    A file that takes more memory or time than its size allows is refused. With `through` all
    columns are read, not only those that have a role.
    """
    paths = [(path, path.stat()) for path in _files(several)]
    stamps = tuple((str(path), about.st_size, about.st_mtime_ns) for path, about in paths)
    names = [fspath(one) for one in several]
    source = names if len(names) > 1 else names[0]
    asked = {"source": source, "options": dict(options), "through": through}
    found: dict[str, Any] = json.loads(_answer_of(json.dumps(asked, default=list), stamps))
    return found


def _files(several: Sequence[PathName]) -> list[Path]:
    """The files of this machine that sources stand for, and all that are in a folder."""
    paths: list[Path] = []
    for one in several:
        if not is_remote(one):
            try:
                inside = [*local_path(one).rglob("*")] if local_path(one).is_dir() else []
            except (OSError, ValueError):  # such as a name that is too long
                inside = []
            paths += [path for path in inside if path.is_file()] or files_of(one)
    return paths


@lru_cache(maxsize=64)
def _answer_of(asked: str, stamps: tuple[tuple[str, int, int], ...]) -> str:
    """The answer of a child about files of which only these sizes and times are trusted."""
    size = sum(one[1] for one in stamps)
    memory, seconds = _MEMORY + _TIMES * size, _SECONDS + size // _BYTES_A_SECOND
    whole = json.dumps({**json.loads(asked), "memory": memory, "path": sys.path})
    name = stamps[0][0] if len(stamps) == 1 else str(json.loads(asked)["source"])
    with _room:
        try:
            child = subprocess.run(
                [sys.executable, "-P", "-c", _CODE],
                input=whole.encode(),
                capture_output=True,
                env={**os.environ, **_SETTINGS},
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as wrong:
            raise _refused(name, size, f"takes more than {seconds} s") from wrong
        except OSError as wrong:
            raise PoolError(
                f"{name} is opened in a process of its own, which cannot be started: "
                f"{wrong.strerror}. Try again when the machine has room for it."
            ) from wrong
    try:
        answer = json.loads(child.stdout)
    except ValueError as wrong:
        if -child.returncode in signal.valid_signals():
            how = signal.Signals(-child.returncode).name
            raise _refused(name, size, f"ended the process that did it ({how})") from wrong
        *_, last = "", *child.stderr.decode(errors="replace").strip().splitlines()
        raise PoolError(f"{name} cannot be read: {one_line(ValueError(last))}") from wrong
    if "error" in answer:
        kind = getattr(errors, answer["kind"], PoolError)
        raise kind(answer["error"])
    if "memory" in answer:
        raise _refused(name, size, f"takes more than {memory >> 20} MB of memory")
    return json.dumps(answer)


def _refused(name: str, size: int, why: str) -> PoolError:
    return PoolError(
        f"{name} is refused: to open its {size:,} bytes {why}. It is damaged or made to do harm; "
        f"if it is sound, write its rows to a Parquet file without long texts that repeat, or in "
        f"parts."
    )


def _promises_much(path: Path) -> bool:
    """True for a file that says itself that it stands for far more than its bytes."""
    try:
        size = path.stat().st_size
        promised = unpacked_size(path)
        if promised is None and format_of(path, opener(path)) == "parquet":
            promised = _parquet_size(path)
    except (LevelledError, OSError):  # whoever opens it says what is wrong
        return False
    return promised is not None and promised > max(_MUCH, _MANY_TIMES * size)


def _parquet_size(path: Path) -> int:
    """The bytes of all values of a Parquet file, by its footer and its first dictionaries."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            about = file.metadata
            total = 0
            for at in range(about.num_row_groups):
                group = about.row_group(at)
                columns = [group.column(one) for one in range(group.num_columns)]
                total += sum(max(one.total_uncompressed_size, one.num_values) for one in columns)
            if total > max(_MUCH, _MANY_TIMES * path.stat().st_size) or not about.num_rows:
                return total
        return max(total, _repeated_size(path, about))
    except (pa.ArrowException, OSError):
        return 0


def _repeated_size(path: Path, about: pq.FileMetaData) -> int:
    """The bytes of texts if every row had the longest of the first dictionary of its column."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    group, total = about.row_group(0), 0
    texts = [
        one.path_in_schema
        for one in map(group.column, range(min(group.num_columns, _MOST_COLUMNS)))
        if one.physical_type == "BYTE_ARRAY" and one.dictionary_page_offset is not None
    ]
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        row = next(file.iter_batches(1, row_groups=[0], columns=texts, use_threads=False))
    parts = [*row.columns]
    while parts:
        part = parts.pop()
        if pa.types.is_struct(part.type):
            parts += part.flatten()
        elif pa.types.is_dictionary(part.type):
            longest = pc.max(pc.binary_length(part.dictionary)).as_py() or 0
            total += about.num_rows * longest
        elif part.type.num_fields:  # a list
            parts.append(part.values)
    return total
