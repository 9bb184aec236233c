"""Checks of each event of a log against the state before it: could it have happened then?

`StepChecks` goes along the fold. An event of a new type needs one entry in `_CHECKS` at most:
the draw, the label and the time that any event names are checked without one.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from numbers import Real
from typing import Any

from levelled.campaigns.drawing.drivers import begin_round
from levelled.campaigns.drawing.pools import attach_event
from levelled.campaigns.log import decide
from levelled.campaigns.log.hashing import canonical
from levelled.campaigns.log.records import Event
from levelled.campaigns.log.state import CampaignState, replay
from levelled.campaigns.people.questions import check_remarks, merge_remarks
from levelled.errors import LevelledError
from levelled.sources import Pool, open_pool

_CLOSE = 1e-6
"""The relative difference allowed between two fits of the same numbers on two machines."""

_NOT_WHEN_CLOSED = {
    "drawn",
    "round",
    "leased",
    "answered",
    "skipped",
    "resolved",
    "returned",
    "withdrawn",
    "changed",
    "rescored",
    "closed",
}

PoolAt = Callable[[CampaignState, int], Pool]


@dataclass
class StepChecks:
    """The checks of one log; `pool_at` gives the pool as a draw saw it."""

    pool_at: PoolAt
    notes: list[str] = field(default_factory=list)
    """Parts of the log that could not be checked, each with the reason."""
    _refusals: dict[object, str | None] = field(default_factory=dict)
    """Why a label is refused, or None, for each label so far."""
    _files: dict[str, Pool] = field(default_factory=dict)

    def differences(self, events: Iterable[Event]) -> Iterator[str]:
        """Each event that could not have happened, in a line."""
        place, kind = 0, ""
        try:
            for place, (state, event) in enumerate(replay(events)):
                kind = event["type"]
                for wrong in self._check(state, event):
                    yield f"event {place} ({kind}): {wrong}"
        except UNREADABLE as wrong:
            yield f"event {place} ({kind}) cannot be checked: {wrong}"

    def _check(self, state: CampaignState | None, event: Event) -> Iterator[str]:
        kind = event["type"]
        yield from _check_stamp(event)
        if state is None:
            return
        if kind == "created":
            yield "a campaign is created only once"
        if state.closed is not None and kind in _NOT_WHEN_CLOSED:
            yield f"the campaign was closed before ({state.closed})"
        draw = event.get("draw")
        if "draw" in event and not (isinstance(draw, int) and 1 <= draw <= state.n_asked):
            yield f"draw {draw!r} was never asked"
            return
        if "label" in event and (refusal := self._refusal(state, event["label"])):
            yield refusal
        if "note" in event or "rubric" in event:
            yield from _check_remarks(state, event)
        yield from _CHECKS.get(kind, _no_check)(self, state, event)

    def _refusal(self, state: CampaignState, label: object) -> str | None:
        """The reason why a label cannot be one of this campaign."""
        key = type(label), str(label)
        if key not in self._refusals:
            try:
                (kept,) = decide.check_labels(state.settings, [label])
                same = type(kept) is type(label) and kept == label
                self._refusals[key] = None if same else f"label {label!r} would be kept as {kept!r}"
            except LevelledError as refused:
                self._refusals[key] = f"label {label!r:.80} is refused: {refused}"
        return self._refusals[key]

    def _check_drawn(self, state: CampaignState, event: Event) -> Iterator[str]:
        n, settings = len(state.draws), state.settings
        numbers = [one["draw"] for one in event["draws"]]
        if numbers != [*range(n + 1, n + 1 + len(numbers))]:
            yield f"its draws do not continue the {n} before it"
        if n + len(numbers) > max(settings.last_draw, settings.n_sampled):
            yield f"it draws beyond the budget of {settings.last_draw}"
        rows = [one["row"] for one in event["draws"]]
        taken = {item.row for item in state.draws}
        if len({*rows}) < len(rows) or taken & {*rows}:
            yield "it draws an item twice"

    def _check_round(self, state: CampaignState, event: Event) -> Iterator[str]:
        first = len(state.draws) + 1
        if event["first"] != first or any(one.first >= first for one in state.rounds):
            yield f"it begins at draw {event['first']}, and the next draw is {first}"
            return
        expected = begin_round(self.pool_at(state, first), state)
        if not nearly_equal(event["floor"], expected.floor, _CLOSE):
            yield f"floor {event['floor']!r} is on record, the labels give {expected.floor!r}"
        if not nearly_equal(event["predictor"], expected.predictor, _CLOSE):
            yield "its predictor is not the one that the labels before it give"
        if not nearly_equal(event.get("shares", []), [*expected.shares], _CLOSE):
            yield "its shares of the metrics are not those that the predictor gives"

    def _check_leased(self, state: CampaignState, event: Event) -> Iterator[str]:
        settings, at, draws = state.settings, event["at"], event["draws"]
        fresh = sorted(draw for draw in draws if draw > state.n_asked)
        if fresh != [*range(state.n_asked + 1, state.n_asked + 1 + len(fresh))]:
            yield "it gives out draws before their turn"
        last = max(min(len(state.draws), settings.last_draw), settings.n_sampled)
        if draws and max(draws) > last:
            yield f"it gives out draw {max(draws)}, and {last} may be given out"
        for draw in draws:
            lease = state.leases.get(draw)
            if draw in state.answers or draw in state.unlabelable:
                yield f"draw {draw} was settled before"
            elif lease is not None and lease.until > at and lease.owner != event["by"]:
                yield f"draw {draw} was kept for {lease.owner or 'somebody'} until {lease.until}"
        leased = {one for one, lease in state.leases.items() if lease.until > at}
        new = {draw for draw in draws if draw > settings.n_sampled} - leased
        if new and len(leased | new) > settings.in_flight:
            yield f"more than {settings.in_flight} items would have been in flight"
        longest = datetime.fromisoformat(at) + timedelta(seconds=settings.lease_seconds)
        if not at <= event["until"] <= longest.isoformat(timespec="seconds"):
            yield f"its leases end at {event['until']}, not within {settings.lease_seconds} seconds"

    def _check_amended(self, state: CampaignState, event: Event) -> Iterator[str]:
        if event.get("opinion"):
            yield from self._check_withdrawn(state, event)
        elif event["draw"] not in state.answers and event["draw"] not in state.unlabelable:
            yield f"draw {event['draw']} had no label to amend"

    def _check_withdrawn(self, state: CampaignState, event: Event) -> Iterator[str]:
        draw = event["draw"]
        counts = [marks[draw] for marks in (state.answers, state.unlabelable) if draw in marks]
        told = state.opinions.get(draw, ()) if event.get("opinion") else counts
        if all(one.by != event["by"] for one in told):
            yield f"draw {draw} had no such label of {event['by'] or 'nobody'}"

    def _check_returned(self, state: CampaignState, event: Event) -> Iterator[str]:
        free = [draw for draw in event["draws"] if draw not in state.leases]
        if free:
            yield f"draw {free[0]} was not kept for anybody"

    def _check_reopened(self, state: CampaignState, event: Event) -> Iterator[str]:
        if state.closed is None:
            yield "the campaign was not closed"

    def _check_open(self, state: CampaignState, event: Event) -> Iterator[str]:
        if event["draw"] in state.answers or event["draw"] in state.unlabelable:
            yield f"draw {event['draw']} was settled before"

    def _check_changed(self, state: CampaignState, event: Event) -> Iterator[str]:
        asked_for = {name: value for name, value in event["settings"].items() if name != "looks"}
        at = datetime.fromisoformat(event["at"])
        made = decide.change(state, event["by"], at, **asked_for)
        expected = made[0]["settings"] if made else {}
        if not nearly_equal(event["settings"], expected, _CLOSE):
            yield f"{event['settings']} is on record, the state before it gives {expected}"

    def _check_rescored(self, state: CampaignState, event: Event) -> Iterator[str]:
        if state.settings.kind == "uniform":
            yield "a uniform campaign does not follow predicted losses"

    def _check_attached(self, state: CampaignState, event: Event) -> Iterator[str]:
        model, n, before = event["model"], len(state.draws), state.attached.get(event["model"])
        numbers = sorted(map(int, event["pred"] or event["proba"]))
        first = n + 1 - len(numbers)
        known = () if before is None or before.fingerprint != event["fingerprint"] else before.pred
        if numbers != [*range(first, n + 1)] or any(draw not in known for draw in range(1, first)):
            yield f"it does not have the predictions of {model!r} for every draw"
            return
        try:
            predictions = self._open(state, event)
        except LevelledError as refused:
            self.notes.append(f"predictions of {model!r}: {refused}")
            return
        if predictions is None:
            self.notes.append(f"predictions of {model!r}: they were in memory when attached")
            return
        items = state.draws[first - 1 :]
        expected = attach_event(state.settings, items, predictions, model, at=event["at"])
        for name in ("fingerprint", "pred_counts", "pred", "proba"):
            if canonical({name: event[name]}) != canonical({name: expected[name]}):
                yield f"{name} of {model!r} is not what {event['source']} gives"

    def _open(self, state: CampaignState, event: Event) -> Pool | None:
        """The file of attached predictions; None if there was none."""
        key = str(event["source"])
        if event["source"] is not None and key not in self._files:
            self._files[key] = open_pool(event["source"], classes=state.settings.classes)
        return self._files.get(key)


UNREADABLE = (LevelledError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
"""Errors of a log that cannot be computed with."""


def _no_check(checks: StepChecks, state: CampaignState, event: Event) -> Iterator[str]:
    return iter(())


_CHECKS: dict[str, Callable[[StepChecks, CampaignState, Event], Iterator[str]]] = {
    "drawn": StepChecks._check_drawn,
    "round": StepChecks._check_round,
    "leased": StepChecks._check_leased,
    "amended": StepChecks._check_amended,
    "withdrawn": StepChecks._check_withdrawn,
    "returned": StepChecks._check_returned,
    "reopened": StepChecks._check_reopened,
    "skipped": StepChecks._check_open,
    "resolved": StepChecks._check_open,
    "changed": StepChecks._check_changed,
    "rescored": StepChecks._check_rescored,
    "attached": StepChecks._check_attached,
}


def _check_remarks(state: CampaignState, event: Event) -> Iterator[str]:
    """The note and the rubric must be as the questions of the campaign let them be kept."""
    note, rubric = event.get("note"), event.get("rubric")
    try:
        kept = merge_remarks(None, {}, check_remarks(state.settings.questions, note, rubric))
    except LevelledError as refused:
        yield f"its remarks are refused: {refused}"
        return
    given = {name: event[name] for name in ("note", "rubric") if name in event}
    if canonical(given) != canonical(kept):
        yield f"its remarks would be kept as {kept!r:.200}"


def _check_stamp(event: Event) -> Iterator[str]:
    """The time of an event must be one, with its zone, and its owner a text."""
    try:
        aware = datetime.fromisoformat(event["at"]).tzinfo is not None
    except (KeyError, TypeError, ValueError):
        aware = False
    if not aware:
        yield f"it has no time: {event.get('at')!r}"
    if not isinstance(event.get("by"), str | None):
        yield f"{event['by']!r} is no name of a labeller"


def nearly_equal(a: Any, b: Any, close: float) -> bool:  # noqa: ANN401
    """True if two plain values are the same, but for rounding errors of their numbers.

    >>> nearly_equal({"n": [1, 2.0]}, {"n": [1, 2.0000001]}, 1e-6)
    True
    """
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(nearly_equal(a[key], b[key], close) for key in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(lambda x, y: nearly_equal(x, y, close), a, b))
    if _is_number(a) and _is_number(b):
        return bool(a == b or abs(a - b) <= close * max(abs(a), abs(b), 1e-3))
    return type(a) is type(b) and bool(a == b)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
