"""The rules of the claims on the share, as the ledger states them."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import stats

from levelled._check import FloatArray
from studies.rules.reading import ALARM, shown, yes

__all__ = ["judge_share", "ratio"]

Risks = Mapping[str, FloatArray]
"""Test risks by way of training, [trajectories]."""


def ratio(risks: FloatArray, base: FloatArray) -> tuple[float, float]:
    """The ratio of mean risks less one, with the standard error of the linearised ratio."""
    value = risks.mean() / base.mean()
    residual = (risks - value * base) / base.mean()
    return float(value - 1), float(residual.std(ddof=1) / np.sqrt(len(risks)))


def regret(cell: Risks) -> float:
    """The mean risk of the share beside the better of naive and LURE."""
    best = min(cell["naive"].mean(), cell["LURE"].mean())
    return float(cell["share"].mean() / best - 1)


def judge_share(cells: Sequence[Risks], claim: str, *, worst: float) -> str:
    """The verdict on one of the five claims; `worst` is the limit of a single cell."""
    regrets = np.array([regret(cell) for cell in cells])
    if claim == "share-mean":
        return yes(regrets.mean() <= 0)
    if claim == "share-worst":
        return yes(regrets.max() <= worst and np.sum(regrets > 0.02) <= 0.03 * len(cells))
    if claim == "share-naive":
        beside = [ratio(cell["share"], cell["naive"]) for cell in cells]
        worse = [change for change, error in beside if change > 2 * error]
        return yes(len(worse) <= 0.05 * len(cells) and max(worse, default=0) <= 0.01)
    other = {"share-control": "shuffled", "share-verdict": "verdict"}[claim]
    return lower([ratio(cell["share"], cell[other]) for cell in cells], len(cells[0]["share"]))


def lower(changes: Sequence[tuple[float, float]], n: int) -> str:
    """The changes are shown to be below 0; one comparison a cell."""
    t = stats.t.ppf(1 - ALARM / (2 * len(changes)), n - 1)
    return shown(
        (change + t * error < 0 for change, error in changes),
        (change - t * error > 0 for change, error in changes),
    )
