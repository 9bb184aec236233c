"""Figures 3b to 3f, 8 and 10: networks trained with naive, PURE and LURE weights."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pyarrow as pa

from levelled._check import choice
from levelled_studies.images.data import Data
from levelled_studies.images.loop import TRAJECTORIES, Way
from levelled_studies.images.networks import Kind
from levelled_studies.images.pictures import QUANTITIES, Width, performance
from levelled_studies.images.reading import SLIGHT, WayRuns, difference, read
from levelled_studies.images.settings import CPU, PAPER, SMALL, SMOKE, ImageSettings
from levelled_studies.images.shared import small_print, tasks
from levelled_studies.study import Claim, Plot, Ruling, Study
from levelled_studies.tables import Difference, judge, would_decide

__all__ = ["STUDIES", "TrainingSettings"]

FIGURES = {
    ("mnist", "cnn"): ("MNIST, unbalanced", "3b and 8a", "3c and 8b"),
    ("fashion-mnist", "cnn"): ("FashionMNIST, unbalanced", "3d", "10a"),
    ("mnist", "dropout"): ("MNIST, MC dropout", "3e", "10b"),
    ("mnist-balanced", "cnn"): ("MNIST, balanced", "3f", "10c"),
    ("mnist", "mlp"): ("MNIST, 50-unit MLP", "10d", "10e"),
}
"""The name of each setting, and where the paper shows its test loss and its accuracy."""
_WORSE = "Networks trained with R_LURE or R_PURE perform slightly worse (test loss)."
SAID = {
    ("mnist-cnn", "nll"): "Training with R_LURE or R_PURE has a small but significant negative "
    "impact on the test loss.",
    ("mnist-cnn", "accuracy"): "Training with R_LURE or R_PURE has a negative impact on the test "
    "accuracy.",
    ("fashion-mnist-cnn", "nll"): _WORSE,
    ("mnist-balanced-cnn", "nll"): _WORSE,
}
"""The paper's words on a difference, by setting and measure."""
SIMILAR = "mnist-dropout"
"""The setting in which the paper finds similar test losses."""


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
    """Training with corrected weights is worse, as the paper puts it, or at least not better."""
    runs = read(table, settings.way)
    _, *places = settings.titles
    name = f"{settings.data}-{settings.network}"
    text = []
    for measure, where in zip(MEASURES, places, strict=True):
        pair = _Pair.of(runs, measure, settings.size)
        text += [_as_said(pair, measure, where, name), _not_better(pair, measure, where, name)]
    return [*text, _same_points(runs, places[0])]


@dataclass(frozen=True, slots=True)
class _Measure:
    """A measure of test performance, and the words for it."""

    key: str
    name: str
    text: str
    worse: Literal[1, -1]
    """The sign of a difference to naive training that is for the worse."""
    change: str
    past: str
    slightly: str


MEASURES = (
    _Measure("nll", "NLL", "test loss", 1, "lower", "lowered", "higher"),
    _Measure("accuracy", "accuracy", "test accuracy", -1, "raise", "raised", "lower"),
)


@dataclass(frozen=True, slots=True)
class _Pair:
    """LURE and PURE beside naive, pair by pair, and the naive mean."""

    lure: Difference
    pure: Difference
    naive: float
    size: int

    @classmethod
    def of(cls, runs: WayRuns, measure: _Measure, size: int) -> "_Pair":
        naive = runs.series[f"naive {measure.key}"]
        lure, pure = (
            difference(runs.series[f"{name} {measure.key}"], naive, comparisons=2)
            for name in ("LURE", "PURE")
        )
        return cls(lure, pure, float(naive.mean()), size)

    def text(self, measure: _Measure) -> str:
        return (
            f"paired difference in {measure.name} at {self.size} pixels, mean over checkpoints: "
            f"LURE - naive {self.lure}, PURE - naive {self.pure} (naive {self.naive:.3f})"
        )

    def judge(self, rule: Callable[[Difference], Ruling]) -> Ruling:
        each = [rule(self.lure), rule(self.pure)]
        return judge([one == "holds" for one in each], [one == "does not hold" for one in each])


def _as_said(pair: _Pair, measure: _Measure, where: str, name: str) -> Claim:
    """The claim in the paper's words, judged by whether a difference shows."""
    similar = name == SIMILAR and measure.key == "nll"
    within = SLIGHT * pair.naive
    says = (
        f"Networks trained with R_LURE or R_PURE perform similarly ({measure.text})."
        if similar
        else SAID.get((name, measure.key), f"With R_LURE or R_PURE the {measure.text} is worse.")
    )
    ruling = (
        pair.judge(lambda each: each.negligible(within=within))
        if similar
        else pair.judge(lambda each: each.above(0) if measure.worse > 0 else each.below(0))
    )
    share = abs(pair.lure.mean) / pair.naive
    shown = f"Judged by whether a difference shows; it is {share:.1%} of the naive {measure.text}."
    needed = would_decide(*(each.needed(abs(each.mean)) for each in (pair.lure, pair.pure)))
    open_ = f" If it is as measured, {needed}." if ruling == "cannot tell" else ""
    return Claim(
        f"training-{measure.key}-as-said-{name}",
        where,
        says,
        pair.text(measure),
        ruling,
        f"Similar: up to {within:.2g} either way." if similar else shown + open_,
    )


def _not_better(pair: _Pair, measure: _Measure, where: str, name: str) -> Claim:
    within = SLIGHT * pair.naive
    kind = "loss" if measure.key == "nll" else measure.key
    return Claim(
        f"training-{kind}-{name}",
        f"{where} (with a margin)",
        f"Training with R_LURE or R_PURE does not {measure.change} the {measure.text} of networks, "
        f"which is similar or slightly {measure.slightly}.",
        pair.text(measure),
        pair.judge(lambda each: each.above(-within) if measure.worse > 0 else each.below(within)),
        f"Not {measure.past}: by {within:.2g} at most; how much {measure.slightly} is not judged. "
        f"{pair.lure.reach}",
    )


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


def _variant(settings: TrainingSettings) -> str:
    ending = "" if settings.size == SMALL else f"-{settings.size}"
    return f"{settings.data}-{settings.network}{ending}"


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
        variant=_variant,
    )
}
