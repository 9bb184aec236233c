"""How often intervals held the truth in a cell of a study, and how wide they were."""

from dataclasses import dataclass

import numpy as np

from levelled._check import BoolArray, FloatArray

__all__ = ["Cell", "pooled", "relative"]


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """What one pool's repetitions say: who held the truth, how wide, how thick the design."""

    holds: BoolArray
    width: FloatArray
    design_size: float


def pooled(found: list[Cell]) -> dict[str, float | int | None]:
    """The cells of several pools as one row of a table; widths are those that are finite."""
    holds = np.concatenate([cell.holds for cell in found])
    width = np.concatenate([cell.width for cell in found])
    finite = width[np.isfinite(width)]
    return {
        "repetitions": len(holds),
        "coverage": float(holds.mean()),
        "width": float(np.median(finite)) if len(finite) else None,
        "design_size": float(np.mean([cell.design_size for cell in found])),
    }


def relative(width: FloatArray, truth: float) -> FloatArray:
    """Widths in units of what is estimated."""
    return width / abs(truth) if truth else np.full_like(width, np.inf)
