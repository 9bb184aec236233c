"""Value, variance and degrees of freedom of an estimate: all that a fixed-M interval needs."""

from dataclasses import dataclass, replace

import numpy as np

from levelled._check import FloatArray
from levelled.estimators import lure, pure
from levelled.estimators.variance import degrees_of_freedom, is_exact, variance

__all__ = ["Moments", "moments", "uniform_probability"]

_NO_VARIANCE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """What M draws say about the mean of a pool of N, for one trajectory or many at once."""

    value: FloatArray
    variance: FloatArray
    df: FloatArray
    total: FloatArray
    """The summed losses S_M: what is known for certain."""
    budget: int
    pool_size: int
    exact: bool
    """Whether `variance` is exactly unbiased here."""

    def unless_clear(self, difference: "Moments") -> "Moments":
        """The moments of the difference form where it helps and is clear of zero, else these.

        A predictor that makes the variance larger does not help, one that leaves none at all is
        not to be believed, and a difference that is all noise cannot be put on a log scale.
        """
        least = _NO_VARIANCE * np.maximum(self.variance, difference.value**2)
        helps = (least < difference.variance) & (difference.variance < self.variance)
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


def moments(
    losses: FloatArray,
    probability: FloatArray,
    pool_size: int,
    *,
    estimator: str = "lure",
    control: FloatArray | None = None,
    control_left: FloatArray | None = None,
) -> Moments:
    """Moments of "lure" or "pure" for losses and probabilities [..., M].

    The naive estimate is R_LURE of draws taken for uniform: give `uniform_probability`. With a
    predictor of the loss (`terms` says which) they are those of the difference form.
    """
    N, M = pool_size, losses.shape[-1]
    shares = np.full(M, 1 / M) if estimator == "pure" else lure.levels(N, M) / M
    a = pure.terms(losses, probability, N, control=control, control_left=control_left)
    return Moments(
        value=np.asarray(np.sum(shares * a, axis=-1)),
        variance=variance(a, shares),
        df=degrees_of_freedom(a, shares),
        total=np.asarray(losses.sum(axis=-1)),
        budget=M,
        pool_size=N,
        exact=M == N or is_exact(shares),
    )


def uniform_probability(pool_size: int, budget: int) -> FloatArray:
    """The probabilities 1/N, 1/(N-1), ... of draws that favour nobody."""
    return 1 / (pool_size - np.arange(float(budget)))
