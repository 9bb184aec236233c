"""The campaign itself changes: its settings, its predicted losses, its end."""

from datetime import datetime
from typing import Any

from levelled.campaigns.log.decide.checks import (
    check_name,
    check_text,
    check_width,
    refuse_closed,
    stamp,
)
from levelled.campaigns.log.records import Event
from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.options import OPTIONS
from levelled.campaigns.settings import check_option, looks_to_json
from levelled.errors import CampaignError
from levelled.estimators.intervals.looks import SHARE, PlannedLook, replan_looks


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
        new["looks"] = looks_to_json(_replan(state, new["budget"]))
    return ({**stamp("changed", owner, now), "settings": new},) if new else ()


def _check_setting(state: CampaignState, name: str, value: Any) -> Any:  # noqa: ANN401
    changeable = [one.name for one in OPTIONS.values() if one.changeable]
    if name not in changeable:
        raise CampaignError(
            f"{name!r} cannot be changed: a campaign can change its {', '.join(changeable[:-1])} "
            f"and {changeable[-1]}."
        )
    if name == "target_width":
        return check_width(state.settings.metrics[0], value)
    return check_option(OPTIONS[name], value)


def _replan(state: CampaignState, budget: int | None) -> tuple[PlannedLook, ...]:
    """The looks taken so far, then new ones up to the new budget."""
    settings = state.settings
    taken = tuple(look for look in settings.looks if look.n <= state.n_settled)
    if budget is None:  # nobody knows how many there will be: only betting goes on
        return taken
    count = max(len(settings.looks) - len(taken), 1)
    alpha, size = SHARE * (1 - settings.level), settings.pool_size
    return replan_looks(taken, min(budget, size), size, count, alpha)


def rescore(
    state: CampaignState,
    source: str | list[str] | None,
    fingerprint: str,
    owner: str | None,
    now: datetime,
) -> tuple[Event, ...]:
    """Let the predicted losses of a file guide the draws; those that nobody was given go."""
    refuse_closed(state)
    name = state.settings.name
    if state.settings.kind == "uniform":
        raise CampaignError(
            f"{name!r} is uniform: it draws at random, whatever losses are predicted. To follow "
            f"predictions, first change its kind (levelled change {name} --kind adaptive)."
        )
    named = {"source": source, "fingerprint": fingerprint}
    return ({**stamp("rescored", owner, now), **named},)


def close(state: CampaignState, reason: str, owner: str | None, now: datetime) -> tuple[Event, ...]:
    """End the campaign: no more items are handed out and no more labels recorded."""
    refuse_closed(state)
    check_text("The reason", reason)
    return ({**stamp("closed", owner, now), "reason": reason},)


def reopen(state: CampaignState, owner: str | None, now: datetime) -> tuple[Event, ...]:
    """Let a closed campaign go on."""
    if state.closed is None:
        raise CampaignError(f"{state.settings.name!r} is not closed, so it cannot be reopened.")
    return (stamp("reopened", owner, now),)


def rename(state: CampaignState, name: str, owner: str | None, now: datetime) -> Event:
    """The event that gives the campaign another name; the log goes on under it."""
    if check_name(name) == state.settings.name:
        raise CampaignError(f"The campaign is called {name!r} already.")
    return {**stamp("renamed", owner, now), "name": name}
