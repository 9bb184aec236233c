"""Numbers as text."""

from collections.abc import Callable
from math import isfinite

import numpy as np

from levelled.metrics.figure import Figure

VALIDITY = {
    "betting": "valid however often you look",
    "hedged": "valid however often you look, by a finite-sample proof",
    "anytime": "valid however often you look, asymptotically",
    "looks": "valid however often you look",
    "undefined": "nothing is known yet",
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
    return {
        "metric": figure.metric,
        "model": figure.model,
        "slice": figure.slice or "",
        "value": "–" if est.value is None else write(est.value),  # noqa: RUF001
        "interval": f"{write(est.low)} to {write(est.high)}",
        "with all labels": _latest(figure, write),
        "as precise as": "" if est.worth is None else f"about {est.worth:.0f} random labels",
    }


def figure_notes(figure: Figure, number: Callable[[float], str] | None = None) -> list[str]:
    """Sentences on how a figure was read, and what random labels would have given."""
    write, est, notes = number or _number, figure.estimate, []
    if figure.look is not None:
        notes.append(f"read at the planned look after {figure.look} draws")
    elif figure.n_looks:
        notes.append("no planned look is reached yet")
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
    low, high = figure.random_limits
    if low is not None and high is not None:
        limits = f"{write(low)} to {write(high)}"
        notes.append(f"{est.n_labels} random labels would have given {limits}")
    if est.worth is not None and est.worth < 0.95 * est.n_labels:
        notes.append(
            f"these labels are worth less than {est.n_labels} random ones, because the scores "
            f"predict the losses badly"
        )
    return notes


def _latest(figure: Figure, write: Callable[[float], str]) -> str:
    """The value with all settled draws, where it is another one than that of the last look."""
    if figure.latest is None or figure.look in (None, figure.n_settled):
        return ""
    return write(figure.latest)


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
