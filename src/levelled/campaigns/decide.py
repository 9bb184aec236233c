"""The steps of a campaign: each function turns a state and a request into events, or refuses.

They are pure functions of the state, the request and the time. `Campaign` appends the events.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain, islice
from typing import Any

from levelled._check import choice, whole
from levelled.campaigns.records import (
    KINDS,
    Ask,
    CampaignSettings,
    DrawnItem,
    Event,
    Handout,
    looks_to_json,
)
from levelled.campaigns.state import CampaignState
from levelled.errors import CampaignError, LevelledError
from levelled.estimators.intervals.looks import SHARE, PlannedLook, replan_looks
from levelled.labels import Label
from levelled.metrics.metric import Metric
from levelled.metrics.plan_record import check_range

__all__ = [
    "amend",
    "ask",
    "change",
    "check_labels",
    "check_width",
    "close",
    "find_draw",
    "mark_unlabelable",
    "rescore",
    "skip",
    "tell_all",
]

_LONGEST = 1000
"""Characters of a label, a reason or a name in the log."""


def ask(state: CampaignState, n: int, owner: str | None, now: datetime) -> Handout:
    """Hand out up to n items: first those that others left unlabelled, then the next draws.

    An item is offered again when its lease has run out, and to another labeller when one skipped
    it. The number of items in flight is capped, because the estimate cannot use later draws
    before all of them are labelled.
    """
    _refuse_closed(state)
    _check_text("The name of the owner", owner)
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


def find_draw(
    state: CampaignState,
    *,
    draw: int | None = None,
    id: str | int | None = None,  # noqa: A002
) -> DrawnItem:
    """The item that was asked for under this number or id; refuses any other."""
    if draw is None and id is None:
        raise CampaignError("A label needs the number of its draw, or the id of its item.")
    if draw is None:
        draw = state.draw_of.get(str(id), 0)
        name = f"Item {id!r}"
    else:
        draw = whole("draw", draw, least=1)
        name = f"Draw {draw}"
        if id is not None and state.draw_of.get(str(id)) != draw:
            raise CampaignError(f"Draw {draw} is not item {id!r}: one of the two is mistaken.")
    if not 1 <= draw <= state.n_asked:
        raise CampaignError(
            f"{name} was never asked in {state.settings.name!r}. A label the sampler did not "
            f"choose has no probability and cannot be weighted."
        )
    return state.draws[draw - 1]


def tell_all(
    state: CampaignState, answers: Sequence[Mapping[str, Any]], owner: str | None, now: datetime
) -> tuple[Event, ...]:
    """Record labels, each with its draw or its id. Answers may come in any order.

    The first answer to a draw counts. Telling its label again changes nothing; another label is
    kept beside it, as a second opinion: `amend` replaces a label. If one answer is wrong all are
    refused, and the message begins with the "where" of that answer.
    """
    _refuse_closed(state)
    stamp = _stamp("answered", owner, now)
    labels: dict[int, set[Label]] = {}
    events: list[Event] = []
    for item, label in _check_answers(state, answers):
        if item.draw not in labels:
            first, others = state.answers.get(item.draw), state.opinions.get(item.draw, ())
            labels[item.draw] = {one.label for one in (first, *others) if one is not None}
        if label not in labels[item.draw]:
            events.append({**stamp, "draw": item.draw, "label": label})
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
    return ({**_stamp("amended", owner, now), "draw": item.draw, "label": checked},)


def skip(
    state: CampaignState, item: DrawnItem, reason: str, owner: str | None, now: datetime
) -> tuple[Event, ...]:
    """Pass an item on to another labeller, under the same number."""
    _refuse_closed(state)
    _refuse_settled(state, item)
    _check_text("The reason", reason)
    return ({**_stamp("skipped", owner, now), "draw": item.draw, "reason": reason},)


def mark_unlabelable(
    state: CampaignState, item: DrawnItem, reason: str, owner: str | None, now: datetime
) -> tuple[Event, ...]:
    """Declare that an item cannot be labelled; the estimate is then over the items that can."""
    _refuse_closed(state)
    _refuse_settled(state, item)
    _check_text("The reason", reason)
    return ({**_stamp("resolved", owner, now), "draw": item.draw, "reason": reason},)


def change(
    state: CampaignState,
    owner: str | None,
    now: datetime,
    **settings: Any,  # noqa: ANN401
) -> tuple[Event, ...]:
    """Change the kind, the budget, the target width, the leases or the cap of items in flight.

    A new kind discards the draws that nobody was given yet.
    """
    _refuse_closed(state)
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
    return ({**_stamp("changed", owner, now), "settings": new},) if new else ()


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
    _refuse_closed(state)
    name = state.settings.name
    if state.settings.kind == "uniform":
        raise CampaignError(
            f"{name!r} is uniform: it draws at random, whatever losses are predicted. To follow "
            f"predictions, first change its kind (levelled change {name} --kind adaptive)."
        )
    named = {"source": source, "fingerprint": fingerprint}
    return ({**_stamp("rescored", owner, now), **named},)


def close(state: CampaignState, reason: str, owner: str | None, now: datetime) -> tuple[Event, ...]:
    """End the campaign: no more items are handed out and no more labels recorded."""
    _refuse_closed(state)
    _check_text("The reason", reason)
    return ({**_stamp("closed", owner, now), "reason": reason},)


def check_labels(settings: CampaignSettings, labels: Sequence[object]) -> list[Label]:
    """Labels as the campaign keeps them: names of classes, or numbers."""
    if any(label is None or str(label).strip() == "" for label in labels):
        raise CampaignError(
            "An empty label is no answer: skip the item, or mark it as unlabelable."
        )
    for label in labels:
        _check_text("A label", label if isinstance(label, str) else None)
    for metric in settings.label_checks:  # a label that one metric refuses could not be used
        labels = metric.labels(labels, settings.classes)
    if settings.classes is None:
        _refuse_near_misses(settings, labels)
    return [label if isinstance(label, float) else str(label) for label in labels]


def _refuse_near_misses(settings: CampaignSettings, labels: Sequence[object]) -> None:
    """Refuse a label that is a predicted class but for capitals or blanks around it."""
    predicted = {name for counts in settings.pred_counts.values() for name in counts}
    plain = {name.strip().casefold(): name for name in predicted}
    for label in labels:
        if isinstance(label, str) and label not in predicted:
            near = plain.get(label.strip().casefold())
            if near is not None:
                raise CampaignError(
                    f"The label {label!r} differs from the predicted class {near!r} only in "
                    f"capitals or blanks, and would count as an error: write {near!r}."
                )


def check_width(metric: Metric, width: float | None) -> float | None:
    """A target width; refused if it is reached anyway, or for a metric that cannot be watched."""
    if width is None:
        return None
    if metric.interval != "betting":
        raise CampaignError(
            f"A target width needs an interval that is valid whenever one stops, and "
            f"{metric.name} has only an asymptotic one. Declare a bound, for example "
            f"log_loss:10, or fix the budget instead."
        )
    return check_range("target_width", metric, width)


def _check_text(name: str, text: str | None) -> None:
    """Refuse text that is too long for the log."""
    if text is not None and len(text) > _LONGEST:
        raise CampaignError(
            f"{name} has {len(text):,} characters, and at most {_LONGEST:,} are kept: shorten it."
        )


def _stamp(kind: str, owner: str | None, now: datetime) -> dict[str, Any]:
    _check_text("The name of the owner", owner)
    return {"type": kind, "at": now.isoformat(timespec="seconds"), "by": owner}


def _refuse_closed(state: CampaignState) -> None:
    if state.closed is not None:
        raise CampaignError(f"{state.settings.name!r} is closed ({state.closed}).")


def _refuse_settled(state: CampaignState, item: DrawnItem) -> None:
    if item.draw in state.answers:
        raise CampaignError(f"Draw {item.draw} has an answer already: amend it instead.")
    if item.draw in state.unlabelable:
        raise CampaignError(f"Draw {item.draw} is already marked as unlabelable.")


def _check_setting(state: CampaignState, name: str, value: Any) -> int | float | str | None:  # noqa: ANN401
    if name == "kind":
        return choice("kind", value, KINDS)
    if name == "target_width":
        return check_width(state.settings.metrics[0], value)
    if name == "budget" and value is None:
        return None
    if name not in ("budget", "lease_seconds", "in_flight"):
        raise CampaignError(
            f"{name!r} cannot be changed: a campaign can change its kind, budget, target_width, "
            f"lease_seconds and in_flight."
        )
    return whole(name, value, least=1)
