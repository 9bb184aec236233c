"""Figures and claims of the studies of intervals."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from levelled._check import BoolArray, FloatArray
from levelled._optional import optional
from levelled_studies.study import Claim, Plot, Row, Ruling, StudySettings

__all__ = ["Cell", "claims", "figures", "relative", "summarise_cells"]


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """The repetitions of one pool: which intervals contain the truth, their widths, the design."""

    holds: BoolArray
    width: FloatArray
    design_size: float


def summarise_cells(cells: list[Cell]) -> dict[str, float | int | None]:
    """The cells of several pools as one row of a table; widths are those that are finite."""
    holds = np.concatenate([cell.holds for cell in cells])
    width = np.concatenate([cell.width for cell in cells])
    finite = width[np.isfinite(width)]
    return {
        "repetitions": len(holds),
        "coverage": float(holds.mean()),
        "width": float(np.median(finite)) if len(finite) else None,
        "design_size": float(np.mean([cell.design_size for cell in cells])),
    }


def relative(width: FloatArray, truth: float) -> FloatArray:
    """Widths in units of what is estimated."""
    return width / abs(truth) if truth else np.full_like(width, np.inf)


COLOURS = {
    "cp_safe": "#009E73",
    "log_t": "#009E73",
    "log_t, control": "#56B4E9",
    "t": "#CC79A7",
    "betting, watched": "#0072B2",
    "anytime, watched": "#E69F00",
    "t, M-1 df, watched": "#D55E00",
    "t, M-1 df": "#D55E00",
}
COLOURS |= {
    f"{method}, {metric}{watched}": colour
    for method, watched, colours in (
        ("wilson", "", ("#009E73", "#56B4E9", "#CC79A7")),
        ("betting", ", watched", ("#0072B2", "#000000", "#E69F00")),
    )
    for metric, colour in zip(("precision", "recall", "F1"), colours, strict=True)
}
MARKERS = {"t, M-1 df, watched": "x", "t, M-1 df": "+"}


def claims(table: pa.Table, settings: StudySettings) -> list[Claim]:
    """The bars of our statistics, each with the worst cell that was found."""
    rows = table.to_pylist()
    cells = [*_coverage_claims(rows), *_width_claims(rows), *_negative_controls(rows)]
    return [claim for claim in cells if claim is not None]


def _coverage_claims(rows: list[Row]) -> Iterator[Claim | None]:
    yield _least(
        rows,
        "cp-safe-thick",
        "The cp_safe interval contains the truth with frequency 0.935 or more where the design has "
        "an effective sample size of 15 or more.",
        0.935,
        lambda row: row["method"] == "cp_safe" and row["design_size"] >= 15,
    )
    yield _least(
        rows,
        "cp-safe",
        "The cp_safe interval contains the truth with frequency 0.92 or more everywhere.",
        0.92,
        lambda row: row["method"] == "cp_safe",
    )
    yield _least(
        rows,
        "log-t",
        "The log_t interval contains the truth with frequency 0.925 or more from 100 labels on, "
        "with a floor of 0.5 and with adaptive draws.",
        0.925,
        lambda row: (
            row["method"] in ("log_t", "log_t, control")
            and row["proposal"] in ("floor 0.5", "adaptive")
            and row["labels"] >= 100
        ),
    )
    yield _least(
        rows,
        "betting",
        "The betting interval contains the truth at every label with frequency 0.95 or more, for "
        "every proposal.",
        0.95,
        lambda row: row["method"].startswith("betting"),
    )
    yield _least(
        rows,
        "ratios",
        "The intervals of precision, recall and F1 contain the truth with frequency 0.925 or more "
        "from 500 labels on.",
        0.925,
        lambda row: row["method"].startswith("wilson") and row["labels"] >= 500,
    )
    yield _least(
        rows,
        "anytime",
        "The anytime interval contains the truth at every label from 25 on with frequency 0.94 or "
        "more, with a floor of 0.5.",
        0.94,
        lambda row: row["method"] == "anytime, watched" and row["proposal"] == "floor 0.5",
    )


def _width_claims(rows: list[Row]) -> Iterator[Claim | None]:
    for method, proposal, bar in (
        ("cp_safe", "floor 0.5", 0.65),
        ("cp_safe", "uniform", 0.85),
        ("betting, watched", "floor 0.5", 1.05),
    ):
        cell = _cell(rows, "errors 5%", 10_000, 500, proposal, method)
        if cell is not None:
            yield _claim(
                f"width-{method.partition(',')[0]}-{proposal}".replace(" ", "-"),
                f"The median width of the {method} interval is at most {bar} times an error rate "
                f"of 5%, with 500 labels of 10,000 ({proposal}).",
                f"{cell['width']:.3f}",
                "holds" if cell["width"] <= bar else "does not hold",
            )


def _negative_controls(rows: list[Row]) -> Iterator[Claim | None]:
    for method, pool, proposal, labels, bar in (
        ("t, M-1 df, watched", "errors 5%", "uniform", 500, 0.65),
        ("t, M-1 df", "errors 0.5%", "uniform", 25, 0.30),
    ):
        cell = _cell(rows, pool, 10_000, labels, proposal, method)
        if cell is not None:
            yield _claim(
                f"control-{pool.partition(' ')[2]}",
                f"Negative control: a {method} interval contains the truth with frequency below "
                f"{bar} ({pool}, {proposal}, {labels} labels).",
                f"{cell['coverage']:.3f}",
                "holds" if cell["coverage"] < bar else "does not hold",
            )


def _cell(
    rows: list[Row], pool: str, size: int, labels: int, proposal: str, method: str
) -> Row | None:
    wanted = {
        "pool": pool,
        "pool_size": size,
        "labels": labels,
        "proposal": proposal,
        "method": method,
    }
    return next((row for row in rows if wanted.items() <= row.items()), None)


def _least(
    rows: list[Row], name: str, says: str, bar: float, chosen: Callable[[Row], bool]
) -> Claim | None:
    cells = [row for row in rows if chosen(row)]
    if not cells:
        return None
    worst = min(cells, key=lambda row: row["coverage"])
    stderr = np.sqrt(bar * (1 - bar) / worst["repetitions"])
    verdict: Ruling = "holds" if worst["coverage"] >= bar else "does not hold"
    if bar - 3 * stderr <= worst["coverage"] < bar:
        verdict = "holds partly"
    below = sum(row["coverage"] < bar for row in cells)
    return _claim(
        name,
        says,
        f"{worst['coverage']:.3f} ± {stderr:.3f} in the worst of {len(cells)} cells",
        verdict,
        f"The lowest coverage is that of {worst['pool']}, {worst['labels']} labels of "
        f"{worst['pool_size']:,}, {worst['proposal']} (effective sample size of "
        f"the design: {worst['design_size']:.0f}); {below} cells are below the bar.",
    )


def _claim(name: str, says: str, measured: str, verdict: Ruling, because: str = "") -> Claim:
    return Claim(name, "Levelled, intervals", says, measured, verdict, because)


def figures(table: pa.Table, settings: StudySettings) -> Mapping[str, Plot]:
    """Coverage of every cell, and widths where the pool is large."""
    rows = table.to_pylist()
    return {"coverage": _coverage_figure(rows, settings), "width": _width_figure(rows, settings)}


def _coverage_figure(rows: list[Row], settings: StudySettings) -> Plot:
    fig, panels = _panels(rows)
    for pool, axes in panels.items():
        _dots(axes, [row for row in rows if row["pool"] == pool], "coverage", _proposals(rows))
        axes.axvline(0.95, color="black", linewidth=0.8, linestyle="--")
    least = min(row["coverage"] for row in rows)
    next(iter(panels.values())).set_xlim(min(max(least - 0.02, 0.3), 0.9), 1.005)
    _finish(fig, panels, rows, "coverage (dashed: 0.95; not shown below 0.3)", settings)
    return fig


def _width_figure(rows: list[Row], settings: StudySettings) -> Plot:
    largest = max(row["pool_size"] for row in rows)
    shown = [row for row in rows if row["pool_size"] == largest and row["width"] is not None]
    last = max(row["labels"] for row in shown)
    shown = [row for row in shown if row["labels"] == last]
    fig, panels = _panels(rows)
    for pool, axes in panels.items():
        _dots(axes, [row for row in shown if row["pool"] == pool], "width", _proposals(rows))
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter(lambda value, _: "")
    title = f"median width (of losses: over the risk); {last} labels of {largest:,}"
    _finish(fig, panels, shown, title, settings)
    return fig


def _panels(rows: list[Row]) -> tuple[Plot, dict[str, Any]]:
    """An empty panel for each pool."""
    plt = optional("matplotlib.pyplot", extra="plots")
    pools = list(dict.fromkeys(row["pool"] for row in rows))
    columns = min(4, len(pools))
    height = -(-len(pools) // columns)
    tall = 0.36 * len(_proposals(rows)) + 0.7
    fig, axes = plt.subplots(
        height,
        columns,
        figsize=(3.2 * columns + 0.6, tall * height + 0.8),
        sharey=True,
        sharex=True,
        layout="constrained",
    )
    flat = list(np.atleast_1d(axes).flat)
    for spare in flat[len(pools) :]:
        spare.set_visible(False)
    plt.close(fig)  # savefig does not need pyplot's hold on it
    return fig, dict(zip(pools, flat, strict=False))


def _proposals(rows: list[Row]) -> list[str]:
    """From the bottom of the axis to its top."""
    return list(dict.fromkeys(row["proposal"] for row in rows))[::-1]


def _methods(rows: list[Row]) -> list[str]:
    return [method for method in COLOURS if any(row["method"] == method for row in rows)]


def _dots(axes: Any, rows: list[Row], column: str, proposals: list[str]) -> None:  # noqa: ANN401
    """A dot for each cell: methods of the same proposal lie below each other."""
    methods = _methods(rows)
    for row in rows:
        method = row["method"]
        lower = (methods.index(method) + 0.5) / len(methods) - 0.5
        axes.scatter(
            row[column],
            proposals.index(row["proposal"]) - 0.7 * lower,
            s=8 + 10 * np.log10(row["labels"]),
            color=COLOURS[method],
            marker=MARKERS.get(method, "o"),
            linewidths=1 if method in MARKERS else 0,
            alpha=0.85,
        )


def _finish(
    fig: Plot, panels: dict[str, Any], rows: list[Row], label: str, settings: StudySettings
) -> None:
    lines = optional("matplotlib.lines", extra="plots")
    proposals = _proposals(rows)
    for pool, axes in panels.items():
        axes.set_title(pool, fontsize=10)
        axes.set_yticks(range(len(proposals)), proposals)
        axes.grid(axis="x", alpha=0.25)
        axes.tick_params(axis="x", labelsize=8)
        if axes.get_xscale() == "linear":
            axes.locator_params(axis="x", nbins=5, prune="both")
        axes.spines[["top", "right"]].set_visible(False)
    handles = [
        lines.Line2D([], [], color=COLOURS[m], marker=MARKERS.get(m, "o"), linestyle="", label=m)
        for m in _methods(rows)
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    repetitions = max(row["repetitions"] for row in rows)
    fig.suptitle(
        f"{label}\n{repetitions:,} repetitions a cell, seed {settings.seed}; "
        f"larger dots: more labels",
        fontsize=10,
    )
