"""Labels as the log keeps them: those that count, and those that were amended."""

from dataclasses import dataclass

from levelled.labels import Label

__all__ = ["Answer", "Replaced"]


@dataclass(frozen=True, slots=True)
class Answer:
    """A label, who gave it, and when."""

    label: Label
    by: str | None
    at: str
    place: int
    """The place of its event in the log, counted from 0."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """A label that was amended, as `Answer` keeps it; None for an item that was unlabelable."""

    label: Label | None
    by: str | None
    at: str
    place: int
    reason: str
    """The reason why the item was unlabelable."""
