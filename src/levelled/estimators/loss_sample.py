"""All that an interval may be computed from, checked once."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, between, choice, floats, same_length
from levelled.draws import Draws, check_draws
from levelled.errors import InputError
from levelled.estimators import lure
from levelled.estimators.intervals.logical import Bounds, bounds_of, check_bounds
from levelled.estimators.moments import Moments, moments, uniform_probability

__all__ = [
    "ESTIMATORS",
    "LARGEST",
    "Control",
    "Kind",
    "LossSample",
    "checked_losses",
    "control_columns",
    "kind_of",
]

ESTIMATORS = ("lure", "pure", "naive", "murthy")
LARGEST = 1e100
"""A larger loss cannot be squared and summed."""
_LEAST_PROBABILITY = 1e-100
Kind = Literal["0/1", "positive", "signed"]
Control = tuple[FloatArray, FloatArray]
"""A predictor of the loss: its value at each drawn item, and its sum over what was left."""


@dataclass(frozen=True, slots=True, eq=False)
class LossSample:
    """Losses of drawn items, what is known of them, and the moments of their estimate."""

    losses: FloatArray
    draws: Draws
    level: float
    bounds: Bounds
    kind: Kind
    found: Moments
    population: bool

    @classmethod
    def of(
        cls,
        losses: ArrayLike,
        draws: Draws,
        *,
        estimator: str,
        level: float,
        bounds: tuple[float, float] | None,
        control: Control | None,
        population: bool,
    ) -> "LossSample":
        """Check the arguments of `estimate` and compute what all intervals need."""
        losses = checked_losses(losses, draws)
        if not len(losses):
            raise InputError("An estimate needs at least one label.")
        choice("estimator", estimator, ESTIMATORS)
        if estimator == "naive":
            draws = _as_if_uniform(draws)
        if bounds is not None:
            bounds = checked_pair(bounds)
            check_bounds(losses, bounds)
        return cls(
            losses=losses,
            draws=draws,
            level=between("level", level, 0, 1, open_=True),
            bounds=bounds_of(losses) if bounds is None else bounds,
            kind=kind_of(losses, bounds),
            found=_moments(
                losses, draws, "pure" if estimator == "pure" else "lure", control, population
            ),
            population=population,
        )

    @property
    def complete(self) -> bool:
        """Whether every item that matters has been seen, so that nothing is left to estimate."""
        return not self.population and len(self.draws) == self.draws.pool_size


def checked_losses(losses: ArrayLike, draws: Draws) -> FloatArray:
    """Losses that go with the draws, one each, and numbers that can be computed with."""
    check_draws(draws)
    array = floats("losses", losses, ndim=1, largest=LARGEST)
    same_length(losses=array, draws=draws.index)
    if len(draws) and draws.probability.min() < _LEAST_PROBABILITY:
        raise InputError(
            f"An item had the probability {draws.probability.min():g} when it was drawn, and its "
            f"weight would drown all others: put a floor under the proposal."
        )
    return array


def kind_of(losses: FloatArray, bounds: Bounds | None) -> Kind:
    """Which family of intervals fits: 0/1 losses, positive ones, or ones of either sign.

    >>> kind_of(np.array([0.0, 1.0]), None), kind_of(np.array([0.0, 1.0]), (-1.0, 1.0))
    ('0/1', 'signed')
    """
    if (losses < 0).any() or (bounds is not None and bounds[0] < 0):
        return "signed"
    if np.isin(losses, (0, 1)).all() and (bounds is None or bounds == (0, 1)):
        return "0/1"
    return "positive"


def control_columns(
    control: ArrayLike | str | None, control_mean: float | None, draws: Draws
) -> Control | None:
    """The predictor of the loss behind the arguments of `estimate`, as `terms` wants it."""
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
    drawn = floats("control", control, ndim=1, largest=LARGEST)
    same_length(control=drawn, draws=draws.index)
    if control_mean is None:
        raise InputError(
            "control needs control_mean, the mean of the same predictor over the whole pool."
        )
    mean = float(floats("control_mean", control_mean, ndim=0))
    before = np.cumsum(drawn) - drawn
    return drawn, draws.pool_size * mean - before


def checked_pair(bounds: tuple[float, float]) -> Bounds:
    """Bounds as two ordered numbers."""
    try:
        low, high = (float(bound) for bound in bounds)
    except (TypeError, ValueError) as wrong:
        raise InputError(
            f"bounds must be two numbers such as (0, 1); they are {bounds!r}."
        ) from wrong
    if not low < high or (np.isfinite(high) and high > LARGEST):
        raise InputError(
            f"The lower of the bounds must be below the upper, and that at most {LARGEST:g} or "
            f"infinite; they are {bounds!r}."
        )
    return low, high


def _as_if_uniform(draws: Draws) -> Draws:
    q = uniform_probability(draws.pool_size, len(draws))
    return Draws(draws.index, q, draws.pool_size, draws.excluded)


def _moments(
    losses: FloatArray, draws: Draws, estimator: str, control: Control | None, population: bool
) -> Moments:
    """Moments of the difference form where there is a control that helps, else of the plain one."""
    q, N = draws.probability, draws.pool_size
    found = moments(losses, q, N, estimator=estimator)
    if control is not None:
        drawn, left = control
        other = moments(losses, q, N, estimator=estimator, control=drawn, control_left=left)
        found = other if (losses < 0).any() else found.unless_clear(other)
    return _for_population(found, losses, q) if population else found


def _for_population(found: Moments, losses: FloatArray, probability: FloatArray) -> Moments:
    """Add the variance of the pool itself, drawn from a population: s^2 / N."""
    N = found.pool_size
    squares = float(np.mean(lure.weights(probability, N) * losses**2))
    s2 = max(squares - float(found.value) ** 2 + float(found.variance), 0.0)
    return replace(found, variance=found.variance + s2 / N)
