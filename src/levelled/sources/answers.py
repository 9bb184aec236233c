r"""Answers of labellers from files and frames, cells of their sheets, and results of a SELECT.

A spreadsheet computes text that begins like a formula, and a terminal acts upon control
characters. Both are made harmless when a cell is written: the first by an apostrophe in front,
which is taken away when answers are read, the second as escapes such as \x1b.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from typing import IO, TYPE_CHECKING, Any

from levelled.errors import PoolError
from levelled.labels import Id, Label
from levelled.sources.files import (
    PathName,
    format_of,
    json_objects,
    name_unreadable,
    one_file,
    opener,
)
from levelled.sources.packed import ZIP, open_text

if TYPE_CHECKING:
    import pyarrow as pa

    from levelled.samplers.race import ArrowStream

_MOST_BYTES = 1 << 28
"""Bytes of the largest file of answers: it is read whole, and nobody labels ten million items."""
_WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})")  # 18 digits fit 64 bits; 007 is a name
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d{1,2})?")


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One row of a file of answers; `label` is None where nobody has answered yet."""

    row: int
    """The number of the row in the file, from 1."""
    draw: int | None
    id: Id | None
    label: Label | None
    remarks: Mapping[str, Any] = field(default_factory=dict)
    """The values of further columns that were asked for, where there are any."""


def read_answers(
    source: PathName | IO[str] | IO[bytes] | ArrowStream,
    *,
    id_column: str = "id",
    label_column: str | None = None,
    named: bool = True,
    remarks: Sequence[str] = (),
) -> list[AnswerRow]:
    """The answers in a file of any format that a pool may have, an open file or a frame.

    Each row has a `label` (or `answer`) and names its `draw` or its `id`, in capitals or not. In
    CSV, labels that are all numbers are read as numbers.

    Parameters
    ----------
    source : The path of a file, an open file or a frame. The format of an open file is that of its
        content.
    id_column : The column of ids.
    label_column : The column of labels; by default `label`, or `answer`.
    named : False to let a row name neither a draw nor an id.
    remarks : Further columns to read, such as a note; all others are passed over.

    >>> import io
    >>> read_answers(io.StringIO('{"draw": 1, "label": "spam"}'))
    [AnswerRow(row=1, draw=1, id=None, label='spam', remarks={})]
    """
    labels = ("label", "answer") if label_column is None else (label_column,)
    columns = ("draw", id_column, *labels, *remarks)
    choose = partial(_choose_columns, columns=columns, labels=labels)
    rows, name = _rows(source, choose, labels)
    if rows and not any(one in row for row in rows for one in labels):
        there = ", ".join(repr(column) for column in rows[0])
        raise PoolError(
            f"{name} has no column {labels[0]!r}; it has {there}. The first line of a CSV file "
            f"names its columns, for example: id,label. levelled tell takes --label-column NAME."
        )
    answers = []
    for number, row in enumerate(rows, start=1):
        where, item = f"Row {number} of {name}", row.get(id_column)
        if len(labels) > 1 and all(one in row for one in labels):
            raise PoolError(
                f"{where} has both a 'label' and an 'answer', and either may be meant: leave out "
                f"or rename one of the two."
            )
        if item is not None and (isinstance(item, bool) or not isinstance(item, str | int)):
            raise PoolError(f"{where} has the id {item!r}; ids are text or whole numbers.")
        given = next((row[one] for one in labels if one in row), None)
        label, draw = _read_label(given, where), _read_draw(row.get("draw"), where)
        if named and draw is None and item is None:
            raise PoolError(
                f"{where} names neither a draw nor an id, so its label belongs to nothing."
            )
        others = {one: row[one] for one in remarks if row.get(one) not in (None, "")}
        answers.append(AnswerRow(number, draw, item, label, others))
    return answers


_Choose = Callable[[Sequence[str]], Mapping[str, str]]


def _rows(
    source: PathName | IO[str] | IO[bytes] | ArrowStream, choose: _Choose, labels: Sequence[str]
) -> tuple[list[dict[str, Any]], str]:
    """The rows of the source as dicts, and its name for messages."""
    if hasattr(source, "__arrow_c_stream__"):
        from levelled.sources.rows import as_table

        table = as_table(source)
        columns = choose(table.column_names)
        table = table.select([*columns]).rename_columns([*columns.values()])
        return table.to_pylist(), "The frame"
    if isinstance(source, str | PathLike):
        path = one_file(source, "give the labels in one")
        name, n_bytes, open_file = str(path), path.stat().st_size, opener(path)
    else:
        data = source.read(_MOST_BYTES + 1)
        content = data.encode() if isinstance(data, str) else data
        name, n_bytes = str(getattr(source, "name", "The input")), len(content)
        open_file = partial(io.BytesIO, content)
        if not content.strip():
            return [], name
    if n_bytes > _MOST_BYTES:
        raise PoolError(
            f"{name} has more than {_MOST_BYTES >> 20} MB, which is no file of labels: tell them "
            f"in smaller files."
        )
    kind = format_of(name, open_file)
    rows = _of_format(open_file, kind, name, choose)
    for column in labels if kind == "csv" else ():
        texts = [row[column] for row in rows if row.get(column) is not None]
        if texts and all(_NUMBER.fullmatch(text) for text in texts):
            convert = int if all(_WHOLE.fullmatch(text) for text in texts) else float
            for row in rows:
                row[column] = None if row[column] is None else convert(row[column])
    return rows, name


