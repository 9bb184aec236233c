"""The steps of a campaign: each function turns a state and a request into events, or refuses.

They are pure functions of the state, the request and the time. `Campaign` appends the events.
First come the items that labellers get and give back, then what they answer, then what changes the
campaign itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar

from levelled.campaigns.log.events import (
    Amended,
    Answered,
    Changed,
    Event,
    Leased,
    Returned,
    Skipped,
    Withdrawn,
)
from levelled.campaigns.log.records import Answer, Ask, DrawnItem, OpenItem
from levelled.campaigns.log.state import (
    CampaignState,
    check_labels,
    check_owner,
    check_text,
    find_draw,
    holder_of,
    lease_end,
    name_owner,
    refuse_closed,
    why_kept_for_another,
    why_settled,
)
from levelled.campaigns.options import OPTIONS
from levelled.campaigns.people.shown import shown_data, stored_label
from levelled.campaigns.settings import check_option, check_remarks, looks_to_json, merge_remarks
from levelled.errors import CampaignError, LevelledError
from levelled.labels import Label

Made = TypeVar("Made", bound=Event)


def time_text(now: datetime) -> str:
    """A time as events have it."""
    return now.isoformat(timespec="seconds")


def make_event(
    kind: type[Made],
    state: CampaignState,
    owner: str | None,
    now: datetime,
    **payload: Any,  # noqa: ANN401
) -> Made:
    """The event of this kind; refuses one that cannot happen in this state."""
    check_owner(owner)
    check_owner(payload.get("on_behalf_of"))
    check_text("The reason", payload.get("reason"))
    event = kind(at=time_text(now), by=owner, **payload)
    for reason in event.why_not(state):
        raise CampaignError(reason)
    return event


class _Actor(NamedTuple):
    """Somebody who acts on items: a labeller, or an analyst on behalf of one.

    An analyst who acts in their own name, on items that others were given, is named twice.
    """

    owner: str | None
    on_behalf_of: str | None = None

    @classmethod
    def of(cls, state: CampaignState, owner: str | None, on_behalf_of: str | None) -> "_Actor":
        """The actor; by the first rules, an analyst acts as the labeller."""
        actor = cls(owner, on_behalf_of)
        return cls(actor.labeller) if state.settings.rules == 1 else actor

    @property
    def labeller(self) -> str | None:
        """The labeller whose step it is."""
        return self.owner if self.on_behalf_of is None else self.on_behalf_of

    def on(self, state: CampaignState, draw: int) -> "_Actor":
        """This actor on one draw: without a name, the labeller whose item it is."""
        is_nameless = self.labeller is None and state.settings.rules > 1
        return _Actor(holder_of(state, draw)) if is_nameless else self

    def make(
        self,
        kind: type[Made],
        state: CampaignState,
        now: datetime,
        **payload: Any,  # noqa: ANN401
    ) -> Made:
        """The event of this kind; what analysts do on items of their own is a labeller's step."""
        behalf = self.on_behalf_of
        if behalf is not None and behalf == self.owner:
            own = kind(at=time_text(now), by=behalf, **payload)
            behalf = behalf if any(own.why_not(state)) else None
        return make_event(kind, state, self.owner, now, **payload, on_behalf_of=behalf)


@dataclass(frozen=True, slots=True)
class Handout:
    """The items handed out, the event that records it, and why there are fewer than wished."""

    asks: tuple[Ask, ...]
    events: tuple[Event, ...]
    note: str | None = None


