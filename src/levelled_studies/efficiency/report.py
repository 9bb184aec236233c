"""Claims and plots of the benchmark `label-efficiency`."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from levelled._optional import optional
from levelled.reports import plots
from levelled_studies.efficiency.peers import PACKAGES
from levelled_studies.study import Claim, Plot, Row, Ruling

__all__ = ["claims", "figures"]

SIX = ("fashion-mnist-strong", "mnist-strong", "credit-card", "adult", "imdb", "spam")
"""The real pools of 0/1 losses over which medians are taken."""
PEERS = ("static", "active-testing", "ppi", "with-replacement")
OURS = "adaptive"
_ALLOWANCE = 3.0
"""Standard errors in the method's favour."""
_RARE = 0.005
"""Risks below this are left out where the worst cell is judged."""
_WHERE = "Levelled, label efficiency"


def claims(table: pa.Table, settings: Any) -> list[Claim]:  # noqa: ANN401
    """Each bar of the benchmark: met, or not."""
    rows = table.to_pylist()
    ours = [row for row in rows if row["method"] == OURS]
    large = [row for row in ours if row["budget"] >= 100]
    return [
        _median("six pools, 500 labels", ours, 500, 2.1),
        _median("six pools, 100 labels", ours, 100, 1.9),
        _to_the_limit(ours),
        _worst("worst label factor", "label_factor", large),
        *(_against(peer, rows) for peer in PEERS),
        _median_width(ours),
        _worst("worst width factor", "width_factor", large),
        _unbiased(ours),
        _coverage(large),
        _packages(rows),
    ]


def _factor(row: Row) -> tuple[float, float]:
    """The label factor with its standard error; from squared errors where no other is known."""
    if row["label_factor"] is not None:
        return row["label_factor"], row["label_factor_se"]
    return row["label_factor_mse"], row["label_factor_mse_se"]


def _allowed(row: Row) -> float:
    value, stderr = _factor(row)
    return value + _ALLOWANCE * stderr


def _rule(measured: Iterable[float], holds: Callable[[Sequence[float]], bool]) -> Ruling:
    values = list(measured)
    if not values:
        return "cannot tell"
    return "holds" if holds(values) else "does not hold"


def _median(name: str, ours: Sequence[Row], budget: int, bar: float) -> Claim:
    own = [row for row in ours if row["task"] in SIX and row["budget"] == budget]
    listed = ", ".join(f"{row['task']} {_text(row)}" for row in own)
    middle = f"median {np.median([_factor(row)[0] for row in own]):.2f}: " if own else ""
    return Claim(
        name,
        _WHERE,
        f"The median label factor of adaptive campaigns over six real pools is at least {bar} at "
        f"{budget} labels.",
        f"{middle}{listed}",
        _rule(map(_allowed, own), lambda values: float(np.median(values)) >= bar),
    )


def _to_the_limit(ours: Sequence[Row]) -> Claim:
    own = [row for row in ours if row["task"] in SIX and row["budget"] == 500 and row["limit"] < 5]
    shares = [_factor(row)[0] / row["limit"] for row in own]
    listed = ", ".join(
        f"{row['task']} {share:.2f} of {row['limit']:.2f}"
        for row, share in zip(own, shares, strict=True)
    )
    middle = f"median {np.median(shares):.2f}: " if own else ""
    return Claim(
        "share of the limit",
        _WHERE,
        "Where the limit of the label factor is below 5, adaptive campaigns reach at least .85 of "
        "it at 500 labels, in the median of six real pools.",
        f"{middle}{listed}",
        _rule(
            (_allowed(row) / row["limit"] for row in own),
            lambda values: float(np.median(values)) >= 0.85,
        ),
    )


def _worst(name: str, key: str, large: Sequence[Row]) -> Claim:
    own = [row for row in large if row["risk"] >= _RARE and row[key] is not None]
    slack = _ALLOWANCE if key == "label_factor" else 0.0
    low = sorted(own, key=lambda row: float(row[key]))[:3]
    return Claim(
        name,
        _WHERE,
        f"From 100 labels on, no {key.replace('_', ' ')} of an adaptive campaign is below .80 "
        f"where the risk is at least .5%.",
        ", ".join(f"{row['task']} at {row['budget']}: {row[key]:.2f}" for row in low),
        _rule(
            (row[key] + slack * row["label_factor_se"] for row in own),
            lambda values: min(values) >= 0.8,
        ),
    )


