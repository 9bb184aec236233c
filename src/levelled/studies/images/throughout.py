"""Figure 7: R_LURE throughout, for choosing the points as well as for training on them."""

from collections.abc import Mapping

import pyarrow as pa

from levelled.studies.images.loop import TRAJECTORIES, Way, ways
from levelled.studies.images.pictures import small_print
from levelled.studies.images.reading import Found, read, unpaired
from levelled.studies.images.settings import CPU, PAPER, SMOKE, ImageSettings
from levelled.studies.plots import COLOURS, Axes, band, canvas, footnote, legend
from levelled.studies.study import Claim, Figure, Study

__all__ = ["STUDIES"]

WAYS = {"naive": Way(), "LURE": Way(acquire="LURE")}
_PURPLE = "#7B3294"


def figures(table: pa.Table, settings: ImageSettings) -> Mapping[str, Figure]:
    """Test loss and accuracy of LURE training on points chosen either way, and of naive."""
    found = {acquire: read(table, way) for acquire, way in WAYS.items()}
    figure, (upper, lower) = canvas(rows=2, height=4.4)
    for axes, what, label in ((upper, "nll", "test NLL"), (lower, "accuracy", "test accuracy")):
        _curve(axes, found["naive"], f"naive {what}", COLOURS["naive"], "naive")
        _curve(axes, found["naive"], f"LURE {what}", COLOURS["LURE"], "LURE, points chosen naive")
        _curve(axes, found["LURE"], f"LURE {what}", _PURPLE, "LURE throughout")
        axes.set_ylabel(label)
        axes.margins(x=0.01)
    lower.set_xlabel("labels $M$")
    legend(upper, "upper right")
    footnote(figure, f"{small_print(settings)}\nshading one standard error")
    return {"figure-7": figure}


def _curve(axes: Axes, found: Found, series: str, colour: str, label: str) -> None:
    curve = found.curves[series]
    low, high = curve.mean - curve.stderr, curve.mean + curve.stderr
    band(axes, curve.labels, curve.mean, low, high, colour, label)


def claims(table: pa.Table, settings: ImageSettings) -> list[Claim]:
    """The choice of the acquisition objective does not matter much."""
    found = {acquire: read(table, way) for acquire, way in WAYS.items()}
    return [_nearly_identical(found, what) for what in ("nll", "accuracy")]


def _nearly_identical(found: Mapping[str, Found], what: str) -> Claim:
    one, other = (found[acquire].series[f"LURE {what}"] for acquire in ("LURE", "naive"))
    apart = unpaired(one, other)
    return Claim(
        f"throughout-{what}",
        "appendix C.2, Figure 7",
        "Training the acquisition network with R_LURE too has no significant effect "
        f"({'test loss' if what == 'nll' else 'test accuracy'}).",
        f"LURE-trained networks, LURE throughout less points chosen naive: {apart} "
        f"(naive choice {other.mean():.3f})",
        "does not hold" if apart.shows(1) or apart.shows(-1) else "holds",
        apart.reach,
    )


STUDIES = {
    "image-lure-throughout": Study(
        name="image-lure-throughout",
        title="Figure 7: R_LURE for choosing the points, too",
        presets={"smoke": SMOKE, "cpu": CPU, "paper": PAPER},
        tasks=lambda settings: [task for way in WAYS.values() for task in ways(way, settings)],
        run=TRAJECTORIES,
        figures=figures,
        claims=claims,
    )
}
