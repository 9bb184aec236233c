"""The text of files that are packed (.gz, .zip), in UTF-16, or an Excel workbook (.xlsx).

The first sheet of a workbook becomes lines of JSON, an object for each row below the names of its
columns. Content is held in memory, up to a limit: a few kilobytes can stand for any number of
bytes. Plain files are not touched.
"""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any

from levelled._optional import optional
from levelled.errors import PoolError

ZIP = b"PK\x03\x04"
_ZIPS = (ZIP, b"PK\x05\x06")
"""How packed files begin; the second holds nothing."""
_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_MOST_BYTES = 1 << 29
_MUCH, _MOST_TIMES = 1 << 26, 200
"""A file of more bytes than the first may not hold more than so many for each byte of its own.

Predictions and text shrink 2 to 50 times when they are packed, a file of zeros a thousand times.
"""
_MOST_CELLS = 20_000_000  # of a sheet, gaps among them; openpyxl takes 5 s for a million
_BROKEN = (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError, UnicodeError)
"""Raised where a packed file is damaged, locked by a password, or packed in an unknown way."""
_BROKEN_SHEET = (*_BROKEN, LookupError, ValueError, TypeError, AttributeError, SyntaxError)


def open_text(file: IO[bytes], name: str) -> IO[bytes]:
    """The text of an open file in UTF-8: itself if it is plain, else what it holds."""
    head = file.read(4)
    file.seek(0)
    if not head.startswith((_GZIP, *_ZIPS, *_UTF16)):
        return file
    try:
        with file:
            size = file.seek(0, io.SEEK_END)
            file.seek(0)
            packed: Any = gzip.GzipFile(fileobj=file) if head.startswith(_GZIP) else file
            data = packed.read(_most(size) + 1)
        _check_size(len(data), size, name)
        if head.startswith(_ZIPS):
            archive = zipfile.ZipFile(io.BytesIO(data))
            sizes = ((one.filename, one.file_size) for one in archive.infolist())
            inside = {one: n for one, n in sizes if n and not one.startswith("__MACOSX/")}
            _check_size(sum(inside.values()), size, name)
            if "xl/workbook.xml" in inside:
                return io.BytesIO(_sheet_lines(data, name))
            if len(inside) != 1:
                many = f"{len(inside)} files" if inside else "no file with content"
                raise PoolError(f"{name} holds {many}: pack one alone, or unpack it.")
            data = archive.read(next(iter(inside)))
        return io.BytesIO(data.decode("utf-16").encode() if data.startswith(_UTF16) else data)
    except _BROKEN as wrong:
        raise PoolError(f"{name} cannot be read: {str(wrong)[:200]}.") from wrong


def unpacked_size(path: Path) -> int | None:
    """The bytes that a packed file says it holds; None if it is none."""
    with path.open("rb") as file:
        head = file.read(4)
        if head.startswith(_GZIP):
            file.seek(-4, io.SEEK_END)
            return int.from_bytes(file.read(4), "little")
        if head != ZIP:
            return None
    try:
        with zipfile.ZipFile(path) as archive:
            return sum(one.file_size for one in archive.infolist())
    except (*_BROKEN, ValueError, NotImplementedError, struct.error):
        return None  # whoever reads it says what is wrong


def _most(size: int) -> int:
    """The bytes that a packed file of this size may hold."""
    return min(_MOST_BYTES, max(_MUCH, _MOST_TIMES * size))


def _check_size(held: int, size: int, name: str) -> None:
    if held > _most(size):
        raise PoolError(
            f"{name} has {size:,} bytes and holds more than {_most(size) >> 20} MB: unpack it "
            f"yourself if that is right, or write it as Parquet."
        )


@lru_cache(maxsize=2)  # a pool is read in several passes, and a sheet slowly
def _sheet_lines(data: bytes, name: str) -> bytes:
    """The first sheet of a workbook, an object for each row; the line has the number of the row."""
    load = optional("openpyxl", extra="xlsx").load_workbook
    try:
        sheets = [
            load(io.BytesIO(data), True, data_only=computed).worksheets[0]
            for computed in (False, True)
        ]
        for sheet in sheets:
            sheet.reset_dimensions()  # some programs write wrong ones
        # Row by row, because a row may have 16,384 cells of which one is written.
        pairs = zip(*(sheet.iter_rows() for sheet in sheets), strict=True)
        return b"\n".join([b"", *_lines_below(pairs, name)])
    except _BROKEN_SHEET as wrong:
        if isinstance(wrong, PoolError):
            raise
        raise PoolError(f"{name} cannot be read as xlsx: {str(wrong)[:200]}.") from wrong


def _lines_below(pairs: Iterator[tuple[Any, Any]], name: str) -> Iterator[bytes]:
    """The rows below the first, which names the columns; formulas and values come in pairs."""
    names: list[Any] | None = None
    n_cells = n_bytes = 0
    for number, (written, row) in enumerate(pairs, start=1):
        for cell, value in zip(written, row, strict=True):
            if cell.data_type == "f" and value.value is None:
                raise PoolError(
                    f"The cell {cell.coordinate} of {name} has a formula that was never computed: "
                    f"open the workbook in a spreadsheet and save it."
                )
        n_cells += len(row)
        values = [_plain(cell.value) for cell in row]
        if names is None:
            names = values
            continue
        line = _sheet_line(names, values, f"Row {number} of {name}")
        n_bytes += len(line)
        if n_cells > _MOST_CELLS or n_bytes > _MOST_BYTES:
            raise PoolError(
                f"{name} has more than {_MOST_CELLS:,} cells or {_MOST_BYTES >> 20} MB of text up "
                f"to row {number}: write it as CSV or Parquet."
            )
        yield line
    if names is None:
        raise PoolError(f"{name} cannot be read as xlsx: its first sheet is empty.")


def _sheet_line(names: Sequence[Any], row: Sequence[Any], where: str) -> bytes:
    """A row as an object of JSON; nothing if it has no values."""
    if all(value is None for value in row):
        return b""
    pairs = [*zip_longest(names, row)]
    nameless = [value for name, value in pairs if name is None and value is not None]
    if nameless:
        raise PoolError(f"{where} has {nameless[0]!r:.80} in a column without a name: name it.")
    values = {str(name): value for name, value in pairs if name is not None}
    if len(values) < sum(name is not None for name in names):
        raise PoolError(f"{where} is below two columns of one name: rename one of them.")
    return json.dumps(values, ensure_ascii=False).encode()


def _plain(value: Any) -> Any:  # noqa: ANN401
    """The value of a cell as JSON has it: times as ISO text, whole numbers as such, gaps."""
    if isinstance(value, str):  # which may hold signs that XML cannot, as _x000D_
        return optional("openpyxl.utils.escape", extra="xlsx").unescape(value) or None
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value) if isinstance(value, timedelta) else value
