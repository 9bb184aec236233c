"""The confusion matrix of the whole pool, each cell with its interval."""

from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from levelled.draws import Draws
from levelled.errors import InputError
from levelled.estimators.estimate import estimate
from levelled.estimators.record import Estimate
from levelled.labels import Class, list_names
from levelled.metrics.classification import ClassOptions, ClassSample, indicator
from levelled.metrics.ratio import (
    Pairs,
    ratio_estimate,
    scaled,
    translate_fixed,
    undefined_estimate,
)
from levelled.metrics.table import align, footnotes


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
                raise InputError(f"{name!r} is none of the classes {list_names(self.classes)}.")
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
            [str(name), *(_cell_text(cell) for cell in row)]
            for name, row in zip(self.classes, self.cells, strict=True)
        ]
        notes = footnotes(
            (f"label {label}, pred {pred}", self[label, pred])
            for label in self.classes
            for pred in self.classes
        )
        return f"{align(header, rows)}{notes}"


def confusion(
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    simultaneous: bool = False,
    **options: Unpack[ClassOptions],
) -> Confusion:
    """The share of the pool in each cell of label and prediction, with its interval.

    With `pool_pred`, the predictions of the whole pool, the total of each column is known, and
    a cell is that total times the share of the label among those predictions. With
    `simultaneous` all C^2 intervals hold at once: each is given the level 1 - (1 - level) / C^2.
    "wilson" and "cp_safe" both ask for the interval of a number of labels fixed beforehand.

    >>> draws = Draws([4, 1, 0, 3], [0.2, 1 / 4, 1 / 3, 1 / 2], pool_size=5)
    >>> pool_pred = np.array(["b", "a", "b", "b", "a"])
    >>> pred = pool_pred[draws.index]
    >>> confusion(["a", "b", "b", "a"], pred, draws, pool_pred=pool_pred).values
    [[0.2, 0.3], [0.2, 0.3]]
    """
    sample = ClassSample.of(labels, pred, draws, **options)
    fixed = "cp_safe" if sample.pool is None else "wilson"
    sample = replace(
        sample,
        level=1 - (1 - sample.level) / len(sample.classes) ** 2 if simultaneous else sample.level,
        interval=translate_fixed(fixed, sample.interval),
    )
    numbers = range(len(sample.classes))
    cells = tuple(tuple(_cell(sample, label, pred) for pred in numbers) for label in numbers)
    return Confusion(sample.classes, cells)


def _cell(sample: ClassSample, label: int, pred: int) -> Estimate:
    draws, level = sample.draws, sample.level
    is_label, inside = indicator(sample.label, label), sample.pred == pred
    if sample.pool is None:
        joint = is_label * inside
        return estimate(joint, draws, level=level, interval=sample.interval, bounds=(0, 1))
    pool_size = int(np.sum(sample.pool == pred))
    if not pool_size:
        nothing = undefined_estimate(sample, (0.0, 0.0), "")
        return replace(nothing, value=0.0, stderr=0.0, interval="point", warnings=())
    what = f"prediction {sample.classes[pred]!r}"
    pairs = Pairs.over_part(is_label, inside, pool_size, draws, what)
    return scaled(ratio_estimate(pairs, sample), pool_size / draws.pool_size)


def _cell_text(cell: Estimate) -> str:
    value = "?" if cell.value is None else f"{cell.value:.3g}"
    return f"{value} [{cell.low:.2g}, {cell.high:.2g}]"
