"""The confusion matrix of the whole pool, each cell with its interval."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from levelled.draws import Draws
from levelled.errors import InputError
from levelled.estimators.estimate import estimate
from levelled.estimators.record import Estimate
from levelled.metrics.classes import Answers, Class, indicator, shown
from levelled.metrics.ratio import (
    Pairs,
    checked_level,
    fixed_as,
    ratio_estimate,
    scaled,
    undefined,
)
from levelled.metrics.table import aligned, footnotes

__all__ = ["Confusion", "confusion"]


@dataclass(frozen=True, slots=True)
class Confusion:
    """Shares of the pool by label and prediction; `matrix[label, pred]` is one cell."""

    classes: tuple[Class, ...]
    cells: tuple[tuple[Estimate, ...], ...]
    """A row for each label, a column for each prediction."""

    def __getitem__(self, at: tuple[Class, Class]) -> Estimate:
        label, pred = at
        for name in at:
            if name not in self.classes:
                raise InputError(f"{name!r} is none of the classes {shown(self.classes)}.")
        return self.cells[self.classes.index(label)][self.classes.index(pred)]

    @property
    def values(self) -> list[list[float | None]]:
        """The estimated shares alone, None where undefined so far."""
        return [[cell.value for cell in row] for row in self.cells]

    def as_dicts(self) -> list[dict[str, Any]]:
        """One dict of plain values a cell, ready for JSON or a data frame."""
        return [
            {"label": label, "pred": pred} | self[label, pred].as_dict()
            for label in self.classes
            for pred in self.classes
        ]

    def __str__(self) -> str:
        header = ["label", *(f"pred {name}" for name in self.classes)]
        rows = [
            [str(name), *(_cell(cell) for cell in row)]
            for name, row in zip(self.classes, self.cells, strict=True)
        ]
        notes = footnotes(
            (f"label {label}, pred {pred}", self[label, pred])
            for label in self.classes
            for pred in self.classes
        )
        return f"{aligned(header, rows)}{notes}"


def confusion(
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    classes: Sequence[Class] | None = None,
    pool_pred: ArrayLike | None = None,
    level: float = 0.95,
    interval: str = "auto",
    simultaneous: bool = False,
) -> Confusion:
    """The share of the pool in each cell of label and prediction, with its interval.

    With `pool_pred`, the predictions of the whole pool, the total of each column is known, and
    a cell is that total times the share of the label among those predictions. With
    `simultaneous` all C^2 intervals hold at once: each is given the level 1 - (1 - level) / C^2.
    "wilson" and "cp_safe" both ask for the interval of a number of labels fixed beforehand.

    >>> draws = Draws([4, 1, 0, 3], [0.2, 1 / 4, 1 / 3, 1 / 2], pool_size=5)
    >>> pool_pred = np.array(["b", "a", "b", "b", "a"])
    >>> found = confusion(["a", "b", "b", "a"], pool_pred[draws.index], draws, pool_pred=pool_pred)
    >>> found.values
    [[0.2, 0.3], [0.2, 0.3]]
    """
    level = checked_level(level, draws)
    how = fixed_as("cp_safe" if pool_pred is None else "wilson", interval)
    given = Answers.of(labels, pred, draws, classes, pool_pred)
    if simultaneous:
        level = 1 - (1 - level) / len(given.classes) ** 2
    numbers = range(len(given.classes))
    cells = tuple(
        tuple(_estimated(given, label, pred, draws, level, how) for pred in numbers)
        for label in numbers
    )
    return Confusion(given.classes, cells)


def _estimated(
    given: Answers, label: int, pred: int, draws: Draws, level: float, interval: str
) -> Estimate:
    D = indicator(given.pred, pred)
    A = indicator(given.label, label) * D
    if given.pool is None:
        return estimate(A, draws, level=level, interval=interval, bounds=(0, 1))
    pool_size = int(np.sum(given.pool == pred))
    if not pool_size:
        nothing = undefined(draws, (0.0, 0.0), level, "")
        return replace(nothing, value=0.0, stderr=0.0, interval="point", warnings=())
    share = pool_size / draws.pool_size
    unseen = [(pool_size - int(D.sum()), [(0.0, 1.0), (1.0, 1.0)])]
    pairs = Pairs(A, D, unseen, f"prediction {given.classes[pred]!r}", share)
    return scaled(ratio_estimate(pairs, draws, level=level, interval=interval), share)


def _cell(found: Estimate) -> str:
    value = "?" if found.value is None else f"{found.value:.3g}"
    return f"{value} [{found.low:.2g}, {found.high:.2g}]"
