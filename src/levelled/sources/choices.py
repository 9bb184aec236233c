"""The columns that a user named, as campaigns keep them in their logs, and the roles they have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from levelled.errors import PoolError
from levelled.labels import list_names

_ALONE = ("id", "prediction", "judge", "probability", "confidence", "score", "loss_hat")
"""Roles of which a column has at most one, and all but judge at most one column."""
ROLES = (*_ALONE, "feature", "shown", "hidden", "slice", "group", "time")
"""The roles that a user may give to a column."""
_NOT_YET = ("weight", "cost")
_REPLACE = {*_ALONE, "feature"}
"""Roles that stand in place of what the name of a column says; the others are added to it."""


@dataclass(frozen=True, slots=True)
class ColumnChoices:
    """The arguments of `open_pool` that say what columns hold, and the reader that was used."""

    id_column: str = "id"
    pred_column: str | None = None
    judge_columns: tuple[str, ...] = ()
    show: tuple[str, ...] | None = None
    hide: tuple[str, ...] = ()
    reader: str | None = "plain"
    roles: Mapping[str, tuple[str, ...]] | None = None
    """Roles without an argument of their own; None, as in logs from before there were roles, lets
    names alone decide, that of `score` among them."""

    def to_json(self) -> dict[str, Any]:
        """Plain values, which are arguments of `open_pool`; no roles where names alone decide."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: one for name, one in plain.items() if name != "roles" or one is not None}

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
        if "roles" in values:
            values["roles"] = {name: tuple(one) for name, one in values["roles"].items()}
        return cls(**values)

    def said(self, role: str) -> tuple[str, ...]:
        """The columns that were given a role which has no argument of its own."""
        return tuple(name for name, roles in (self.roles or {}).items() if role in roles)

    def replaces_name(self, column: str) -> bool:
        """True if the roles that were given to a column stand in place of what its name says."""
        return not _REPLACE.isdisjoint((self.roles or {}).get(column, ()))

    def fold(self, roles: Mapping[str, str | Sequence[str]] | None) -> ColumnChoices:
        """These choices with roles of columns; refuses what contradicts itself."""
        if roles is None:
            return replace(self, roles=None)
        if not isinstance(roles, Mapping):
            raise PoolError(f"roles names a role for each column; {roles!r:.80} is no mapping.")
        own = {"id": (self.id_column,) if self.id_column != "id" else (), "hidden": self.hide}
        own["prediction"] = () if self.pred_column is None else (self.pred_column,)
        own["judge"] = self.judge_columns
        pairs = [(one, role) for role, names in own.items() for one in names]
        pairs += [(one, role) for one, words in roles.items() for role in _read_roles(one, words)]
        said: dict[str, list[str]] = {}
        for column, role in pairs:
            said.setdefault(column, []).append(role)
        by = {role: [one for one, words in said.items() if role in words] for role in ROLES}
        for column, words in said.items():
            clash = [role for role in _ALONE if role in words]
            clash = ["shown", "hidden"] if {"shown", "hidden"} <= {*words} else clash
            if len(clash) > 1:
                raise PoolError(f"The column {column!r} cannot be {' and '.join(clash)} at once.")
        for role in _ALONE:
            if len(by[role]) > 1 and role != "judge":
                raise PoolError(f"The columns {list_names(by[role])} cannot all be the {role}.")
        if self.show is not None and (by["hidden"] or {*by["shown"]} - {*self.show}):
            raise PoolError(
                "show names exactly what a labeller sees, so there is nothing to hide or to add: "
                "use one of the two."
            )
        rest = {one: tuple(r for r in words if r not in own) for one, words in said.items()}
        return replace(
            self,
            id_column=(*by["id"], "id")[0],
            pred_column=(*by["prediction"], None)[0],
            judge_columns=tuple(by["judge"]),
            hide=tuple(by["hidden"]),
            roles={column: words for column, words in rest.items() if words},
        )


def _read_roles(column: str, said: str | Sequence[str]) -> list[str]:
    """The roles of a column, which a text names with commas or plus signs between."""
    roles = [word.strip() for word in (re.split("[,+]", said) if isinstance(said, str) else said)]
    for role in roles:
        if role in _NOT_YET:
            raise PoolError(
                f"The column {column!r} cannot have the role {role}: every item counts alike in "
                f"all figures, whatever its {role}. Leave the role out."
            )
        if role not in ROLES:
            names = ", ".join(ROLES)
            raise PoolError(f"{role!r} is no role for the column {column!r}; roles are {names}.")
    return roles