def _of_format(
    open_file: Callable[[], IO[bytes]], kind: str, name: str, choose: _Choose
) -> list[dict[str, Any]]:
    if kind == "jsonl":  # without pyarrow: it loads longer than labels are read
        try:
            with open_text(open_file(), name) as text:
                objects = [*json_objects(text, name)]
        except OSError as wrong:
            raise PoolError(f"{name} cannot be read: {wrong.strerror or wrong}.") from wrong
        rows = [{known: row[one] for one, known in choose([*row]).items()} for row in objects]
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        from levelled.sources.rows import CsvFile

        with name_unreadable(name, kind):
            if kind == "csv":
                sheet = CsvFile(name, open_file)
                columns = choose(sheet.schema.names)
                table = sheet.read_all(dict.fromkeys(columns, pa.string()))
            else:
                with open_file() as file:
                    columns = choose(pq.read_schema(file).names)
                    table = pq.read_table(file, columns=[*columns])
        rows = table.rename_columns([*columns.values()]).to_pylist()
    with open_file() as file:
        if kind != "csv" and file.read(len(ZIP)) != ZIP:
            return rows  # of no sheet, whose cells may be guarded
    return [
        {one: read_cell(cell) if isinstance(cell, str) else cell for one, cell in row.items()}
        for row in rows
    ]


def _choose_columns(
    names: Sequence[str], columns: Sequence[str], labels: Sequence[str]
) -> dict[str, str]:
    """The columns that matter, each with its name in small letters and without blanks.

    They are all where there are no labels, so that an error can list them.
    """
    known = {one.strip().casefold(): one for one in columns}
    found = [known.get(name.strip().casefold(), "") for name in names]
    if not {*labels} & {*found}:
        return {name: name for name in names}
    for name in columns:
        if found.count(name) > 1:
            raise PoolError(
                f"There are two columns {name!r}, and either may be meant: leave out or rename one "
                f"of the two."
            )
    return {name: one for name, one in zip(names, found, strict=True) if one}


def _read_label(label: object, where: str) -> Label | None:
    if label is not None and not isinstance(label, str | int | float):
        raise PoolError(f"{where} has the label {label!r}; a label is text, a number or a boolean.")
    is_gap = label == "" or (isinstance(label, float) and math.isnan(label))
    return None if is_gap else label


def _read_draw(draw: object, where: str) -> int | None:
    if draw is None:
        return None
    text = str(int(draw)) if isinstance(draw, float) and draw.is_integer() else str(draw)
    if isinstance(draw, bool) or not re.fullmatch(r"[1-9]\d{0,17}", text):
        raise PoolError(f"{where} has the draw {draw!r}; draws are numbered 1, 2, 3, ...")
    return int(text)


_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_WRITTEN = re.compile(r"'+[=+\-@\t\r]")
_SIGNED = re.compile(r"[+-][\d.,]*\d[\d.,]*([eE][+-]?\d+)?")
"""A number with a sign, which a spreadsheet only reads."""
_UNSAFE = re.compile(
    "\r(?!\n)|[\0-\b\v\f\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters, and those that change lines or the direction of text."""


def safe_cell(text: str) -> str:
    r"""Text that neither a spreadsheet computes nor a terminal acts upon.

    >>> safe_cell("=1+1"), safe_cell("a-b"), safe_cell("-3.5"), safe_cell("\x1b[31m")
    ("'=1+1", 'a-b', '-3.5', '\\x1b[31m')
    """
    shown = _UNSAFE.sub(lambda sign: sign[0].encode("unicode_escape").decode(), text)
    is_formula = _FORMULA.match(text) and not _SIGNED.fullmatch(text)
    return f"'{shown}" if is_formula else shown


def read_cell(text: str) -> str:
    """Text without the apostrophe that `safe_cell` put in front of it.

    >>> read_cell("'=1+1"), read_cell("'tis")
    ('=1+1', "'tis")
    """
    return text[1:] if _WRITTEN.match(text) else text


_WHOLE_IDS = r"^(0|-?[1-9][0-9]{0,17})$"


def read_result(path: PathName) -> pa.Table:
    """The rows of a Parquet, CSV, JSONL or Excel file, for `levelled.samplers.draws_from_result`.

    In CSV all is text, so ids are numbers if all of them are written as whole numbers are.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from levelled.sources.rows import CsvFile

    file = one_file(path, "the result of a SELECT is one")
    kind = format_of(file, opener(file))
    with name_unreadable(path, kind):
        if kind == "parquet":
            return pq.read_table(file)
        if kind == "jsonl":
            with open_text(opener(file)(), file.name) as lines:
                return pa.Table.from_pylist([*json_objects(lines, file.name)])
        sheet = CsvFile(str(file), opener(file))
        table = sheet.read_all(dict.fromkeys(sheet.schema.names, pa.string()))
    for at, name in enumerate(table.column_names):
        column = table.column(at)
        if name.lower() == "id" and pc.all(pc.match_substring_regex(column, _WHOLE_IDS)).as_py():
            return table.set_column(at, name, column.cast(pa.int64()))
    return table
