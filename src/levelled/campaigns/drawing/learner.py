"""What a campaign learns: the chance of each label of an item, and the proposals that follow.

One predictor of the label serves every figure: what is expected of a figure's columns, and how much
they vary, follows from the chances. Its columns are read a run of rows at a time; a pool in memory
is a single run.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, proxy

import numpy as np

from levelled._check import FloatArray, IntArray
from levelled.campaigns.settings import CampaignSettings
from levelled.labels import Label, class_text
from levelled.metrics.named import Metric, PossibleLabels
from levelled.predictions import Categorical, PoolPredictions, spread_chances, verdict_table
from levelled.samplers import FrozenProposal, RunProposal
from levelled.sources import Pool
from levelled.surrogates.covariates import ColumnMoments, Reduction
from levelled.surrogates.driver import keep_single, water_filled
from levelled.surrogates.label_predictor import (
    LabelColumns,
    LabelPredictor,
    LabelScaling,
    fit_label_predictor,
    prior_label_predictor,
)
from levelled.surrogates.number_predictor import (
    NumberColumns,
    NumberPredictor,
    NumberScaling,
    fit_number_predictor,
    prior_number_predictor,
)

OTHER = ""
"""The class of all labels that are none of the known classes."""
_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(7)
_NODE_CHANCES = _NODE_WEIGHTS / _NODE_WEIGHTS.sum()
"""A normal distribution as seven numbers with their chances (Gauss and Hermite)."""
_BLOCK = 1 << 16
"""Items computed at once."""
_FIRST_FIT = 10  # labels of the first fit, as `next_round_size` has it
_MOST_KNOWN = 20.0  # STATISTICS
"""The labels that those known without a draw count as at the most, while fewer are drawn."""
_MOST_RESTORED = 100
_KEPT = 4_000_000
"""Chances that a learner keeps, of all predictors together."""
_LEARNERS: WeakKeyDictionary[Pool, dict[object, "Learner"]] = WeakKeyDictionary()

AnyPredictor = LabelPredictor | NumberPredictor


class Chances(NamedTuple):
    """The chance of each label [n, J] of a run of items, and the labels where they are numbers."""

    chance: FloatArray
    numbers: FloatArray | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ItemRun:
    """A run of items: what the predictor learns from, and what each model predicts."""

    start: int
    columns: LabelColumns | NumberColumns
    models: Mapping[str, PossibleLabels]
    is_whole: bool = False
    """True if it is the whole pool, in its order."""

    def __len__(self) -> int:
        return len(self.columns)


class Learner:
    """The predictor of the labels of one pool, before and after labels."""

    def __init__(self, settings: CampaignSettings, pool: Pool) -> None:
        self.settings, self._pool = settings, pool
        self._models = settings.models
        first = pool.predictions_at([0], self._models[0])
        self.is_numeric = settings.numeric and first.label_proba is None
        self.classes = () if self.is_numeric else _label_space(settings, pool)
        self._codes = {name: at for at, name in enumerate(self.classes)}
        self._reduction: Reduction | None = None
        if _features(first) is not None:
            features = (X for X in map(_features, pool.runs(self._models[0])) if X is not None)
            self._reduction = Reduction.of(features, len(pool))
        self.runs = keep_single(self._make_runs, len(pool))
        self.is_one_run = len(next(iter(self.runs()))) == len(pool)
        every: Any = lambda: (run.columns for run in self.runs())  # noqa: E731
        self.scaling: Any = (
            NumberScaling.of(every, len(pool))
            if self.is_numeric
            else LabelScaling.of(every, len(pool), _has_only_verdicts(first))
        )
        self._kept: dict[int, tuple[AnyPredictor, Chances]] = {}
        self._restored: dict[int, tuple[Mapping[str, Any], AnyPredictor]] = {}

    def _make_runs(self) -> Iterator[ItemRun]:
        several = zip(*(self._pool.runs(model) for model in self._models), strict=True)
        start = 0
        for predictions in several:
            run = self._make_run(start, dict(zip(self._models, predictions, strict=True)))
            yield run
            start += len(run)

    def blocks(self) -> Iterator[ItemRun]:
        """All items in order, a few at a time, so that what is computed of them needs little
        memory.
        """
        for run in self.runs():
            for start in range(0, len(run), _BLOCK):
                part = slice(start, start + _BLOCK)
                models = {name: _at(one, part) for name, one in run.models.items()}
                is_whole = self.is_one_run and len(run) <= _BLOCK
                yield ItemRun(run.start + start, run.columns.at(part), models, is_whole)

    def at(self, rows: IntArray) -> ItemRun:
        """Some items as a run, in their order."""
        if self.is_one_run:
            (run,) = self.runs()
            return ItemRun(
                0, run.columns.at(rows), {m: _at(p, rows) for m, p in run.models.items()}
            )
        columns = self._pool.at(rows)
        return self._make_run(0, {model: columns.predictions(model) for model in self._models})

    def _make_run(self, start: int, predictions: Mapping[str, PoolPredictions]) -> ItemRun:
        models = {name: self.possible(one) for name, one in predictions.items()}
        first, features = predictions[self._models[0]], None
        X = _features(first)
        if X is not None and self._reduction is not None:
            features = self._reduction.apply(X)
        if self.is_numeric:
            numbers = [one.pred for one in models.values()]
            if first.loss_hat is not None and self.settings.metrics[0].needs == "label":
                numbers.append(np.asarray(first.loss_hat, dtype=np.float64))
                return ItemRun(start, NumberColumns((*numbers,), features), models)
            hat = None if first.loss_hat is None else np.asarray(first.loss_hat, dtype=np.float64)
            return ItemRun(start, NumberColumns((*numbers,), features, hat), models)
        pred = models[self._models[0]].pred
        tables = [
            self._wide(table)
            for one in predictions.values()
            for table in (one.proba, one.surrogate)
            if table is not None
        ]
        if (hat := self._from_losses(first, pred)) is not None:
            tables.append(hat)
        if not tables and first.pred is not None:
            tables = [self._verdicts[pred]]
        if not tables:
            tables = [np.full((len(pred), len(self.classes)), 1 / len(self.classes))]
        return ItemRun(start, LabelColumns((*tables,), pred, features), models)

    def possible(self, predictions: PoolPredictions) -> PossibleLabels:
        """The predictions of one model as places among the labels."""
        n = len(predictions)
        if self.is_numeric:
            numbers = predictions.number
            values = np.zeros(n) if numbers is None else np.asarray(numbers, dtype=np.float64)
            return PossibleLabels((), values)
        if isinstance(predictions.pred, Categorical):
            codes = [self._code(name) for name in predictions.pred.values]
            pred = np.array(codes, dtype=np.int64)[predictions.pred.codes]
        elif predictions.pred is not None:
            values, inverse = np.unique(np.asarray(predictions.pred), return_inverse=True)
            codes = [self._code(class_text(one)) for one in values.tolist()]
            pred = np.array(codes, dtype=np.int64)[inverse]
        elif predictions.label_proba is not None:
            pred = np.asarray(predictions.label_proba).argmax(axis=1)
        else:
            pred = np.zeros(n, dtype=np.int64)
        return PossibleLabels(self.classes, pred, predictions.proba)

    def _code(self, name: str) -> int:
        return self._codes.get(name, len(self.classes) - 1)

    def codes(self, labels: Sequence[Label]) -> IntArray:
        """Labels as places among the classes; a number as that of the nearest class."""
        if self.settings.numeric:
            worth = np.array([float(name) for name in self.classes])
            return np.array([int(np.abs(worth - float(one)).argmin()) for one in labels])
        return np.array([self._code(str(one)) for one in labels], dtype=np.int64)

    def _wide(self, proba: Any) -> Any:  # noqa: ANN401
        """Probabilities with a column for labels that are no class, where there is one."""
        missing = len(self.classes) - proba.shape[1]
        return proba if not missing else np.pad(proba, ((0, 0), (0, missing)))

    def _from_losses(self, predictions: PoolPredictions, pred: IntArray) -> Any:  # noqa: ANN401
        """Chances that follow from predicted losses, where these are chances of an error."""
        metric, hat = self.settings.metrics[0], predictions.loss_hat
        if hat is None or metric.needs not in ("pred", "label") or metric.bounds != (0.0, 1.0):
            return None
        chance = np.clip(np.asarray(hat, dtype=np.float64), 0, 1)
        if metric.needs == "label":
            at = self._code(str(metric.positive))
            return spread_chances(
                Categorical(self.classes, np.full(len(pred), at)), chance, self._counts
            )
        return spread_chances(Categorical(self.classes, pred), 1 - chance, self._counts)

    @property
    def _counts(self) -> Mapping[str, int]:
        return self.settings.pred_counts.get(self._models[0], {})

    @property
    def _verdicts(self) -> FloatArray:
        counts = [self._counts.get(name, 0) for name in self.classes]
        return verdict_table(np.array(counts, dtype=np.float64))

    @property
    def first_predictor(self) -> AnyPredictor:
        """The predictor before any label."""
        if self.is_numeric:
            return prior_number_predictor(self.scaling)
        return prior_label_predictor(self.scaling)

    def restore(self, plain: Mapping[str, Any]) -> AnyPredictor:
        """The predictor of a round in the log."""
        if id(plain) not in self._restored:
            kind = NumberPredictor if self.is_numeric else LabelPredictor
            _keep(self._restored, id(plain), (plain, kind.from_json(plain)), _MOST_RESTORED)
        return self._restored[id(plain)][1]

    def fit(
        self,
        rows: IntArray,
        labels: Sequence[Label],
        weights: FloatArray,
        before: Any = None,  # noqa: ANN401
        n_drawn: int | None = None,
    ) -> AnyPredictor:
        """The predictor after these labels, those of the first `n_drawn` of which were drawn."""
        n = len(rows) if n_drawn is None else n_drawn
        n_known = len(rows) - n
        if n < _FIRST_FIT and n_known < _FIRST_FIT:
            return self.first_predictor
        if n_known:  # of any choice of items, so they count no more than the drawn ones
            share = min(1.0, max(_MOST_KNOWN, n) / n_known)
            weights = np.append(weights, np.full(n_known, share * (weights.mean() if n else 1.0)))
        drawn = n if n >= _FIRST_FIT else 0
        columns: Any = self.at(rows).columns
        if before is not None and not before.fits(self.scaling):
            before = None  # it had other columns to learn from
        if self.is_numeric:
            y = np.array([float(one) for one in labels])
            return fit_number_predictor(columns, self.scaling, y, weights, drawn)
        codes = self.codes(labels)
        return fit_label_predictor(columns, self.scaling, codes, weights, before, drawn)

    def chances(self, predictor: Any, run: ItemRun) -> Chances:  # noqa: ANN401
        """The chance of each label of a run of items; those of a whole small pool are kept."""
        if not run.is_whole:
            return self._chances(predictor, run)
        if id(predictor) not in self._kept:
            chances = self._chances(predictor, run)
            _keep(self._kept, id(predictor), (predictor, chances), _KEPT // chances.chance.size)
            return chances
        return self._kept[id(predictor)][1]

    def _chances(self, predictor: Any, run: ItemRun) -> Chances:  # noqa: ANN401
        if not self.is_numeric:
            return Chances(predictor.predict(run.columns, self.scaling))
        mean, sd = predictor.predict(run.columns, self.scaling)
        numbers = mean[:, None] + sd[:, None] * _NODES
        return Chances(np.broadcast_to(_NODE_CHANCES, numbers.shape), numbers)

    def influence(self, drive: "Drive", run: ItemRun, chances: Chances) -> FloatArray:
        """The influence [n, J] of each label on one driving figure."""
        items = replace(run.models[drive.model], numbers=chances.numbers)
        tables = drive.metric.tables(items)
        psi = drive.slopes[0] * tables[0]
        return psi if not drive.slopes[1] else psi + drive.slopes[1] * tables[1]

    def proposal(
        self,
        predictor: AnyPredictor,
        drives: Sequence["Drive"],
        taken: IntArray,
        floor: float | None,
    ) -> RunProposal:
        """The proposal for the items that are not taken yet.

        Parameters
        ----------
        predictor : The predictor of the round.
        drives : The figures that the draws serve.
        taken : The rows that cannot be drawn any more.
        floor : The least probability of an item, times the items left; None for the uniform one.
        """
        taken = np.sort(taken)
        runs = partial(self._expect, predictor, drives, taken)
        if self.is_one_run:
            runs = partial(iter, [*runs()])
        weights = np.ones(len(self._pool) - len(taken))
        if floor is not None:
            sizes = [0]
            for run in runs():
                weights[sizes[-1] : sizes[-1] + len(run.rows)] = run.weights
                sizes.append(sizes[-1] + len(run.rows))
            weights = water_filled(weights, floor, out=weights)
        return RunProposal(len(self._pool), taken, weights, runs)

    def _expect(
        self, predictor: AnyPredictor, drives: Sequence["Drive"], taken: IntArray
    ) -> Iterator[FrozenProposal]:
        """What is expected of the first metric of the items left, a run at a time.

        The weights are the spread that draws are to follow.
        """
        metric, N = self.settings.metrics[0], len(self._pool)
        for run in self.blocks():
            first, last = np.searchsorted(taken, [run.start, run.start + len(run)])
            left = np.delete(np.arange(len(run)), taken[first:last] - run.start)
            chances = self.chances(predictor, run)
            total = np.zeros(len(run))
            control = spread = third = None
            for drive in drives:
                items = replace(run.models[drive.model], numbers=chances.numbers)
                mean, variance = drive.metric.expect(items, chances.chance, drive.slopes)
                total += variance
                if drive.is_first and metric.kind == "average":
                    control = (mean / drive.slopes[0])[left]
                    spread = np.sqrt(variance)[left] / abs(drive.slopes[0])
                    if metric.bounds == (0.0, 1.0):  # of losses of 0 and 1, for hedging
                        third = spread**2 * (1 - 2 * control)
            bound = metric.possible[1] if control is not None else np.inf
            if control is not None:
                control = np.clip(control, *metric.possible)
            yield FrozenProposal(
                run.start + left,
                N,
                np.sqrt(total[left]),
                control,
                float(bound) if np.isfinite(bound) else None,
                spread,
                third,
            )

    def expected_losses(
        self, predictor: AnyPredictor, metric: Metric, taken: IntArray
    ) -> Iterator[tuple[IntArray, FloatArray]]:
        """The rows left of each run, and the expected value of an average for each of them."""
        drive = Drive(metric, self._models[0])
        for run in self.blocks():
            left = np.setdiff1d(np.arange(len(run)), taken - run.start)
            chances = self.chances(predictor, run)
            items = replace(run.models[drive.model], numbers=chances.numbers)
            mean, _ = metric.expect(items, chances.chance)
            yield run.start + left, mean[left]

    def effects(self, predictor: Any) -> tuple[float, FloatArray]:  # noqa: ANN401
        """How much the log-odds of an error vary with the chances that the pool gives, and by how
        much they typically change with one standard deviation of each feature.
        """
        if self.is_numeric:
            return predictor.effects(self.scaling)
        moments = ColumnMoments()
        own = predictor.slopes if len(predictor.slopes) else np.zeros(self.scaling.n_features)
        total, count = np.zeros(len(own)), 0
        plain = replace(predictor, slopes=np.empty(0), class_slopes=np.empty(0))
        for run in self.runs():
            columns: Any = run.columns
            right = plain.predict(columns, self.scaling)[np.arange(len(run)), columns.pred]
            moments.add(np.log((1 - right) / right)[:, None])
            if len(predictor.class_slopes):
                # Against the mean of the other classes.
                W, C = predictor.class_slopes, len(self.classes)
                counts = np.bincount(columns.pred, minlength=C)
                total += (W - (W.sum(axis=1, keepdims=True) - W) / (C - 1)) @ counts
            count += len(run)
        return float(moments.sd[0]), -(own + total / count)

    def totals(
        self, drives: Sequence["Drive"], predictor: AnyPredictor, taken: IntArray
    ) -> FloatArray:
        """Expected sums [F, 3] over the items left: A, D and the spread of psi of each figure."""
        sums, taken = np.zeros((len(drives), 3)), np.sort(taken)
        for run in self.blocks():
            left = np.ones(len(run), dtype=bool)
            first, last = np.searchsorted(taken, [run.start, run.start + len(run)])
            left[taken[first:last] - run.start] = False
            chances = self.chances(predictor, run)
            for at, drive in enumerate(drives):
                items = replace(run.models[drive.model], numbers=chances.numbers)
                tables = drive.metric.tables(items)
                for column in (0, 1):
                    expected = np.einsum("nj,nj->n", chances.chance, tables[column])
                    sums[at, column] += float(expected[left].sum())
                variance = drive.metric.expect(items, chances.chance, drive.slopes)[1]
                sums[at, 2] += float(np.sqrt(variance[left]).sum())
        return sums


@dataclass(frozen=True, slots=True)
class Drive:
    """A figure that draws serve: a metric of a model, and slopes of its influence in A and D."""

    metric: Metric
    model: str
    slopes: tuple[float, float] = (1.0, 0.0)
    is_first: bool = True
    of: str = ""
    """The name of the campaign's metric, of which it may be a part."""


