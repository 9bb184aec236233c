"""Labellers answer: they tell labels, correct them, pass items on, or give items up."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from levelled.campaigns.decide.checks import (
    check_labels,
    check_text,
    find_draw,
    refuse_closed,
    refuse_settled,
    stamp,
)
from levelled.campaigns.records import DrawnItem, Event
from levelled.campaigns.state import CampaignState
from levelled.errors import CampaignError, LevelledError
from levelled.labels import Label

__all__ = ["amend", "mark_unlabelable", "skip", "tell_all"]


def tell_all(
    state: CampaignState, answers: Sequence[Mapping[str, Any]], owner: str | None, now: datetime
) -> tuple[Event, ...]:
    """Record labels, each with its draw or its id. Answers may come in any order.

    The first answer to a draw counts. Telling its label again changes nothing; another label is
    kept beside it, as a second opinion: `amend` replaces a label. If one answer is wrong all are
    refused, and the message begins with the "where" of that answer.
    """
    refuse_closed(state)
    begin = stamp("answered", owner, now)
    labels: dict[int, set[Label]] = {}
    events: list[Event] = []
    for item, label in _check_answers(state, answers):
        if item.draw not in labels:
            first, others = state.answers.get(item.draw), state.opinions.get(item.draw, ())
            labels[item.draw] = {one.label for one in (first, *others) if one is not None}
        if label not in labels[item.draw]:
            events.append({**begin, "draw": item.draw, "label": label})
            labels[item.draw].add(label)
    return tuple(events)


def _check_answers(
    state: CampaignState, answers: Sequence[Mapping[str, Any]]
) -> list[tuple[DrawnItem, Label]]:
    """The item and the label of each answer."""
    try:
        items = [find_draw(state, draw=one.get("draw"), id=one.get("id")) for one in answers]
        labels = check_labels(state.settings, [one.get("label") for one in answers])
    except LevelledError as wrong:
        if len(answers) > 1:
            for one in answers:  # the first that is refused by itself
                _check_answers(state, [one])
        where = answers[0].get("where")
        if where is None:
            raise
        raise CampaignError(f"{where}: {wrong} Nothing was stored.") from wrong
    return list(zip(items, labels, strict=True))


def amend(
    state: CampaignState, item: DrawnItem, label: object, owner: str | None, now: datetime
) -> tuple[Event, ...]:
    """Replace the label of a draw, or give one to an unlabelable item; the log keeps both."""
    (checked,) = check_labels(state.settings, [label])
    before = state.answers.get(item.draw)
    if before is None and item.draw not in state.unlabelable:
        raise CampaignError(f"Draw {item.draw} has no answer to amend yet: tell it instead.")
    if before is not None and before.label == checked:
        return ()
    return ({**stamp("amended", owner, now), "draw": item.draw, "label": checked},)


def skip(
    state: CampaignState, item: DrawnItem, reason: str, owner: str | None, now: datetime
) -> tuple[Event, ...]:
    """Pass an item on to another labeller, under the same number."""
    refuse_closed(state)
    refuse_settled(state, item)
    check_text("The reason", reason)
    return ({**stamp("skipped", owner, now), "draw": item.draw, "reason": reason},)


def mark_unlabelable(
    state: CampaignState, item: DrawnItem, reason: str, owner: str | None, now: datetime
) -> tuple[Event, ...]:
    """Declare that an item cannot be labelled; the estimate is then over the items that can."""
    refuse_closed(state)
    refuse_settled(state, item)
    check_text("The reason", reason)
    return ({**stamp("resolved", owner, now), "draw": item.draw, "reason": reason},)
