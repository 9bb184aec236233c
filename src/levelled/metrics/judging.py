"""A judge against people: the rate it should have reported, how often it is right, and where."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import between, floats, same_length
from levelled.draws import Draws, check_draws, check_pool_column
from levelled.errors import InputError
from levelled.estimators import lure
from levelled.estimators.intervals.limits import as_bounds, t_quantile
from levelled.estimators.moments import effective_size, moments
from levelled.estimators.record import Estimate
from levelled.labels import Class, as_classes, check_class, class_names, class_text
from levelled.metrics.averages import EstimateOptions, accuracy, mae, mean, share
from levelled.metrics.classification import ClassOptions, precision, recall, specificity
from levelled.metrics.comparison import Comparison
from levelled.metrics.named import Kappa
from levelled.metrics.ratios import Look, figure_estimate, undefined_estimate
from levelled.predictions import Categorical, as_verdicts, verdict_chances


def kappa(
    labels: ArrayLike,
    pred: ArrayLike,
    draws: Draws,
    *,
    pool_pred: ArrayLike,
    level: float = 0.95,
    interval: str = "auto",
) -> Estimate:
    """Cohen's kappa between labels and predictions over the whole pool.

    Parameters
    ----------
    labels, pred : The label and the prediction of each drawn item, in the order of the draws.
    draws : The draws, as a sampler made them.
    pool_pred : The predictions of all items.
    level : The confidence of the interval.
    interval : "auto", "fieller" (for a number of labels fixed beforehand), "betting" or "none".

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> pool = ["yes", "no"] * 10
    >>> kappa(["yes", "no", "no", "no"], ["yes", "no", "yes", "no"], draws, pool_pred=pool).value
    0.5
    """
    check_draws(draws, labels=labels, pred=pred)
    y, p, pool = (
        as_classes(name, class_names(name, values))
        for name, values in (("labels", labels), ("pred", pred), ("pool_pred", pool_pred))
    )
    check_pool_column("pred", p, pool, draws)
    names, counts = np.unique(pool, return_counts=True)
    metric = Kappa.of(dict(zip(names.tolist(), counts.tolist(), strict=True)))
    pairs = metric.pairs(y, p, draws.pool_size, {})
    return metric.from_losses(figure_estimate([pairs], Look(draws, level, interval)))


_FEW = 5
"""Labels before which a correlation has no interval: Fisher's scale has variance 1/(M - 3)."""


def correlation(
    labels: ArrayLike, pred: ArrayLike, draws: Draws, *, level: float = 0.95
) -> Estimate:
    """Pearson's correlation r between numeric labels and predictions over the whole pool.

        r = sum v z_y z_p / sum v,    V(r) = V(z_y z_p - r (z_y^2 + z_p^2) / 2)

    with the weights v of R_LURE and z the standardised values. The interval is on Fisher's scale,
    for a number of labels fixed beforehand. r is None while all labels, or predictions, are equal.

    Parameters
    ----------
    labels, pred : The label and the prediction of each drawn item, in the order of the draws.
    draws : The draws, as a sampler made them.
    level : The confidence of the interval.

    >>> draws = Draws([4, 1, 0, 7, 5], [0.05, 1 / 19, 1 / 18, 1 / 17, 1 / 16], pool_size=20)
    >>> round(correlation([4, 5, 2, 4, 1], [4.5, 5, 2, 4, 2], draws).value, 3)
    0.968
    """
    check_draws(draws, labels=labels, pred=pred)
    y, p = floats("labels", labels, ndim=1), floats("pred", pred, ndim=1)
    same_length(labels=y, pred=p, draws=draws.index)
    look = Look(draws, level, "fisher")
    v, M = lure.lure_weights(draws), len(draws)
    share = v / v.sum()
    zy, zp = y - share @ y, p - share @ p
    spread = float(np.sqrt((share @ zy**2) * (share @ zp**2)))
    value, low, high, stderr = None, -1.0, 1.0, None
    if spread > 0:
        value = float(np.clip(share @ (zy * zp) / spread, -1, 1))
    if value is not None and M >= _FEW and abs(value) < 1:
        zy, zp = zy / np.sqrt(share @ zy**2), zp / np.sqrt(share @ zp**2)
        found = moments(zy * zp - value * (zy**2 + zp**2) / 2, draws.probability, draws.pool_size)
        stderr = float(np.sqrt(found.variance))
        half = float(t_quantile(found.df, (1 + look.level) / 2)) * stderr / (1 - value**2)
        low, high = (float(np.tanh(np.arctanh(value) + side * half)) for side in (-1, 1))
    exact = draws.pool_size == M and value is not None
    if exact and value is not None:
        low, high, stderr = value, value, 0.0
    return replace(
        undefined_estimate(look, (low, high), "correlation"),
        value=value,
        stderr=stderr,
        ess=effective_size(v),
        interval="point" if exact else "undefined" if stderr is None else "fisher",
        warnings=("too few labels for an interval",) if stderr is None else (),
    )


