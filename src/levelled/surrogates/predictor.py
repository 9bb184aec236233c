"""A predictor of the loss, calibrated on the labels so far, that says what it cannot see.

Two ridge regressions, on the scores alone and with the features, are averaged by how well each
predicts labels left out; beside verdicts there is only the second. A background share, estimated
the same way, allows for losses that neither of them sees.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from levelled._check import FloatArray, IntArray
from levelled.surrogates.covariates import SCORES, Covariates, Family

_STEPS, _CONVERGED = 30, 1e-7  # tolerance of Newton's method
_LEAST_DENOMINATOR = 0.05  # guard: a label that alone decides a coefficient; half 0, twice 0
# Below, the changes of the variance of the estimate by half and by twice a value are those of the
# study constants, most of them known to 1%.
_RIDGE_INTERCEPT = 0.02  # half +1%, twice -2%
_RIDGE_SCORES = 2.0  # half 0, twice -1%
_RIDGE_EXTRA = 10.0  # half -1%, twice 0
_RIDGE_OF_VERDICTS, _RIDGE_BESIDE_VERDICTS = 10.0, 4.0  # half 0, twice -1%; half +2%, twice -3%
"""On scores that a verdict gives, which are two or a few, and on the features beside them."""
_COST = 1.0  # half 0, twice +1%
"""The log-likelihood by which features must be better to count as much."""
_LEAST_SHARE = 0.02  # half 0, twice 0
"""A regression with a smaller share of the average is left out."""
# Without a background share, scores that tell nothing make an estimate from 100 labels as precise
# as 75 random ones; with it they cost next to nothing.
_BACKGROUND = np.array([0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0])  # 4 of them -1%, 13 of them 0
_BACKGROUND_PRIOR = _BACKGROUND**-0.25  # power -1/8: 0, -1/2: -3%, and -12% where nothing is hidden
_FIRST_BACKGROUND = 0.1  # half 0, twice +1%
_PRIOR_LABELS, _LEAST_ERRORS = 0.5, 0.2  # half 0, twice -1%; half 0, twice 0
"""Labels that the expected mean loss counts as, and errors that are never fewer."""
_LOWEST, _HIGHEST = 1e-5, 1 - 1e-4  # guard: a certain item would never be drawn
_LOST_RIDGE = 1e-12  # guard: a ridge that rounding loses beside huge weights
_LEAST_DISPERSION, _TINY = 1e-3, 1e-100  # guard: losses that are all alike


@dataclass(frozen=True, slots=True, eq=False)
class Ridge:
    """Minimise 1/2 sum penalty (b - prior)^2 - sum weights loglik over the coefficients b."""

    family: Family
    table: FloatArray
    losses: FloatArray
    weights: FloatArray
    prior: FloatArray
    penalty: FloatArray

    def fit(self, start: FloatArray) -> FloatArray:
        """The coefficients, by damped Newton steps."""
        from scipy.linalg import cho_solve

        b, value = start, self._objective(start)
        for _ in range(_STEPS):
            mean = self.family.mean(self.table @ b)
            slope = self.table.T @ (self.weights * (self.losses - mean))
            step = cho_solve(self._hessian(mean), slope - self.penalty * (b - self.prior))
            b, value, moved = self._damped(b, value, step)
            if moved < _CONVERGED:
                break
        return b

    def left_out(self, b: FloatArray) -> FloatArray:
        """The linear predictor of each item if its own loss were not known, to first order.

        eta_i - h_i w_i (y_i - mu_i) / (1 - h_i w_i v_i),    h_i = f_i' H^-1 f_i
        """
        from scipy.linalg import cho_solve

        eta = self.table @ b
        mean = self.family.mean(eta)
        leverage = np.einsum("ij,ji->i", self.table, cho_solve(self._hessian(mean), self.table.T))
        curvature = self.weights * self.family.variance(mean)
        denominator = np.maximum(1 - leverage * curvature, _LEAST_DENOMINATOR)
        return np.asarray(eta - leverage * self.weights * (self.losses - mean) / denominator)

    def _hessian(self, mean: FloatArray) -> tuple[FloatArray, bool]:
        """The Cholesky factor of the second derivatives of the objective."""
        from scipy.linalg import LinAlgError, cho_factor

        curvature = self.weights * self.family.variance(mean)
        hessian = (self.table.T * curvature) @ self.table + np.diag(self.penalty)
        factor: tuple[FloatArray, bool]
        try:
            factor = cho_factor(hessian)
        except LinAlgError:  # losses that are all 0 weigh so much that rounding loses the ridge
            hessian += np.diag(np.full(len(hessian), _LOST_RIDGE * hessian.diagonal().max()))
            factor = cho_factor(hessian)
        return factor

    def _damped(
        self, b: FloatArray, value: float, step: FloatArray
    ) -> tuple[FloatArray, float, float]:
        """The first of the step, its half, its quarter, ... that does not raise the objective."""
        for _ in range(_STEPS):
            reached = self._objective(b + step)
            if reached <= value:
                return b + step, reached, float(np.abs(step).max())
            step = step / 2
        return b, value, 0.0

    def _objective(self, b: FloatArray) -> float:
        likelihood = self.family.log_likelihood(self.family.mean(self.table @ b), self.losses)
        return float(0.5 * self.penalty @ (b - self.prior) ** 2 - self.weights @ likelihood)


@dataclass(frozen=True, slots=True, eq=False)
class LossPredictor:
    """The expected loss of each item in units of `Scaling.scale`.

    `regressions` are pairs of a share and its coefficients; linear predictors are cut to
    `reach`, their range over labelled items, where the family has no bounds of its own.
    `background` is the share of the prediction that is the same for every item, `level` that
    prediction. `dispersion` is the variance of a loss in units of the family's.
    """

    regressions: tuple[tuple[float, FloatArray], ...]
    background: float
    level: float
    dispersion: float = 1.0
    reach: tuple[float, float] = (-np.inf, np.inf)

    def predict(self, pool: Covariates) -> FloatArray:
        """The predicted loss of every item of the pool."""
        eta = np.zeros(len(pool))
        for share, coefficients in self.regressions:
            eta += share * pool.combine(coefficients)
        mean = pool.scaling.family.mean(np.clip(eta, *self.reach))
        mixed = (1 - self.background) * mean + self.background * self.level
        if not pool.scaling.family.is_bounded:
            return np.maximum(mixed, _LOWEST * self.level)
        return np.clip(mixed, _LOWEST, _HIGHEST)

    def spread(self, pool: Covariates, predicted: FloatArray) -> FloatArray:
        """The standard deviation of losses with these predictions."""
        return np.sqrt(self.dispersion * pool.scaling.family.variance(predicted))

    def third_moment(self, pool: Covariates, predicted: FloatArray) -> FloatArray:
        """The third central moment of losses with these predictions."""
        return self.dispersion**2 * pool.scaling.family.third_moment(predicted)

    def to_json(self) -> dict[str, Any]:
        """Plain values, for the event of a round."""
        return {
            "regressions": [[share, b.tolist()] for share, b in self.regressions],
            "background": self.background,
            "level": self.level,
            "dispersion": self.dispersion,
            "reach": [None if np.isinf(end) else end for end in self.reach],
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "LossPredictor":
        """The predictor that `to_json` wrote."""
        low, high = plain["reach"]
        return cls(
            tuple((float(share), np.array(b)) for share, b in plain["regressions"]),
            float(plain["background"]),
            float(plain["level"]),
            float(plain["dispersion"]),
            (-np.inf if low is None else low, np.inf if high is None else high),
        )


def prior_predictor(pool: Covariates) -> LossPredictor:
    """The predictor before any label: the model's own view, flattened.

    >>> pool = Covariates.of([0.1, 0.2, 0.4])
    >>> prior_predictor(pool).predict(pool).round(2)
    array([0.13, 0.21, 0.35])
    """
    return LossPredictor(((1.0, pool.start[:SCORES]),), _FIRST_BACKGROUND, pool.scaling.prior_mean)


def fit_predictor(
    pool: Covariates,
    rows: IntArray,
    losses: FloatArray,
    weights: FloatArray,
    before: LossPredictor | None = None,
    n_drawn: int | None = None,
) -> LossPredictor:
    """Fit the predictor to the losses of labelled items.

    Parameters
    ----------
    pool : The columns of the items.
    rows, losses : The labelled items, and the loss of each.
    weights : 1 / ((N - m + 1) q_m) of each, which undo the choice of the items.
    before : An earlier fit to begin from.
    n_drawn : The number of items, the first ones, that were drawn. Labels of the others were known
        without a draw, and may be of any choice of items: the regressions learn from them, unless
        they predict the drawn labels better without.
    """
    n = len(rows) if n_drawn is None else n_drawn
    weights = weights / (weights[:n].mean() if n else 1.0)
    drawn = _fit(pool, rows[:n], losses[:n], weights[:n], before) if n else None
    if drawn is not None and n == len(rows):
        return drawn[0]
    every = _fit(pool, rows, losses, weights, before, n)
    return every[0] if drawn is None or every[1] > drawn[1] else drawn[0]


def _fit(
    pool: Covariates,
    rows: IntArray,
    losses: FloatArray,
    w: FloatArray,
    before: LossPredictor | None,
    n_drawn: int | None = None,
) -> tuple[LossPredictor, float]:
    """The predictor, and its log-likelihood of the drawn labels if each were left out."""
    scaling, family = pool.scaling, pool.scaling.family
    y, drawn = losses / scaling.scale, slice(n_drawn or None)
    table, start = pool.table(rows), pool.start
    n = float(w.sum()) if n_drawn == 0 else len(y[drawn])
    if not family.is_bounded:  # losses may be of any size: their level is that of the labels
        level = max(float(w[drawn] @ y[drawn]) / n, _TINY)
        start[0] += np.log(level)
    elif n_drawn == 0:  # only labels of any choice of items, whose level says nothing of the others
        level = scaling.prior_mean
    else:  # the mean loss, drawn a little to what was expected
        total = float(w[drawn] @ y[drawn] + _PRIOR_LABELS * scaling.prior_mean)
        level = max(total / (n + _PRIOR_LABELS), _LEAST_ERRORS / n)
    starts = {} if before is None else {len(b): b for _, b in before.regressions}
    # The scores alone, and all columns. Beside verdicts the features are always used: a verdict
    # alone teaches little.
    every = SCORES + pool.n_extra
    sizes = [every] if scaling.from_verdicts or not pool.n_extra else [SCORES, every]
    dispersion = _dispersion(family, np.full(len(y[drawn]), level), y[drawn], w[drawn])
    for _ in range(1 if dispersion == 1 else 2):
        ridges = [
            Ridge(family, table[:, :size], y, w / dispersion, start[:size], _penalty(pool, size))
            for size in sizes
        ]
        begin = [starts.get(size, start[:size]) for size in sizes]
        fits = [one.fit(b) for one, b in zip(ridges, begin, strict=True)]
        left_out = np.stack([one.left_out(b) for one, b in zip(ridges, fits, strict=True)])
        unseen = family.mean(left_out[:, drawn])
        dispersion = min(_dispersion(family, mean, y[drawn], w[drawn]) for mean in unseen)
    y, w, left_out = y[drawn], w[drawn], left_out[:, drawn]
    shares = _shares(family, left_out, y, w / dispersion)
    eta = np.asarray(
        sum(share * (one.table @ b) for share, one, b in zip(shares, ridges, fits, strict=True))
    )
    averaged = family.mean(shares @ left_out)
    background = _FIRST_BACKGROUND
    if n_drawn != 0:
        background = _background_share(family, averaged, y, w / dispersion, level)
    mixed = (1 - background) * averaged + background * level
    predictor = LossPredictor(
        tuple((float(share), b) for share, b in zip(shares, fits, strict=True) if share > 0),
        background,
        level,
        dispersion,
        # The range of linear predictors on labelled items: an exponential is never extrapolated.
        (-np.inf, np.inf) if family.is_bounded else (float(eta.min()), float(eta.max())),
    )
    return predictor, float(family.log_likelihood(mixed, y) @ w)


def _penalty(pool: Covariates, size: int) -> FloatArray:
    judged = pool.scaling.from_verdicts
    penalty = np.full(size, _RIDGE_BESIDE_VERDICTS if judged else _RIDGE_EXTRA)
    penalty[:SCORES] = _RIDGE_OF_VERDICTS if judged else _RIDGE_SCORES
    penalty[0] = _RIDGE_INTERCEPT
    return penalty


def _shares(family: Family, left_out: FloatArray, y: FloatArray, w: FloatArray) -> FloatArray:
    """The share of each regression, by its likelihood of losses left out; features cost 1.

    Pseudo-Bayesian model averaging (Geisser and Eddy, 1979).
    """
    evidence = family.log_likelihood(family.mean(left_out), y) @ w
    evidence = evidence - _COST * np.arange(len(left_out))
    shares = np.exp(evidence - evidence.max())
    shares = np.where(shares < _LEAST_SHARE * shares.sum(), 0, shares)
    return np.asarray(shares / shares.sum())


def _dispersion(family: Family, mean: FloatArray, y: FloatArray, w: FloatArray) -> float:
    """The weighted mean of (y - mu)^2 in units of the family's variance; 1 for losses of 0 and 1.

    It decides how much the ridge counts beside the losses. Losses in between vary less than a
    coin does.
    """
    most = 1.0 if family.is_bounded else np.inf
    if most == 1 and np.isin(y, (0, 1)).all():
        return 1.0
    variance = np.maximum(family.variance(mean), _TINY)
    least = _LEAST_DISPERSION * min(float(mean.mean()), most)
    return float(np.clip(w @ ((y - mean) ** 2 / variance) / w.sum(), least, most))


def _background_share(
    family: Family, left_out: FloatArray, y: FloatArray, w: FloatArray, level: float
) -> float:
    """The posterior mean of the share of the loss that the regressions do not see."""
    mixed = np.outer(1 - _BACKGROUND, left_out) + _BACKGROUND[:, None] * level
    evidence = family.log_likelihood(mixed, y) @ w
    posterior = _BACKGROUND_PRIOR * np.exp(evidence - evidence.max())
    return float(posterior @ _BACKGROUND / posterior.sum())
