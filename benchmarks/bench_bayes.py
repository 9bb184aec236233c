"""A step of training beside the loop over samples one would write first, and what scoring takes.

pytest benchmarks/bench_bayes.py --benchmark-only
python benchmarks/bench_bayes.py                 ratios, tables of times, memory
python benchmarks/bench_bayes.py accuracy        trained on 1,000 images each of two data sets
python benchmarks/bench_bayes.py paper           an acquisition step at the size of the paper

Times are of one thread, in seconds of the processor, so that other work shows little in them.
"""

import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

import levelled as lv
from levelled_studies.bayes import DropoutClassifier, RadialClassifier
from levelled_studies.bayes.networks import build_network, prepare
from levelled_studies.bayes.posterior import one_thread
from levelled_studies.bayes.radial import RadialPosterior
from levelled_studies.bayes.training import AMSGrad, TrainingSet, loss
from levelled_studies.datasets import load_data
from levelled_studies.images.data import image_set
from levelled_studies.images.networks import classifier
from levelled_studies.images.settings import EPOCHS, PAPER

Step = Callable[[], object]
CLASSES = 10


class Loop(nn.Module):
    """The same network and loss, a sample at a time."""

    def __init__(self, side: int, samples: int) -> None:
        super().__init__()
        layers = build_network("cnn", (side, side, 1), CLASSES).layers
        shapes = [shape for each in layers for shape in (each.weight, (each.n_out,))]
        shapes = [(s[0], s[3], s[1], s[2]) if len(s) == 4 else s for s in shapes]
        self.mu = nn.ParameterList([0.05 * torch.randn(shape) for shape in shapes])
        self.rho = nn.ParameterList([torch.full(shape, -4.0) for shape in shapes])
        self.samples = samples

    def weights(self) -> list[Tensor]:
        drawn = []
        for mu, rho in zip(self.mu, self.rho, strict=True):
            noise = torch.randn_like(mu)
            sigma = functional.softplus(rho)
            drawn.append(mu + sigma * noise / noise.norm() * torch.randn(()))
        return drawn

    def loss(self, images: Tensor, label: Tensor, weight: Tensor) -> Tensor:
        total = torch.zeros(())
        for _ in range(self.samples):
            w1, b1, w2, b2, w3, b3, w4, b4 = drawn = self.weights()
            maps = functional.relu(functional.max_pool2d(functional.conv2d(images, w1, b1), 2))
            maps = functional.relu(functional.max_pool2d(functional.conv2d(maps, w2, b2), 2))
            rows = functional.relu(functional.linear(maps.flatten(1), w3, b3))
            logits = functional.linear(rows, w4, b4)
            nll = functional.cross_entropy(logits, label, reduction="none")
            prior = sum(each.square().sum() for each in drawn) / (2 * 0.25**2)
            total = total + (weight * nll).mean() + 0.1 * prior / len(label)
        entropy = sum(functional.softplus(rho).log().sum() for rho in self.rho)
        return total / self.samples - 0.1 * entropy / len(label)


def loop_step(side: int, batch: int, samples: int) -> Step:
    network = Loop(side, samples)
    optimiser = torch.optim.Adam(network.parameters(), lr=5e-4, weight_decay=1e-4, amsgrad=True)
    images, label = torch.randn(batch, 1, side, side), torch.arange(batch) % CLASSES

    def step() -> None:
        optimiser.zero_grad()
        network.loss(images, label, torch.ones(batch)).backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    return step


def batched_step(kind: str, side: int, batch: int, samples: int) -> Step:
    generator = torch.Generator().manual_seed(0)
    network = build_network(kind, (side, side, 1), CLASSES)
    mu = network.he(generator)
    theta = torch.stack([mu, torch.full_like(mu, -4.0)]).requires_grad_()
    posterior = RadialPosterior(network, theta, prior_scale=0.25, kl_scale=0.1)
    optimiser = AMSGrad(theta, learning_rate=5e-4, weight_decay=1e-4)
    images, label = torch.randn(batch, side, side, 1), torch.arange(batch) % CLASSES

    def step() -> None:
        examples = TrainingSet(prepare(network, images), label, torch.ones(batch))
        draw = posterior.draw(samples, batch, generator)
        met = loss(posterior, draw, examples, n_training=batch)
        optimiser.step(*torch.autograd.grad(met, theta))

    return step


@pytest.mark.parametrize("way", ["batched", "loop"])
def test_step_of_training(benchmark: Any, way: str) -> None:  # noqa: ANN401
    with one_thread():
        benchmark(batched_step("cnn", 28, 64, 8) if way == "batched" else loop_step(28, 64, 8))


def best_times(*steps: Step, repeats: int = 15) -> list[float]:
    """Least seconds of each, taken in turns."""
    times = np.full((repeats, len(steps)), np.inf)
    for step in steps:
        step()
    for turn in range(repeats):
        for at, step in enumerate(steps):
            start = time.process_time()
            step()
            times[turn, at] = time.process_time() - start
    return [float(each) for each in times.min(axis=0)]


def fitted(kind: str, side: int, **settings: Any) -> RadialClassifier:  # noqa: ANN401
    images = np.random.default_rng(0).integers(0, 256, (20, side, side), dtype=np.uint8)
    return RadialClassifier(kind, max_steps=1, **settings).fit(images, np.arange(20) % CLASSES)


