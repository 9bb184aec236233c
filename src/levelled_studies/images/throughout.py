"""Figure 7: R_LURE throughout, for choosing the points as well as for training on them."""

from collections.abc import Mapping

import pyarrow as pa

from levelled_studies.images.loop import Way
from levelled_studies.images.pictures import (
    QUANTITIES,
    THROUGHOUT,
    finished,
    panel,
    setting,
    shaded,
)
from levelled_studies.images.reading import SLIGHT, Found, difference, read
from levelled_studies.images.settings import ImageSettings
from levelled_studies.images.shared import shared, small_print
from levelled_studies.study import Claim, Figure

__all__ = ["STUDIES"]

WAYS = {"naive": Way(), "LURE": Way(acquire="LURE")}


def figures(table: pa.Table, settings: ImageSettings) -> Mapping[str, Figure]:
    """Test loss and accuracy of LURE training on points chosen either way, and of naive."""
    found = {acquire: read(table, way) for acquire, way in WAYS.items()}
    return {what: _panel(found, what) for what in QUANTITIES}


def _panel(found: Mapping[str, Found], what: str) -> Figure:
    quantity = QUANTITIES[what]
    figure, axes = panel(f"MNIST, unbalanced: {quantity}", setting(Way(), "stderr"), quantity)
    naive, lure = found["naive"].curves, found["LURE"].curves
    shaded(axes, naive[f"naive {what}"], "naive", width="stderr")
    shaded(axes, naive[f"LURE {what}"], "LURE", width="stderr")
    shaded(axes, lure[f"LURE {what}"], THROUGHOUT, width="stderr")
    return finished(figure, axes, found["naive"].labels)


def caption(settings: ImageSettings) -> str:
    """Of both panels."""
    return small_print(
        settings,
        WAYS.values(),
        "Means over trajectories; shading is one standard error.",
        "Networks trained naive and with LURE, on points that a network trained naive chose; and "
        "LURE throughout, on points that a network trained with LURE chose.",
        paper_ran="the paper gives no number here, and 45 for Figures 3b and 3c",
    )


def claims(table: pa.Table, settings: ImageSettings) -> list[Claim]:
    """The choice of the acquisition objective does not matter much."""
    found = {acquire: read(table, way) for acquire, way in WAYS.items()}
    return [_nearly_identical(found, what) for what in ("nll", "accuracy")]


def _nearly_identical(found: Mapping[str, Found], what: str) -> Claim:
    one, other = (found[acquire].series[f"LURE {what}"] for acquire in ("LURE", "naive"))
    apart, within = difference(one, other), SLIGHT * float(other.mean())
    return Claim(
        f"throughout-{what}",
        "appendix C.2, Figure 7",
        "Training the acquisition network with R_LURE too has no significant effect "
        f"({'test loss' if what == 'nll' else 'test accuracy'}).",
        f"LURE-trained networks, LURE throughout less points chosen naive, paired: {apart} "
        f"(naive choice {other.mean():.3f})",
        apart.negligible(within=within),
        f"Up to {within:.2g} either way counts as none. {apart.reach}",
    )


STUDIES = {
    "image-lure-throughout": shared(
        "image-lure-throughout",
        "Figure 7: R_LURE for choosing the points, too",
        WAYS.values(),
        figures,
        claims,
        caption,
    )
}
