"""The state of a campaign, as a pure fold over its events.

Nothing here reads a clock, a file or a database: events say all that happened.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from levelled.campaigns.records import Answer, Attached, Drawn, Event, Label, Lease, Settings
from levelled.errors import CampaignError

__all__ = ["State", "fold"]


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Everything that is known of a campaign after some of its events.

    Draws keep their order; answers may come in any. `n_settled` counts the draws from the first
    on without a gap that have an answer or are known not to be labelable: estimates use those
    and no others, because hard items take longer.
    """

    settings: Settings
    draws: tuple[Drawn, ...] = ()
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


def fold(events: Iterable[Event], state: State | None = None) -> State:
    """The state after `events`, starting from `state` or from nothing.

    Copies what it may change once, so a long log costs no more than its length.
    """
    working: _Working | None = None if state is None else _Working.of(state)
    for event in events:
        if event["type"] == "created":
            working = _Working.of(State(Settings.from_json(event["settings"])))
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
    """A state being folded, in containers that may be changed."""

    base: State
    settings: Settings
    draws: list[Drawn]
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

    @classmethod
    def of(cls, state: State) -> "_Working":
        return cls(
            state,
            state.settings,
            list(state.draws),
            state.n_asked,
            dict(state.leases),
            dict(state.answers),
            dict(state.resolved),
            dict(state.skipped),
            dict(state.opinions),
            dict(state.amended),
            dict(state.attached),
            state.closed,
            state.n_events,
            dict(state.draw_of),
        )

    def frozen(self) -> State:
        settled = self.base.n_settled
        while settled + 1 in self.answers or settled + 1 in self.resolved:
            settled += 1
        return State(
            self.settings,
            tuple(self.draws),
            self.n_asked,
            self.leases,
            self.answers,
            self.resolved,
            self.skipped,
            self.opinions,
            self.amended,
            self.attached,
            self.closed,
            settled,
            self.n_events,
            self.draw_of,
        )


def _drawn(state: _Working, event: Event) -> None:
    for kept in event["draws"]:
        drawn = Drawn(**{**kept, "proba": {m: tuple(p) for m, p in kept["proba"].items()}})
        state.draws.append(drawn)
        state.draw_of[str(drawn.id)] = drawn.draw


def _leased(state: _Working, event: Event) -> None:
    for draw in event["draws"]:
        state.leases[draw] = Lease(event["by"], event["until"])
        state.n_asked = max(state.n_asked, draw)


def _answered(state: _Working, event: Event) -> None:
    draw, answer = event["draw"], Answer(event["label"], event["by"], event["at"])
    if draw in state.answers or draw in state.resolved:
        state.opinions[draw] = (*state.opinions.get(draw, ()), answer)
        return
    state.answers[draw] = answer
    _close_draw(state, draw)


def _amended(state: _Working, event: Event) -> None:
    draw = event["draw"]
    before = state.answers.get(draw)
    was = None if before is None else before.label
    state.amended[draw] = (*state.amended.get(draw, ()), was)
    state.answers[draw] = Answer(event["label"], event["by"], event["at"])
    state.resolved.pop(draw, None)


def _skipped(state: _Working, event: Event) -> None:
    draw = event["draw"]
    state.skipped[draw] = (*state.skipped.get(draw, ()), event["by"])
    state.leases.pop(draw, None)


def _resolved(state: _Working, event: Event) -> None:
    state.resolved[event["draw"]] = event["reason"]
    _close_draw(state, event["draw"])


def _close_draw(state: _Working, draw: int) -> None:
    state.leases.pop(draw, None)
    state.skipped.pop(draw, None)


def _attached(state: _Working, event: Event) -> None:
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
