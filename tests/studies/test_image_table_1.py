"""Every value of the paper's Table 1, in the `paper` preset or in the parts that it uses.

The number of steps and the length of an epoch are tested with the presets themselves, AMSGrad and
the negative log likelihood in tests/bayes, one point an acquisition and BALD in test_image_values.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from levelled_studies import NAMES, find
from levelled_studies.bayes import RadialClassifier
from levelled_studies.bayes.networks import Network, build_network, pool
from levelled_studies.images import data
from levelled_studies.images.loop import Way
from levelled_studies.images.settings import PAPER, BiasSettings, NetworkSettings
from levelled_studies.study import Resumable

NETWORK: Network = build_network("cnn", (PAPER.size, PAPER.size, 1), 10)
FITTED = RadialClassifier(max_steps=1, training_samples=1).fit(
    np.random.default_rng(0).normal(size=(10, 28, 28)), np.arange(10)
)
IMAGES = [name for name in NAMES if name.startswith("image-")]


def initial_spread() -> float:
    """The standard deviation of every weight before training."""
    (spread,) = {round(value, 9) for value in _untrained()[1].tolist()}
    return math.log1p(math.exp(spread))


def _untrained() -> torch.Tensor:
    """Means and rhos after one step that is too short to be seen."""
    still = RadialClassifier(max_steps=1, learning_rate=1e-30, training_samples=1)
    theta = still.fit(np.random.default_rng(0).normal(size=(10, 28, 28)), np.arange(10)).posterior_
    return theta.theta.detach().double()


def maximum_of_squares() -> bool:
    """True if pooling takes the largest of 2 x 2 neighbours, and no less than 0."""
    maps = torch.arange(16.0).reshape(1, 1, 4, 4) - 8
    return bool(torch.equal(pool(maps).flatten(), torch.tensor([0.0, 0.0, 5.0, 7.0])))


TABLE_1: list[tuple[str, Callable[[], object], object]] = [
    ("architecture", lambda: Way().network, "cnn"),
    ("conv 1: 16 channels, 5x5 kernel, from 1", lambda: NETWORK.layers[0].weight, (16, 5, 5, 1)),
    ("conv 2: 32 channels, 5x5 kernel, from 16", lambda: NETWORK.layers[1].weight, (32, 5, 5, 16)),
    ("2x2 max pool, ReLU", maximum_of_squares, True),
    ("fully connected 1: 128 units", lambda: NETWORK.layers[2].weight, (128, 512)),
    ("fully connected 2: 10 units", lambda: NETWORK.layers[3].weight, (10, 128)),
    ("no other layers", lambda: len(NETWORK.layers), 4),
    ("inference: radial", lambda: type(FITTED.posterior_).__name__, "RadialPosterior"),
    ("learning rate", lambda: PAPER.learning_rate, 5e-4),
    ("batch size", lambda: PAPER.batch_size, 64),
    ("variational training samples", lambda: PAPER.training_samples, 8),
    ("variational test samples", lambda: PAPER.test_samples, 8),
    ("variational acquisition samples", lambda: PAPER.acquisition_samples, 100),
    ("early stopping patience", lambda: PAPER.patience, 20),
    ("starting points", lambda: PAPER.start, 10),
    ("temperature", lambda: Way().proposal, "10000"),
    ("initial mean: biases 0", lambda: float(_untrained()[0, 400:416].abs().max()) < 1e-20, True),
    (
        "initial standard deviation",
        lambda: round(initial_spread(), 6),
        round(math.log(1 + math.e**-4), 6),
    ),
    ("prior N(0, 0.25^2)", lambda: FITTED.prior_scale, 0.25),
    ("data set: unbalanced MNIST", lambda: Way().data, "mnist"),
    (
        "class ratios (C.2)",
        lambda: data.RATIOS.tolist(),
        [1.0, 0.5, 0.5, 0.2, 0.2, 0.2, 0.1, 0.1, 0.01, 0.01],
    ),
    ("noise (C.2)", lambda: data.NOISE, 0.1),
    ("share of the data (C.2)", lambda: data.SHARE, 0.25),
    ("validation split", lambda: data.N_VALIDATION, 1000),
    ("pixels", lambda: PAPER.size, 28),
    ("all images", lambda: PAPER.images, None),
    ("points between checkpoints (C.2)", lambda: PAPER.every, 3),
    ("samples of Figures 3b and 3c", lambda: PAPER.trajectories, 45),
    ("network of Figure 2b: 1,000 points", lambda: BiasSettings().train, 1000),
]


@pytest.mark.parametrize(
    ("value", "expected"), [row[1:] for row in TABLE_1], ids=[row[0] for row in TABLE_1]
)
def test_the_value_is_that_of_table_1(value: Callable[[], object], expected: object) -> None:
    assert value() == expected


@pytest.mark.parametrize("name", IMAGES)
def test_the_paper_preset_of_every_image_study_has_these_values(name: str) -> None:
    (study,) = find(name)
    preset = study.presets["paper"]
    assert isinstance(preset, NetworkSettings)
    for shared in ("learning_rate", "batch_size", "patience", "size", "images"):
        assert getattr(preset, shared) == getattr(PAPER, shared)
    for shared in ("training_samples", "test_samples", "acquisition_samples"):
        assert getattr(preset, shared) == getattr(PAPER, shared)
    if isinstance(study.run, Resumable):
        assert (preset.start, preset.every) == (PAPER.start, PAPER.every)  # type: ignore[attr-defined]


def test_the_initial_means_are_those_of_he() -> None:
    """Variance 2 / fan_in, here of the 65,536 weights of the first linear layer: fan_in 512.

    A normal sample of that size has a variance within 5% with all but a chance below 1e-18.
    """
    begin = sum(NETWORK.sizes[:4])
    weights = _untrained()[0, begin : begin + NETWORK.sizes[4]]
    assert float(weights.var()) == pytest.approx(2 / 512, rel=0.05)