def ask(
    state: CampaignState,
    n: int | None,
    owner: str | None,
    now: datetime,
    lease_seconds: int | None = None,
    besides: Sequence[int] = (),
) -> Handout:
    """Hand out up to n items: the owner's open ones again, then what others left, then new draws.

    An item is offered again when its lease has run out, and to another labeller when one skipped
    it. The number of items in flight is capped, because the estimate cannot use later draws
    before all of them are labelled. Where n is None, only the owner's open items are handed out.

    Parameters
    ----------
    state : The campaign by now.
    n : The number of items.
    owner : Name of the labeller.
    now : The time.
    lease_seconds : How long they are kept for the labeller; by default as the campaign says.
    besides : Draws that the labeller has answered, though the answer may not be stored yet.
    """
    refuse_closed(state)
    # Without a name, open items are given again only on demand: somebody else may have them.
    kept = [] if owner is None and n is not None else draws_kept_for(state, owner)
    own = [draw for draw in kept if draw not in {*besides}]
    in_flight = _in_flight(state, now)
    again = [draw for draw in own if draw in in_flight][:n]
    wanted = (len(own) if n is None else n) - len(again)
    room = max(state.settings.in_flight - len(in_flight), 0)
    offers = _offers(state, owner, in_flight | {*besides}, own)
    new = [*islice(offers, min(wanted, room))]
    draws, note = [*again, *new], _note(state, wanted, room, len(new), owner)
    if n is None:
        draws.sort()
        note = note and f"the leases of the others ran out, and {note}"
    if not draws:
        return Handout((), (), note)
    until = lease_end(state, now, lease_seconds)
    event = make_event(Leased, state, owner, now, draws=draws, until=until)
    items = (state.draws[draw - 1] for draw in draws)
    asks = (Ask(one.draw, one.id, shown_data(state.settings, one), until) for one in items)
    return Handout(tuple(asks), (event,), note)


def renew(
    state: CampaignState,
    draws: Sequence[int],
    owner: str | None,
    now: datetime,
    lease_seconds: int | None = None,
) -> tuple[Event, ...]:
    """Let the leases of some of the owner's items begin anew, also those that ran out.

    Items that were labelled, given back, or went to another labeller, are passed over. Nothing is
    stored while all leases have more than half of their time left, so a page may renew often.
    """
    refuse_closed(state)
    until = lease_end(state, now, lease_seconds)
    halfway = time_text(now + (datetime.fromisoformat(until) - now) / 2)
    in_flight = _in_flight(state, now)
    room = max(state.settings.in_flight - len(in_flight), 0)
    own = {*draws} & {*draws_kept_for(state, owner)}
    kept = [*(own & in_flight), *sorted(own - in_flight)[:room]]
    if all(state.leases[draw].until > halfway for draw in kept):
        return ()
    return (make_event(Leased, state, owner, now, draws=sorted(kept), until=until),)


def draws_kept_for(state: CampaignState, owner: str | None) -> list[int]:
    """The open draws that were last given to this owner, also those whose lease ran out."""
    return [draw for draw, lease in state.open_leases().items() if lease.owner == owner]


def draws_in_flight(state: CampaignState, owner: str | None, now: datetime) -> list[int]:
    """The open draws that are kept for this owner now."""
    in_flight = _in_flight(state, now)
    return [draw for draw in draws_kept_for(state, owner) if draw in in_flight]


def open_items(state: CampaignState) -> list[OpenItem]:
    """Every item that was handed out and has no label yet, and who has it."""
    leases = [(state.draws[draw - 1], state.leases.get(draw)) for draw in state.open_draws()]
    return [
        OpenItem(item.draw, item.id, None, None, None)
        if lease is None
        else OpenItem(item.draw, item.id, lease.owner, lease.since, lease.until)
        for item, lease in leases
    ]


def give_back(
    state: CampaignState,
    owner: str | None,
    draws: Sequence[int] | None,
    everyone: bool,
    now: datetime,
    on_behalf_of: str | None = None,
) -> tuple[Returned, ...]:
    """End leases, so that others can have the items; some draws without an owner are anybody's."""
    refuse_closed(state)
    actor = _Actor.of(state, owner, on_behalf_of)
    whose = actor.labeller
    if draws is None:
        chosen = [*state.open_leases()] if everyone else draws_kept_for(state, whose)
    else:
        chosen = [find_draw(state, draw=draw).draw for draw in dict.fromkeys(draws)]
        for draw in () if everyone or whose is None else chosen:
            for reason in why_kept_for_another(state, draw, whose):
                raise CampaignError(reason)
    if not chosen:
        return ()
    by = actor.owner
    others = any(any(why_kept_for_another(state, draw, by)) for draw in chosen)
    of_all = others and state.settings.rules > 1
    return (make_event(Returned, state, by, now, draws=chosen, everyone=of_all),)


