from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import Generator

import levelled as lv
from levelled.errors import InputError
from levelled_studies.bayes.networks import build_network
from levelled_studies.bayes.radial import RadialPosterior
from levelled_studies.bayes.training import AMSGrad, Schedule, TrainingSet, batches, loss, train

SCHEDULE = Schedule(
    learning_rate=0.01,
    weight_decay=0.0,
    batch_size=64,
    max_steps=40,
    check_every=2,
    patience=3,
    training_samples=4,
    test_samples=4,
)


def posterior(kl_scale: float = 0.1) -> RadialPosterior:
    network = build_network("mlp", (4,), 3)
    mu = network.he(Generator().manual_seed(0)).double()
    theta = torch.stack([mu, torch.full_like(mu, -3)])
    return RadialPosterior(network, theta, prior_scale=0.25, kl_scale=kl_scale)


def examples(n: int, seed: int, weight: list[float] | None = None) -> TrainingSet:
    rows = torch.randn(n, 4, generator=Generator().manual_seed(seed), dtype=torch.float64)
    weights = torch.ones(n) if weight is None else torch.tensor(weight)
    return TrainingSet(rows, torch.arange(n) % 3, weights.double())


def test_a_weighted_loss_equals_the_loss_on_repeated_data(seed: int) -> None:
    weighted = examples(4, seed, [2.0, 0.0, 1.0, 1.0])
    repeated = replace(weighted[[0, 0, 2, 3]], weight=torch.ones(4, dtype=torch.float64))
    of = posterior()
    draw = of.draw(8, 4, Generator().manual_seed(seed))
    torch.testing.assert_close(
        loss(of, draw, weighted, n_training=4), loss(of, draw, repeated, n_training=4)
    )


def test_with_lure_weights_the_loss_is_the_lure_estimate(seed: int) -> None:
    draws = lv.Draws(np.array([3, 1, 8]), np.array([0.3, 0.05, 0.2]), pool_size=10)
    few = examples(3, seed, lv.lure_weights(draws).tolist())
    of = posterior(kl_scale=0.0)
    draw = of.draw(1, 3, Generator().manual_seed(seed))
    proba = of.logits(draw, few.inputs).softmax(dim=2)[0].numpy()
    expected = lv.estimate(lv.losses.log_loss(few.label.numpy(), proba), draws).value
    assert float(loss(of, draw, few, n_training=3)) == pytest.approx(expected)


def test_without_validation_training_takes_all_its_steps(seed: int) -> None:
    few = examples(9, seed)
    met = []
    for steps in (1, 40, 160):
        of = posterior()
        schedule = replace(SCHEDULE, max_steps=steps)
        assert train(of, few, None, schedule, Generator().manual_seed(seed)) == []
        draw = of.draw(8, 9, Generator().manual_seed(seed))
        met.append(float(loss(of, draw, few, n_training=9)))
    assert met[0] > met[1] > met[2]


@pytest.mark.parametrize("batch_size", [4, 64])
def test_training_stops_when_patience_ends_and_keeps_the_best(batch_size: int, seed: int) -> None:
    hostile = examples(30, seed)  # labels without a pattern: fitting them makes it worse
    held_out = replace(examples(30, seed + 100), label=(torch.arange(30) + 1) % 3)
    schedule = replace(SCHEDULE, max_steps=2000, batch_size=batch_size)
    of = posterior(kl_scale=0.0)
    losses = train(of, hostile, held_out, schedule, Generator().manual_seed(seed))
    best = int(np.argmin(losses))
    assert len(losses) - 1 - best == schedule.patience

    # Trained again for just as long as the best took, it is the same posterior.
    short = posterior(kl_scale=0.0)
    until = replace(schedule, max_steps=schedule.check_every * (best + 1))
    train(short, hostile, held_out, until, Generator().manual_seed(seed))
    torch.testing.assert_close(of.theta, short.theta, rtol=0, atol=0)


@pytest.mark.parametrize(("n", "sizes"), [(64, [64]), (65, [33, 32]), (70, [35, 35])])
def test_batches_are_about_as_large_and_miss_nobody(n: int, sizes: list[int], seed: int) -> None:
    network = build_network("mlp", (4,), 3)
    few = replace(examples(n, seed), weight=torch.arange(n))
    queue = batches(network, few, 64, Generator().manual_seed(seed))
    for _ in range(2):
        round_ = [next(queue) for _ in sizes]
        assert [len(batch) for batch in round_] == sizes
        assert sorted(torch.cat([batch.weight for batch in round_]).tolist()) == list(range(n))


@pytest.mark.parametrize(("max_steps", "looks"), [(1, 1), (3, 1), (4, 1), (5, 2), (8, 2)])
def test_the_last_step_is_looked_at_even_between_two_looks(
    max_steps: int, looks: int, seed: int
) -> None:
    schedule = replace(SCHEDULE, max_steps=max_steps, check_every=4)
    few = examples(9, seed)
    assert len(train(posterior(), few, few, schedule, Generator().manual_seed(seed))) == looks


@pytest.mark.parametrize("validated", [False, True])
def test_training_that_diverges_is_no_result(validated: bool, seed: int) -> None:
    wild = replace(SCHEDULE, learning_rate=1e300)
    few = examples(9, seed)
    with pytest.raises(InputError, match="Training diverged"):
        train(posterior(), few, few if validated else None, wild, Generator().manual_seed(seed))


def test_whole_numbers_may_be_written_as_floats() -> None:
    assert replace(SCHEDULE, max_steps=30.0).max_steps == 30  # type: ignore[arg-type]
    assert type(replace(SCHEDULE, max_steps=30.0).max_steps) is int  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"learning_rate": 0.0}, r"learning_rate.*strictly"),
        ({"weight_decay": -1.0}, "weight_decay"),
        ({"batch_size": 0}, r"batch_size.*at least 1"),
        ({"max_steps": 1.5}, r"max_steps.*whole"),
        ({"training_samples": "8"}, r"training_samples.*whole"),
    ],
)
def test_a_schedule_that_cannot_be_kept_is_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        replace(SCHEDULE, **change)


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_the_steps_of_amsgrad_are_those_of_torch(weight_decay: float, seed: int) -> None:
    generator = Generator().manual_seed(seed)
    start = torch.randn(2, 7, generator=generator, dtype=torch.float64)
    ours, theirs = start.clone(), start.clone().requires_grad_()
    mine = AMSGrad(ours, learning_rate=0.01, weight_decay=weight_decay)
    reference = torch.optim.Adam([theirs], lr=0.01, weight_decay=weight_decay, amsgrad=True)
    for step in range(20):
        gradient = torch.randn(2, 7, generator=generator, dtype=torch.float64) / (1 + step)
        mine.step(gradient)
        theirs.grad = gradient.clone()
        reference.step()
    torch.testing.assert_close(ours, theirs.detach(), rtol=1e-12, atol=1e-12)