def _against(peer: str, rows: Sequence[Row]) -> Claim:
    at = {(row["task"], row["method"]): row for row in rows if row["budget"] == 500}
    pairs = [
        (at[task, OURS], row)
        for (task, method), row in at.items()
        if method == peer and (task, OURS) in at
    ]
    behind = [
        f"{ours['task']} ({_text(ours)}, {_text(other)})"
        for ours, other in pairs
        if _allowed(ours) < 0.97 * _factor(other)[0]
    ]
    told = f"{len(pairs) - len(behind)} of {len(pairs)} tasks"
    return Claim(
        f"against {peer}",
        _WHERE,
        f"At 500 labels adaptive campaigns are ahead of {peer}, or within 3% of it, on at least "
        f"80% of the tasks.",
        told + (f"; behind on {', '.join(behind)}" if behind else ""),
        _rule([len(behind)] * bool(pairs), lambda values: values[0] <= 0.2 * len(pairs)),
    )


def _median_width(ours: Sequence[Row]) -> Claim:
    own = [row for row in ours if row["task"] in SIX and row["budget"] == 500]
    widths = [row["width_factor"] for row in own]
    listed = ", ".join(f"{row['task']} {row['width_factor']:.2f}" for row in own)
    return Claim(
        "width shown",
        _WHERE,
        "The median width factor of adaptive campaigns over six real pools, with planned looks, is "
        "at least 1.8 at 500 labels.",
        (f"median {np.median(widths):.2f}: " if own else "") + listed,
        _rule(widths, lambda values: float(np.median(values)) >= 1.8),
    )


def _unbiased(ours: Sequence[Row]) -> Claim:
    z = [abs(row["bias_z"]) for row in ours if row["bias_z"] is not None]
    return Claim(
        "unbiased",
        _WHERE,
        "The mean error of adaptive campaigns is within four standard errors of 0 in every cell.",
        f"largest |z| {max(z, default=0):.1f} of {len(z)} cells",
        _rule(z, lambda values: max(values) < 4),
    )


def _coverage(large: Sequence[Row]) -> Claim:
    values = [row["coverage"] for row in large]
    slack = _ALLOWANCE * np.sqrt(0.92 * 0.08 / large[0]["repetitions"]) if large else 0.0
    low = sorted(large, key=lambda row: float(row["coverage"]))[:3]
    lowest = ", ".join(f"{row['task']} at {row['budget']}: {row['coverage']:.3f}" for row in low)
    return Claim(
        "coverage of all planned looks",
        _WHERE,
        "From 100 labels on, the intervals of all five planned looks hold at once in at least 92% "
        "of the repetitions of every cell, and in 94.5% on average.",
        (f"mean {np.mean(values):.3f}; lowest {lowest}" if values else ""),
        _rule(
            values,
            lambda each: (
                min(each) + slack >= 0.92
                and float(np.mean(each)) + slack / np.sqrt(len(each)) >= 0.945
            ),
        ),
    )


def _packages(rows: Sequence[Row]) -> Claim:
    there = {row["method"] for row in rows}
    missing = [name for name in PACKAGES if name not in there]
    return Claim(
        "packages of others",
        _WHERE,
        "Packages of others run on the same pools.",
        "in this run: " + (", ".join(name for name in PACKAGES if name in there) or "none"),
        "holds partly" if missing else "holds",
        f"not installed: {', '.join(missing)}" if missing else "",
    )


def _text(row: Row) -> str:
    value, stderr = _factor(row)
    return f"{value:.2f} ± {stderr:.2f}"


