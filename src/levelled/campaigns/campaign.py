"""Campaign: the object users hold. It loads, decides by pure functions, and appends events."""

import time
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from levelled._check import whole
from levelled.campaigns.analysts import Analysts
from levelled.campaigns.audit import Audit, audit_log
from levelled.campaigns.drawing.drawing import draw_events
from levelled.campaigns.drawing.drivers import check_kind
from levelled.campaigns.drawing.pools import CampaignPool, attach_event, place_of
from levelled.campaigns.labellers import Labellers, check_seconds, current_time
from levelled.campaigns.log import decide
from levelled.campaigns.log.log import CampaignLog, Decision
from levelled.campaigns.log.records import Ask, Event
from levelled.campaigns.log.state import CampaignState, apply_events
from levelled.campaigns.people.questions import Question
from levelled.campaigns.people.shown import label_question
from levelled.campaigns.settings import CampaignSettings
from levelled.campaigns.stores import Store
from levelled.metrics.figure import Figure
from levelled.sources import Pool, open_pool

if TYPE_CHECKING:
    pass

AHEAD = 1000
"""The number of draws made ahead where there is no budget."""


class Campaign(Labellers, Analysts):
    """An evaluation under way: ask for items, tell their labels, read the estimate.

    Made by `create_campaign` and `load_campaign`. Several people and processes may work on the
    same campaign: a step that another one overtook is decided again on the newer state.
    """

    def __init__(
        self, name: str, store: Store, *, pool: Pool | None = None, scores: Sequence[Pool] = ()
    ) -> None:
        self.name = name
        self._log = CampaignLog(name, store)
        self._pool = CampaignPool(pool, scores)
        self.note: str | None = None

    def __repr__(self) -> str:
        state = self.state
        return (
            f"Campaign({self.name!r}: {len(state.answers)} labels, {state.n_settled} settled, "
            f"pool of {state.settings.pool_size})"
        )

    def _repr_html_(self) -> str:
        """The figures of the campaign so far, for a notebook."""
        rows = "".join(
            f"<tr><td>{escape(figure.name)}</td><td>{figure.estimate._repr_html_()}</td></tr>"
            for figure in self.estimate()
        )
        return f"<p>{escape(repr(self))}</p><table>{rows}</table>"

    def sibling(self) -> "Campaign":
        """Another object of the same campaign, which shares its pool, for another thread."""
        other = Campaign(self.name, self._log.store)
        other._pool = self._pool
        return other

    @property
    def state(self) -> CampaignState:
        """The state after every event that is stored by now."""
        return self._log.state

    @property
    def last_hash(self) -> str:
        """The hash of the last event that was read, for `audit` to compare later."""
        return self._log.last_hash

    @property
    def n_events(self) -> int:
        """The number of events that were read or stored by this object."""
        return self._log.n_events

    @property
    def known_settings(self) -> CampaignSettings:
        """The settings when the log was last read; unlike `settings`, this reads nothing."""
        return self._log.known_state.settings

    @property
    def settings(self) -> CampaignSettings:
        """The choices the campaign was created with, and later changes of them."""
        return self.state.settings

    @property
    def questions(self) -> list[Question]:
        """What a labeller answers of each item: first the label, then the rubric."""
        return [label_question(self.settings), *self.settings.questions]

    def ask(
        self, n: int = 1, *, owner: str | None = None, lease_seconds: int | None = None
    ) -> list[Ask]:
        """Up to n items to label; they are kept for `owner` until their lease runs out.

        The owner's open items come first, so nothing is lost with a file or a terminal. Without
        a name all are new ones, because somebody else may have those that are out.
        Each draw was stored with its probability before it is shown here. There are fewer items
        if the budget is used up or too many are in flight already; `note` then says why.
        `lease_seconds` makes the lease shorter than that of the campaign; `renew` prolongs it.
        """
        n, seconds = whole("n", n, least=1), check_seconds(lease_seconds)
        asks: list[Ask] = []

        def decision(state: CampaignState) -> Sequence[Event]:
            own = 0 if owner is None else len(decide.draws_kept_for(state, owner))
            drawn = self._draw_ahead(state, n - own)
            state = apply_events(drawn, state)
            handout = decide.ask(state, n, owner, current_time(), seconds)
            asks[:], self.note = handout.asks, handout.note
            return [*drawn, *handout.events]

        if self._must_draw(state := self._log.known_state, n):
            self._pool.at(state, len(state.draws) + 1)  # opened before anybody has to wait for it
        self._do(decision)
        return asks

    def change(self, *, owner: str | None = None, **settings: Any) -> None:  # noqa: ANN401
        """Change the kind of further draws, budget, target_width, lease_seconds or in_flight."""
        if "kind" in settings:
            check_kind(self.settings, settings["kind"], self.pool)
        self._do(lambda state: decide.change(state, owner, current_time(), **settings))

    def attach(self, predictions: Any, model: str) -> None:  # noqa: ANN401
        """Estimate another model from the same labels: a file or frame of ids and predictions.

        It needs a prediction for every item drawn so far. Estimates stay unbiased, because the
        draws did not depend on this model. The campaign may be closed.
        """
        opened = open_pool(predictions, classes=self.settings.classes)
        self._do(
            lambda state: [attach_event(state.settings, state.draws, opened, model, at=_stamp())]
        )

    def rescore(
        self,
        predictions: Any,  # noqa: ANN401
        *,
        save_as: str | Path | None = None,
        owner: str | None = None,
    ) -> None:
        """Replace the predicted losses that guide the draws, from the next item on.

        `predictions` is a file or frame of ids with loss_hat or surrogate_<class>, or a fitted
        scikit-learn model that predicts from the pool's features; `save_as` is a Parquet file
        for its predictions. Other processes, and their audits, need a file.
        """
        scores = self._pool.open_scores(self.settings, predictions, save_as)
        where, content = place_of(scores), scores.fingerprint
        self._do(lambda state: decide.rescore(state, where, content, owner, current_time()))

    def close(self, *, reason: str = "finished", owner: str | None = None) -> None:
        """End the campaign; its estimates remain."""
        self._do(lambda state: decide.close(state, reason, owner, current_time()))

    def reopen(self, *, owner: str | None = None) -> None:
        """Let a closed campaign go on."""
        self._do(lambda state: decide.reopen(state, owner, current_time()))

    def rename(self, name: str, *, owner: str | None = None) -> None:
        """Give the campaign another name; its log records when, and by whom."""
        self._log.rename(name, lambda state: decide.rename(state, name, owner, current_time()))
        self.name = name

    def delete(self) -> None:
        """Remove the campaign with all its events for good."""
        self._log.delete()

    def watch(
        self, *, target_width: float | None = None, every: float = 1.0
    ) -> Iterator[list[Figure]]:
        """Yield the figures after each change, until the target is reached or the campaign closed.

        PostgreSQL tells of changes; in SQLite it looks for them every `every` seconds. Without a
        target it ends when the campaign does.
        """
        has_target = self._target(target_width) is not None
        for _ in self.changes(every=every):
            figures = self.estimate()
            yield figures
            if has_target and self.is_reached(figures, target_width):
                return

    def changes(
        self, *, every: float = 1.0, timeout: float | None = None
    ) -> Iterator[CampaignState]:
        """Yield the state at once and after each change, until the campaign is closed.

        It ends after `timeout` seconds, if that is given. See `watch` for `every`.
        """
        seen, end = -1, None if timeout is None else time.monotonic() + timeout
        with self._log.store.watching(self.name) as wait:
            while True:
                state = self.state
                if state.n_events != seen:
                    seen = state.n_events
                    yield state
                    if state.closed is not None:
                        return
                left = every if end is None else min(every, end - time.monotonic())
                if left <= 0:
                    return
                wait(left)

    def audit(self, *, expect: str | None = None) -> Audit:
        """Recompute everything that log and pool determine; return each difference in a line.

        `expect` is the hash of an event that was noted earlier, or its first 12 digits or more.
        """
        store, name = self._log.store, self.name
        return audit_log(name, store.events(name), self._pool.at, expect)

    def keep(self) -> None:
        """Store the state and the betting games, so that the next process begins with them."""
        self._log.keep()

    def pool(self) -> Pool:
        """The pool; refuses one whose content is not that at creation."""
        return self._pool.open(self.settings)

    def _must_draw(self, state: CampaignState, n: int) -> bool:
        """True if fewer than n drawn items are left to hand out, and there may be more."""
        needed = min(state.n_asked + n, state.settings.last_draw)
        return state.closed is None and needed > len(state.draws)

    def _draw_ahead(self, state: CampaignState, n: int) -> list[Event]:
        """The events of further draws, until n more can be handed out."""
        if not self._must_draw(state, n):
            return []
        pool = self._pool.at(state, len(state.draws) + 1)
        return draw_events(pool, state, state.n_asked + n, at=_stamp())

    def _do(self, decision: Decision) -> int:
        return self._log.do(decision)


def _stamp() -> str:
    return current_time().isoformat(timespec="seconds")
