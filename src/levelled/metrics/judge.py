"""A judge against people: the rate it should have reported, how often it is right, and where."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled._check import FloatArray, between, floats
from levelled.draws import Draws, check_draws, check_pool_column
from levelled.errors import InputError
from levelled.estimators.intervals.logical import as_bounds
from levelled.estimators.record import Estimate
from levelled.labels import Class, as_classes, check_class, class_names, class_text
from levelled.metrics.classification import ClassOptions, precision, recall, specificity
from levelled.metrics.comparison import Comparison
from levelled.metrics.kappa import kappa
from levelled.metrics.pool_averages import EstimateOptions, accuracy, mae, mean, share
from levelled.metrics.rating import correlation
from levelled.metrics.ratio import scaled
from levelled.predictions import Categorical, as_verdicts, verdict_chances


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

    `verdicts` are those of the drawn items, `pool_verdicts` of all. Verdicts are classes, of which
    `positive` is the one to count; with `bounds`, the least and the largest rating, they are
    numbers. `tpr` and `tnr` are asked of a judge that is used unattended. Intervals are for a
    number of labels fixed beforehand, unless `interval` is "betting".

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
        return _ratings(given, rated, all_rated, draws, as_bounds(bounds), options)
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
    figures = _class_figures(y, v, pool, draws, one, options)
    decision = decide_unattended(figures["TPR"], figures["TNR"], tpr, tnr)
    return JudgeReport("judge", one, float(np.mean(pool == one)), rate, figures, decision=decision)


def _class_figures(
    y: NDArray[np.str_],
    v: NDArray[np.str_],
    pool: NDArray[np.str_],
    draws: Draws,
    positive: str,
    options: EstimateOptions,
) -> dict[str, Estimate]:
    level, interval = options["level"], options["interval"]
    of_class: ClassOptions = {"pool_pred": pool, "level": level, "interval": interval}
    return {
        "TPR": recall(y, v, draws, positive=positive, **of_class),
        "TNR": specificity(y, v, draws, positive=positive, **of_class),
        "precision": precision(y, v, draws, positive=positive, **of_class),
        "agreement": accuracy(y, v, draws, **options),
        "kappa": kappa(y, v, draws, pool_pred=pool, level=level, interval=interval),
    }


def _ratings(
    y: FloatArray,
    v: FloatArray,
    pool: FloatArray,
    draws: Draws,
    bounds: tuple[float, float],
    options: EstimateOptions,
) -> JudgeReport:
    raw = float(pool.mean())
    control: EstimateOptions = {"control": v, "control_mean": raw}
    rate = mean(y, draws, bounds=bounds, **(options | control))
    low, high = min(bounds[0], float(pool.min())), max(bounds[1], float(pool.max()))
    apart = mae(y, v, draws, bounds=(0.0, high - low), **options)
    figures = rating_figures(rate, raw, apart, correlation(y, v, draws, level=options["level"]))
    return JudgeReport("judge", None, raw, rate, figures)


def rating_figures(
    rate: Estimate, raw: float, apart: Estimate, together: Estimate
) -> dict[str, Estimate]:
    """The figures of a judge that rates, from its mean rating and that of people."""
    bias = scaled(rate, -1.0, raw)
    return {"bias": bias, "mean absolute difference": apart, "correlation": together}


def decide_unattended(TPR: Estimate, TNR: Estimate, tpr: float, tnr: float) -> Decision:
    """Decide by the intervals of TPR and TNR if a judge may be used without people.

    >>> from levelled.estimators import Estimate
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
    known = [n for n in needed if n is not None]
    labels = max(known) if len(known) == len(needed) else None
    limits = " and ".join(
        f"its {name} lies between {one.low:.3f} and {one.high:.3f} ({least:g} asked)"
        for name, (one, least) in open_.items()
    )
    if labels is None:
        return Decision("not shown yet", f"{limits}; more labels may decide it", None)
    if labels >= TPR.pool_size:
        return Decision("not shown yet", f"{limits}; it may take all labels of the pool", labels)
    return Decision("not shown yet", f"{limits}; about {labels} labels in all decide it", labels)


def _labels_to_decide(one: Estimate, asked: float) -> int | None:
    """About how many labels until the interval no longer contains `asked`.

    Widths shrink with the square root of the labels; None where the value is at the limit.
    """
    if one.value is None or one.value == asked:
        return None
    reach = one.value - one.low if one.value > asked else one.high - one.value
    n = one.n_labels * (reach / abs(one.value - asked)) ** 2
    return min(int(np.ceil(max(n, one.n_labels + 1) / 10) * 10), one.pool_size)


def _with_limits(estimate: Estimate) -> str:
    text = "undefined so far" if estimate.value is None else f"{estimate.value:.4g}"
    return f"{text} [{estimate.low:.4g}, {estimate.high:.4g}]"
