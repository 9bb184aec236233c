"""The records of a campaign: rounds, drawn items, leases, answers, and events."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from levelled.labels import Label

Event = Mapping[str, Any]
"""One entry of the log as plain JSON: its "type", when ("at"), by whom ("by"), and its payload."""


@dataclass(frozen=True, slots=True)
class Round:
    """Draws from `first` on, up to the next round, come from one predictor with one floor.

    Without a predictor they come from the frozen weights of the settings, of which the share
    `floor` is uniform. `shares` are those of the metrics, where the draws balance them.
    """

    first: int
    predictor: Mapping[str, Any] | None
    """The predictor as `LossPredictor.to_json` writes it."""
    floor: float
    shares: tuple[float, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values, for the event that begins the round."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**plain, "shares": [*self.shares]}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "Round":
        """The round that `to_json` wrote."""
        return cls(
            plain["first"], plain["predictor"], plain["floor"], tuple(plain.get("shares", ()))
        )


@dataclass(frozen=True, slots=True)
class Rescored:
    """A file whose predicted losses guide the draws from `first` on, instead of the pool's."""

    first: int
    source: str | list[str] | None
    fingerprint: str


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
    """The columns that the labeller sees."""

    def to_json(self) -> dict[str, Any]:
        """Plain values, for the event that records the draw."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**plain, "proba": {model: [*p] for model, p in self.proba.items()}}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "DrawnItem":
        """The item that `to_json` wrote."""
        return cls(**{**plain, "proba": {m: tuple(p) for m, p in plain["proba"].items()}})


@dataclass(frozen=True, slots=True)
class Lease:
    """The labeller for whom an item is kept, and until when."""

    owner: str | None
    since: str
    until: str


@dataclass(frozen=True, slots=True)
class OpenItem:
    """An item that was handed out and has no label yet: who has it, since when and until when.

    `since` and `until` are None if nobody has it, because it was given back or skipped.
    """

    draw: int
    id: str | int
    owner: str | None
    since: str | None
    until: str | None


@dataclass(frozen=True, slots=True)
class Ask:
    """An item that somebody is asked to label."""

    draw: int
    id: str | int
    data: Mapping[str, Any]
    lease_until: str


@dataclass(frozen=True, slots=True)
class Handout:
    """The items handed out, the event that records it, and why there are fewer than wished."""

    asks: tuple[Ask, ...]
    events: tuple[Event, ...]
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Attached:
    """The predictions of a model that came later, for the items that were drawn."""

    source: str | list[str] | None
    fingerprint: str
    pred_counts: Mapping[str, int]
    pred: Mapping[int, Label]
    proba: Mapping[int, tuple[float, ...]]
