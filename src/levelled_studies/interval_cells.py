"""Cells of the studies of intervals: repetitions of one setting, and their row in the table."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from levelled._check import BoolArray, FloatArray
from levelled.estimators import Estimate

__all__ = ["LEVEL", "Cell", "relative", "summarise_cells"]

LEVEL = 0.95


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """Repetitions of one pool: the intervals that contain the truth, their widths, the design.

    Widths may be measured in fewer repetitions. `warned` says which intervals came with a warning.
    """

    holds: BoolArray
    width: FloatArray
    design_size: float
    warned: BoolArray | None = None

    @classmethod
    def of_estimates(
        cls, estimates: Sequence[Estimate], truth: float, design_size: float, *, unit: float = 1.0
    ) -> "Cell":
        """The cell of these estimates, with widths in units of `unit`."""
        holds = [est.low <= truth <= est.high for est in estimates]
        width = np.array([est.high - est.low for est in estimates])
        warned = [bool(est.warnings) for est in estimates]
        return cls(np.array(holds), relative(width, unit), design_size, np.array(warned))


def summarise_cells(cells: Sequence[Cell]) -> dict[str, float | int | None]:
    """The cells of several pools as one row of a table.

    `warned` is the share of intervals with a warning, `silent_coverage` the coverage of the
    others, where they are half of the repetitions or more. Widths are those that are finite.
    """
    holds = np.concatenate([cell.holds for cell in cells])
    width = np.concatenate([cell.width for cell in cells])
    finite = width[np.isfinite(width)]
    none = [np.zeros(len(cell.holds), dtype=bool) for cell in cells]
    flags = [cell.warned for cell in cells]
    warned = np.concatenate([n if f is None else f for n, f in zip(none, flags, strict=True)])
    silent = holds[~warned] if warned.mean() <= 0.5 else None
    return {
        "repetitions": len(holds),
        "coverage": float(holds.mean()),
        "warned": float(warned.mean()),
        "silent_coverage": None if silent is None else float(silent.mean()),
        "width": float(np.median(finite)) if len(finite) else None,
        "design_size": float(np.mean([cell.design_size for cell in cells])),
    }


def relative(width: FloatArray, truth: float) -> FloatArray:
    """Widths in units of what is estimated."""
    return width / abs(truth) if truth else np.full_like(width, np.inf)
