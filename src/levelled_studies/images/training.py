"""Figures 3b to 3f, 8 and 10: networks trained with naive, PURE and LURE weights."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

import numpy as np
import pyarrow as pa

from levelled._check import choice
from levelled_studies.images.data import Data
from levelled_studies.images.loop import TRAJECTORIES, Way
from levelled_studies.images.networks import Kind
from levelled_studies.images.pictures import QUANTITIES, Width, performance
from levelled_studies.images.reading import SLIGHT, WayRuns, difference, read
from levelled_studies.images.settings import CPU, PAPER, SMOKE, ImageSettings
from levelled_studies.images.shared import small_print, tasks
from levelled_studies.study import Claim, Plot, Ruling, Study
from levelled_studies.tables import judge

__all__ = ["STUDIES", "TrainingSettings"]

FIGURES = {
    ("mnist", "cnn"): ("MNIST, unbalanced", "3b and 8a", "3c and 8b"),
    ("fashion-mnist", "cnn"): ("FashionMNIST, unbalanced", "3d", "10a"),
    ("mnist", "dropout"): ("MNIST, MC dropout", "3e", "10b"),
    ("mnist-balanced", "cnn"): ("MNIST, balanced", "3f", "10c"),
    ("mnist", "mlp"): ("MNIST, 50-unit MLP", "10d", "10e"),
}
"""The name of each setting, and where the paper shows its test loss and its accuracy."""


@dataclass(frozen=True, slots=True)
class TrainingSettings(ImageSettings):
    """Which images, and which network."""

    data: str = "mnist"
    network: str = "cnn"

    def __post_init__(self) -> None:
        ImageSettings.__post_init__(self)
        choice("--data", self.data, get_args(Data))
        choice("--network", self.network, get_args(Kind))

    @property
    def way(self) -> Way:
        """The kind of its trajectories."""
        return Way(self.data, self.network)

    @property
    def titles(self) -> tuple[str, str, str]:
        """Its name, and the paper's figures of its test loss and accuracy, if there are any."""
        ours = f"{self.data}, {self.network}"
        named, *shown = FIGURES.get((self.data, self.network), (ours, "", ""))
        loss, accuracy = (f"section 6, Figure {one}" if one else "ours" for one in shown)
        return named, loss, accuracy


def figures(table: pa.Table, settings: TrainingSettings) -> Mapping[str, Plot]:
    """Test loss and accuracy with standard deviations, and again with standard errors."""
    runs = read(table, settings.way).curves
    named, *_ = settings.titles
    endings: dict[Width, str] = {"sd": "", "stderr": "-standard-errors"}
    return {
        f"{what}{ending}": performance(runs, what, named, settings.way, width=width)
        for width, ending in endings.items()
        for what in QUANTITIES
    }


def caption(settings: TrainingSettings) -> str:
    """The caption of the panels of one setting."""
    alone = "the paper gives no number here, and 45 for Figures 3b and 3c"
    return small_print(
        settings,
        [settings.way],
        "Means over trajectories; shading is one standard deviation, or one standard error where "
        "the panel says s.e.",
        paper_ran="the paper: 45" if settings.way == Way() else alone,
    )


def claims(table: pa.Table, settings: TrainingSettings) -> list[Claim]:
    """Training with corrected weights is worse, in loss and in accuracy, or nearly as good."""
    runs = read(table, settings.way)
    _, loss, accuracy = settings.titles
    name = f"{settings.data}-{settings.network}"
    return [
        _loss(runs, loss, name),
        _accuracy(runs, accuracy, name),
        _same_points(runs, loss),
    ]


def _loss(runs: WayRuns, where: str, name: str) -> Claim:
    naive = runs.series["naive nll"]
    lure, pure = (
        difference(runs.series[f"{name} nll"], naive, comparisons=2) for name in ("LURE", "PURE")
    )
    within = SLIGHT * float(naive.mean())
    return Claim(
        f"training-loss-{name}",
        where,
        "Training with R_LURE or R_PURE does not lower the test loss of networks, which is similar "
        "or slightly higher.",
        f"paired difference in NLL, mean over all checkpoints: LURE - naive {lure}, "
        f"PURE - naive {pure} (naive {naive.mean():.3f})",
        _neither(lure.above(-within), pure.above(-within)),
        f"Not lowered: by {within:.2g} at most; how much higher is not judged. {lure.reach}",
    )


def _accuracy(runs: WayRuns, where: str, name: str) -> Claim:
    naive = runs.series["naive accuracy"]
    lure, pure = (
        difference(runs.series[f"{name} accuracy"], naive, comparisons=2)
        for name in ("LURE", "PURE")
    )
    within = SLIGHT * float(naive.mean())
    return Claim(
        f"training-accuracy-{name}",
        where,
        "Training with R_LURE or R_PURE does not raise the test accuracy of networks, which is "
        "similar or slightly lower.",
        f"paired difference in accuracy, mean over all checkpoints: LURE - naive {lure}, "
        f"PURE - naive {pure} (naive {naive.mean():.3f})",
        _neither(lure.below(within), pure.below(within)),
        f"Not raised: by {within:.2g} at most; how much lower is not judged. {lure.reach}",
    )


def _neither(*each: Ruling) -> Ruling:
    return judge([one == "holds" for one in each], [one == "does not hold" for one in each])


def _same_points(runs: WayRuns, where: str) -> Claim:
    """Active learning learns at all: the last checkpoint beats the first."""
    last = runs.series["naive nll"][:, -1:]
    gain = difference(runs.series["naive nll"][:, :1], last)
    spread = float(np.std(last))
    return Claim(
        "training-learns",
        where,
        f"More points lower the test loss (from {runs.labels[0]} to {runs.labels[-1]} points).",
        f"naive NLL falls by {gain}; s.d. over trajectories at the end {spread:.3f}",
        gain.above(0),
    )


def _scale_settings(base: ImageSettings) -> TrainingSettings:
    return TrainingSettings(trajectories=base.trajectories, **base.made_of())  # type: ignore[arg-type]


STUDIES = {
    "image-training": Study(
        name="image-training",
        title="Figures 3b-3f, 8 and 10: networks trained with naive, PURE and LURE weights",
        presets={
            "smoke": _scale_settings(SMOKE),
            "cpu": _scale_settings(CPU),
            "paper": _scale_settings(PAPER),
        },
        tasks=lambda settings: tasks([settings.way], settings),
        run=TRAJECTORIES,
        figures=figures,
        claims=claims,
        caption=caption,
        variant=lambda settings: f"{settings.data}-{settings.network}",
    )
}
