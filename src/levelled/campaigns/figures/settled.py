"""The settled draws of a campaign, with labels and losses, and the results that looks keep.

Betting games are kept between looks, so that one more label is one more round.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelled._check import BoolArray, FloatArray, IntArray
from levelled.campaigns.drawing.drawn_items import DrawnItems
from levelled.campaigns.log.records import DrawnItem, KnownItem, KnownLabels
from levelled.campaigns.log.state import CampaignState
from levelled.draws import Draws
from levelled.estimators import Betting, Estimate, RatioBetting, lure_weights
from levelled.estimators.intervals import hedged
from levelled.estimators.intervals.betting import COLUMNS
from levelled.estimators.intervals.hedged import Hedged
from levelled.estimators.moments import GivenValues
from levelled.labels import Label
from levelled.metrics.named import Metric, own_module

AnyGame = Betting | RatioBetting | Hedged
_GAMES: Mapping[str, type[AnyGame]] = {
    "average": Betting,
    "ratio": RatioBetting,
    "hedged": Hedged,
}
"""The kinds of games, as snapshots name them."""


@dataclass(frozen=True, slots=True, eq=False)
class GameInput:
    """The values to bet on: losses in `bounds`, or the numerators and denominators of a ratio."""

    losses: FloatArray
    bounds: tuple[float, float]
    denominators: FloatArray | None = None
    """None for an average."""
    denominator_mean: float | None = None
    control: bool = False
    """True where the design's predictor predicts these losses."""
    budgets: Sequence[int] = ()
    """The budget in force at each draw, where the interval is hedged."""
    tested: tuple[float, ...] = ()
    """Values that are tested themselves, beside those of the grid."""
    known: tuple[float, float] = (0.0, 0.0)
    """Numerators and denominators of items outside of the pool of the draws, summed."""
    given: GivenValues | None = None
    """The values of items that became known between the draws."""

    def new_game(self, pool_size: int, level: float) -> AnyGame:
        """A game on these values before its first round."""
        if self.budgets:
            return Hedged(pool_size, self.budgets[0], level, self.tested)
        if self.denominators is None:
            return Betting(pool_size, self.bounds, level, tested=self.tested)
        most, mean = self.bounds[1], self.denominator_mean
        return RatioBetting(pool_size, most, level, mean, self.tested)

    @property
    def kind(self) -> str:
        """The kind of game, as snapshots name it."""
        if self.budgets:
            return "hedged"
        return "average" if self.denominators is None else "ratio"

    def fingerprint(self, n: int, columns: Sequence[str], level: float) -> str:
        """A hash of the input of the first n rounds, which changes when a label is amended.

        `columns` are the design columns that the rounds use, `level` is that of the game.
        """
        parts = [self.losses[:n]]
        if self.denominators is not None:
            parts.append(self.denominators[:n])
        text = f"{self.kind} {self.bounds} {self.denominator_mean} {self.control} {columns}"
        text += f" {level} {self.tested}"
        if self.budgets:
            text += f" {[*self.budgets[:n]]}"
        if any(self.known):
            text += f" {self.known}"
        if self.given is not None:
            by_then = self.given.first <= n
            parts += [
                self.given.first[by_then].astype(np.float64),
                self.given.values[..., by_then].ravel(),
            ]
        return sha256(text.encode() + np.concatenate(parts).tobytes()).hexdigest()


@dataclass(slots=True, eq=False)
class SavedGame:
    """A game after n rounds, and the fingerprint of their input; `play` moves it on."""

    n: int
    fingerprint: str
    game: AnyGame

    def continues(self, inputs: GameInput, n: int, columns: Sequence[str], level: float) -> bool:
        """True if the rounds so far are the first of those that `inputs` now asks for."""
        if self.n > n or self.fingerprint != inputs.fingerprint(self.n, columns, level):
            return False
        return self.n == len(self.game)  # a round that failed half-way is in doubt

    def to_json(self) -> dict[str, Any]:
        """Plain values, for a snapshot."""
        kind = next(name for name, game in _GAMES.items() if isinstance(self.game, game))
        state = self.game.to_dict()
        return {"n": self.n, "fingerprint": self.fingerprint, "kind": kind, "game": state}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "SavedGame":
        """The game that `to_json` wrote."""
        game = _GAMES[plain["kind"]]
        return cls(plain["n"], plain["fingerprint"], game.from_dict(plain["game"]))


