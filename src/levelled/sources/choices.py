"""The columns that a user names, where their names do not say what they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from levelled.errors import PoolError
from levelled.labels import list_names


@dataclass(frozen=True, slots=True)
class ColumnChoices:
    """The arguments of `open_pool` that say what columns hold, and the reader that was used."""

    id_column: str = "id"
    pred_column: str | None = None
    judge_columns: tuple[str, ...] = ()
    show: tuple[str, ...] | None = None
    hide: tuple[str, ...] = ()
    reader: str | None = "plain"

    def to_json(self) -> dict[str, Any]:
        """Plain values, which are arguments of `open_pool`."""
        return asdict(self)

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> ColumnChoices:
        """The choices that `to_json` wrote; what is not there is as in the first version."""
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in plain.items()
        }
        unknown = {*values} - {one.name for one in fields(cls)}
        if unknown:
            raise PoolError(
                f"The columns were chosen by a newer Levelled: this one does not know "
                f"{list_names(sorted(unknown))}. Update with: pip install --upgrade levelled"
            )
        return cls(**values)


def choose_columns(
    id_column: str,
    pred_column: str | None,
    judge_columns: Sequence[str],
    show: Sequence[str] | None,
    hide: Sequence[str],
    reader: str | None,
) -> ColumnChoices:
    """The choices of a caller; a text in place of a list names columns with commas between."""
    if show is not None and hide:
        raise PoolError(
            "show names exactly what a labeller sees, so hide has nothing to take away: use one of "
            "the two."
        )
    judges = _names(judge_columns)
    if pred_column is not None and pred_column in judges:
        raise PoolError(f"The column {pred_column!r} cannot be a judge and the prediction at once.")
    return ColumnChoices(
        id_column, pred_column, judges, None if show is None else _names(show), _names(hide), reader
    )


def _names(columns: Sequence[str]) -> tuple[str, ...]:
    names = columns.split(",") if isinstance(columns, str) else columns
    return tuple(dict.fromkeys(names))