def learner_of(pool: Pool, settings: CampaignSettings) -> Learner:
    """The learner of a campaign, kept for as long as its pool: a large one takes a while."""
    key = (settings.metrics[0], settings.models, settings.numeric, settings.label_classes)
    learners = _LEARNERS.setdefault(pool, {})
    if key not in learners:
        learners[key] = Learner(settings, proxy(pool))
    return learners[key]


def _keep(values: dict[Any, Any], key: object, value: object, most: int) -> None:
    """Keep a value, and forget the oldest where there are too many."""
    if most > 0:
        values[key] = value
    if len(values) > most:
        del values[next(iter(values))]


def _label_space(settings: CampaignSettings, pool: Pool) -> tuple[str, ...]:
    """The classes that labels may be, and one more for all others where these may be any."""
    known = settings.classes
    if known is None:
        counts = (settings.pred_counts.get(model, {}) for model in settings.models)
        known = tuple(dict.fromkeys([*settings.label_classes, *(c for one in counts for c in one)]))
    is_open = not settings.label_classes
    return (*known, OTHER) if is_open or len(known) < 2 else known


def _has_only_verdicts(predictions: PoolPredictions) -> bool:
    """True if nothing but the predicted classes says how likely a label is."""
    chances = (predictions.label_proba, predictions.loss_hat)
    return predictions.pred is not None and all(one is None for one in chances)


def _features(predictions: PoolPredictions) -> FloatArray | None:
    """The features of the items, with their gaps, and the interest that the pool file gives."""
    columns = [] if predictions.features is None else [predictions.features]
    if predictions.score is not None:
        columns.append(np.asarray(predictions.score, dtype=np.float64)[:, None])
    if not columns:
        return None
    return np.asarray(columns[0] if len(columns) == 1 else np.hstack(columns), dtype=np.float64)


def _at(items: PossibleLabels, rows: IntArray | slice) -> PossibleLabels:
    proba = None if items.proba is None else items.proba[rows]
    return replace(items, pred=items.pred[rows], proba=proba)
