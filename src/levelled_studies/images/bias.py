"""Figures 2b, 2c and 5b: risk estimates for a fixed network, from points drawn by BALD."""

from dataclasses import asdict, replace

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.estimators.running import running_lure, running_naive, running_pure
from levelled.losses import log_loss
from levelled.proposals import boltzmann, mixture
from levelled.samplers import race
from levelled.scores import bald
from levelled_studies.images.bias_report import DATA, FLOOR, TEMPERATURE, caption, claims, figures
from levelled_studies.images.data import image_set
from levelled_studies.images.networks import classifier
from levelled_studies.images.settings import PAPER, SMOKE, BiasSettings, NetworkSettings
from levelled_studies.study import Study
from levelled_studies.tables import summarised

__all__ = ["STUDIES"]

_RUNNING = {"naive": running_naive, "PURE": running_pure, "LURE": running_lure}


def run(settings: BiasSettings, task: str, rng: Generator) -> pa.Table:
    """The error of each estimate after each budget, with BALD's proposal and with a floor."""
    images = image_set(task, size=settings.size, rng=rng, most=settings.images)
    chosen = rng.permutation(len(images))[: settings.train]
    seed = int(rng.integers(2**31))
    model = classifier("cnn", settings, len(chosen), copies=1, seed=seed).fit(
        images.pool[chosen],
        images.pool_labels[chosen],
        validation=(images.validation, images.validation_labels),
    )
    losses = log_loss(images.test_labels, model.predict_proba(images.test), cap=50)
    scores = bald(model.sample_proba(images.test, settings.acquisition_samples))
    bare = boltzmann(scores, TEMPERATURE, normalise="sum", allow_zero=True)
    parts = []
    for proposal, p in {"BALD": bare, "floor": mixture(bare, FLOOR)}.items():
        table = summarised(_errors(losses, p, settings, rng), _budgets(settings))
        for column, value in (("proposal", proposal), ("data", task)):
            table = table.add_column(0, column, [[value] * len(table)])
        parts.append(table.append_column("risk", [[float(losses.mean())] * len(table)]))
    return pa.concat_tables(parts)


def _errors(
    losses: FloatArray, p: FloatArray, settings: BiasSettings, rng: Generator
) -> dict[str, FloatArray]:
    """True risk less each estimate, and the design ESS: [trajectories, budgets]."""
    seeds = rng.integers(2**31, size=settings.trajectories)
    drawn = [
        race(p, settings.budget, seed=int(seed), design=True, allow_zero=True) for seed in seeds
    ]
    probability = np.stack([draws.probability for draws in drawn])
    seen = np.stack([losses[draws.index] for draws in drawn])
    at = _budgets(settings) - 1
    series = {
        name: losses.mean() - running(seen, probability, len(losses))[:, at]
        for name, running in _RUNNING.items()
    }
    dispersion = np.stack([_dispersion(draws) for draws in drawn])
    m = np.arange(1, settings.budget + 1)
    return series | {"design ESS": (m**2 / np.cumsum(dispersion, axis=1))[:, at]}


def _dispersion(draws: Draws) -> FloatArray:
    return (draws.design or {})["dispersion"]


def _budgets(settings: BiasSettings) -> IntArray:
    return np.arange(10, settings.budget + 1, 10)


def _sized(base: NetworkSettings, **own: int) -> BiasSettings:
    names = asdict(NetworkSettings()).keys() - {"trajectories"}
    return replace(BiasSettings(), **{name: getattr(base, name) for name in names} | own)


STUDIES = {
    "image-bias": Study(
        name="image-bias",
        title="Figures 2b, 2c and 5b: bias and variance of risk estimates for a fixed network",
        presets={
            "smoke": _sized(SMOKE, images=2000, trajectories=20, train=30, budget=30),
            "cpu": _sized(PAPER, steps=1000, check_every=50, patience=5),
            "paper": _sized(PAPER),
        },
        tasks=lambda settings: list(DATA),
        run=run,
        figures=figures,
        claims=claims,
        caption=caption,
    )
}
