import numpy as np
import pytest

from levelled._check import FloatArray
from levelled.surrogates.families import LogFamily, LogitFamily
from levelled.surrogates.ridge import Ridge

linear_model = pytest.importorskip("sklearn.linear_model")


def problem(seed: int, n: int = 60) -> tuple[FloatArray, FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, 3))])
    y = (rng.random(n) < 1 / (1 + np.exp(-X @ [-0.5, 1.0, -0.5, 0.0]))).astype(float)
    return X, y, rng.gamma(2.0, 0.5, n)


def test_it_is_scikit_learns_logistic_regression_where_the_two_agree(seed: int) -> None:
    X, y, w = problem(seed)
    prior, penalty = np.zeros(3), np.full(3, 2.0)
    ours = Ridge(LogitFamily(), X[:, 1:], y, w, prior, penalty).fit(prior)
    theirs = linear_model.LogisticRegression(C=0.5, fit_intercept=False, tol=1e-10, max_iter=1000)
    theirs.fit(X[:, 1:], y, sample_weight=w)
    np.testing.assert_allclose(ours, theirs.coef_[0], atol=1e-5)


@pytest.mark.parametrize("family", [LogitFamily(), LogFamily()])
def test_the_gradient_at_the_fit_is_zero_from_any_start(
    family: LogitFamily | LogFamily, seed: int
) -> None:
    X, y, w = problem(seed)
    y = y * np.linspace(0.1, 1, len(y))  # losses between 0 and 1 as well
    prior, penalty = np.array([-1.0, 0.5, 0.0, 0.0]), np.array([0.02, 2.0, 2.0, 10.0])
    ridge = Ridge(family, X, y, w, prior, penalty)
    for start in (prior, np.array([3.0, -3.0, 2.0, 1.0])):
        b = ridge.fit(start)
        slope = X.T @ (w * (y - family.mean(X @ b))) - penalty * (b - prior)
        np.testing.assert_allclose(slope, 0, atol=1e-4)


def test_predictions_left_out_are_those_of_a_real_refit_to_first_order(seed: int) -> None:
    X, y, w = problem(seed)
    prior, penalty = np.zeros(4), np.full(4, 2.0)
    ridge = Ridge(LogitFamily(), X, y, w, prior, penalty)
    b = ridge.fit(prior)
    short_cut = ridge.left_out(b)
    refits = []
    for i in range(len(y)):
        kept = np.arange(len(y)) != i
        without = Ridge(LogitFamily(), X[kept], y[kept], w[kept], prior, penalty).fit(b)
        refits.append(X[i] @ without)
    change, real = short_cut - X @ b, np.array(refits) - X @ b
    assert np.abs(change - real).max() < 0.15 * np.abs(real).max()
    assert np.corrcoef(change, real)[0, 1] > 0.99


def test_a_heavy_penalty_keeps_the_prior(seed: int) -> None:
    X, y, w = problem(seed)
    prior = np.array([-1.0, 0.5, 0.0, 2.0])
    b = Ridge(LogitFamily(), X, y, w, prior, np.full(4, 1e9)).fit(np.zeros(4))
    np.testing.assert_allclose(b, prior, atol=1e-6)
