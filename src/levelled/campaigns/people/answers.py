"""Labels as the log keeps them: those that count, those that were amended, and items without."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from levelled.labels import Label


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
class Unlabelable:
    """The mark of an item that cannot be labelled: why, who set it, and when."""

    reason: str
    by: str | None
    at: str
    place: int
    """The place of its event in the log, counted from 0."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """What was amended: a label, as `Answer` keeps it, or None for the mark `Unlabelable`."""

    label: Label | None
    by: str | None
    at: str
    place: int
    reason: str
    """The reason why the item was unlabelable."""
    note: str | None = None
    rubric: Mapping[str, Label] = field(default_factory=dict)
