"""Ratios and means of slices whose values are predicted.

A ratio of two pool means:

    theta^ = A^ / D^,    A^ = sum_m u_m a_m(A),    D^ = sum_m u_m a_m(D)

with the difference form a_m of `levelled.estimators.lure` and the shares u_m of "ramped". The
predictor gives each item a chance h that its label is the positive class; A and D of the item
follow from its label and its prediction, so h gives their expectations. A^ and D^ are exactly
unbiased. The mean of A - theta D is 0 at the true theta, and the interval is where that cannot be
excluded (Fieller, 1954).

The mean loss of a slice that has n of the N items:

    R^ = N / n sum_m u_m a_m(L 1[slice])

The loss of an item outside the slice is known to be 0 and predicted to be 0. So the number of
drawn items that happen to be in the slice adds nothing to the variance, and R^ is exactly
unbiased.
"""

from dataclasses import dataclass, replace

import numpy as np

from levelled._check import BoolArray, FloatArray
from levelled.draws import Draws
from levelled.estimators.intervals.limits import DF_OF_ERROR, PRIOR_DF, blend, leaning, t_quantile
from levelled.estimators.moments import Moments, moments, ramp_of, ramped_shares_of, worth
from levelled.estimators.record import Estimate
from levelled.metrics.ratios import (
    FORMS,
    Limits,
    Look,
    Pairs,
    figure_estimate,
    make_estimate,
    middle_and_half,
    with_covariance,
)

COLUMNS = (
    "positive_chance",
    "true_positives_left",
    "false_negatives_left",
    "true_positive_variance",
    "false_negative_variance",
)
"""The design columns that are needed."""


@dataclass(frozen=True, slots=True, eq=False)
class PredictedRatio:
    """The estimates A^ and D^ with their variances, from the labels and from the predictor."""

    numerator: float
    denominator: float
    observed: FloatArray
    """The variances of A^ and D^ and their covariance, as the labels show them."""
    predicted: FloatArray
    """The same as the predictor expects them."""
    residual: Moments
    """Moments of A - theta^ D."""
    residuals: FloatArray
    rarer: float
    """The drawn items with A > 0 or those with A < D, whichever are fewer, each counted as its
    weight over the largest that its draw could have had."""

    @classmethod
    def of(cls, pairs: Pairs, predicted: BoolArray, draws: Draws) -> "PredictedRatio":
        """Estimate a ratio from labelled pairs and the chances in the design columns.

        `predicted` is True for draws for which the positive class is predicted. The unseen items
        of `pairs` are those predicted so and then the others, each with its pair for both labels.
        """
        design = draws.design or {}
        # [part, label, A or D]: the pairs of items predicted to be of the class, and of the others
        outcomes = np.array([of_part for _, of_part in pairs.unseen])
        base, effects = outcomes[:, 0], outcomes[:, 1] - outcomes[:, 0]
        parts = np.stack([predicted, ~predicted]).astype(np.float64)
        n_end = np.array([[count] for count, _ in pairs.unseen], dtype=np.float64)
        n_left = n_end + np.cumsum(parts[:, ::-1], axis=1)[:, ::-1]
        chances = np.stack([design["true_positives_left"], design["false_negatives_left"]])
        # A and D [2, M]: as they are, as expected of the drawn items, and expected sums of the rest
        values = np.stack([pairs.numerator, pairs.denominator])
        drawn = base.T @ parts + effects.T @ parts * design["positive_chance"]
        left = base.T @ n_left + effects.T @ chances
        means = _ramped(FORMS @ values, FORMS @ drawn, FORMS @ left, draws).value[:2]
        A, D = (means + np.array(pairs.known) / draws.pool_size).tolist()
        forms = np.vstack([FORMS, [1.0, -A / D if D else 0.0]])
        found = _ramped(forms @ values, forms @ drawn, forms @ left, draws)
        names = ("true_positive_variance", "false_negative_variance")
        spread = np.array([ramped_shares_of(draws) ** 2 @ design[name] for name in names])
        sides = np.stack([pairs.numerator > 0, pairs.numerator < pairs.denominator])
        # Items that the predictor expects to be right are the heavy ones. While hardly any has
        # turned out wrong, the labels say little of the variance, however many errors they hold.
        weights = 1 / (draws.pool_size * draws.probability)
        relative = np.minimum(weights / design.get("max_weight", weights), 1.0)
        return cls(
            A,
            D,
            with_covariance(found.variance[:3]),
            with_covariance((FORMS @ effects.T) ** 2 @ spread),
            replace(found, value=found.value[3], variance=found.variance[3], df=found.df[3]),
            forms[3] @ values,
            float(min(sides @ relative)),
        )

    @property
    def value(self) -> float:
        """The ratio theta^."""
        return self.numerator / self.denominator

    @property
    def df(self) -> float:
        """The degrees of freedom of the observed variance: few if one side has hardly been seen."""
        return float(np.minimum(self.residual.df, DF_OF_ERROR * self.rarer)) * self.residual.exact

    def variance(self, theta: float) -> float:
        """The variance of A^ - theta D^ from labels and predictor."""
        form = np.array([1.0, theta**2, -2 * theta])
        return float(form @ self.blended)

    @property
    def blended(self) -> FloatArray:
        """The variances and the covariance of A^ and D^ from labels and predictor."""
        return blend(self.observed, self.predicted, np.asarray(self.df))

    def limits(self, level: float) -> Limits | None:
        """The theta for which A^ - theta D^ is within t standard deviations of 0.

            (A^ - theta D^)^2 <= t^2 V(theta),    V quadratic in theta

        The spread of a ratio is larger the further it is from 0 or 1, so these limits lean away
        from the nearer of the two, as those of `score_t` do. None where D^ itself is not clear
        of 0: the interval would have no end.
        """
        t = t_quantile(np.asarray(self.df + PRIOR_DF), (1 + level) / 2)
        solved = middle_and_half(self.numerator, self.denominator, t**2 * self.blended)
        if solved is None:
            return None
        middle, half = solved
        low, high = leaning(np.asarray(middle), np.asarray(half / t), t, (0.0, 1.0))
        return float(low), float(high)


