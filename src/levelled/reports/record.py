"""What a report says, in plain values: nothing here knows where they came from."""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Figure", "Report", "Section"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A metric of a model, in the whole pool or a slice, after some number of draws."""

    metric: str
    model: str
    slice: str | None
    value: float | None
    low: float | None
    """None where nothing bounds it."""
    high: float | None
    level: float
    interval: str
    """How the limits came about; those by betting hold at every look at once."""
    n_settled: int
    ess: float
    pending_low: float | None = None
    pending_high: float | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A table under a title, with a sentence of what it means; rows may be none."""

    title: str
    about: str
    columns: tuple[str, ...] = ()
    rows: Sequence[Sequence[str]] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """All that a page shows, in its order.

    `figures` begin with the one that matters most; `history` is that one after ever more draws.
    """

    title: str
    at: str
    facts: Sequence[tuple[str, str]]
    figures: Sequence[Figure]
    history: Sequence[Figure] = ()
    target_width: float | None = None
    sections: Sequence[Section] = ()
    record: Sequence[tuple[str, str]] = ()
    """How the figures can be checked."""