def figures(table: pa.Table, settings: Any) -> dict[str, Plot]:  # noqa: ANN401
    """Label and width factors of all methods on all tasks, and against the number of labels."""
    rows = table.to_pylist()
    budget = 500 if any(row["budget"] == 500 for row in rows) else max(r["budget"] for r in rows)
    at = [row for row in rows if row["budget"] == budget]
    return {
        "label-factors": _grid(at, lambda row: _factor(row)[0], f"label factor, {budget} labels"),
        "width-factors": _grid(
            at, lambda row: row["width_factor"], f"width factor, {budget} labels"
        ),
        "budgets": _against_labels(rows),
    }


def _grid(rows: Sequence[Row], value: Callable[[Row], float | None], title: str) -> Plot:
    """A table of colours: green saves labels, red wastes them, the best of a row in bold."""
    methods = [name for name in dict.fromkeys(row["method"] for row in rows) if name != "uniform"]
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    limits = {row["task"]: row["limit"] for row in rows}
    cells = {(row["task"], row["method"]): value(row) for row in rows}
    show_limit = title.startswith("label")
    columns = [*methods, *(["limit"] if show_limit else [])]
    grid = np.full((len(tasks), len(columns)), np.nan)
    for i, task in enumerate(tasks):
        for j, method in enumerate(methods):
            grid[i, j] = cells.get((task, method)) or np.nan
        if show_limit and limits[task] is not None:
            grid[i, -1] = limits[task]
    figure = optional("matplotlib.figure", extra="plots").Figure(
        figsize=(1.7 + 0.72 * len(columns), 1.5 + 0.27 * len(tasks)), layout="constrained"
    )
    axes = figure.add_subplot()
    axes.imshow(np.log2(grid), cmap="RdYlGn", vmin=-2, vmax=2, aspect="auto")
    for i in range(len(tasks)):
        best = np.nanmax(grid[i, : len(methods)])
        for j in range(len(columns)):
            if np.isfinite(grid[i, j]):
                bold = j < len(methods) and grid[i, j] >= 0.97 * best
                _write_cell(axes, j, i, grid[i, j], bold)
    if show_limit:
        axes.axvline(len(methods) - 0.5, color=plots.BLACK, linewidth=1.2)
    axes.set_xticks(range(len(columns)), columns, rotation=35, ha="right", fontsize=7)
    axes.set_yticks(range(len(tasks)), tasks, fontsize=7)
    axes.set_title(f"{title}; in bold: within 3% of the best", fontsize=8, loc="left")
    return figure


def _write_cell(axes: Any, x: int, y: int, value: float, bold: bool) -> None:  # noqa: ANN401
    text = f"{value:.2f}" if value < 10 else f"{value:.0f}"
    weight = "bold" if bold else "normal"
    axes.text(x, y, text, ha="center", va="center", fontsize=7, fontweight=weight)


def _against_labels(rows: Sequence[Row]) -> Plot:
    """The label factor of each task against the number of labels, a panel each."""
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    shown = [OURS, *PEERS]
    across = min(4, len(tasks))
    down = -(-len(tasks) // across)
    figure = optional("matplotlib.figure", extra="plots").Figure(
        figsize=(2.1 * across, 1.6 * down + 0.4), layout="constrained"
    )
    panels = figure.subplots(down, across, squeeze=False).ravel()
    colours = dict(zip(shown, ("#009E73", "#0072B2", "#D55E00", "#CC79A7", "#E69F00"), strict=True))
    for axes, task in zip(panels, tasks, strict=False):
        own = [row for row in rows if row["task"] == task]
        for name in shown:
            curve = [row for row in own if row["method"] == name]
            axes.plot(
                [row["budget"] for row in curve],
                [_factor(row)[0] for row in curve],
                color=colours[name],
                linewidth=1.8 if name == OURS else 1.0,
                label=name,
            )
        if own[0]["limit"] is not None:
            axes.axhline(own[0]["limit"], color=plots.BLACK, linestyle=":", linewidth=0.9)
        axes.axhline(1.0, color=plots.BLACK, linestyle="--", linewidth=0.6)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_title(task, fontsize=7, loc="left")
        axes.tick_params(labelsize=6, which="both")
    for axes in panels[len(tasks) :]:
        axes.set_visible(False)
    figure.legend(
        *panels[0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=5,
        fontsize=7,
        frameon=False,
    )
    figure.supylabel("label factor (dotted: the limit)", fontsize=7)
    return figure
