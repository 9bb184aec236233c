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
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from levelled.errors import PoolError
from levelled.labels import Id, Label
from levelled.sources.files import PathName, format_of, json_objects, name_unreadable, one_file

if TYPE_CHECKING:
    import pyarrow as pa

    from levelled.samplers.race import ArrowStream

_MOST_BYTES = 1 << 28
"""Bytes of the largest file of answers: it is read whole, and nobody labels ten million items."""
_COLUMNS = ("draw", "id", "label", "answer")
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
    named: bool = True,
    remarks: Sequence[str] = (),
) -> list[AnswerRow]:
    """The answers in a file (.csv, .tsv, .jsonl, .parquet), an open file or a frame.

    Each row has a `label` (or `answer`) and names its `draw` or its `id`. In CSV, labels that are
    all numbers are read as numbers.

    Parameters
    ----------
    source : The path of a file, an open file or a frame. An open file holds JSONL if it starts with
        a brace, else CSV.
    id_column : The column of ids.
    named : False to let a row name neither a draw nor an id.
    remarks : Further columns to read, such as a note; all others are passed over.

    >>> import io
    >>> read_answers(io.StringIO('{"draw": 1, "label": "spam"}'))
    [AnswerRow(row=1, draw=1, id=None, label='spam', remarks={})]
    """
    rows, name = _rows(source, (id_column, *remarks))
    if rows and not any("label" in row or "answer" in row for row in rows):
        columns = ", ".join(repr(column) for column in rows[0])
        raise PoolError(
            f"{name} has no column 'label'; it has {columns}. The first line of a CSV file names "
            f"its columns, for example: draw,label"
        )
    answers = []
    for number, row in enumerate(rows, start=1):
        where, item = f"Row {number} of {name}", row.get(id_column)
        if "label" in row and "answer" in row:
            raise PoolError(
                f"{where} has both a 'label' and an 'answer', and either may be meant: leave out "
                f"or rename one of the two."
            )
        if item is not None and (isinstance(item, bool) or not isinstance(item, str | int)):
            raise PoolError(f"{where} has the id {item!r}; ids are text or whole numbers.")
        label, draw = _read_label(row, where), _read_draw(row.get("draw"), where)
        if named and draw is None and item is None:
            raise PoolError(
                f"{where} names neither a draw nor an id, so its label belongs to nothing."
            )
        others = {one: row[one] for one in remarks if row.get(one) not in (None, "")}
        answers.append(AnswerRow(number, draw, item, label, others))
    return answers


def _rows(
    source: PathName | IO[str] | IO[bytes] | ArrowStream, others: Sequence[str]
) -> tuple[list[dict[str, Any]], str]:
    """The rows of the source as dicts, and its name for messages."""
    if hasattr(source, "__arrow_c_stream__"):
        from levelled.sources.rows import as_table

        table = as_table(source)
        return table.select(_wanted(table.column_names, others)).to_pylist(), "The frame"
    content: Path | bytes
    if isinstance(source, str | PathLike):
        content = one_file(source, "give the labels in one")
        name, kind, n_bytes = str(content), format_of(content), content.stat().st_size
    else:
        data = source.read(_MOST_BYTES + 1)
        content = data.encode() if isinstance(data, str) else data
        name, n_bytes = str(getattr(source, "name", "The input")), len(content)
        kind = "jsonl" if content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else "csv"
        if not content.strip():
            return [], name
    if n_bytes > _MOST_BYTES:
        raise PoolError(
            f"{name} has more than {_MOST_BYTES >> 20} MB, which is no file of labels: tell them "
            f"in smaller files."
        )
    return _of_format(content, kind, name, others), name


def _of_format(
    source: Path | bytes, kind: str, name: str, others: Sequence[str]
) -> list[dict[str, Any]]:
    if kind == "jsonl":  # without pyarrow, which takes longer to load than labels to read
        try:
            data = source if isinstance(source, bytes) else source.read_bytes()
        except OSError as wrong:
            raise PoolError(f"{name} cannot be read: {wrong.strerror or wrong}.") from wrong
        return [*json_objects(io.BytesIO(data), name)]
    import pyarrow.parquet as pq

    with name_unreadable(name, kind):
        if kind == "csv":
            return _of_csv(source, others)
        columns = _wanted(pq.read_schema(source).names, others)
        rows: list[dict[str, Any]] = pq.read_table(source, columns=columns).to_pylist()
        return rows


