"""Figures as text: numbers, notes, and the first sentences of a report."""

from collections.abc import Callable, Mapping
from math import isfinite

import numpy as np

from levelled.metrics.comparison import Figure

VALIDITY = {
    "betting": "valid however often you look",
    "hedged": "valid however often you look, by a finite-sample proof",
    "anytime": "valid however often you look, asymptotically",
    "looks": "valid however often you look",
    "undefined": "nothing is known yet",
    "logical": "what is possible after these labels",
    "contradiction": "what is possible; the labels contradict the probabilities of their draws",
    "point": "known exactly",
}
"""The validity of an interval, by its kind; of all others it is `FIXED`."""
FIXED = "valid for a number of labels fixed beforehand"
_IN_PER_CENT = ("error", "accuracy", "share", "precision", "recall", "f1")


def is_in_per_cent(metric: str) -> bool:
    """True for a metric that people know in per cent."""
    return metric.partition(":")[0] in _IN_PER_CENT


def number_format(figure: Figure) -> Callable[[float], str]:
    """The way to write the numbers of a figure for readers: in per cent where that is usual.

    They have as many digits as the width of the interval allows.

    >>> from levelled.estimators import Estimate
    >>> est = Estimate(0.0923, 0.068, 0.127, 0.95, 0.02, 200, 5000, 180.0, 2.0, "lure", "betting")
    >>> one = Figure("error", "", None, est, n_labels=200, n_settled=200, n_pending=0)
    >>> number_format(one)(0.0923)
    '9.2%'
    """
    if not is_in_per_cent(figure.metric):
        return _number
    width = figure.estimate.high - figure.estimate.low
    digits = 1 if width >= 0.01 else 2 if width >= 0.001 else 3
    return lambda value: f"{100 * value:.{digits}f}%" if isfinite(value) else _number(value)


def figure_cells(figure: Figure, number: Callable[[float], str] | None = None) -> dict[str, str]:
    """A figure as a row of a table, by the names of its columns; cells may be empty.

    `number` writes its numbers, by default with four decimals.
    """
    write, est = number or _number, figure.estimate
    none = "contradiction" if est.interval == "contradiction" else "–"  # noqa: RUF001
    return {
        "metric": figure.metric,
        "model": figure.model,
        "slice": figure.slice or "",
        "value": none if est.value is None else write(est.value),
        "interval": f"{write(est.low)} to {write(est.high)}",
        "random labels": est.random_text,
    }


def figure_notes(figure: Figure, number: Callable[[float], str] | None = None) -> list[str]:
    """Sentences on how a figure was read."""
    write, est, notes = number or _number, figure.estimate, []
    if figure.look is not None:
        at_look = figure.value_at_look
        was = ""
        if at_look is not None and figure.look < figure.n_settled:
            was = f", where the value was {write(at_look)}"
        notes.append(f"the interval is that of the planned look after {figure.look} draws{was}")
    elif figure.n_looks:
        notes.append("no planned look is reached yet")
    if figure.next_look is not None:
        notes.append(f"next look in {count_labels(figure.next_look)}")
    if figure.n_known:
        notes.append(f"{figure.n_known:,} further labels were known, and count as they are")
    least, most = figure.pending_value_min, figure.pending_value_max
    if least is not None and most is not None:
        labels = "1 label is" if figure.n_pending == 1 else f"{figure.n_pending} labels are"
        notes.append(
            f"{labels} pending: with them the value will be between {write(least)} and "
            f"{write(most)}, depending on what they say; this is no interval for the pool"
        )
    if est.interval == "hedged":
        notes.append(
            "the interval has a finite-sample guarantee, whatever the predictor is worth; it is "
            "narrowest at the budget, and wider than an asymptotic one"
        )
    # Within 5% the two are as good as each other: `worth` is itself an estimate.
    if est.worth is not None and est.worth < 0.95 * est.n_labels:
        notes.append(
            f"these labels are worth less than {est.n_labels} random ones, because the scores "
            f"predict the losses badly"
        )
    return notes


def count_labels(n: int) -> str:
    """A number of labels in words.

    >>> count_labels(1), count_labels(2800)
    ('1 label', '2,800 labels')
    """
    return "1 label" if n == 1 else f"{n:,} labels"


def _number(value: float) -> str:
    if not isfinite(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:.6g}"


