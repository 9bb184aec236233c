"""Figure and claims of the study of the floor."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from levelled._check import FloatArray
from levelled._optional import optional
from levelled.reports.plots import BLACK, Axes, footnote
from levelled_studies.learning.settings import Case, FloorSettings, cases
from levelled_studies.regret import SURE, relative
from levelled_studies.study import Claim, Plot, Ruling
from levelled_studies.tables import Difference

__all__ = ["TRAINED", "FloorCell", "claims", "figures", "read_cells"]

WHERE = "Levelled, learning"
TRAINED = ("naive", "LURE", "share")
COST, WORST, CUT = 0.01, 0.05, 0.25
"""The most that a floor may cost training on average, and in a cell, and what it must cut off the
variance of evaluating."""
_COLOURS = ("#56B4E9", "#009E73", "#D55E00")


@dataclass(frozen=True, slots=True, eq=False)
class FloorCell:
    """One case after some labels: each floor beside the first, by trajectory."""

    title: str
    risks: Mapping[str, Mapping[float, FloatArray]]
    """Test risks by way of training and floor."""
    variance: Mapping[float, FloatArray]

    def training(self, floor: float, way: str = "share") -> Difference:
        """The change of the test risk from the first floor to this one."""
        own = self.risks[way]
        return relative(own[floor], own[min(own)])

    def evaluation(self, floor: float) -> Difference:
        """The change of the variance of R_LURE from the first floor to this one."""
        return relative(self.variance[floor], self.variance[min(self.variance)])


def read_cells(table: pa.Table, settings: FloorSettings) -> list[FloorCell]:
    """A cell for each case and number of labels."""
    rows = table.to_pylist()

    def column(name: str, case: Case, labels: int) -> dict[float, FloatArray]:
        chosen = {"labels": labels, **case._asdict()}
        own = [row for row in rows if chosen.items() <= row.items()]
        return {
            floor: np.array([row[name] for row in own if row["floor"] == floor])
            for floor in settings.floors
        }

    return [
        FloorCell(
            f"{case.title}, M = {labels}",
            {way: column(way, case, labels) for way in TRAINED},
            column("variance", case, labels),
        )
        for case in cases(settings)
        for labels in settings.checkpoints
    ]


def claims(table: pa.Table, settings: FloorSettings) -> list[Claim]:
    """For each floor above the first, what it costs and what it gains."""
    cells = read_cells(table, settings)
    return [
        claim
        for floor in settings.floors[1:]
        for claim in (_cost(cells, floor, settings), _gain(cells, floor, settings))
    ]


def _cost(cells: list[FloorCell], floor: float, settings: FloorSettings) -> Claim:
    changes = {cell.title: cell.training(floor) for cell in cells}
    mean = float(np.mean([one.mean for one in changes.values()]))
    shown = {name: one for name, one in changes.items() if one.mean > SURE * one.stderr}
    worst = max(shown.values(), key=lambda one: one.mean, default=None)
    plain, lure = (
        float(np.mean([cell.training(floor, way).mean for cell in cells]))
        for way in ("naive", "LURE")
    )
    listed = ", ".join(f"{name} {one.mean:+.1%}" for name, one in shown.items())
    return Claim(
        f"floor-{floor}-training",
        WHERE,
        f"Beside a floor of {settings.floors[0]}, one of {floor} raises the test risk of models "
        f"trained by the share by at most {COST:.0%} on average, and beyond two standard errors "
        f"nowhere by more than {WORST:.0%}.",
        f"{mean:+.1%} on average over {len(cells)} cells; beyond two standard errors in "
        f"{len(shown)}{f' ({listed})' if listed else ''}; trained plainly {plain:+.1%}, with the "
        f"weights of R_LURE {lure:+.1%}",
        _ruling(mean <= COST and (worst is None or worst.mean <= WORST)),
    )


def _gain(cells: list[FloorCell], floor: float, settings: FloorSettings) -> Claim:
    changes = {cell.title: cell.evaluation(floor).mean for cell in cells}
    mean, most = float(np.mean([*changes.values()])), max(changes, key=lambda name: changes[name])
    return Claim(
        f"floor-{floor}-evaluation",
        WHERE,
        f"Beside a floor of {settings.floors[0]}, one of {floor} lowers the variance with which "
        f"the same labels evaluate another model by at least {CUT:.0%} on average.",
        f"{mean:+.0%} on average over {len(cells)} cells, from {min(changes.values()):+.0%} to "
        f"{changes[most]:+.0%} ({most})",
        _ruling(mean <= -CUT),
    )


def _ruling(held: bool) -> Ruling:
    return "holds" if held else "does not hold"


def figures(table: pa.Table, settings: FloorSettings) -> Mapping[str, Plot]:
    """Changes of training and of evaluating, cell by cell, beside the first floor."""
    cells = read_cells(table, settings)
    figure = optional("matplotlib.figure", extra="plots").Figure(
        figsize=(6.4, 1.1 + 0.19 * len(cells)), layout="constrained"
    )
    left, right = figure.subplots(1, 2, sharey=True)
    for at, (floor, colour) in enumerate(zip(settings.floors[1:], _COLOURS, strict=False)):
        y = [row + 0.22 * (at - 1) for row in range(len(cells))]
        _draw(left, y, [cell.training(floor) for cell in cells], colour, f"floor {floor}")
        _draw(right, y, [cell.evaluation(floor) for cell in cells], colour, None)
    left.set_yticks(range(len(cells)), [cell.title for cell in cells], fontsize=6)
    left.set_ylim(len(cells) - 0.4, -0.6)
    left.set_xlabel("test risk of models\ntrained by the share (%)", fontsize=7)
    right.set_xlabel("variance of evaluating\nanother model (%)", fontsize=7)
    figure.legend(loc="outside upper center", ncols=3, fontsize=7, frameon=False)
    footnote(
        figure,
        f"change beside a floor of {settings.floors[0]}; {settings.trajectories} trajectories, ±1 "
        f"standard error",
    )
    return {"floor": figure}


def _draw(
    axes: Axes, y: list[float], changes: list[Difference], colour: str, label: str | None
) -> None:
    axes.errorbar(
        [100 * one.mean for one in changes],
        y,
        xerr=[100 * one.stderr for one in changes],
        fmt="o",
        color=colour,
        markersize=2.5,
        linewidth=0.8,
        label=label,
    )
    axes.axvline(0, color=BLACK, linewidth=0.5)
    axes.tick_params(axis="x", labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)
