"""The events of a campaign: what each one holds, why it could not happen, and what it changes.

An event is built by `decide`, which asks `why_not` before it is stored, and read again from the
plain JSON of the log. The audit asks the same `why_not` of every event, with the state before it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, ClassVar

import msgspec
from msgspec import UNSET, UnsetType

from levelled.campaigns.log.records import (
    Answer,
    Attached,
    DrawnItem,
    KnownItem,
    KnownLabels,
    Lease,
    Rescored,
    Round,
    Unlabelable,
    canonical,
    explain,
    from_plain,
)
from levelled.campaigns.log.state import (
    CampaignState,
    StateBuilder,
    check_labels,
    check_name,
    why_closed,
    why_kept_for_another,
    why_not_asked,
    why_not_given,
    why_settled,
)
from levelled.campaigns.settings import (
    CampaignSettings,
    check_remarks,
    looks_from_json,
    merge_remarks,
)
from levelled.errors import CampaignError, LevelledError
from levelled.labels import Label

Source = str | list[str] | None
"""The path of a file, or paths; None for a table that was only in memory."""


class Event(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    gc=False,
    tag_field="type",
):
    """One entry of the log: when, by whom, and what the subclass adds.

    A field with a default is written only where it differs from it, so a new one changes no hash
    of a log that lacks it. A change that older versions would misread gets a higher `newest`.
    """

    newest: ClassVar[int] = 1
    """The highest version of this event that is known here, and the one that is written."""
    when_closed: ClassVar[bool] = False
    """True if it may happen in a closed campaign."""

    at: str
    by: str | None
    version: int = 1
    log: str = ""
    """The beginning of the hash of the first event; empty there, and in logs of format 1."""

    def apply(self, state: StateBuilder) -> None:
        """Change the state as the event says."""
        raise NotImplementedError

    def why_not(self, state: CampaignState) -> Iterator[str]:
        """The reasons why it cannot happen in this state, the first one first."""
        if not _is_time(self.at):
            yield f"it has no time: {self.at!r:.80}"
        if not self.when_closed:
            yield from why_closed(state)


def _is_time(text: str) -> bool:
    """True for a time with its zone."""
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


class Created(Event, tag="created", frozen=True):
    """The campaign begins, with these settings."""

    settings: dict[str, Any]

    def apply(self, state: StateBuilder) -> None:
        """Refuse, because there is a campaign already."""
        raise CampaignError("A campaign is created only once, and this log does so again.")


class RoundBegun(Event, tag="round", frozen=True):
    """A round begins: the next draws come from this predictor."""

    first: int
    predictor: Mapping[str, Any] | None
    floor: float
    shares: tuple[float, ...] | UnsetType = UNSET
    """Unset in logs of the first version; a default would not be written."""

    @classmethod
    def of(cls, begun: Round, *, at: str) -> "RoundBegun":
        """The event that begins a round."""
        return cls(at=at, by=None, **msgspec.structs.asdict(begun))

    def why_not(self, state: CampaignState) -> Iterator[str]:
        """A round begins with the next draw."""
        yield from super().why_not(state)
        first = len(state.draws) + 1
        if self.first != first or any(one.first >= first for one in state.rounds):
            yield f"it begins at draw {self.first}, and the next draw is {first}"

    def apply(self, state: StateBuilder) -> None:
        """Add the round."""
        shares = () if self.shares is UNSET else self.shares
        state.rounds = (*state.rounds, Round(self.first, self.predictor, self.floor, shares))


class Drawn(Event, tag="drawn", frozen=True):
    """Items are drawn, each with its probability, before anybody sees them."""

    draws: tuple[DrawnItem, ...]

    def why_not(self, state: CampaignState) -> Iterator[str]:
        """Draws are numbered without a gap, within the budget, and no item is drawn twice."""
        yield from super().why_not(state)
        n, settings = len(state.draws), state.settings
        numbers, rows = [one.draw for one in self.draws], {one.row for one in self.draws}
        if numbers != [*range(n + 1, n + 1 + len(numbers))]:
            yield f"its draws do not continue the {n} before it"
        if n + len(numbers) > max(state.last_draw, settings.n_sampled):
            yield f"it draws beyond the budget of {state.last_draw}"
        if len(rows) < len(numbers) or rows & {item.row for item in state.draws}:
            yield "it draws an item twice"
        if rows & {item.row for item in state.known_items}:
            yield "it draws an item whose label is known"

    def apply(self, state: StateBuilder) -> None:
        """Add the items."""
        state.own("draw_of")
        state.added += self.draws
        state.draw_of.update((str(item.id), item.draw) for item in self.draws)


class PredictionsAttached(Event, tag="attached", frozen=True):
    """A model that came later is estimated too: its predictions for the items drawn."""

    when_closed: ClassVar[bool] = True

    model: str
    source: Source
    fingerprint: str
    pred_counts: dict[str, int]
    pred: dict[int, Label]
    proba: dict[int, tuple[float, ...]]
    known_pred: dict[int, Label] = {}
    known_proba: dict[int, tuple[float, ...]] = {}

    def why_not(self, state: CampaignState) -> Iterator[str]:
        """Each draw has a prediction, of this event or of earlier ones from the same file."""
        yield from super().why_not(state)
        n, before = len(state.draws), state.attached.get(self.model)
        numbers = sorted(self.pred or self.proba)
        first = n + 1 - len(numbers)
        known = () if before is None or before.fingerprint != self.fingerprint else before.pred
        if numbers != [*range(first, n + 1)] or any(draw not in known for draw in range(1, first)):
            yield f"it does not have the predictions of {self.model!r} for every draw"
        n_known = len(state.known_items)
        new = sorted(self.known_pred or self.known_proba)
        first = n_known - len(new)
        known = () if before is None or known == () else before.known_pred
        if new != [*range(first, n_known)] or any(one not in known for one in range(first)):
            yield f"it does not have the predictions of {self.model!r} for every known label"

    def apply(self, state: StateBuilder) -> None:
        """Add the predictions; to those for earlier draws, if they are of the same file."""
        state.own("attached")
        before, pred, proba = state.attached.get(self.model), self.pred, self.proba
        known_pred, known_proba = self.known_pred, self.known_proba
        if before is not None and before.fingerprint == self.fingerprint:
            pred, proba = {**before.pred, **pred}, {**before.proba, **proba}
            known_pred = {**before.known_pred, **known_pred}
            known_proba = {**before.known_proba, **known_proba}
        state.attached[self.model] = Attached(
            self.source, self.fingerprint, self.pred_counts, pred, proba, known_pred, known_proba
        )


class LabelsKnown(Event, tag="known", frozen=True):
    """Labels that somebody has already, however the items were chosen; they are not drawn."""

    items: tuple[KnownItem, ...]

    def why_not(self, state: CampaignState) -> Iterator[str]:
        """Each label is one of the campaign, of an item that is neither drawn nor known so far."""
        yield from super().why_not(state)
        rows = {item.row for item in self.items}
        earlier = {item.row for item in state.known_items}
        if not self.items or len(rows) < len(self.items) or rows & earlier:
            yield "it has no label, or two of the same item"
        if rows & {item.row for item in state.draws[: state.n_asked]}:
            yield "it has the label of an item that was drawn"
        settings = _ById(state.settings)
        for kind, label in {(type(item.label).__name__, item.label) for item in self.items}:
            if refusal := _label_refusal(settings, kind, label):
                yield refusal

    def apply(self, state: StateBuilder) -> None:
        """Add the labels, and forget the draws that nobody was given: they may be among them."""
        if state.base.draws or state.added:
            state.discard_unasked()
        state.known = (*state.known, KnownLabels(state.n_asked + 1, self.items))


class Leased(Event, tag="leased", frozen=True):
    """Items are handed out to a labeller, or their leases renewed."""

    draws: list[int]
    until: str

    def why_not(self, state: CampaignState) -> Iterator[str]:
        """Items come in the order of the draws, to one labeller, not too many, not too long."""
        yield from super().why_not(state)
        settings, draws = state.settings, self.draws
        fresh = sorted(draw for draw in draws if draw > state.n_asked)
        if fresh != [*range(state.n_asked + 1, state.n_asked + 1 + len(fresh))]:
            yield "it gives out draws before their turn"
        last = max(min(len(state.draws), state.last_draw), settings.n_sampled)
        if draws and max(draws) > last:
            yield f"it gives out draw {max(draws)}, and {last} may be given out"
        for draw in draws:
            lease = state.leases.get(draw)
            yield from why_settled(state, draw)
            if lease is not None and lease.until > self.at and lease.owner != self.by:
                yield f"draw {draw} was kept for {lease.owner or 'somebody'} until {lease.until}"
        leased = {one for one, lease in state.leases.items() if lease.until > self.at}
        new = {draw for draw in draws if draw > settings.n_sampled} - leased
        if new and len(leased | new) > settings.in_flight:
            yield f"more than {settings.in_flight} items would have been in flight"
        yield from _why_too_long(state, self.at, self.until)

    def apply(self, state: StateBuilder) -> None:
        """Keep the items for the labeller."""
        state.lease(self.draws, Lease(self.by, self.at, self.until))
        state.n_asked = max([state.n_asked, *self.draws])


def _why_too_long(state: CampaignState, at: str, until: str) -> Iterator[str]:
    """A lease ends within the time that the campaign keeps items for a labeller."""
    if not _is_time(at):
        return
    seconds = state.settings.lease_seconds
    longest = datetime.fromisoformat(at) + timedelta(seconds=seconds)
    if not at <= until <= longest.isoformat(timespec="seconds"):
        yield f"its leases end at {until}, not within {seconds} seconds"


class Returned(Event, tag="returned", frozen=True):
    """Items are given back, for the next labeller who asks."""

    draws: list[int]
    everyone: bool = False
    """True where an analyst frees items, whoever has them."""

    def why_not(self, state: CampaignState) -> Iterator[str]:
        """Only what is kept for somebody can be given back, by who has it or by an analyst."""
        yield from super().why_not(state)
        for draw in self.draws:
            if draw not in state.leases:
                yield f"Draw {draw} is kept for nobody, so it cannot be given back."
            if state.settings.rules > 1 and not self.everyone:
                yield from why_kept_for_another(state, draw, self.by)

    def apply(self, state: StateBuilder) -> None:
        """End the leases."""
        state.own("leases")
        for draw in self.draws:
            state.leases.pop(draw, None)


class _OfDraw(Event, frozen=True, kw_only=True):
    """An event about one draw that somebody was given."""

    on_own_label: ClassVar[bool] = False
    """True if it is about a label that the labeller gave before."""

    draw: int
    on_behalf_of: str | None = None
    """The labeller for whom an analyst acts, in `by`: the analyst too, on an item of others."""

    @property
    def labeller(self) -> str | None:
        """The labeller whose label or step it is."""
        return self.by if self.on_behalf_of is None else self.on_behalf_of

    def why_not(self, state: CampaignState) -> Iterator[str]:
        """Only a draw that the labeller was given can be answered, or passed on."""
        yield from super().why_not(state)
        yield from why_not_asked(state, self.draw)
        if self.on_behalf_of is not None and state.settings.rules == 1:
            yield f"its campaign has no analyst on behalf of {self.on_behalf_of!r:.80}"
        if self.on_behalf_of is None and not self.on_own_label:
            yield from why_not_given(state, self.draw, self.by)


class Answered(_OfDraw, tag="answered", frozen=True):
    """A labeller tells a label; it counts if it is the first, else it is a second opinion."""

    label: Label
    note: str | None = None
    rubric: dict[str, Label] = {}

    def why_not(self, state: CampaignState) -> Iterator[str]:
        """The label and the remarks are as the campaign keeps them."""
        yield from super().why_not(state)
        refusal = _label_refusal(_ById(state.settings), type(self.label).__name__, self.label)
        if refusal is not None:
            yield refusal
        if self.note is not None or self.rubric:
            yield from _why_no_remarks(state.settings, self.note, self.rubric)

    def apply(self, state: StateBuilder) -> None:
        """Add the label, and close the draw if it was open."""
        draw, answer = self.draw, self._answer(state)
        if draw in state.answers or draw in state.unlabelable:
            state.own("opinions")
            state.opinions[draw] = (*state.opinions.get(draw, ()), answer)
            return
        state.own("answers")
        state.answers[draw] = answer
        state.close_draw(draw)

    def _answer(self, state: StateBuilder) -> Answer:
        return Answer(self.label, self.labeller, self.at, state.n_events, self.note, self.rubric)


class Amended(Answered, tag="amended", frozen=True):
    """A label is replaced, the one that counts or the labeller's own second opinion."""

    when_closed: ClassVar[bool] = True
    on_own_label: ClassVar[bool] = True

    opinion: bool = False

    def why_not(self, state: CampaignState) -> Iterator[str]:
        """There is something to replace, which is the labeller's own unless an analyst acts."""
        yield from super().why_not(state)
        draw = self.draw
        before = state.answers.get(draw) or state.unlabelable.get(draw)
        if self.opinion:
            yield from _why_not_theirs(draw, self.labeller, state.opinions.get(draw, ()))
        elif before is None:
            yield f"Draw {draw} has no answer to amend yet: tell it instead."
        elif state.settings.rules > 1 and self.on_behalf_of is None and before.by != self.by:
            yield (
                f"Draw {draw} has no label of {self.by or 'anybody without a name'} to amend. An "
                f"analyst can amend those of others: levelled tell {state.settings.name} ... "
                f"--amend --for NAME"
            )

    def apply(self, state: StateBuilder) -> None:
        """Put the new label in the place of the one before, which is kept."""
        draw, answer = self.draw, self._answer(state)
        if self.opinion:
            state.replace_opinion(draw, self.labeller, answer)
            return
        state.own("answers", "amended", "unlabelable")
        before = state.answers.get(draw) or state.unlabelable.pop(draw)
        state.amended[draw] = (*state.amended.get(draw, ()), before)
        state.answers[draw] = answer


