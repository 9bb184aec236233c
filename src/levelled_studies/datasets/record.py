"""A data set in memory: arrays that go row by row, and the names of classes and features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

from numpy.typing import NDArray

from levelled.errors import PoolError

__all__ = ["DataSet", "Parts"]


class Parts(TypedDict):
    """The arrays read from the files of a data set; the catalogue has its name and classes."""

    X: NDArray[Any]
    y: NDArray[Any]
    X_test: NotRequired[NDArray[Any]]
    y_test: NotRequired[NDArray[Any]]
    features: NotRequired[tuple[str, ...]]


@dataclass(frozen=True, slots=True, eq=False)  # arrays have no single truth value
class DataSet:
    """Inputs `X` and labels `y` of a data set, and those of its test set if it has one.

    X is uint8 [N, height, width] for images (colours last), float64 [N, D] for tables, whose
    columns `features` names, and an array of str for texts. y holds the number of the class in
    `classes`; without classes it is the number to be predicted. The arrays are read-only.

    >>> import numpy as np
    >>> data = DataSet("two", X=np.zeros((2, 1)), y=np.array([1, 0]), classes=("no", "yes"))
    >>> [data.classes[k] for k in data.y], data.X_test is None
    (['yes', 'no'], True)
    """

    name: str
    X: NDArray[Any]
    y: NDArray[Any]
    X_test: NDArray[Any] | None = None
    y_test: NDArray[Any] | None = None
    classes: tuple[str, ...] = ()
    features: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.X_test is None) != (self.y_test is None):
            raise PoolError(f"The test set of {self.name!r} lacks its inputs or its labels.")
        self._check("", self.X, self.y)
        if self.X_test is not None and self.y_test is not None:
            self._check("_test", self.X_test, self.y_test)
            if self.X_test.shape[1:] != self.X.shape[1:]:
                raise PoolError(
                    f"X_test of {self.name!r} has rows of shape {self.X_test.shape[1:]}; "
                    f"those of X are {self.X.shape[1:]}."
                )
        for part in ("X", "y", "X_test", "y_test"):
            object.__setattr__(self, part, _read_only(getattr(self, part)))

    def _check(self, which: str, X: NDArray[Any], y: NDArray[Any]) -> None:
        if X.ndim == 0 or y.ndim != 1 or len(X) != len(y):
            raise PoolError(
                f"X{which} and y{which} of {self.name!r} must go row by row; their shapes are "
                f"{X.shape} and {y.shape}."
            )
        if self.features and X.shape[1:] != (len(self.features),):
            raise PoolError(
                f"X{which} of {self.name!r} has rows of shape {X.shape[1:]} and "
                f"{len(self.features)} features."
            )
        if self.classes and not (
            y.dtype.kind in "iu" and (not y.size or 0 <= y.min() <= y.max() < len(self.classes))
        ):
            raise PoolError(
                f"y{which} of {self.name!r} must number the {len(self.classes)} classes from 0."
            )

    def __repr__(self) -> str:
        parts = [
            f"{part}={array.dtype}{list(array.shape)}"
            for part in ("X", "y", "X_test", "y_test")
            if (array := getattr(self, part)) is not None
        ]
        if self.classes:
            parts.append(f"{len(self.classes)} classes")
        return f"DataSet({', '.join([repr(self.name), *parts])})"


def _read_only(array: NDArray[Any] | None) -> NDArray[Any] | None:
    if array is None:
        return None
    seen = array.view()
    seen.flags.writeable = False
    return seen
