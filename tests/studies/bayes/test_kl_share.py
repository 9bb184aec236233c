"""The prior's share of the loss of one step."""

import pytest

pytest.importorskip("torch")

import torch
from torch import Generator, Tensor
from torch.nn import functional

from levelled_studies.bayes.networks import build_network
from levelled_studies.bayes.radial import RadialPosterior
from levelled_studies.bayes.training import AMSGrad, Schedule, TrainingSet, batches, train

N = 10
SCHEDULE = Schedule(
    learning_rate=0.01,
    weight_decay=1e-4,
    batch_size=4,
    max_steps=5,
    check_every=1,
    patience=1,
    training_samples=3,
    test_samples=3,
)


def posterior() -> RadialPosterior:
    network = build_network("mlp", (4,), 3)
    mu = network.he(Generator().manual_seed(0)).double()
    theta = torch.stack([mu, torch.full_like(mu, -3)])
    return RadialPosterior(network, theta, prior_scale=0.25, kl_scale=0.1)


def examples(seed: int) -> TrainingSet:
    generator = Generator().manual_seed(seed)
    rows = torch.randn(N, 4, generator=generator, dtype=torch.float64)
    weight = torch.rand(N, generator=generator, dtype=torch.float64)
    return TrainingSet(rows, torch.arange(N) % 3, weight)


def by_hand(of: RadialPosterior, known: TrainingSet, seed: int, share: int | None) -> Tensor:
    """Five steps with the divergence over `share`, or over the size of the batch."""
    theta, generator = of.theta.requires_grad_(), Generator().manual_seed(seed)
    optimiser = AMSGrad(theta, learning_rate=0.01, weight_decay=1e-4)
    queue = batches(of.network, known, SCHEDULE.batch_size, generator)
    for _ in range(SCHEDULE.max_steps):
        batch = next(queue)
        draw = of.draw(SCHEDULE.training_samples, len(batch), generator)
        logits = of.logits(draw, batch.inputs)
        each = functional.nll_loss(
            functional.log_softmax(logits, dim=2).mean(dim=0), batch.label, reduction="none"
        )
        total = (batch.weight * each).mean() + draw.penalty / (share or len(batch))
        optimiser.step(*torch.autograd.grad(total, theta))
    return theta.detach()


def test_the_divergence_is_shared_by_all_labels_and_not_by_those_of_a_batch(seed: int) -> None:
    known, of = examples(seed), posterior()
    train(of, known, None, SCHEDULE, Generator().manual_seed(seed))
    torch.testing.assert_close(of.theta, by_hand(posterior(), known, seed, N), rtol=0, atol=1e-12)
    other = by_hand(posterior(), known, seed, None)
    assert float((of.theta - other).abs().max()) > 1e-4  # the two can be told apart
