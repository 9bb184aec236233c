"""Ridge regression of a loss on covariates, and its predictions of losses left out."""

from dataclasses import dataclass

import numpy as np

from levelled._check import FloatArray
from levelled.surrogates.families import Family

_STEPS, _CONVERGED = 30, 1e-7
_LEAST_DENOMINATOR = 0.05


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
        from scipy.linalg import cho_factor

        curvature = self.weights * self.family.variance(mean)
        hessian = (self.table.T * curvature) @ self.table + np.diag(self.penalty)
        factor: tuple[FloatArray, bool] = cho_factor(hessian)
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
