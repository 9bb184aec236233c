"""Campaigns in memory on a pool whose labels are known, and the exact spread of their figures.

They draw, learn and estimate by the functions of a campaign in a store; only the labels are told
by the pool itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from levelled._check import BoolArray, FloatArray
from levelled.campaigns.create import settle
from levelled.campaigns.drawing.drawing import draw_events, make_known
from levelled.campaigns.drawing.pools import as_labels, attach_event, keep_frame
from levelled.campaigns.figures.expected import Expectations, Family
from levelled.campaigns.figures.figures import Subject, subject_of
from levelled.campaigns.figures.settled import FigureCache, SettledDraws, settled_draws
from levelled.campaigns.log.events import apply_events
from levelled.campaigns.log.records import Answer, KnownLabels
from levelled.campaigns.log.state import CampaignState, check_labels
from levelled.campaigns.options import NewCampaign
from levelled.campaigns.settings import CampaignSettings
from levelled.errors import InputError
from levelled.estimators.lure import terms
from levelled.estimators.moments import ramped_shares_of
from levelled.labels import Label
from levelled.metrics.named import Metric
from levelled.predictions import PoolPredictions
from levelled.samplers import FrozenProposal
from levelled.sources import Pool

_NOW = "2000-01-01T00:00:00+00:00"
"""The time of all events: nothing depends on it."""


def term_variances(frozen: FrozenProposal, losses: FloatArray, drawn: Any) -> FloatArray:  # noqa: ANN401
    """The variance v_m of each term a_m, given the draws before it.

        v_m = N^-2 (sum (L - g)^2 / q_m - (sum (L - g))^2),    over the items left

    `losses` are those of the whole pool, g is the control of the proposal, or 0 without one.

    >>> uniform = FrozenProposal(np.arange(4), 4, np.ones(4))
    >>> term_variances(uniform, np.array([1.0, 0.0, 0.0, 0.0]), np.array([1, 2]))
    array([0.1875, 0.125 ])
    """
    rest = losses[frozen.rows] - (0.0 if frozen.control is None else frozen.control)
    at = np.searchsorted(frozen.rows, drawn)
    columns = np.stack([frozen.weights, rest**2 / frozen.weights, rest])
    taken = columns[:, at]
    weight, square, total = columns.sum(axis=1)[:, None] - (np.cumsum(taken, axis=1) - taken)
    return np.asarray(np.maximum(weight * square - total**2, 0) / frozen.pool_size**2)


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """A figure from all labels, and the influence of each item: to first order its error is that
    of the estimated mean of `influence`.

    `slopes` are those of the figure in its columns, the numerator of each model and then the
    denominator of each.
    """

    value: float
    columns: FloatArray
    slopes: FloatArray

    @property
    def influence(self) -> FloatArray:
        """The influence of each item of the pool."""
        return self.slopes @ self.columns

    def uniform_variance(self, n_labels: int) -> float:
        """The exact variance of the mean of so many random labels, without replacement."""
        N = self.columns.shape[1]
        return float(self.centred.var()) / n_labels * (N - n_labels) / (N - 1)

    @property
    def centred(self) -> FloatArray:
        """The influence where no denominator is known, as the ratio of random labels has it."""
        P = len(self.slopes) // 2
        means = self.columns.mean(axis=1)
        slopes = self.slopes.copy()
        slopes[P:] = -slopes[:P] * means[:P] / means[P:]
        return slopes @ self.columns


@dataclass(frozen=True, eq=False)
class KnownCampaign:
    """The settings of a campaign, its pool, and the label of every item.

    `n_known` of the labels, those of `known`, are known at the creation. `attached` are models that
    came later, each with its predictions of the same items.
    """

    settings: CampaignSettings
    pool: Pool
    labels: Sequence[Label]
    known: tuple[KnownLabels, ...] = ()
    attached: Mapping[str, Pool] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        pool: Pool,
        labels: Sequence[object],
        metric: str | Sequence[str] = "error",
        *,
        known: Sequence[int] = (),
        attached: Mapping[str, Pool] | None = None,
        **options: Any,  # noqa: ANN401
    ) -> Self:
        """A campaign on an open pool.

        Parameters
        ----------
        pool, metric, options : As for `create_campaign`.
        labels : The label of every item.
        known : Rows whose labels are known at the creation.
        attached : Predictions of further models by their names.
        """
        settings = settle(NewCampaign("simulation", pool, metric, seed=0, **options), pool)
        settings = replace(settings, n_known=len(known))
        told = check_labels(settings, labels)
        items = make_known(pool, settings, [*known], [told[row] for row in known]) if known else ()
        first = (KnownLabels(1, items),) if items else ()
        return cls(settings, pool, told, first, attached or {})

    def changed(self, **settings: Any) -> Self:  # noqa: ANN401
        """The same with other settings."""
        return replace(self, settings=replace(self.settings, **settings))

    def tell(self, before: CampaignState, after: CampaignState) -> list[Label]:
        """The labels of the items that were drawn between two states."""
        return [self.labels[item.row] for item in after.draws[len(before.draws) :]]

    def run(self, budget: int, seed: int) -> SettledDraws:
        """All labels of a campaign up to its budget, drawn with a seed."""
        settings = replace(self.settings, budget=budget, seed=seed)
        state = CampaignState(settings, known=self.known)
        answers: dict[int, Answer] = {}
        while (n := len(state.draws)) < budget:
            needed = n + 1 if settings.kind == "adaptive" else budget
            drawn = apply_events(draw_events(self.pool, state, needed, at=_NOW), state)
            for draw, label in enumerate(self.tell(state, drawn), n + 1):
                answers[draw] = Answer(label, None, _NOW, 0)
            last = len(drawn.draws)
            state = replace(drawn, answers=answers, n_asked=last, n_settled=last)
        expected = Expectations(lambda *_: self.pool)
        for name, predictions in self.attached.items():
            kept = keep_frame(predictions, name, "")
            event = attach_event(settings, state.draws, kept, name, at=_NOW)
            state = apply_events([event], state)
        return settled_draws(state, cache=FigureCache(expected=expected))

    def truth(self, subject: Subject) -> Truth:
        """The figure of a subject from all labels."""
        key = subject.key
        if key not in self._truths:
            self._truths[key] = self._find_truth(subject)
        return self._truths[key]

    @cached_property
    def _truths(self) -> dict[object, Truth]:
        return {}

    def _find_truth(self, subject: Subject) -> Truth:
        metric, inside = subject.metric, self.inside(subject)
        pairs = [self.values(metric, model) for model in subject.models]
        columns = np.stack([*(A for A, _ in pairs), *(D for _, D in pairs)]) * inside
        means, P = columns.mean(axis=1), len(pairs)
        A, D = means[:P], means[P:]
        if not (D > 0).all():
            raise InputError(f"{metric.name} is undefined: no item has what it divides by.")
        sign = np.array([1.0, -1.0][:P])
        state = CampaignState(self.settings)
        counts = state.pred_counts(subject.model or self.settings.models[0])
        known = not subject.is_ratio
        if subject.is_ratio and subject.column is None and P == 1:
            known = metric.denominator_mean(counts, len(self.pool)) is not None
        per_D = np.zeros(P) if known else -A / D
        return Truth(float(sign @ (A / D)), columns, np.concatenate([sign / D, sign * per_D / D]))

    def inside(self, subject: Subject) -> BoolArray:
        """True for the items of a subject's slice."""
        if subject.column is None:
            return np.ones(len(self.pool), dtype=bool)
        values = self.pool.slice_values(subject.column)
        return np.asarray(np.array(values.values, dtype=object)[values.codes] == subject.value)

    def values(self, metric: Metric, model: str) -> tuple[FloatArray, FloatArray]:
        """Losses or numerators of all items, and their denominators."""
        predictions = self.predictions(model)
        own = predictions.of(np.arange(len(self.pool)))
        values = metric.values(
            self.labels,
            as_labels(own, self.settings)
            if own is not None and metric.needs in ("pred", "number")
            else None,
            predictions.proba if metric.needs == "proba" else None,
            self.settings.classes,
        )
        below = np.ones(len(self.pool)) if values.denominators is None else values.denominators
        return values.losses, below

    def predictions(self, model: str) -> PoolPredictions:
        """What a model predicts for all items."""
        if model in self.attached:
            return self.attached[model].predictions()
        return self.pool.predictions(model or self.settings.models[0])

    def subject(
        self, metric: Metric | None = None, model: str | None = None, **part: str
    ) -> Subject:
        """A figure of the campaign, by default the first; `part` as for `subject_of`."""
        metric = metric or self.settings.metrics[0]
        if model is None:
            model = "" if metric.needs == "label" else self.settings.models[0]
        return subject_of(CampaignState(self.settings), metric, model, **part)

    def term_variances(self, base: SettledDraws, subject: Subject) -> FloatArray:
        """The exact variance of each term of the linearised figure, given the draws before it."""
        truth, open_size = self.truth(subject), self.settings.open_size
        psi, found = truth.influence, []
        family, cache = self._family(subject), base.cache.expected
        for stretch, control in cache.controls(base, family, subject.value):
            rows = np.delete(np.arange(len(self.pool)), stretch.taken)
            frozen = FrozenProposal(rows, open_size, stretch.weights, truth.slopes @ control)
            drawn = base.rows[stretch.first - 1 : stretch.last]
            found.append(term_variances(frozen, psi, drawn))
        return np.concatenate(found)[: len(base)] * (open_size / len(self.pool)) ** 2

    def exact_variance(self, base: SettledDraws, variances: FloatArray) -> float:
        """sum_m u_m^2 v_m: its mean over campaigns is the variance of the linearised figure."""
        return float(ramped_shares_of(base.draws) ** 2 @ variances[: len(base)])

    def linear_error(self, base: SettledDraws, subject: Subject) -> float:
        """The error of the estimated mean of `influence`, which is exactly unbiased."""
        truth, draws = self.truth(subject), base.draws
        columns = base.cache.expected.columns(base, self._family(subject), subject.value)
        a = terms(
            columns.values,
            draws.probability,
            draws.pool_size,
            control=columns.control,
            control_left=columns.left,
        )
        known = truth.columns[:, [item.row for item in base.known_items]].sum(axis=1)
        T = (draws.pool_size * a @ ramped_shares_of(draws) + known) / len(self.pool)
        return float(truth.slopes @ (T - truth.columns.mean(axis=1)))

    def _family(self, subject: Subject) -> Family:
        models = tuple(model or self.settings.models[0] for model in subject.models)
        return Family(subject.metric, models, subject.column)
