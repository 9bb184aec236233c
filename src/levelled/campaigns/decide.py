"""What may happen next in a campaign: each decision turns a state into events, or refuses.

Pure functions of the state, the request and the time; the shell appends what they return.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from typing import Any

import numpy as np

from levelled._check import between, whole
from levelled.campaigns.records import CampaignSettings, DrawnItem, Event, Label
from levelled.campaigns.state import CampaignState
from levelled.errors import CampaignError
from levelled.metrics.named import Metric, parse_metric

__all__ = [
    "Ask",
    "amend",
    "ask",
    "change",
    "checked_label",
    "checked_width",
    "close",
    "find_draw",
    "resolve",
    "skip",
    "tell",
    "tell_all",
]


@dataclass(frozen=True, slots=True)
class Ask:
    """An item that somebody is asked to label."""

    draw: int
    id: str | int
    data: Mapping[str, Any]
    lease_until: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What is given out, the event that records it, and why it is less than was asked for."""

    asks: tuple[Ask, ...]
    events: tuple[Event, ...]
    note: str | None = None


def ask(state: CampaignState, n: int, owner: str | None, now: datetime) -> Asked:
    """Give out up to n items: first what others left undone, then the next draws in order.

    An item whose lease has run out is offered again; one that somebody skipped goes to somebody
    else. Items in flight are capped, because the estimate waits for all of them.
    """
    _refuse_closed(state)
    at = now.isoformat(timespec="seconds")
    in_flight = [draw for draw in state.open_draws() if _leased(state, draw, at)]
    room = max(state.settings.in_flight - len(in_flight), 0)
    chosen = _first(min(n, room), _offers(state, owner, set(in_flight)))
    note = _note(state, n, room, len(chosen), owner)
    if not chosen:
        return Asked((), (), note)
    until = (now + timedelta(seconds=state.settings.lease_seconds)).isoformat(timespec="seconds")
    event = {"type": "leased", "at": at, "by": owner, "draws": chosen, "until": until}
    items = (state.draws[draw - 1] for draw in chosen)
    return Asked(tuple(Ask(item.draw, item.id, item.data, until) for item in items), (event,), note)


def _offers(state: CampaignState, owner: str | None, in_flight: set[int]) -> Iterator[int]:
    waiting = [draw for draw in state.open_draws() if draw not in in_flight]
    others = (draw for draw in waiting if owner not in state.skipped.get(draw, ()))
    last = len(state.draws)
    if state.settings.budget is not None:
        last = min(last, state.settings.budget)
    fresh = range(state.n_asked + 1, last + 1)
    return chain(others, fresh)


def _first(n: int, offers: Iterator[int]) -> list[int]:
    return [draw for draw, _ in zip(offers, range(n), strict=False)]


def _leased(state: CampaignState, draw: int, at: str) -> bool:
    lease = state.leases.get(draw)
    return lease is not None and lease.until > at


def _note(state: CampaignState, n: int, room: int, given: int, owner: str | None) -> str | None:
    if given == n:
        return None
    if given == room:
        return (
            f"{state.settings.in_flight} items may be in flight at once and all are: tell or skip "
            f"some of them first"
        )
    passed = sum(owner in state.skipped.get(draw, ()) for draw in state.open_draws())
    if passed:
        who = "you" if owner is None else owner
        return (
            f"{passed} items that {who} skipped wait for somebody else: let another owner ask, or "
            f"resolve them"
        )
    if state.settings.budget is not None and state.n_asked + given >= state.settings.budget:
        return f"the budget of {state.settings.budget} labels has been given out"
    return "no more items can be drawn from this pool"


def find_draw(
    state: CampaignState,
    *,
    draw: int | None = None,
    id: str | int | None = None,  # noqa: A002
) -> DrawnItem:
    """The drawn item of that number or id; a label for anything else cannot be weighted."""
    if draw is None and id is None:
        raise CampaignError("A label needs the number of its draw, or the id of its item.")
    if draw is None:
        draw = state.draw_of.get(str(id), 0)
        told = f"Item {id!r}"
    else:
        draw = whole("draw", draw, least=1)
        told = f"Draw {draw}"
        if id is not None and state.draw_of.get(str(id)) != draw:
            raise CampaignError(f"Draw {draw} is not item {id!r}: one of the two is mistaken.")
    if not 1 <= draw <= state.n_asked:
        raise CampaignError(
            f"{told} was never asked in {state.settings.name!r}. A label the sampler did not "
            f"choose has no probability and cannot be weighted."
        )
    return state.draws[draw - 1]


def tell(
    state: CampaignState, item: DrawnItem, label: object, owner: str | None, now: datetime
) -> tuple[Event, ...]:
    """Record one label. Answers may come in any order; draws keep theirs.

    Telling the same thing again changes nothing. Another answer to a draw that has one is kept
    beside it, as a second opinion: `amend` replaces an answer.
    """
    _refuse_closed(state)
    checked = checked_label(state.settings, label)
    before = state.answers.get(item.draw)
    known = {answer.label for answer in state.opinions.get(item.draw, ())}
    if checked in known or (before is not None and before.label == checked):
        return ()
    return ({**_stamp("answered", owner, now), "draw": item.draw, "label": checked},)


