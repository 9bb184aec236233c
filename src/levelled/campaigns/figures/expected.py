"""What the predictor of the label expects of the columns of a figure, at each draw.

Draws come in stretches with one predictor each: the rounds of an adaptive campaign, which are in
the log. Between draws by weights that never change the predictor is fitted again as often, from the
labels of the draws before; that follows from the log, and is kept as a cache, as are the sums over
the pool.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from levelled._check import BoolArray, FloatArray, IntArray
from levelled.campaigns.drawing.drawing import (
    drives_of,
    frozen_proposal,
    proposal_of,
    taken_rows,
)
from levelled.campaigns.drawing.learner import (
    AnyPredictor,
    Chances,
    ItemRun,
    learner_of,
    restore_predictor,
)
from levelled.campaigns.drawing.pools import open_attached
from levelled.campaigns.figures.settled import SettledDraws
from levelled.campaigns.log.state import CampaignState
from levelled.errors import LevelledError
from levelled.estimators.lure import ranked_weights
from levelled.metrics.controlled import Columns
from levelled.metrics.named import Metric, PossibleLabels
from levelled.sources import Pool
from levelled.surrogates import next_round_size

_HALF_TRUSTED = 2.0  # STATISTICS 1.16.3
"""Surprises after which a control counts half, where draws do not follow the predictor."""

PoolAt = Callable[[CampaignState, int], Pool]


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
    """Draws first..last with one predictor, and the weights of all items that were left."""

    key: object
    first: int
    last: int
    predictor: AnyPredictor
    taken: IntArray
    """The rows that could not be drawn any more when it began, in order."""
    weights: FloatArray
    """The probabilities of the others at its first draw, in the order of their rows."""
    follows: bool
    """True if the draws follow the predictor."""
    unlabelable: float
    """The share of items that cannot be labelled, as the labels before say."""


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


@dataclass(slots=True)
class Expectations:
    """The stretches of a campaign and the sums over its pool, kept between looks."""

    pool_at: PoolAt
    stretches: dict[object, Stretch] = field(default_factory=dict)
    sums: dict[object, StretchSums] = field(default_factory=dict)
    drawn: dict[object, tuple[FloatArray, FloatArray]] = field(default_factory=dict)
    attached: dict[object, PossibleLabels] = field(default_factory=dict)

    def columns(
        self, base: SettledDraws, family: Family, value: str | None
    ) -> Columns:
        """The columns of a family in one slice, or in the whole pool, for settled draws."""
        state, n = base.state, len(base)
        K = 2 * len(family.models)
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
            g, start, residual = _shrink(
                base, stretch, values, likely, possible, mean, inside, before, sums, place
            )
            control[:, at] = g
            left[:, at] = start[:, None] - (np.cumsum(g, axis=1) - g)
            spread[at] = residual / N**2
        J = max(one.shape[2] for one in possible)
        wide = [np.pad(one, ((0, 0), (0, 0), (0, J - one.shape[2])), "edge") for one in possible]
        return Columns(values, control, left, spread, likely, np.concatenate(wide, axis=1))

    def _values(self, base: SettledDraws, family: Family, value: str | None) -> FloatArray:
        """A of each model, then D of each."""
        inside = base.in_slice(family.column, value) & base.labelable
        pairs = [base.losses(family.metric, model) for model in family.models]
        above = [A * inside for A, _ in pairs]
        is_ratio = family.metric.kind == "ratio"
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
        labels = base.labels[: first - 1]
        # Recorded predictors stay; fits between frozen draws change with the labels before.
        recorded = str(begun.predictor) if is_recorded and begun is not None else labels
        key = (first, recorded, len(state.known))
        kept = self.stretches.get(key)
        if kept is not None:
            return kept if kept.last == last else replace(kept, last=last)
        pool, settings = self.pool_at(state, first), state.settings
        learner = learner_of(pool, settings)
        rows = base.rows[: first - 1]
        taken = np.sort(taken_rows(rows.tolist(), state.known, first))
        has_label = np.array([one is not None for one in labels], dtype=bool)
        weights = ranked_weights(base.draws.probability[: first - 1], base.draws.pool_size)
        if is_recorded:
            assert begun is not None and begun.predictor is not None
            predictor = restore_predictor(begun.predictor)
            frozen = proposal_of(pool, settings, begun, taken)
        else:
            known = [item for one in state.known if one.first <= first for item in one.items]
            told = [one for one in labels if one is not None] + [item.label for item in known]
            every = np.append(rows[has_label], [item.row for item in known]).astype(np.int64)
            drawn = int(has_label.sum())
            predictor = learner.fit(every, told, weights[has_label], None, drawn)
            frozen = _frozen(pool, state, begun, taken, first)
        q = frozen.weights / frozen.weights.sum()
        share = 0.0
        if len(labels) and not has_label.all():
            share = float(weights @ ~has_label / weights.sum())
        made = Stretch(key, first, last, predictor, taken, q, is_recorded, share)
        self.stretches[key] = made
        return made

    def _items(self, base: SettledDraws, run: ItemRun, model: str, rows: IntArray | None) -> PossibleLabels:
        """What a model predicts for a run of items, or for some rows of the pool."""
        state = base.state
        model = model or state.settings.models[0]
        if model not in state.attached:
            return run.models[model if model in run.models else state.settings.models[0]]
        later = state.attached[model]
        key = (model, later.fingerprint)
        if key not in self.attached:
            pool = self.pool_at(state, 1)
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
        self, base: SettledDraws, family: Family, stretch: Stretch, run: ItemRun,
        chances: Chances, rows: IntArray | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """The columns [K, n, J] of a run for each label, and the chance [n, J] of each."""
        both = [
            family.metric.tables(
                replace(self._items(base, run, model, rows), numbers=chances.numbers)
            )
            for model in family.models
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
        key = (family.metric.name, self._models(base, family), stretch.key, last)
        if key not in self.drawn:
            state = base.state
            learner = learner_of(self.pool_at(state, stretch.first), state.settings)
            items = state.draws[stretch.first - 1 : last]
            rows = np.array([item.row for item in items], dtype=np.int64)
            run = learner.at(rows)
            chances = learner.chances(stretch.predictor, run)
            self.drawn[key] = self._family_tables(base, family, stretch, run, chances, rows)
        return self.drawn[key]

    def _sums(self, base: SettledDraws, family: Family, stretch: Stretch) -> StretchSums:
        """The sums of a stretch over the items left, in one pass over the pool."""
        key = (family.metric.name, family.column, self._models(base, family), stretch.key)
        if key in self.sums:
            return self.sums[key]
        state = base.state
        pool = self.pool_at(state, stretch.first)
        learner = learner_of(pool, state.settings)
        codes, S = None, 1
        if family.column is not None:
            values = pool.slice_values(family.column)
            order = {name: at for at, name in enumerate(state.settings.slice_counts[family.column])}
            codes = np.array([order[name] for name in values.values])[values.codes]
            S = len(order)
        K = 2 * len(family.models)
        sums = StretchSums(
            np.zeros((K, S)), np.zeros(S), np.zeros((K, K, S)), np.zeros((K, K, S)),
            np.zeros((K, S)), np.zeros(S),
        )
        for run in learner.runs():
            left = np.ones(len(run), dtype=bool)
            first, last = np.searchsorted(stretch.taken, [run.start, run.start + len(run)])
            left[stretch.taken[first:last] - run.start] = False
            chances = learner.chances(stretch.predictor, run)
            tables, chance = self._family_tables(base, family, stretch, run, chances)
            mean = np.einsum("nj,knj->kn", chance, tables)[:, left]
            begin = run.start - first
            inverse = 1 / stretch.weights[begin : begin + int(left.sum())]
            where = None if codes is None else codes[run.start : run.start + len(run)][left]

            def add(values: FloatArray, where: Any = where) -> FloatArray:
                if where is None:
                    return np.array([values.sum()])
                return np.bincount(where, values, minlength=S)

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
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The control of the drawn items, its sum over the items left, and the spread it leaves.

    The spread is the sum of E[(a - g) (a - g)'] / q. Where the draws follow the predictor, g is
    what it expects. Elsewhere it may hurt while errors are rare, so it is shrunk:

        g = t 1[slice] + lambda (E[a] - mean 1[slice]),    lambda = e / (e + 2)

    with t the mean of the labels before, and e the surprises among them.
    """
    squares, products = sums.squares[..., place], sums.products[..., place]
    if stretch.follows:
        return mean, sums.left[:, place], squares - products
    before, K = slice(0, stretch.first - 1), len(values)
    P, n_left = K // 2, max(sums.count[place], 1.0)
    average = sums.left[:, place] / n_left
    weights = ranked_weights(base.draws.probability, base.draws.pool_size)[before]
    labels = values[:, before]
    count = float(weights @ inside_before)
    t, trust = average, 0.0
    if count > 0:
        t = labels @ weights / count
        A, D = t[:P], t[P:]
        theta = np.where(D > 0, A / np.where(D > 0, D, 1), 0.0)
        reach = 0.0
        for tables in possible[:-1]:
            psi = tables[:P] - theta[:, None, None] * tables[P:]
            reach = max(reach, float(np.ptp(psi, axis=2).max(initial=0.0)))
        change = (values - likely)[:, before]
        surprise = np.abs(change[:P] - theta[:, None] * change[P:]).max(axis=0)
        e = float(surprise.sum()) / reach if reach > 0 else 0.0
        trust = e / (e + _HALF_TRUSTED)
    g = (t - trust * average)[:, None] * inside + trust * mean
    start = (t - trust * average) * sums.count[place] + trust * sums.left[:, place]
    # a - g = (a - E[a]) + (1 - trust) E[a] - s, s the constant part of g
    s, rest = t - trust * average, 1 - trust
    single = np.outer(sums.singles[:, place], s)
    residual = (
        squares
        - products
        + rest**2 * products
        - rest * (single + single.T)
        + np.outer(s, s) * sums.inverse[place]
    )
    return g, start, residual
