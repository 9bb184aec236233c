"""Figures 4b and 4c: overfitting bias of trained networks beside active learning bias."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from levelled.studies.images.loop import OBJECTIVES, TRAJECTORIES, Way, ways
from levelled.studies.images.pictures import against_labels, small_print
from levelled.studies.images.reading import Difference, Found, difference, read
from levelled.studies.images.settings import CPU, PAPER, SMOKE, ImageSettings
from levelled.studies.plots import BLACK, canvas, footnote, legend
from levelled.studies.study import Claim, Figure, Study
from levelled.studies.tables import verdict

__all__ = ["STUDIES"]

DATA = {"mnist": "4b", "fashion-mnist": "4c"}


def figures(table: pa.Table, settings: ImageSettings) -> Mapping[str, Figure]:
    """The overfitting bias of each objective, mean and standard error, and the other bias."""
    return {
        f"figure-{number}": _figure(read(table, Way(data)), settings)
        for data, number in DATA.items()
    }


def _figure(found: Found, settings: ImageSettings) -> Figure:
    figure, axes = canvas(height=3.0)
    axes.axhline(0, color=BLACK, linewidth=0.6)
    against_labels(axes, found.curves, "overfitting", shading="stderr")
    bias = found.curves["naive error"]
    axes.plot(
        bias.labels, bias.mean, color=BLACK, linestyle=(0, (4, 2)), label="active learning bias"
    )
    axes.set(xlabel="labels $M$", ylabel="bias (NLL)")
    legend(axes, "best")
    footnote(figure, f"{small_print(settings, len(found))}\nshading one standard error")
    return figure


def claims(table: pa.Table, settings: ImageSettings) -> list[Claim]:
    """Signs and sizes of the two biases."""
    found = {data: read(table, Way(data)) for data in DATA}
    return [
        *(_opposite(data, each) for data, each in found.items()),
        _similar(found["mnist"]),
        _dominates(found["fashion-mnist"]),
        _reduces(found["fashion-mnist"]),
    ]


def _mean(found: Found, series: str) -> Difference:
    return difference(found.series[series], np.zeros_like(found.series[series]))


def _opposite(data: str, found: Found) -> Claim:
    over = {name: _mean(found, f"{name} overfitting") for name in OBJECTIVES}
    bias = _mean(found, "naive error")
    return Claim(
        f"overfitting-opposite-{data}",
        f"section 7, Figure {DATA[data]}",
        "Overfitting bias is positive and active learning bias negative.",
        f"{data}, mean over checkpoints: overfitting bias "
        + ", ".join(f"{each} ({name})" for name, each in over.items())
        + f"; active learning bias of a fixed network {bias}",
        verdict([*(each.shows(1) for each in over.values()), bias.shows(-1)]),
        bias.reach,
    )


def _ratio(found: Found) -> float:
    over, bias = _mean(found, "naive overfitting"), _mean(found, "naive error")
    return over.mean / -bias.mean


def _similar(found: Found) -> Claim:
    ratio = _ratio(found)
    return Claim(
        "overfitting-similar-mnist",
        "section 7, Figures 2b and 4b",
        "On MNIST the two biases are of similar scale and partly cancel.",
        f"overfitting bias of the naive network is {ratio:.1f} times the active learning bias, "
        f"of the opposite sign",
        "holds" if 1 / 3 <= ratio <= 3 else "does not hold",
        "Similar: within a factor of three.",
    )


def _dominates(found: Found) -> Claim:
    ratio = _ratio(found)
    held = abs(ratio) > 3
    return Claim(
        "overfitting-dominates-fashion",
        "section 7, Figures 2c and 4c",
        "On FashionMNIST the overfitting bias is much larger than the active learning bias.",
        f"{abs(ratio):.1f} times as large",
        "holds" if held else "does not hold",
        "Much larger: more than three times.",
    )


def _reduces(found: Found) -> Claim:
    less = difference(found.series["naive overfitting"], found.series["LURE overfitting"])
    return Claim(
        "overfitting-reduced-fashion",
        "section 7, Figure 4c, caption",
        "On FashionMNIST training with R_LURE overfits less than naive training.",
        f"overfitting bias, naive - LURE: {less}",
        less.verdict(sign=1),
        less.reach,
    )


STUDIES = {
    "image-overfitting": Study(
        name="image-overfitting",
        title="Figures 4b and 4c: overfitting bias of networks beside active learning bias",
        presets={"smoke": SMOKE, "cpu": CPU, "paper": PAPER},
        tasks=lambda settings: [task for data in DATA for task in ways(Way(data), settings)],
        run=TRAJECTORIES,
        figures=figures,
        claims=claims,
    )
}
