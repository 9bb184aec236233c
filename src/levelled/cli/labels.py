"""Labels in files: of a pool, by id; of a test set, beside its features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from levelled.errors import PoolError
from levelled.learning.playing import Test
from levelled.learning.state import check_one_kind
from levelled.sources import read_answers
from levelled.sources.features import Features, read_numbers

__all__ = ["read_labels", "read_test"]


def read_labels(path: str, pool: Features, id_column: str) -> list[Any]:
    """The label of each item of the pool, which the file has by id."""
    found: dict[str, Any] = {}
    seen: dict[str, int] = {}
    for answer in read_answers(path, id_column=id_column):
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
    if not found:
        raise PoolError(f"{path} has not a single label, and every item of the pool needs one.")
    ids = [str(one) for one in pool.ids.to_pylist()]
    missing = [name for name in ids if name not in found]
    if len(missing) == len(ids):
        raise PoolError(
            f"None of the {len(found)} labels in {path} is of an item of the pool: the ids, such "
            f"as {next(iter(found))!r} and {pool.ids[0].as_py()!r}, do not meet."
        )
    if missing:
        raise PoolError(
            f"{path} has no label for {len(missing)} of the {len(ids)} items of the pool, such as "
            f"{missing[0]!r}, and any of them may be drawn. Add their labels, or take them out of "
            f"the pool."
        )
    labels = [found[name] for name in ids]
    check_one_kind(labels)
    return labels


def read_test(path: str, columns: Sequence[str], labels: Sequence[Any]) -> Test:
    """The same features as `columns`, and labels of the same kind as `labels`, to judge by."""
    told = [answer.label for answer in read_answers(path, named=False)]
    if not told or None in told:
        where = f"row {told.index(None) + 1} has none" if told else "it is empty"
        raise PoolError(f"Every row of {path} needs a label to judge by; {where}.")
    check_one_kind([*labels, *told])
    return read_numbers(path, columns), told