class Part(NamedTuple):
    """A slice of the pool, with the judge's agreement there, or a class, with its recall."""

    name: str
    figure: str
    estimate: Estimate


class Decision(NamedTuple):
    """The answer to "may this judge be used unattended?", and the sentence with its numbers.

    `labels` is about how many labels in all decide it; None where it is decided, or where the
    estimate is exactly at the limit.
    """

    answer: Literal["yes", "no", "not shown yet"]
    because: str
    labels: int | None = None


@dataclass(frozen=True, slots=True)
class JudgeReport:
    """A judge's verdicts on a whole pool, checked against the labels of people.

    `rate` is the share of the `positive` class, or the mean rating, that people would give to the
    pool; `raw` is what the judge says it is. `figures` are TPR (of the items that people call
    positive, the share that the judge does), TNR (the same of the others), precision, agreement
    and kappa; for ratings bias, mean absolute difference and correlation.
    """

    judge: str
    positive: str | None
    """None for ratings."""
    raw: float
    rate: Estimate
    figures: Mapping[str, Estimate]
    parts: Sequence[Part] = ()
    """Slices and classes, those where the judge is worst first."""
    decision: Decision | None = None
    """None for ratings."""
    comparisons: Sequence[Comparison] = field(default=())
    """Figures of this judge minus those of another one."""

    @property
    def rate_name(self) -> str:
        """The rate in words."""
        return "mean rating" if self.positive is None else f"share of {self.positive}"

    def as_dicts(self) -> list[dict[str, Any]]:
        """One dict of plain values a figure, ready for JSON or a data frame."""
        rows: list[tuple[str, str | None, Estimate]] = [(self.rate_name, None, self.rate)]
        rows += [(name, None, one) for name, one in self.figures.items()]
        rows += [(part.figure, part.name, part.estimate) for part in self.parts]
        kept = ("value", "low", "high", "level", "interval", "n_labels", "pool_size", "warnings")
        return [
            {
                "judge": self.judge,
                "figure": name,
                "of": of,
                "raw": self.raw if estimate is self.rate else None,
                **{key: value for key, value in estimate.as_dict().items() if key in kept},
            }
            for name, of, estimate in rows
        ]

    def as_dict(self) -> dict[str, Any]:
        """The whole report as plain values."""
        return {
            "judge": self.judge,
            "positive": self.positive,
            "raw": self.raw,
            "figures": self.as_dicts(),
            "unattended": None if self.decision is None else self.decision._asdict(),
            "comparisons": [one.as_dict() for one in self.comparisons],
        }

    def __str__(self) -> str:
        lines = [f"{self.rate_name}: {_with_limits(self.rate)}; the judge says {self.raw:.4g}"]
        lines += [f"{name}: {_with_limits(one)}" for name, one in self.figures.items()]
        if self.decision is not None:
            lines.append(f"used unattended? {self.decision.answer}: {self.decision.because}")
        return "\n".join([*lines, *map(str, self.comparisons)])


