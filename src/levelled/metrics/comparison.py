"""Figures of models, and comparisons on the same labels: differences of losses, and of ratios."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import LARGEST, FloatArray, between, choice, floats, same_length
from levelled.draws import Draws, check_draws
from levelled.errors import CampaignError, InputError
from levelled.estimators.estimate import estimate
from levelled.estimators.intervals.limits import (
    Bounds,
    as_bounds,
    bounds_of,
    clopper_pearson,
)
from levelled.estimators.record import Estimate, align, cells, footnotes
from levelled.labels import Class, check_same_kind, class_names
from levelled.metrics.classification import ClassSample
from levelled.metrics.ratios import figure_estimate


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two models on the same labels: the metric of `model` minus that of `against`, and a verdict.

    The sign is that of the metric itself: where `model` has the smaller error the difference is
    negative, where it has the larger F1 it is positive. `better` and `verdict` say it in words.
    """

    model: str
    against: str
    difference: Estimate
    metric: str = ""
    slice: str | None = None
    """None for the whole pool."""
    in_points: bool = False
    """True where the metric is a share, whose differences are told in percentage points."""
    higher_is_better: bool = False

    @property
    def better(self) -> str | None:
        """The name of the better model, or None while that cannot be told."""
        low, high = self._gain
        if low > 0:
            return self.model
        return self.against if high < 0 else None

    @property
    def _gain(self) -> tuple[float, float]:
        """The limits of what `model` gains over `against`."""
        low, high = self.difference.low, self.difference.high
        return (low, high) if self.higher_is_better else (-high, -low)

    @property
    def verdict(self) -> str:
        """The difference as a sentence."""
        (low, high), level = self._gain, self.difference.level
        if self.better is None:
            if low == high:
                where = "this pool" if self.slice is None else self.slice
                return f"{self.model} and {self.against} are equally good on {where}"
            better, worse = self._number(max(high, 0)), self._number(max(-low, 0))
            return (
                f"cannot tell yet: {self.model} may be better by up to {better} or worse by up to "
                f"{worse}{self._unit}, {100 * level:.4g}% confidence"
            )
        gain = self._number(abs(self.difference.value or 0.0))
        if low == high:
            return f"{self.better} is better by {gain}{self._unit}, known exactly"
        near, far = map(self._number, sorted((abs(low), abs(high))))
        return (
            f"{self.better} is better by {gain}{self._unit} [{near}, {far}], "
            f"{100 * level:.4g}% confidence"
        )

    @property
    def _unit(self) -> str:
        return " points" if self.in_points else ""

    def _number(self, value: float) -> str:
        if not self.in_points:
            return f"{value:.4g}"
        points = 100 * value
        return f"{points:.1f}" if abs(points) >= 1 else f"{points:.2g}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: names, the better model, the verdict and the difference."""
        names = {"metric": self.metric, "slice": self.slice}
        names |= {"model": self.model, "against": self.against}
        found = {"better": self.better, "verdict": self.verdict}
        return names | found | self.difference.as_dict()

    def __str__(self) -> str:
        name = " · ".join(filter(None, (self.metric, self.slice)))
        about = f"{name}: " if name else ""
        notes = "".join(f"; note: {note}" for note in self.difference.warnings)
        return f"{about}{self.verdict}{notes}"


@dataclass(frozen=True, slots=True)
class Ranking:
    """Several models, the best first, each compared with one of them.

    `level` is for all `n_compared` differences at once (Bonferroni); each has a stricter level,
    which is in its own estimate.
    """

    against: str
    risks: Mapping[str, Estimate]
    comparisons: tuple[Comparison, ...]
    level: float
    n_compared: int

    def as_dicts(self) -> list[dict[str, Any]]:
        """One dict of plain values a comparison, ready for JSON or a data frame."""
        return [row.as_dict() for row in self.comparisons]

    def __str__(self) -> str:
        differences = {row.model: cells(row.difference) for row in self.comparisons}
        rows = [
            [name, cells(risk)[0], *differences.get(name, ["", "", ""])]
            for name, risk in self.risks.items()
        ]
        levels = (
            f"differences from {self.against}; all hold at once at {self.level:.4g} "
            f"(Bonferroni over {self.n_compared})"
        )
        notes = footnotes(
            [(f"risk of {name}", risk) for name, risk in self.risks.items()]
            + [(f"difference of {row.model}", row.difference) for row in self.comparisons]
        )
        return f"{align(['model', 'risk', 'difference', 'low', 'high'], rows)}\n{levels}{notes}"


