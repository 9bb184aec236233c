import numpy as np
import pytest
from scipy.special import erf

pytest.importorskip("torch")

import torch
from torch import Generator, Tensor
from torch.nn import functional

from bounds import hoeffding
from levelled._check import FloatArray
from levelled_studies.bayes.networks import Network, build_network, prepare
from levelled_studies.bayes.posterior import WeightSample
from levelled_studies.bayes.radial import RadialPosterior, radial_noise
from levelled_studies.bayes.training import TrainingSet, loss

ALARM = 1e-7  # a false alarm in ten million runs, of each test


def farthest(values: FloatArray, chances: FloatArray) -> float:
    """How far the share of values up to each lies from its chance, at the worst place."""
    order = np.argsort(values)
    n = len(values)
    above = np.arange(1, n + 1) / n - chances[order]
    below = chances[order] - np.arange(n) / n
    return float(max(above.max(), below.max()))


def drawn_noise(seed: int, sizes: list[int], n: int = 20_000) -> list[FloatArray]:
    noise = radial_noise(n, sizes, Generator().manual_seed(seed), dtype=torch.float64)
    return [each.numpy() for each in noise]


def test_the_direction_is_uniform_on_the_sphere(seed: int) -> None:
    (noise,) = drawn_noise(seed, [3])
    direction = noise / np.linalg.norm(noise, axis=1, keepdims=True)
    # Archimedes: each coordinate of a uniform point on the sphere is uniform in [-1, 1].
    # Massart (1990): the share strays farther than this anywhere with probability ALARM.
    bound = hoeffding(len(noise), comparisons=6, alarm=ALARM)
    slanted = np.array([[1, 1, 1], [1, -1, 1], [1, 1, -1]]) / np.sqrt(3)
    for axis in np.vstack([np.eye(3), slanted]):
        along = direction @ axis
        assert farthest(along, (along + 1) / 2) <= bound


@pytest.mark.parametrize("size", [1, 2, 50])
def test_the_norm_is_half_normal_in_any_number_of_dimensions(seed: int, size: int) -> None:
    (noise,) = drawn_noise(seed, [size])
    norm = np.linalg.norm(noise, axis=1)
    bound = hoeffding(len(noise), comparisons=1, alarm=ALARM)
    assert farthest(norm, erf(norm / np.sqrt(2))) <= bound


def test_gaussian_noise_would_not_pass_for_radial(seed: int) -> None:
    norm = np.linalg.norm(np.random.default_rng(seed).normal(size=(20_000, 50)), axis=1)
    assert farthest(norm, erf(norm / np.sqrt(2))) > hoeffding(20_000, comparisons=1, alarm=ALARM)


