"""Labels as the log keeps them: those that count, and those that were amended."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from levelled.labels import Label

__all__ = ["Answer", "Replaced"]


@dataclass(frozen=True, slots=True)
class Answer:
    """A label, who gave it, and when; with the labeller's note and answers to other questions."""

    label: Label
    by: str | None
    at: str
    place: int
    """The place of its event in the log, counted from 0."""
    note: str | None = None
    rubric: Mapping[str, Label] = field(default_factory=dict)
    """The answers to the questions of the campaign, by their names."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """A label that was amended, as `Answer` keeps it; None for an item that was unlabelable."""

    label: Label | None
    by: str | None
    at: str
    place: int
    reason: str
    """The reason why the item was unlabelable."""
    note: str | None = None
    rubric: Mapping[str, Label] = field(default_factory=dict)
