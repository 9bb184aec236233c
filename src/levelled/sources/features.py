"""Features: columns of numbers in a file, from which a model learns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
import pyarrow as pa

from levelled._check import BoolArray, FloatArray, IntArray
from levelled.errors import PoolError
from levelled.labels import Id
from levelled.sources.columns import (
    Columns,
    Roles,
    check_column,
    check_repeats,
    guides_draws,
    is_length,
    is_list,
    is_number,
    length_columns,
    rows_of,
    shorten,
)
from levelled.sources.files import SIGNS, PathName
from levelled.sources.reading import read_columns
from levelled.sources.rows import Files, Origin

_NEVER = ("label", "answer", "draw", "row", "probability", "sample_weight", "unlabelable")
"""Columns of a file of labels, never features: they would give away the label or the draw."""
_NOTHING = ("", "none", "nan", "false", "no", "0", "0.0")


@dataclass(frozen=True, slots=True, eq=False)  # arrays have no single truth value
class Features:
    """Numbers [N, D], one row an item, and the columns they come from; gaps are NaN."""

    X: FloatArray
    columns: Columns
    ids: pa.ChunkedArray

    def __len__(self) -> int:
        return len(self.X)

    def rows_of(self, ids: Sequence[Id]) -> IntArray:
        """The rows of some ids; a number and its text find each other."""
        return rows_of(self.ids.chunks, ids)


def read_features(
    source: PathName | Sequence[PathName], wanted: Sequence[str] = (), *, id_column: str = "id"
) -> Features:
    """The features in a file, in all files of a folder, or in those of a pattern or a list.

    They are the columns that `feature_columns` names. Every row has an id of its own.
    """
    origin = Files(source)
    advice = " Add one, or say which column it is."
    names = origin.schema.names
    check_column(id_column, names, "for the ids", source=str(source), advice=advice)
    columns = feature_columns(origin.schema, wanted, others=[id_column], name=str(source))
    X, ids = numbers_of(origin, columns, id_column)
    return Features(X, columns, ids)


def read_numbers(source: PathName, columns: Sequence[str]) -> FloatArray:
    """These columns of a file side by side, NaN where a number is missing; ids are not needed."""
    origin = Files(source)
    missing = [name for name in columns if name not in origin.schema.names]
    if missing:
        more = f" nor {len(missing) - 1} others" if len(missing) > 1 else ""
        raise PoolError(
            f"{source} has no column {missing[0]!r}{more}; it has {_kinds(origin.schema)}."
        )
    return numbers_of(origin, tuple(columns), "")[0]


def gaps_in(source: PathName, columns: Sequence[str]) -> str:
    """A sentence on missing or infinite numbers in columns of a file, or "" if there are none."""
    X = read_numbers(source, columns)
    missing = ~np.isfinite(X)
    rows = np.flatnonzero(missing.any(axis=1))
    if not rows.size:
        return ""
    names = [*columns]
    if len(names) == X.shape[1]:  # else there are lists among them
        names = [names[at] for at in np.flatnonzero(missing.any(axis=0))]
    listed = shorten([*map(repr, names)])
    return (
        f"In {source} numbers are missing or infinite in {listed}: in {rows.size} of {len(X)} "
        f"rows, the first of them row {rows[0]} (counted from 0)."
    )


def read_flags(source: PathName, column: str) -> BoolArray:
    """True for each row of a file with a value in this column other than false, 0, no or none."""
    roles = Roles("", slices=(column,))
    batches = Files(source).batches(roles)
    values = [value for batch in batches for value in batch.column(column).to_pylist()]
    return np.array([str(value).strip().lower() not in _NOTHING for value in values], dtype=bool)


def feature_columns(
    schema: pa.Schema,
    wanted: Sequence[str] = (),
    *,
    others: Collection[str] = ("id",),
    name: str = "The file",
) -> Columns:
    """The columns of features, in the order of the file.

    `wanted` are their names, patterns such as f_*, or lengths of text such as length:output and
    length:second/first, which follow the others. Without them it is a list column `embedding`,
    else the columns f_*, else all numeric columns but `others` and those that have another
    meaning, such as label, probability or proba_<class>.

    >>> kinds = {"id": pa.string(), "age": pa.int64(), "city": pa.string(), "label": pa.int64()}
    >>> feature_columns(pa.schema(kinds.items()))
    ('age',)
    """
    check_repeats(schema.names, name)
    if wanted:
        lengths = [one for one in wanted if is_length(one)]
        for one in lengths:
            missing = [column for column in length_columns(one) if column not in schema.names]
            if missing:
                raise PoolError(
                    f"{one!r} asks for the length of a column {missing[0]!r}, and {name} has "
                    f"{_kinds(schema)}. Write length:COLUMN, or length:B/A for a ratio."
                )
        plain = [one for one in wanted if not is_length(one)]
        return (*_matching(schema, plain, {*_NEVER, *others}, name), *dict.fromkeys(lengths))
    if described_by(schema) == ("embedding",):
        return ("embedding",)
    # Predictions of another model are features only if they are named as such.
    never = {*_NEVER, *others}
    numbers = [
        field.name
        for field in schema
        if is_number(field.type) and field.name not in never and not guides_draws(field.name)
    ]
    if any(each.startswith("f_") for each in numbers):
        return _matching(schema, ["f_*"], never, name)
    if not numbers:
        raise PoolError(
            f"{name} has no column of numbers to learn from; it has {_kinds(schema)}. Features "
            f"are numeric columns or a list column 'embedding': turn text into numbers first."
        )
    return tuple(numbers)


def described_by(schema: pa.Schema) -> Columns:
    """The columns that describe items by their name: a list `embedding`, else the columns f_*.

    >>> described_by(pa.schema({"id": pa.string(), "f_1": pa.float64(), "age": pa.int64()}.items()))
    ('f_1',)
    """
    if "embedding" in schema.names and is_list(schema.field("embedding").type):
        return ("embedding",)
    return tuple(one.name for one in schema if one.name.startswith("f_") and is_number(one.type))


def _matching(
    schema: pa.Schema, wanted: Sequence[str], never: Collection[str], name: str
) -> Columns:
    """The columns that match, if all of them can be features."""
    free = {field.name: field for field in schema if field.name not in never}
    found: set[str] = set()
    for pattern in wanted:
        if pattern in never:
            raise PoolError(
                f"The column {pattern!r} is no feature: it says which item it is, how it was drawn "
                f"or what its label is. Rename it if it is something else."
            )
        # A plain name is looked up: there may be 20,000 of them.
        is_pattern = bool({*pattern} & {*SIGNS})
        names = [one for one in free if fnmatchcase(one, pattern)] if is_pattern else [pattern]
        if not names or names[0] not in free:
            raise PoolError(f"No feature in {name} is called {pattern!r}; it has {_kinds(schema)}.")
        found |= {*names}
    matching = [field for field in free.values() if field.name in found]
    for field in matching:
        if not (is_number(field.type) or is_list(field.type)):
            raise PoolError(
                f"The column {field.name!r} of {name} holds {field.type}, and a feature is a "
                f"number. Turn it into numbers, or name the features without it."
            )
    return tuple(field.name for field in matching)


def numbers_of(
    origin: Origin, columns: Columns, id_column: str
) -> tuple[FloatArray, pa.ChunkedArray]:
    """These columns of all rows side by side, and their ids (numbers of rows without a column)."""
    roles = Roles(id_column, features=columns)
    columns_read = read_columns(origin.batches(roles), roles)
    assert columns_read.features is not None
    return columns_read.features, columns_read.ids


def _kinds(schema: pa.Schema) -> str:
    text = ", ".join(f"{field.name!r} ({field.type})" for field in list(schema)[:8])
    return text if len(schema) <= 8 else f"{text} and {len(schema) - 8} more"