def test_tensors_and_samples_have_radii_of_their_own(seed: int) -> None:
    first, second = (np.linalg.norm(each, axis=1) for each in drawn_noise(seed, [4, 7]))
    middle = 0.6744897501960817  # the median of a half-normal number
    share = np.mean((first > middle) & (second > middle))
    after = np.mean((first[1:] > middle) & (first[:-1] > middle))
    bound = hoeffding(len(first) // 2, comparisons=3, alarm=ALARM)  # neighbours overlap
    np.testing.assert_allclose([share, after], 0.25, rtol=0, atol=bound)


def posterior(kind: str, side: int, seed: int, *, dtype: torch.dtype) -> RadialPosterior:
    network = build_network(kind, (side, side, 1), 3)
    mu = network.he(Generator().manual_seed(seed)).to(dtype)
    theta = torch.stack([mu, torch.full_like(mu, -1)])
    return RadialPosterior(network, theta, prior_scale=0.25, kl_scale=0.1)


def inputs(network: Network, n: int, seed: int, *, dtype: torch.dtype) -> Tensor:
    generator = Generator().manual_seed(seed)
    images = torch.randn(n, *network.input_shape, generator=generator, dtype=dtype)
    return prepare(network, images)


def test_weights_lie_around_their_means_at_the_noise_s_distance(seed: int) -> None:
    of = posterior("mlp", 4, seed, dtype=torch.float64)
    draw = of.draw(5, 1, Generator().manual_seed(seed))
    noise = radial_noise(5, of.network.sizes, Generator().manual_seed(seed), dtype=torch.float64)
    flat = torch.cat([each.flatten(1) for each in draw.tensors], dim=1)
    sigma = np.log1p(np.exp(-1.0))
    torch.testing.assert_close(flat, of.theta[0] + sigma * torch.cat(noise, dim=1))


def test_the_penalty_is_a_tenth_of_the_divergence(seed: int) -> None:
    of = posterior("mlp", 4, seed, dtype=torch.float64)
    draw = of.draw(5, 1, Generator().manual_seed(seed))
    squares = sum(float(each.square().sum()) for each in draw.tensors) / 5
    entropy = of.network.n_weights * np.log(np.log1p(np.exp(-1.0)))
    assert float(draw.penalty) == pytest.approx(0.1 * (squares / (2 * 0.25**2) - entropy))


def one_by_one(draw: WeightSample, images: Tensor) -> Tensor:
    """The network as one would write it, a sample at a time."""
    outputs = []
    for weights in zip(*draw.tensors, strict=True):
        rows = images.permute(0, 3, 1, 2)
        for weight, bias in zip(weights[::2], weights[1::2], strict=True):
            if weight.ndim == 4:
                rows = functional.conv2d(rows, weight.permute(0, 3, 1, 2), bias)
                rows = functional.relu(functional.max_pool2d(rows, 2))
            else:
                rows = functional.linear(rows.flatten(1), weight, bias)
                rows = functional.relu(rows) if weight is not weights[-2] else rows
        outputs.append(rows)
    return torch.stack(outputs)


@pytest.mark.parametrize(("kind", "side"), [("cnn", 28), ("cnn", 21), ("cnn", 16), ("mlp", 6)])
@pytest.mark.parametrize(("dtype", "off"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
def test_one_batched_pass_equals_the_loop_over_samples(
    kind: str, side: int, dtype: torch.dtype, off: float, seed: int
) -> None:
    of = posterior(kind, side, seed, dtype=dtype)
    draw = of.draw(4, 1, Generator().manual_seed(seed))
    images = torch.randn(3, side, side, 1, generator=Generator().manual_seed(seed), dtype=dtype)
    found, expected = of.logits(draw, prepare(of.network, images)), one_by_one(draw, images)
    assert found.shape == (4, 3, 3)
    assert float((found - expected).abs().max()) <= off * max(1, float(expected.abs().max()))


def loss_at(theta: Tensor, of: RadialPosterior, examples: TrainingSet, seed: int) -> Tensor:
    there = RadialPosterior(of.network, theta, prior_scale=0.25, kl_scale=of.kl_scale)
    draw = there.draw(3, len(examples), Generator().manual_seed(seed))
    return loss(there, draw, examples, n_training=7)


def some_examples(of: RadialPosterior, n: int, seed: int) -> TrainingSet:
    rows = inputs(of.network, n, seed, dtype=torch.float64)
    weight = torch.linspace(0.5, 2, n, dtype=torch.float64)
    return TrainingSet(rows, torch.arange(n) % 3, weight)


def test_gradients_agree_with_finite_differences(seed: int) -> None:
    of = posterior("mlp", 1, seed, dtype=torch.float64)
    examples = some_examples(of, 4, seed)
    theta = of.theta.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda there: loss_at(there, of, examples, seed), (theta,))


@pytest.mark.parametrize("side", [16, 20])
def test_gradients_of_convolutions_agree_with_finite_differences(side: int, seed: int) -> None:
    of = posterior("cnn", side, seed, dtype=torch.float64)
    of.kl_scale = 0  # a large sum whose rounding would hide the rest
    examples = some_examples(of, 2, seed)
    theta = of.theta.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(loss_at(theta, of, examples, seed), theta)
    generator = Generator().manual_seed(seed)
    sizes = of.network.sizes
    step = 1e-6
    for part in range(len(sizes)):  # along a random direction of each tensor's mu and rho
        for row in (0, 1):
            along = torch.zeros_like(of.theta)
            torch.split(along[row], sizes)[part].normal_(generator=generator)
            along /= along.norm()  # a short step, lest a maximum changes its place
            ahead = loss_at(of.theta + step * along, of, examples, seed)
            behind = loss_at(of.theta - step * along, of, examples, seed)
            slope = float(ahead - behind) / (2 * step)
            assert float((gradient * along).sum()) == pytest.approx(slope, rel=1e-5, abs=1e-8)
