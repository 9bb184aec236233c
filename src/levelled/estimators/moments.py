"""Value, variance and degrees of freedom of an estimate, and how much its draws are worth.

The first three are all that an interval for a fixed number of labels needs. R_PURE and R_LURE are
the plain and the levelled unbiased risk estimator (`lure`).
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, IntArray
from levelled.draws import Draws, check_losses
from levelled.errors import InputError
from levelled.estimators import lure

_NO_VARIANCE = 1e-12  # rounding, as a share of the variance
_RARE = 5
"""Losses other than the most common one below which their variance is not told: with k of them it
has a standard error of about 1 / sqrt(k) of itself."""
POOR, THIN, HOPELESS = 30, 15, 5
"""Design sizes below which asymptotic intervals get a warning, are not chosen, are refused.

In the study intervals log_t covers 0.95 above 30 and 0.92, in one cell 0.89, from 15 to 30. With
lognormal losses and weights that tell nothing of them it covers 0.88 from 5 to 15, 0.83 below.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Moments of an estimate from M draws of a pool of N, for one trajectory or many at once."""

    value: FloatArray
    variance: FloatArray
    df: FloatArray
    total: FloatArray
    """The summed losses S_M."""
    budget: int
    pool_size: int
    exact: bool
    """True if `variance` is exactly unbiased."""

    def unless_clear(self, difference: "Moments") -> "Moments":
        """The moments of the difference form where it helps and is clear of zero, else these.

        A predictor does not help if it makes the variance larger, is not trusted if it leaves no
        variance at all, and a difference that is all noise cannot be put on a log scale.
        """
        least = _NO_VARIANCE * np.maximum(self.variance, difference.value**2)
        helps = (least < difference.variance) & (difference.variance < self.variance)
        # Half a standard error: a guard, since nearer to 0 limits on the log scale are infinite.
        clear = helps & (difference.value > 0.5 * np.sqrt(difference.variance))
        return replace(
            self,
            value=np.where(clear, difference.value, self.value),
            variance=np.where(clear, difference.variance, self.variance),
            df=np.where(clear, difference.df, self.df),
        )

    def over(self, scale: float) -> "Moments":
        """The moments of losses divided by `scale`."""
        return replace(
            self,
            value=self.value / scale,
            variance=self.variance / scale**2,
            total=self.total / scale,
        )


@dataclass(frozen=True, slots=True, eq=False)
class GivenValues:
    """Values of items that became known without a draw, between the draws.

    From then on they cannot be drawn, and count as they are beside the values drawn before.
    """

    first: IntArray
    """The number of the first draw after each of them, in order [K]."""
    values: FloatArray
    """Their values [..., K]."""

    def __len__(self) -> int:
        return len(self.first)

    def at(self, draw: int) -> tuple[list[float], int]:
        """The sums and the number of those after which this draw was the first."""
        here = self.first == draw
        return np.atleast_1d(self.values[..., here].sum(axis=-1)).tolist(), int(here.sum())

    def before(self, n_draws: int) -> FloatArray:
        """Their sum before each of so many draws.

        >>> GivenValues(np.array([2, 2, 4]), np.array([1.0, 0.5, 1.0])).before(3)
        array([0. , 1.5, 1.5])
        """
        count = np.searchsorted(self.first, np.arange(1, n_draws + 1), side="right")
        start = np.zeros((*self.values.shape[:-1], 1))
        return np.concatenate([start, np.cumsum(self.values, axis=-1)], axis=-1)[..., count]


def moments(
    losses: FloatArray,
    probability: FloatArray,
    pool_size: int,
    *,
    estimator: str = "lure",
    control: FloatArray | None = None,
    control_left: FloatArray | None = None,
    given: FloatArray | float = 0.0,
    ramp: float = lure.RAMP,
) -> Moments:
    """Moments of "lure", "pure" or "ramped" for losses and probabilities [..., M].

    Parameters
    ----------
    losses, probability : Losses and probabilities [..., M] in the order of the draws.
    pool_size : N.
    estimator : "lure", "pure" or "ramped"; the naive one is "lure" with `uniform_probability`.
    control, control_left : A predictor of the loss, as in `lure.terms`: the moments are then those
        of the difference form.
    given : Losses that became known without a draw, summed before each draw, as in `lure.terms`.
    ramp : How fast the shares of "ramped" rise.
    """
    N, M = pool_size, losses.shape[-1]
    shares = estimator_shares(estimator, N, M, ramp)
    a = lure.terms(losses, probability, N, control=control, control_left=control_left, given=given)
    return Moments(
        value=np.asarray(np.sum(shares * a, axis=-1)),
        variance=variance(a, shares),
        df=degrees_of_freedom(a, shares),
        total=np.asarray(losses.sum(axis=-1)),
        budget=M,
        pool_size=N,
        exact=M == N or is_exact(shares),
    )


def ramp_of(draws: Draws) -> float:
    """How fast the shares of "ramped" rise: as the draws were made for, the same for all."""
    ramp = (draws.design or {}).get("ramp")
    return lure.RAMP if ramp is None or not len(ramp) else float(ramp[0])


def ramped_shares_of(draws: Draws) -> FloatArray:
    """The shares u_m of "ramped", as these draws were made for."""
    return lure.ramped_shares(draws.pool_size, len(draws), ramp_of(draws))


def estimator_shares(
    estimator: str, pool_size: int, budget: int, ramp: float = lure.RAMP
) -> FloatArray:
    """The shares u_m of the terms a_m in an estimate; they sum to one."""
    if estimator == "pure":
        return np.full(budget, 1 / budget)
    if estimator == "ramped":
        return lure.ramped_shares(pool_size, budget, ramp)
    return lure.levels(pool_size, budget) / budget


def variance(terms: FloatArray, shares: FloatArray) -> FloatArray:
    """An estimate of the variance of sum_m u_m a_m around the pool risk, from the terms a_m.

        R^ = sum u_m a_m,  h_m = u_m^2 / (1 - 2 u_m),  V^ = sum h_m (a_m - R^)^2 / (1 + sum h_m)

    `terms` a_m are [..., M], the constant `shares` u_m sum to one: c_m / M for R_LURE, 1 / M for
    R_PURE. The terms are a martingale around the pool risk, so their errors are uncorrelated
    and E[V^] is exactly the variance given the pool, however adaptive the proposal, wherever
    every u_m is below 1/2. It contains the finite-pool correction.

    Elsewhere (two draws, or all but one of the pool) it is M/(M-1) sum u_m^2 (a_m - R^)^2,
    which is biased (too low for uniform draws): see `is_exact`. It is infinite for one draw, and
    zero for one share of one and the rest zero (the whole pool).

    >>> variance(np.array([1.0, 2.0, 3.0]), np.full(3, 1 / 3))
    array(0.33333333)
    """
    M = terms.shape[-1]
    if M == 1:
        return np.full(terms.shape[:-1], np.inf)
    risk = np.sum(shares * terms, axis=-1, keepdims=True)
    squares = (terms - risk) ** 2
    if not is_exact(shares):
        return np.asarray(M / (M - 1) * np.sum(shares**2 * squares, axis=-1))
    h = shares**2 / (1 - 2 * shares)
    return np.asarray(np.sum(h * squares, axis=-1) / (1 + h.sum()))


def is_exact(shares: FloatArray) -> bool:
    """True if `variance` is exactly unbiased for these shares."""
    return bool((shares < 0.5).all())


def degrees_of_freedom(terms: FloatArray, shares: FloatArray) -> FloatArray:
    """The degrees of freedom of `variance`, by Satterthwaite's rule.

        x_m = u_m^2 (a_m - R^)^2,    df = 2 (sum x)^2 / sum x^2 - 1,  between 1 and M - 1

    >>> degrees_of_freedom(np.array([1.0, 2.0, 3.0, 4.0]), np.full(4, 1 / 4))
    array(3.)
    """
    M = terms.shape[-1]
    risk = np.sum(shares * terms, axis=-1, keepdims=True)
    x = (shares * (terms - risk)) ** 2
    largest = x.max(axis=-1, keepdims=True)
    x = x / np.where(largest > 0, largest, 1)  # so that squares of tiny terms do not vanish
    total, squares = x.sum(axis=-1), (x**2).sum(axis=-1)
    varies = squares > 0
    df = np.where(varies, 2 * total**2 / np.where(varies, squares, 1) - 1, M - 1)
    return np.asarray(np.clip(df, 1, max(M - 1, 1)))


def uniform_probability(pool_size: int, budget: int) -> FloatArray:
    """The probabilities 1/N, 1/(N-1), ... of uniform draws."""
    return 1 / (pool_size - np.arange(float(budget)))


def pool_variance(moments: Moments, losses: FloatArray, probability: FloatArray) -> float:
    """The variance of the losses within the pool: R_LURE of L^2, less R^^2, plus V^."""
    squares = float(np.mean(lure.weights(probability, moments.pool_size) * losses**2))
    return squares - float(moments.value) ** 2 + float(moments.variance)


def worth(moments: Moments, losses: FloatArray, probability: FloatArray) -> float | None:
    """The number of random labels that would be as precise: s^2 / (V^ + s^2 / N).

    None while fewer than five losses differ from the most common one, and once all are known.

    >>> losses = np.array([1.0, 0.0, 0.0, 0.0] * 10)
    >>> q = uniform_probability(100, 40)
    >>> round(worth(moments(losses, q, 100), losses, q))
    40
    """
    _, counts = np.unique(losses, return_counts=True)
    V, N = float(moments.variance), moments.pool_size
    if len(losses) - counts.max() < _RARE or len(losses) == N or not 0 < V < np.inf:
        return None
    s2 = pool_variance(moments, losses, probability)
    return s2 / (V + s2 / N) if s2 > 0 else None


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    """The number of uniform labels that draws are worth, and the items that carry the uncertainty.

    `effective_size` is the number of uniform labels that the realised weights are worth. It is
    largest while the rare huge weight has not been drawn yet, so decisions are made by
    `design_size`, which counts all that could have been drawn; it is None for draws without
    the design column "dispersion". `heaviest` is the pool index of the largest weight.
    `variance_share` is the share of each draw in the estimated variance.
    """

    effective_size: float
    design_size: float | None
    max_weight: float
    heaviest: int
    variance_share: FloatArray


def diagnose(losses: ArrayLike, draws: Draws) -> Diagnosis:
    """The effective sizes, the largest weight and the shares of the variance of an estimate.

    >>> diagnosis = diagnose([1.0, 0.0, 1.0], Draws([4, 1, 0], [0.5, 0.01, 0.3], pool_size=9))
    >>> diagnosis.heaviest, round(diagnosis.effective_size, 1)
    (1, 1.2)
    """
    losses = check_losses(losses, draws)
    N, M = draws.pool_size, len(draws)
    if not M:
        raise InputError("There is nothing to diagnose before the first label.")
    weights = lure.lure_weights(draws)
    shares = lure.levels(N, M) / M
    a = lure.terms(losses, draws.probability, N)
    squares = (shares * (a - np.sum(shares * a))) ** 2
    return Diagnosis(
        effective_size=effective_size(weights),
        design_size=design_size(draws) if "dispersion" in (draws.design or {}) else None,
        max_weight=float(weights.max()),
        heaviest=int(draws.index[weights.argmax()]),
        variance_share=squares / squares.sum() if squares.any() else squares,
    )


def effective_size(weights: FloatArray) -> float:
    """Kish's effective size, (sum w)^2 / sum w^2: equal weights count fully."""
    square = float(np.sum(weights**2))
    return float(weights.sum()) ** 2 / square if square > 0 else 0.0


