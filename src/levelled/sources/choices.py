"""The columns that a user named, as campaigns keep them in their logs."""

from __future__ import annotations

from collections.abc import Mapping
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
