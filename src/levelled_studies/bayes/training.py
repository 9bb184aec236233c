"""Fit a posterior by gradient descent, with early stopping."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import repeat
from typing import Any

import torch
from torch import Generator, Tensor
from torch.nn import functional

from levelled._check import between, whole
from levelled.errors import InputError
from levelled_studies.bayes.networks import Network, prepare
from levelled_studies.bayes.posterior import Posterior, WeightSample, block_size, sample_proba

_MEAN, _SQUARE, _LEAST = 0.9, 0.999, 1e-8


@dataclass(frozen=True, slots=True, eq=False)
class TrainingSet:
    """Inputs, and for each the number of its class and its weight in the loss."""

    inputs: Tensor
    label: Tensor
    weight: Tensor

    def __len__(self) -> int:
        return len(self.label)

    def __getitem__(self, index: Any) -> "TrainingSet":  # noqa: ANN401
        return TrainingSet(self.inputs[index], self.label[index], self.weight[index])


@dataclass(frozen=True, slots=True)
class Schedule:
    """Parameters of the training, checked when it is made."""

    learning_rate: float
    weight_decay: float
    batch_size: int
    max_steps: int
    check_every: int
    patience: int
    training_samples: int
    test_samples: int

    def __post_init__(self) -> None:
        between("learning_rate", self.learning_rate, 0, math.inf, open_=True)
        between("weight_decay", self.weight_decay, 0, math.inf)
        for field in fields(self):
            if field.type is int:
                number = whole(field.name, getattr(self, field.name), least=1)
                object.__setattr__(self, field.name, number)

    def looks_after(self, step: int) -> bool:
        """True if the validation loss is measured after this step."""
        return step % self.check_every == 0 or step == self.max_steps


@dataclass(slots=True, eq=False)
class _Best:
    """Weights at the lowest validation loss so far; None while no loss was a number."""

    theta: Tensor | None = None
    loss: float = math.inf
    missed: int = 0
    """Looks at the validation loss since then."""

    def update(self, loss: float, theta: Tensor) -> None:
        """Keep the weights if their loss is the lowest."""
        if loss < self.loss:
            self.theta, self.loss, self.missed = theta.detach().clone(), loss, 0
        else:
            self.missed += 1


def loss(
    posterior: Posterior, draw: WeightSample, examples: TrainingSet, *, n_training: int
) -> Tensor:
    """The weighted negative log likelihood plus the prior's share of it: minus the ELBO.

        1/M sum_m weight_m (1/S sum_s -log p(y_m | x_m, w_s)) + penalty / n_training

    With the weights of R_LURE the first term is its estimate of the pool's risk.
    """
    logits = posterior.logits(draw, examples.inputs)
    log_likelihood = functional.log_softmax(logits, dim=2).mean(dim=0)
    chosen = log_likelihood.gather(1, examples.label.unsqueeze(1)).squeeze(1)
    mean = torch.dot(examples.weight, chosen) / len(examples)
    return draw.penalty / n_training - mean


class AMSGrad:
    """Adam for one tensor, with steps by the largest mean square so far: arXiv:1904.09237.

        m <- 0.9 m + 0.1 g,    v <- 0.999 v + 0.001 g^2,    u <- max(u, v)
        theta <- theta - learning_rate * m' / (sqrt(u') + 1e-8)

    g is the gradient plus weight_decay * theta; m' and u' are divided by 1 - 0.9^t and
    1 - 0.999^t. The steps are those of `torch.optim.Adam(amsgrad=True)`, without its overhead,
    which for a small network would take longer than the step itself.
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


def train(
    posterior: Posterior,
    examples: TrainingSet,
    validation: TrainingSet | None,
    schedule: Schedule,
    generator: Generator,
) -> list[float]:
    """Fit `posterior.theta` by AMSGrad, and return the validation losses in their order.

    Every `check_every` steps and after the last one the validation loss is measured; `patience`
    measurements without a new best end the training, and the best is kept. Without validation
    it takes `max_steps`.
    """
    theta = posterior.theta.requires_grad_()
    optimiser = AMSGrad(
        theta, learning_rate=schedule.learning_rate, weight_decay=schedule.weight_decay
    )
    queue = batches(posterior.network, examples, schedule.batch_size, generator)
    losses: list[float] = []
    best = _Best()
    for step in range(1, schedule.max_steps + 1):
        batch = next(queue)
        draw = posterior.draw(schedule.training_samples, len(batch), generator)
        batch_loss = loss(posterior, draw, batch, n_training=len(examples))
        optimiser.step(*torch.autograd.grad(batch_loss, theta))
        if validation is None or not schedule.looks_after(step):
            continue
        losses.append(_mean_loss(posterior, validation, schedule.test_samples, generator))
        best.update(losses[-1], theta)
        if best.missed >= schedule.patience:
            break
    learned = theta.detach() if validation is None else best.theta
    posterior.theta = _finite(learned, schedule.learning_rate)
    return losses


def batches(
    network: Network, examples: TrainingSet, size: int, generator: Generator
) -> Iterator[TrainingSet]:
    """Shuffled examples without end, in batches of at most `size`, all about as large.

    They are prepared for the network. If they fit into one batch, every batch is all of them.
    """
    if len(examples) <= size:
        yield from repeat(replace(examples, inputs=prepare(network, examples.inputs)))
    while True:
        order = torch.randperm(len(examples), generator=generator, device=generator.device)
        for index in torch.tensor_split(order, math.ceil(len(examples) / size)):
            batch = examples[index]
            yield replace(batch, inputs=prepare(network, batch.inputs))


@torch.no_grad()
def _mean_loss(
    posterior: Posterior, examples: TrainingSet, n_samples: int, generator: Generator
) -> float:
    """The mean negative log of the probability of the right class, averaged over samples."""
    blocks = torch.split(examples.inputs, block_size(posterior))
    samples = sample_proba(posterior, blocks, n_samples, generator)
    proba = torch.cat([each.mean(dim=0) for each in samples])
    chosen = proba.gather(1, examples.label.unsqueeze(1))
    return float(-chosen.clamp_min(torch.finfo(chosen.dtype).tiny).log().mean())


def _finite(theta: Tensor | None, learning_rate: float) -> Tensor:
    if theta is None or not theta.isfinite().all():
        raise InputError(
            f"Training diverged: weights are no longer finite at learning_rate "
            f"{learning_rate:g}. Take a smaller one, or look for extreme values in X."
        )
    return theta
