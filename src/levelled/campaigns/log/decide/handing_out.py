"""Items are handed out to labellers, each with a lease, and given back."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain, islice

from levelled.campaigns.log.decide.checks import (
    check_text,
    find_draw,
    lease_end,
    name_owner,
    refuse_closed,
    stamp,
)
from levelled.campaigns.log.records import Ask, Event, Handout, OpenItem
from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.people.shown import shown_data
from levelled.errors import CampaignError


def ask(
    state: CampaignState,
    n: int,
    owner: str | None,
    now: datetime,
    lease_seconds: int | None = None,
) -> Handout:
    """Hand out up to n items: the owner's open ones again, then what others left, then new draws.

    Without a name of the owner, open items are not given again: somebody else may have them. An
    item is offered again when its lease has run out, and to another labeller when one skipped
    it. The number of items in flight is capped, because the estimate cannot use later draws
    before all of them are labelled. Leases may be shorter than those of the campaign.
    """
    refuse_closed(state)
    check_text("The name of the owner", owner)
    own = [] if owner is None else draws_kept_for(state, owner)
    in_flight = _in_flight(state, now)
    again = [draw for draw in own if draw in in_flight][:n]
    room = max(state.settings.in_flight - len(in_flight), 0)
    offers = _offers(state, owner, in_flight, own)
    new = [*islice(offers, min(n - len(again), room))]
    note = _note(state, n - len(again), room, len(new), owner)
    return _hand_out(state, [*again, *new], owner, now, note, lease_seconds)


def mine(state: CampaignState, owner: str | None, now: datetime) -> Handout:
    """Hand out the owner's open items once more, under the same numbers, with renewed leases."""
    refuse_closed(state)
    check_text("The name of the owner", owner)
    own, in_flight = draws_kept_for(state, owner), _in_flight(state, now)
    again = [draw for draw in own if draw in in_flight]
    room = max(state.settings.in_flight - len(in_flight), 0)
    expired = [draw for draw in own if draw not in in_flight]
    chosen, note = [*again, *expired[:room]], None
    if len(expired) > room:
        note = f"the leases of the others ran out, and {_full(state)}"
    return _hand_out(state, sorted(chosen), owner, now, note)


def renew(
    state: CampaignState,
    draws: Sequence[int],
    owner: str | None,
    now: datetime,
    lease_seconds: int | None = None,
) -> tuple[Event, ...]:
    """Let the leases of some of the owner's items begin anew.

    Items that were labelled, or went to another labeller, are passed over. Nothing is stored
    while all leases have more than half of their time left, so a page may renew often.
    """
    refuse_closed(state)
    check_text("The name of the owner", owner)
    until = lease_end(state, now, lease_seconds)
    halfway = (now + (datetime.fromisoformat(until) - now) / 2).isoformat(timespec="seconds")
    kept = {*draws} & {*draws_kept_for(state, owner)} & _in_flight(state, now)
    if all(state.leases[draw].until > halfway for draw in kept):
        return ()
    return ({**stamp("leased", owner, now), "draws": sorted(kept), "until": until},)


def _hand_out(
    state: CampaignState,
    draws: Sequence[int],
    owner: str | None,
    now: datetime,
    note: str | None,
    lease_seconds: int | None = None,
) -> Handout:
    """Lease some draws to an owner."""
    if not draws:
        return Handout((), (), note)
    until = lease_end(state, now, lease_seconds)
    event = {**stamp("leased", owner, now), "draws": [*draws], "until": until}
    items = (state.draws[draw - 1] for draw in draws)
    asks = (Ask(one.draw, one.id, shown_data(state.settings, one), until) for one in items)
    return Handout(tuple(asks), (event,), note)


def draws_kept_for(state: CampaignState, owner: str | None) -> list[int]:
    """The open draws that were last given to this owner, also those whose lease ran out."""
    leases = ((draw, state.leases.get(draw)) for draw in state.open_draws())
    return [draw for draw, lease in leases if lease is not None and lease.owner == owner]


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
) -> tuple[Event, ...]:
    """End leases, so that the next labeller who asks gets the items.

    They are the owner's, or only some `draws`; with `everyone`, those of all labellers. Some draws
    without an owner may be anybody's.
    """
    refuse_closed(state)
    if draws is None:
        every = [draw for draw in state.open_draws() if draw in state.leases]
        chosen = every if everyone else draws_kept_for(state, owner)
    else:
        chosen = [find_draw(state, draw=draw).draw for draw in dict.fromkeys(draws)]
        for draw in chosen:
            _refuse_not_kept(state, draw, None if everyone else owner)
    return ({**stamp("returned", owner, now), "draws": chosen},) if chosen else ()


def _refuse_not_kept(state: CampaignState, draw: int, owner: str | None) -> None:
    lease = state.leases.get(draw)
    if lease is None:
        raise CampaignError(f"Draw {draw} is kept for nobody, so it cannot be given back.")
    if owner is not None and lease.owner != owner:
        raise CampaignError(
            f"Draw {draw} is kept for {lease.owner or 'a labeller without a name'}, not for "
            f"{owner}. To free it whoever has it: levelled return {state.settings.name} "
            f"--draw {draw} --all"
        )


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
    at = now.isoformat(timespec="seconds")
    leases = ((draw, state.leases.get(draw)) for draw in state.open_draws())
    return {draw for draw, lease in leases if lease is not None and lease.until > at}


def _full(state: CampaignState) -> str:
    return (
        f"{state.settings.in_flight} items may be in flight at once, and so many are: tell, return "
        f"or skip some of them first"
    )


def _note(state: CampaignState, n: int, room: int, n_given: int, owner: str | None) -> str | None:
    """The reason why fewer than n items are handed out."""
    if n_given == n:
        return None
    if n_given == room:
        return _full(state)
    passed = sum(owner in state.skipped.get(draw, ()) for draw in state.open_draws())
    if passed:
        return (
            f"{passed} items that {name_owner(owner)} skipped must go to another labeller: let "
            f"another owner ask, or mark them as unlabelable"
        )
    if state.settings.budget is not None and state.n_asked + n_given >= state.settings.budget:
        return f"the budget of {state.settings.budget} labels has been given out"
    return "no more items can be drawn from this pool"