def compare(
    loss_a: ArrayLike,
    loss_b: ArrayLike,
    draws: Draws,
    *,
    level: float = 0.95,
    interval: str = "auto",
    bounds: tuple[float, float] | None = None,
    names: tuple[str, str] = ("a", "b"),
    higher_is_better: bool = False,
) -> Comparison:
    """The mean loss of `a` minus that of `b`, on the same items.

    Errors that both make cancel, so this takes fewer labels than two separate estimates. Before
    the models have been seen to disagree, the interval is what betting or logic allows, never
    [0, 0].

    Parameters
    ----------
    loss_a, loss_b : The losses of both models, in the order of the draws.
    draws : The draws, as a sampler made them.
    level, interval : As for `levelled.estimate`.
    bounds : Those of each loss; 0/1 losses need none.
    names : The names of the two models.
    higher_is_better : True for values such as ratings.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> compare([1, 0, 1, 0], [0, 0, 1, 0], draws).difference.value
    0.25
    >>> compare([1, 0, 1, 0], [1, 0, 1, 0], draws).better is None
    True
    """
    _check_two_names(names)
    a, b = _check_losses({names[0]: loss_a, names[1]: loss_b}, draws, bounds).values()
    found = estimate(a - b, draws, level=level, interval=interval, bounds=_bounds(bounds, a, b))
    return Comparison(*names, found, higher_is_better=higher_is_better)


def compare_metric(
    metric: str,
    labels: ArrayLike,
    pred_a: ArrayLike,
    pred_b: ArrayLike,
    draws: Draws,
    *,
    positive: Class | None = None,
    classes: Sequence[Class] | None = None,
    beta: float = 1.0,
    level: float = 0.95,
    interval: str = "auto",
    names: tuple[str, str] = ("a", "b"),
) -> Comparison:
    """The precision, recall, specificity or F of `a` minus that of `b`, on the same items.

    Items that both models predict alike cancel, so this takes fewer labels than two separate
    estimates.

    Parameters
    ----------
    metric : "precision", "recall", "specificity", "f1" or "f_beta".
    labels, pred_a, pred_b : Labels and both predictions of the drawn items, in the order of the
        draws.
    draws : The draws, as a sampler made them.
    positive : The class; without one the plain mean over all classes is compared (macro).
    classes : All classes; without it those that labels or predictions have.
    beta : That of "f_beta".
    level : The confidence of the interval.
    interval : "auto", "cp_safe" (for a number of labels fixed beforehand) or "none".
    names : The names of the two models.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> labels, old = ["spam", "ham", "spam", "ham"], ["spam", "spam", "ham", "ham"]
    >>> new = ["spam", "ham", "ham", "ham"]
    >>> found = compare_metric("precision", labels, new, old, draws, positive="spam")
    >>> found.difference.value, found.better is None
    (0.5, True)
    """
    _check_two_names(names)
    known = classes
    if classes is None:
        columns = {"labels": labels, "pred_a": pred_a, "pred_b": pred_b}
        texts = {name: class_names(name, column) for name, column in columns.items()}
        check_same_kind(**texts)
        known = sorted({one for column in texts.values() for one in column.tolist()})
    a, b = (
        ClassSample.of(labels, pred, draws, classes=known, level=level, interval=interval)
        for pred in (pred_a, pred_b)
    )
    chosen = a.classes if positive is None else (positive,)
    parts = [one.pairs(metric, name, beta) for name in chosen for one in (a, b)]
    return Comparison(
        *names,
        figure_estimate(parts, a, signs=(1, -1) * len(chosen)),
        metric=f"{metric}:{'macro' if positive is None else positive}",
        in_points=True,
        higher_is_better=True,
    )


def compare_all(
    losses: Mapping[str, ArrayLike],
    draws: Draws,
    *,
    baseline: str | None = None,
    level: float = 0.95,
    interval: str = "auto",
    bounds: tuple[float, float] | None = None,
) -> Ranking:
    """Each of several models against the best one, or against a named `baseline`.

    All differences hold at once with probability `level`. Against a baseline these are k - 1;
    which model is best is known from the same labels only, so against the best all k (k - 1) / 2
    pairs must hold. Each is given the level 1 - (1 - level) / number.

    Parameters
    ----------
    losses : The losses of each model under its name, in the order of the draws.
    draws : The draws, as a sampler made them.
    baseline : The model to compare with; without it the best one.
    level : The confidence of all differences at once.
    interval : As for `levelled.estimate`.
    bounds : Those of each loss; 0/1 losses need none.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> ranking = compare_all({"v1": [1, 0, 1, 0], "v2": [0, 0, 1, 0], "v3": [0, 0, 0, 0]}, draws)
    >>> ranking.against, ranking.n_compared
    ('v3', 3)
    """
    level = between("level", level, 0, 1, open_=True)
    _check_named(losses)
    models = _check_losses(losses, draws, bounds)
    if len(models) < 2:
        raise InputError(f"A comparison needs two models or more; there are {len(models)}.")
    if baseline is not None:
        choice("baseline", baseline, list(models))
    risks = {
        name: estimate(loss, draws, level=level, interval=interval, bounds=bounds)
        for name, loss in models.items()
    }
    order = sorted(models, key=lambda name: risks[name].value or 0.0)
    against = order[0] if baseline is None else baseline
    k = len(models)
    number = k * (k - 1) // 2 if baseline is None else k - 1
    each, limits = 1 - (1 - level) / number, _bounds(bounds, *models.values())
    differences = {name: models[name] - models[against] for name in order if name != against}
    comparisons = tuple(
        Comparison(name, against, estimate(loss, draws, "lure", each, interval, limits))
        for name, loss in differences.items()
    )
    return Ranking(against, {name: risks[name] for name in order}, comparisons, level, number)


