"""Items as the readers of tools hand them on, and the table that a pool is made of."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from levelled.errors import PoolError
from levelled.labels import class_text
from levelled.sources import files
from levelled.sources.columns import guides_draws
from levelled.sources.packed import open_text

_CALL = pa.struct([("name", pa.string()), ("arguments", pa.string())])
_MESSAGE = pa.struct(
    [("role", pa.string()), ("content", pa.string()), ("tool_calls", pa.list_(_CALL))]
)
_TYPES = {"messages": pa.list_(_MESSAGE), "tool_calls": pa.list_(_CALL)}
"""Columns whose values have parts, so that a page can show each part by itself."""


@dataclass(frozen=True, slots=True)
class Item:
    """One output: the fields to show, the verdicts of judges on it, and the rest."""

    id: str | None
    shown: Mapping[str, Any]
    verdicts: Mapping[str, Any] = field(default_factory=dict)
    hidden: Mapping[str, Any] = field(default_factory=dict)
    """Explanations, metadata and the like: never shown, but there to slice by or to name."""
    group: str | None = None
    """The sample of which this is one of several outputs."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The items of a file, a few words on it, and notes on what is not used of it."""

    items: Sequence[Item]
    about: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Outputs:
    """The outputs of a tool as a table of a pool, whose columns have the names of `open_pool`."""

    reader: str
    tool: str
    table: pa.Table
    shown: tuple[str, ...]
    group: str | None = None
    notes: tuple[str, ...] = ()


def make_outputs(reader: str, title: str, contents: Contents, name: str) -> Outputs:
    """A table with a column for each field; a judge NAME becomes the column pred@NAME."""
    items = contents.items
    if not items:
        raise PoolError(f"{name} ({title}) holds not a single item: there is nothing to label.")
    groups = [one.group for one in items]
    grouped = None not in groups and len({*groups}) < len(groups)
    columns: dict[str, pa.Array] = {"id": pa.array([one.id for one in items], pa.string())}
    if grouped:
        columns["group"] = pa.array(groups, pa.string())
    shown = _columns([one.shown for one in items], taken=columns)
    notes = [*contents.notes]
    for judge, values in _by_name([one.verdicts for one in items]).items():
        column, note = read_verdicts(judge, values)
        notes += [note] if note else []
        place = f"verdict@{judge}" if column is None else f"pred@{judge}"
        columns[place] = _column(place, values if column is None else column)
    columns |= shown
    columns |= _columns([one.hidden for one in items], taken=columns)
    return Outputs(
        reader,
        f"{title}, {contents.about}" if contents.about else title,
        pa.table(columns),
        tuple(shown),
        "group" if grouped else None,
        tuple(notes),
    )


def plain_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """The fields of rows, each under its own name."""
    return pa.table({name: _column(name, values) for name, values in _by_name(rows).items()})


def as_text(value: object) -> str | None:
    """Text as it is, anything else as JSON; None where there is nothing.

    >>> as_text("a"), as_text({"b": 1}), as_text(None)
    ('a', '{"b": 1}', None)
    """
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def flatten(values: object, prefix: str) -> dict[str, Any]:
    """The entries of an object under PREFIX.NAME, those with parts of their own as JSON.

    >>> flatten({"topic": "tax", "tags": ["a"]}, "metadata")
    {'metadata.topic': 'tax', 'metadata.tags': '["a"]'}
    """
    return {
        f"{prefix}.{name}": one if isinstance(one, str | int | float) else as_text(one)
        for name, one in as_object(values).items()
    }


