"""The estimate of a pool risk, with its interval, from the losses of drawn items."""

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import choice
from levelled.draws import Draws
from levelled.estimators import lure, murthy, pure
from levelled.estimators.diagnostics import effective_size
from levelled.estimators.intervals.choose import INTERVALS, Interval, interval_for
from levelled.estimators.loss_sample import Control, LossSample, control_columns
from levelled.estimators.moments import moments
from levelled.estimators.record import Estimate

_WEIGHTS = {
    "lure": lure.lure_weights,
    "pure": pure.pure_weights,
    "naive": pure.naive_weights,
    "murthy": murthy.murthy_weights,
    "ramped": lure.lure_weights,
}


_LIGHT, _ENOUGH = 0.2, 10
"""A mean weight that hardly occurs by chance, and the draws from which on it is looked at."""
_FEW_RESIDUALS = 5
"""Residuals of a control below which their spread is not known."""


def estimate(
    losses: ArrayLike,
    draws: Draws,
    estimator: str = "lure",
    level: float = 0.95,
    interval: str = "auto",
    bounds: tuple[float, float] | None = None,
    control: ArrayLike | str | None = None,
    control_mean: float | None = None,
    population: bool = False,
    budget: int | None = None,
) -> Estimate:
    """The average loss over the whole pool, from the losses of the drawn items.

    `losses` go in the order of `draws`. `bounds` are limits no loss can pass, such as (0, 1):
    they narrow the interval, and a loss outside them is an error.

    `interval="auto"` picks what holds for losses like these when the number of labels was fixed
    beforehand: "cp_safe" for 0/1 losses and all that have `bounds`, "log_t" for positive ones
    without, "t" for ones of either sign, "betting" where the design is too thin for "log_t". If
    you look while labels come in, or stop when you like what you see, choose "betting" (holds for
    any number of labels) or "anytime" (from 25 labels). "none" still gives the standard error.
    "hedged" is for 0/1 losses of adaptive draws (`estimator="ramped"`): like "betting" it holds
    for any number of labels, and it is narrow at the `budget`, a number fixed beforehand.

    `control` is a predictor of the loss at each drawn item and `control_mean` its mean over the
    pool. A good one makes the standard error smaller; a poor one cannot bias the estimate, it
    only widens the interval. The value is then control_mean plus the estimated mean of loss minus
    control, unless the variance is smaller without it. A warning says where hardly any of these
    residuals differ. `control="design"` takes the one that came with the draws. With
    `population=True` the interval is for the population that the pool was sampled from, not for
    the pool.

    >>> draws = Draws(np.arange(40), 1 / np.arange(100, 60, -1), pool_size=100)
    >>> print(estimate([1, 0, 0, 0] * 10, draws))  # doctest: +NORMALIZE_WHITESPACE
    0.25 [0.1469, 0.3763], 95% confidence; 40 labels of 100, as precise as about 40 random ones
    (lure, cp_safe)
    """
    choice("interval", interval, INTERVALS)
    columns = control_columns(control, control_mean, draws)
    sample = LossSample.of(losses, draws, estimator, level, bounds, columns, population, budget)
    weights = _WEIGHTS[estimator](draws)
    limits = interval_for(sample, interval)
    value = float(np.mean(weights * sample.losses)) if estimator == "murthy" else sample.value
    return Estimate(
        value=value,
        low=limits.low,
        high=limits.high,
        level=sample.level,
        stderr=_stderr(sample),
        n_labels=sample.moments.budget,
        pool_size=sample.moments.pool_size,
        ess=effective_size(weights),
        max_weight=float(weights.max()),
        worth=sample.worth,
        estimator=estimator,
        interval=limits.method,
        warnings=_warnings(sample, estimator, value, limits) + _control_warnings(sample, columns),
    )


def _control_warnings(sample: LossSample, control: Control | None) -> tuple[str, ...]:
    """A warning where the spread of the residuals e = L - g of a control rests on a few labels.

    With d = e - median(e), these are (sum d^2)^2 / sum d^4: k, if k residuals differ from all
    others by as much, and a third of the labels for normal ones.
    """
    if control is None or sample.complete or len(sample.draws) < _ENOUGH:
        return ()
    residuals = sample.losses - control[0]
    squares = (residuals - np.median(residuals)) ** 2
    largest = float(squares.max())
    squares = squares / largest if largest > 0 else squares
    size = float(squares.sum()) ** 2 / float((squares**2).sum()) if largest > 0 else 0.0
    if size >= _FEW_RESIDUALS:
        return ()
    without = moments(sample.losses, sample.draws.probability, sample.draws.pool_size)
    same_value = np.isclose(sample.moments.value, without.value, rtol=1e-9, atol=0)
    left_out = same_value and sample.moments.variance >= (1 - 1e-9) * without.variance
    then = "it is left out" if left_out else "compare with the estimate without it"
    return (
        f"the spread of loss minus control rests on about {size:.0f} of {len(residuals)} labels, "
        f"too few to judge the control by: {then}",
    )


def _stderr(sample: LossSample) -> float | None:
    if sample.complete:
        return 0.0
    return float(np.sqrt(sample.moments.variance)) if sample.moments.budget > 1 else None


def _warnings(
    sample: LossSample, estimator: str, value: float, limits: Interval
) -> tuple[str, ...]:
    warnings = []
    if estimator == "naive":
        warnings.append("the naive estimate is biased unless the draws were uniform")
    if not sample.moments.exact and sample.moments.budget > 1:
        warnings.append("the standard error is only rough with two labels, or with one item left")
    if (mean := float(sample.weights.mean())) < _LIGHT and len(sample.draws) >= _ENOUGH:
        warnings.append(
            f"the weights 1 / (left * probability) have the mean {mean:.2g} where 1 is expected: "
            f"are these probabilities of being drawn at all, instead of at each draw?"
        )
    warnings.extend(limits.warnings)
    # An unbiased estimate may lie outside of what is possible.
    slack = 1e-9 * abs(value)
    inside = limits.low - slack <= value <= limits.high + slack
    if not inside and limits.method != "none":
        warnings.append("the estimate lies outside its interval; trust the interval")
    return tuple(warnings)
