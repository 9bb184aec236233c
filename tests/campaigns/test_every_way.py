"""Whatever happens in whatever order, a campaign's state and figures are what its log says."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from campaigns.simulated import (
    START,
    amend_one,
    beginning,
    by_hand,
    spam,
    tell_one,
    weights_by_hand,
)
from levelled.campaigns import Figure
from levelled.campaigns.drawing.drawing import draw_again, draw_events
from levelled.campaigns.figures.figures import estimate_figures
from levelled.campaigns.figures.settled import FigureCache
from levelled.campaigns.log import decide
from levelled.campaigns.log.events import (
    Closed,
    Event,
    Reopened,
    Resolved,
    Skipped,
    apply_events,
    read_event,
)
from levelled.campaigns.log.records import DrawnItem, to_plain
from levelled.campaigns.log.state import CampaignState, find_draw
from levelled.errors import CampaignError
from levelled.sources import open_pool

N, LEASE = 30, 100
POOL, TRUTH = spam(N, seed=3)

OWNERS = st.sampled_from(["ann", "bob", "cy", None])
LABELS = st.sampled_from(["ham", "spam"])
PART = st.integers(0, 10**6)
"""Which of several draws, whatever their number is by then."""


class Campaigning(RuleBasedStateMachine):
    """Labellers at work, with a clock that the test moves, beside a plain record of what counts."""

    weighted: tuple[str, ...] = ("error", "brier")
    """The metrics whose estimate is the mean of losses with the weights of R_LURE."""

    @initialize(budget=st.sampled_from([None, 5, 12, 30]), in_flight=st.integers(1, 8))
    def begin(self, budget: int | None, in_flight: int) -> None:
        self.events: list[Event] = beginning(
            POOL,
            N,
            metrics=("error", "accuracy", "brier", "f1:spam"),
            slices=("country",),
            budget=budget,
            in_flight=in_flight,
            lease_seconds=LEASE,
        )
        self.state = apply_events(self.events)
        self.cache = FigureCache()
        self.now: datetime = START
        self.held: dict[int, tuple[str | None, datetime]] = {}
        self.labels: dict[int, str] = {}
        self.lost: set[int] = set()
        self.passed: dict[int, set[str | None]] = {}
        self.before: dict[int, list[str | None]] = {}
        self.lease = LEASE

    def draw_ahead(self, n: int) -> None:
        """Draw n more items; here all of them are drawn already."""

    def do(self, events: Sequence[Event]) -> None:
        self.events.extend(events)
        before, as_it_was = self.state, containers(self.state)
        self.state = apply_events(events, before) if events else before
        assert containers(before) == as_it_was, "a state that was handed out has changed"

    def record(self, kind: type[Event], owner: str | None, **payload: object) -> None:
        self.do([decide.make_event(kind, self.state, owner, self.now, **payload)])

    def on_item(
        self, decision: Callable[..., tuple[Event, ...]], item: DrawnItem, *what: object
    ) -> None:
        self.do(decision(self.state, item, *what, self.now))

    def one(self, part: int) -> DrawnItem:
        return self.state.draws[part % self.state.n_asked]

    def is_settled(self, draw: int) -> bool:
        return draw in self.labels or draw in self.lost

    def goes_on(self) -> bool:
        return self.state.closed is None

    def asked(self) -> bool:
        return self.goes_on() and self.state.n_asked > 0

    @precondition(goes_on)
    @rule(n=st.integers(1, 6), owner=OWNERS)
    def ask(self, n: int, owner: str | None) -> None:
        self.draw_ahead(n)
        in_flight = {d for d, (_, until) in self.held.items() if until > self.now}
        own = sorted(d for d in in_flight if owner is not None and self.held[d][0] == owner)
        given = decide.ask(self.state, n, owner, self.now)
        draws = [one.draw for one in given.asks]
        assert len(set(draws)) == len(draws) <= n
        assert (given.note is None) == (len(draws) == n)
        assert draws[: len(own)] == own[:n], "what the owner has comes first"
        new = draws[len(own) :]
        assert not in_flight & set(new), "held by somebody"
        assert len(in_flight) + len(new) <= max(self.state.settings.in_flight, len(in_flight))
        for draw in draws:
            assert not self.is_settled(draw)
            assert draw > self.state.n_asked or owner not in self.passed.get(draw, set())
            assert self.state.settings.budget is None or draw <= self.state.settings.budget
        self.hold(draws, owner)
        self.do(given.events)
        self.nothing_open_was_passed_over(n - len(own[:n]), len(in_flight), owner, new)

    def hold(self, draws: list[int], owner: str | None) -> None:
        until = self.now + timedelta(seconds=self.lease)
        self.held |= dict.fromkeys(draws, (owner, until))

    @precondition(goes_on)
    @rule(owner=OWNERS)
    def mine(self, owner: str | None) -> None:
        """An owner has all open items again, but for expired ones that there is no room for."""
        in_flight = {d for d, (_, until) in self.held.items() if until > self.now}
        own = {d for d, (by, _) in self.held.items() if by == owner}
        given = decide.ask(self.state, None, owner, self.now)
        draws = [one.draw for one in given.asks]
        assert own & in_flight <= {*draws} <= own
        room = max(self.state.settings.in_flight - len(in_flight), 0)
        assert len(draws) == len(own & in_flight) + min(len(own - in_flight), room)
        self.hold(draws, owner)
        self.do(given.events)

    @precondition(goes_on)
    @rule(owner=OWNERS, everyone=st.booleans())
    def give_back(self, owner: str | None, everyone: bool) -> None:
        back = {d for d, (by, _) in self.held.items() if everyone or by == owner}
        self.do(decide.give_back(self.state, owner, None, everyone, self.now))
        for draw in back:
            del self.held[draw]

    @precondition(goes_on)
    @rule(seconds=st.sampled_from([1, LEASE, 3 * LEASE]))
    def change_the_lease(self, seconds: int) -> None:
        """What is out is kept as long as what is handed out from now on."""
        self.do(decide.change(self.state, "ann", self.now, lease_seconds=seconds))
        more = timedelta(seconds=seconds - self.lease)
        self.held = {d: (by, until + more) for d, (by, until) in self.held.items()}
        self.lease = seconds

    @precondition(lambda self: self.state.closed is not None)
    @rule()
    def reopen(self) -> None:
        self.record(Reopened, "ann")
        assert self.goes_on()

    def nothing_open_was_passed_over(
        self, n: int, in_flight: int, owner: str | None, given: list[int]
    ) -> None:
        """Fewer than asked for come back only if there is no room or nothing to give."""
        if len(given) == n or in_flight + len(given) == self.state.settings.in_flight:
            return
        held = {d for d, (_, until) in self.held.items() if until > self.now}
        left = {
            draw
            for draw in range(1, min(self.state.settings.budget or N, N) + 1)
            if not self.is_settled(draw) and owner not in self.passed.get(draw, set())
        }
        assert not left - held

    @precondition(asked)
    @rule(part=PART, label=LABELS, owner=OWNERS, by_id=st.booleans())
    def tell(self, part: int, label: str, owner: str | None, by_id: bool) -> None:
        """In any order, twice, late, by another than was asked, or against an answer."""
        item = self.one(part)
        item_found = find_draw(self.state, id=item.id) if by_id else item
        assert item_found is item
        first, opinions = not self.is_settled(item.draw), self.state.opinions.get(item.draw, ())
        answer, own = self.state.answers.get(item.draw), self.own_label(item.draw, owner)
        if own not in (None, label):
            with pytest.raises(CampaignError, match="use amend"):
                self.on_item(tell_one, item, label, owner)
            return
        self.on_item(tell_one, item, label, owner)
        if first:
            self.labels[item.draw] = label
            self.held.pop(item.draw, None)
            self.passed.pop(item.draw, None)
        later = self.state.opinions.get(item.draw, ())
        is_known = label in {one.label for one in opinions} | {self.labels.get(item.draw)}
        named = owner is not None and (answer is None or answer.by is not None)
        is_added = not first and own is None and (named or not is_known)
        assert len(later) - len(opinions) == is_added
        assert tell_one(self.state, item, label, owner, self.now) == (), "told twice"

    def own_label(self, draw: int, owner: str | None) -> object:
        """The label that this owner gave a draw, if it is known who is who."""
        answer, opinions = self.state.answers.get(draw), self.state.opinions.get(draw, ())
        if answer is not None and answer.by == owner:
            return answer.label
        return next((one.label for one in opinions if one.by == owner and owner), None)

    @precondition(lambda self: self.state.n_asked > 0)
    @rule(part=PART, label=LABELS, owner=OWNERS)
    def amend(self, part: int, label: str, owner: str | None) -> None:
        item = self.one(part)
        answer, opinions = self.state.answers.get(item.draw), self.state.opinions.get(item.draw, ())
        has_opinion = owner is not None and any(one.by == owner for one in opinions)
        if has_opinion and (answer is None or answer.by != owner):  # that is corrected
            self.on_item(amend_one, item, label, owner)
            assert self.own_label(item.draw, owner) == label
            return
        if not self.is_settled(item.draw):
            with pytest.raises(CampaignError, match="amend"):
                self.on_item(amend_one, item, label, owner)
            return
        self.on_item(amend_one, item, label, owner)
        if self.labels.get(item.draw) != label:
            self.before.setdefault(item.draw, []).append(self.labels.get(item.draw))
        self.labels[item.draw] = label
        self.lost.discard(item.draw)

    @precondition(asked)
    @rule(owner=OWNERS)
    def undo(self, owner: str | None) -> None:
        """Back to the label before, or to another labeller's, or to an open draw."""
        try:
            (event,) = decide.undo(self.state, owner, self.now)
        except CampaignError:
            for told in (self.state.answers, self.state.unlabelable):
                assert all(one.by != owner for one in told.values())
            return
        draw, opinions = event.draw, self.state.opinions.get(event.draw, ())
        self.do((event,))
        if event.opinion:
            return
        label: object = self.before[draw].pop() if self.before.get(draw) else None
        self.lost.discard(draw)
        if label is None and draw in self.state.unlabelable:
            self.lost.add(draw)
        elif label is None and opinions:
            label = opinions[0].label
        self.labels.pop(draw, None)
        if label is not None:
            self.labels[draw] = str(label)
        elif draw not in self.lost:
            self.hold([draw], owner)

    @precondition(asked)
    @rule(part=PART, owner=OWNERS)
    def skip(self, part: int, owner: str | None) -> None:
        item = self.one(part)
        if self.is_settled(item.draw):
            with pytest.raises(CampaignError, match="already"):
                self.record(Skipped, owner, draw=item.draw, reason="")
            return
        self.record(Skipped, owner, draw=item.draw, reason="")
        self.passed.setdefault(item.draw, set()).add(owner)
        if owner is None or self.held.get(item.draw, (None,))[0] == owner:
            self.held.pop(item.draw, None)

    @precondition(asked)
    @rule(part=PART, owner=OWNERS)
    def mark_unlabelable(self, part: int, owner: str | None) -> None:
        item = self.one(part)
        if self.is_settled(item.draw):
            with pytest.raises(CampaignError, match="already"):
                self.record(Resolved, owner, draw=item.draw, reason="blank")
            return
        self.record(Resolved, owner, draw=item.draw, reason="blank")
        self.lost.add(item.draw)
        self.held.pop(item.draw, None)
        self.passed.pop(item.draw, None)

    @rule(seconds=st.sampled_from([1, LEASE - 1, LEASE, 3 * LEASE]))
    def wait(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @precondition(goes_on)
    @rule(budget=st.none() | st.integers(1, N))
    def change_budget(self, budget: int | None) -> None:
        if budget is not None and budget < self.state.n_asked:
            with pytest.raises(CampaignError, match="already given out"):
                decide.change(self.state, "ann", self.now, budget=budget)
            return
        self.do(decide.change(self.state, "ann", self.now, budget=budget))
        assert self.state.settings.budget == budget

    @precondition(lambda self: self.asked() and self.state.n_settled > 3)
    @rule()
    def close(self) -> None:
        self.record(Closed, "ann", reason="enough")
        item = self.state.draws[0]
        for refused in (
            lambda: decide.ask(self.state, 1, "ann", self.now),
            lambda: tell_one(self.state, item, "ham", "ann", self.now),
            lambda: self.record(Resolved, "ann", draw=1, reason="blank"),
            lambda: decide.change(self.state, "ann", self.now, budget=None),
        ):
            with pytest.raises(CampaignError, match="closed"):
                refused()

    @invariant()
    def the_state_is_what_the_log_says(self) -> None:
        assert as_plain(self.state) == as_plain(apply_events(self.events))

    @invariant()
    def what_was_told_counts(self) -> None:
        assert {draw: one.label for draw, one in self.state.answers.items()} == self.labels
        assert set(self.state.unlabelable) == self.lost

    @invariant()
    def the_settled_prefix_ends_at_the_first_gap(self) -> None:
        gap = next(m for m in range(1, N + 2) if not self.is_settled(m))
        assert self.state.n_settled == gap - 1
        assert self.state.n_settled + len(self.state.open_draws()) <= self.state.n_asked

    @invariant()
    def figures_are_those_from_scratch_and_by_hand(self) -> None:
        figures = estimate_figures(self.state, self.cache)
        scratch = estimate_figures(apply_events(self.events), FigureCache())
        for now, again in zip(figures, scratch, strict=True):
            assert as_numbers(now) == pytest.approx(as_numbers(again), rel=0, abs=1e-12)
            assert now.estimate.low <= now.estimate.high
        by_name = {(one.metric, one.slice): one.estimate.value for one in figures}
        for metric in ("error", "brier"):
            if metric in self.weighted or min(self.lost, default=N + 1) <= self.state.n_settled:
                self.agrees_by_hand(by_name[metric, None], metric, None)
            self.agrees_by_hand(by_name[metric, "country=fr"], metric, "fr")
        error, accuracy = by_name["error", None], by_name["accuracy", None]
        assert accuracy == (None if error is None else pytest.approx(1 - error, abs=1e-12))

    def agrees_by_hand(self, value: float | None, metric: str, country: str | None) -> None:
        n = self.state.n_settled
        items = self.state.draws[:n]
        losses = [self.loss(item, metric) for item in items]
        counted = [
            item.draw in self.labels and country in (None, item.slices["country"]) for item in items
        ]
        if not any(counted):
            assert value is None
        elif all(counted) and country is None:
            most = (1.0 if metric == "error" else 2.0) * (N - n)
            inside = np.clip(by_hand(self.state, losses), sum(losses) / N, (sum(losses) + most) / N)
            assert value == pytest.approx(inside, abs=1e-12)
        else:
            weights = [v * c for v, c in zip(weights_by_hand(self.state, n), counted, strict=True)]
            total = sum(v * loss for v, loss in zip(weights, losses, strict=True))
            assert value == pytest.approx(total / sum(weights), abs=1e-12)

    def loss(self, item: DrawnItem, metric: str) -> float:
        label = self.labels.get(item.draw)
        if metric == "error":
            return float(label != item.pred[""])
        return sum(
            (p - (name == label)) ** 2
            for p, name in zip(item.proba[""], ("ham", "spam"), strict=True)
        )


class Adapting(Campaigning):
    """The same in a campaign that draws in rounds and may change its kind."""

    weighted = ("brier",)
    pool = open_pool(POOL, slices=["country"])

    @initialize(budget=st.sampled_from([None, 5, 12, 30]), in_flight=st.integers(1, 8))
    def begin(self, budget: int | None, in_flight: int) -> None:
        super().begin(budget, in_flight)
        created, drawn = map(to_plain, self.events)
        self.events = [
            read_event({**created, "settings": {**created["settings"], "kind": "adaptive"}}),
            read_event({**drawn, "draws": []}),
        ]
        self.state = apply_events(self.events)

    def draw_ahead(self, n: int) -> None:
        needed = self.state.n_asked + n
        if min(needed, self.state.settings.last_draw) > len(self.state.draws):
            self.do(tuple(draw_events(self.pool, self.state, needed, at=START.isoformat())))

    @precondition(lambda self: self.goes_on())
    @rule(kind=st.sampled_from(["adaptive", "static", "uniform"]))
    def change_kind(self, kind: str) -> None:
        given = self.state.draws[: self.state.n_asked]
        self.do(decide.change(self.state, "ann", self.now, kind=kind))
        assert self.state.settings.kind == kind
        assert self.state.draws[: len(given)] == given

    @invariant()
    def every_draw_follows_from_pool_and_log(self) -> None:
        rows = [item.row for item in self.state.draws]
        created = apply_events(self.events[:1]).settings
        rounds = [(one, self.pool) for one in self.state.rounds]
        items = draw_again(self.pool, created, rows, len(rows), rounds)
        for item, drawn in zip(items, self.state.draws, strict=True):
            assert (item.row, item.pred) == (drawn.row, drawn.pred)
            assert item.probability == pytest.approx(drawn.probability, rel=1e-12)
            assert item.design == pytest.approx(drawn.design, rel=1e-9, abs=1e-15)


def as_numbers(figure: Figure) -> tuple[float, float, float]:
    est = figure.estimate
    return -1.0 if est.value is None else est.value, est.low, est.high


def containers(state: CampaignState) -> dict[str, Any]:
    return {name: dict(kept) for name, kept in as_plain(state).items() if isinstance(kept, dict)}


def as_plain(state: CampaignState) -> dict[str, Any]:
    return {name: getattr(state, name) for name in CampaignState.__slots__}


TestAdapting = Adapting.TestCase
TestAdapting.settings = settings(max_examples=10, stateful_step_count=20, deadline=None)
TestCampaigning = Campaigning.TestCase
TestCampaigning.settings = settings(max_examples=50, stateful_step_count=25, deadline=None)
