"""Claims about the figures of a campaign, decided by intervals that may be watched.

A claim such as "share:pass is at least 0.92" is shown once an interval with a finite-sample
guarantee lies on its side of the limit, and refuted once it lies on the other side. The interval
is that of betting, or the hedged one where the campaign was created for it, at the full level of
the claim and over all settled draws; planned looks play no part. It covers the truth after all
labels at once, and one that covers the truth never leads to a wrong word. So with probability
`level` no word is ever wrong, however often and whenever one looks.
"""

from dataclasses import dataclass, replace
from math import ceil, inf, isfinite
from typing import Any, Literal

from levelled._check import between
from levelled.campaigns.figures.comparing import (
    find_metric,
    find_metrics,
    find_model,
    why_not_compared,
)
from levelled.campaigns.figures.figures import Subject, estimate_subject, subject_of
from levelled.campaigns.figures.settled import FigureCache, SettledDraws, settled_draws
from levelled.campaigns.log.state import CampaignState
from levelled.errors import CampaignError, InputError
from levelled.estimators import Estimate
from levelled.metrics.named import Metric

Word = Literal["shown", "refuted", "not yet", "contradiction"]
Relation = Literal["at least", "at most", "better than"]

_SLACK = 1e-9
"""Rounding: values so near to the limit, as a share of the range of the metric, are equal to it."""
_FEW = 20
"""With fewer labels there is no telling how many more it takes."""
_REACH = 2.3
"""The standard errors that a hedged interval reaches from the value at its budget.

A normal has 2.05 there. It says about how many more labels a claim takes, and decides nothing.
"""
_ALTERNATIVES = {
    "log_loss": "log_loss:CAP, such as log_loss:10",
    "mean": "mean:LOW:HIGH, such as mean:1:5",
    "mae": "mean:LOW:HIGH, such as mean:1:5",
    "mse": "mean:LOW:HIGH, such as mean:1:5",
}


@dataclass(frozen=True, slots=True)
class GateClaim:
    """A claim about a campaign, and the word on it: shown, refuted, not yet or contradiction.

    `figure` is the metric with the interval that decides; for "better than", it is how much
    `model` is better than `against`. `more_labels` is about how many more labels it takes if the
    value stays where it is; None where that cannot be said, and 0 once the claim is decided.
    """

    metric: str
    model: str
    """Empty where the metric is about the labels alone."""
    relation: Relation
    limit: float
    against: str | None
    word: Word
    figure: Estimate
    n_settled: int
    n_pending: int
    more_labels: int | None
    labels_left: int
    """The labels that the budget, or else the pool, leaves."""
    n_known: int = 0
    """The labels that were known without a draw."""

    @property
    def text(self) -> str:
        """The claim in words, such as "share:pass is at least 0.92"."""
        return self._says(self.relation)

    @property
    def sentence(self) -> str:
        """The word, the claim, its evidence and, if it is open, how many more labels it takes."""
        if self.word == "refuted":
            opposite = {"at least": "below", "at most": "above", "better than": "not better than"}
            return f"refuted: {self._says(opposite[self.relation])}; {self._evidence}"
        if self.word == "shown":
            return f"shown: {self.text}; {self._evidence}"
        if self.word == "contradiction":
            return f"contradiction: cannot say whether {self.text}; {self._evidence}"
        return f"not yet: {self.text}; {self._evidence}; {self._outlook}"

    def _says(self, relation: str) -> str:
        of_model = f" of {self.model}" if self.model and self.against is None else ""
        if self.against is None:
            return f"{self.metric}{of_model} is {relation} {self.limit:.6g}"
        by = f" by more than {self.limit:.6g}" if self.limit else ""
        return f"{self.model} is {relation} {self.against} in {self.metric}{by}"

    @property
    def _evidence(self) -> str:
        est, n = self.figure, self.n_settled
        known = f" and {self.n_known} known ones" if self.n_known else ""
        labels = f"{n} label{'s' * (n != 1)}{known}"
        if est.value is None:
            return labels
        what = "" if self.against is None else "by "
        limits = f"{what}{est.value:.4g} [{est.low:.4g}, {est.high:.4g}]"
        return f"{limits}, {100 * est.level:.4g}% confidence, {labels}"

    @property
    def _outlook(self) -> str:
        if self.more_labels is None:
            return "cannot say how many more labels it takes"
        near = f"about {self.more_labels} more labels if the value stays near"
        text = f"{near} {self.figure.value:.4g}"
        if self.more_labels <= self.labels_left:
            return text
        return f"{text}, of which the campaign has {self.labels_left}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        kept = "value", "low", "high", "level", "interval"
        figure = self.figure.as_dict()
        return {
            "claim": self.text,
            "word": self.word,
            "metric": self.metric,
            "model": self.model or None,
            "relation": self.relation,
            "limit": self.limit,
            "against": self.against,
            **{name: figure[name] for name in kept},
            "n_settled": self.n_settled,
            "n_pending": self.n_pending,
            "more_labels": self.more_labels,
            "labels_left": self.labels_left,
            "sentence": self.sentence,
            "warnings": figure["warnings"],
        }

    def __str__(self) -> str:
        notes = "".join(f"; note: {note}" for note in self.figure.warnings)
        return f"{self.sentence}{notes}"