def _csv_texts(source: Path | bytes, choose: Callable[[Sequence[str]], Sequence[str]]) -> pa.Table:
    """The columns of a CSV file that are chosen by their names, all as text."""
    import pyarrow as pa

    from levelled.sources.rows import open_csv

    def start(kinds: dict[str, pa.DataType] | None = None) -> Any:  # noqa: ANN401
        file = pa.BufferReader(source) if isinstance(source, bytes) else source
        return open_csv(file, kinds=kinds)

    with start() as file:
        columns = choose(file.schema.names)
    with start({name: pa.string() for name in columns}) as file:
        return file.read_all()


def _of_csv(source: Path | bytes, others: Sequence[str]) -> list[dict[str, Any]]:
    rows = _csv_texts(source, lambda names: _wanted(names, others)).to_pylist()
    rows = [
        {name: text if text is None else read_cell(text) for name, text in row.items()}
        for row in rows
    ]
    for name in ("label", "answer"):
        texts = [row[name] for row in rows if row.get(name) is not None]
        if texts and all(_NUMBER.fullmatch(text) for text in texts):
            convert = int if all(_WHOLE.fullmatch(text) for text in texts) else float
            for row in rows:
                row[name] = None if row[name] is None else convert(row[name])
    return rows


def _wanted(names: Sequence[str], others: Sequence[str]) -> list[str]:
    """The columns that matter; all where there are no labels, so that an error can list them."""
    if not {"label", "answer"} & {*names}:
        return [*names]
    for name in (*_COLUMNS, *others):
        if names.count(name) > 1:
            raise PoolError(
                f"There are two columns {name!r}, and either may be meant: leave out or rename one "
                f"of the two."
            )
    return [name for name in names if name in (*_COLUMNS, *others)]


def _read_label(row: Mapping[str, Any], where: str) -> Label | None:
    label = row.get("label", row.get("answer"))
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
_HARMLESS = "\n\t\u200c\u200d"
"""Not printable, but needed: line ends and tabs, and joiners to write Persian and many emoji."""


def safe_cell(text: str) -> str:
    r"""Text that neither a spreadsheet computes nor a terminal acts upon.

    >>> safe_cell("=1+1"), safe_cell("a-b"), safe_cell("\x1b[31m")
    ("'=1+1", 'a-b', '\\x1b[31m')
    """
    shown = "".join(
        one if one.isprintable() or one in _HARMLESS else one.encode("unicode_escape").decode()
        for one in text
    )
    return f"'{shown}" if _FORMULA.match(text) else shown


def read_cell(text: str) -> str:
    """Text without the apostrophe that `safe_cell` put in front of it.

    >>> read_cell("'=1+1"), read_cell("'tis")
    ('=1+1', "'tis")
    """
    return text[1:] if _WRITTEN.match(text) else text


_WHOLE_IDS = r"^(0|-?[1-9][0-9]{0,17})$"


def read_result(path: PathName) -> pa.Table:
    """The rows of a Parquet, CSV or JSONL file, for `levelled.samplers.draws_from_result`.

    In CSV all is text, so ids are numbers if all of them are written as whole numbers are.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    file = one_file(path, "the result of a SELECT is one")
    kind = format_of(file)
    with name_unreadable(path, kind):
        if kind == "parquet":
            return pq.read_table(file)
        if kind == "jsonl":
            with file.open("rb") as lines:
                return pa.Table.from_pylist([*json_objects(lines, file.name)])
        table = _csv_texts(file, lambda names: names)
    for at, name in enumerate(table.column_names):
        column = table.column(at)
        if name.lower() == "id" and pc.all(pc.match_substring_regex(column, _WHOLE_IDS)).as_py():
            return table.set_column(at, name, column.cast(pa.int64()))
    return table
