"""Items are handed out to labellers, each with a lease."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import chain, islice

from levelled.campaigns.decide.checks import check_text, refuse_closed
from levelled.campaigns.records import Ask, Handout
from levelled.campaigns.state import CampaignState

__all__ = ["ask"]


def ask(state: CampaignState, n: int, owner: str | None, now: datetime) -> Handout:
    """Hand out up to n items: first those that others left unlabelled, then the next draws.

    An item is offered again when its lease has run out, and to another labeller when one skipped
    it. The number of items in flight is capped, because the estimate cannot use later draws
    before all of them are labelled.
    """
    refuse_closed(state)
    check_text("The name of the owner", owner)
    at = now.isoformat(timespec="seconds")
    in_flight = [draw for draw in state.open_draws() if _leased(state, draw, at)]
    room = max(state.settings.in_flight - len(in_flight), 0)
    chosen = list(islice(_offers(state, owner, set(in_flight)), min(n, room)))
    note = _note(state, n, room, len(chosen), owner)
    if not chosen:
        return Handout((), (), note)
    until = (now + timedelta(seconds=state.settings.lease_seconds)).isoformat(timespec="seconds")
    event = {"type": "leased", "at": at, "by": owner, "draws": chosen, "until": until}
    items = (state.draws[draw - 1] for draw in chosen)
    return Handout(
        tuple(Ask(item.draw, item.id, item.data, until) for item in items), (event,), note
    )


def _offers(state: CampaignState, owner: str | None, in_flight: set[int]) -> Iterator[int]:
    waiting = [draw for draw in state.open_draws() if draw not in in_flight]
    others = (draw for draw in waiting if owner not in state.skipped.get(draw, ()))
    last = len(state.draws)
    if state.settings.budget is not None:
        last = min(last, state.settings.budget)
    fresh = range(state.n_asked + 1, last + 1)
    return chain(others, fresh)


def _leased(state: CampaignState, draw: int, at: str) -> bool:
    lease = state.leases.get(draw)
    return lease is not None and lease.until > at


def _note(state: CampaignState, n: int, room: int, n_given: int, owner: str | None) -> str | None:
    """The reason why fewer than n items are handed out."""
    if n_given == n:
        return None
    if n_given == room:
        return (
            f"{state.settings.in_flight} items may be in flight at once, and so many are: tell or "
            f"skip some of them first"
        )
    passed = sum(owner in state.skipped.get(draw, ()) for draw in state.open_draws())
    if passed:
        who = "you" if owner is None else owner
        return (
            f"{passed} items that {who} skipped must go to another labeller: let another owner "
            f"ask, or mark them as unlabelable"
        )
    if state.settings.budget is not None and state.n_asked + n_given >= state.settings.budget:
        return f"the budget of {state.settings.budget} labels has been given out"
    return "no more items can be drawn from this pool"