class Withdrawn(_OfDraw, tag="withdrawn", frozen=True):
    """A labeller takes back the last label, opinion or mark; an open draw is leased again."""

    on_own_label: ClassVar[bool] = True

    until: str
    opinion: bool = False

    def why_not(self, state: CampaignState) -> Iterator[str]:
        """It is the labeller's own."""
        yield from super().why_not(state)
        draw, marks = self.draw, (state.answers, state.unlabelable)
        counts = [one[draw] for one in marks if draw in one]
        yield from _why_not_theirs(
            draw, self.labeller, state.opinions.get(draw, ()) if self.opinion else counts
        )
        yield from _why_too_long(state, self.at, self.until)

    def apply(self, state: StateBuilder) -> None:
        """Go back to what it amended, to another opinion, or to an open draw."""
        draw = self.draw
        if self.opinion:
            state.replace_opinion(draw, self.labeller)
            return
        state.own("answers", "amended", "opinions", "unlabelable")
        del (state.answers if draw in state.answers else state.unlabelable)[draw]
        if not state.restore(draw):
            state.lease([draw], Lease(self.labeller, self.at, self.until))
            state.n_settled = min(state.n_settled, draw - 1)


class Skipped(_OfDraw, tag="skipped", frozen=True):
    """A labeller passes an item on to another one, under the same number."""

    reason: str

    def why_not(self, state: CampaignState) -> Iterator[str]:
        """The draw is open."""
        yield from super().why_not(state)
        yield from why_settled(state, self.draw)

    def apply(self, state: StateBuilder) -> None:
        """Note who passed it on, and end the lease unless another labeller has it by now."""
        state.own("skipped", "leases")
        state.skipped[self.draw] = (*state.skipped.get(self.draw, ()), self.labeller)
        lease = state.leases.get(self.draw)
        if lease is not None and self.labeller in (None, lease.owner):
            del state.leases[self.draw]