def design_size(draws: Draws) -> float:
    """The number of uniform labels that the design is worth: M over the mean of its dispersions.

        D_m = sum_{n not yet drawn} 1 / ((N - m + 1)^2 q_m(n)),    1 for uniform draws

    Without the column "dispersion" each D_m is replaced by w~_m^2, of which it is the mean.
    """
    design = draws.design or {}
    weights = lure.ranked_weights(draws.probability, draws.pool_size)
    return len(draws) / float(np.mean(design.get("dispersion", weights**2)))


def heaviest_size(draws: Draws) -> float:
    """The number of uniform labels as likely to show one of the items that are drawn least.

    M over the largest weight w~_m that could have been drawn, at most `design_size`. Without the
    column "max_weight" it is the largest that was drawn.

    >>> heaviest_size(Draws([2, 0], [0.5, 0.25], 4, design={"max_weight": np.array([4.0, 2.0])}))
    0.5
    """
    N, M = draws.pool_size, len(draws)
    heaviest = float(lure.ranked_weights(draws.probability, N).max())
    if (column := (draws.design or {}).get("max_weight")) is not None:
        heaviest = max(heaviest, float(np.max(N * column / (N - np.arange(float(M))))))
    return min(M / heaviest, design_size(draws))


def thin_warning(draws: Draws, size: float) -> str:
    """A sentence on why the labels are worth only `size` uniform ones, and what to do about it."""
    weights = np.sort(lure.ranked_weights(draws.probability, draws.pool_size))[::-1]
    share = np.cumsum(weights) / weights.sum()
    heavy = int(np.searchsorted(share, 0.5)) + 1
    text = f"{len(draws)} labels behave like {max(size, 1):.0f}"
    if heavy <= max(3, len(draws) // 10):
        items = "1 item carries" if heavy == 1 else f"{heavy} items carry"
        text += f", because {items} {share[heavy - 1]:.0%} of the weight"
    else:
        text += ", because some items of the pool have hardly any chance of being drawn"
    return text + ": raise the floor of the proposal"
