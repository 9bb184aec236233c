"""What a campaign has learnt: its predictor, beside the labels that came in, and how many more
labels it will take; also before it begins.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from levelled._check import FloatArray, IntArray, between
from levelled.campaigns.drawing.drawing import driver_of, frozen_proposal, taken_rows
from levelled.campaigns.drawing.learner import AnyPredictor, learner_of
from levelled.campaigns.drawing.pools import choose_kind, fitting_model_first
from levelled.campaigns.figures.expected import Expectations, Family
from levelled.campaigns.figures.settled import FigureCache, SettledDraws, settled_draws
from levelled.campaigns.log.records import Round
from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.settings import CampaignSettings
from levelled.errors import CampaignError, LevelledError
from levelled.estimators.intervals.limits import clopper_pearson
from levelled.estimators.lure import ranked_weights
from levelled.metrics.named import ERROR, Metric, own_module, parse_metric
from levelled.metrics.planning import Pilot, Plan, PlanRequest, plan_from_spread, plan_pool
from levelled.proposals import mixture, proportional
from levelled.reports import Section
from levelled.reports.plots import CalibrationPoint, plot_calibration, plot_rounds
from levelled.sources import Pool, open_pool
from levelled.surrogates import LossPredictor
from levelled.surrogates.covariates import SCORES, ColumnMoments

if TYPE_CHECKING:
    import pyarrow as pa


_TOP = 0.2
"""The share of the pool with the highest predictions, of which a sentence speaks."""
_LEAST_LOSSES = 5
_IN_A_BIN, _MOST_BINS = 20, 6
_MOST_ROWS = 20
_ROUNDS = (
    "Each step is a round: draws from one fit of the predictor. The floor (solid) is the smallest "
    "probability of an item, as a multiple of that of a random draw. It falls as errors are found, "
    "except in a campaign with a finite-sample guarantee. "
    "The background share (dashed) is the part of the prediction that is the same for all items: "
    "the allowance for losses that the predictor cannot see."
)
_EFFECTS = (
    "For a column of numbers: the factor by which the odds of a loss, or a loss without an "
    "upper bound itself, change when the number is one standard deviation higher. For the loss "
    "that the pool predicts and for the predicted class: the factor by which they typically "
    "differ from those of the average item. 1 is no effect."
)
_NOT_DRAWN = (
    "Not drawn yet. These are predictions, not labels: labelling only these would not give "
    "an unbiased estimate."
)


@dataclass(frozen=True, slots=True, eq=False)
class CampaignPredictor:
    """The predictor of the newest round, and the labels beside what was predicted before them.

    `predicted` and `losses` are of the settled draws with a label, each predicted at the time of
    its draw; `weights` make them stand for the pool. `rounds` are those with a predictor.
    """

    predictor: LossPredictor | AnyPredictor
    rounds: tuple[Round, ...]
    predicted: FloatArray
    losses: FloatArray
    weights: FloatArray
    possible: tuple[float, float]
    """The smallest and the largest loss that there can be."""
    state: CampaignState
    _pool: Callable[[], Pool]

    def __repr__(self) -> str:
        return f"CampaignPredictor({len(self.rounds)} rounds: {self.summary})"

    @property
    def floor(self) -> float:
        """The smallest probability of an item in the newest round, times the items left."""
        return self.rounds[-1].floor

    @property
    def top_share(self) -> float | None:
        """The share of all loss in the fifth of the pool with the highest predictions.

        An estimate from the labels; None before a few losses have been found.
        """
        order = np.argsort(-self.predicted, kind="stable")
        w, loss = self.weights[order], self.losses[order] - self.possible[0]
        total = float(w @ loss)
        if np.count_nonzero(loss > 0) < _LEAST_LOSSES or total <= 0:
            return None
        inside = np.clip((_TOP * w.sum() - (np.cumsum(w) - w)) / w, 0, 1)
        return float((inside * w) @ loss / total)

    @property
    def summary(self) -> str:
        """What was learnt, in a sentence without its full stop."""
        share = self.top_share
        if share is None:
            return "too few losses were found so far to say what the predictor has learnt"
        return (
            f"the fifth of the pool with the highest predicted loss holds about {share:.0%} of "
            f"all loss"
        )

    def calibration(self) -> list[CalibrationPoint]:
        """Predicted and observed losses, for groups of draws with similar predictions.

        The intervals are at 95% and for one look.
        """
        n = len(self.losses)
        bins = min(max(n // _IN_A_BIN, 1), _MOST_BINS)
        order = np.argsort(self.predicted, kind="stable")
        return [self._point(part) for part in np.array_split(order, bins) if len(part)]

    def _point(self, part: IntArray) -> CalibrationPoint:
        w, loss = self.weights[part], self.losses[part]
        mean, size = float(w @ loss / w.sum()), float(w.sum() ** 2 / (w @ w))
        lowest, highest = self.possible
        if np.isfinite(highest):
            unit = min(max((mean - lowest) / (highest - lowest), 0.0), 1.0)
            limits = clopper_pearson(size * unit, size, 0.95)
            low, high = (lowest + (highest - lowest) * float(end) for end in limits)
        else:
            half = 2 * float(np.sqrt((w**2) @ (loss - mean) ** 2) / w.sum())
            low, high = max(mean - half, lowest), mean + half
        predicted = float(w @ self.predicted[part] / w.sum())
        return CalibrationPoint(predicted, mean, low, high, len(part))

    def expected_losses(self, most: int | None = None) -> "pa.Table":
        """The ids of the items not drawn yet with their expected losses, the highest first.

        Needs the pool; `most` is the number of rows.
        """
        import pyarrow as pa

        pool, state = self._pool(), self.state
        taken = taken_rows([item.row for item in state.draws], state.known)
        parts = []
        for rows, losses in self._expected(pool, taken):
            order = np.argsort(-losses, kind="stable")[:most]
            parts.append((rows[order], losses[order]))
        rows, losses = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(-losses, kind="stable")[:most]
        return pa.table({"id": pool.ids(rows[order]), "expected_loss": losses[order]})

    def effects(self) -> list[tuple[str, float]]:
        """The columns it learns from, each with the factor of one standard deviation.

        That is the factor by which the odds of an error change, or the loss itself if it has no
        bound, the largest effect first. Needs the pool.
        """
        settings = self.state.settings
        if not isinstance(self.predictor, LossPredictor):
            from_scores, slopes = learner_of(self._pool(), settings).effects(self.predictor)
            names = _feature_names(settings, len(slopes))
            effects = [("the loss that the pool predicts", from_scores)]
            return _ordered([*effects, *zip(names, slopes.tolist(), strict=True)])
        runs = driver_of(self._pool(), settings).runs
        pool = next(iter(runs())).covariates
        b = np.zeros(SCORES + pool.n_extra)
        for share, coefficients in self.predictor.regressions:
            b[: len(coefficients)] += share * coefficients
        size = 0 if pool.features is None else pool.features.shape[1]
        moments = ColumnMoments()
        for run in runs():
            own = run.covariates
            by_class = np.zeros(len(own)) if own.groups is None else b[SCORES + size :][own.groups]
            moments.add(np.column_stack([own.scores @ b[:SCORES], by_class]))
        from_scores, from_class = moments.sd.tolist()
        effects = [("the loss that the pool predicts", from_scores)]
        names = _feature_names(settings, size)
        effects += zip(names, b[SCORES : SCORES + size].tolist(), strict=True)
        if pool.groups is not None:
            effects.append(("the predicted class", from_class))
        return _ordered(effects)

    def _expected(self, pool: Pool, taken: IntArray) -> Iterator[tuple[IntArray, FloatArray]]:
        """Rows that are left, and the expected loss of each, a run of rows at a time."""
        settings = self.state.settings
        if isinstance(self.predictor, LossPredictor):
            for run in driver_of(pool, settings).proposal(self.predictor, taken, None).left():
                assert run.control is not None
                yield run.rows, run.control
            return
        learner, metric = learner_of(pool, settings), _average_of(settings)
        yield from learner.expected_losses(self.predictor, metric, taken)


def _average_of(settings: CampaignSettings) -> Metric:
    """The average that is predicted: the first metric, or errors where that is a ratio."""
    first = settings.metrics[0]
    return first if first.kind == "average" else ERROR


def _feature_names(settings: CampaignSettings, size: int) -> list[str]:
    """The names of the features of the predictor; components where there are fewer of these."""
    names = [*settings.features, "score"][:size]
    if len(names) < size or len(settings.features) not in (size, size - 1):
        names = [f"component {at + 1} of the features" for at in range(size)]
    return names


def _ordered(effects: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """Effects as factors, the largest first."""
    ordered = sorted(effects, key=lambda one: -abs(one[1]))
    return [(name, float(np.exp(effect))) for name, effect in ordered]


def predictor_of(
    state: CampaignState, pool_at: Callable[[CampaignState, int], Pool], cache: FigureCache
) -> CampaignPredictor | None:
    """The predictor of a campaign and its record; None without an adaptive round."""
    rounds = tuple(one for one in state.rounds if one.predictor is not None)
    if not rounds or rounds[-1].predictor is None:
        return None
    settings, base = state.settings, settled_draws(state, cache=cache)
    metric = _average_of(settings)
    losses, _ = base.losses(metric, settings.models[0])
    with_predictor = np.zeros(len(base), dtype=bool)
    ends = [*(one.first for one in state.rounds[1:]), len(state.draws) + 1]
    for begun, end in zip(state.rounds, ends, strict=True):
        with_predictor[begun.first - 1 : end - 1] = begun.predictor is not None
    at = np.flatnonzero(with_predictor & base.labelable)
    last = state.rounds[-1].first
    newest: dict[str, Any] = {**rounds[-1].predictor}
    pool = partial(pool_at, state, last)
    restored: LossPredictor | AnyPredictor
    if settings.versions.predictor > 1:
        family = Family(metric, settings.models[:1], None)
        predicted = Expectations(pool_at).columns(base, family, None).control[0, at]
        restored = learner_of(pool(), settings).restore(newest)
    else:  # draws before the first round have no control
        predicted = np.array([state.draws[int(i)].design["control"] for i in at])
        restored = LossPredictor.from_json(newest)
    return CampaignPredictor(
        restored,
        rounds,
        predicted,
        losses[at],
        ranked_weights(base.draws.probability, base.draws.pool_size)[at],
        metric.possible,
        state,
        pool,
    )


def learnt_sections(learnt: CampaignPredictor | None) -> Iterator[Section]:
    """The part of a report on what a campaign has learnt; items only if the pool can be opened."""
    if learnt is None:
        return
    floors = [(one.first, one.floor) for one in learnt.rounds]
    shares = [
        (one.first, float((one.predictor or {}).get("background", 0.0))) for one in learnt.rounds
    ]
    points = learnt.calibration() if len(learnt.losses) else []
    plots = [partial(plot_calibration, points)] if points else []
    yield Section("What did it learn?", _about(learnt), plots=plots)
    if len(floors) > 1:
        rounds = partial(plot_rounds, floors, shares, len(learnt.state.draws))
        yield Section("Floor and background share", _ROUNDS, plots=[rounds])
    try:
        effects = learnt.effects()[:_MOST_ROWS]
        factors = [(name, f"× {factor:.2f}") for name, factor in effects]  # noqa: RUF001
        yield Section("How much each column counts", _EFFECTS, ("column", "factor"), factors)
        table, columns = learnt.expected_losses(_MOST_ROWS), ("id", "predicted loss")
        losses = zip(table["id"].to_pylist(), table["expected_loss"].to_pylist(), strict=True)
        rows = [(str(one), f"{loss:.3f}") for one, loss in losses]
        yield Section("Items with the highest predicted loss", _NOT_DRAWN, columns, rows)
    except LevelledError as refused:
        yield Section("Items with the highest predicted loss", f"Not listed: {refused}")


def _about(learnt: CampaignPredictor) -> str:
    share, floor, summary = learnt.predictor.background, learnt.floor, learnt.summary
    first = learnt.rounds[0]
    unfitted = first.predictor if first.first == 1 else None
    n = sum(one.predictor != unfitted for one in learnt.rounds)
    return (
        f"{summary[0].upper()}{summary[1:]}. The predictor was fitted to labels {n} "
        f"{'time' if n == 1 else 'times'}. {share:.1%} of its prediction is the same for all "
        f"items, which allows for losses that it cannot see. Every item is drawn with at least "
        f"{floor:.2f} times the probability of a random draw. Below, each dot is a group of draws "
        f"with similar predictions, with a 95% interval of their losses; on the dashed line the "
        f"two agree."
    )


_ENOUGH = 10
"""Labels from which on the spread of losses is estimated."""
_LEARNT = 50
"""Labels from which on an adaptive campaign is planned from what its predictor has learnt.