def play(
    inputs: GameInput, draws: Draws, level: float, saved: SavedGame | None
) -> tuple[tuple[float, float], SavedGame]:
    """The limits after all draws, and the game; the rounds of `saved` are not played again."""
    n, names = len(draws), _columns(inputs, draws)
    fingerprint = inputs.fingerprint(n, names, level)
    if saved is None or not saved.continues(inputs, n, names, level):
        saved = SavedGame(0, "", inputs.new_game(draws.pool_size, level))
        if isinstance(saved.game, RatioBetting):
            saved.game.give(inputs.known, 0)
    game, design = saved.game, draws.design or {}
    given = None if inputs.given is None else inputs.given.before(n)
    for m in range(saved.n, n):
        loss, q = float(inputs.losses[m]), float(draws.probability[m])
        columns = {name: float(design[name][m]) for name in names}
        if isinstance(game, Hedged):
            game.budget = inputs.budgets[m]
            if given is not None:
                columns["control_left"] += float(given[m])
        elif inputs.given is not None:
            game.give(*inputs.given.at(m + 1))
        if not isinstance(game, RatioBetting):
            game.update(loss, q, **columns)
        elif inputs.denominators is not None:
            most = columns.get("max_weight")
            game.update(loss, float(inputs.denominators[m]), q, max_weight=most)
    saved.n, saved.fingerprint = n, fingerprint
    return game.interval(), saved


def _columns(inputs: GameInput, draws: Draws) -> list[str]:
    """The design columns that a round uses; the predictor's only where it predicts the losses."""
    if inputs.budgets:
        return [*hedged.COLUMNS]
    names = [name for name in COLUMNS if name in (draws.design or {})]
    return names if inputs.control else [name for name in names if name == "max_weight"]


Labels = tuple[Label | None, ...]
LossKey = tuple[str, tuple[str, str | None]]
"""A metric, a model, and the file of its predictions if they were attached."""