def decide_limit(
    state: CampaignState,
    cache: FigureCache,
    metric: str | None,
    model: str | None,
    level: float | None,
    relation: Relation,
    limit: float,
) -> GateClaim:
    """The word on the claim that a metric is at least, or at most, a limit."""
    chosen, base = find_metric(state.settings, metric), settled_draws(state, cache=cache)
    one = ""  # where a metric needs no model, all have the same figure
    if chosen.needs != "label":
        one = state.settings.models[0] if model is None else find_model(state, model)
    elif model is not None:
        raise CampaignError(f"{why_not_compared(chosen)} Leave the model out (--model, model=).")
    limit = _number("limit", limit, *_bounds(chosen), chosen)
    figure = _figure(base, subject_of(state, chosen, one), limit, _level(state, level))
    return _claim(base, chosen, (one, None), relation, limit, figure)


def decide_better(
    state: CampaignState,
    cache: FigureCache,
    metric: str | None,
    model: str | None,
    level: float | None,
    against: str,
    margin: float,
) -> GateClaim:
    """The word on the claim that a model is better than another by more than a margin."""
    chosen, base = find_metrics(state.settings, metric)[0], settled_draws(state, cache=cache)
    models = _two_models(state, chosen, model, against)
    low, high = _bounds(chosen)
    margin = _number("margin", margin, low - high, high - low, chosen)
    figure = _gain(base, chosen, models, margin, _level(state, level))
    return _claim(base, chosen, models, "better than", margin, figure)


def _claim(
    base: SettledDraws,
    metric: Metric,
    models: tuple[str, str | None],
    relation: Relation,
    limit: float,
    figure: Estimate,
) -> GateClaim:
    settings, (low, high) = base.state.settings, _bounds(metric)
    word = _word(figure, relation, limit, _SLACK * (high - low))
    one, other = (None if each is None else settings.shown_name(each) for each in models)
    last = base.state.last_draw
    return GateClaim(
        metric=metric.name,
        model=(one or "first") if other is not None else one or "",
        relation=relation,
        limit=limit,
        against=None if other is None else other or "first",
        word=word,
        figure=figure,
        n_settled=len(base),
        n_pending=len(base.state.open_draws()),
        more_labels=0 if word != "not yet" else _more_labels(figure, limit, len(base), last),
        labels_left=last - len(base),
        n_known=len(base.known_items),
    )


def _level(state: CampaignState, level: float | None) -> float:
    return state.settings.level if level is None else between("level", level, 0, 1, open_=True)


def _figure(base: SettledDraws, subject: Subject, limit: float, level: float) -> Estimate:
    """The metric with a watched interval that tests the values next to the limit."""
    metric, (low, high) = subject.metric, subject.metric.bounds or (0.0, 1.0)
    at = low + high - limit if metric.complemented else limit
    tested = _beside(at, high - low)
    est = estimate_subject(base, replace(subject, tested=tested), level)
    return metric.from_losses(replace(est, level=level))


def _gain(
    base: SettledDraws, metric: Metric, models: tuple[str, str], margin: float, level: float
) -> Estimate:
    """How much the first model is better than the second, with a watched interval."""
    low, high = metric.bounds or (0.0, 1.0)
    # A difference of losses that are better if small, or of ratios that are better if large.
    sign = 1.0 if metric.higher_is_better and not metric.complemented else -1.0
    tested = _beside(sign * margin, high - low)
    subject = subject_of(base.state, metric, models[0], against=models[1])
    est = estimate_subject(base, replace(subject, tested=tested), level)
    return replace(est.scaled(sign), level=level)


