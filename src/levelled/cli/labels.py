"""Labels in files: of a pool, by id; of a test set, beside its features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from levelled._check import FloatArray
from levelled.errors import PoolError
from levelled.sources import read_labelled
from levelled.sources.features import Features, read_numbers

__all__ = ["Labels", "Test", "check_one_kind", "read_labels", "read_test"]

Labels = dict[int, Any]
"""Labels by row of the pool."""
Test = tuple[FloatArray, list[Any]]
"""Features and labels, row by row."""


def read_labels(path: str, pool: Features, id_column: str) -> Labels:
    """The labels in a file, by the rows of the pool that their ids have."""
    found: dict[str, Any] = {}
    seen: dict[str, int] = {}
    for answer in read_labelled(path, id_column=id_column):
        if answer.id is None:
            raise PoolError(f"Row {answer.row} of {path} has no id in the column {id_column!r}.")
        name = str(answer.id)
        if name in seen:
            raise PoolError(
                f"The id {answer.id!r} is in row {seen[name]} of {path} and again in row "
                f"{answer.row}: an item has one label."
            )
        seen[name] = answer.row
        if answer.label is not None:
            found[name] = answer.label
    ids = enumerate(str(one) for one in pool.ids.to_pylist())
    labels = {row: found[name] for row, name in ids if name in found}
    if not labels:
        told = f"{next(iter(found))!r} and {pool.ids[0].as_py()!r}" if found else "in the pool"
        raise PoolError(
            f"None of the {len(found)} labels in {path} is of an item of the pool: the ids, such "
            f"as {told}, do not meet."
        )
    check_one_kind([*labels.values()], path)
    return labels


def read_test(path: str, columns: Sequence[str], labels: Sequence[Any]) -> Test:
    """The same features as `columns`, and labels of the same kind as `labels`, to judge by."""
    told = [answer.label for answer in read_labelled(path, named=False)]
    if not told or None in told:
        where = f"row {told.index(None) + 1} has none" if told else "it is empty"
        raise PoolError(f"Every row of {path} needs a label to judge by; {where}.")
    check_one_kind([*labels, *told], path)
    return read_numbers(path, columns), told


def check_one_kind(labels: Sequence[Any], path: str) -> None:
    """Refuse labels of which some are text and some are numbers."""
    text = [label for label in labels if isinstance(label, str)]
    if text and len(text) < len(labels):
        other = next(label for label in labels if not isinstance(label, str))
        raise PoolError(
            f"With {path}, some labels are text ({text[0]!r}) and others numbers ({other!r}): "
            f"write all of them the same way."
        )
