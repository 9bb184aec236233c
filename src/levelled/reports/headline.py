"""The first sentences of a report: what was measured, and why to trust it."""

from collections.abc import Callable, Mapping
from math import isfinite

from levelled.metrics.figure import Figure
from levelled.reports.numbers import FIXED, VALIDITY, figure_notes, number_format

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
        if kind in _OF_LABELS:
            return f"The {kind}{f' of {about}' if kind == 'share' else ''} is not known yet."
        return f"The {figure.metric} of {the_model} is not known yet."
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
    return f"{sentence} ({_interval(figure, write)})."


def _interval(figure: Figure, write: Callable[[float], str]) -> str:
    est = figure.estimate
    if est.interval == "point":
        return "known exactly"
    return f"{est.level * 100:.4g}% interval {write(est.low)} to {write(est.high)}"


def why_trust(figure: Figure) -> str:
    """The reasons to trust the headline, in a few sentences."""
    est = figure.estimate
    if est.value is None:
        return "The first labels are still to come."
    if est.interval == "point":
        return "Every item is labelled."
    is_ratio = figure.metric.partition(":")[0] in _RATIOS or figure.unlabelable > 0
    so = "the choice of items does not distort it" if is_ratio else "the estimate is unbiased"
    labels = "1 label" if est.n_labels == 1 else f"{est.n_labels:,} labels"
    told = (
        f"It rests on {labels}. Each item was drawn with a known probability, and its label is "
        f"weighted by it, so {so}. The interval is {VALIDITY.get(est.interval, FIXED)}."
    )
    if est.worth is not None and est.worth >= 1.05 * est.n_labels:
        told += f" About {est.worth:,.0f} random labels would have been as precise."
    return told


def reading_notes(figure: Figure, target_width: float | None = None) -> list[str]:
    """Sentences on how the headline was read, and what is still open."""
    est, notes = figure.estimate, figure_notes(figure, number_format(figure))
    if target_width is not None and isfinite(est.high - est.low):
        reached = "reached" if est.high - est.low <= target_width else "not reached yet"
        notes.append(f"the target width of {target_width:g} is {reached}")
    return [f"{note[0].upper()}{note[1:]}." for note in notes]