def _check_two_names(names: tuple[str, str]) -> None:
    if names[0] == names[1]:
        raise InputError(f"The two models need two names; both are {names[0]!r}.")


def _check_named(losses: object) -> None:
    if not isinstance(losses, Mapping) or not all(isinstance(name, str) for name in losses):
        raise InputError(
            "losses must map the name of each model, as text, to its losses, for example "
            "{'v1': losses_1, 'v2': losses_2}."
        )


def _check_losses(
    losses: Mapping[str, ArrayLike], draws: Draws, bounds: tuple[float, float] | None
) -> dict[str, FloatArray]:
    named = {f"losses of {name}": loss for name, loss in losses.items()}
    check_draws(draws, **named)
    arrays = {
        name: floats(f"losses of {name}", loss, ndim=1, largest=LARGEST)
        for name, loss in losses.items()
    }
    for name, loss in arrays.items():
        same_length(**{f"losses of {name}": loss, "draws": draws.index})
        bounds_of(loss, bounds)
    return arrays


def _bounds(bounds: tuple[float, float] | None, *losses: FloatArray) -> Bounds:
    """The bounds of a difference of two losses; 0/1 losses need not declare theirs."""
    if bounds is not None:
        low, high = as_bounds(bounds)
        return low - high, high - low
    if all(np.isin(loss, (0, 1)).all() for loss in losses):
        return -1.0, 1.0
    return -np.inf, np.inf


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric of one model, in the whole pool or a slice, after some number of draws."""

    metric: str
    model: str
    slice: str | None
    estimate: Estimate
    n_labels: int
    """Answered draws, settled or not."""
    n_settled: int
    n_pending: int
    pending_value_min: float | None = None
    pending_value_max: float | None = None
    """The smallest and the largest value possible once the pending labels are in. That is about
    the estimate itself, not an interval for the pool."""
    unlabelable: float = 0.0
    """The estimated share of the pool that cannot be labelled; the figure is over the rest."""
    latest: float | None = None
    """The value with all settled draws, also where the interval does not contain it."""
    look: int | None = None
    """The draws that the interval rests on, where a planned look was the last to read them."""
    value_at_look: float | None = None
    """The value of that look."""
    next_look: int | None = None
    """The number of labels until the next planned look; None where there is none."""
    n_looks: int = 0
    """The number of planned looks."""
    is_share: bool = False
    """True for an average of 0/1 losses over the whole pool."""
    known: tuple[int, float] = (0, 0.0)
    """The labels that were known at the creation, and what they add up to in this figure."""
    n_known: int = 0
    """The labels that were known without a draw, at the creation or later."""
    compare: Callable[[str], Comparison] | None = field(default=None, repr=False, compare=False)
    """Compares another model with this figure; None where only the figure is known."""

    def difference(self, model: str) -> Comparison:
        """The same metric of another `model` minus this figure, paired on the same labels."""
        if self.compare is None:
            raise CampaignError(
                f"This figure of {self.name} does not know its campaign, so it cannot be compared: "
                f"use campaign.estimate(), or campaign.compare({model!r})."
            )
        return self.compare(model)

    @property
    def name(self) -> str:
        """Metric, model and slice, as far as there are any."""
        return " · ".join(filter(None, (self.metric, self.model, self.slice)))

    @property
    def random_limits(self) -> tuple[float, float] | tuple[None, None]:
        """The interval that as many random labels would have given, at the same value.

        It has the same level and the same formula. In campaigns of the first predictor it is
        Clopper and Pearson's, for n = M (N - 1) / (N - M) labels of the N items without a known
        label. None for other metrics, and as long as `worth` is not known.
        """
        est, (count, total) = self.estimate, self.known
        if est.random is not None:
            return est.random
        M, N = est.n_labels, est.pool_size - count
        if not self.is_share or est.value is None or est.worth is None or not 0 < M < N:
            return None, None
        n, value = M * (N - 1) / (N - M), (est.value * est.pool_size - total) / N
        limits = clopper_pearson(n * min(max(value, 0.0), 1.0), n, est.level)
        low, high = ((N * float(end) + total) / est.pool_size for end in limits)
        return low, high

    def as_dict(self) -> dict[str, Any]:
        """The fields of the file format, in its order; None for a limit that is infinite."""
        estimate, (random_low, random_high) = self.estimate.as_dict(), self.random_limits
        return {
            "metric": self.metric,
            "model": self.model,
            "slice": self.slice,
            **{name: estimate[name] for name in ("value", "low", "high", "level", "interval")},
            "n_labels": self.n_labels,
            "n_settled": self.n_settled,
            "n_pending": self.n_pending,
            **{name: estimate[name] for name in ("pool_size", "ess", "max_weight", "worth")},
            "random_low": random_low,
            "random_high": random_high,
            "look": self.look,
            "latest": self.latest,
            "n_look": self.look,
            "value_at_look": self.value_at_look,
            "next_look": self.next_look,
            "pending_value_min": self.pending_value_min,
            "pending_value_max": self.pending_value_max,
            "unlabelable": self.unlabelable,
            "warnings": estimate["warnings"],
        }