def _offers(
    state: CampaignState, owner: str | None, in_flight: set[int], own: Sequence[int]
) -> Iterator[int]:
    """Draws that may be handed out: the owner's own first, then those left, then new ones."""
    expired = [draw for draw in own if draw not in in_flight]
    taken = in_flight | {*own}
    waiting = [draw for draw in state.open_draws() if draw not in taken]
    others = (draw for draw in waiting if owner not in state.skipped.get(draw, ()))
    last = len(state.draws)
    if state.settings.budget is not None:
        last = min(last, state.settings.budget)
    fresh = range(state.n_asked + 1, last + 1)
    return chain(expired, others, fresh)


def _in_flight(state: CampaignState, now: datetime) -> set[int]:
    """The open draws whose lease has not run out."""
    at = time_text(now)
    return {draw for draw, lease in state.open_leases().items() if lease.until > at}


def _note(state: CampaignState, n: int, room: int, n_given: int, owner: str | None) -> str | None:
    """The reason why fewer than n items are handed out."""
    if n_given == n:
        return None
    if n_given == room:
        return (
            f"{state.settings.in_flight} items may be in flight at once, and so many are: tell, "
            f"return or skip some of them first"
        )
    passed = sum(owner in state.skipped.get(draw, ()) for draw in state.open_draws())
    if passed:
        return (
            f"{passed} items that {name_owner(owner)} skipped must go to another labeller: let "
            f"another owner ask, or mark them as unlabelable"
        )
    if state.settings.budget is not None and state.n_asked + n_given >= state.settings.budget:
        return f"the budget of {state.settings.budget} labels has been given out"
    return "no more items can be drawn from this pool"


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
    state: CampaignState,
    answers: Sequence[Mapping[str, Any]],
    owner: str | None,
    now: datetime,
    on_behalf_of: str | None = None,
) -> tuple[Answered, ...]:
    """Record labels, each with its draw or its id. Answers may come in any order.

    The first answer to a draw counts; another labeller's is kept beside it, as a second opinion.
    Telling the same thing again changes nothing. If one answer is wrong all are refused.
    """
    refuse_closed(state)
    actor = _Actor.of(state, owner, on_behalf_of)
    told: dict[int, _Given] = {}
    changed: list[tuple[Mapping[str, Any], _Given, Label]] = []
    for answer, given in zip(answers, _check_answers(state, answers), strict=True):
        draw = given.item.draw
        before = told.get(draw) or _own_answer(state, draw, actor.on(state, draw).labeller)
        if before is not None and before.label != given.label:
            changed.append((answer, given, before.label))
        else:
            told[draw] = given.after(told.get(draw))
    if changed:
        answer, (item, label, _), first = changed[0]
        whose = name_owner(actor.on(state, item.draw).labeller)
        where, n = answer.get("where") or f"draw {item.draw}", len(answers)
        which = "This label differs" if n == 1 else f"{len(changed)} of these {n} labels differ"
        raise CampaignError(
            f"{which} from what {whose} told before: {where} says {label!r:.80}, and "
            f"draw {item.draw} was {first!r:.80}. Nothing was stored. If it is a correction, use "
            f"amend: levelled tell {state.settings.name} FILE --amend"
        )
    events = (_told_event(state, given, actor, now) for given in told.values())
    return tuple(event for event in events if event is not None)


def _told_event(
    state: CampaignState, given: _Given, actor: _Actor, now: datetime
) -> Answered | None:
    """The event that records an answer; None if nothing in it is new."""
    draw = given.item.draw
    actor = actor.on(state, draw)
    own = _own_answer(state, draw, actor.labeller)
    if own is not None:
        return _amendment(state, given, own, actor, now)
    remarks = merge_remarks(None, {}, given.remarks)
    event = actor.make(Answered, state, now, draw=draw, label=given.label, **remarks)
    return event if _is_new(state, draw, given.label, actor.labeller) else None


def _own_answer(state: CampaignState, draw: int, owner: str | None) -> Answer | None:
    """What the owner told of a draw, as the answer or as a second opinion."""
    answer = state.answers.get(draw)
    if answer is not None and answer.by == owner:
        return answer
    others = state.opinions.get(draw, ()) if owner is not None else ()  # no name: who was it?
    return next((one for one in reversed(others) if one.by == owner), None)


