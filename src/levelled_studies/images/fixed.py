"""A fixed network that draws points of the test set to estimate its own risk."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from levelled._check import FloatArray, IntArray
from levelled.losses import log_loss
from levelled.samplers import race
from levelled.scores import bald
from levelled_studies.images.data import ImageSet
from levelled_studies.images.networks import classifier
from levelled_studies.images.settings import NetworkSettings
from levelled_studies.objectives import RUNNING

__all__ = ["FixedNetwork", "fixed_network", "risk_errors"]


@dataclass(frozen=True, slots=True, eq=False)
class FixedNetwork:
    """The losses of a network on the test images, and its BALD scores of them."""

    losses: FloatArray
    scores: FloatArray


def fixed_network(
    images: ImageSet, settings: NetworkSettings, *, train: int, rng: Generator
) -> FixedNetwork:
    """The network of Figure 2 as in appendix C.2, trained on `train` points of the pool."""
    chosen = rng.permutation(len(images))[:train]
    model = classifier("cnn", settings, seed=int(rng.integers(2**31))).fit(
        images.pool[chosen],
        images.pool_labels[chosen],
        validation=(images.validation, images.validation_labels),
    )
    return FixedNetwork(
        log_loss(images.test_labels, model.predict_proba(images.test), cap=50),
        bald(model.sample_proba(images.test, settings.acquisition_samples)),
    )


def risk_errors(
    losses: FloatArray, p: FloatArray, budgets: IntArray, trajectories: int, *, rng: Generator
) -> dict[str, FloatArray]:
    """True risk less each estimate, and the design ESS: [trajectories, budgets].

    Points are drawn without replacement in proportion to `p`.
    """
    budget = int(budgets[-1])
    seeds = rng.integers(2**31, size=trajectories)
    drawn = [race(p, budget, seed=int(seed), design=True, allow_zero=True) for seed in seeds]
    probability = np.stack([draws.probability for draws in drawn])
    seen = np.stack([losses[draws.index] for draws in drawn])
    at = budgets - 1
    series = {
        name: losses.mean() - running(seen, probability, len(losses))[:, at]
        for name, running in RUNNING.items()
    }
    dispersion = np.stack([(draws.design or {})["dispersion"] for draws in drawn])
    m = np.arange(1, budget + 1)
    return series | {"design ESS": (m**2 / np.cumsum(dispersion, axis=1))[:, at]}