def predicted_ratio_estimate(pairs: Pairs, predicted: BoolArray, look: Look) -> Estimate:
    """The estimate of a ratio from draws that have the design columns `COLUMNS`.

    `predicted` and `pairs` are as for `PredictedRatio.of`. Where too little of the denominator
    has been seen the estimate is that of `figure_estimate`, which uses no predictor.
    """
    draws = look.draws
    ratio = PredictedRatio.of(pairs, predicted, draws)
    limits = ratio.limits(look.level)
    if limits is None or not pairs.denominator.any():
        est = figure_estimate([pairs], look)
        note = "too few labels for the predictor to help: this figure does not use it"
        return replace(est, warnings=(*est.warnings, note)) if pairs.denominator.any() else est
    variance = ratio.variance(ratio.value)
    scale = ratio.denominator**2
    units, shown = pairs.denominator > 0, np.asarray(variance / scale)
    methods = {"fieller": lambda: limits}
    est = make_estimate(look, ratio.value, shown, units, pairs.possible, methods)
    return _with_worth(est, ratio.residual, np.asarray(variance), ratio.residuals, draws)


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
    control = scale * (design["control"] - low) / width * inside
    found = _ramped(scale * unit, control, scale * (left - low * n_left) / width, draws)
    shares = ramped_shares_of(draws)
    predicted = float(shares**2 @ variance) * (scale / width) ** 2
    third = float(shares**3 @ skew) * (scale / width) ** 3
    rarer = min(unit.sum(), inside.sum() - unit.sum())
    nu = np.minimum(found.df, DF_OF_ERROR * rarer) * found.exact
    V = blend(found.variance, np.asarray(predicted), nu)

    def score_limits() -> Limits:
        t = t_quantile(nu + PRIOR_DF, (1 + look.level) / 2)
        jump = third / predicted if predicted > 0 else 0.0
        ends = leaning(found.value, np.sqrt(V), t, (0.0, 1.0), jump)
        return float(ends[0]), float(ends[1])

    est = make_estimate(look, found.value, V, inside, possible, {"score_t": score_limits})
    residuals = (unit - float(found.value)) * inside
    return _with_worth(est, found, V / scale**2, residuals, draws)


def _ramped(
    values: FloatArray, control: FloatArray, control_left: FloatArray, draws: Draws
) -> Moments:
    """Moments of values with predictions of them: of the drawn items, and summed over the rest."""
    return moments(
        values,
        draws.probability,
        draws.pool_size,
        estimator="ramped",
        ramp=ramp_of(draws),
        control=control,
        control_left=control_left,
    )


def _with_worth(
    est: Estimate, found: Moments, variance: FloatArray, residuals: FloatArray, draws: Draws
) -> Estimate:
    """The estimate, with the number of random labels that have this variance of residuals."""
    shown = replace(found, value=np.zeros(()), variance=variance)
    return replace(est, estimator="ramped", worth=worth(shown, residuals, draws.probability))