def _amendment(
    state: CampaignState, given: _Given, before: Answer | None, actor: _Actor, now: datetime
) -> Amended | None:
    """The event that replaces an answer, or adds the first; None if nothing is new."""
    draw, old = given.item.draw, (None, {}) if before is None else (before.note, before.rubric)
    remarks = merge_remarks(*old, given.remarks)
    new = given.label, remarks.get("note"), remarks.get("rubric", {})
    if before is not None and new == (before.label, before.note, before.rubric):
        return None
    opinion = before is not None and before is not state.answers.get(draw)
    return actor.make(Amended, state, now, draw=draw, label=given.label, opinion=opinion, **remarks)


def _is_new(state: CampaignState, draw: int, label: Label, owner: str | None) -> bool:
    """True unless the label is on record already and a second opinion adds nothing.

    The same label from two labellers with names shows that they agree, and is kept.
    """
    answer, others = state.answers.get(draw), state.opinions.get(draw, ())
    if label not in {one.label for one in (answer, *others) if one is not None}:
        return True
    return owner is not None and (answer is None or answer.by is not None)


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
    state: CampaignState,
    answers: Sequence[Mapping[str, Any]],
    owner: str | None,
    now: datetime,
    on_behalf_of: str | None = None,
) -> tuple[Answered, ...]:
    """Replace labels, or give one to an unlabelable item; the log keeps those before.

    A note and answers to the questions stay as they were where no new ones are given.
    """
    new: dict[int, _Given] = {}
    events: dict[int, Answered] = {}
    for answer, given in zip(answers, _check_answers(state, answers), strict=True):
        draw = given.item.draw
        new[draw] = given.after(earlier := new.get(draw))
        if earlier is not None and earlier.label != given.label:
            raise _at(answer, f"Draw {draw} gets two labels here, {earlier.label!r:.80} too.")
        actor = _Actor.of(state, owner, on_behalf_of).on(state, draw)
        before = _own_answer(state, draw, actor.labeller) or state.answers.get(draw)
        if before is None and draw not in state.unlabelable:
            raise _at(answer, f"Draw {draw} has no answer to amend yet: tell it instead.")
        event = _amendment(state, new[draw], before, actor, now)
        if event is not None:
            events[draw] = event
    return tuple(events.values())


def _at(answer: Mapping[str, Any], why: str) -> CampaignError:
    """A refusal that begins with the place of the answer."""
    where = answer.get("where")
    return CampaignError(why if where is None else f"{where}: {why} Nothing was stored.")


def note_uncounted(state: CampaignState, told: Sequence[Answered]) -> tuple[list[int], str | None]:
    """The draws whose labels do not count, told in this state, and the reason in a sentence."""
    late = [
        one.draw
        for one in told
        if (one.opinion if isinstance(one, Amended) else any(why_settled(state, one.draw)))
    ]
    if not late:
        return [], None
    is_one = len(late) == 1
    which = f"draw {late[0]}" if is_one else f"draws {', '.join(map(str, late))}"
    what, they = ("The label", "It was") if is_one else ("The labels", "They were")
    return late, (
        f"{what} of {which} came late, after another label or a mark as unlabelable, and will not "
        f"count. {they} kept as {'a second opinion' if is_one else 'second opinions'}."
    )


def set_aside(
    kind: type[Skipped],
    state: CampaignState,
    draw: int,
    owner: str | None,
    now: datetime,
    on_behalf_of: str | None = None,
    *,
    reason: str,
) -> tuple[Skipped, ...]:
    """Pass an item on to another labeller, or declare it unlabelable, as the kind of event says."""
    actor = _Actor.of(state, owner, on_behalf_of).on(state, draw)
    return (actor.make(kind, state, now, draw=draw, reason=reason),)


def undo(
    state: CampaignState,
    owner: str | None,
    now: datetime,
    on_behalf_of: str | None = None,
    lease_seconds: int | None = None,
) -> tuple[Withdrawn, ...]:
    """Withdraw the owner's last answer, second opinion, amendment or mark as unlabelable."""
    refuse_closed(state)
    actor = _Actor.of(state, owner, on_behalf_of)
    owner = actor.labeller
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
            f"{who} has told nothing in {state.settings.name!r} that can be undone. To undo the "
            f"last step of a labeller: levelled tell {state.settings.name} --undo --owner NAME"
        )
    _, draw, is_opinion = max(told)
    until = lease_end(state, now, lease_seconds)
    return (actor.make(Withdrawn, state, now, draw=draw, until=until, opinion=is_opinion),)


