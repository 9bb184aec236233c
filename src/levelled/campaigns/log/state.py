"""The state of a campaign: a pure function of its events.

Nothing here reads a clock, a file or a database.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace

from levelled.campaigns.drawing.drawn_items import DrawnItems
from levelled.campaigns.log.label_events import LABEL_EVENTS, LabelsBuilder, move_leases
from levelled.campaigns.log.records import Attached, DrawnItem, Event, Lease, Rescored, Round
from levelled.campaigns.people.answers import Answer, Replaced, Unlabelable
from levelled.campaigns.settings import CampaignSettings, looks_from_json
from levelled.errors import CampaignError
from levelled.labels import Label


@dataclass(frozen=True, slots=True, eq=False)
class CampaignState:
    """A campaign after some of its events.

    Draws keep their order; answers may come in any. Draws 1..n_settled are answered or
    unlabelable, without a gap. Estimates use only these: using every answer that happens to be in
    would bias them, because hard items take longer to label.
    """

    settings: CampaignSettings
    draws: tuple[DrawnItem, ...] | DrawnItems = ()
    n_asked: int = 0
    """Draws 1..n_asked have been given to somebody at some time."""
    leases: Mapping[int, Lease] = field(default_factory=dict)
    answers: Mapping[int, Answer] = field(default_factory=dict)
    unlabelable: Mapping[int, Unlabelable] = field(default_factory=dict)
    """Draws whose items cannot be labelled."""
    skipped: Mapping[int, tuple[str | None, ...]] = field(default_factory=dict)
    """The labellers who passed on a draw that is still open."""
    opinions: Mapping[int, tuple[Answer, ...]] = field(default_factory=dict)
    """Answers to draws that had one already."""
    amended: Mapping[int, tuple[Replaced, ...]] = field(default_factory=dict)
    """The labels of a draw before it was amended, in order."""
    attached: Mapping[str, Attached] = field(default_factory=dict)
    rounds: tuple[Round, ...] = ()
    """The rounds of the draws, in order; a static campaign has none until it is switched."""
    rescored: tuple[Rescored, ...] = ()
    """Files that replaced the predicted losses of the pool, in order."""
    restarted: bool = False
    """True once the draws no longer continue those that were begun at the creation."""
    budgets: tuple[tuple[int, int | None], ...] = ()
    """Earlier budgets, each with the last draw that was given out while it was in force."""
    closed: str | None = None
    n_settled: int = 0
    n_events: int = 0
    draw_of: Mapping[str, int] = field(default_factory=dict)
    """The draw of an item, by its id as text."""

    def pred_counts(self, model: str) -> Mapping[str, int]:
        """How often each class is predicted in the whole pool."""
        later = self.attached.get(model)
        return self.settings.pred_counts.get(model, {}) if later is None else later.pred_counts

    def budgets_of(self, n: int) -> list[int]:
        """The budget in force when each of draws 1..n was given out, at most the pool."""
        size, changes = self.settings.pool_size, [*self.budgets, (n, self.settings.budget)]
        now = [next(budget for last, budget in changes if draw <= last) for draw in range(1, n + 1)]
        return [min(budget or size, size) for budget in now]

    def relabelled(self) -> list[int]:
        """The draws that had another label before, in order; a new note is none."""
        return [
            draw
            for draw, before in sorted(self.amended.items())
            if any(one.label != self.answers[draw].label for one in before)
        ]

    def open_draws(self) -> list[int]:
        """The draws that were given out and are neither answered nor unlabelable."""
        return [
            draw
            for draw in range(self.n_settled + 1, self.n_asked + 1)
            if draw not in self.answers and draw not in self.unlabelable
        ]


def apply_events(events: Iterable[Event], state: CampaignState | None = None) -> CampaignState:
    """The state after `events`, starting from `state` or from nothing.

    Each container is copied at most once, so the cost grows with the length of the log.
    """
    builder: _StateBuilder | None = None if state is None else _StateBuilder.of(state)
    for event in events:
        builder = _apply(builder, event)
    if builder is None:
        raise CampaignError("A campaign without events has no state.")
    return builder.build()


def replay(events: Iterable[Event]) -> Iterator[tuple[CampaignState | None, Event]]:
    """Each event with the state before it, which is None for the first.

    The containers of a state change with the next event: use it before going on.
    """
    builder: _StateBuilder | None = None
    for event in events:
        yield (None if builder is None else builder.build()), event
        builder = _apply(builder, event)


def _apply(builder: "_StateBuilder | None", event: Event) -> "_StateBuilder":
    """The builder after one more event; refuses an event that this version cannot read."""
    kind, place = str(event.get("type")), 0 if builder is None else builder.n_events
    if builder is None and kind != "created":
        raise CampaignError("The log does not begin with the creation of the campaign.")
    _refuse_unknown(kind, place)
    try:
        if kind == "created":
            builder = _StateBuilder.of(CampaignState(CampaignSettings.from_json(event["settings"])))
        else:
            assert builder is not None
            _APPLY[kind](builder, event)
    except (KeyError, TypeError, ValueError, AttributeError) as wrong:
        raise CampaignError(
            f"Event {place} ({kind}) cannot be read ({wrong!r:.80}): it was changed by something "
            f"else, or written by a newer Levelled. Update with pip install --upgrade levelled, "
            f"or go back to a backup."
        ) from wrong
    builder.n_events += 1
    return builder


def _refuse_unknown(kind: str, place: int) -> None:
    if kind != "created" and kind not in _APPLY:
        raise CampaignError(
            f"Event {place} is of a type that this version does not know, {kind!r}: it was written "
            f"by a newer Levelled. Update with: pip install --upgrade levelled"
        )


@dataclass(slots=True, kw_only=True)
class _StateBuilder(LabelsBuilder):
    """A state while events change it."""

    base: CampaignState
    settings: CampaignSettings
    attached: dict[str, Attached]
    rounds: tuple[Round, ...]
    rescored: tuple[Rescored, ...]
    restarted: bool
    budgets: tuple[tuple[int, int | None], ...]
    closed: str | None
    draw_of: dict[str, int]
    added: list[DrawnItem] = field(default_factory=list)

    @classmethod
    def of(cls, state: CampaignState) -> "_StateBuilder":
        return cls(base=state, **{name: getattr(state, name) for name in _COPIED})

    def discard_unasked(self) -> None:
        """Forget the draws that nobody was given: no label depends on them."""
        self.own("draw_of")
        draws, self.added = self.base.draws + tuple(self.added), []
        for item in draws[self.n_asked :]:
            del self.draw_of[str(item.id)]
        self.base = replace(self.base, draws=draws[: self.n_asked])
        self.rounds = tuple(one for one in self.rounds if one.first <= self.n_asked)
        self.restarted = True

    def build(self) -> CampaignState:
        while (next_ := self.n_settled + 1) in self.answers or next_ in self.unlabelable:
            self.n_settled = next_
        draws = self.base.draws + tuple(self.added) if self.added else self.base.draws
        copied = {name: getattr(self, name) for name in _COPIED}
        self.base, self.added = CampaignState(draws=draws, **copied), []
        return self.base


_COPIED = tuple(one.name for one in fields(CampaignState) if one.name != "draws")


def _apply_drawn(state: _StateBuilder, event: Event) -> None:
    state.own("draw_of")
    for plain in event["draws"]:
        item = DrawnItem.from_json(plain)
        state.added.append(item)
        state.draw_of[str(item.id)] = item.draw


def _apply_round(state: _StateBuilder, event: Event) -> None:
    state.rounds = (*state.rounds, Round.from_json(event))


def _apply_attached(state: _StateBuilder, event: Event) -> None:
    state.own("attached")
    before = state.attached.get(event["model"])
    pred: dict[int, Label] = {int(draw): one for draw, one in event["pred"].items()}
    proba = {int(draw): tuple(p) for draw, p in event["proba"].items()}
    if before is not None and before.fingerprint == event["fingerprint"]:  # for further draws
        pred, proba = {**before.pred, **pred}, {**before.proba, **proba}
    state.attached[event["model"]] = Attached(
        event["source"], event["fingerprint"], event["pred_counts"], pred, proba
    )


def _apply_changed(state: _StateBuilder, event: Event) -> None:
    new = dict(event["settings"])
    if "looks" in new:
        new["looks"] = looks_from_json(new["looks"])
    if "budget" in new:
        state.budgets = (*state.budgets, (state.n_asked, state.settings.budget))
    if "lease_seconds" in new:
        move_leases(state, new["lease_seconds"] - state.settings.lease_seconds)
    state.settings = replace(state.settings, **new)
    if "kind" in new:
        state.discard_unasked()


def _apply_rescored(state: _StateBuilder, event: Event) -> None:
    state.discard_unasked()
    new = Rescored(state.n_asked + 1, event["source"], event["fingerprint"])
    state.rescored = (*(one for one in state.rescored if one.first < new.first), new)


def _apply_closed(state: _StateBuilder, event: Event) -> None:
    state.closed = event["reason"]


def _apply_reopened(state: _StateBuilder, event: Event) -> None:
    state.closed = None


def _apply_renamed(state: _StateBuilder, event: Event) -> None:
    state.settings = replace(state.settings, name=event["name"])


_APPLY: dict[str, Callable[[_StateBuilder, Event], None]] = {
    **LABEL_EVENTS,
    "round": _apply_round,
    "drawn": _apply_drawn,
    "attached": _apply_attached,
    "changed": _apply_changed,
    "rescored": _apply_rescored,
    "closed": _apply_closed,
    "reopened": _apply_reopened,
    "renamed": _apply_renamed,
}
