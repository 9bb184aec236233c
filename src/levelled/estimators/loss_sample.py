"""Losses of drawn items, checked once, with all that an interval may be computed from."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, between, choice, floats, same_length, whole
from levelled.draws import Draws, check_draws
from levelled.errors import InputError
from levelled.estimators.intervals.fixed import NO_VARIANCE, ranked_weights
from levelled.estimators.intervals.logical import (
    LARGEST,
    Bounds,
    bounds_of,
    logical_limits,
)
from levelled.estimators.intervals.score import blended_variance
from levelled.estimators.moments import (
    Moments,
    estimator_shares,
    moments,
    pool_variance,
    ramp_of,
    uniform_probability,
    worth,
)

ESTIMATORS = ("lure", "pure", "naive", "murthy", "ramped")
_LEAST_PROBABILITY = 1e-100
Kind = Literal["0/1", "positive", "signed"]
Control = tuple[FloatArray, FloatArray]
"""A predictor of the loss: its value at each drawn item, and its sum over what was left."""


@dataclass(frozen=True, slots=True, eq=False)
class LossSample:
    """Losses of drawn items, their bounds and kind, and the moments of their estimate."""

    losses: FloatArray
    draws: Draws
    level: float
    bounds: Bounds
    kind: Kind
    moments: Moments
    population: bool
    predicted_jump: float = 0.0
    """The third moment that the predictor expects of the estimate, over its variance."""
    predicted_variance: float | None = None
    """The variance that the predictor behind "ramped" draws expects of the estimate."""
    budget: int | None = None
    """The number of labels that was fixed beforehand, where an interval depends on it."""

    @classmethod
    def of(
        cls,
        losses: ArrayLike,
        draws: Draws,
        estimator: str,
        level: float,
        bounds: tuple[float, float] | None,
        control: Control | None,
        population: bool,
        budget: int | None = None,
    ) -> "LossSample":
        """Check the arguments of `estimate` and compute what all intervals need."""
        losses = check_losses(losses, draws)
        if not len(losses):
            raise InputError("An estimate needs at least one label.")
        choice("estimator", estimator, ESTIMATORS)
        if estimator == "naive":
            uniform = uniform_probability(draws.pool_size, len(draws))
            draws = Draws(draws.index, uniform, draws.pool_size, draws.excluded)
        predicted = None
        if estimator == "ramped":
            control = control_columns("design", None, draws)
            predicted = _predicted_variance(draws)
        limits = bounds_of(losses, bounds)
        return cls(
            losses=losses,
            draws=draws,
            level=between("level", level, 0, 1, open_=True),
            bounds=limits,
            kind=kind_of(losses, limits),
            moments=_moments(losses, draws, estimator, control, population),
            population=population,
            predicted_variance=predicted,
            predicted_jump=0.0 if predicted is None else _predicted_jump(draws, predicted),
            budget=None if budget is None else whole("budget", budget, least=len(losses)),
        )

    @property
    def complete(self) -> bool:
        """True if all that can be drawn is labelled, so that nothing is left to estimate."""
        return not self.population and len(self.draws) == self.draws.pool_size - self.draws.excluded

    @property
    def value(self) -> float:
        """The estimate; exact where all that can be drawn is labelled."""
        if self.complete:
            return float(self.moments.total) / self.draws.pool_size
        return float(self.moments.value)

    @property
    def weights(self) -> FloatArray:
        """The weights w~_m of the draws, of mean one at every step."""
        return ranked_weights(self.draws.probability, self.draws.pool_size)

    @property
    def worth(self) -> float | None:
        """The number of random labels whose mean would have the same variance, s^2/(V^ + s^2/N).

        s^2 is the estimated variance of the losses in the pool. None while fewer than five
        losses differ from the most common one, once all are known, or where it cannot be estimated.
        """
        return worth(self.blended, self.losses, self.draws.probability)

    @property
    def blended(self) -> Moments:
        """The moments, with a variance that the predictor shares in where there is one."""
        if self.predicted_variance is None:
            return self.moments
        V, df = blended_variance(self.moments, np.asarray(self.predicted_variance), self.bounds)
        return replace(self.moments, variance=V, df=df)

    @property
    def has_spread(self) -> bool:
        """True if the terms of the estimate differ by more than rounding."""
        largest = float(np.abs(self.losses).max())
        return NO_VARIANCE * largest**2 < float(self.moments.variance) < np.inf

    @property
    def possible(self) -> Bounds:
        """The logical limits of the drawable items' share of the risk.

        Of a population nothing is certain but that its losses keep within their bounds.
        """
        if self.population:
            return self.bounds
        draws, total = self.draws, self.moments.total
        drawable = draws.pool_size - draws.excluded
        low, high = logical_limits(total, len(draws), drawable, self.bounds)
        share = drawable / draws.pool_size
        return float(low) * share, float(high) * share


def check_losses(losses: ArrayLike, draws: Draws) -> FloatArray:
    """Return `losses` as numbers, refusing what does not go with the draws, one each."""
    check_draws(draws, losses=losses)
    array = floats("losses", losses, ndim=1, largest=LARGEST)
    same_length(losses=array, draws=draws.index)
    if len(draws) and draws.probability.min() < _LEAST_PROBABILITY:
        raise InputError(
            f"An item had the probability {draws.probability.min():g} when it was drawn, and its "
            f"weight would drown all others: put a floor under the proposal."
        )
    return array


def kind_of(losses: FloatArray, bounds: Bounds) -> Kind:
    """The family of intervals that fits: for 0/1 losses, positive ones, or ones of either sign.

    >>> kind_of(np.array([0.0, 1.0]), (0.0, 1.0)), kind_of(np.array([0.0, 1.0]), (-1.0, 1.0))
    ('0/1', 'signed')
    """
    if bounds[0] < 0 or (losses < 0).any():
        return "signed"
    return "0/1" if bounds == (0, 1) and np.isin(losses, (0, 1)).all() else "positive"


def control_columns(
    control: ArrayLike | str | None, control_mean: float | None, draws: Draws
) -> Control | None:
    """The predictor that the arguments of `estimate` describe, as `pure.terms` takes it."""
    if control is None:
        if control_mean is not None:
            raise InputError("control_mean is the pool mean of control: give control as well.")
        return None
    if isinstance(control, str):
        choice("control", control, ("design",))
        design = draws.design or {}
        if not {"control", "control_left"} <= set(design):
            raise InputError(
                "control='design' needs draws with the design columns control and control_left: "
                "see levelled.samplers.with_design."
            )
        return design["control"], design["control_left"]
    check_draws(draws, control=control)
    values = floats("control", control, ndim=1, largest=LARGEST)
    same_length(control=values, draws=draws.index)
    if control_mean is None:
        raise InputError(
            "control needs control_mean, the mean of the same predictor over the whole pool."
        )
    mean = float(floats("control_mean", control_mean, ndim=0))
    before = np.cumsum(values) - values
    return values, draws.pool_size * mean - before


def _predicted_jump(draws: Draws, variance: float) -> float:
    """sum_m u_m^3 times the third moment that the predictor expects of term m, over `variance`."""
    third = (draws.design or {}).get("predicted_skew")
    if third is None or not variance > 0:
        return 0.0
    return float(_ramped_shares(draws) ** 3 @ third) / variance


def _ramped_shares(draws: Draws) -> FloatArray:
    return estimator_shares("ramped", draws.pool_size, len(draws), ramp_of(draws))


def _predicted_variance(draws: Draws) -> float:
    """sum_m u_m^2 times the variance that the predictor expects of term m."""
    design = draws.design or {}
    if "predicted_variance" not in design:
        raise InputError(
            "estimator='ramped' needs draws with the design column predicted_variance: see "
            "spread= of levelled.samplers.with_design."
        )
    shares = _ramped_shares(draws)
    return float(shares**2 @ design["predicted_variance"])


def _moments(
    losses: FloatArray, draws: Draws, estimator: str, control: Control | None, population: bool
) -> Moments:
    """Moments of the difference form if there is a control that helps, else without it."""
    q, N = draws.probability, draws.pool_size
    estimator = estimator if estimator in ("pure", "ramped") else "lure"
    result = moments(losses, q, N, estimator=estimator, ramp=(ramp := ramp_of(draws)))
    if control is not None:
        values, left = control
        other = moments(
            losses, q, N, estimator=estimator, control=values, control_left=left, ramp=ramp
        )
        decided = estimator == "ramped" or (losses < 0).any()
        result = other if decided else result.unless_clear(other)
    if not population:
        return result
    # The pool itself is a sample: its mean varies around the population's with s^2 / N.
    s2 = max(pool_variance(result, losses, q), 0.0)
    return replace(result, variance=result.variance + s2 / N)