def message(
    role: object, content: object, tool_calls: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """One message of a conversation."""
    return {"role": as_text(role), "content": as_text(content), "tool_calls": [*tool_calls] or None}


def tool_call(name: object, arguments: object) -> dict[str, Any]:
    """One call of a tool, its arguments as JSON."""
    return {"name": as_text(name), "arguments": as_text(arguments)}


def as_object(value: object) -> Mapping[str, Any]:
    """An object as it is, an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def lines_of(values: object) -> str | None:
    """The entries of a list in lines, a single value as text."""
    return "\n".join(map(str, values)) if isinstance(values, list) else as_text(values)


def objects(values: object) -> list[Mapping[str, Any]]:
    """The objects of a list, without whatever else is in it."""
    return [one for one in values if isinstance(one, Mapping)] if isinstance(values, list) else []


def note_labels(n_labelled: int, n_items: int, column: str = "label") -> tuple[str, ...]:
    """A note on labels of people in a column, which may be of any choice of items."""
    if not n_labelled:
        return ()
    return (
        f"{n_labelled} of {n_items} items have labels of people, which are not shown: "
        f"--known-column {column} takes them as known, however the items were chosen",
    )


def _by_name(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _columns(
    rows: Sequence[Mapping[str, Any]], taken: Mapping[str, pa.Array]
) -> dict[str, pa.Array]:
    """A column for each name that has a value somewhere.

    A field whose name would have a role in a pool, such as score, becomes field.score.
    """
    columns: dict[str, pa.Array] = {}
    for name, values in _by_name(rows).items():
        if any(value not in (None, "", [], {}) for value in values):
            place = f"field.{name}" if _has_role(name) else name
            while place in taken or place in columns:
                place += "_"
            columns[place] = _column(name, values)
    return columns


def _has_role(name: str) -> bool:
    """True for a name that columns of a pool have for a reason."""
    others = ("id", "group", "embedding")
    return name in others or name.startswith(("p_", "f_")) or guides_draws(name)


def _column(name: str, values: Sequence[Any]) -> pa.Array:
    """The values with a type of their own, or all as text where they do not go together."""
    try:
        if name in _TYPES:
            return pa.array(values, _TYPES[name])
        if not any(isinstance(value, list | dict) for value in values):
            return pa.array(values)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        pass
    return pa.array([as_text(value) for value in values], pa.string())


NO_VERDICT = "no verdict"
"""The class of items on which a judge said nothing, for example because the run failed there."""

PASS_FAIL = {True: "pass", False: "fail"}


def read_verdicts(judge: str, values: Sequence[Any]) -> tuple[list[Any] | None, str | None]:
    """Verdicts fit to be predictions, or None if they cannot be, and a note on what was done.

    Where all are 0 or 1, or booleans, they become fail and pass; other numbers stay ratings, and
    text stays text. Gaps among classes become a class of their own; ratings with gaps cannot be
    predictions.

    >>> read_verdicts("exact", [1, 0.0, True])
    (['pass', 'fail', 'pass'], None)
    >>> read_verdicts("stars", [4, 2.5])
    ([4, 2.5], None)
    >>> read_verdicts("tone", ["kind", None])[0]
    ['kind', 'no verdict']
    """
    known = [value for value in values if not _is_gap(value)]
    n_gaps = len(values) - len(known)
    gaps = f"{n_gaps} of {len(values)} items have no verdict of {judge!r}"
    if not known:
        return None, f"no item has a verdict of {judge!r}, so it is no judge here"
    if any(isinstance(value, list | tuple | dict) for value in known):
        return None, f"the verdicts of {judge!r} have parts, so it is no judge here"
    if all(value in (0, 1) for value in known):
        classes = [None if _is_gap(value) else PASS_FAIL[bool(value)] for value in values]
    elif all(isinstance(value, int | float) and not isinstance(value, bool) for value in known):
        if n_gaps:
            return None, f"{gaps}, and ratings need one each, so it is no judge here"
        return [*values], None
    else:
        classes = [None if _is_gap(value) else class_text(value) for value in values]
    if not n_gaps:
        return classes, None
    return [NO_VERDICT if one is None else one for one in classes], f"{gaps}: {NO_VERDICT!r}"


def _is_gap(value: object) -> bool:
    return value is None or value == "" or (isinstance(value, float) and not math.isfinite(value))


_MOST_BYTES = 1 << 30
"""Bytes of the largest file that is read whole; objects of Python take several times as much."""


def parse_json(data: bytes, name: str) -> Any:  # noqa: ANN401
    """The value of a JSON document."""
    try:
        return files.parse_json(data)
    except ValueError as wrong:
        why = "it is empty" if not data.strip() else str(wrong)
        raise PoolError(f"{name} is not JSON: {why}.") from wrong


def read_document(path: Path) -> Any:  # noqa: ANN401
    """The value of a file that holds one JSON document."""
    check_size(path)
    with path.open("rb") as file, open_text(file, str(path)) as text:
        return parse_json(text.read().removeprefix(b"\xef\xbb\xbf"), str(path))


def check_size(path: Path) -> None:
    """Refuse a file that is too large to be read whole."""
    size = path.stat().st_size
    if size > _MOST_BYTES:
        raise PoolError(
            f"{path} has {size >> 20:,} MB, and files of this tool are read up to "
            f"{_MOST_BYTES >> 20:,} MB: split it, or write its items to a Parquet file."
        )
