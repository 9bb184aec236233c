"""What a campaign is made of: settings, drawn items, leases, answers, and events."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from levelled.labels import Label

__all__ = ["Answer", "Attached", "CampaignSettings", "DrawnItem", "Event", "Label", "Lease"]

Event = Mapping[str, Any]
"""What happened, as plain JSON: its "type", when ("at"), by whom ("by"), and its payload."""


@dataclass(frozen=True, slots=True)
class CampaignSettings:
    """What was decided when the campaign was created, and what is known of the pool as a whole."""

    name: str
    metrics: tuple[str, ...]
    source: str | list[str] | None
    """Where the pool file was; None for a pool that was only in memory."""
    fingerprint: str
    pool_size: int
    seed: int
    models: tuple[str, ...] = ("",)
    classes: tuple[str, ...] | None = None
    numeric: bool = False
    """Whether labels are numbers rather than classes."""
    slices: tuple[str, ...] = ()
    slice_counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    pred_counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    budget: int | None = None
    target_width: float | None = None
    level: float = 0.95
    score: str = "auto"
    proposal: str = "proportional"
    floor: float = 0.5
    n_sampled: int = 0
    """Draws 1..n_sampled are a uniform sample that had labels before the campaign began."""
    lease_seconds: int = 24 * 3600
    in_flight: int = 200
    format: int = 1

    def to_json(self) -> dict[str, Any]:
        """Plain values, for the event that creates the campaign."""
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> "CampaignSettings":
        """What `to_json` wrote."""
        renamed = {"n_pool": "pool_size"}  # databases of the first version
        kept = {renamed.get(name, name): value for name, value in kept.items()}
        lists = ("metrics", "models", "classes", "slices")
        as_tuples = {name: tuple(kept[name]) for name in lists if kept.get(name) is not None}
        return cls(**{**kept, **as_tuples})


@dataclass(frozen=True, slots=True)
class DrawnItem:
    """An item with the probability it had when it was drawn, and what is known of it."""

    draw: int
    row: int
    id: str | int
    probability: float
    design: Mapping[str, float] = field(default_factory=dict)
    pred: Mapping[str, Label] = field(default_factory=dict)
    """The prediction of each model; the first one has the name ""."""
    proba: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    slices: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    """What the labeller is shown."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Who has been given an item, and until when nobody else is."""

    owner: str | None
    until: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A label, who gave it, and when."""

    label: Label
    by: str | None
    at: str


@dataclass(frozen=True, slots=True)
class Attached:
    """The predictions of a model that came later, for the items that were drawn."""

    source: str | list[str] | None
    fingerprint: str
    pred_counts: Mapping[str, int]
    pred: Mapping[int, Label]
    proba: Mapping[int, tuple[float, ...]]
