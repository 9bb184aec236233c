"""The state of a campaign, a pure function of its events, and the rules that several steps share.

Nothing here reads a clock, a file or a database.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from typing import Any, get_type_hints

from levelled._check import whole
from levelled.campaigns.drawing.drawn_items import DrawnItems
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
    from_plain,
    to_plain,
)
from levelled.campaigns.settings import CampaignSettings
from levelled.errors import CampaignError
from levelled.labels import Label, class_texts, match_classes


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
    given: Mapping[int, tuple[str | None, ...]] = field(default_factory=dict)
    """The labellers who ever had a draw, in order, also those whose lease ended."""
    answers: Mapping[int, Answer] = field(default_factory=dict)
    unlabelable: Mapping[int, Unlabelable] = field(default_factory=dict)
    """Draws whose items cannot be labelled."""
    skipped: Mapping[int, tuple[str | None, ...]] = field(default_factory=dict)
    """The labellers who passed on a draw that is still open."""
    opinions: Mapping[int, tuple[Answer, ...]] = field(default_factory=dict)
    """Answers to draws that had one already."""
    amended: Mapping[int, tuple[Answer | Unlabelable, ...]] = field(default_factory=dict)
    """The labels of a draw before it was amended, and marks, in order."""
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
    known: tuple[KnownLabels, ...] = ()
    """Labels that were known without a draw, first those of the creation."""
    draw_of: Mapping[str, int] = field(default_factory=dict)
    """The draw of an item, by its id as text."""

    @property
    def known_items(self) -> list[KnownItem]:
        """The items whose labels are known without a draw, in the order in which they came."""
        return [item for labels in self.known for item in labels.items]

    @property
    def last_draw(self) -> int:
        """The number of the last draw that may be made: the budget, or all that can be drawn."""
        n_known = sum(len(labels.items) for labels in self.known)
        return min(self.settings.last_draw, self.settings.pool_size - n_known)

    def pred_counts(self, model: str) -> Mapping[str, int]:
        """How often each class is predicted in the whole pool."""
        later = self.attached.get(model)
        return self.settings.pred_counts.get(model, {}) if later is None else later.pred_counts

    def budgets_of(self, n: int) -> list[int]:
        """The budget in force when each of draws 1..n was given out, at most the pool."""
        size, changes = self.settings.open_size, [*self.budgets, (n, self.settings.budget)]
        now = [next(budget for last, budget in changes if draw <= last) for draw in range(1, n + 1)]
        return [min(budget or size, size) for budget in now]

    def relabelled(self) -> list[int]:
        """The draws that had another label before, in order; a new note is none."""
        return [
            draw
            for draw, before in sorted(self.amended.items())
            if any(one.label != self.answers[draw].label for one in before)
        ]

    def open_leases(self) -> dict[int, Lease]:
        """The leases of open draws, in the order of the draws; some may have run out."""
        return {draw: self.leases[draw] for draw in self.open_draws() if draw in self.leases}

    def open_draws(self) -> list[int]:
        """The draws that were given out and are neither answered nor unlabelable."""
        return [
            draw
            for draw in range(self.n_settled + 1, self.n_asked + 1)
            if draw not in self.answers and draw not in self.unlabelable
        ]


@dataclass(slots=True, kw_only=True)
class StateBuilder:
    """A state while events change it; `CampaignState` describes the fields.

    A container is copied before its first change, so the cost of a fold grows with the length of
    the log.
    """

    base: CampaignState
    settings: CampaignSettings
    n_asked: int
    n_settled: int
    n_events: int
    leases: dict[int, Lease]
    given: dict[int, tuple[str | None, ...]]
    answers: dict[int, Answer]
    unlabelable: dict[int, Unlabelable]
    skipped: dict[int, tuple[str | None, ...]]
    opinions: dict[int, tuple[Answer, ...]]
    amended: dict[int, tuple[Answer | Unlabelable, ...]]
    attached: dict[str, Attached]
    rounds: tuple[Round, ...]
    rescored: tuple[Rescored, ...]
    restarted: bool
    budgets: tuple[tuple[int, int | None], ...]
    closed: str | None
    known: tuple[KnownLabels, ...]
    draw_of: dict[str, int]
    added: list[DrawnItem] = field(default_factory=list)
    owned: set[str] = field(default_factory=set)
    """The containers that are copies already."""

    @classmethod
    def of(cls, state: CampaignState) -> "StateBuilder":
        """A builder that begins with a state."""
        return cls(base=state, **{name: getattr(state, name) for name in _COPIED})

    def own(self, *names: str) -> None:
        """Copy these containers, unless they are copies already."""
        for name in names:
            if name not in self.owned:
                setattr(self, name, dict(getattr(self, name)))
                self.owned.add(name)

    def lease(self, draws: Iterable[int], lease: Lease) -> None:
        """Keep draws for a labeller, who has them from now on; a renewed lease began earlier."""
        self.own("leases", "given")
        alone = (lease.owner,)
        for draw in draws:
            before = self.leases.get(draw)
            since = lease.since if before is None or before.owner != lease.owner else before.since
            self.leases[draw] = Lease(lease.owner, since, lease.until)
            owners = self.given.setdefault(draw, alone)
            if lease.owner not in owners:
                self.given[draw] = owners + alone

    def close_draw(self, draw: int) -> None:
        """Forget who has, or passed on, a draw that is settled."""
        self.own("leases", "skipped")
        self.leases.pop(draw, None)
        self.skipped.pop(draw, None)

    def replace_opinion(self, draw: int, by: str | None, *new: Answer) -> None:
        """Put `new` in the place of the last opinion of an owner on a draw."""
        self.own("opinions")
        opinions = self.opinions[draw]
        at = max(place for place, one in enumerate(opinions) if one.by == by)
        _set_or_drop(self.opinions, draw, (*opinions[:at], *new, *opinions[at + 1 :]))

    def restore(self, draw: int) -> bool:
        """Give a draw the label before its last, or another labeller's; False if it has none."""
        if draw in self.amended:
            *earlier, last = self.amended[draw]
            _set_or_drop(self.amended, draw, tuple(earlier))
            if isinstance(last, Unlabelable):
                self.unlabelable[draw] = last
            else:
                self.answers[draw] = last
        elif draw in self.opinions:
            self.answers[draw], *others = self.opinions[draw]
            _set_or_drop(self.opinions, draw, tuple(others))
        else:
            return False
        return True

    def move_leases(self, seconds: int) -> None:
        """Let the leases of the items that are out end later by some seconds, or earlier."""
        self.own("leases")
        for draw, lease in self.leases.items():
            until = datetime.fromisoformat(lease.until) + timedelta(seconds=seconds)
            self.leases[draw] = Lease(lease.owner, lease.since, until.isoformat(timespec="seconds"))

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
        """The state by now."""
        while (next_ := self.n_settled + 1) in self.answers or next_ in self.unlabelable:
            self.n_settled = next_
        draws = self.base.draws + tuple(self.added) if self.added else self.base.draws
        copied = {name: getattr(self, name) for name in _COPIED}
        self.base, self.added = CampaignState(draws=draws, **copied), []
        return self.base


