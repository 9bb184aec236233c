"""Figures 3b to 3f, 8 and 10: networks trained with naive, PURE and LURE weights."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from levelled.studies.images.loop import TRAJECTORIES, Way, ways
from levelled.studies.images.pictures import loss_and_accuracy
from levelled.studies.images.reading import Found, difference, read
from levelled.studies.images.settings import CPU, PAPER, SMOKE, ImageSettings
from levelled.studies.study import Claim, Figure, Study

__all__ = ["STUDIES", "TrainingSettings"]

FIGURES = {
    ("mnist", "cnn"): ("3b, 3c and 8", "MNIST, unbalanced"),
    ("fashion-mnist", "cnn"): ("3d and 10a", "FashionMNIST, unbalanced"),
    ("mnist", "dropout"): ("3e and 10b", "MNIST, MC dropout"),
    ("mnist-balanced", "cnn"): ("3f and 10c", "MNIST, balanced"),
    ("mnist", "mlp"): ("10d and 10e", "MNIST, 50-unit MLP"),
}
"""The paper's figures of each setting, and its name."""


@dataclass(frozen=True, slots=True)
class TrainingSettings(ImageSettings):
    """Which images, and which network."""

    data: str = "mnist"
    network: str = "cnn"

    @property
    def way(self) -> Way:
        """How its trajectories go."""
        return Way(self.data, self.network)

    def told(self) -> tuple[str, str]:
        """The paper's figures of this setting, or that it is ours, and its name."""
        ours = (f"(ours: {self.data}, {self.network})", f"{self.data}, {self.network}")
        return FIGURES.get((self.data, self.network), ours)


def figures(table: pa.Table, settings: TrainingSettings) -> Mapping[str, Figure]:
    """Test loss and accuracy with standard deviations, and again with standard errors."""
    found = read(table, settings.way).curves
    named = settings.told()[1]
    return {
        "deviations": loss_and_accuracy(found, settings, named, shading="sd"),
        "standard-errors": loss_and_accuracy(found, settings, named, shading="stderr"),
    }


def claims(table: pa.Table, settings: TrainingSettings) -> list[Claim]:
    """Training with corrected weights is worse, in loss and in accuracy, or as good."""
    found = read(table, settings.way)
    where = f"section 6, Figures {settings.told()[0]}"
    name = f"{settings.data}-{settings.network}"
    return [_loss(found, where, name), _accuracy(found, where, name), _same_points(found, where)]


def _loss(found: Found, where: str, name: str) -> Claim:
    lure = difference(found.series["LURE nll"], found.series["naive nll"])
    pure = difference(found.series["PURE nll"], found.series["naive nll"])
    return Claim(
        f"training-loss-{name}",
        where,
        "Networks trained with R_LURE or R_PURE have a similar or slightly higher test loss.",
        f"paired difference in NLL, mean over all checkpoints: LURE - naive {lure}, "
        f"PURE - naive {pure} (naive {found.series['naive nll'].mean():.3f})",
        lure.verdict(sign=1),
        lure.reach,
    )


def _accuracy(found: Found, where: str, name: str) -> Claim:
    lure = difference(found.series["LURE accuracy"], found.series["naive accuracy"])
    return Claim(
        f"training-accuracy-{name}",
        where,
        "Networks trained with R_LURE have a similar or slightly lower test accuracy.",
        f"paired difference in accuracy, mean over all checkpoints: LURE - naive {lure} "
        f"(naive {found.series['naive accuracy'].mean():.3f})",
        lure.verdict(sign=-1),
        lure.reach,
    )


def _same_points(found: Found, where: str) -> Claim:
    """Active learning learns at all: the last checkpoint beats the first."""
    last = found.series["naive nll"][:, -1:]
    gain = difference(found.series["naive nll"][:, :1], last)
    spread = float(np.std(last))
    return Claim(
        "training-learns",
        where,
        f"More points lower the test loss (from {found.labels[0]} to {found.labels[-1]} points).",
        f"naive NLL falls by {gain}; s.d. over trajectories at the end {spread:.3f}",
        gain.verdict(sign=1),
    )


def _sized(base: ImageSettings) -> TrainingSettings:
    return TrainingSettings(trajectories=base.trajectories, **base.made_of())  # type: ignore[arg-type]


STUDIES = {
    "image-training": Study(
        name="image-training",
        title="Figures 3b-3f, 8 and 10: networks trained with naive, PURE and LURE weights",
        presets={"smoke": _sized(SMOKE), "cpu": _sized(CPU), "paper": _sized(PAPER)},
        tasks=lambda settings: ways(settings.way, settings),
        run=TRAJECTORIES,
        figures=figures,
        claims=claims,
        variant=lambda settings: f"{settings.data}-{settings.network}",
    )
}
