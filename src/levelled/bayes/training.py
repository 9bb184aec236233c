"""Fitting a posterior by gradient descent, with early stopping."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import repeat
from typing import Any

import torch
from torch import Generator, Tensor
from torch.nn import functional

from levelled._check import between, whole
from levelled.bayes.amsgrad import AMSGrad
from levelled.bayes.layers import prepared
from levelled.bayes.networks import Network
from levelled.bayes.posterior import Posterior, WeightSample
from levelled.bayes.prediction import block_size, sampled
from levelled.errors import InputError

__all__ = ["Schedule", "TrainingSet", "batches", "loss", "train"]


@dataclass(frozen=True, slots=True, eq=False)
class TrainingSet:
    """Inputs, the number of the class of each, and its weight in the loss."""

    inputs: Tensor
    label: Tensor
    weight: Tensor

    def __len__(self) -> int:
        return len(self.label)

    def __getitem__(self, index: Any) -> "TrainingSet":  # noqa: ANN401
        return TrainingSet(self.inputs[index], self.label[index], self.weight[index])


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long to train, and how."""

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
        """Whether the validation loss is measured then."""
        return step % self.check_every == 0 or step == self.max_steps


@dataclass(slots=True, eq=False)
class _Best:
    """What was learned when the validation loss was least; nothing while none was a number."""

    theta: Tensor | None = None
    loss: float = math.inf
    missed: int = 0
    """Looks since then."""

    def seen(self, loss: float, theta: Tensor) -> None:
        """Take notice of one more look."""
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


def train(
    posterior: Posterior,
    examples: TrainingSet,
    validation: TrainingSet | None,
    schedule: Schedule,
    generator: Generator,
) -> list[float]:
    """Fit `posterior.theta` by AMSGrad, and return the validation losses met on the way.

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
        met = loss(posterior, draw, batch, n_training=len(examples))
        optimiser.step(*torch.autograd.grad(met, theta))
        if validation is None or not schedule.looks_after(step):
            continue
        losses.append(_mean_loss(posterior, validation, schedule.test_samples, generator))
        best.seen(losses[-1], theta)
        if best.missed >= schedule.patience:
            break
    learned = theta.detach() if validation is None else best.theta
    posterior.theta = _finite(learned, schedule.learning_rate)
    return losses


def batches(
    network: Network, examples: TrainingSet, size: int, generator: Generator
) -> Iterator[TrainingSet]:
    """Shuffled examples without end, in batches of at most `size`, all about as large.

    They are prepared for the network. TrainingSet that fit into one batch come all each time.
    """
    if len(examples) <= size:
        yield from repeat(replace(examples, inputs=prepared(network, examples.inputs)))
    while True:
        order = torch.randperm(len(examples), generator=generator, device=generator.device)
        for index in torch.tensor_split(order, math.ceil(len(examples) / size)):
            batch = examples[index]
            yield replace(batch, inputs=prepared(network, batch.inputs))


@torch.no_grad()
def _mean_loss(
    posterior: Posterior, examples: TrainingSet, n_samples: int, generator: Generator
) -> float:
    """The mean negative log of what the samples together give to the right class."""
    blocks = torch.split(examples.inputs, block_size(posterior))
    drawn = sampled(posterior, blocks, n_samples, generator)
    proba = torch.cat([each.mean(dim=0) for each in drawn])
    chosen = proba.gather(1, examples.label.unsqueeze(1))
    return float(-chosen.clamp_min(torch.finfo(chosen.dtype).tiny).log().mean())


def _finite(theta: Tensor | None, learning_rate: float) -> Tensor:
    if theta is None or not theta.isfinite().all():
        raise InputError(
            f"Training diverged: weights are no longer finite at learning_rate "
            f"{learning_rate:g}. Take a smaller one, or look for extreme values in X."
        )
    return theta