def with_error(value: float, stderr: float) -> str:
    """A value with its standard error, rounded to the second digit of the error.

    >>> with_error(0.2004321, 0.00054), with_error(7.812e-6, 1.46e-7)
    ('0.20043 ± 0.00054', '(7.81 ± 0.15)e-06')
    """
    largest = max(abs(value), stderr)
    exponent = int(np.floor(np.log10(largest))) if largest > 0 else 0
    if stderr > 0 and exponent < -3:
        unit = 10.0**exponent
        return f"({with_error(value / unit, stderr / unit)})e{exponent:03d}"
    digits = max(0, 1 - int(np.floor(np.log10(stderr)))) if stderr > 0 else 6
    return f"{value:.{digits}f} ± {stderr:.{digits}f}"


_RATIOS = ("precision", "recall", "f1")
_SENTENCES: Mapping[str, str] = {
    "error": "{model} is wrong on {value} of {items}",
    "accuracy": "{model} is right on {value} of {items}",
    "share": "{value} of {items} are {about}",
    "precision": "{value} of the items that {the_model} predicts as {about} are {about}",
    "recall": "{model} finds {value} of the items that are {about}",
    "f1": "The F1 of {the_model} for {about} is {value}",
    "mean": "The mean label of {items} is {value}",
}
"""The sentence for each kind of metric; for all others it names the metric."""
_OTHER = "The {metric} of {the_model} on {items} is {value}"


_OF_LABELS = ("mean", "share")
"""Metrics of the labels alone, which are no property of a model."""


def headline(figure: Figure) -> str:
    """The most important figure as a sentence with its interval.

    >>> from levelled.estimators import Estimate
    >>> est = Estimate(0.0923, 0.068, 0.127, 0.95, 0.02, 200, 5000, 180.0, 2.0, "lure", "betting")
    >>> headline(Figure("error", "v2", None, est, n_labels=200, n_settled=200, n_pending=0))
    'The model v2 is wrong on 9.2% of the 5,000 items (95% interval 6.8% to 12.7%).'
    """
    est, write = figure.estimate, number_format(figure)
    kind, _, about = figure.metric.partition(":")
    the_model = f"the model {figure.model}" if figure.model else "the model"
    if est.value is None:
        is_known = "is not known yet"
        if est.interval == "contradiction":
            is_known = "has no figure: the labels contradict the probabilities of their draws"
        if kind in _OF_LABELS:
            return f"The {kind}{f' of {about}' if kind == 'share' else ''} {is_known}."
        return f"The {figure.metric} of {the_model} {is_known}."
    items = f"the {est.pool_size:,} items"
    if figure.unlabelable > 0:
        items = "the items that can be labelled"
    sentence = _SENTENCES.get(kind, _OTHER).format(
        model=f"T{the_model[1:]}",
        the_model=the_model,
        value=write(est.value),
        items=items,
        about=about,
        metric=figure.metric,
    )
    interval = f"{est.level * 100:.4g}% interval {write(est.low)} to {write(est.high)}"
    return f"{sentence} ({'known exactly' if est.interval == 'point' else interval})."


def why_trust(figure: Figure) -> str:
    """The reasons to trust the headline, in a few sentences."""
    est = figure.estimate
    if est.interval == "contradiction":
        return f"{est.warnings[0][0].upper()}{est.warnings[0][1:]}"
    if est.value is None:
        return "The labels of the first draws are still to come."
    if est.interval == "point":
        return "Every item is labelled."
    is_ratio = figure.metric.partition(":")[0] in _RATIOS or figure.unlabelable > 0
    so = "the choice of items does not distort it" if is_ratio else "the estimate is unbiased"
    labels = "1 label" if est.n_labels == 1 else f"{est.n_labels:,} labels"
    if figure.n_known:
        labels = f"{figure.n_known:,} known labels and {labels} of draws"
    told = (
        f"It rests on {labels}. Each draw had a known probability, and its label is "
        f"weighted by it, so {so}. The interval is {VALIDITY.get(est.interval, FIXED)}."
    )
    return f"{told} Random labels: {est.random_text}." if est.random_text else told


def reading_notes(figure: Figure, target_width: float | None = None) -> list[str]:
    """Sentences on how the headline was read, and what is still open."""
    est, notes = figure.estimate, figure_notes(figure, number_format(figure))
    if target_width is not None and isfinite(est.high - est.low):
        reached = "reached" if est.high - est.low <= target_width else "not reached yet"
        notes.append(f"the target width of {target_width:g} is {reached}")
    return [f"{note[0].upper()}{note[1:]}." for note in notes]