def _beside(limit: float, scale: float) -> tuple[float, float]:
    """The values next to a limit. An interval that ends at one of them does not contain it."""
    return limit - 2 * _SLACK * scale, limit + 2 * _SLACK * scale


def _word(figure: Estimate, relation: Relation, limit: float, slack: float) -> Word:
    """The word on a claim: where the interval lies, within the rounding of numbers."""
    if figure.interval == "contradiction":
        return "contradiction"
    low, high = figure.low, figure.high
    shown, refuted = {
        "at least": (low >= limit - slack, high < limit - slack),
        "at most": (high <= limit + slack, low > limit + slack),
        "better than": (low > limit + slack, high <= limit + slack),
    }[relation]
    if shown:
        return "shown"
    return "refuted" if refuted else "not yet"


def _more_labels(figure: Estimate, limit: float, n: int, budget: int) -> int | None:
    """About how many more labels it takes until the interval excludes the limit.

    It is for an interval that narrows in proportion to the root of the number of labels, as a
    finite pool counts them, around a value that stays. A hedged one is narrow at its budget. None
    where the value lies within one standard error of the limit, so that it may well be on the
    other side.
    """
    value, stderr, N = figure.value, figure.stderr, figure.pool_size
    if value is None or not stderr or n < _FEW or n >= N:
        return None
    distance = abs(value - limit)
    if distance <= stderr:
        return None
    reach = value - figure.low if value > limit else figure.high - value
    ratio = reach / distance
    if figure.interval == "hedged" and n < budget:
        at_budget = (_counted(budget, N) / _counted(n, N)) ** 0.5
        ratio = min(ratio, max(_REACH * stderr / distance, at_budget))
    information = _counted(n, N) * ratio**2
    return max(ceil(N * information / (N + information)) - n, 1)


def _counted(n: int, pool_size: int) -> float:
    """The number of labels that would be as precise in an infinite pool."""
    return n * pool_size / (pool_size - n) if n < pool_size else inf


def _bounds(metric: Metric) -> tuple[float, float]:
    """The range of a metric; refuses one without an upper bound."""
    low, high = metric.possible
    if isfinite(low) and isfinite(high):
        return low, high
    instead = _ALTERNATIVES.get(metric.name, "a metric with bounds, such as error")
    raise InputError(
        f"{metric.name} has no bounds, so no interval of it has a finite-sample guarantee, and a "
        f"gate cannot decide by it. Create a campaign with {instead}, or for a function of your "
        f"own set its bounds."
    )


def _number(name: str, value: float, low: float, high: float, metric: Metric) -> float:
    """A limit or margin as a number within the range of the metric."""
    try:
        number = float(value)
    except (TypeError, ValueError) as wrong:
        raise InputError(f"The {name} of a claim must be a number; it is {value!r}.") from wrong
    if not low <= number <= high:
        hint = f": did you mean {number / 100:g}?" if high == 1 < number <= 100 else "."
        raise InputError(
            f"The {name} of a claim about {metric.name} lies between {low:g} and {high:g}; it is "
            f"{number:g}{hint}"
        )
    return number


def _two_models(
    state: CampaignState, metric: Metric, model: str | None, against: str
) -> tuple[str, str]:
    """The model that is to be better, and the other one."""
    if metric.higher_is_better is None:
        raise CampaignError(f"{metric.name} has no better and worse: claim a limit for it.")
    other = find_model(state, against)
    if model is not None:
        one = find_model(state, model)
        if one == other:
            raise CampaignError(f"A model is not better than itself, and both are {against!r}.")
        return one, other
    rest = [each for each in (*state.settings.models, *state.attached) if each != other]
    if len(rest) == 1:
        return rest[0], other
    if not rest:
        raise CampaignError(
            f"{against!r} is the only model of {state.settings.name!r}: `levelled attach` adds "
            f"another one."
        )
    names = ", ".join(state.settings.shown_name(each) or "first" for each in rest)
    raise CampaignError(f"Name the model that is to be better with --model (model=): {names}.")
