"""The mean of a loss as a function of its linear predictor, for losses with a bound and without."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from levelled._check import FloatArray


class Family(ABC):
    """The mean of a loss given its linear predictor, and the variance that goes with the mean."""

    is_bounded: ClassVar[bool]
    """True for losses between 0 and 1, False for losses without an upper bound."""

    @abstractmethod
    def link(self, mean: FloatArray) -> FloatArray:
        """The linear predictor of a mean."""

    @abstractmethod
    def mean(self, eta: FloatArray) -> FloatArray:
        """The mean at a linear predictor."""

    @abstractmethod
    def variance(self, mean: FloatArray) -> FloatArray:
        """The variance of the loss but for a constant factor; also the slope of the mean."""

    @abstractmethod
    def third_moment(self, mean: FloatArray) -> FloatArray:
        """The third central moment of the loss but for the square of that factor."""

    @abstractmethod
    def log_likelihood(self, mean: FloatArray, y: FloatArray) -> FloatArray:
        """The log-likelihood of each loss, up to a constant."""


class LogitFamily(Family):
    """Losses between 0 and 1, which vary like a coin.

    >>> LogitFamily().mean(np.array([0.0, 2.0])).round(3)
    array([0.5  , 0.881])
    """

    is_bounded = True

    def link(self, mean: FloatArray) -> FloatArray:
        """The logit, of means at least 1e-5 from 0 and 1."""
        p = np.clip(mean, 1e-5, 1 - 1e-5)
        return np.asarray(np.log(p / (1 - p)))

    def mean(self, eta: FloatArray) -> FloatArray:
        """The inverse of the logit."""
        from scipy.special import expit

        return np.asarray(expit(eta))

    def variance(self, mean: FloatArray) -> FloatArray:
        """p (1 - p)."""
        return mean * (1 - mean)

    def third_moment(self, mean: FloatArray) -> FloatArray:
        """p (1 - p) (1 - 2 p)."""
        return mean * (1 - mean) * (1 - 2 * mean)

    def log_likelihood(self, mean: FloatArray, y: FloatArray) -> FloatArray:
        """y log p + (1 - y) log(1 - p), also for losses between 0 and 1."""
        p = np.clip(mean, 1e-12, 1 - 1e-12)
        return np.asarray(y * np.log(p) + (1 - y) * np.log1p(-p))


class LogFamily(Family):
    """Losses of zero and more, whose variance grows in proportion to their mean.

    >>> LogFamily().variance(np.array([0.5, 2.0]))
    array([0.5, 2. ])
    """

    is_bounded = False

    def link(self, mean: FloatArray) -> FloatArray:
        """The logarithm, of means of at least 1e-5."""
        return np.asarray(np.log(np.maximum(mean, 1e-5)))

    def mean(self, eta: FloatArray) -> FloatArray:
        """The exponential, which is kept from overflowing."""
        return np.asarray(np.exp(np.clip(eta, -300, 300)))

    def variance(self, mean: FloatArray) -> FloatArray:
        """The mean itself."""
        return mean

    def third_moment(self, mean: FloatArray) -> FloatArray:
        """The mean itself."""
        return mean

    def log_likelihood(self, mean: FloatArray, y: FloatArray) -> FloatArray:
        """y log mu - mu."""
        return np.asarray(y * np.log(mean) - mean)