def change(
    state: CampaignState,
    owner: str | None,
    now: datetime,
    **settings: Any,  # noqa: ANN401
) -> tuple[Event, ...]:
    """Change the kind, the budget, the target width, the leases or the cap of items in flight.

    A new kind discards the draws that nobody was given yet.
    """
    refuse_closed(state)
    # An event cannot be taken back, so values that no state can hold are refused here.
    new: dict[str, Any] = {
        name: _check_setting(state, name, value) for name, value in settings.items()
    }
    budget = new.get("budget")
    if budget is not None and budget < state.n_asked:
        raise CampaignError(
            f"A budget of {budget} is below the {state.n_asked} items already given out."
        )
    if "budget" in new and budget is None and state.settings.is_finite:
        raise CampaignError(
            "The finite-sample interval of this campaign is aimed at its budget: choose another "
            "number instead of none."
        )
    if new.get("kind", "adaptive") != "adaptive" and state.settings.is_finite:
        raise CampaignError(
            "The finite-sample interval of this campaign needs adaptive draws: create another "
            "campaign for other draws."
        )
    new = {name: value for name, value in new.items() if getattr(state.settings, name) != value}
    if "budget" in new and state.settings.looks:
        replanned = _replan(state, new["budget"])
        looks = {"looks": looks_to_json(replanned["looks"])}
        others = {name: one for name, one in replanned.items() if name != "looks"}
        new |= looks | {n: one for n, one in others.items() if one != getattr(state.settings, n)}
    return (make_event(Changed, state, owner, now, settings=new),) if new else ()


def _check_setting(state: CampaignState, name: str, value: Any) -> Any:  # noqa: ANN401
    changeable = [one.name for one in OPTIONS.values() if one.changeable]
    if name not in changeable:
        raise CampaignError(
            f"{name!r} cannot be changed: a campaign can change its {', '.join(changeable[:-1])} "
            f"and {changeable[-1]}."
        )
    if name == "target_width":
        from levelled.campaigns.drawing.pools import check_width  # labellers change none

        return check_width(state.settings.metrics[0], value)
    return check_option(OPTIONS[name], value)


REPLANNED = ("looks", "n_extra", "planned")
"""The settings that follow from a new budget."""


def _replan(state: CampaignState, budget: int | None) -> dict[str, Any]:
    """The looks taken so far, then new ones up to the new budget.

    Before the last planned look was taken, what is left of the spending is spread over the new
    budget; before the first one, all of it. Afterwards each new budget has one look out of the
    reserve. Without a budget the looks stay, and go on wherever the number of labels has doubled.
    """
    from levelled.campaigns.drawing.pools import doubled_looks  # labellers change no budget
    from levelled.estimators.intervals import limits

    settings, size = state.settings, state.settings.open_size
    taken = tuple(look for look in settings.looks if look.n <= state.n_settled)
    alpha, n_left = settings.rate(settings.shares.looks), len(settings.looks) - len(taken)
    if settings.versions.spending == 1:
        if budget is None:  # nobody knows how many there will be: only betting goes on
            return {"looks": taken}
        looks = limits.first_replan(taken, min(budget, size), size, max(n_left, 1), alpha)
        return {"looks": looks}
    if budget is None:
        doubled = doubled_looks(settings, settings.looks, settings.n_extra)
        return {"planned": settings.looks[-1].n, **doubled}
    budget, n_planned = min(budget, size), len(settings.looks) - settings.n_extra
    if len(taken) < n_planned:
        count = max((settings.n_looks or 0) - len(taken), 1)
        seen = state.n_settled  # a look at fewer labels would be chosen by what they say
        looks = limits.replan_looks(taken, budget, size, count, alpha, n_settled=seen)
        return {"looks": looks, "n_extra": 0, "planned": None}
    reserve, n_extra = settings.rate(settings.shares.reserve), len(taken) - n_planned
    sizes = [budget] if reserve and budget > taken[-1].n else []
    looks = limits.extend_looks(taken, sizes, reserve, n_extra)
    return {"looks": looks, "n_extra": n_extra + len(sizes), "planned": None}
