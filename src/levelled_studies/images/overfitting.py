"""Figures 4b and 4c: overfitting bias of trained networks beside active learning bias."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from levelled.reports.plots import BLACK
from levelled_studies.images.loop import Way
from levelled_studies.images.pictures import BIAS, draw_band, finish, panel, setting
from levelled_studies.images.reading import WayRuns, difference, read
from levelled_studies.images.settings import ImageSettings
from levelled_studies.images.shared import make_study, small_print
from levelled_studies.objectives import WEIGHTS
from levelled_studies.study import Claim, Plot
from levelled_studies.tables import Difference, judge

__all__ = ["STUDIES"]

DATA = {"mnist": "4b", "fashion-mnist": "4c"}
_NAMES = {"mnist": "MNIST", "fashion-mnist": "FashionMNIST"}
TIMES = 3
"""Up to this factor two biases are of similar scale."""
_FIXED = (
    "The active learning bias is that of a network trained on the validation set, on points that "
    "other networks chose; that of Figures 2b and 2c, whose network chooses its own points, is "
    "larger (the claims of image-bias)."
)


def figures(table: pa.Table, settings: ImageSettings) -> Mapping[str, Plot]:
    """The overfitting bias of each objective, mean and standard error, and the other bias."""
    return {
        f"figure-{number}": _panel(read(table, Way(data)), _NAMES[data])
        for data, number in DATA.items()
    }


def _panel(runs: WayRuns, named: str) -> Plot:
    below = setting(Way(), "stderr")
    figure, axes = panel(f"{named}, unbalanced: overfitting bias", below, "bias (NLL)")
    axes.axhline(0, color=BLACK, linewidth=0.6)
    for name in WEIGHTS:
        draw_band(axes, runs.curves[f"{name} overfitting"], name, width="stderr")
    draw_band(axes, runs.curves[BIAS], BIAS, width="stderr")
    return finish(figure, axes, runs.labels)


def caption(settings: ImageSettings) -> str:
    """The caption of both panels."""
    return small_print(
        settings,
        map(Way, DATA),
        "Means over trajectories; shading is one standard error.",
        "Overfitting bias: test risk less R_LURE on what the network was trained on. Active "
        "learning bias: true risk less unweighted estimate, on the same points, for a network "
        "trained on four fifths of the validation set.",
        paper_ran="the paper: 150",
    )


def claims(table: pa.Table, settings: ImageSettings) -> list[Claim]:
    """Signs and sizes of the two biases."""
    runs = {data: read(table, Way(data)) for data in DATA}
    return [
        *(_opposite(data, each) for data, each in runs.items()),
        _similar(runs["mnist"]),
        _dominates(runs["fashion-mnist"]),
        _reduces(runs["fashion-mnist"]),
    ]


def _mean(runs: WayRuns, series: str, *, comparisons: int = 1) -> Difference:
    values = runs.series[series]
    return difference(values, np.zeros_like(values), comparisons=comparisons)


def _opposite(data: str, runs: WayRuns) -> Claim:
    over = {name: _mean(runs, f"{name} overfitting", comparisons=4) for name in WEIGHTS}
    bias = _mean(runs, "active learning bias", comparisons=4)
    positive = over.values()
    return Claim(
        f"overfitting-opposite-{data}",
        f"section 7, Figure {DATA[data]}",
        "Overfitting bias is positive and active learning bias negative.",
        f"{data}, mean over checkpoints: overfitting bias "
        + ", ".join(f"{each} ({name})" for name, each in over.items())
        + f"; active learning bias of a fixed network {bias}",
        judge(
            [*(each.shows(1) for each in positive), bias.shows(-1)],
            [*(each.shows(-1) for each in positive), bias.shows(1)],
        ),
        f"Overfitting bias is test risk less R_LURE, whose own error for the fixed network is "
        f"{_mean(runs, 'LURE error')}: the rare heavy points that a few trajectories never draw "
        f"look like overfitting. {bias.reach}",
    )


def _similar(runs: WayRuns) -> Claim:
    bias, most, least = _bias(runs), _excess(runs, TIMES), _excess(runs, 1 / TIMES)
    far = bias.shows(-1) and (most.shows(1) or least.shows(-1))
    return Claim(
        "overfitting-similar-mnist",
        "section 7, Figures 2b and 4b",
        "On MNIST the two biases are of similar scale and partly cancel.",
        _describe_both(runs),
        judge(
            [bias.shows(-1) and most.shows(-1) and least.shows(1)],
            [bias.shows(1) or far],
        ),
        f"Similar: within a factor of {TIMES}. {_FIXED}",
    )


def _dominates(runs: WayRuns) -> Claim:
    excess, other = _excess(runs, TIMES), _excess(runs, -TIMES)
    return Claim(
        "overfitting-dominates-fashion",
        "section 7, Figures 2c and 4c",
        "On FashionMNIST the overfitting bias is much larger than the active learning bias.",
        _describe_both(runs),
        judge(
            [excess.shows(1) and other.shows(1)],
            [excess.shows(-1) or other.shows(-1)],
        ),
        f"Much larger: more than {TIMES} times. {_FIXED}",
    )


def _describe_both(runs: WayRuns) -> str:
    over, bias = _mean(runs, "naive overfitting"), _mean(runs, "active learning bias")
    times = f", {-over.mean / bias.mean:.1f} times as much" if _bias(runs).shows(-1) else ""
    return f"overfitting bias of the naive network {over}, active learning bias {bias}{times}"


def _bias(runs: WayRuns) -> Difference:
    return _mean(runs, "active learning bias", comparisons=3)


def _excess(runs: WayRuns, times: float) -> Difference:
    """The overfitting bias less so many times an active learning bias that is negative."""
    size = -runs.series["active learning bias"]
    return difference(runs.series["naive overfitting"], times * size, comparisons=3)


def _reduces(runs: WayRuns) -> Claim:
    less = difference(runs.series["naive overfitting"], runs.series["LURE overfitting"])
    return Claim(
        "overfitting-reduced-fashion",
        "section 7, Figure 4c, caption",
        "On FashionMNIST training with R_LURE overfits less than naive training.",
        f"overfitting bias, naive - LURE: {less}",
        less.above(0),
        less.reach,
    )


STUDIES = {
    "image-overfitting": make_study(
        "image-overfitting",
        "Figures 4b and 4c: overfitting bias of networks beside active learning bias",
        map(Way, DATA),
        figures,
        claims,
        caption,
    )
}
