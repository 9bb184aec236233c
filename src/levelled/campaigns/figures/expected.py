"""What the predictor of the label expects of the columns of a figure, at each draw.

Draws come in stretches with one predictor each: the rounds of an adaptive campaign, which are in
the log. Between draws by weights that never change the predictor is fitted again as often, from the
labels of the draws before; that follows from the log, and is kept as a cache, as are the sums over
the pool.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from hashlib import sha256
from itertools import product
from typing import Any

import numpy as np

from levelled._check import BoolArray, FloatArray, IntArray
from levelled.campaigns.drawing.drawing import (
    frozen_proposal,
    proposal_of,
    taken_rows,
)
from levelled.campaigns.drawing.learner import AnyPredictor, Chances, ItemRun, learner_of
from levelled.campaigns.drawing.pools import open_attached
from levelled.campaigns.figures.settled import SettledDraws
from levelled.campaigns.log.state import CampaignState
from levelled.errors import CampaignError, LevelledError
from levelled.estimators.lure import ranked_weights
from levelled.metrics.controlled import Columns
from levelled.metrics.named import Metric, PossibleLabels
from levelled.sources import Pool
from levelled.surrogates import next_round_size

_HALF_TRUSTED = 2.0  # STATISTICS 1.16.3
"""Surprises after which a control counts half, where draws do not follow the predictor."""

PoolAt = Callable[[CampaignState, int], Pool]


class NoPoolError(CampaignError):
    """The pool cannot be opened, so nothing is expected of its items."""


@dataclass(frozen=True, eq=False)
class Stretch:
    """Draws first..last with one predictor."""

    key: str
    """A name for all that its predictor and weights follow from."""
    first: int
    last: int
    follows: bool
    """True if the draws follow the predictor."""
    unlabelable: float
    """The share of items that cannot be labelled, as the labels before say."""
    taken: IntArray
    """The rows that could not be drawn any more when it began, in order."""
    make: Callable[[], tuple[AnyPredictor, FloatArray]]

    @cached_property
    def _made(self) -> tuple[AnyPredictor, FloatArray]:
        return self.make()

    @property
    def predictor(self) -> AnyPredictor:
        """The predictor of the label."""
        return self._made[0]

    @property
    def weights(self) -> FloatArray:
        """The probabilities of the items left at its first draw, in the order of their rows."""
        return self._made[1]


@dataclass(frozen=True, slots=True)
class Family:
    """The figures of a metric of one model, or of two, in the whole pool or in all slices."""

    metric: Metric
    models: tuple[str, ...]
    column: str | None


@dataclass(frozen=True, slots=True, eq=False)
class StretchSums:
    """What is expected of the columns of a family in one stretch, for each of S slices."""

    left: FloatArray
    """Sums of expectations over the items left at the first draw [K, S]."""
    count: FloatArray
    """The number of those items [S]."""
    squares: FloatArray
    """Sums of E[a a'] / q over them [K, K, S]."""
    products: FloatArray
    """Sums of E[a] E[a]' / q [K, K, S]."""
    singles: FloatArray
    """Sums of E[a] / q [K, S]."""
    inverse: FloatArray
    """Sums of 1 / q [S]."""

    def to_array(self) -> FloatArray:
        """All sums as one array, for a snapshot."""
        S = len(self.count)
        parts = (getattr(self, one.name).reshape(-1, S) for one in fields(self))
        return np.concatenate([*parts])

    @classmethod
    def from_array(cls, rows: FloatArray) -> "StretchSums":
        """The sums that `to_array` wrote."""
        S = rows.shape[1]
        K = round((np.sqrt(2 * len(rows) - 3) - 1) / 2)  # of 2 K^2 + 2 K + 2 rows
        shapes = [(K, S), (S,), (K, K, S), (K, K, S), (K, S), (S,)]
        ends = np.cumsum([int(np.prod(shape)) // S for shape in shapes])
        parts = np.split(rows, ends[:-1])
        return cls(*(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)))


@dataclass(slots=True)
class Expectations:
    """The stretches of a campaign and the sums over its pool, kept between looks."""

    pool_at: PoolAt
    stretches: dict[str, Stretch] = field(default_factory=dict)
    sums: dict[str, StretchSums] = field(default_factory=dict)
    drawn: dict[str, tuple[FloatArray, FloatArray]] = field(default_factory=dict)
    attached: dict[object, PossibleLabels] = field(default_factory=dict)
    shrunk: dict[object, tuple[FloatArray, FloatArray]] = field(default_factory=dict)

    def to_plain(self) -> tuple[dict[str, list[str]], dict[str, FloatArray]]:
        """Names and arrays for a snapshot."""
        arrays = {f"sums{at}": one.to_array() for at, one in enumerate(self.sums.values())}
        for at, (tables, chance) in enumerate(self.drawn.values()):
            arrays |= {f"tables{at}": tables, f"chance{at}": chance}
        return {"sums": [*self.sums], "drawn": [*self.drawn]}, arrays

    def load(self, plain: Mapping[str, Sequence[str]], arrays: Mapping[str, Any]) -> None:
        """Take in what `to_plain` wrote."""
        for at, key in enumerate(plain.get("sums", ())):
            self.sums.setdefault(key, StretchSums.from_array(arrays[f"sums{at}"]))
        for at, key in enumerate(plain.get("drawn", ())):
            self.drawn.setdefault(key, (arrays[f"tables{at}"], arrays[f"chance{at}"]))

    def _pool(self, state: CampaignState, draw: int) -> Pool:
        """The pool as a draw saw it; what is expected of its items cannot be told without it."""
        try:
            return self.pool_at(state, draw)
        except LevelledError as gone:
            raise NoPoolError(str(gone)) from gone

    def columns(self, base: SettledDraws, family: Family, value: str | None) -> Columns:
        """The columns of a family in one slice, or in the whole pool, for settled draws."""
        state, n = base.state, len(base)
        K = 2 * len(family.models) * len(family.metric.parts)
        values = self._values(base, family, value)
        control, left, likely = (np.zeros((K, n)) for _ in range(3))
        spread, possible = np.zeros((n, K, K)), []
        N = base.draws.pool_size
        for stretch in self._stretches(base):
            at = slice(stretch.first - 1, min(stretch.last, n))
            inside = base.in_slice(family.column, value)[at]
            tables, chance = self._tables(base, family, stretch)
            tables, chance = tables[:, : inside.size] * inside[:, None], chance[: inside.size]
            mean = np.einsum("mj,kmj->km", chance, tables)
            top = chance.argmax(axis=1)
            likely[:, at] = np.take_along_axis(tables, top[None, :, None], axis=2)[..., 0]
            possible.append(tables)
            sums, place = self._sums(base, family, stretch), 0
            if family.column is not None:
                place = [*state.settings.slice_counts[family.column]].index(str(value))
            before = base.in_slice(family.column, value)[: stretch.first - 1]
            g, start, residual, constant, trust = _shrink(
                base, stretch, values, likely, possible, mean, inside, before, sums, place
            )
            self.shrunk[family, value, stretch.key] = constant, trust
            control[:, at] = g
            left[:, at] = start[:, None] - (np.cumsum(g, axis=1) - g)
            spread[at] = residual / N**2
        J = max(one.shape[2] for one in possible)
        wide = [np.pad(one, ((0, 0), (0, 0), (0, J - one.shape[2])), "edge") for one in possible]
        return Columns(values, control, left, spread, likely, np.concatenate(wide, axis=1))

    def controls(
        self, base: SettledDraws, family: Family, value: str | None
    ) -> Iterator[tuple[Stretch, FloatArray]]:
        """Each stretch, and the control [K, n] of all items left when it began.

        Of a pool that is a single run.
        """
        self.columns(base, family, value)
        pool = self.pool_at(base.state, 1)
        learner = learner_of(pool, base.state.settings)
        (run,) = learner.runs()
        inside = np.ones(len(run))
        if family.column is not None:
            values = pool.slice_values(family.column)
            inside = (np.array(values.values, dtype=object)[values.codes] == value) * 1.0
        for stretch in self._stretches(base):
            chances = learner.chances(stretch.predictor, run)
            tables, chance = self._family_tables(base, family, stretch, run, chances)
            constant, trust = self.shrunk[family, value, stretch.key]
            mean = np.einsum("nj,knj->kn", chance, tables)
            g = (constant[:, None] + trust[:, None] * mean) * inside
            yield stretch, np.delete(g, stretch.taken, axis=1)

    def _values(self, base: SettledDraws, family: Family, value: str | None) -> FloatArray:
        """A of each model, then D of each."""
        inside = base.in_slice(family.column, value) & base.labelable
        is_ratio = family.metric.kind == "ratio"
        pairs = [base.losses(*one) for one in product(family.metric.parts, family.models)]
        above = [A * inside for A, _ in pairs]
        below = [D * inside if is_ratio else inside.astype(np.float64) for _, D in pairs]
        return np.stack([*above, *below])

    def _models(self, base: SettledDraws, family: Family) -> tuple[object, ...]:
        """The models of a family, and which of their predictions are meant."""
        return tuple(base.predictor(model) for model in family.models)

    def _stretches(self, base: SettledDraws) -> Iterator[Stretch]:
        """The stretches of the settled draws, in order."""
        state, n = base.state, len(base)
        for first, last, is_recorded in _bounds(state, n):
            if first > n:
                return
            yield self._stretch(base, first, last, is_recorded)

    def _stretch(self, base: SettledDraws, first: int, last: int, is_recorded: bool) -> Stretch:
        state = base.state
        begun = next((one for one in reversed(state.rounds) if one.first <= first), None)
        rows, labels = base.rows[: first - 1], base.labels[: first - 1]
        # Recorded predictors stay; fits between frozen draws change with the labels before.
        recorded = begun.predictor if is_recorded and begun is not None else labels
        text = f"{first} {recorded} {rows.tolist()} {len(state.known)}"
        key = sha256(text.encode()).hexdigest()
        kept = self.stretches.get(key)
        if kept is not None:
            return kept if kept.last == last else _with_last(kept, last)
        has_label = np.array([one is not None for one in labels], dtype=bool)
        weights = ranked_weights(base.draws.probability[: first - 1], base.draws.pool_size)
        taken = np.sort(taken_rows(rows.tolist(), state.known, first))

        def make() -> tuple[AnyPredictor, FloatArray]:
            pool, settings = self._pool(state, first), state.settings
            learner = learner_of(pool, settings)
            if is_recorded and begun is not None:
                predictor = learner.restore(begun.predictor or {})
                frozen = proposal_of(pool, settings, begun, taken)
            else:
                known = [item for one in state.known if one.first <= first for item in one.items]
                told = [one for one in labels if one is not None] + [one.label for one in known]
                every = np.append(rows[has_label], [one.row for one in known]).astype(np.int64)
                drawn = int(has_label.sum())
                predictor = learner.fit(every, told, weights[has_label], None, drawn)
                frozen = _frozen(pool, state, begun, taken, first)
            return predictor, frozen.weights / frozen.weights.sum()

        share = 0.0
        if len(labels) and not has_label.all():
            share = float(weights @ ~has_label / weights.sum())
        made = self.stretches[key] = Stretch(key, first, last, is_recorded, share, taken, make)
        return made

    def _items(
        self, base: SettledDraws, run: ItemRun, model: str, rows: IntArray | None
    ) -> PossibleLabels:
        """What a model predicts for a run of items, or for some rows of the pool."""
        state = base.state
        model = model or state.settings.models[0]
        if model not in state.attached:
            return run.models[model if model in run.models else state.settings.models[0]]
        later = state.attached[model]
        key = (model, later.fingerprint)
        if key not in self.attached:
            pool = self._pool(state, 1)
            learner = learner_of(pool, state.settings)
            table = open_attached(state.settings, model, later)
            whole = learner.possible(table.predictions())
            order = table.rows_of(pool.ids(range(len(pool))))
            proba = None if whole.proba is None else whole.proba[order]
            self.attached[key] = replace(whole, pred=whole.pred[order], proba=proba)
        every = self.attached[key]
        part: Any = slice(run.start, run.start + len(run)) if rows is None else rows
        return replace(
            every, pred=every.pred[part], proba=None if every.proba is None else every.proba[part]
        )

    def _family_tables(
        self,
        base: SettledDraws,
        family: Family,
        stretch: Stretch,
        run: ItemRun,
        chances: Chances,
        rows: IntArray | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """The columns [K, n, J] of a run for each label, and the chance [n, J] of each."""
        items = {
            model: replace(self._items(base, run, model, rows), numbers=chances.numbers)
            for model in family.models
        }
        both = [
            part.tables(items[model]) for part, model in product(family.metric.parts, family.models)
        ]
        tables = np.stack([one[0] for one in both] + [one[1] for one in both])
        chance = chances.chance
        if stretch.unlabelable:  # one more label, which adds to nothing
            r = stretch.unlabelable
            tables = np.pad(tables, ((0, 0), (0, 0), (0, 1)))
            chance = np.hstack([(1 - r) * chance, np.full((len(chance), 1), r)])
        return tables, chance

    def _tables(
        self, base: SettledDraws, family: Family, stretch: Stretch
    ) -> tuple[FloatArray, FloatArray]:
        """The columns and chances of the draws of a stretch."""
        last = min(stretch.last, len(base.state.draws))
        key = f"{family.metric.name} {self._models(base, family)} {last} {stretch.key}"
        if key not in self.drawn:
            state = base.state
            learner = learner_of(self._pool(state, stretch.first), state.settings)
            items = state.draws[stretch.first - 1 : last]
            rows = np.array([item.row for item in items], dtype=np.int64)
            run = learner.at(rows)
            chances = learner.chances(stretch.predictor, run)
            self.drawn[key] = self._family_tables(base, family, stretch, run, chances, rows)
        return self.drawn[key]

    def _sums(self, base: SettledDraws, family: Family, stretch: Stretch) -> StretchSums:
        """The sums of a stretch over the items left, in one pass over the pool."""
        models = self._models(base, family)
        key = f"{family.metric.name} {models} {family.column} {stretch.key}"
        if key in self.sums:
            return self.sums[key]
        state = base.state
        pool = self._pool(state, stretch.first)
        learner = learner_of(pool, state.settings)
        codes, S = None, 1
        if family.column is not None:
            values = pool.slice_values(family.column)
            order = {name: at for at, name in enumerate(state.settings.slice_counts[family.column])}
            codes = np.array([order[name] for name in values.values])[values.codes]
            S = len(order)
        K = 2 * len(family.models) * len(family.metric.parts)
        sums = StretchSums(
            np.zeros((K, S)),
            np.zeros(S),
            np.zeros((K, K, S)),
            np.zeros((K, K, S)),
            np.zeros((K, S)),
            np.zeros(S),
        )
        for run in learner.blocks():
            left = np.ones(len(run), dtype=bool)
            first, last = np.searchsorted(stretch.taken, [run.start, run.start + len(run)])
            left[stretch.taken[first:last] - run.start] = False
            chances = learner.chances(stretch.predictor, run)
            tables, chance = self._family_tables(base, family, stretch, run, chances)
            mean = np.einsum("nj,knj->kn", chance, tables)[:, left]
            begin = run.start - first
            inverse = 1 / stretch.weights[begin : begin + int(left.sum())]
            where = None if codes is None else codes[run.start : run.start + len(run)][left]

            def add(values: FloatArray, where: IntArray | None = where) -> FloatArray:
                if where is None:
                    return np.array([values.sum()])
                return np.asarray(np.bincount(where, values, minlength=S), dtype=np.float64)

            sums.count[:] += add(np.ones(len(inverse)))
            sums.inverse[:] += add(inverse)
            for k in range(K):
                sums.left[k] += add(mean[k])
                sums.singles[k] += add(mean[k] * inverse)
                for j in range(k + 1):
                    square = np.einsum("nj,nj,nj->n", chance, tables[k], tables[j])[left]
                    sums.squares[k, j] += add(square * inverse)
                    sums.products[k, j] += add(mean[k] * mean[j] * inverse)
                    sums.squares[j, k], sums.products[j, k] = (
                        sums.squares[k, j],
                        sums.products[k, j],
                    )
        self.sums[key] = sums
        return sums


def _with_last(stretch: Stretch, last: int) -> Stretch:
    """The same stretch, which more draws belong to by now."""
    longer = replace(stretch, last=last)
    if "_made" in stretch.__dict__:
        longer.__dict__["_made"] = stretch._made
    return longer


def _bounds(state: CampaignState, n: int) -> Iterator[tuple[int, int, bool]]:
    """The first and the last draw of each stretch, and if its predictor is in the log."""
    ends = [*(one.first for one in state.rounds), len(state.draws) + 1]
    parts = [(1, ends[0] - 1, False)] if ends[0] > 1 else []
    for begun, end in zip(state.rounds, ends[1:], strict=True):
        parts.append((begun.first, end - 1, begun.predictor is not None))
    changes = {one.first for one in state.known}
    for first, last, is_recorded in parts:
        if is_recorded:
            yield first, last, True
            continue
        begin = first
        while begin <= last:
            end = begin + next_round_size(begin - 1) - 1
            end = min([end, last, *(one - 1 for one in changes if begin < one <= end)])
            yield begin, end, False
            begin = end + 1


def _frozen(pool: Pool, state: CampaignState, begun: Any, taken: IntArray, first: int) -> Any:  # noqa: ANN401
    """The weights of items left, of draws that do not follow a predictor."""
    settings = state.settings
    if begun is not None:
        settings = replace(settings, kind="static", floor=begun.floor)
    if first <= settings.n_sampled:
        settings = replace(settings, kind="uniform")
    return frozen_proposal(lambda: pool.runs(settings.models[0]), settings).without(taken)


def _shrink(
    base: SettledDraws,
    stretch: Stretch,
    values: FloatArray,
    likely: FloatArray,
    possible: Sequence[FloatArray],
    mean: FloatArray,
    inside: BoolArray,
    inside_before: BoolArray,
    sums: StretchSums,
    place: int,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """The control of the drawn items, its sum over the items left, and the spread it leaves.

    With them the constant part of the control, and the factor lambda of the rest.

    The spread is the sum of E[(a - g) (a - g)'] / q. Where the draws follow the predictor, g is
    what it expects. Elsewhere it may hurt while errors are rare, so it is shrunk:

        g = t 1[slice] + lambda (E[a] - mean 1[slice]),    lambda = e / (e + 2)

    with t the mean of the labels before, and e the surprises among them.
    """
    squares, products = sums.squares[..., place], sums.products[..., place]
    if stretch.follows:
        zeros = np.zeros(len(values))
        return mean, sums.left[:, place], squares - products, zeros, zeros + 1
    before, K = slice(0, stretch.first - 1), len(values)
    P, n_left = K // 2, max(sums.count[place], 1.0)
    average = sums.left[:, place] / n_left
    weights = ranked_weights(base.draws.probability, base.draws.pool_size)[before]
    labels = values[:, before]
    count = float(weights @ inside_before)
    t, trust = average, np.zeros(K)
    if count > 0:
        t = labels @ weights / count
        A, D = t[:P], t[P:]
        theta = np.where(D > 0, A / np.where(D > 0, D, 1), 0.0)
        reach = np.zeros(P)
        for tables in possible[:-1]:
            psi = tables[:P] - theta[:, None, None] * tables[P:]
            reach = np.maximum(reach, np.ptp(psi, axis=2).max(axis=1, initial=0.0))
        change = (values - likely)[:, before]
        surprise = np.abs(change[:P] - theta[:, None] * change[P:]).sum(axis=1)
        # Each part by itself, so that a difference is that of the two figures.
        e = np.where(reach > 0, surprise / np.where(reach > 0, reach, 1), 0.0)
        trust = np.tile(e / (e + _HALF_TRUSTED), 2)
    # a - g = (a - E[a]) + (1 - trust) E[a] - s, s the constant part of g
    s, rest = t - trust * average, 1 - trust
    g = s[:, None] * inside + trust[:, None] * mean
    start = s * sums.count[place] + trust * sums.left[:, place]
    single = np.outer(rest * sums.singles[:, place], s)
    residual = (
        squares
        - products
        + np.outer(rest, rest) * products
        - (single + single.T)
        + np.outer(s, s) * sums.inverse[place]
    )
    return g, start, residual, s, trust
