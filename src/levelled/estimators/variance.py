"""How far an estimate is from the pool risk, estimated without bias from the draws."""

import numpy as np

from levelled._check import FloatArray

__all__ = ["degrees_of_freedom", "is_exact", "variance"]


def variance(terms: FloatArray, shares: FloatArray) -> FloatArray:
    """The variance of sum_m u_m a_m around the pool risk, from the terms themselves.

        R^ = sum u_m a_m,  h_m = u_m^2 / (1 - 2 u_m),  V^ = sum h_m (a_m - R^)^2 / (1 + sum h_m)

    `terms` a_m are [..., M], the constant `shares` u_m sum to one: c_m / M for R_LURE, 1 / M for
    R_PURE. The terms are a martingale around the pool risk, so their errors are uncorrelated
    and E[V^] is exactly the variance given the pool, however adaptive the proposal, wherever
    every u_m is below 1/2. It contains the finite-pool correction.

    Elsewhere (two draws, or all but one of the pool) the plain form M/(M-1) sum u_m^2 (a_m -
    R^)^2 is given, which is biased, for uniform draws low: see `is_exact`. One draw has no
    variance to show: infinity. One share of one and the rest zero (the whole pool): zero.

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
    """Whether `variance` is exactly unbiased for these shares."""
    return bool((shares < 0.5).all())


def degrees_of_freedom(terms: FloatArray, shares: FloatArray) -> FloatArray:
    """How many degrees of freedom `variance` has, by Satterthwaite's rule.

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
    seen = squares > 0
    df = np.where(seen, 2 * total**2 / np.where(seen, squares, 1) - 1, M - 1)
    return np.asarray(np.clip(df, 1, max(M - 1, 1)))
