"""Drawn items kept as columns: an item is made when somebody asks for it."""

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, groupby
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from levelled.campaigns.log.records import DrawnItem

_BY_NAME = ("design", "pred", "proba", "slices")
_LISTS, _MATRICES = ("pred", "slices"), ("design", "proba")


@dataclass(frozen=True, slots=True, eq=False)
class ItemColumns(Sequence[DrawnItem]):
    """Consecutive draws with the same columns, from number `first` on."""

    first: int
    row: NDArray[np.int64]
    probability: NDArray[np.float64]
    ids: Sequence[str | int]
    by_name: Mapping[str, Mapping[str, Any]]
    """The columns of `design`, `pred`, `proba` and `slices`, by their names."""
    data: Sequence[str]
    """What the labeller sees, as JSON."""

    def __len__(self) -> int:
        return len(self.row)

    @overload
    def __getitem__(self, at: int) -> DrawnItem: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[DrawnItem, ...]: ...
    def __getitem__(self, at: int | slice) -> DrawnItem | tuple[DrawnItem, ...]:
        if isinstance(at, slice):
            return tuple(self[i] for i in range(len(self))[at])
        named = {
            part: {name: values[at] for name, values in columns.items()}
            for part, columns in self.by_name.items()
        }
        named["design"] = {name: float(value) for name, value in named["design"].items()}
        named["proba"] = {model: tuple(p.tolist()) for model, p in named["proba"].items()}
        return DrawnItem(
            self.first + at,
            int(self.row[at]),
            self.ids[at],
            float(self.probability[at]),
            data=json.loads(self.data[at]),
            **named,
        )

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Plain values and arrays, from which `from_arrays` makes the columns again."""
        plain = {
            "first": self.first,
            "ids": self.ids,
            "data": "\n".join(self.data),
            **{part: self.by_name[part] for part in _LISTS},
            **{part: [*self.by_name[part]] for part in _MATRICES},
        }
        arrays = {"row": self.row, "probability": self.probability}
        for part in _MATRICES:
            for at, values in enumerate(self.by_name[part].values()):
                arrays[f"{part}{at}"] = values
        return plain, arrays

    @classmethod
    def from_arrays(
        cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> "ItemColumns":
        """The columns that `to_arrays` wrote."""
        by_name = {part: plain[part] for part in _LISTS}
        for part in _MATRICES:
            by_name[part] = {name: arrays[f"{part}{at}"] for at, name in enumerate(plain[part])}
        data = plain["data"].split("\n") if plain["ids"] else []
        row, probability = arrays["row"], arrays["probability"]
        made = cls(plain["first"], row, probability, plain["ids"], by_name, data)
        columns = chain.from_iterable(one.values() for one in by_name.values())
        if {len(one) for one in (probability, made.ids, data, *columns)} - {len(row)}:
            raise ValueError("columns of different lengths")
        return made


class DrawnItems(Sequence[DrawnItem]):
    """A sequence of drawn items, or a part of one, whose items are made when they are needed."""

    def __init__(self, parts: Sequence[Sequence[DrawnItem]], at: range | None = None) -> None:
        self.parts = tuple(parts)
        self._ends = [*accumulate(map(len, self.parts))]
        self._at = range(self._ends[-1] if self._ends else 0) if at is None else at

    def __len__(self) -> int:
        return len(self._at)

    @overload
    def __getitem__(self, at: int) -> DrawnItem: ...
    @overload
    def __getitem__(self, at: slice) -> "DrawnItems": ...
    def __getitem__(self, at: int | slice) -> "DrawnItem | DrawnItems":
        if isinstance(at, slice):
            return DrawnItems(self.parts, self._at[at])
        place = self._at[at]
        part = bisect_right(self._ends, place)
        return self.parts[part][place - (self._ends[part] - len(self.parts[part]))]

    def __iter__(self) -> Iterator[DrawnItem]:
        return map(self.__getitem__, range(len(self)))

    def __add__(self, items: Iterable[DrawnItem]) -> "DrawnItems":
        return DrawnItems([*self._whole_parts(), tuple(items)])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def _whole_parts(self) -> Sequence[Sequence[DrawnItem]]:
        whole = self._at == range(self._ends[-1] if self._ends else 0)
        return self.parts if whole else (self,)

    def columns(self) -> list[ItemColumns]:
        """All items as columns: one set of columns where all items have the same."""
        return [
            column
            for part in self._whole_parts()
            for column in ([part] if isinstance(part, ItemColumns) else columns_of(part))
        ]


def columns_of(items: Iterable[DrawnItem]) -> Iterator[ItemColumns]:
    """Items as columns; a new set of columns begins where items have other ones."""
    for names, group in groupby(
        items, lambda item: tuple(tuple(getattr(item, part)) for part in _BY_NAME)
    ):
        run = list(group)
        by_name: dict[str, dict[str, Any]] = {}
        for part, its_names in zip(_BY_NAME, names, strict=True):
            by_name[part] = {name: [getattr(one, part)[name] for one in run] for name in its_names}
        for part in _MATRICES:
            by_name[part] = {
                name: np.array(values, dtype=np.float64) for name, values in by_name[part].items()
            }
        yield ItemColumns(
            run[0].draw,
            np.array([one.row for one in run], dtype=np.int64),
            np.array([one.probability for one in run], dtype=np.float64),
            [one.id for one in run],
            by_name,
            [json.dumps(one.data) for one in run],
        )
