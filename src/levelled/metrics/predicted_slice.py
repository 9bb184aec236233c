"""The mean loss of a slice whose losses are predicted.

    R^ = N / n sum_m u_m a_m(L 1[slice])

with the difference form a_m of `levelled.estimators.pure`, the shares u_m of "ramped", and n of N
items in the slice. The loss of an item outside the slice is known to be 0 and predicted to be 0.
So the number of drawn items that happen to be in the slice adds nothing to the variance, and R^
is exactly unbiased.
"""

from dataclasses import replace

import numpy as np

from levelled._check import BoolArray, FloatArray
from levelled.draws import Draws
from levelled.estimators.intervals.fixed import t_quantile
from levelled.estimators.intervals.score import PRIOR_DF, blend, leaning
from levelled.estimators.moments import estimator_shares, moments, ramp_of, worth
from levelled.estimators.record import Estimate
from levelled.metrics.ratio import Limits, Look, make_estimate

_COLUMNS = ("control_left", "predicted_variance", "predicted_skew")


def has_slice_columns(draws: Draws, name: str) -> bool:
    """True if the draws have the design columns of this slice, such as country=de."""
    return {"control", *(f"{column} {name}" for column in _COLUMNS)} <= set(draws.design or {})


def predicted_slice_estimate(
    losses: FloatArray,
    inside: BoolArray,
    name: str,
    size: int,
    bounds: tuple[float, float],
    possible: Limits,
    look: Look,
) -> Estimate:
    """The mean loss of the slice `name`, which has `size` items, over the range of its `bounds`.

    `losses` are those of the draws, as they are; the estimate and what is `possible` for it are
    shares of the range, from 0 to 1. `inside` is True for draws of the slice.
    """
    draws, design = look.draws, look.draws.design or {}
    low, width = bounds[0], bounds[1] - bounds[0]
    left, variance, skew = (design[f"{column} {name}"] for column in _COLUMNS)
    n_left = size - (np.cumsum(inside) - inside)
    scale = draws.pool_size / size
    unit = (losses - low) / width * inside
    found = moments(
        scale * unit,
        draws.probability,
        draws.pool_size,
        estimator="ramped",
        ramp=ramp_of(draws),
        control=scale * (design["control"] - low) / width * inside,
        control_left=scale * (left - low * n_left) / width,
    )
    shares = estimator_shares("ramped", draws.pool_size, len(draws), ramp_of(draws))
    predicted = float(shares**2 @ variance) * (scale / width) ** 2
    third = float(shares**3 @ skew) * (scale / width) ** 3
    rarer = min(unit.sum(), inside.sum() - unit.sum())
    nu = np.minimum(found.df, 2 * rarer) * found.exact
    V = blend(found.variance, np.asarray(predicted), nu)

    def score_limits() -> Limits:
        t = t_quantile(nu + PRIOR_DF, (1 + look.level) / 2)
        jump = third / predicted if predicted > 0 else 0.0
        ends = leaning(found.value, np.sqrt(V), t, (0.0, 1.0), jump)
        return float(ends[0]), float(ends[1])

    est = make_estimate(look, found.value, V, inside, possible, {"score_t": score_limits})
    residuals = (unit - float(found.value)) * inside
    shown = replace(found, value=np.zeros(()), variance=V / scale**2)
    as_many = worth(shown, residuals, draws.probability)
    return replace(est, estimator="ramped", worth=as_many)
