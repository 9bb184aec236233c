"""Figure 7: R_LURE throughout, for choosing the points as well as for training on them."""

from collections.abc import Mapping

import pyarrow as pa

from levelled_studies.images.loop import Way
from levelled_studies.images.pictures import (
    QUANTITIES,
    THROUGHOUT,
    draw_band,
    finish,
    panel,
    setting,
)
from levelled_studies.images.reading import SLIGHT, WayRuns, difference, read
from levelled_studies.images.settings import ImageSettings
from levelled_studies.images.shared import make_study, small_print
from levelled_studies.study import Claim, Plot
from levelled_studies.tables import would_decide

__all__ = ["STUDIES"]

WAYS = {"naive": Way(), "LURE": Way(acquire="LURE")}


def figures(table: pa.Table, settings: ImageSettings) -> Mapping[str, Plot]:
    """Test loss and accuracy of LURE training on points chosen either way, and of naive."""
    runs = {acquire: read(table, way) for acquire, way in WAYS.items()}
    return {what: _panel(runs, what) for what in QUANTITIES}


def _panel(runs: Mapping[str, WayRuns], what: str) -> Plot:
    quantity = QUANTITIES[what]
    figure, axes = panel(f"MNIST, unbalanced: {quantity}", setting(Way(), "stderr"), quantity)
    naive, lure = runs["naive"].curves, runs["LURE"].curves
    draw_band(axes, naive[f"naive {what}"], "naive", width="stderr")
    draw_band(axes, naive[f"LURE {what}"], "LURE", width="stderr")
    draw_band(axes, lure[f"LURE {what}"], THROUGHOUT, width="stderr")
    return finish(figure, axes, runs["naive"].labels)


def caption(settings: ImageSettings) -> str:
    """The caption of both panels."""
    return small_print(
        settings,
        WAYS.values(),
        "Means over trajectories; shading is one standard error. LURE throughout: a network "
        "trained with LURE chose the points, too.",
        paper_ran="the paper gives no number here, and 45 for Figures 3b and 3c",
    )


def claims(table: pa.Table, settings: ImageSettings) -> list[Claim]:
    """The choice of the acquisition objective does not matter much."""
    runs = {acquire: read(table, way) for acquire, way in WAYS.items()}
    return [_nearly_identical(runs, what) for what in ("nll", "accuracy")]


def _nearly_identical(runs: Mapping[str, WayRuns], what: str) -> Claim:
    one, other = (runs[acquire].series[f"LURE {what}"] for acquire in ("LURE", "naive"))
    apart, within = difference(one, other), SLIGHT * float(other.mean())
    return Claim(
        f"throughout-{what}",
        "appendix C.2, Figure 7",
        "Training the acquisition network with R_LURE too has no significant effect "
        f"({'test loss' if what == 'nll' else 'test accuracy'}).",
        f"LURE-trained networks, LURE throughout less points chosen naive, paired: {apart} "
        f"(naive choice {other.mean():.3f})",
        apart.negligible(within=within),
        f"Up to {within:.2g} either way counts as none. {apart.reach} If there is no difference, "
        f"{would_decide(apart.needed(within, sides=2))}.",
    )


STUDIES = {
    "image-lure-throughout": make_study(
        "image-lure-throughout",
        "Figure 7: R_LURE for choosing the points, too",
        WAYS.values(),
        figures,
        claims,
        caption,
    )
}