@dataclass(slots=True)
class FigureCache:
    """Results that the next look at the same campaign can use again.

    A new cache gives the same figures more slowly. One cache serves one campaign, and only draws
    that somebody was given, because others may still be discarded.
    """

    games: dict[str, SavedGame] = field(default_factory=dict)
    """The betting game of each figure."""
    looks: dict[object, tuple["Labels | None", Estimate]] = field(default_factory=dict)
    """The estimate of each planned look, and the labels it was made from."""
    losses: dict[LossKey, tuple["Labels", FloatArray]] = field(default_factory=dict)
    """Losses and denominators (2, n) of draws 1..n, and the labels they were made from."""
    columns: dict[object, NDArray[Any]] = field(default_factory=dict)
    expected: Any = None
    """What the predictor expects (`Expectations`); None where no figure has asked for it."""
    pool_at: Callable[[CampaignState, int], Any] | None = None
    """Gives the pool as a draw saw it."""
    kept: tuple[dict[str, Any], dict[str, NDArray[Any]]] | None = None
    """What the predictor expects, as a snapshot has it."""

    def to_plain(self, state: CampaignState) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Plain values and arrays for a snapshot: the games, and losses of the present labels.

        Losses by a user's own function are left out, because it may change.
        """
        own = {name for name in state.settings.metric_names if own_module(name) is not None}
        losses = [
            (key, table)
            for key, (labels, table) in self.losses.items()
            if key[0] not in own and labels == labels_of(state, len(labels))
        ]
        plain = {
            "games": {name: game.to_json() for name, game in self.games.items()},
            "losses": [key for key, _ in losses],
        }
        arrays = {f"losses{at}": table for at, (_, table) in enumerate(losses)}
        if self.expected is not None and not own:
            plain["expected"], more = self.expected.to_plain()
            arrays |= more
        elif self.kept is not None:
            plain["expected"], more = self.kept
            arrays |= more
        return plain, arrays

    @classmethod
    def from_plain(
        cls, state: CampaignState, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> "FigureCache":
        """The results that `to_plain` wrote in this state."""
        cache = cls(columns=_kept_columns(state))
        for name, game in plain.get("games", {}).items():
            cache.games[name] = SavedGame.from_json(game)
        for at, (metric, (model, fingerprint)) in enumerate(plain.get("losses", ())):
            table = arrays[f"losses{at}"]
            cache.losses[metric, (model, fingerprint)] = labels_of(state, table.shape[1]), table
        if "expected" in plain:
            names = ("sums", "tables", "chance")
            more = {name: one for name, one in arrays.items() if name.startswith(names)}
            cache.kept = plain["expected"], more
        return cache

    def column(
        self,
        key: object,
        items: Sequence[DrawnItem],
        read: Callable[[Sequence[DrawnItem]], list[Any]],
        dtype: type | None = None,
    ) -> NDArray[Any]:
        """One value of each item as an array; `read` is called for the new items only."""
        values = self.columns.get(key)
        if values is None:
            values = self.columns[key] = np.array(read(items), dtype=dtype)
        elif len(values) < len(items):
            new = np.array(read(items[len(values) :]), dtype=dtype)
            values = self.columns[key] = np.concatenate([values, new])
        return values


def _kept_columns(state: CampaignState) -> dict[object, NDArray[Any]]:
    """The columns that estimates read, of the draws that somebody was given."""
    n, parts = state.n_asked, state.draws.columns() if isinstance(state.draws, DrawnItems) else []
    if not parts or not n:
        return {}
    found: dict[object, list[NDArray[Any]]] = {
        "row": [part.row for part in parts],
        "probability": [part.probability for part in parts],
    }
    for name in set.intersection(*({*part.by_name["design"]} for part in parts)):
        found[name] = [part.by_name["design"][name] for part in parts]
    for column in state.settings.slices:
        found["slice", column] = [np.array(part.by_name["slices"][column]) for part in parts]
    for model in state.settings.models:
        if all(model in part.by_name["pred"] for part in parts):
            found["pred", (model, None)] = [np.array(part.by_name["pred"][model]) for part in parts]
    for model, later in state.attached.items():
        pred = [later.pred[draw] for draw in range(1, n + 1)]
        found["pred", (model, later.fingerprint)] = [np.array(pred)]
    return {key: np.concatenate(values)[:n] for key, values in found.items()}


@dataclass(frozen=True, slots=True, eq=False)
class SettledDraws:
    """Draws 1..m of a campaign, with the label of each that has one.

    They are draws of the items that could be drawn at the creation: labels that were known by then
    are no part of `draws`. `known` are all labels that were known without a draw by now.
    """

    state: CampaignState
    labels: Labels
    draws: Draws
    rows: IntArray
    """The rows of the pool that were drawn."""
    labelable: BoolArray
    known: tuple[KnownLabels, ...]
    cache: FigureCache

    def __len__(self) -> int:
        return len(self.labels)

    def first(self, n: int) -> "SettledDraws":
        """Draws 1..n of these, with the labels that were known before the last of them."""
        design = _design(self.state, n, self.cache)
        return replace(
            self,
            labels=self.labels[:n],
            draws=replace(self.draws[:n], design=design),
            rows=self.rows[:n],
            labelable=self.labelable[:n],
            known=tuple(one for one in self.known if one.first <= n),
        )

    @property
    def known_items(self) -> list[KnownItem]:
        """The items whose labels were known without a draw, those of the creation first."""
        return [item for labels in self.known for item in labels.items]

    @property
    def known_first(self) -> IntArray:
        """The number of the first draw after each of them; 0 for those of the creation."""
        first = [labels.first for labels in self.known for _ in labels.items]
        known = np.array(first, dtype=np.int64)
        known[: self.state.settings.n_known] = 0
        return known

    def known_values(self, metric: Metric, model: str) -> FloatArray:
        """The metric's losses and, for a ratio, its denominators [2, K] of the known labels."""
        items, key = self.known_items, ("known", metric.name, self.predictor(model))

        def compute(new: Sequence[KnownItem]) -> NDArray[np.float64]:
            pred, proba = self._known_predictions(model, len(items) - len(new), new)
            values = metric.values(
                [item.label for item in new],
                pred if metric.needs in ("pred", "number") else None,
                proba if metric.needs == "proba" else None,
                self.state.settings.classes,
            )
            nothing = np.zeros(len(new))
            below = nothing if values.denominators is None else values.denominators
            return np.stack([values.losses, below], axis=1)

        table = self.cache.columns.get(key, np.zeros((0, 2)))
        if len(table) < len(items):
            table = np.concatenate([table, compute(items[len(table) :])])
            self.cache.columns[key] = table
        return table[: len(items)].T

    def known_in_slice(self, column: str | None, value: str | None) -> BoolArray:
        """True for known labels in the slice; for all where it is None."""
        items = self.known_items
        return np.array([column is None or item.slices[column] == value for item in items], bool)

    def known_predicted(self, model: str) -> NDArray[Any]:
        """The prediction of a model for each item whose label was known."""
        return np.array(self._known_predictions(model, 0, self.known_items)[0])

    def _known_predictions(
        self, model: str, start: int, items: Sequence[KnownItem]
    ) -> tuple[list[Label], list[tuple[float, ...]]]:
        later = self.state.attached.get(model)
        if later is None:
            return [one.pred.get(model, "") for one in items], [
                one.proba.get(model, ()) for one in items
            ]
        places = range(start, start + len(items))
        return (
            [later.known_pred[at] for at in places],
            [later.known_proba.get(at, ()) for at in places],
        )

    @property
    def unlabelable_share(self) -> float:
        """The estimated share of the pool that cannot be labelled."""
        if self.labelable.all():
            return 0.0
        share = self.draws.pool_size / self.state.settings.pool_size
        return share * float(np.mean(lure_weights(self.draws) * ~self.labelable))

    def in_slice(self, column: str | None, value: str | None) -> BoolArray:
        """True for draws in the slice, labelled or not; for all draws where it is None."""
        if column is None:
            return np.ones(len(self), dtype=bool)
        items = self.state.draws[: len(self)]
        values = self.cache.column(
            ("slice", column), items, lambda new: [item.slices[column] for item in new]
        )
        return np.asarray(values[: len(self)] == value)

    def losses(self, metric: Metric, model: str) -> tuple[FloatArray, FloatArray]:
        """The metric's losses and, for a ratio, its denominators; 0 where there is no label.

        Only draws whose label is new or another one since the last look are computed.
        """
        key, n = (metric.name, self.predictor(model)), len(self)
        earlier, kept = self.cache.losses.get(key, ((), np.zeros((2, 0))))
        pairs = enumerate(zip(earlier, self.labels, strict=False))
        new = [i for i, (then, now) in pairs if then is not now and then != now]
        new += range(len(earlier), n)
        table = np.zeros((2, n))
        table[:, : len(earlier)] = kept[:, :n]
        table[:, new] = 0.0
        at = [i for i in new if self.labels[i] is not None]
        if at:
            pred, proba = self._predictions(model, [self.state.draws[i] for i in at])
            values = metric.values(
                [self.labels[i] for i in at],
                pred if metric.needs in ("pred", "number") else None,
                proba if metric.needs == "proba" else None,
                self.state.settings.classes,
            )
            table[0, at] = values.losses
            table[1, at] = 0.0 if values.denominators is None else values.denominators
        if n >= len(earlier):
            self.cache.losses[key] = self.labels, table
        return table[0], table[1]

    def predicted(self, model: str) -> NDArray[Any]:
        """The prediction of a model for each of these draws."""
        key = "pred", self.predictor(model)
        items = self.state.draws[: len(self)]
        values = self.cache.column(key, items, lambda new: self._predictions(model, new)[0])
        return values[: len(self)]

    def predictor(self, model: str) -> tuple[str, str | None]:
        """A model, and which of its predictions are meant: they may be attached anew."""
        later = self.state.attached.get(model)
        return model, None if later is None else later.fingerprint

    def _predictions(
        self, model: str, items: Sequence[DrawnItem]
    ) -> tuple[list[Label], list[tuple[float, ...]]]:
        later = self.state.attached.get(model)
        if later is not None:
            draws = [item.draw for item in items]
            return [later.pred[d] for d in draws], [later.proba.get(d, ()) for d in draws]
        pred: list[Label] = [item.pred.get(model, "") for item in items]
        return pred, [item.proba.get(model, ()) for item in items]


