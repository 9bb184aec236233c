"""Figures whose columns are predicted: one estimate for averages, ratios, means and differences.

A figure is a combination of ratios of pool means,

    theta = sum_p c_p A_p / D_p

with one part for an average (its D is known), a precision or an F1, one part for each class of a
macro average, and two parts for a difference. Each column a (an A or a D) has its own control, what
the predictor of the label expects of it, and all columns have the same draws and shares u_m:

    T = sum_m u_m a_m,    a_m = w_m (a(i_m) - g_m(i_m)) + 1/N (sum_{t<m} a(i_t) + sum_left g_m)

T is exactly unbiased for every column. The error of theta is, to first order, that of the mean of
the influence psi = sum_p c_p (A_p - theta_p D_p) / D_p, in which a D that is known is left out. The
slopes of psi are those at the final T: terms with slopes of their own would have no common target.
"""

from dataclasses import dataclass, replace

import numpy as np

from levelled._check import BoolArray, FloatArray
from levelled.errors import InputError
from levelled.estimators.intervals.limits import (
    ANYTIME_LEAST,
    DF_OF_ERROR,
    PRIOR_DF,
    Bounds,
    blend,
    boundary,
    leaning,
    t_quantile,
)
from levelled.estimators.lure import lure_weights, terms
from levelled.estimators.moments import degrees_of_freedom, is_exact, ramped_shares_of, variance
from levelled.estimators.record import Estimate
from levelled.metrics.ratios import (
    FORMS,
    Limits,
    Look,
    make_estimate,
    middle_and_half,
    undefined_estimate,
    with_covariance,
)

