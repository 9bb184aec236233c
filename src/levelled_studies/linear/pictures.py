"""The curves that the linear figures are made of."""

from collections.abc import Mapping

from levelled.reports.plots import COLOURS, Axes, band
from levelled_studies.linear.data import POOL_COUNTS
from levelled_studies.linear.settings import LinearSettings
from levelled_studies.tables import Curve

__all__ = ["against_budget", "small_print"]


def against_budget(axes: Axes, series: Mapping[str, Curve], *, shading: str) -> None:
    """Each estimator against the number of labels, shaded by "sd" or by "quartiles"."""
    for name, colour in COLOURS.items():
        curve = series[name]
        if shading == "sd":
            centre, low, high = curve.mean, curve.mean - curve.sd, curve.mean + curve.sd
        else:
            centre, low, high = curve.median, curve.q25, curve.q75
        band(axes, curve.labels, centre, low, high, colour, name)
    axes.set_xlabel("labels $M$")
    axes.margins(x=0.01)


def small_print(settings: LinearSettings, budget: str = "M = 10 to 100", pool: str = "") -> str:
    """N, M, trajectories and seed of a figure."""
    size = pool or f"N = {sum(POOL_COUNTS)}"
    return f"{size}, {budget}, {settings.trajectories:,} trajectories, seed {settings.seed}"