class Resolved(Skipped, tag="resolved", frozen=True):
    """An item is declared unlabelable."""

    def apply(self, state: StateBuilder) -> None:
        """Mark the item, and close its draw."""
        state.own("unlabelable")
        mark = Unlabelable(self.reason, self.labeller, self.at, state.n_events)
        state.unlabelable[self.draw] = mark
        state.close_draw(self.draw)


class Changed(Event, tag="changed", frozen=True):
    """Settings change, from here on."""

    settings: dict[str, Any]

    def apply(self, state: StateBuilder) -> None:
        """Change the settings, and what hangs on them: earlier budgets, leases, draws ahead."""
        new = dict(self.settings)
        if "looks" in new:
            new["looks"] = looks_from_json(new["looks"])
        if "budget" in new:
            state.budgets = (*state.budgets, (state.n_asked, state.settings.budget))
        if "lease_seconds" in new:
            state.move_leases(new["lease_seconds"] - state.settings.lease_seconds)
        state.settings = replace(state.settings, **new)
        if "kind" in new:
            state.discard_unasked()


class LossesReplaced(Event, tag="rescored", frozen=True):
    """The predicted losses of another file guide the draws, from the next item on."""

    source: Source
    fingerprint: str

    def why_not(self, state: CampaignState) -> Iterator[str]:
        """The draws follow predicted losses."""
        yield from super().why_not(state)
        name = state.settings.name
        if state.settings.kind == "uniform":
            yield (
                f"{name!r} is uniform: it draws at random, whatever losses are predicted. To "
                f"follow predictions, first change its kind (levelled change {name} --kind "
                f"adaptive)."
            )

    def apply(self, state: StateBuilder) -> None:
        """Name the file, and forget the draws that nobody was given."""
        state.discard_unasked()
        new = Rescored(state.n_asked + 1, self.source, self.fingerprint)
        state.rescored = (*(one for one in state.rescored if one.first < new.first), new)