_LARGEST_EXPONENT = 700.0  # exp of more than that overflows
_RARE = 5
"""Labels with another influence than the most common one, below which their variance is not told:
with k of them it has a standard error of about 1 / sqrt(k) of itself."""
_HALVINGS = 40  # bisection to ten digits
_CLEAR = 0.5  # guard: nearer to 0, in standard errors, limits on the log scale are infinite


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Columns of drawn items, A of each part and then D of each part, and what was expected.

    All is of the items that could be drawn at the creation.
    """

    values: FloatArray
    """The columns [2P, M] of the drawn items."""
    control: FloatArray
    """The control g_m(i_m) [2P, M] of each column."""
    left: FloatArray
    """The sums of g_m over the items left before each draw [2P, M]."""
    spread: FloatArray
    """N^-2 sum_left E[(a - g)(a - g)'] / q of each draw, as the predictor expects it, [M, 2P, 2P].
    """
    likely: FloatArray
    """The columns [2P, M] of the drawn items, had they the label that was most likely."""
    possible: FloatArray
    """The columns [2P, M, J] of the drawn items for each label that they could have had."""
    given: FloatArray | float = 0.0
    """Sums of items that became known without a draw before each draw [2P, M]."""


@dataclass(frozen=True, slots=True, eq=False)
class FigureForm:
    """How columns make a figure: the coefficient c_p of each part, and what is known beforehand.

    `denominators` [P] are pool means of D that are known, else NaN. `share` is the share of the
    pool that could be drawn at the creation; `known` [2P] the means over the pool of columns of the
    other items, whose labels were known.
    """

    coefficients: FloatArray
    denominators: FloatArray
    bounds: Bounds
    """The least and the largest value of the figure."""
    share: float = 1.0
    known: FloatArray | float = 0.0
    counts_errors: bool = True
    """False for labels that are numbers without bounds, whose losses differ by more than a yes
    or no."""


@dataclass(frozen=True, slots=True, eq=False)
class FigureMoments:
    """Value and variance of a figure, from the labels and from the predictor."""

    value: float
    defined: bool
    parts: FloatArray
    """A and D [2P] of the whole pool."""
    slopes: FloatArray
    """The slopes of the figure in its columns."""
    observed: FloatArray
    """V^, as the labels show it."""
    expected: FloatArray
    """The variances and covariances of the columns [2P, 2P], as the predictor expects them."""
    nu: FloatArray
    """Degrees of freedom of V^."""
    surprises: float
    terms: FloatArray
    """The terms a_m [2P, M] of the columns."""
    shares: FloatArray
    random: "RandomLabels"
    """What random labels would have given, at the same value."""

    @property
    def variance(self) -> FloatArray:
        """V = (nu V^ + 6 V_p) / (nu + 6)."""
        return blend(self.observed, self.slopes @ self.expected @ self.slopes, self.nu)

    def quantile(self, level: float) -> FloatArray:
        """The quantile of t with nu + 6 degrees of freedom."""
        return t_quantile(self.nu + PRIOR_DF, (1 + level) / 2)


def figure_moments(columns: Columns, form: FigureForm, look: Look) -> FigureMoments:
    """The figure, its slopes and its variances from draws with design."""
    draws, P = look.draws, len(form.coefficients)
    u, N = ramped_shares_of(draws), draws.pool_size
    a = form.share * terms(
        columns.values,
        draws.probability,
        N,
        control=columns.control,
        control_left=columns.left,
        given=columns.given,
    )
    T = a @ u + form.known
    A, D = T[:P], np.where(np.isnan(form.denominators), T[P:], form.denominators)
    defined = bool((D > 0).all())
    D = np.where(D > 0, D, 1.0)
    theta = A / D
    per_D = np.where(np.isnan(form.denominators), -theta, 0.0)
    slopes = np.concatenate([form.coefficients / D, form.coefficients * per_D / D])
    x = slopes @ a
    possible = np.einsum("i,imj->mj", slopes, columns.possible)
    reach = float((possible.max(axis=1) - possible.min(axis=1)).max())
    surprise = np.abs(slopes @ (columns.values - columns.likely))
    surprises = float(surprise.sum()) / reach if reach > 0 else 0.0
    nu = degrees_of_freedom(x, u) * (is_exact(u) and len(u) > 1)
    if form.counts_errors:
        nu = np.minimum(nu, DF_OF_ERROR * surprises)
    value = float(form.coefficients @ theta)
    # The influence with every D, since a random sample does not use those that are known.
    centred = np.concatenate([form.coefficients / D, -form.coefficients * theta / D])
    psi, v = centred @ columns.values, lure_weights(draws)
    random = RandomLabels(
        value,
        form.share**2 * float(np.mean(v * psi**2)),
        float(np.mean(v * surprise)) / reach if form.counts_errors and reach > 0 else 1.0,
        int(len(psi) - np.unique(psi, return_counts=True)[1].max()),
        N,
        form,
    )
    return FigureMoments(
        value=value,
        random=random,
        defined=defined,
        parts=np.concatenate([A, D]),
        slopes=slopes,
        observed=variance(x, u),
        expected=form.share**2 * np.einsum("m,mij->ij", u**2, columns.spread),
        nu=np.asarray(nu),
        surprises=surprises,
        terms=a,
        shares=u,
    )


def controlled_estimate(
    columns: Columns, form: FigureForm, look: Look, possible: Limits, units: BoolArray, what: str
) -> Estimate:
    """The estimate of a figure whose columns are predicted.

    Parameters
    ----------
    columns, form : The columns of the drawn items, and how they make the figure.
    look : The draws, the level, and the interval: "none", "anytime" for one that holds at every
        look at once, or any other for a number of labels fixed beforehand.
    possible : The least and the largest value that the labels so far leave possible.
    units : True for draws that count in the figure.
    what : An item that must have been seen for the figure to be defined.
    """
    found = figure_moments(columns, form, look)
    if not found.defined or not (units.any() or np.any(form.known)):
        return undefined_estimate(look, possible, what)
    is_watched = look.interval == "anytime"
    t = _watched_quantile(found, look) if is_watched else found.quantile(look.level)
    limits: Limits | None
    if len(form.coefficients) == 1 and np.isnan(form.denominators[0]):
        method, limits = "fieller", _fieller(found, t)
    else:
        method, limits = score_limits(found.value, float(np.sqrt(found.variance)), float(t), form)
    method = "anytime" if is_watched else method
    look = look if look.interval == "none" else replace(look, interval="auto")
    est = make_estimate(
        look, found.value, found.variance, units, possible, {method: lambda: limits}
    )
    if est.interval == "point":
        return replace(est, estimator="ramped")
    worth = None
    if est.interval == method:
        worth = found.random.worth(est.high - est.low, look.level)
    ends = found.random.limits(len(look.draws), look.level)
    ends = max(ends[0], possible[0]), min(ends[1], possible[1])
    return replace(est, estimator="ramped", worth=worth, random=ends)


def _watched_quantile(found: FigureMoments, look: Look) -> FloatArray:
    """The quantile of t that stands for a boundary which holds at every look at once."""
    from scipy.special import ndtr

    M, N = len(look.draws), look.draws.pool_size
    if M < ANYTIME_LEAST or M == N:
        raise InputError(f"An asymptotic interval needs {ANYTIME_LEAST} labels; there are {M}.")
    return t_quantile(found.nu + PRIOR_DF, float(ndtr(boundary(M, N, look.level))))


def score_limits(value: float, sd: float, t: float, form: FigureForm) -> tuple[str, Limits | None]:
    """The name and the limits of the interval for a number of labels fixed beforehand."""
    low, high = form.bounds
    if len(form.coefficients) == 1 and np.isfinite(low):
        if np.isfinite(high):
            ends = leaning(np.asarray(value), np.asarray(sd), np.asarray(t), form.bounds)
            return "score_t", (float(ends[0]), float(ends[1]))
        if value > _CLEAR * sd:
            factor = float(np.exp(min(t * sd / value, _LARGEST_EXPONENT)))
            return "log_t", (value / factor, value * factor)
    half = t * sd
    return "t", (value - half, value + half) if np.isfinite(half) else None


@dataclass(frozen=True, slots=True, eq=False)
class RandomLabels:
    """The interval that random labels without a predictor would have given, at the same value.

    Their estimate has the variance s^2 (1/n - 1/N), with s^2 the variance of the influence in the
    pool. Level and formula of the interval are those of the figure.
    """

    value: float
    square: float
    """s^2."""
    surprise: float
    """The mean surprise of a random label, which gives the degrees of freedom."""
    n_other: int
    """Labels whose influence is not the most common one."""
    pool_size: int
    form: FigureForm

    def limits(self, n: float, level: float) -> Limits:
        """The limits after n labels."""
        sd = float(np.sqrt(max(self.square * (1 / n - 1 / self.pool_size), 0.0)))
        nu = min(n - 1, DF_OF_ERROR * n * self.surprise)
        t = float(t_quantile(np.asarray(nu + PRIOR_DF), (1 + level) / 2))
        _, ends = score_limits(self.value, sd, t, self.form)
        low, high = ends or self.form.bounds
        return max(low, self.form.bounds[0]), min(high, self.form.bounds[1])

    def worth(self, width: float, level: float) -> float | None:
        """About how many random labels give an interval of this width, with two digits.

        None while too few labels differ to tell.
        """
        if self.n_other < _RARE or not width > 0 or not np.isfinite(width):
            return None
        low, high = 0.0, np.log(self.pool_size)
        for _ in range(_HALVINGS):  # the width falls as n rises
            middle = (low + high) / 2
            ends = self.limits(float(np.exp(middle)), level)
            low, high = (middle, high) if ends[1] - ends[0] > width else (low, middle)
        return float(f"{np.exp(high):.2g}")


def _fieller(found: FigureMoments, t: FloatArray) -> Limits | None:
    """The theta for which A - theta D is within t standard deviations of 0 (Fieller, 1954).

    The spread of a ratio is larger the further it is from 0 or 1, so the limits lean away from the
    nearer of the two. None where D itself is not clear of 0: the interval would have no end.
    """
    observed = with_covariance(variance(FORMS @ found.terms, found.shares))
    expected = found.expected[[0, 1, 0], [0, 1, 1]]
    both = blend(observed, expected, found.nu)
    A, D = found.parts.tolist()
    solved = middle_and_half(A, D, t**2 * both)
    if solved is None:
        return None
    middle, half = solved
    low, high = leaning(np.asarray(middle), np.asarray(half / t), t, (0.0, 1.0))
    return float(low), float(high)
