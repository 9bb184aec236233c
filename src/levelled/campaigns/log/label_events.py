"""Events of labellers, applied to a state while it is built: leases, answers and corrections."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from levelled.campaigns.log.records import Event, Lease
from levelled.campaigns.people.answers import Answer, Replaced, Unlabelable
from levelled.labels import Label

_NONE: Mapping[str, Label] = MappingProxyType({})
"""The rubric of all answers that have none."""


@dataclass(slots=True, kw_only=True)
class LabelsBuilder:
    """The parts of a state that these events change; `CampaignState` describes them.

    A container is copied before its first change.
    """

    n_asked: int
    n_settled: int
    n_events: int
    leases: dict[int, Lease]
    answers: dict[int, Answer]
    unlabelable: dict[int, Unlabelable]
    skipped: dict[int, tuple[str | None, ...]]
    opinions: dict[int, tuple[Answer, ...]]
    amended: dict[int, tuple[Replaced, ...]]
    owned: set[str] = field(default_factory=set)
    """The containers that are copies already."""

    def own(self, *names: str) -> None:
        """Copy these containers, unless they are copies already."""
        for name in names:
            if name not in self.owned:
                setattr(self, name, dict(getattr(self, name)))
                self.owned.add(name)


def _apply_leased(state: LabelsBuilder, event: Event) -> None:
    state.own("leases")
    for draw in event["draws"]:
        before = state.leases.get(draw)
        renewed = before is not None and before.owner == event["by"]
        since = before.since if before is not None and renewed else event["at"]
        state.leases[draw] = Lease(event["by"], since, event["until"])
        state.n_asked = max(state.n_asked, draw)


def _apply_returned(state: LabelsBuilder, event: Event) -> None:
    state.own("leases")
    for draw in event["draws"]:
        state.leases.pop(draw, None)


def _answer_of(state: LabelsBuilder, event: Event) -> Answer:
    label, by, at = event["label"], event["by"], event["at"]
    return Answer(label, by, at, state.n_events, event.get("note"), event.get("rubric", _NONE))


def _apply_answered(state: LabelsBuilder, event: Event) -> None:
    draw, answer = event["draw"], _answer_of(state, event)
    if draw in state.answers or draw in state.unlabelable:
        state.own("opinions")
        state.opinions[draw] = (*state.opinions.get(draw, ()), answer)
        return
    state.own("answers")
    state.answers[draw] = answer
    _close_draw(state, draw)


def _apply_amended(state: LabelsBuilder, event: Event) -> None:
    draw, answer = event["draw"], _answer_of(state, event)
    if event.get("opinion"):
        _replace_opinion(state, draw, event["by"], (answer,))
        return
    state.own("answers", "amended", "unlabelable")
    before = state.answers.get(draw)
    if before is None:
        mark = state.unlabelable.pop(draw, Unlabelable("", None, "", -1))  # the audit tells
        was = Replaced(None, mark.by, mark.at, mark.place, mark.reason)
    else:
        was = Replaced(
            before.label, before.by, before.at, before.place, "", before.note, before.rubric
        )
    state.amended[draw] = (*state.amended.get(draw, ()), was)
    state.answers[draw] = answer


def _replace_opinion(
    state: LabelsBuilder, draw: int, by: str | None, new: tuple[Answer, ...]
) -> None:
    """Put `new` in the place of the last opinion of an owner on a draw."""
    state.own("opinions")
    opinions = state.opinions[draw]
    at = max(place for place, one in enumerate(opinions) if one.by == by)
    _set_or_drop(state.opinions, draw, (*opinions[:at], *new, *opinions[at + 1 :]))


def _set_or_drop(values: dict[int, tuple[Any, ...]], draw: int, new: tuple[Any, ...]) -> None:
    if new:
        values[draw] = new
    else:
        del values[draw]


def _apply_withdrawn(state: LabelsBuilder, event: Event) -> None:
    """Undo an answer or mark: back to what it amended, to another opinion, or to an open draw."""
    draw, by = event["draw"], event["by"]
    if event.get("opinion"):
        _replace_opinion(state, draw, by, ())
        return
    state.own("answers", "amended", "opinions", "unlabelable")
    del (state.answers if draw in state.answers else state.unlabelable)[draw]
    if draw in state.amended:
        *earlier, last = state.amended[draw]
        _set_or_drop(state.amended, draw, tuple(earlier))
        if last.label is None:
            state.unlabelable[draw] = Unlabelable(last.reason, last.by, last.at, last.place)
        else:
            state.answers[draw] = Answer(
                last.label, last.by, last.at, last.place, last.note, last.rubric
            )
    elif draw in state.opinions:
        state.answers[draw], *others = state.opinions[draw]
        _set_or_drop(state.opinions, draw, tuple(others))
    else:
        state.own("leases")
        state.leases[draw] = Lease(by, event["at"], event["until"])
        state.n_settled = min(state.n_settled, draw - 1)


def _apply_skipped(state: LabelsBuilder, event: Event) -> None:
    state.own("skipped", "leases")
    draw, by = event["draw"], event["by"]
    state.skipped[draw] = (*state.skipped.get(draw, ()), by)
    lease = state.leases.get(draw)
    if lease is not None and by in (None, lease.owner):  # else another labeller has it by now
        del state.leases[draw]


def _apply_resolved(state: LabelsBuilder, event: Event) -> None:
    state.own("unlabelable")
    draw, mark = (
        event["draw"],
        Unlabelable(event["reason"], event["by"], event["at"], state.n_events),
    )
    state.unlabelable[draw] = mark
    _close_draw(state, draw)


def _close_draw(state: LabelsBuilder, draw: int) -> None:
    state.own("leases", "skipped")
    state.leases.pop(draw, None)
    state.skipped.pop(draw, None)


def move_leases(state: LabelsBuilder, seconds: int) -> None:
    """Let the leases of the items that are out end later by some seconds, or earlier."""
    state.own("leases")
    for draw, lease in state.leases.items():
        until = datetime.fromisoformat(lease.until) + timedelta(seconds=seconds)
        state.leases[draw] = replace(lease, until=until.isoformat(timespec="seconds"))


LABEL_EVENTS: dict[str, Callable[[LabelsBuilder, Event], None]] = {
    "leased": _apply_leased,
    "returned": _apply_returned,
    "answered": _apply_answered,
    "amended": _apply_amended,
    "withdrawn": _apply_withdrawn,
    "skipped": _apply_skipped,
    "resolved": _apply_resolved,
}
"""The function that applies each type of event."""