With fewer, plans rest on the priors of `metrics.planning` (study planning).
"""
_MOSTLY_FEWER = (
    "an adaptive campaign, as create makes it of this pool, learns from its labels and mostly "
    "needs fewer"
)
_NO_LOOKS = (
    "this is for five planned looks. This campaign plans none, and the interval it shows instead "
    "is wider"
)


def plan_campaign(
    pool: Any,  # noqa: ANN401
    width: float,
    metric: str = "error",
    *,
    expected: float | None = None,
    level: float = 0.95,
    floor: float = 0.5,
    classes: Sequence[str] | None = None,
) -> Plan:
    """The number of labels until the interval is `width` wide, from the predictions alone.

    `metrics.plan` takes arrays. The plan is for a static campaign. `Campaign.plan` plans from the
    labels that a campaign has.

    Parameters
    ----------
    pool, metric, classes : As for `create_campaign`.
    width : The width of the interval to reach.
    expected : The value that the metric is expected to have; without it, what the predictions
        expect.
    level : The confidence of the interval.
    floor : The part of the probability that is uniform.
    """
    request = PlanRequest(parse_metric(metric), width, level, expected=expected)
    floor = between("floor", floor, 0, 1)
    opened = pool if isinstance(pool, Pool) else open_pool(pool, classes=classes)
    predictions = opened.predictions(fitting_model_first(opened, request.metric)[0])
    request.metric.require(predictions)
    score = request.metric.score(predictions)
    weights = mixture(proportional(score, allow_zero=True), floor)
    plan = plan_pool(request, predictions, weights)
    chosen = choose_kind(
        "auto", request.metric, ("auto", "proportional", floor), lambda: predictions
    )
    return replace(plan, note=_MOSTLY_FEWER) if chosen == "adaptive" else plan


def plan_further(
    state: CampaignState,
    cache: FigureCache,
    pool: Pool,
    width: float,
    metric: str | None = None,
    expected: float | None = None,
) -> Plan:
    """The number of labels until the interval is `width` wide, from a campaign's settled labels."""
    settings, base = state.settings, settled_draws(state, cache=cache)
    chosen = settings.metrics[0] if metric is None else _find_metric(settings, metric)
    looks = 5
    if settings.versions.spending > 1:
        looks = settings.n_looks or looks
    elif settings.looks and settings.budget is not None:
        looks = len(settings.looks)
    width *= settings.pool_size / settings.open_size  # labels known beforehand have no width
    plan = _plan_from(base, pool, PlanRequest(chosen, width, settings.level, looks, expected))
    is_other = settings.kind == "adaptive" and plan.kind == "static"
    notes = [*([_MOSTLY_FEWER] if is_other else []), *([] if settings.looks else [_NO_LOOKS])]
    return replace(plan, note=". ".join(notes))


