"""A judge of a campaign against people: its figures come from the functions of `estimate`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Literal

import numpy as np

from levelled._check import FloatArray
from levelled.campaigns.figures.comparing import (
    compare_subjects,
    find_model,
    find_other_model,
    shown_model,
)
from levelled.campaigns.figures.figures import FIXED, read_figure, subject_of
from levelled.campaigns.figures.settled import FigureCache, SettledDraws, settled_draws
from levelled.campaigns.log.state import CampaignState
from levelled.errors import CampaignError
from levelled.estimators import Estimate
from levelled.labels import list_names
from levelled.metrics.comparison import Comparison
from levelled.metrics.judging import (
    JudgeReport,
    Kappa,
    Part,
    correlation,
    decide_unattended,
    rating_figures,
)
from levelled.metrics.named import PLAIN, ClassRatio, Mean, Metric, Share, parse_metric
from levelled.reports import Section

_MOST_CLASSES = 20
"""The most classes whose recall is listed."""


def judge_section(state: CampaignState, cache: FigureCache) -> Iterator[Section]:
    """The part of a report on verdicts, where a campaign counts a class that a model predicts."""
    settings, base = state.settings, settled_draws(state, cache=cache)
    first = settings.metrics[0]
    counts = state.pred_counts(settings.models[0]) or {}
    if not isinstance(first, Share) or not len(base) or first.positive not in counts:
        return
    report = _Classes(base, settings.models[0], first.positive).report(None, None, 0.9, 0.9)
    assert report.decision is not None
    about = (
        f"The share of {first.positive} among the verdicts is {report.raw:.3f}. May they be used "
        f"unattended, if a TPR and a TNR of 0.9 are asked for? {report.decision.answer}: "
        f"{report.decision.because}."
    )
    rows = [
        (
            name,
            "undefined" if one.value is None else f"{one.value:.3f}",
            f"{one.low:.3f} to {one.high:.3f}",
        )
        for name, one in report.figures.items()
    ]
    yield Section("Verdicts against labels", about, ("figure", "value", "interval"), rows)


def judge_model(
    state: CampaignState,
    cache: FigureCache,
    numbers: Callable[[str], FloatArray],
    model: str | None = None,
    *,
    against: str | None = None,
    positive: str | None = None,
    by: str | None = None,
    tpr: float = 0.9,
    tnr: float = 0.9,
) -> JudgeReport:
    """Check the verdicts of a model against the labels of a campaign.

    `numbers` gives the predicted numbers of a model for the whole pool.
    """
    base = settled_draws(state, cache=cache)
    if not len(base):
        raise CampaignError(
            f"{state.settings.name!r} has no settled label yet: ask, label and tell some items."
        )
    one = state.settings.models[0] if model is None else find_model(state, model)
    if one not in state.attached and not state.pred_counts(one) and not state.settings.numeric:
        raise CampaignError(
            f"The pool of {state.settings.name!r} has no verdicts to check. Create a campaign with "
            f"--judge-column COLUMN, or add verdicts with `levelled attach`."
        )
    other = None if against is None else find_other_model(state, against, one)
    if by is not None and by not in state.settings.slices:
        there = list_names([*state.settings.slices]) or "none"
        raise CampaignError(
            f"{state.settings.name!r} has no slice {by!r}; its slices are {there}. Name slices "
            f"when you create a campaign (--slice)."
        )
    if state.settings.numeric:
        if positive is not None:
            raise CampaignError(
                f"{state.settings.name!r} has ratings, and no verdict of them is counted: leave "
                f"positive (--positive) out."
            )
        return _Ratings(base, one).report(numbers(one), other, by)
    return _Classes(base, one, _positive(state, positive, one)).report(other, by, tpr, tnr)


def _positive(state: CampaignState, wanted: str | None, model: str) -> str:
    """The class to count: the one asked for, else that of the first metric with a class."""
    verdicts, settings = [*(state.pred_counts(model) or {})], state.settings
    named = [one.positive for one in settings.metrics if one.positive is not None]
    chosen = wanted if wanted is not None else next(iter(named), None)
    if chosen is None:
        raise CampaignError(
            f"Say which verdict counts: positive=... or --positive, one of "
            f"{list_names(verdicts, 12) or 'the classes'}."
        )
    if verdicts and chosen not in verdicts:
        raise CampaignError(
            f"No verdict of {shown_model(settings, model)} is {chosen!r}; they are "
            f"{list_names(verdicts, 12)}."
        )
    return chosen


class _Judged:
    """The figures of one model of a campaign."""

    def __init__(self, base: SettledDraws, model: str) -> None:
        self.base, self.model, self.settings = base, model, base.state.settings

    def read(self, metric: Metric, column: str | None = None, value: str | None = None) -> Estimate:
        """The estimate to show, in the pool or a slice, which holds however often one looks."""
        model = "" if metric.needs == "label" else self.model
        return read_figure(self.base, subject_of(self.base.state, metric, model, column, value))[0]

    def _slices(self, by: str | None) -> Iterator[tuple[str, str]]:
        """The values of one slice column, or of all, each with its column."""
        for column in self.settings.slices if by is None else (by,):
            for value in self.settings.slice_counts[column]:
                yield column, value

    def compare(self, metric: Metric, other: str) -> Comparison:
        """This judge minus another one, on the same labels."""
        return compare_subjects(self.base, metric, self.model, other)


class _Classes(_Judged):
    """A judge whose verdicts are classes."""

    def __init__(self, base: SettledDraws, model: str, positive: str) -> None:
        super().__init__(base, model)
        self.positive, self.counts = positive, base.state.pred_counts(model) or {}

    def report(self, other: str | None, by: str | None, tpr: float, tnr: float) -> JudgeReport:
        """All figures, and the decision."""
        metrics = self._metrics()
        figures = {name: self.read(metric) for name, metric in metrics.items()}
        parts = sorted(self._parts(by), key=lambda part: _value(part.estimate, 2.0))
        total = sum(self.counts.values()) or 1
        return JudgeReport(
            shown_model(self.settings, self.model),
            self.positive,
            self.counts.get(self.positive, 0) / total,
            self.read(parse_metric(f"share:{self.positive}")),
            figures,
            tuple(parts),
            decide_unattended(figures["TPR"], figures["TNR"], tpr, tnr),
            () if other is None else tuple(self._comparisons(metrics, other)),
        )

    def _comparisons(self, metrics: Mapping[str, Metric], other: str) -> Iterator[Comparison]:
        """The figures of this judge minus those of another, under the names of the report."""
        for name in ("TPR", "TNR", "agreement"):
            yield replace(self.compare(metrics[name], other), metric=name)

    def _metrics(self) -> dict[str, Metric]:
        def of_class(ratio: Literal["precision", "recall", "specificity"]) -> Metric:
            name = f"{ratio}:{self.positive}"
            return ClassRatio(name=name, ratio=ratio, positive=self.positive, d_max=1.0)

        metrics: dict[str, Metric] = {
            "TPR": of_class("recall"),
            "TNR": of_class("specificity"),
            "precision": of_class("precision"),
            "agreement": PLAIN["accuracy"],
        }
        if sum(n > 0 for n in self.counts.values()) > 1:
            metrics["kappa"] = Kappa.of(self.counts, self.positive)
        return metrics

    def _parts(self, by: str | None) -> Iterator[Part]:
        """The slices, and the classes where there are more than two."""
        for column, value in self._slices(by):
            one = self.read(PLAIN["accuracy"], column, value)
            yield Part(f"{column}={value}", "agreement", one)
        if 2 < len(self.counts) <= _MOST_CLASSES and by is None:
            for name in self.counts:
                yield Part(name, "recall", self.read(parse_metric(f"recall:{name}")))


class _Ratings(_Judged):
    """A judge whose verdicts are ratings."""

    def report(self, numbers: FloatArray, other: str | None, by: str | None) -> JudgeReport:
        """All figures; `numbers` are the ratings of the whole pool."""
        metric = self.settings.metrics[0]
        if not isinstance(metric, Mean):
            metric = Mean(name="mean")
        raw = float(numbers.mean())
        rate = self.read(metric)
        apart = self._absolute(metric, numbers)
        figures = rating_figures(rate, raw, self.read(apart), self._correlation())
        compared: tuple[Comparison, ...] = ()
        if other is not None:
            found = self.compare(replace(apart, bounds=None), other)
            compared = (replace(found, metric="mean absolute difference"),)
        name = shown_model(self.settings, self.model)
        parts = [
            Part(f"{column}={value}", "mean absolute difference", self.read(apart, column, value))
            for column, value in self._slices(by)
        ]
        parts.sort(key=lambda part: -_value(part.estimate, 0.0))
        return JudgeReport(name, None, raw, rate, figures, tuple(parts), comparisons=compared)

    def _absolute(self, metric: Metric, numbers: FloatArray) -> Metric:
        """The mean absolute difference, with the bounds that ratings and labels have."""
        if metric.bounds is None:
            return PLAIN["mae"]
        low, high = min(metric.bounds[0], numbers.min()), max(metric.bounds[1], numbers.max())
        return replace(PLAIN["mae"], bounds=(0.0, float(high - low)))

    def _correlation(self) -> Estimate:
        """The correlation at the last planned look; before it, with a warning."""
        settings, look = self.settings, self.settings.last_look(len(self.base))
        base = self.base if look is None else self.base.first(look.n)
        complete = bool(base.labelable.all())
        labels = np.array(base.labels if complete else [0] * len(base), dtype=np.float64)
        ratings = base.predicted(self.model).astype(np.float64)
        level = settings.level if look is None else look.level
        found = correlation(labels, ratings, base.draws, level=level)
        notes = (
            found.warnings if look is not None or found.stderr == 0 else (*found.warnings, FIXED)
        )
        if not complete:
            notes = ("a correlation needs a label for every settled draw",)
        return replace(found, level=settings.level, warnings=notes)


def _value(estimate: Estimate, undefined: float) -> float:
    return undefined if estimate.value is None else estimate.value