_COPIED = tuple(one.name for one in fields(CampaignState) if one.name != "draws")
_PLAIN = tuple(name for name in _COPIED if name not in ("settings", "draw_of"))
"""The fields that are kept as plain values; the others follow from them, or have their own form."""


def _set_or_drop(values: dict[int, tuple[Any, ...]], draw: int, new: tuple[Any, ...]) -> None:
    if new:
        values[draw] = new
    else:
        del values[draw]


def state_to_plain(state: CampaignState) -> dict[str, Any]:
    """The fields of a state but for its settings and draws, as plain JSON."""
    return {name: to_plain(getattr(state, name)) for name in _PLAIN}


def state_from_plain(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that `state_to_plain` wrote."""
    kinds = get_type_hints(CampaignState)
    return {name: from_plain(kinds[name], plain[name]) for name in _PLAIN}


_LONGEST = 1000
"""Characters of a label, a reason or a name in the log."""


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
    for reason in why_not_asked(state, draw, name):
        raise CampaignError(reason)
    return state.draws[draw - 1]


def check_labels(settings: CampaignSettings, labels: Sequence[object]) -> list[Label]:
    """Labels as the campaign keeps them: names of classes, or numbers."""
    if any(label is None or str(label).strip() == "" for label in labels):
        raise CampaignError(
            "An empty label is no answer: skip the item, or mark it as unlabelable."
        )
    for label in labels:
        check_text("A label", label if isinstance(label, str) else None)
    if not settings.numeric:
        labels = _as_classes(settings, labels)
    for metric in settings.label_checks:  # a label that one metric refuses could not be used
        labels = metric.labels(labels, settings.classes)
    return [label if isinstance(label, float) else str(label) for label in labels]


def _as_classes(settings: CampaignSettings, labels: Sequence[object]) -> list[str]:
    """Labels in the spelling of the classes, or of predicted ones where any label is taken."""
    names, closed, loose = class_texts(labels), settings.label_classes, settings.normalise
    if closed:
        return match_classes(names, closed, loose=loose)
    predicted = [*dict.fromkeys(name for one in settings.pred_counts.values() for name in one)]
    as_written = settings.allowed_labels is None  # a campaign of before
    return match_classes(names, predicted, loose=loose, is_open=True, as_written=as_written)


def check_text(name: str, text: str | None) -> None:
    """Refuse text that is too long for the log."""
    if text is not None and len(text) > _LONGEST:
        raise CampaignError(
            f"{name} has {len(text):,} characters, and at most {_LONGEST:,} are kept: shorten it."
        )


def check_owner(owner: str | None) -> None:
    """Refuse a name that looks like another labeller's, or is too long."""
    check_text("The name of the owner", owner)
    if owner is not None and not (owner and owner.isprintable() and owner == owner.strip()):
        raise CampaignError(
            f"{owner!r} is no name of a labeller: printable characters, without blanks at the ends."
        )


def why_closed(state: CampaignState) -> Iterator[str]:
    """The reason why a closed campaign does not take a step."""
    if state.closed is not None:
        name = state.settings.name
        yield f"{name!r} is closed ({state.closed}). To go on: levelled change {name} --reopen"


def refuse_closed(state: CampaignState) -> None:
    """Refuse a step that a closed campaign does not take."""
    for reason in why_closed(state):
        raise CampaignError(reason)


def why_not_asked(state: CampaignState, draw: int, name: str | None = None) -> Iterator[str]:
    """The reason why there can be no label of this draw, under this name of it."""
    if not 1 <= draw <= state.n_asked:
        yield (
            f"{name or f'Draw {draw}'} was never asked in {state.settings.name!r}. A label the "
            f"sampler did not choose has no probability and cannot be weighted."
        )


def why_settled(state: CampaignState, draw: int) -> Iterator[str]:
    """The reason why a draw is not open."""
    if draw in state.answers:
        yield f"Draw {draw} has an answer already: amend it instead."
    elif draw in state.unlabelable:
        yield f"Draw {draw} is already marked as unlabelable."


def why_not_given(state: CampaignState, draw: int, labeller: str | None) -> Iterator[str]:
    """The reason why a draw is not this labeller's: it was never given to them."""
    if state.settings.rules > 1 and labeller not in state.given.get(draw, ()):
        yield (
            f"Draw {draw} was never given to {labeller or 'anybody without a name'}, and an item "
            f"belongs to those who were given it. An analyst can act for them: levelled tell "
            f"{state.settings.name} ... --for NAME"
        )


def why_kept_for_another(state: CampaignState, draw: int, owner: str | None) -> Iterator[str]:
    """The reason why this owner cannot give a draw back: somebody else has it."""
    lease = state.leases.get(draw)
    if lease is not None and lease.owner != owner:
        yield (
            f"Draw {draw} is kept for {lease.owner or 'a labeller without a name'}, not for "
            f"{owner or 'you'}. To free it whoever has it: levelled open {state.settings.name} "
            f"--return --draw {draw} --all"
        )


def holder_of(state: CampaignState, draw: int) -> str | None:
    """Whose a draw is when nobody is named: who has it, else who settled it or had it last."""
    holder = state.leases.get(draw) or state.answers.get(draw) or state.unlabelable.get(draw)
    if isinstance(holder, Lease):
        return holder.owner
    return state.given.get(draw, (None,))[-1] if holder is None else holder.by


def check_name(name: str) -> str:
    """The name of a campaign; refuses one that cannot be typed or would be misread."""
    is_text = 1 <= len(name) <= 100 and name.isprintable() and name == name.strip()
    if not is_text or "/" in name or name in (".", ".."):  # which a browser takes out of addresses
        raise CampaignError(
            f"{name!r} is no name for a campaign: up to 100 printable characters, without a slash "
            f"and without blanks at the ends, and neither . nor .. alone."
        )
    return name


def lease_end(state: CampaignState, now: datetime, seconds: int | None = None) -> str:
    """The time until which an item that is handed out now is kept for its owner.

    It is kept for the time that the campaign says, or for fewer `seconds`.
    """
    most = state.settings.lease_seconds
    end = now + timedelta(seconds=most if seconds is None else min(seconds, most))
    return end.isoformat(timespec="seconds")


def name_owner(owner: str | None) -> str:
    """The owner in a sentence; one without a name is addressed as you."""
    return "you" if owner is None else owner
