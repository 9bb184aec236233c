"""Text that takes few values, kept as numbers of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

__all__ = ["Coded"]


@dataclass(frozen=True, slots=True, eq=False)  # arrays have no single truth value
class Coded:
    """One of a few values for each item: `values[codes[n]]` is that of item n.

    >>> country = Coded(("de", "fr"), np.array([1, 0, 1], dtype=np.int32))
    >>> country.of([0, 1]), country.counts()
    (['fr', 'de'], {'de': 1, 'fr': 2})
    >>> np.asarray(country)
    array(['fr', 'de', 'fr'], dtype='<U2')
    """

    values: tuple[str, ...]
    codes: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.codes)

    def of(self, rows: ArrayLike) -> list[str]:
        """The values of some items."""
        return [self.values[code] for code in self.codes[np.asarray(rows, dtype=np.int64)]]

    def counts(self) -> dict[str, int]:
        """How many items have each value."""
        found = np.bincount(self.codes, minlength=len(self.values))
        return dict(zip(self.values, found.tolist(), strict=True))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(np.array(self.values, dtype=np.str_)[self.codes], dtype=dtype)
