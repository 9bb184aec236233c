"""Labellers answer: they tell labels, correct them, pass items on, or give items up."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

from levelled.campaigns.log.decide.checks import (
    check_labels,
    check_text,
    find_draw,
    lease_end,
    name_owner,
    refuse_closed,
    refuse_settled,
    stamp,
)
from levelled.campaigns.log.records import DrawnItem, Event
from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.people.answers import Answer
from levelled.campaigns.people.questions import check_remarks, merge_remarks
from levelled.campaigns.people.shown import stored_label
from levelled.errors import CampaignError, LevelledError
from levelled.labels import Label


class _Given(NamedTuple):
    """An answer after its checks."""

    item: DrawnItem
    label: Label
    remarks: Mapping[str, Any]

    def after(self, earlier: "_Given | None") -> "_Given":
        """This answer with the remarks of an earlier one to the same draw."""
        if earlier is None:
            return self
        rubrics = [one.remarks.get("rubric", {}) for one in (earlier, self)]
        remarks = {**earlier.remarks, **self.remarks, "rubric": {**rubrics[0], **rubrics[1]}}
        return self._replace(remarks=remarks)


def tell_all(
    state: CampaignState, answers: Sequence[Mapping[str, Any]], owner: str | None, now: datetime
) -> tuple[Event, ...]:
    """Record labels, each with its draw or its id. Answers may come in any order.

    The first answer to a draw counts; another labeller's is kept beside it, as a second opinion.
    Telling the same thing again changes nothing; with another note or other answers to the
    questions, it amends these. An owner who tells another label than before is refused, because
    that is a correction: `amend_all` confirms it. If one answer is wrong all are refused, and the
    message begins with the "where" of that answer.
    """
    refuse_closed(state)
    told: dict[int, _Given] = {}
    changed: list[tuple[Mapping[str, Any], DrawnItem, Label, Label]] = []
    for answer, given in zip(answers, _check_answers(state, answers), strict=True):
        draw = given.item.draw
        before = told.get(draw) or _own_answer(state, draw, owner)
        if before is not None and before.label != given.label:
            changed.append((answer, given.item, before.label, given.label))
        else:
            told[draw] = given.after(told.get(draw))
    if changed:
        raise _contradiction(state, owner, changed, len(answers))
    events = (_told_event(state, given, owner, now) for given in told.values())
    return tuple(event for event in events if event is not None)


def _told_event(
    state: CampaignState, given: _Given, owner: str | None, now: datetime
) -> Event | None:
    """The event that records an answer; None if nothing in it is new."""
    draw, own = given.item.draw, _own_answer(state, given.item.draw, owner)
    if own is not None:
        event = _amendment(state, given, own, owner, now)
        return event if _differs(event, own) else None
    if not _is_new(state, draw, given.label, owner):
        return None
    remarks = merge_remarks(None, {}, given.remarks)
    return {**stamp("answered", owner, now), "draw": draw, "label": given.label, **remarks}


def _own_answer(state: CampaignState, draw: int, owner: str | None) -> Answer | None:
    """What the owner told of a draw, as the answer or as a second opinion."""
    answer = state.answers.get(draw)
    if answer is not None and answer.by == owner:
        return answer
    return _own_opinion(state, draw, owner)


def _amendment(
    state: CampaignState, given: _Given, before: Answer | None, owner: str | None, now: datetime
) -> dict[str, Any]:
    """The event that replaces an answer; a label where there was none is new."""
    event = {**stamp("amended", owner, now), "draw": given.item.draw, "label": given.label}
    if before is None:
        return event | merge_remarks(None, {}, given.remarks)
    if before is not state.answers.get(given.item.draw):
        event["opinion"] = True
    return event | merge_remarks(before.note, before.rubric, given.remarks)


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


def _check_answers(state: CampaignState, answers: Sequence[Mapping[str, Any]]) -> list[_Given]:
    """The item, the label and the remarks of each answer."""
    settings = state.settings
    try:
        items = [find_draw(state, draw=one.get("draw"), id=one.get("id")) for one in answers]
        pairs = zip(items, answers, strict=True)
        told = [stored_label(settings, item.draw, one.get("label")) for item, one in pairs]
        labels = check_labels(settings, told)
        remarks = [
            check_remarks(settings.questions, one.get("note"), one.get("rubric")) for one in answers
        ]
    except LevelledError as wrong:
        if len(answers) > 1:
            for one in answers:  # the first that is refused by itself
                _check_answers(state, [one])
        if answers[0].get("where") is None:
            raise
        raise _at(answers[0], str(wrong)) from wrong
    return list(map(_Given, items, labels, remarks))


def amend_all(
    state: CampaignState, answers: Sequence[Mapping[str, Any]], owner: str | None, now: datetime
) -> tuple[Event, ...]:
    """Replace labels, or give one to an unlabelable item; the log keeps those before.

    An owner whose label is a second opinion replaces that; any other replaces the label that
    counts. Only labels and estimates change, never a probability of a draw. A note and answers
    to the questions stay as they were where no new ones are given.
    """
    new: dict[int, _Given] = {}
    events: dict[int, Event] = {}
    for answer, given in zip(answers, _check_answers(state, answers), strict=True):
        draw = given.item.draw
        new[draw] = given.after(earlier := new.get(draw))
        if earlier is not None and earlier.label != given.label:
            raise _at(answer, f"Draw {draw} gets two labels here, {earlier.label!r:.80} too.")
        before = _own_answer(state, draw, owner) or state.answers.get(draw)
        if before is None and draw not in state.unlabelable:
            raise _at(answer, f"Draw {draw} has no answer to amend yet: tell it instead.")
        event = _amendment(state, new[draw], before, owner, now)
        if before is None or _differs(event, before):
            events[draw] = event
    return tuple(events.values())


def _differs(event: Event, before: Answer) -> bool:
    """True if an amendment changes the label, the note or the answers to the questions."""
    note, rubric = event.get("note"), event.get("rubric", {})
    return (event["label"], note, rubric) != (before.label, before.note, {**before.rubric})


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