def _find_metric(settings: CampaignSettings, name: str) -> Metric:
    """A metric of Levelled, or one of the campaign's own; a request must not name other code."""
    if own_module(name) is None:
        return parse_metric(name)
    own = [one for one in settings.metrics if one.name == name.strip()]
    if not own:
        raise CampaignError(
            f"{name!r:.80} is no metric of {settings.name!r}: plan "
            f"{' or '.join(settings.metric_names)}."
        )
    return own[0]


def _plan_from(base: SettledDraws, pool: Pool, request: PlanRequest) -> Plan:
    settings, chosen = base.state.settings, request.metric
    kind, model = "number" if settings.numeric else "class", settings.models[0]
    if chosen.label_kind not in (kind, None):
        raise CampaignError(
            f"{chosen.name} needs a {chosen.label_kind} as label, and every label of "
            f"{settings.name!r} is a {kind}: plan {' or '.join(settings.metric_names)}."
        )
    learns = chosen.same_loss_as(settings.metrics[0]) and chosen.kind == "average"
    predicts = "predicted_variance" in (base.draws.design or {})
    if learns and predicts and len(base) >= _LEARNT and base.labelable.all():
        return replace(_from_spread(base, request, model, "ramped"), kind="adaptive")
    frozen = "uniform" if settings.kind == "uniform" else "static"
    if chosen.label_kind != "class":
        return replace(_from_spread(base, request, model, "lure"), kind=frozen)
    wrong, _ = base.losses(ERROR, model)
    here = base.labelable
    weight = ranked_weights(base.draws.probability, base.draws.pool_size)
    pilot = Pilot(base.rows[here], wrong[here], weight[here])
    weights = frozen_proposal(partial(pool.runs, model), settings).weights
    return replace(plan_pool(request, pool.predictions(model), weights, pilot), kind=frozen)


def _from_spread(base: SettledDraws, request: PlanRequest, model: str, estimator: str) -> Plan:
    """The plan from the spread of the losses so far."""
    name, metric = base.state.settings.name, request.metric
    if len(base) < _ENOUGH or not base.labelable.all():
        raise CampaignError(
            f"Nothing predicts {metric.name} before there are labels, and {name!r} has "
            f"{len(base)} settled ones: label {_ENOUGH} or more, all of them labelable."
        )
    losses, _ = base.losses(metric, model)
    return plan_from_spread(request, losses, base.draws, estimator)
