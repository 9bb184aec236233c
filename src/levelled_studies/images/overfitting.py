"""Figures 4b and 4c: overfitting bias of trained networks beside active learning bias."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from levelled._check import FloatArray
from levelled.reports.plots import BLACK
from levelled_studies.images.loop import OWN_TRAIN, Way
from levelled_studies.images.pictures import BIAS, OWN, draw_band, finish, panel, setting
from levelled_studies.images.reading import WayRuns, difference, read, read_own
from levelled_studies.images.settings import ImageSettings
from levelled_studies.images.shared import make_study, small_print
from levelled_studies.objectives import WEIGHTS
from levelled_studies.study import Claim, Plot
from levelled_studies.tables import Difference, curves, judge, summarise

__all__ = ["STUDIES"]

DATA = {"mnist": "4b", "fashion-mnist": "4c"}
_NAMES = {"mnist": "MNIST", "fashion-mnist": "FashionMNIST"}
TIMES = 3
"""Up to this factor two biases are of similar scale."""
OURS = "same"
_AS_IN_2 = (
    f"The active learning bias is that of a network trained on {OWN_TRAIN:,} points, which chooses "
    f"its own among test images; its size and steps are those of Figure 4."
)
PAIRINGS = {
    "10000": ("", "as in Figure 2 at T = 10,000", _AS_IN_2),
    "proportional": (
        " (the authors' script)",
        "as in Figure 2 in proportion to BALD",
        _AS_IN_2,
    ),
    OURS: (
        " (ours)",
        "on the same points",
        "The active learning bias is that of a network trained on the validation set, on the "
        "points that the networks of Figure 4 were trained on.",
    ),
}
"""The biases that overfitting bias is compared with: a note for the place, a name, what it is."""
WAYS = [
    Way(data, proposal=proposal, acquire=acquire)
    for data in DATA
    for proposal, acquire in (("10000", "naive"), ("10000", "own"), ("proportional", "own"))
]


def figures(table: pa.Table, settings: ImageSettings) -> Mapping[str, Plot]:
    """The overfitting bias of each objective, mean and standard error, and the other biases."""
    return {f"figure-{number}": _panel(table, data) for data, number in DATA.items()}


def _panel(table: pa.Table, data: str) -> Plot:
    runs, own = read(table, Way(data)), read_own(table, Way(data, acquire="own"))
    below = setting(Way(), "stderr")
    figure, axes = panel(f"{_NAMES[data]}, unbalanced: overfitting bias", below, "bias (NLL)")
    axes.axhline(0, color=BLACK, linewidth=0.6)
    for name in WEIGHTS:
        draw_band(axes, runs.curves[f"{name} overfitting"], name, width="stderr")
    draw_band(axes, runs.curves[BIAS], BIAS, width="stderr")
    (curve,) = curves(summarise({OWN: own}, runs.labels)).values()
    draw_band(axes, curve, OWN, width="stderr")
    return finish(figure, axes, runs.labels)


def caption(settings: ImageSettings) -> str:
    """The caption of both panels."""
    return small_print(
        settings,
        map(Way, DATA),
        "Overfitting bias is test risk less R_LURE on the training points; active learning bias is "
        "true risk less naive estimate, of a network trained on the validation set on the same "
        "points, and as in Figure 2. Shading is one standard error.",
        paper_ran="the paper: 150",
    )


def claims(table: pa.Table, settings: ImageSettings) -> list[Claim]:
    """Signs and sizes of the two biases, which are compared in three ways."""
    runs = {data: read(table, Way(data)) for data in DATA}
    biases = {
        data: {
            name: runs[data].series[BIAS]
            if name == OURS
            else read_own(table, Way(data, proposal=name, acquire="own"))
            for name in PAIRINGS
        }
        for data in DATA
    }
    over = {data: runs[data].series["naive overfitting"] for data in DATA}
    return [
        *(_opposite(data, each) for data, each in runs.items()),
        *(_similar(name, over["mnist"], biases["mnist"][name]) for name in PAIRINGS),
        *(
            _dominates(name, over["fashion-mnist"], biases["fashion-mnist"][name])
            for name in PAIRINGS
        ),
        _reduces(runs["fashion-mnist"]),
    ]


def _mean(values: FloatArray, *, comparisons: int = 1) -> Difference:
    return difference(values, np.zeros_like(values), comparisons=comparisons)


def _opposite(data: str, runs: WayRuns) -> Claim:
    over = {name: _mean(runs.series[f"{name} overfitting"], comparisons=4) for name in WEIGHTS}
    bias = _mean(runs.series[BIAS], comparisons=4)
    return Claim(
        f"overfitting-opposite-{data}",
        f"section 7, Figure {DATA[data]}",
        "Overfitting bias is positive and active learning bias negative.",
        f"{_NAMES[data]}, mean over checkpoints: overfitting bias "
        + ", ".join(f"{each} ({name})" for name, each in over.items())
        + f"; active learning bias of a fixed network {bias}",
        judge(
            [*(each.shows(1) for each in over.values()), bias.shows(-1)],
            [*(each.shows(-1) for each in over.values()), bias.shows(1)],
        ),
        f"Overfitting bias is test risk less R_LURE, whose own error for the fixed network is "
        f"{_mean(runs.series['LURE error'])}: heavy points that a few trajectories never draw look "
        f"like overfitting. {bias.reach}",
    )


def _similar(name: str, over: FloatArray, bias: FloatArray) -> Claim:
    size = _mean(bias, comparisons=3)
    most, least = _excess(over, bias, TIMES), _excess(over, bias, 1 / TIMES)
    far = size.shows(-1) and (most.shows(1) or least.shows(-1))
    note, which, what = PAIRINGS[name]
    return Claim(
        f"overfitting-similar-mnist-{name}",
        f"section 7, Figures 2b and 4b{note}",
        "On MNIST the two biases are of similar scale and partly cancel.",
        _describe_both(over, bias, which),
        judge([size.shows(-1) and most.shows(-1) and least.shows(1)], [size.shows(1) or far]),
        f"Similar: within a factor of {TIMES}. {what}",
    )


def _dominates(name: str, over: FloatArray, bias: FloatArray) -> Claim:
    excess, other = _excess(over, bias, TIMES), _excess(over, bias, -TIMES)
    note, which, what = PAIRINGS[name]
    return Claim(
        f"overfitting-dominates-fashion-{name}",
        f"section 7, Figures 2c and 4c{note}",
        "On FashionMNIST the overfitting bias is much larger than the active learning bias.",
        _describe_both(over, bias, which),
        judge([excess.shows(1) and other.shows(1)], [excess.shows(-1) or other.shows(-1)]),
        f"Much larger: more than {TIMES} times. {what}",
    )


def _describe_both(over: FloatArray, bias: FloatArray, which: str) -> str:
    one, other = _mean(over), _mean(bias, comparisons=3)
    times = f" (ratio {-one.mean / other.mean:.1f})" if other.shows(-1) else ""
    return (
        f"overfitting bias of the naive network {one}, active learning bias {which} {other}{times}"
    )


def _excess(over: FloatArray, bias: FloatArray, times: float) -> Difference:
    """Overfitting bias less so many times an active learning bias that is negative."""
    return difference(over, -times * bias, comparisons=3)


def _reduces(runs: WayRuns) -> Claim:
    """A difference counts beyond the error of R_LURE, by which overfitting bias is measured."""
    less = difference(runs.series["naive overfitting"], runs.series["LURE overfitting"])
    own = _mean(runs.series["LURE error"])
    beyond = abs(own.mean)
    return Claim(
        "overfitting-reduced-fashion",
        "section 7, Figure 4c, caption",
        "On FashionMNIST training with R_LURE overfits less than naive training.",
        f"overfitting bias, naive - LURE: {less}",
        judge([less.mean - less.least > beyond], [less.mean + less.least < -beyond]),
        f"Both are inflated by R_LURE's own error, {own} for the fixed network: only a difference "
        f"beyond {beyond:.2g} would count. {less.reach}",
    )


STUDIES = {
    "image-overfitting": make_study(
        "image-overfitting",
        "Figures 4b and 4c: overfitting bias of networks beside active learning bias",
        WAYS,
        figures,
        claims,
        caption,
    )
}
