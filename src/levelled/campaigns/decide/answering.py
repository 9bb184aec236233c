"""Labellers answer: they tell labels, correct them, pass items on, or give items up."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from levelled.campaigns.answers import Answer
from levelled.campaigns.decide.checks import (
    check_labels,
    check_text,
    find_draw,
    lease_end,
    name_owner,
    refuse_closed,
    refuse_settled,
    stamp,
)
from levelled.campaigns.records import DrawnItem, Event
from levelled.campaigns.state import CampaignState
from levelled.errors import CampaignError, LevelledError
from levelled.labels import Label

__all__ = ["amend_all", "set_aside", "tell_all", "undo"]


def tell_all(
    state: CampaignState, answers: Sequence[Mapping[str, Any]], owner: str | None, now: datetime
) -> tuple[Event, ...]:
    """Record labels, each with its draw or its id. Answers may come in any order.

    The first answer to a draw counts; another labeller's is kept beside it, as a second opinion.
    Telling the same thing again changes nothing. An owner who tells something else than before
    is refused, because that is a correction: `amend_all` confirms it. If one answer is wrong all
    are refused, and the message begins with the "where" of that answer.
    """
    refuse_closed(state)
    begin = stamp("answered", owner, now)
    told: dict[int, Label] = {}
    events: list[Event] = []
    changed: list[tuple[Mapping[str, Any], DrawnItem, Label, Label]] = []
    for answer, (item, label) in zip(answers, _check_answers(state, answers), strict=True):
        before = told.get(item.draw, _own_label(state, item.draw, owner))
        if before is None:
            told[item.draw] = label
            if _is_new(state, item.draw, label, owner):
                events.append({**begin, "draw": item.draw, "label": label})
        elif before != label:
            changed.append((answer, item, before, label))
    if changed:
        raise _contradiction(state, owner, changed, len(answers))
    return tuple(events)


def _own_label(state: CampaignState, draw: int, owner: str | None) -> Label | None:
    """The label that the owner gave a draw, as the answer or as a second opinion."""
    answer, opinion = state.answers.get(draw), _own_opinion(state, draw, owner)
    if answer is not None and answer.by == owner:
        return answer.label
    return None if opinion is None else opinion.label


def _own_opinion(state: CampaignState, draw: int, owner: str | None) -> Answer | None:
    """The second opinion of a labeller with a name; those without cannot be told apart."""
    others = state.opinions.get(draw, ()) if owner is not None else ()
    return next((one for one in reversed(others) if one.by == owner), None)


def _is_new(state: CampaignState, draw: int, label: Label, owner: str | None) -> bool:
    """True unless the label is on record already and a second opinion adds nothing.

    The same label from two labellers with names shows that they agree, and is kept.
    """
    answer, others = state.answers.get(draw), state.opinions.get(draw, ())
    if label not in {one.label for one in (answer, *others) if one is not None}:
        return True
    return owner is not None and (answer is None or answer.by is not None)


def _contradiction(
    state: CampaignState,
    owner: str | None,
    changed: Sequence[tuple[Mapping[str, Any], DrawnItem, Label, Label]],
    n: int,
) -> CampaignError:
    answer, item, before, label = changed[0]
    where = answer.get("where") or f"draw {item.draw}"
    which = "This label differs" if n == 1 else f"{len(changed)} of these {n} labels differ"
    return CampaignError(
        f"{which} from what {name_owner(owner)} told before: {where} says {label!r:.80}, and draw "
        f"{item.draw} was {before!r:.80}. Nothing was stored. If it is a correction, use amend: "
        f"levelled amend {state.settings.name} FILE"
    )


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
        if answers[0].get("where") is None:
            raise
        raise _at(answers[0], str(wrong)) from wrong
    return list(zip(items, labels, strict=True))


def amend_all(
    state: CampaignState, answers: Sequence[Mapping[str, Any]], owner: str | None, now: datetime
) -> tuple[Event, ...]:
    """Replace labels, or give one to an unlabelable item; the log keeps those before.

    An owner whose label is a second opinion replaces that; any other replaces the label that
    counts. Only labels and estimates change, never a probability of a draw.
    """
    begin = stamp("amended", owner, now)
    new: dict[int, Label] = {}
    events: list[Event] = []
    for answer, (item, label) in zip(answers, _check_answers(state, answers), strict=True):
        if new.setdefault(item.draw, label) != label:
            raise _at(answer, f"Draw {item.draw} gets two labels here, {new[item.draw]!r:.80} too.")
        before, opinion = state.answers.get(item.draw), _own_opinion(state, item.draw, owner)
        change = {**begin, "draw": item.draw, "label": label}
        if opinion is not None and (before is None or before.by != owner):
            before, change = opinion, {**change, "opinion": True}
        elif before is None and item.draw not in state.unlabelable:
            raise _at(answer, f"Draw {item.draw} has no answer to amend yet: tell it instead.")
        if before is None or before.label != label:
            events.append(change)
    return tuple({event["draw"]: event for event in events}.values())


def _at(answer: Mapping[str, Any], why: str) -> CampaignError:
    """A refusal that begins with the place of the answer."""
    where = answer.get("where")
    return CampaignError(why if where is None else f"{where}: {why} Nothing was stored.")


def undo(state: CampaignState, owner: str | None, now: datetime) -> tuple[Event, ...]:
    """Withdraw the owner's last answer, second opinion, amendment or mark of an unlabelable item.

    A draw that then has no label is leased to the owner again; an amended one has the label
    before; one with a second opinion has that.
    """
    refuse_closed(state)
    told = [
        (one.place, draw, False)
        for marks in (state.answers, state.unlabelable)
        for draw, one in marks.items()
        if one.by == owner and draw > state.settings.n_sampled
    ]
    told += [
        (one.place, draw, True)
        for draw, others in state.opinions.items()
        for one in others
        if one.by == owner
    ]
    if not told:
        who = "Nobody without a name" if owner is None else owner
        raise CampaignError(
            f"{who} has told nothing in {state.settings.name!r} that can be undone."
        )
    _, draw, is_opinion = max(told)
    event = {**stamp("withdrawn", owner, now), "draw": draw, "until": lease_end(state, now)}
    return ({**event, "opinion": True},) if is_opinion else (event,)


def set_aside(
    state: CampaignState,
    kind: Literal["skipped", "resolved"],
    draw: int,
    reason: str,
    owner: str | None,
    now: datetime,
) -> tuple[Event, ...]:
    """Pass an item on to another labeller, or declare that nobody can label it.

    A skipped item keeps its number. After a resolved one the estimate is over the items that can be
    labelled.
    """
    refuse_closed(state)
    item = find_draw(state, draw=draw)
    refuse_settled(state, item)
    check_text("The reason", reason)
    return ({**stamp(kind, owner, now), "draw": item.draw, "reason": reason},)
