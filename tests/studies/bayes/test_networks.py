import pytest

pytest.importorskip("torch")

import torch

from levelled.errors import InputError
from levelled_studies.bayes.networks import build_network


def test_the_paper_s_networks_have_its_number_of_weights() -> None:
    assert build_network("cnn", (28, 28, 1), 10).n_weights == 80_202
    assert build_network("mlp", (28, 28, 1), 10).n_weights == 784 * 50 + 50 + 50 * 10 + 10


def test_small_and_coloured_images_fit_too() -> None:
    assert build_network("cnn", (16, 16, 1), 10).layers[2].weight == (128, 32)
    assert build_network("cnn", (32, 20, 3), 2).layers[0].weight == (16, 5, 5, 3)
    assert build_network("cnn", (32, 20, 3), 2).layers[2].weight == (128, 32 * 5 * 2)


@pytest.mark.parametrize("shape", [(14, 14, 1), (28, 15, 1), (1, 1, 1)])
def test_images_too_small_for_the_convolutions_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=f"{shape[0]} x {shape[1]} pixels"):
        build_network("cnn", shape, 10)


def test_a_network_nobody_knows_is_refused() -> None:
    with pytest.raises(InputError, match=r"network.*mlp.*'resnet'"):
        build_network("resnet", (28, 28, 1), 10)


def test_initial_weights_have_he_s_variance_and_biases_are_zero(seed: int) -> None:
    network = build_network("mlp", (400,), 3)
    weight, bias, *_ = torch.split(network.he(torch.Generator().manual_seed(seed)), network.sizes)
    scaled = float(weight.double().square().sum()) * 400 / 2  # chi-squared of 20,000
    n, t = weight.numel(), 17.0
    # Laurent and Massart (2000), lemma 1: each side is left with probability at most exp(-t).
    assert -2 * (n * t) ** 0.5 <= scaled - n <= 2 * (n * t) ** 0.5 + 2 * t
    assert not bias.any()
