"""The text of files that are packed (.gz, .zip), in UTF-16, or an Excel workbook (.xlsx).

The first sheet of a workbook becomes lines of JSON, an object for each row below the names of its
columns. Content is held in memory, up to a limit: a few kilobytes can stand for any number of
bytes. Plain files are not touched.
"""

from __future__ import annotations

import gzip
import io
import json
import zipfile
import zlib
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from itertools import zip_longest
from typing import IO, Any

from levelled._optional import optional
from levelled.errors import PoolError

ZIP = b"PK\x03\x04"
_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_MOST_BYTES = 1 << 29
_BROKEN = (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError, UnicodeError)
"""Raised where a packed file is damaged, locked by a password, or packed in an unknown way."""
_BROKEN_SHEET = (*_BROKEN, LookupError, ValueError, TypeError, AttributeError, SyntaxError)


def open_text(file: IO[bytes], name: str) -> IO[bytes]:
    """The text of an open file in UTF-8: itself if it is plain, else what it holds."""
    head = file.read(4)
    file.seek(0)
    if not head.startswith((_GZIP, ZIP, *_UTF16)):
        return file
    try:
        with file:
            packed: Any = gzip.GzipFile(fileobj=file) if head.startswith(_GZIP) else file
            data = packed.read(_MOST_BYTES + 1)
        _check_size(len(data), name)
        if head.startswith(ZIP):
            archive = zipfile.ZipFile(io.BytesIO(data))
            inside = {one.filename: one.file_size for one in archive.infolist() if one.file_size}
            _check_size(sum(inside.values()), name)
            if "xl/workbook.xml" in inside:
                return io.BytesIO(_sheet_lines(data, name))
            if len(inside) != 1:
                raise PoolError(f"{name} holds {len(inside)} files: pack one alone, or unpack it.")
            data = archive.read(next(iter(inside)))
        return io.BytesIO(data.decode("utf-16").encode() if data.startswith(_UTF16) else data)
    except _BROKEN as wrong:
        raise PoolError(f"{name} cannot be read: {str(wrong)[:200]}.") from wrong


def _check_size(size: int, name: str) -> None:
    if size > _MOST_BYTES:
        raise PoolError(
            f"{name} holds more than {_MOST_BYTES >> 20} MB: unpack it yourself if that is right, "
            f"or write it as Parquet."
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
        written, rows = ([*sheet.iter_rows()] for sheet in sheets)
    except _BROKEN_SHEET as wrong:
        raise PoolError(f"{name} cannot be read as xlsx: {str(wrong)[:200]}.") from wrong
    for cells, values in zip(written, rows, strict=True):
        for cell, value in zip(cells, values, strict=True):
            if cell.data_type == "f" and value.value is None:
                raise PoolError(
                    f"The cell {cell.coordinate} of {name} has a formula that was never computed: "
                    f"open the workbook in a spreadsheet and save it."
                )
    table = [[_plain(cell.value) for cell in row] for row in rows]
    lines = [
        _sheet_line(table[0], row, f"Row {number} of {name}")
        for number, row in enumerate(table[1:], start=2)
    ]
    return b"\n".join([b"", *lines])


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
