"""The fourth rule of thumb (section 8): lines trained on a pool that the test data do not follow.

Test data differ from the pool in two ways: all inputs are moved, or the small cluster, which the
proposal draws most often, is more frequent. R_LURE corrects towards the pool in both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled.reports.numbers import with_error
from levelled.reports.plots import BLACK, COLOURS, DASHES, canvas, footnote, legend
from levelled_studies.linear import data, experiment
from levelled_studies.linear.pictures import small_print
from levelled_studies.linear.settings import BUDGETS, LinearSettings, presets
from levelled_studies.study import Claim, Plot, Row, Study
from levelled_studies.tables import verdict

__all__ = ["STUDIES", "ShiftSettings"]

AT = 30
MOVED, SHARE = "inputs moved by", "share of the small cluster"
_Z = 4.0
"""Standard errors from which on a difference is shown."""


@dataclass(frozen=True, slots=True)
class ShiftSettings(LinearSettings):
    """How far the test inputs are moved, and the shares of the small cluster among them."""

    moves: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.5)
    shares: tuple[float, ...] = (0.05, 0.1, 0.2, 0.35, 0.5)


def run(settings: ShiftSettings, task: str, rng: Generator) -> pa.Table:
    """Test errors of the lines fitted to 30 labels, on test data shifted by various amounts.

    `gain` is the test error of the naive line less that of R_LURE's, relative to the former;
    `shift_bias` is the error of the ideal line on the test data less that on the pool.
    """
    result = experiment.run(experiment.geometric(), settings, rng=rng)
    lines = {name: fits.line for name, fits in experiment.fit_lines(result).items()}
    at = int(np.flatnonzero(BUDGETS == AT)[0])
    ideal = data.best_line(result.pool)
    rows: list[Row] = []
    for shift in settings.moves if task == MOVED else settings.shares:
        test = _moved(shift) if task == MOVED else _with_share(shift)
        error = {name: test.risk(line)[:, at] for name, line in lines.items()}
        naive = float(error["naive"].mean())
        gain = (error["naive"] - error["LURE"]) / naive
        rows.append(
            {"kind": task, "shift": shift}
            | {name: float(each.mean()) for name, each in error.items()}
            | {"ideal": float(test.risk(ideal)), "gain": float(gain.mean())}
            | {"gain_se": float(gain.std(ddof=1) / np.sqrt(len(gain)))}
            | {"shift_bias": float(test.risk(ideal) - result.pool.risk(ideal))}
            | {"alb": float(experiment.risk_errors(result)["naive"][:, at].mean())}
        )
    return pa.Table.from_pylist(rows)


def _moved(by: float) -> data.Points:
    """The population with all inputs moved; labels follow the same curve."""
    x = data.unseen().x + by
    return data.Points(x, data.label(x))


def _with_share(share: float) -> data.Points:
    """As many points as the population has, with that share in the small cluster."""
    n = len(data.unseen())
    small = round(n * share)
    return data.place((small, (n - small) // 2, (n - small) // 2))


def figures(table: pa.Table, settings: ShiftSettings) -> Mapping[str, Plot]:
    """Test error against the size of the shift, a panel for each kind."""
    figure, panels = canvas(rows=2, height=4.0)
    for axes, kind in zip(panels, (MOVED, SHARE), strict=True):
        rows = _of(table, kind)
        shifts = [row["shift"] for row in rows]
        for name, colour in COLOURS.items():
            errors = [row[name] for row in rows]
            axes.plot(shifts, errors, color=colour, linestyle=DASHES[name], marker=".", label=name)
        ideal = [row["ideal"] for row in rows]
        axes.plot(shifts, ideal, color=BLACK, linestyle="--", linewidth=0.8, label="all labels")
        axes.set_xlabel(kind)
        axes.set_ylabel("test MSE")
        axes.tick_params(labelbottom=True)
    legend(panels[0], "upper left")
    footnote(figure, small_print(settings, f"M = {AT}"))
    return {"shift": figure}


def claims(table: pa.Table, settings: ShiftSettings) -> list[Claim]:
    """The fourth rule of thumb, for both kinds of shift together."""
    moved, share = _of(table, MOVED), _of(table, SHARE)
    far = [row for row in (*moved[1:], *share[1:]) if row["shift_bias"] > abs(row["alb"])]
    start = {MOVED: moved[0], SHARE: share[0]}
    less = [_less_important(row, start[row["kind"]]) for row in far]
    worse = [row["shift"] for row in share if row["gain"] < -_Z * row["gain_se"]]
    return [
        Claim(
            "fourth-rule",
            "section 8, fourth rule of thumb",
            "If the training data do not represent the test data, R_LURE is less important, "
            "because the active learning bias is dwarfed by that of the shift.",
            f"share of the naive line's test MSE that R_LURE saves at M = {AT}: "
            f"{_listed(moved)} with {MOVED} {_shifts(moved)}; {_listed(share)} with a "
            f"{SHARE} of {_shifts(share)} (pool: 0.05)",
            verdict(less),
            f"Judged where the bias of the shift exceeds the active learning bias "
            f"({start[MOVED]['alb']:.2f}): less important if R_LURE saves less than without "
            f"shift, by {_Z:.0f} standard errors, and costs nothing. Where test data have more of "
            f"the points that the proposal prefers"
            + (f" (shares of {min(worse):g} and more)" if worse else "")
            + ", correcting towards the pool raises the test error instead.",
        )
    ]


def _less_important(row: Row, start: Row) -> bool:
    stderr = np.hypot(row["gain_se"], start["gain_se"])
    smaller = start["gain"] - row["gain"] > _Z * stderr
    return bool(smaller and row["gain"] > -_Z * row["gain_se"])


def _listed(rows: Sequence[Row]) -> str:
    return ", ".join(with_error(row["gain"], row["gain_se"]) for row in rows)


def _shifts(rows: Sequence[Row]) -> str:
    return ", ".join(f"{row['shift']:g}" for row in rows)


def _of(table: pa.Table, kind: str) -> list[Row]:
    return [row for row in table.to_pylist() if row["kind"] == kind]


STUDIES = {
    "linear-shift": Study(
        name="linear-shift",
        title="Fourth rule of thumb: lines on test data that differ from the pool",
        presets=presets(ShiftSettings(), ShiftSettings(trajectories=200)),
        tasks=lambda settings: (MOVED, SHARE),
        run=run,
        figures=figures,
        claims=claims,
    )
}
