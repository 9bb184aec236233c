"""The shell of a campaign: load, decide, append, return. What is decided lies in `decide`."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from levelled._check import whole
from levelled._optional import optional
from levelled.campaigns import decide
from levelled.campaigns.attaching import attached
from levelled.campaigns.decide import Ask
from levelled.campaigns.drawing import draw_further
from levelled.campaigns.exporting import as_table, write_table
from levelled.campaigns.figures import Figure, figures
from levelled.campaigns.games import Kept
from levelled.campaigns.records import Attached, CampaignSettings, DrawnItem, Event
from levelled.campaigns.state import CampaignState, fold
from levelled.campaigns.stores import Store
from levelled.errors import CampaignError, ConflictError, LevelledError
from levelled.sources import Pool, open_pool

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Campaign"]

AHEAD = 1000
"""Draws that are made ahead where no budget says how many."""
_TRIES = 50

Decision = Callable[[CampaignState], Sequence[Event]]


class Campaign:
    """An evaluation under way: ask for items, tell their labels, read the estimate.

    Made by `create_campaign` and `load_campaign`. Several people and processes may work on the
    same campaign: whoever comes second decides again on the newer state.
    """

    def __init__(self, name: str, store: Store, *, pool: Pool | None = None) -> None:
        self.name = name
        self._store = store
        self._pool = pool
        self._state: CampaignState | None = None
        self._games: dict[str, Kept] | None = None
        self.note: str | None = None
        """Why the last `ask` gave fewer items than it was asked for."""

    def __repr__(self) -> str:
        state = self.state
        return (
            f"Campaign({self.name!r}: {len(state.answers)} labels, {state.n_settled} settled, "
            f"pool of {state.settings.pool_size})"
        )

    def _repr_html_(self) -> str:
        """The campaign in a notebook: what it says so far."""
        rows = "".join(
            f"<tr><td>{escape(' '.join(filter(None, (f.metric, f.model, f.slice))))}</td>"
            f"<td>{f.estimate._repr_html_()}</td></tr>"
            for f in self.estimate()
        )
        return f"<p>{escape(repr(self))}</p><table>{rows}</table>"

    @property
    def state(self) -> CampaignState:
        """The state after every event that is stored by now."""
        known = 0 if self._state is None else self._state.n_events
        news = [stored.event for stored in self._store.events(self.name, known)]
        if self._state is None and not news:
            raise CampaignError(
                f"There is no campaign {self.name!r} in this storage. `levelled list` shows what "
                f"there is; `levelled create` makes one."
            )
        if news:
            self._state = fold(news, self._state)
        assert self._state is not None
        return self._state

    @property
    def settings(self) -> CampaignSettings:
        """What the campaign was created with, and changed to since."""
        return self.state.settings

    def ask(self, n: int = 1, *, owner: str | None = None) -> list[Ask]:
        """Up to n items to label; they are kept for `owner` until their lease runs out.

        A draw was stored with its probability before anybody sees it here. Fewer come back where
        the budget is used up or too many items are out already; `note` then says why.
        """
        n = whole("n", n, least=1)
        given: list[Ask] = []

        def decision(state: CampaignState) -> Sequence[Event]:
            if state.closed is None:
                self._draw_ahead(state, n)
            asked = decide.ask(self.state, n, owner, _now())
            given[:], self.note = asked.asks, asked.note
            return asked.events

        self._do(decision)
        return given

    def tell(
        self,
        draw: int | None = None,
        label: object = None,
        *,
        id: str | int | None = None,  # noqa: A002
        owner: str | None = None,
    ) -> None:
        """Record the label of a draw, or of the item with that id."""
        self.tell_all([{"draw": draw, "id": id, "label": label}], owner=owner)

    def tell_all(self, answers: Iterable[Mapping[str, Any]], *, owner: str | None = None) -> int:
        """Record many labels at once, all or none; returns how many were new."""
        wanted = list(answers)
        return self._do(lambda state: decide.tell_all(state, wanted, owner, _now()))

    def amend(self, draw: int, label: object, *, owner: str | None = None) -> None:
        """Replace an answer, also after the end; the one before stays in the log and the report."""
        self._on_item(decide.amend, draw, label, owner)

    def skip(self, draw: int, *, reason: str = "", owner: str | None = None) -> None:
        """Pass an item on to somebody else, under the same number."""
        self._on_item(decide.skip, draw, reason, owner)

    def resolve(self, draw: int, *, reason: str, owner: str | None = None) -> None:
        """Declare that an item cannot be labelled; the estimate is then over what can be."""
        self._on_item(decide.resolve, draw, reason, owner)

    def change(self, *, owner: str | None = None, **settings: Any) -> None:  # noqa: ANN401
        """Change the budget, target_width, lease_seconds or in_flight of the campaign."""
        self._do(lambda state: decide.change(state, owner, _now(), **settings))

    def attach(self, predictions: Any, model: str) -> None:  # noqa: ANN401
        """Judge another model by the same labels: a file or frame of ids and predictions.

        It needs a prediction for every item drawn so far. The labels are used as they are: which
        items were drawn did not depend on this model. A closed campaign takes it too.
        """
        opened = open_pool(predictions, classes=self.settings.classes)
        self._do(lambda state: [attached(state.settings, state.draws, opened, model, at=_stamp())])

    def close(self, *, reason: str = "finished", owner: str | None = None) -> None:
        """End the campaign; its estimates remain."""
        self._do(lambda state: decide.close(state, reason, owner, _now()))

    def estimate(self) -> list[Figure]:
        """Every metric, model and slice, on the draws that are settled, with its interval.

        The intervals may be watched: they hold at every look at once, except where a figure's
        warnings say otherwise.
        """
        state = self.state
        if self._games is None:
            self._games = self._kept_games()
        found, self._games = figures(state, self._games)
        return found

    def to_table(self) -> "pa.Table":
        """Draws, labels, predictions and training weights, a row for each draw given out."""
        return as_table(self.state)

    def to_frame(self) -> Any:  # noqa: ANN401
        """`to_table` as a pandas frame."""
        optional("pandas", extra="pandas")
        return self.to_table().to_pandas()

    def export(self, path: str | Path) -> None:
        """Write `to_table` to a file that ends in .parquet, .csv or .jsonl."""
        write_table(self.to_table(), Path(path))

    def keep(self) -> None:
        """Store the games behind the intervals, so that the next process need not replay them."""
        last = self._store.last(self.name)
        if self._games and last is not None:
            data = {key: game.to_json() for key, game in self._games.items()}
            self._store.keep_snapshot(self.name, last.hash, json.dumps(data).encode())

    def _kept_games(self) -> dict[str, Kept]:
        snapshot = self._store.snapshot(self.name)
        if snapshot is None:
            return {}
        try:
            data = json.loads(snapshot.data)
            return {key: Kept.from_json(game) for key, game in data.items()}
        except (LevelledError, ValueError, KeyError, TypeError):
            return {}  # of another version: played again from the log

    def pool(self) -> Pool:
        """The pool file, which must be the one the campaign was created with."""
        settings = self.settings
        if self._pool is None:
            if settings.source is None:
                raise CampaignError(
                    f"The pool of {self.name!r} was in memory when it was created. Save it to a "
                    f"file and name it with pool= or --pool."
                )
            self._pool = open_pool(
                settings.source, classes=settings.classes, slices=settings.slices
            )
        if self._pool.fingerprint != settings.fingerprint:
            raise CampaignError(
                f"The pool {self._pool.source} is not the one {self.name!r} was created with: its "
                f"content differs. Draws from another pool would have other probabilities."
            )
        return self._pool

    def _draw_ahead(self, state: CampaignState, n: int) -> None:
        """Make sure that n more items have been drawn, with their probabilities, and stored."""
        settings = state.settings
        wanted = state.n_asked + n
        last = (
            settings.pool_size
            if settings.budget is None
            else min(settings.budget, settings.pool_size)
        )
        if min(wanted, last) <= len(state.draws):
            return
        until = min(max(2 * len(state.draws), wanted), last)
        rows = [item.row for item in state.draws]
        draws = draw_further(self.pool(), settings, rows, until)
        events: list[Event] = [{"type": "drawn", "at": _stamp(), "by": None, "draws": draws}]
        new = [DrawnItem(**item) for item in draws]
        for model, later in state.attached.items():
            predictions = self._attached_again(model, later)
            events.append(attached(settings, new, predictions, model, at=_stamp()))
        self._store.append(self.name, events, expected=state.n_events)

    def _attached_again(self, model: str, later: Attached) -> Pool:
        """The predictions of a model that was attached, for items drawn since."""
        if later.source is None:
            raise CampaignError(
                f"The predictions of {model!r} were in memory when they were attached, and new "
                f"items need theirs: attach {model!r} again from a file."
            )
        predictions = open_pool(later.source, classes=self.settings.classes)
        if predictions.fingerprint != later.fingerprint:
            raise CampaignError(
                f"{later.source} has changed since it was attached as {model!r}: attach it under "
                f"a new name."
            )
        return predictions

    def _on_item(
        self,
        decision: Callable[[CampaignState, DrawnItem, Any, str | None, datetime], Sequence[Event]],
        draw: int,
        what: object,
        owner: str | None,
    ) -> None:
        self._do(
            lambda state: decision(state, decide.find_draw(state, draw=draw), what, owner, _now())
        )

    def _do(self, decision: Decision) -> int:
        """Decide on the newest state and append; somebody else was faster: decide again."""
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


def _now() -> datetime:
    return datetime.now(UTC)


def _stamp() -> str:
    return _now().isoformat(timespec="seconds")