def settled_draws(
    state: CampaignState, n: int | None = None, cache: FigureCache | None = None
) -> SettledDraws:
    """The settled draws of a campaign, or its first n draws with the labels that are in."""
    n = state.n_settled if n is None else n
    cache = FigureCache() if cache is None else cache
    labels = labels_of(state, n)
    items = state.draws[:n]
    row = cache.column("row", items, lambda new: [item.row for item in new], np.int64)
    q = cache.column("probability", items, lambda new: [item.probability for item in new], float)
    rows, settings = row[:n], state.settings
    creation = state.known[0].items if settings.n_known else ()
    # The place of each row among those that could be drawn.
    index = rows - np.searchsorted(np.sort([item.row for item in creation]), rows)
    return SettledDraws(
        state,
        labels,
        Draws(index, q[:n], settings.open_size, design=_design(state, n, cache)),
        rows,
        np.array([label is not None for label in labels], dtype=bool),
        state.known,
        cache,
    )


def labels_of(state: CampaignState, n: int) -> Labels:
    """The labels of draws 1..n; None for a draw without one."""
    answers = map(state.answers.get, range(1, n + 1))
    return tuple([None if answer is None else answer.label for answer in answers])


def _design(state: CampaignState, n: int, cache: FigureCache) -> dict[str, FloatArray] | None:
    """The design columns that all of the first n draws have; they change only with a round."""
    items, firsts = state.draws[:n], [1, *(one.first for one in state.rounds)]
    names = [{*items[draw - 1].design} for draw in firsts if draw <= n]

    def column(name: str) -> FloatArray:
        return cache.column(name, items, lambda new: [item.design[name] for item in new])[:n]

    return {
        name: column(name) for name in sorted(set.intersection(*names) if names else ())
    } or None
