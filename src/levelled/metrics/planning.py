"""The number of labels that a wanted width will take, from predictions and the labels there are."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, IntArray, as_array, between, floats, whole
from levelled.draws import Draws
from levelled.errors import InputError
from levelled.estimators.estimate import estimate
from levelled.estimators.intervals.limits import plan_looks
from levelled.estimators.moments import moments
from levelled.looks import SHARE
from levelled.losses import Normal, class_indices, distributions
from levelled.metrics.design import (
    ClassPool,
    Design,
    Doubt,
    Outcomes,
    believe,
    fewest_labels,
    flatten,
    loss_scales,
    representatives,
    weighted_quantiles,
)
from levelled.metrics.named import Metric, parse_metric
from levelled.predictions import Categorical, PoolPredictions
from levelled.proposals import mixture, proportional
from levelled.scores import root_mean_squared_loss

_A_KIND = {"adaptive": "an adaptive", "static": "a static", "uniform": "a uniform"}


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """The interval that is wanted, and the value that the user believes in, if any."""

    metric: Metric
    width: float
    level: float = 0.95
    looks: int = 5
    expected: float | None = None

    def __post_init__(self) -> None:
        check_range("width", self.metric, self.width)
        between("level", self.level, 0, 1, open_=True)
        whole("looks", self.looks, least=1)
        if self.expected is not None:
            low, high = self.metric.possible
            between("expected", self.expected, low, high, open_=True)

    @property
    def last_level(self) -> float:
        """The level of the interval at the last planned look, for a pool that is large."""
        if self.looks == 1:
            return self.level
        looks = plan_looks(10**4, 10**9, self.looks, SHARE * (1 - self.level))
        return looks[-1].level


def check_range(name: str, metric: Metric, width: float) -> float:
    """The width of an interval; refused if it is as wide as all that the metric may be."""
    width, (low, high) = between(name, width, 0, np.inf, open_=True), metric.possible
    if width >= high - low:
        raise InputError(
            f"{name} is {width:g}, but {metric.name} is between {low:g} and {high:g} whatever the "
            f"labels say: choose a width below {high - low:g}."
        )
    return width


@dataclass(frozen=True, slots=True, eq=False)
class Pilot:
    """Labelled items of the pool: their rows, 1 where the prediction was wrong, and weights.

    `weight` is 1 / q of each draw, up to a factor.
    """

    rows: IntArray
    wrong: FloatArray
    weight: FloatArray


@dataclass(frozen=True, slots=True)
class Plan:
    """The number of labels needed: the likely one, and a range that allows for doubt."""

    metric: str
    width: float
    level: float
    pool_size: int
    low: int
    likely: int
    high: int
    uniform: int
    """The likely number of labels if all items are drawn with the same probability."""
    expected: float
    """The likely value of the metric."""
    expected_low: float
    expected_high: float
    n_labels: int = 0
    """Labels that a campaign has already; they count towards those needed."""
    kind: str = "static"
    """The kind of campaign that the numbers are for."""
    note: str = ""
    """A restriction of the plan, for the reader."""

    @property
    def remaining(self) -> int:
        """The likely number of labels needed beyond those that are there."""
        return max(self.likely - self.n_labels, 0)

    def as_dict(self) -> dict[str, Any]:
        """Plain values under the field names, with those that remain."""
        return asdict(self) | {"remaining": self.remaining}

    def __str__(self) -> str:
        more = f", {self.remaining} more than there are," if self.n_labels else ""
        source = f"{self.n_labels} labels" if self.n_labels else "the predictions alone"
        advice = "" if self.n_labels else ". Plan again from the first 50 to 100 labels"
        return (
            f"About {self._count(self.likely)} ({self.low} to {self.high}){more} give the "
            f"{self.metric} an interval {self.width:g} wide in {_A_KIND[self.kind]} campaign, "
            f"{100 * self.level:g}% confidence; "
            f"about {self._count(self.uniform)} if drawn uniformly. From {source}: the "
            f"{self.metric} is about {self.expected:.3g} ({self.expected_low:.3g} to "
            f"{self.expected_high:.3g}){advice}{f'. Note: {self.note}' if self.note else ''}"
        )

    def _count(self, labels: int) -> str:
        return f"all {labels} labels" if labels == self.pool_size else f"{labels} labels"


_QUANTILES = (0.01, 0.5, 0.99)
"""The range and the likely number; the study planning measures how often the range holds."""
_SLACK = 1.1  # study planning: 568 of 570 ranges hold; with 1.2 all of them, with 1 only 503
"""The factor by which widths differ from those that the formulas give: the range is wider by it."""
_NEGLIGIBLE = 3e-4  # of the weight; a third of it moves a plan by at most 1%


def plan(
    pred: ArrayLike,
    width: float,
    metric: str = "error",
    *,
    label: ArrayLike | Normal | None = None,
    classes: Sequence[str] | None = None,
    expected: float | None = None,
    level: float = 0.95,
    floor: float = 0.5,
    looks: int = 5,
) -> Plan:
    """The number of labels until the interval, from its low to its high end, is `width` wide.

    The interval is that of a campaign with the default proposal. The model's probabilities may be
    too sure or not sure enough, so the plan has a range.

    Parameters
    ----------
    pred : The model's predictions for the pool: probabilities [N, C], or numbers [N] for mse and
        mae.
    width : The width of the interval, from its low to its high end.
    metric : error, accuracy, log_loss[:CAP], brier, mse, mae, or precision, recall and f1 of a
        class (f1:CLASS).
    label : A distribution of the true label, as in `levelled.scores.expected_loss`; without it the
        model's own probabilities are used.
    classes : The names of the columns of `pred`, else 0, 1, ...
    expected : The value of the metric that you believe in; it makes the range narrower.
    level : The confidence of the interval.
    floor : The share of uniform draws in the proposal.
    looks : The number of planned looks; 1 stands for an interval that is read once.

    >>> proba = np.tile([[0.99, 0.01], [0.7, 0.3], [0.98, 0.02], [0.999, 0.001]], (500, 1))
    >>> needed = plan(proba, width=0.05)
    >>> needed.low < needed.likely < needed.high, needed.likely < needed.uniform < 2000
    (True, True)
    >>> plan(proba, width=0.05, expected=0.02).likely < needed.likely
    True
    """
    request = PlanRequest(parse_metric(metric), width, level, looks, expected)
    floor = between("floor (the share of uniform draws)", floor, 0, 1)
    if request.metric.needs != "number":
        predictions = _as_predictions(pred, label, classes)
        score = request.metric.score(predictions)
        weights = mixture(proportional(score, allow_zero=True), floor)
        return plan_pool(request, predictions, weights)
    if request.metric.root or request.metric.loss is None:
        raise InputError(f"{request.metric.name} cannot be planned: plan for mse or mae.")
    root = root_mean_squared_loss(pred, label, loss=request.metric.loss)
    weights = mixture(proportional(root, allow_zero=True), floor)
    if label is None or not root.any():
        raise InputError(
            "Every expected loss is 0: give as label a distribution that allows for mistakes."
        )
    rows, count = representatives(weights, root, np.zeros(len(root), dtype=bool))
    if isinstance(label, Normal):
        nodes, chance = np.polynomial.hermite_e.hermegauss(40)
        values = label.mean[rows, None] + label.sd[rows, None] * nodes
        chance = chance / chance.sum()
    else:
        values = floats("label", label, ndim=2)[rows]
        chance = np.full(values.shape[1], 1 / values.shape[1])
    error = np.abs(values - floats("pred", pred, ndim=1)[rows, None])
    losses = error**2 if request.metric.loss == "squared" else error
    probability = np.broadcast_to(chance, losses.shape)
    scales, log_weight = loss_scales()  # losses may be some times what is expected
    outcomes = [Outcomes(probability, scale * losses, None, np.inf) for scale in scales]
    return _summarise(request, outcomes, log_weight, count, weights[rows])


def plan_pool(
    request: PlanRequest,
    predictions: PoolPredictions,
    weights: FloatArray,
    pilot: Pilot | None = None,
) -> Plan:
    """The plan for a pool with predicted classes, drawn in proportion to `weights`.

    Predictions without probabilities are taken as ones of which the model is sure.
    """
    metric = request.metric
    if metric.label_kind != "class":
        raise InputError(
            f"A plan for {metric.name} needs a distribution of the label, and a pool has none: "
            f"plan from a campaign with labels, or mse and mae by levelled.metrics.plan(label=...)."
        )
    metric.require(predictions)
    pool = ClassPool.of(predictions)
    counts = np.bincount(pool.pred, minlength=len(pool.classes)).tolist()
    metric = metric.of_pool(dict(zip(pool.classes, counts, strict=True)), pool.classes)
    if len(metric.parts) > 1:
        raise InputError(
            f"{metric.name} cannot be planned itself: plan for {metric.parts[0].name}, or another "
            f"one of its parts."
        )
    rows, count = pool.representatives(weights, metric)
    losses, denominators = pool.tables(metric, rows)
    if denominators is not None and not denominators.any():
        raise InputError(
            f"No item is predicted {metric.positive!r}, so there is no {metric.name} to plan for."
        )
    doubt = Doubt.prior()
    if pilot is not None and len(pilot.rows):
        at = pilot.rows
        weight = pilot.weight * pilot.weight.sum() / np.sum(pilot.weight**2)  # sums to Kish's size
        doubt = doubt.seen(pool.log_proba(at), pool.pred[at], pilot.wrong, weight)
    log_proba, own = pool.log_proba(rows), (np.arange(len(rows)), pool.pred[rows])
    chances = [flatten(log_proba, *each) for each in doubt]
    doubt = doubt.typical(np.array([1 - count @ p[own] / count.sum() for p in chances]))
    bound = np.inf if metric.bounds is None else metric.bounds[1]
    outcomes = [Outcomes(p, losses, denominators, bound) for p in chances]
    n_labels = 0 if pilot is None else len(pilot.rows)
    return _summarise(request, outcomes, doubt.log_weight, count, weights[rows], n_labels)


def plan_from_spread(
    request: PlanRequest, losses: FloatArray, draws: Draws, estimator: str = "lure"
) -> Plan:
    """The plan for a mean of losses, from those of the items drawn so far.

    The width goes with sqrt(V) and V with 1/M - 1/N; the range is that of V^, by chi-squared.
    """
    from scipy.special import chdtri

    metric, M, N = request.metric, len(draws), draws.pool_size
    if request.expected is not None:
        raise InputError(f"{metric.name} is planned from labels, and takes no expected value.")
    est = estimate(losses, draws, estimator, level=request.last_level, bounds=metric.possible)
    df, width = float(moments(losses, draws.probability, N).df), est.high - est.low
    if est.value is None or not 0 < width < np.inf:
        raise InputError(
            f"The {M} labels so far have no spread from which {metric.name} could be planned: "
            f"label more, and plan again."
        )
    variance = df / chdtri(df, np.array(_QUANTILES))  # over V^
    inverse = 1 / N + (1 / M - 1 / N) * (request.width / width) ** 2 / variance
    worth = M if est.worth is None else est.worth
    return _make_plan(
        request, N, 1 / inverse, worth / (M * inverse[1]), (est.low, est.value, est.high), M
    )


def _summarise(
    request: PlanRequest,
    outcomes: Sequence[Outcomes],
    log_weight: FloatArray,
    count: FloatArray,
    q: FloatArray,
    n_labels: int = 0,
) -> Plan:
    """The plan from all possible outcomes, each with the logarithm of its weight."""
    metric, N = request.metric, int(count.sum())
    if N < 2:
        raise InputError(f"Nothing can be planned for {N} items: give two or more.")
    design = Design.of(count, q)
    values = np.array([design.value(each) for each in outcomes])
    values = metric.link(values) if metric.complemented else values
    if request.expected is not None:
        # Refuse a value that no distribution of the labels gives, or nearly so.
        low, high = float(values.min()), float(values.max())
        if not 0.8 * low <= request.expected <= high + 0.2 * (1 - high):
            raise InputError(
                f"With these predictions the value may be between {low:.3g} and {high:.3g}, and "
                f"{request.expected:g} is expected: check the predictions, or leave it out."
            )
        is_share = metric.bounds == (0.0, 1.0)
        log_weight = log_weight + believe(values, request.expected, is_share=is_share)
    weight = np.exp(log_weight - log_weight.max())
    kept = np.flatnonzero(weight > _NEGLIGIBLE * weight.sum())
    level, width = request.last_level, request.width
    labels = np.array([fewest_labels(design, outcomes[at], level, width) for at in kept.tolist()])
    needed = np.exp(weighted_quantiles(np.log(labels), weight[kept], _QUANTILES))
    typical = outcomes[int(kept[np.abs(np.log(labels / needed[1])).argmin()])]
    uniform = fewest_labels(Design.of(count, np.ones(len(q))), typical, level, width)
    value_range = weighted_quantiles(values[kept], weight[kept], _QUANTILES)
    return _make_plan(request, N, needed, uniform, value_range.tolist(), n_labels)


def _make_plan(
    request: PlanRequest,
    pool_size: int,
    needed: FloatArray,
    uniform: float,
    value: Sequence[float],
    n_labels: int,
) -> Plan:
    """The plan with low, likely and high labels needed, and such values of the metric."""
    low, likely, high = needed * (1 / _SLACK, 1, _SLACK)
    return Plan(
        metric=request.metric.name,
        width=float(request.width),
        level=float(request.level),
        pool_size=pool_size,
        low=max(round(low), 1),
        likely=max(round(likely), 1),
        high=min(round(high), pool_size),
        uniform=min(max(round(uniform), 1), pool_size),
        expected=float(value[1]),
        expected_low=float(value[0]),
        expected_high=float(value[2]),
        n_labels=n_labels,
    )


def _as_predictions(
    pred: ArrayLike, label: ArrayLike | Normal | None, classes: Sequence[str] | None
) -> PoolPredictions:
    """Arrays as the predictions of a pool: probabilities, or class numbers with a `label`."""
    if isinstance(label, Normal):
        raise InputError("A metric of classes needs probabilities [N, C] as label.")
    array = as_array("pred", pred)
    surrogate = None if label is None else distributions("label", label)
    if array.ndim == 1 and surrogate is not None:
        proba, n_classes = None, surrogate.shape[1]
        index = class_indices("pred", array, n_classes=n_classes)
    else:
        proba = distributions("pred", array)
        index, n_classes = proba.argmax(axis=1), proba.shape[1]
    names = tuple(map(str, range(n_classes) if classes is None else classes))
    if len(names) != n_classes or (surrogate is not None and surrogate.shape[1] != n_classes):
        raise InputError(
            f"pred has {n_classes} classes: give as many in label, and as many names in classes."
        )
    return PoolPredictions(
        len(array), names, pred=Categorical(names, index), proba=proba, surrogate=surrogate
    )
