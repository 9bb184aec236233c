"""The state of a campaign, as a pure fold over its events.

Nothing here reads a clock, a file or a database: events say all that happened.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelled.campaigns.records import (
    Answer,
    Attached,
    CampaignSettings,
    DrawnItem,
    Event,
    Label,
    Lease,
)
from levelled.errors import CampaignError

__all__ = ["CampaignState", "Items", "fold"]


class Items(tuple[DrawnItem, ...]):
    """Drawn items in order. What is computed of them is kept, and serves every later state."""

    @cached_property
    def known(self) -> dict[object, Any]:
        """Results that depend on these items and on their key alone."""
        return {}

    @cached_property
    def columns(self) -> Mapping[str, NDArray[Any]]:
        """Row, probability and design of the items, an array each."""
        names = tuple(self[0].design) if self else ()
        return {
            "row": np.array([item.row for item in self], dtype=np.int64),
            "probability": np.array([item.probability for item in self], dtype=np.float64),
            **{name: np.array([item.design[name] for item in self]) for name in names},
        }


@dataclass(frozen=True, slots=True, eq=False)
class CampaignState:
    """Everything that is known of a campaign after some of its events.

    Draws keep their order; answers may come in any. `n_settled` counts the draws from the first
    on without a gap that have an answer or are known not to be labelable: estimates use those
    and no others, because hard items take longer.
    """

    settings: CampaignSettings
    draws: Items = field(default_factory=Items)
    n_asked: int = 0
    """Draws 1..n_asked have been given to somebody at some time."""
    leases: Mapping[int, Lease] = field(default_factory=dict)
    answers: Mapping[int, Answer] = field(default_factory=dict)
    resolved: Mapping[int, str] = field(default_factory=dict)
    """Draws that cannot be labelled, with the reason."""
    skipped: Mapping[int, tuple[str | None, ...]] = field(default_factory=dict)
    """Who passed on a draw that is still open."""
    opinions: Mapping[int, tuple[Answer, ...]] = field(default_factory=dict)
    """Answers to draws that had one already."""
    amended: Mapping[int, tuple[Label | None, ...]] = field(default_factory=dict)
    """What an answer was before it was amended."""
    attached: Mapping[str, Attached] = field(default_factory=dict)
    closed: str | None = None
    n_settled: int = 0
    n_events: int = 0
    draw_of: Mapping[str, int] = field(default_factory=dict)
    """The draw of an item, by its id as text."""

    def pred_counts(self, model: str) -> Mapping[str, int]:
        """How often each class is predicted in the whole pool."""
        later = self.attached.get(model)
        return self.settings.pred_counts.get(model, {}) if later is None else later.pred_counts

    def open_draws(self) -> list[int]:
        """The draws that were given out and have neither an answer nor a resolution."""
        return [
            draw
            for draw in range(self.n_settled + 1, self.n_asked + 1)
            if draw not in self.answers and draw not in self.resolved
        ]


def fold(events: Iterable[Event], state: CampaignState | None = None) -> CampaignState:
    """The state after `events`, starting from `state` or from nothing.

    Copies what it changes once, so a long log costs no more than its length.
    """
    working: _Working | None = None if state is None else _Working.of(state)
    for event in events:
        if event["type"] == "created":
            working = _Working.of(CampaignState(CampaignSettings.from_json(event["settings"])))
        elif working is None:
            raise CampaignError("The log does not begin with the creation of the campaign.")
        else:
            _APPLY[event["type"]](working, event)
        working.n_events += 1
    if working is None:
        raise CampaignError("A campaign without events has no state.")
    return working.frozen()


@dataclass(slots=True)
class _Working:
    """A state being folded. A container is copied before its first change, and only then."""

    base: CampaignState
    settings: CampaignSettings
    n_asked: int
    leases: dict[int, Lease]
    answers: dict[int, Answer]
    resolved: dict[int, str]
    skipped: dict[int, tuple[str | None, ...]]
    opinions: dict[int, tuple[Answer, ...]]
    amended: dict[int, tuple[Label | None, ...]]
    attached: dict[str, Attached]
    closed: str | None
    n_events: int
    draw_of: dict[str, int]
    added: list[DrawnItem] = field(default_factory=list)
    own: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, state: CampaignState) -> "_Working":
        return cls(base=state, **{name: getattr(state, name) for name in _KEPT})

    def copied(self, *names: str) -> None:
        """Make sure that these containers are this one's own."""
        for name in names:
            if name not in self.own:
                setattr(self, name, dict(getattr(self, name)))
                self.own.add(name)

    def frozen(self) -> CampaignState:
        settled = self.base.n_settled
        while settled + 1 in self.answers or settled + 1 in self.resolved:
            settled += 1
        draws = Items((*self.base.draws, *self.added)) if self.added else self.base.draws
        kept = {name: getattr(self, name) for name in _KEPT}
        return CampaignState(draws=draws, n_settled=settled, **kept)


