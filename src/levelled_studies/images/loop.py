"""The active learning loop of appendix C.2, one draw a row."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.estimators import lure_weights
from levelled.losses import log_loss, zero_one
from levelled.proposals import uniform
from levelled.scores import bald
from levelled_studies.images.acquisition import propose
from levelled_studies.images.data import ImageSet, image_set
from levelled_studies.images.fixed import fixed_network, risk_errors
from levelled_studies.images.networks import classifier
from levelled_studies.images.settings import SMALL, ImageSettings
from levelled_studies.objectives import WEIGHTS
from levelled_studies.study import Resumable, Row

__all__ = ["OWN_BIAS", "OWN_TRAIN", "TRAJECTORIES", "Way", "steps"]

OWN_BIAS = "own bias"
OWN_TRAIN, OWN_RACES = 1000, 200
"""Points that a fixed network is trained on, and sets of points that it draws."""


@dataclass(frozen=True, slots=True)
class Way:
    """The kind of a trajectory: data, network, proposal and acquisition objective."""

    data: str = "mnist"
    network: str = "cnn"
    proposal: str = "10000"
    """The temperature of the Boltzmann proposal, or "proportional"."""
    acquire: str = "naive"
    """The objective of the network that chooses the points: "naive" or "LURE". "own" is not a
    trajectory of training: a fixed network chooses test points to estimate its own risk."""

    def task(self, number: int) -> str:
        """The name of the trajectory of that number.

        >>> Way().task(7)
        'mnist_cnn_10000_naive_007'
        """
        return f"{self.data}_{self.network}_{self.proposal}_{self.acquire}_{number:03d}"

    @classmethod
    def of(cls, task: str) -> "Way":
        """The kind of the trajectory of that name."""
        return cls(*task.split("_")[:-1])


def steps(settings: ImageSettings, task: str, rng: Generator, done: Sequence[Row]) -> Iterator[Row]:
    """The draws of a trajectory after those that are done, with tests of networks in between.

    Beside them goes the loss of a network that has seen none of the pool, trained on the
    validation set: on it the bias of active learning shows without that of overfitting.
    """
    way = Way.of(task)
    images = image_set(way.data, size=settings.size, rng=rng, most=settings.images)
    if way.acquire == "own":
        yield from _own_bias(task, settings, images, rng)[len(done) :]
        return
    seeds = rng.integers(2**31, size=(settings.budget + 1, 3))
    fixed = _fixed_losses(way, settings, images, int(seeds[0, 0]))
    index = [row["index"] for row in done]
    probability = [row["probability"] for row in done]
    for labels in range(len(done) + 1, settings.budget + 1):
        left = np.setdiff1d(np.arange(len(images)), index)
        draws = _draws(index, probability, len(images))
        proposal = _proposed(way, settings, images, draws, left, int(seeds[labels, 0]))
        at = np.random.default_rng(seeds[labels, 1]).choice(len(left), p=proposal.probability)
        index.append(int(left[at]))
        probability.append(float(proposal.probability[at]))
        row: Row = {
            "task": task,
            "labels": labels,
            "index": index[-1],
            "probability": probability[-1],
            "evenness": proposal.evenness,
            "spread": proposal.spread,
            "fixed_loss": float(fixed[index[-1]]),
            "fixed_risk": float(fixed.mean()),
            "pool_size": len(images),
        }
        if labels >= settings.start and (labels - settings.start) % settings.every == 0:
            draws = _draws(index, probability, len(images))
            row |= _checkpoint(way, settings, images, draws, int(seeds[labels, 2]))
        yield row


def _own_bias(
    task: str, settings: ImageSettings, images: ImageSet, rng: Generator
) -> Sequence[Row]:
    """The active learning bias of Figures 2b and 2c at each checkpoint: true less naive risk."""
    fixed = fixed_network(images, settings, train=OWN_TRAIN, rng=rng)
    p = propose(fixed.scores, Way.of(task).proposal)
    checkpoints = np.arange(settings.start, settings.budget + 1, settings.every)
    errors = risk_errors(fixed.losses, p, checkpoints, OWN_RACES, rng=rng)["naive"].mean(axis=0)
    return [
        {"task": task, "labels": int(labels), OWN_BIAS: float(error)}
        for labels, error in zip(checkpoints, errors, strict=True)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class _Proposed:
    """Probabilities of the points left, and how even they and their scores are."""

    probability: FloatArray
    evenness: float
    """exp(entropy) over the number of points left: 1 is uniform."""
    spread: float
    """The standard deviation of the scores over their mean."""


def _proposed(
    way: Way,
    settings: ImageSettings,
    images: ImageSet,
    draws: Draws,
    left: IntArray,
    seed: int,
) -> _Proposed:
    if len(draws) < settings.start:
        return _Proposed(uniform(len(left)), 1.0, 0.0)
    weights = lure_weights(draws) if way.acquire == "LURE" else None
    model = classifier(way.network, settings, seed=seed).fit(
        images.pool[draws.index],
        images.pool_labels[draws.index],
        sample_weight=weights,
        validation=(images.validation, images.validation_labels),
    )
    scores = bald(model.sample_proba(images.pool[left], settings.acquisition_samples))
    p = propose(scores, way.proposal)
    evenness = np.exp(-np.sum(p * np.log(np.maximum(p, 1e-300)))) / len(p)
    return _Proposed(p, float(evenness), float(scores.std() / scores.mean()))


def _checkpoint(
    way: Way, settings: ImageSettings, images: ImageSet, draws: Draws, seed: int
) -> Row:
    """Train a network with each objective on the same draws, from the same start, and test it."""
    row: Row = {}
    X, y = images.pool[draws.index], images.pool_labels[draws.index]
    for name, weights in WEIGHTS.items():
        model = classifier(way.network, settings, seed=seed).fit(
            X,
            y,
            sample_weight=None if weights is None else weights(draws),
            validation=(images.validation, images.validation_labels),
        )
        proba = model.predict_proba(images.test)
        row[f"{name} nll"] = float(log_loss(images.test_labels, proba, cap=50).mean())
        row[f"{name} accuracy"] = float(
            1 - zero_one(images.test_labels, proba.argmax(axis=1)).mean()
        )
        on_train = log_loss(y, model.predict_proba(X), cap=50)
        row[f"{name} trained"] = float(np.mean(lure_weights(draws) * on_train))
    return row


def _fixed_losses(way: Way, settings: ImageSettings, images: ImageSet, seed: int) -> FloatArray:
    """The losses on the pool of a network trained on four fifths of the validation set."""
    X, y = images.validation, images.validation_labels
    n = len(X) * 4 // 5
    model = classifier(way.network, settings, seed=seed).fit(
        X[:n], y[:n], validation=(X[n:], y[n:])
    )
    return log_loss(images.pool_labels, model.predict_proba(images.pool), cap=50)


def _draws(index: Sequence[int], probability: Sequence[float], pool_size: int) -> Draws:
    return Draws(np.array(index, np.int64), np.array(probability), pool_size)


def _made_of(settings: ImageSettings) -> dict[str, object]:
    return dict(settings.made_of())


def _stream(task: str) -> str:
    """Trajectories of a number share images, first points and seeds, however they go on.

    >>> _stream("mnist_cnn_proportional_naive_007")
    'mnist_cnn_10000_naive_007'
    """
    data, network, *_, number = task.split("_")
    return Way(data, network).task(int(number))


def _variant(settings: ImageSettings) -> str:
    """Images of 28 pixels are run beside those of 16."""
    return "" if settings.size == SMALL else f"-{settings.size}"


TRAJECTORIES = Resumable(
    "image-trajectories", steps, _made_of, _stream, version=2, variant=_variant
)