def pool(side: int) -> NDArray[np.uint8]:
    return np.random.default_rng(1).integers(0, 256, (3000, side, side), dtype=np.uint8)


def memory() -> None:
    model, images = fitted("cnn", 28), pool(28)
    model.sample_proba(images[:64], 8)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    samples = model.sample_proba(images, 100)
    took = time.process_time() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"3,000 images of 28 x 28, 100 samples: {took:.1f} s")
    print(f"extra memory {grown:.0f} MB, {samples.nbytes / 2**20:.0f} of it the result (< 500)")


def ratios() -> None:
    for side, batch in ((28, 64), (16, 64), (16, 40)):
        ours, theirs = best_times(batched_step("cnn", side, batch, 8), loop_step(side, batch, 8))
        print(
            f"cnn {side} x {side}, batch {batch}, 8 samples: batched {ours * 1e3:.1f} ms, loop "
            f"{theirs * 1e3:.1f} ms, {theirs / ours:.2f} times faster (>= 1.2)"
        )


def steps() -> None:
    print("\nms a step         batch  10      40      70")
    for kind, side in (("cnn", 28), ("cnn", 16), ("mlp", 28), ("mlp", 16)):
        for samples in (8, 4, 2):
            times = [best_times(batched_step(kind, side, b, samples))[0] for b in (10, 40, 70)]
            told = "".join(f"{each * 1e3:8.1f}" for each in times)
            print(f"{kind} {side}, {samples} samples  {told}")


def scoring() -> None:
    print("\ns to score 3,000 images  100 samples   20 samples")
    for kind, side in (("cnn", 16), ("mlp", 16), ("mlp", 28)):
        model, images = fitted(kind, side), pool(side)
        times = []
        for samples in (100, 20):
            start = time.process_time()
            model.sample_proba(images, samples)
            times.append(time.process_time() - start)
        print(f"{kind} {side}                 {times[0]:10.2f}{times[1]:13.2f}")


def accuracy(name: str, model: RadialClassifier | DropoutClassifier) -> None:
    """Trained on 1,000 balanced images, stopped early by 1,000 others."""
    data = load_data(name)
    X, y, X_test, y_test = (np.asarray(each) for each in (data.X, data.y, data.X_test, data.y_test))
    rng = np.random.default_rng(0)
    own = np.concatenate([rng.choice(np.flatnonzero(y == c), 100, False) for c in np.unique(y)])
    others = rng.choice(np.setdiff1d(np.arange(len(y)), own), 1000, replace=False)
    model.fit(X[own], y[own], validation=(X[others], y[others]))
    proba = model.predict_proba(X_test)
    draws = lv.Draws(np.arange(len(y_test)), 1 / np.arange(len(y_test), 0, -1.0), len(y_test))
    found = lv.metrics.calibration(y_test, proba, draws, proba, classes=model.classes_.tolist())
    hit = float(np.mean(model.classes_[proba.argmax(axis=1)] == y_test))
    checks = len(model.validation_losses_)
    print(
        f"{name}, {type(model).__name__}, seed {model.seed}: accuracy {hit:.4f}, calibration error "
        f"{found.error.value:.3f}, {checks * model.check_every} steps",
        flush=True,
    )


def paper() -> None:
    """One step of acquisition at the paper's size: train on the labels so far, score the pool."""
    rng = np.random.default_rng(0)
    images = image_set("mnist", size=PAPER.size, rng=rng)
    seconds = []
    for n_labels in (PAPER.start, PAPER.budget):
        own = rng.choice(len(images), n_labels, replace=False)
        model = classifier("cnn", PAPER, seed=0)
        start = time.process_time()
        model.fit(
            images.pool[own],
            images.pool_labels[own],
            validation=(images.validation, images.validation_labels),
        )
        trained = time.process_time()
        model.sample_proba(images.pool, PAPER.acquisition_samples)
        scored = time.process_time()
        n_steps = len(model.validation_losses_) * PAPER.epoch
        seconds.append((trained - start) / n_steps)
        print(
            f"{n_labels} labels: {n_steps:,} steps in {trained - start:.0f} s "
            f"({1e3 * seconds[-1]:.0f} ms each, validation included), {len(images):,} images "
            f"scored with {PAPER.acquisition_samples} samples in {scored - trained:.0f} s",
            flush=True,
        )
    checkpoints = (PAPER.budget - PAPER.start) // PAPER.every + 1
    networks = PAPER.budget - PAPER.start + 3 * checkpoints + 1
    most = networks * EPOCHS * PAPER.epoch
    hours = most * np.mean(seconds) / 3600
    print(f"a trajectory: {networks} networks, at most {most:,} steps, {hours:.1f} h of this core")


def main() -> None:
    if sys.argv[1:] == ["paper"]:
        paper()
        return
    if sys.argv[1:] == ["accuracy"]:
        for name in ("mnist", "fashion-mnist"):
            accuracy(name, RadialClassifier())
            accuracy(name, DropoutClassifier())
            accuracy(name, DropoutClassifier(consistent=True))
        return
    memory()
    with one_thread():
        ratios()
        steps()
        scoring()


if __name__ == "__main__":
    main()