def judge(
    labels: ArrayLike,
    verdicts: ArrayLike,
    draws: Draws,
    *,
    pool_verdicts: ArrayLike,
    positive: Class | None = None,
    bounds: tuple[float, float] | None = None,
    tpr: float = 0.9,
    tnr: float = 0.9,
    level: float = 0.95,
    interval: str = "auto",
) -> JudgeReport:
    """Check a judge whose verdicts are known for the whole pool against labels of drawn items.

    Verdicts are classes, of which `positive` is the one to count, or numbers with `bounds`.

    Parameters
    ----------
    labels, verdicts : The label and the verdict of each drawn item, in the order of the draws.
    draws : The draws, as a sampler made them.
    pool_verdicts : The verdicts of all items.
    positive : The verdict to count, where verdicts are classes.
    bounds : The least and the largest rating, where verdicts are numbers.
    tpr, tnr : What is asked of a judge that is used unattended.
    level : The confidence of the interval.
    interval : As for `levelled.estimate`; all but "betting" are for a number of labels fixed
        beforehand.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> pool = ["pass", "fail"] * 10
    >>> labels, verdicts = ["pass", "fail", "fail", "fail"], ["pass", "fail", "pass", "fail"]
    >>> report = judge(labels, verdicts, draws, pool_verdicts=pool, positive="pass")
    >>> report.raw, report.figures["TPR"].value, report.decision.answer
    (0.5, 1.0, 'not shown yet')
    """
    check_draws(draws, labels=labels, verdicts=verdicts)
    options: EstimateOptions = {"level": level, "interval": interval}
    named = {"labels": labels, "verdicts": verdicts, "pool_verdicts": pool_verdicts}
    if bounds is not None:
        if positive is not None:
            raise InputError("Ratings have no positive class: leave positive or bounds out.")
        given, rated, all_rated = (floats(name, one, ndim=1) for name, one in named.items())
        check_pool_column("verdicts", rated, all_rated, draws)
        (low, high), raw = as_bounds(bounds), float(all_rated.mean())
        rating: EstimateOptions = {"control": rated, "control_mean": raw}
        rate = mean(given, draws, bounds=(low, high), **(options | rating))
        low, high = min(low, float(all_rated.min())), max(high, float(all_rated.max()))
        apart = mae(given, rated, draws, bounds=(0.0, high - low), **options)
        figures = rating_figures(rate, raw, apart, correlation(given, rated, draws, level=level))
        return JudgeReport("judge", None, raw, rate, figures)
    y, v, pool = (as_classes(name, class_names(name, values)) for name, values in named.items())
    check_pool_column("verdicts", v, pool, draws)
    names, codes = np.unique(pool, return_inverse=True)
    coded = as_verdicts(Categorical(tuple(names.tolist()), codes))
    if len(names) == 1:
        raise InputError(
            f"Every verdict is {str(names[0])!r}, so there is nothing to check the judge by. "
            f"levelled.metrics.share estimates the share of a label without one."
        )
    if coded is None:
        raise InputError(
            f"A judge gives two classes or a few; these verdicts have {len(names)}. Ratings need "
            f"their bounds, for example bounds=(1, 5)."
        )
    if positive is None:
        raise InputError(f"Say which verdict counts: positive={str(names[-1])!r}, for example.")
    one = class_text(positive)
    check_class(one, coded.values)
    chance = verdict_chances(coded)[:, coded.values.index(one)]
    control: EstimateOptions = {"control": chance[draws.index], "control_mean": chance.mean()}
    rate = share(y, draws, of=one, **(options | control))
    of_class: ClassOptions = {"pool_pred": pool, "level": level, "interval": interval}
    figures = {
        "TPR": recall(y, v, draws, positive=one, **of_class),
        "TNR": specificity(y, v, draws, positive=one, **of_class),
        "precision": precision(y, v, draws, positive=one, **of_class),
        "agreement": accuracy(y, v, draws, **options),
        "kappa": kappa(y, v, draws, pool_pred=pool, level=level, interval=interval),
    }
    decision = decide_unattended(figures["TPR"], figures["TNR"], tpr, tnr)
    return JudgeReport("judge", one, float(np.mean(pool == one)), rate, figures, decision=decision)


def rating_figures(
    rate: Estimate, raw: float, apart: Estimate, together: Estimate
) -> dict[str, Estimate]:
    """The figures of a judge that rates, from its mean rating and that of people."""
    bias = rate.scaled(-1.0, raw)
    return {"bias": bias, "mean absolute difference": apart, "correlation": together}


def decide_unattended(TPR: Estimate, TNR: Estimate, tpr: float, tnr: float) -> Decision:
    """Decide by the intervals of TPR and TNR if a judge may be used without people.

    >>> def known(low, high):
    ...     return Estimate((low + high) / 2, low, high, 0.95, 0.01, 200, 5000, 200, 1, "", "")
    >>> decide_unattended(known(0.92, 0.96), known(0.7, 0.8), 0.9, 0.9).answer
    'no'
    """
    asked = {"TPR": (TPR, between("tpr", tpr, 0, 1)), "TNR": (TNR, between("tnr", tnr, 0, 1))}
    below = [name for name, (one, least) in asked.items() if one.high < least]
    if below:
        one, least = asked[below[0]]
        return Decision(
            "no",
            f"its {below[0]} is at most {one.high:.3f}, and {least:g} was asked for "
            f"({100 * one.level:.4g}% confidence)",
        )
    open_ = {name: pair for name, pair in asked.items() if pair[0].low < pair[1]}
    if not open_:
        limits = " and ".join(
            f"its {name} at least {one.low:.3f} ({least:g} asked)"
            for name, (one, least) in asked.items()
        )
        return Decision("yes", f"{limits}, {100 * TPR.level:.4g}% confidence")
    needed = [_labels_to_decide(*pair) for pair in open_.values()]
    labels = None if None in needed else max(filter(None, needed))
    limits = " and ".join(
        f"its {name} lies between {one.low:.3f} and {one.high:.3f} ({least:g} asked)"
        for name, (one, least) in open_.items()
    )
    then = f"about {labels} labels in all decide it"
    if labels is None:
        then = "more labels may decide it"
    elif labels >= TPR.pool_size:
        then = "it may take all labels of the pool"
    return Decision("not shown yet", f"{limits}; {then}", labels)


def _labels_to_decide(one: Estimate, asked: float) -> int | None:
    """About how many labels until the interval no longer contains `asked`.

    Widths shrink with the square root of the labels; None where the value is at the limit.
    """
    if one.value is None or one.value == asked:
        return None
    reach = one.value - one.low if one.value > asked else one.high - one.value
    n = one.n_labels * (reach / abs(one.value - asked)) ** 2
    # It is rough, so it is told in tens.
    return min(int(np.ceil(max(n, one.n_labels + 1) / 10) * 10), one.pool_size)


def _with_limits(estimate: Estimate) -> str:
    text = estimate.value_text
    return f"{text} [{estimate.low:.4g}, {estimate.high:.4g}]"