class Closed(Event, tag="closed", frozen=True):
    """The campaign ends: no more items are handed out and no more labels recorded."""

    reason: str

    def apply(self, state: StateBuilder) -> None:
        """Note the reason."""
        state.closed = self.reason


class Reopened(Event, tag="reopened", frozen=True):
    """A closed campaign goes on."""

    when_closed: ClassVar[bool] = True

    def why_not(self, state: CampaignState) -> Iterator[str]:
        """It is closed."""
        yield from super().why_not(state)
        if state.closed is None:
            yield f"{state.settings.name!r} is not closed, so it cannot be reopened."

    def apply(self, state: StateBuilder) -> None:
        """Forget the reason."""
        state.closed = None


class Renamed(Event, tag="renamed", frozen=True):
    """The campaign has another name; the log goes on under it."""

    when_closed: ClassVar[bool] = True

    name: str

    def why_not(self, state: CampaignState) -> Iterator[str]:
        """It is a name, and another one."""
        yield from super().why_not(state)
        try:
            check_name(self.name)
        except CampaignError as refused:
            yield str(refused)
        if self.name == state.settings.name:
            yield f"The campaign is called {self.name!r} already."

    def apply(self, state: StateBuilder) -> None:
        """Change the name."""
        state.settings = replace(state.settings, name=self.name)


