"""The panels that the figures of the image experiments are made of, all of one size."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from levelled._check import FloatArray, IntArray
from levelled.reports.plots import BLACK, COLOURS, DASHES, Axes, band, canvas
from levelled_studies.images.loop import Way
from levelled_studies.study import Plot
from levelled_studies.tables import Curve

__all__ = [
    "BIAS",
    "OWN",
    "QUANTITIES",
    "THROUGHOUT",
    "WIDTHS",
    "Width",
    "draw_band",
    "draw_line",
    "finish",
    "panel",
    "performance",
    "setting",
    "ticks",
]

Width = Literal["sd", "stderr"]
WIDTHS: dict[Width, str] = {"sd": "± s.d.", "stderr": "± s.e."}
"""The half-width of a band, and its name in a title."""
NETWORKS = {"cnn": "radial CNN", "dropout": "MC dropout CNN", "mlp": "radial MLP"}
QUANTITIES = {"nll": "test NLL", "accuracy": "test accuracy"}
BIAS, OWN, THROUGHOUT = "active learning bias", "the same, as in Figure 2", "LURE throughout"
"""The names of curves that some panels have beside the three of the objectives."""

_DASH_DOT = (0, (6, 1.5, 1, 1.5))
_LOOKS: dict[str, tuple[str, Any]] = {
    **{name: (COLOURS[name], DASHES[name]) for name in COLOURS},
    "PURE": (COLOURS["PURE"], (0, (3.5, 3.5))),  # so that as much is seen of LURE below it
    THROUGHOUT: ("#7B3294", _DASH_DOT),
    BIAS: (BLACK, _DASH_DOT),
    OWN: ("#666666", (0, (1, 1.5))),
}


def setting(way: Way, width: Width | None = None) -> str:
    """Which network and proposal, for the second line of a title, and what bands show.

    >>> setting(Way(network="mlp", proposal="5000"), "sd")
    'radial MLP, BALD at T = 5,000, ± s.d.'
    """
    text = [NETWORKS[way.network], f"BALD at T = {int(way.proposal):,}"]
    return ", ".join([*text, WIDTHS[width]] if width else text)


def panel(title: str, below: str, quantity: str) -> tuple[Plot, Axes]:
    """An empty panel; its title says of what data it is, and below that of what network."""
    figure, axes = canvas()
    axes.set_title(f"{title}\n{below}", fontsize=9, loc="left")
    axes.set_xlabel("labels $M$", fontsize=9)
    axes.set_ylabel(quantity, fontsize=9)
    axes.tick_params(labelsize=8)
    return figure, axes


def draw_band(axes: Axes, curve: Curve, name: str, *, width: Width) -> None:
    """A mean in a band, whose edges have the dashes of the mean so that bands can overlap."""
    colour, dashes = _LOOKS[name]
    half = getattr(curve, width)
    low, high = curve.mean - half, curve.mean + half
    band(axes, curve.labels, curve.mean, low, high, colour, name, dashes=dashes, edged=True)


def draw_line(axes: Axes, x: IntArray, y: FloatArray, name: str) -> None:
    """A curve without a band."""
    colour, dashes = _LOOKS[name]
    above = 2 if dashes == "-" else 3
    axes.plot(x, y, color=colour, linestyle=dashes, label=name, zorder=above)


def finish(figure: Plot, axes: Axes, labels: IntArray) -> Plot:
    """Set the ticks that all panels with this budget share, and put the legend below."""
    axes.set_xlim(labels[0], labels[-1])
    axes.set_xticks(ticks(int(labels[-1])))
    handles, names = axes.get_legend_handles_labels()
    figure.legend(
        handles,
        names,
        loc="outside lower center",
        ncols=3 if len(names) == 3 else 2,
        fontsize=8,
        frameon=False,
        handlelength=2.8,
    )
    return figure


def ticks(budget: int) -> IntArray:
    """Multiples of the largest power of ten that does not exceed the budget.

    >>> ticks(70), ticks(300)
    (array([10, 20, 30, 40, 50, 60, 70]), array([100, 200, 300]))
    """
    step = 10 ** (len(str(budget)) - 1)
    return np.arange(step, budget + 1, step)


def performance(
    curves: Mapping[str, Curve],
    what: str,
    data: str,
    way: Way,
    *,
    width: Width,
    limits: tuple[float, float] | None = None,
) -> Plot:
    """Test "nll" or "accuracy" of the networks trained with each objective."""
    quantity = QUANTITIES[what]
    figure, axes = panel(f"{data}: {quantity}", setting(way, width), quantity)
    for name in COLOURS:
        draw_band(axes, curves[f"{name} {what}"], name, width=width)
    axes.set_ylim(limits)
    return finish(figure, axes, curves[f"naive {what}"].labels)
