"""Campaign: the object users hold. It loads, decides by pure functions, and appends events."""

import time
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from levelled._check import whole
from levelled._optional import optional
from levelled.campaigns import decide
from levelled.campaigns.attaching import attach_event, draw_events, place_of
from levelled.campaigns.audit import find_differences
from levelled.campaigns.betting import games_from_bytes, games_to_bytes
from levelled.campaigns.comparing import comparable_figures, compare_models, compare_with_first
from levelled.campaigns.driving import check_kind
from levelled.campaigns.exporting import as_table, make_report, write_table
from levelled.campaigns.figures import estimate_history
from levelled.campaigns.hashing import StoredEvent
from levelled.campaigns.labellers import Decision, Labellers, current_time
from levelled.campaigns.learnt import CampaignPredictor, learnt_sections, predictor_of
from levelled.campaigns.planning import plan_further
from levelled.campaigns.pools import CampaignPool
from levelled.campaigns.records import Ask, CampaignSettings, Event
from levelled.campaigns.settled import FigureCache
from levelled.campaigns.state import CampaignState, apply_events
from levelled.campaigns.stores import Store
from levelled.errors import CampaignError, ConflictError
from levelled.metrics.comparison import Comparison
from levelled.metrics.figure import Figure
from levelled.metrics.plan_record import Plan
from levelled.reports import page
from levelled.sources import Pool, open_pool

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Campaign"]

AHEAD = 1000
"""The number of draws made ahead where there is no budget."""
_TRIES = 50