EVENTS = {
    kind.__struct_config__.tag: kind
    for kind in (
        *(Created, LabelsKnown, RoundBegun, Drawn, PredictionsAttached, Leased, Returned, Answered),
        Amended,
        *(Withdrawn, Skipped, Resolved, Changed, LossesReplaced, Closed, Reopened, Renamed),
    )
}
"""The class of each type of event."""


class _ById:
    """Settings as a key of a cache: the same object, as long as the cache keeps it."""

    def __init__(self, settings: CampaignSettings) -> None:
        self.settings = settings

    def __hash__(self) -> int:
        return id(self.settings)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and self.settings is other.settings


@lru_cache(maxsize=1000)
def _label_refusal(of: _ById, kind: str, label: Label) -> str | None:
    """The reason why a label cannot be one of this campaign; few different ones are told."""
    try:
        (kept,) = check_labels(of.settings, [label])
    except LevelledError as refused:
        return f"label {label!r:.80} is refused: {refused}"
    same = type(kept).__name__ == kind and kept == label
    return None if same else f"label {label!r} would be kept as {kept!r}"


def _why_no_remarks(
    settings: CampaignSettings, note: str | None, rubric: Mapping[str, Label]
) -> Iterator[str]:
    """The note and the rubric must be as the questions of the campaign let them be kept."""
    try:
        kept = merge_remarks(None, {}, check_remarks(settings.questions, note, rubric))
    except LevelledError as refused:
        yield f"its remarks are refused: {refused}"
        return
    if canonical({"note": None, "rubric": {}, **kept}) != canonical(
        {"note": note, "rubric": rubric}
    ):
        yield f"its remarks would be kept as {kept!r:.200}"


