"""The correlation of predicted numbers with labels that are numbers, over the whole pool."""

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import between, floats, same_length
from levelled.draws import Draws, check_draws
from levelled.estimators import lure
from levelled.estimators.diagnostics import effective_size
from levelled.estimators.intervals.fixed import t_quantile
from levelled.estimators.moments import moments
from levelled.estimators.record import Estimate

_LEAST = 5
"""Labels before which a correlation has no interval."""


def correlation(
    labels: ArrayLike, pred: ArrayLike, draws: Draws, *, level: float = 0.95
) -> Estimate:
    """Pearson's correlation r between numeric labels and predictions over the whole pool.

        r = sum v z_y z_p / sum v,    V(r) = V(z_y z_p - r (z_y^2 + z_p^2) / 2)

    with the weights v of R_LURE and z the standardised values. The interval is on Fisher's scale,
    for a number of labels fixed beforehand. r is None while all labels, or predictions, are equal.

    >>> draws = Draws([4, 1, 0, 7, 5], [0.05, 1 / 19, 1 / 18, 1 / 17, 1 / 16], pool_size=20)
    >>> round(correlation([4, 5, 2, 4, 1], [4.5, 5, 2, 4, 2], draws).value, 3)
    0.968
    """
    check_draws(draws, labels=labels, pred=pred)
    y, p = floats("labels", labels, ndim=1), floats("pred", pred, ndim=1)
    same_length(labels=y, pred=p, draws=draws.index)
    level = between("level", level, 0, 1, open_=True)
    v, M = lure.lure_weights(draws), len(draws)
    share = v / v.sum()
    zy, zp = y - share @ y, p - share @ p
    spread = float(np.sqrt((share @ zy**2) * (share @ zp**2)))
    value, low, high, stderr = None, -1.0, 1.0, None
    if spread > 0:
        value = float(np.clip(share @ (zy * zp) / spread, -1, 1))
    if value is not None and M >= _LEAST and abs(value) < 1:
        zy, zp = zy / np.sqrt(share @ zy**2), zp / np.sqrt(share @ zp**2)
        found = moments(zy * zp - value * (zy**2 + zp**2) / 2, draws.probability, draws.pool_size)
        stderr = float(np.sqrt(found.variance))
        half = float(t_quantile(found.df, (1 + level) / 2)) * stderr / (1 - value**2)
        low, high = (float(np.tanh(np.arctanh(value) + side * half)) for side in (-1, 1))
    exact = draws.pool_size == M and value is not None
    if exact and value is not None:
        low, high, stderr = value, value, 0.0
    return Estimate(
        value=value,
        low=low,
        high=high,
        level=level,
        stderr=stderr,
        n_labels=M,
        pool_size=draws.pool_size,
        ess=effective_size(v),
        max_weight=float(v.max()),
        estimator="lure",
        interval="point" if exact else "undefined" if stderr is None else "fisher",
        warnings=("too few labels for an interval",) if stderr is None else (),
    )
