import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import Generator, Tensor
from torch.nn import functional

from bounds import hoeffding
from levelled_studies.bayes.dropout import DropoutPosterior
from levelled_studies.bayes.networks import build_network, prepare
from levelled_studies.bayes.posterior import WeightSample


def posterior(
    kind: str, side: int, seed: int, *, rate: float = 0.3, consistent: bool = False
) -> DropoutPosterior:
    network = build_network(kind, (side, side, 1), 3)
    theta = network.he(Generator().manual_seed(seed)).double() + 0.01  # biases that are not 0
    return DropoutPosterior(network, theta, rate=rate, consistent=consistent)


def pictures(n: int, side: int, seed: int) -> Tensor:
    generator = Generator().manual_seed(seed)
    return torch.randn(n, side, side, 1, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("consistent", [False, True])
def test_a_unit_is_left_out_at_the_rate_and_others_make_up_for_it(
    consistent: bool, seed: int
) -> None:
    of = posterior("mlp", 4, seed, consistent=consistent)
    (factors,) = of.draw(2000, 10, Generator().manual_seed(seed)).tensors
    assert factors.shape == (2000, 1 if consistent else 10, 50)
    assert np.unique(factors.numpy()).tolist() == pytest.approx([0, 1 / 0.7])
    bound = hoeffding(factors.numel(), comparisons=1, alarm=1e-7)
    assert float((factors == 0).double().mean()) == pytest.approx(0.3, abs=bound)


def one_by_one(of: DropoutPosterior, draw: WeightSample, images: Tensor) -> Tensor:
    """The network as one would write it, a sample at a time, dropout right behind each layer."""
    flat = torch.split(of.theta.unsqueeze(0), of.network.sizes, dim=1)
    weights = [each[0] for each in of.network.shaped(flat)]
    outputs = []
    for factors in zip(*draw.tensors, strict=True):
        rows = images.permute(0, 3, 1, 2)
        for depth, factor in enumerate([*factors, torch.ones(1, 1, dtype=torch.float64)]):
            weight, bias = weights[2 * depth : 2 * depth + 2]
            if weight.ndim == 4:
                rows = functional.conv2d(rows, weight.permute(0, 3, 1, 2), bias)
                rows = functional.relu(functional.max_pool2d(rows * factor[..., None, None], 2))
            else:
                rows = functional.linear(rows.flatten(1), weight, bias) * factor
                rows = functional.relu(rows) if depth < len(factors) else rows
        outputs.append(rows)
    return torch.stack(outputs)


@pytest.mark.parametrize("consistent", [False, True])
@pytest.mark.parametrize(("kind", "side"), [("cnn", 28), ("cnn", 16), ("mlp", 6)])
def test_one_batched_pass_equals_the_loop_over_samples(
    kind: str, side: int, consistent: bool, seed: int
) -> None:
    of = posterior(kind, side, seed, consistent=consistent)
    images = pictures(3, side, seed)
    draw = of.draw(5, 3, Generator().manual_seed(seed))
    found = of.logits(draw, prepare(of.network, images))
    torch.testing.assert_close(found, one_by_one(of, draw, images), rtol=1e-10, atol=1e-10)


def test_a_consistent_sample_is_one_function_and_others_are_not(seed: int) -> None:
    same = pictures(1, 16, seed).expand(4, -1, -1, -1)
    for consistent in (True, False):
        of = posterior("cnn", 16, seed, consistent=consistent)
        draw = of.draw(6, 4, Generator().manual_seed(seed))
        found = of.logits(draw, prepare(of.network, same))
        agree = torch.allclose(found, found[:, :1].expand_as(found), atol=1e-5)
        assert agree is consistent
        assert not torch.allclose(found[0], found[1])


def test_without_dropout_all_samples_agree(seed: int) -> None:
    of = posterior("cnn", 16, seed, rate=0.0)
    draw = of.draw(3, 2, Generator().manual_seed(seed))
    found = of.logits(draw, prepare(of.network, pictures(2, 16, seed)))
    torch.testing.assert_close(found, found[:1].expand_as(found))
