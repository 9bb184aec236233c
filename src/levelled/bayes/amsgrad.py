"""AMSGrad for one tensor: Reddi, Kale and Kumar (2018), arXiv:1904.09237."""

import torch
from torch import Tensor

__all__ = ["AMSGrad"]

_MEAN, _SQUARE, _LEAST = 0.9, 0.999, 1e-8


class AMSGrad:
    """Adam whose steps are by the largest mean square met so far.

        m <- 0.9 m + 0.1 g,    v <- 0.999 v + 0.001 g^2,    u <- max(u, v)
        theta <- theta - learning_rate * m' / (sqrt(u') + 1e-8)

    g is the gradient plus weight_decay * theta; m' and u' are divided by 1 - 0.9^t and
    1 - 0.999^t. The steps of `torch.optim.Adam(amsgrad=True)`, without what that has to load and
    to look up: with a small network it would take longer than the step itself.
    """

    def __init__(self, theta: Tensor, *, learning_rate: float, weight_decay: float) -> None:
        self.theta = theta
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.n_steps = 0
        self.mean, self.square, self.largest = torch.zeros(3, *theta.shape).to(theta)

    @torch.no_grad()
    def step(self, gradient: Tensor) -> None:
        """Change theta in place."""
        self.n_steps += 1
        g = gradient.add(self.theta, alpha=self.weight_decay)
        self.mean.lerp_(g, 1 - _MEAN)
        self.square.mul_(_SQUARE).addcmul_(g, g, value=1 - _SQUARE)
        torch.maximum(self.largest, self.square, out=self.largest)
        spread = (self.largest / (1 - _SQUARE**self.n_steps)).sqrt_().add_(_LEAST)
        length = self.learning_rate / (1 - _MEAN**self.n_steps)
        self.theta.addcdiv_(self.mean, spread, value=-length)