class Campaign(Labellers):
    """An evaluation under way: ask for items, tell their labels, read the estimate.

    Made by `create_campaign` and `load_campaign`. Several people and processes may work on the
    same campaign: a step that another one overtook is decided again on the newer state.
    """

    def __init__(
        self, name: str, store: Store, *, pool: Pool | None = None, scores: Sequence[Pool] = ()
    ) -> None:
        self.name = name
        self._store = store
        self._pool = CampaignPool(pool, scores)
        self._state: CampaignState | None = None
        self._last_hash = ""
        self._cache: FigureCache | None = None
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

    @property
    def state(self) -> CampaignState:
        """The state after every event that is stored by now."""
        n_events = 0 if self._state is None else self._state.n_events
        new = self._store.events(self.name, n_events)
        if self._state is None and not new:
            raise CampaignError(
                f"There is no campaign {self.name!r} in this storage. `levelled list` shows all "
                f"campaigns; `levelled create` makes one."
            )
        if self._state is not None:
            self._refuse_gone(n_events, new)
        if new:
            self._state = apply_events((stored.event for stored in new), self._state)
            self._last_hash = new[-1].hash
        assert self._state is not None
        return self._state

    def _refuse_gone(self, n_events: int, new: Sequence[StoredEvent]) -> None:
        """Refuse to go on with events that do not continue those read, or that are no more."""
        ours = new[0].prev_hash if new else self._last_hash
        if ours != self._last_hash or (not new and self._store.count(self.name) < n_events):
            raise CampaignError(
                f"{self.name!r} was deleted or renamed while it was in use. Nothing was stored; "
                f"`levelled list` shows what is there now."
            )

    @property
    def settings(self) -> CampaignSettings:
        """The choices the campaign was created with, and later changes of them."""
        return self.state.settings

    @property
    def predictor(self) -> CampaignPredictor | None:
        """What an adaptive campaign has learnt about its losses; None before its first round."""
        return predictor_of(self.state, self._pool.at)

    def ask(self, n: int = 1, *, owner: str | None = None) -> list[Ask]:
        """Up to n items to label; they are kept for `owner` until their lease runs out.

        The owner's open items come first, so nothing is lost with a file or a terminal. Without
        a name all are new ones, because somebody else may have those that are out.
        Each draw was stored with its probability before it is shown here. There are fewer items
        if the budget is used up or too many are in flight already; `note` then says why.
        """
        n = whole("n", n, least=1)
        asks: list[Ask] = []

        def decision(state: CampaignState) -> Sequence[Event]:
            if state.closed is None:
                own = 0 if owner is None else len(decide.draws_kept_for(state, owner))
                state = self._draw_ahead(state, n - own)
            handout = decide.ask(state, n, owner, current_time())
            asks[:], self.note = handout.asks, handout.note
            return handout.events

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

        def decision(state: CampaignState) -> Sequence[Event]:
            event = decide.rename(state, name, owner, current_time())
            self._store.rename(self.name, name, event, expected=state.n_events)
            self.name = name
            return ()

        self._do(decision)

    def delete(self) -> None:
        """Remove the campaign with all its events for good."""
        _ = self.state  # refuses a campaign that is not there
        self._store.delete(self.name)
        self._state = None

    def estimate(self) -> list[Figure]:
        """Every metric, model and slice with its interval, from the settled draws.

        The intervals are valid however often you look, except where a warning says otherwise.
        `figure.difference("v2")` compares another model with a figure.
        """
        return comparable_figures(self.state, self._figure_cache())

    def compare(
        self, model: str, against: str | None = None, metric: str | None = None
    ) -> list[Comparison]:
        """The metric of `model` minus that of another, on the same labels; one comparison a metric.

        `against` is the first model where it is not given, and "first" names that one too. Without
        a `metric` all of the campaign are compared. `comparison.better` names the better model;
        the interval is valid like those of the estimates.
        """
        return compare_models(self.state, self._figure_cache(), model, against, metric)

    def plan(self, width: float, metric: str | None = None, expected: float | None = None) -> Plan:
        """The number of labels until an interval is `width` wide, from the labels there are."""
        return plan_further(self.state, self._figure_cache(), self.pool(), width, metric, expected)

    def history(self) -> list[Figure]:
        """The first metric of the first model after 1, 2, ... settled draws.

        Long campaigns are read at about 150 evenly spaced numbers of draws.
        """
        return estimate_history(self.state, self._figure_cache())

    def is_reached(self, figures: Sequence[Figure], target_width: float | None = None) -> bool:
        """True if the first interval is at most `target_width` wide, or the campaign's width."""
        width, first = self._target(target_width), figures[0].estimate
        return width is None or first.high - first.low <= width

    def watch(
        self, *, target_width: float | None = None, every: float = 1.0
    ) -> Iterator[list[Figure]]:
        """Yield the figures after each change, until the target is reached or the campaign closed.

        Looks for changes all `every` seconds. Without a target it ends when the campaign does.
        """
        seen, has_target = -1, self._target(target_width) is not None
        while True:
            state = self.state
            if state.n_events != seen:
                seen, figures = state.n_events, self.estimate()
                yield figures
                if state.closed is not None:
                    return
                if has_target and self.is_reached(figures, target_width):
                    return
            time.sleep(every)

    def _target(self, width: float | None) -> float | None:
        settings = self.settings
        return decide.check_width(settings.metrics[0], width) or settings.target_width

    def report(self, path: str | Path) -> None:
        """Write figures, plots, settings and corrections as one HTML file."""
        last = self._store.last(self.name)
        report = make_report(
            self.state,
            self.estimate(),
            self.history(),
            compare_with_first(self.state, self._figure_cache()),
            "" if last is None else last.hash,
            [*learnt_sections(self.predictor)],
        )
        Path(path).write_text(page(report), encoding="utf-8", errors="backslashreplace")

    def audit(self) -> list[str]:
        """Recompute hashes, draws, probabilities and figures; return each difference in a line."""
        return find_differences(self._store.events(self.name), self._pool.at, self.estimate)

    def to_table(self) -> "pa.Table":
        """Draws, labels, predictions and training weights: one row for each draw given out."""
        return as_table(self.state)

    def to_frame(self) -> Any:  # noqa: ANN401
        """`to_table` as a pandas frame."""
        optional("pandas", extra="pandas")
        return self.to_table().to_pandas()

    def export(self, path: str | Path, *, raw: bool = False) -> None:
        """Write `to_table` as .parquet, .jsonl or .csv, harmless to spreadsheets unless `raw`."""
        write_table(self.to_table(), Path(path), raw=raw)

    def keep(self) -> None:
        """Store the betting games, so that the next process need not play them again."""
        last = self._store.last(self.name)
        if self._cache is not None and self._cache.games and last is not None:
            self._store.keep_snapshot(self.name, last.hash, games_to_bytes(self._cache.games))

    def _figure_cache(self) -> FigureCache:
        """What earlier looks computed, in this process or in one that stored its games."""
        if self._cache is None:
            snapshot = self._store.snapshot(self.name)
            games = {} if snapshot is None else games_from_bytes(snapshot.data)
            self._cache = FigureCache(games=games)
        return self._cache

    def pool(self) -> Pool:
        """The pool; refuses one whose content is not that at creation."""
        return self._pool.open(self.settings)

    def _draw_ahead(self, state: CampaignState, n: int) -> CampaignState:
        """Draw and store items until n more can be handed out, also if others take some."""
        while min(state.n_asked + n, state.settings.last_draw) > len(state.draws):
            pool = self._pool.at(state, len(state.draws) + 1)
            events = draw_events(pool, state, state.n_asked + n, at=_stamp())
            self._store.append(self.name, events, expected=state.n_events)
            state = self.state
        return state

    def _do(self, decision: Decision) -> int:
        """Decide on the newest state and append; decide again if others appended meanwhile."""
        for _ in range(_TRIES):
            try:
                events = decision(self.state)
                if events:
                    assert self._state is not None
                    self._store.append(self.name, events, expected=self._state.n_events)
                return len(events)
            except ConflictError:
                continue
        raise ConflictError(f"{self.name!r} is too busy: others kept changing it. Try again.")


def _stamp() -> str:
    return current_time().isoformat(timespec="seconds")