def tell_all(
    state: CampaignState, answers: Iterable[Mapping[str, Any]], owner: str | None, now: datetime
) -> tuple[Event, ...]:
    """Record many labels, each with its draw or its id; the first answer to a draw counts."""
    events: list[Event] = []
    told: dict[int, set[Label]] = {}
    for answer in answers:
        item = find_draw(state, draw=answer.get("draw"), id=answer.get("id"))
        for event in tell(state, item, answer.get("label"), owner, now):
            labels = told.setdefault(item.draw, set())
            if event["label"] not in labels:
                events.append(event)
            labels.add(event["label"])
    return tuple(events)


def amend(
    state: CampaignState, item: DrawnItem, label: object, owner: str | None, now: datetime
) -> tuple[Event, ...]:
    """Replace an answer, or a resolution, by a label; both stay in the log."""
    checked = checked_label(state.settings, label)
    before = state.answers.get(item.draw)
    if before is None and item.draw not in state.resolved:
        raise CampaignError(f"Draw {item.draw} has no answer to amend yet: tell it instead.")
    if before is not None and before.label == checked:
        return ()
    return ({**_stamp("amended", owner, now), "draw": item.draw, "label": checked},)


def skip(
    state: CampaignState, item: DrawnItem, reason: str, owner: str | None, now: datetime
) -> tuple[Event, ...]:
    """Pass an item on to somebody else, under the same number. Nothing is dropped."""
    _refuse_closed(state)
    _refuse_settled(state, item)
    return ({**_stamp("skipped", owner, now), "draw": item.draw, "reason": reason},)


def resolve(
    state: CampaignState, item: DrawnItem, reason: str, owner: str | None, now: datetime
) -> tuple[Event, ...]:
    """Declare that an item cannot be labelled: the estimate is then over what can be."""
    _refuse_closed(state)
    _refuse_settled(state, item)
    return ({**_stamp("resolved", owner, now), "draw": item.draw, "reason": reason},)


def change(
    state: CampaignState,
    owner: str | None,
    now: datetime,
    **settings: Any,  # noqa: ANN401
) -> tuple[Event, ...]:
    """Change the budget, the target width, the leases or the cap of items in flight."""
    _refuse_closed(state)
    # What is in the log stays there, so nothing enters it that no state can be made of.
    new = {name: _checked_setting(state, name, value) for name, value in settings.items()}
    budget = new.get("budget")
    if budget is not None and budget < state.n_asked:
        raise CampaignError(
            f"A budget of {budget} is below the {state.n_asked} items already given out."
        )
    new = {name: value for name, value in new.items() if getattr(state.settings, name) != value}
    return ({**_stamp("changed", owner, now), "settings": new},) if new else ()


def close(state: CampaignState, reason: str, owner: str | None, now: datetime) -> tuple[Event, ...]:
    """End the campaign: nothing is asked or told any more, estimates remain."""
    _refuse_closed(state)
    return ({**_stamp("closed", owner, now), "reason": reason},)


def checked_label(settings: CampaignSettings, label: object) -> Label:
    """A label as the campaign keeps it: the name of a class, or a number."""
    if label is None or str(label).strip() == "":
        raise CampaignError("An empty label is no answer: skip the item, or resolve it.")
    kept: object = label
    for metric in map(
        parse_metric, settings.metrics
    ):  # what one of them refuses, no estimate could use
        kept = metric.label(kept, settings.classes)
    kept = parse_metric("mean" if settings.numeric else "error").label(kept, settings.classes)
    return kept if isinstance(kept, float) else str(kept)


def checked_width(metric: Metric, width: float | None) -> float | None:
    """A target width, which only an interval that may be watched can reach."""
    if width is None:
        return None
    if metric.interval != "betting":
        raise CampaignError(
            f"A target width needs an interval that holds whenever one stops, and "
            f"{metric.name} has only an asymptotic one. Declare a bound, for example "
            f"log_loss:10, or fix the budget instead."
        )
    return between("target_width", width, 0, np.inf, open_=True)


def _stamp(kind: str, owner: str | None, now: datetime) -> dict[str, Any]:
    return {"type": kind, "at": now.isoformat(timespec="seconds"), "by": owner}


def _refuse_closed(state: CampaignState) -> None:
    if state.closed is not None:
        raise CampaignError(f"{state.settings.name!r} is closed ({state.closed}).")


def _refuse_settled(state: CampaignState, item: DrawnItem) -> None:
    if item.draw in state.answers:
        raise CampaignError(f"Draw {item.draw} has an answer already: amend it instead.")
    if item.draw in state.resolved:
        raise CampaignError(f"Draw {item.draw} is already known not to be labelable.")


def _checked_setting(state: CampaignState, name: str, value: Any) -> int | float | None:  # noqa: ANN401
    if name == "target_width":
        return checked_width(parse_metric(state.settings.metrics[0]), value)
    if name == "budget" and value is None:
        return None
    if name not in ("budget", "lease_seconds", "in_flight"):
        raise CampaignError(
            f"{name!r} cannot be changed: a campaign can change its budget, target_width, "
            f"lease_seconds and in_flight."
        )
    return whole(name, value, least=1)
