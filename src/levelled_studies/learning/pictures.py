"""The figure of a learning study: what weights change, a panel a case."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from levelled.reports.plots import BLACK, COLOURS, Axes, band, canvas, footnote, title
from levelled_studies.learning.reading import Found, read
from levelled_studies.learning.settings import LearningSettings, cases
from levelled_studies.learning.words import titled
from levelled_studies.study import Figure

__all__ = ["figures"]


def figures(table: pa.Table, settings: LearningSettings) -> Mapping[str, Figure]:
    """Test risk beside that of training without weights, one standard error shaded."""
    every = cases(settings)
    figure, panels = canvas(rows=len(every), height=0.9 + 1.15 * len(every))
    flat = np.atleast_1d(panels).tolist()
    for case, axes in zip(every, flat, strict=True):
        found = read(table, case)
        for name in ("PURE", "LURE"):
            _draw(axes, found, name)
        axes.axhline(0, color=BLACK, linewidth=0.6)
        axes.locator_params(axis="y", nbins=5)
        title(axes, titled(case))
    flat[-1].set_xlabel("labels $M$")
    flat[-1].set_xticks(settings.checkpoints)
    _legend(figure, flat[0])
    figure.supylabel("change of test risk by weights (%)", fontsize=8)
    footnote(figure, _small_print(settings))
    return {"gain": figure}


def _legend(figure: Figure, axes: Axes) -> None:
    """Above all panels, where no curve is."""
    figure.legend(
        *axes.get_legend_handles_labels(),
        loc="outside upper right",
        ncols=2,
        fontsize=7,
        frameon=False,
        handlelength=2.4,
    )


def _draw(axes: Axes, found: Found, name: str) -> None:
    change = found.change(name)
    value, error = 100 * change.value, 100 * change.stderr
    band(axes, found.labels, value, value - error, value + error, COLOURS[name], name)


def _small_print(settings: LearningSettings) -> str:
    return (
        f"{settings.trajectories} trajectories, pools of up to {settings.pool_size:,}, seed "
        f"{settings.seed}\n"
        "shading ±1 standard error; below 0 the weights help\n"
        "risk: Brier score of classifiers, squared error of regressions"
    )