def _why_not_theirs(
    draw: int, by: str | None, told: Sequence[Answer | Unlabelable]
) -> Iterator[str]:
    if all(one.by != by for one in told):
        yield f"draw {draw} had no such label of {by or 'nobody'}"


def apply_events(
    events: Iterable[Event | Mapping[str, Any]], state: CampaignState | None = None
) -> CampaignState:
    """The state after `events`, typed or as the log keeps them, from `state` or from nothing."""
    builder = None if state is None else StateBuilder.of(state)
    for event in events:
        builder = _apply(builder, event)
    if builder is None:
        raise CampaignError("A campaign without events has no state.")
    return builder.build()


def replay(
    events: Iterable[Mapping[str, Any]],
) -> Iterator[tuple[CampaignState, Event, Mapping[str, Any]]]:
    """Each event, with the state before it, typed and as the log keeps it.

    The first, which creates the campaign, comes with the state after it. The containers of a
    state change with the next event: use it before going on.
    """
    builder: StateBuilder | None = None
    for place, plain in enumerate(events):
        event = read_event(plain, place)
        if builder is None:
            builder = _apply(None, event)
            yield builder.build(), event, plain
        else:
            yield builder.build(), event, plain
            _apply(builder, event)


def _apply(builder: StateBuilder | None, event: Event | Mapping[str, Any]) -> StateBuilder:
    """The builder after one more event; refuses an event that this version cannot read."""
    place = 0 if builder is None else builder.n_events
    if not isinstance(event, Event):
        event = read_event(event, place)
    try:
        if builder is not None:
            event.apply(builder)
        elif isinstance(event, Created):
            settings = CampaignSettings.from_json(event.settings)
            builder = StateBuilder.of(CampaignState(settings))
        else:
            raise CampaignError("The log does not begin with the creation of the campaign.")
    except (KeyError, TypeError, ValueError, AttributeError) as wrong:
        raise _unreadable(place, event.__struct_config__.tag, f"{wrong!r:.80}") from wrong
    builder.n_events += 1
    return builder


def read_event(plain: Mapping[str, Any], place: int = 0) -> Event:
    """The event at a place of the log; refuses what this version does not know, by its name."""
    name = plain.get("type")
    kind = EVENTS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise _too_new(place, f"is of a type that this version does not know, {name!r:.80}")
    try:
        event: Event = from_plain(kind, plain)
    except msgspec.ValidationError as wrong:
        unknown = [key for key in plain if key not in (*kind.__struct_fields__, "type")]
        if unknown:
            raise _too_new(place, f"({name}) has the unknown key {unknown[0]!r:.80}") from wrong
        raise _unreadable(place, name, explain(wrong, plain)) from wrong
    if not 1 <= event.version <= kind.newest:
        raise _too_new(place, f"({name}) has the unknown version {event.version}")
    return event


def _too_new(place: int, what: str) -> CampaignError:
    return CampaignError(
        f"Event {place} {what}: it was written by a newer Levelled. Update with: pip install "
        f"--upgrade levelled"
    )


def _unreadable(place: int, kind: object, why: str) -> CampaignError:
    return CampaignError(
        f"Event {place} ({kind}) cannot be read ({why}): it was changed by something else, or "
        f"written by a newer Levelled. Update with pip install --upgrade levelled, or go back to a "
        f"backup."
    )