_KEPT = tuple(one.name for one in fields(CampaignState) if one.name not in ("draws", "n_settled"))


def _drawn(state: _Working, event: Event) -> None:
    state.copied("draw_of")
    for kept in event["draws"]:
        drawn = DrawnItem(**{**kept, "proba": {m: tuple(p) for m, p in kept["proba"].items()}})
        state.added.append(drawn)
        state.draw_of[str(drawn.id)] = drawn.draw


def _leased(state: _Working, event: Event) -> None:
    state.copied("leases")
    for draw in event["draws"]:
        state.leases[draw] = Lease(event["by"], event["until"])
        state.n_asked = max(state.n_asked, draw)


def _answered(state: _Working, event: Event) -> None:
    draw, answer = event["draw"], Answer(event["label"], event["by"], event["at"])
    if draw in state.answers or draw in state.resolved:
        state.copied("opinions")
        state.opinions[draw] = (*state.opinions.get(draw, ()), answer)
        return
    state.copied("answers")
    state.answers[draw] = answer
    _close_draw(state, draw)


def _amended(state: _Working, event: Event) -> None:
    state.copied("answers", "amended", "resolved")
    draw = event["draw"]
    before = state.answers.get(draw)
    was = None if before is None else before.label
    state.amended[draw] = (*state.amended.get(draw, ()), was)
    state.answers[draw] = Answer(event["label"], event["by"], event["at"])
    state.resolved.pop(draw, None)


def _skipped(state: _Working, event: Event) -> None:
    state.copied("skipped", "leases")
    draw, by = event["draw"], event["by"]
    state.skipped[draw] = (*state.skipped.get(draw, ()), by)
    lease = state.leases.get(draw)
    if lease is not None and by in (None, lease.owner):  # else somebody else is at it by now
        del state.leases[draw]


def _resolved(state: _Working, event: Event) -> None:
    state.copied("resolved")
    state.resolved[event["draw"]] = event["reason"]
    _close_draw(state, event["draw"])


def _close_draw(state: _Working, draw: int) -> None:
    state.copied("leases", "skipped")
    state.leases.pop(draw, None)
    state.skipped.pop(draw, None)


def _attached(state: _Working, event: Event) -> None:
    state.copied("attached")
    before = state.attached.get(event["model"])
    same = before is not None and before.fingerprint == event["fingerprint"]
    state.attached[event["model"]] = Attached(
        event["source"],
        event["fingerprint"],
        event["pred_counts"],
        {**(before.pred if same and before else {}), **_by_draw(event["pred"])},
        {
            **(before.proba if same and before else {}),
            **{draw: tuple(p) for draw, p in _by_draw(event["proba"]).items()},
        },
    )


def _by_draw(kept: Mapping[str, Any]) -> dict[int, Any]:
    return {int(draw): value for draw, value in kept.items()}


def _changed(state: _Working, event: Event) -> None:
    state.settings = replace(state.settings, **event["settings"])


def _closed(state: _Working, event: Event) -> None:
    state.closed = event["reason"]


_APPLY: dict[str, Callable[[_Working, Event], None]] = {
    "drawn": _drawn,
    "leased": _leased,
    "answered": _answered,
    "amended": _amended,
    "skipped": _skipped,
    "resolved": _resolved,
    "attached": _attached,
    "changed": _changed,
    "closed": _closed,
}
