"""The study `neighbours`: label factor and bias of methods of other papers on real pools."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled._optional import optional
from levelled.reports import plots
from levelled.scores import expected_loss
from levelled.simulation import repeat_methods
from levelled_studies.efficiency.pools import real_losses
from levelled_studies.neighbours.methods import BIASED, EXPECTED, ROOT, neighbours
from levelled_studies.real_pools import load_real_pool, load_surrogate
from levelled_studies.study import Claim, Plot, Row, Ruling, Study, StudySettings
from levelled_studies.tables import verdict

__all__ = ["STUDIES", "Cells", "NeighbourSettings", "read_cells"]

_ALLOWANCE = 3.0
"""Standard errors that a comparison allows for."""
_BIASED = 4.0
"""Standard errors from which on a bias is shown."""
_SHADES = ("#56B4E9", "#0072B2", "#D55E00", "#009E73")

Cells = Mapping[tuple[str, int], Mapping[str, Row]]
"""The rows of each pool and budget, by the name of the method."""


@dataclass(frozen=True, slots=True)
class NeighbourSettings(StudySettings):
    """Real pools that have a surrogate, numbers of labels, and how often each method is repeated.

    At 400 repetitions squared errors, by which biased methods are measured, are known to 7%.
    """

    pools: tuple[str, ...] = ("mnist-strong", "adult", "spam")
    budgets: tuple[int, ...] = (100, 500)
    repetitions: int = 400


def run(settings: NeighbourSettings, task: str, rng: Generator) -> pa.Table:
    """A row for each method and budget: label factor and bias, with their standard errors."""
    pool, ensemble = load_real_pool(task), load_surrogate(task)
    known = real_losses(pool, "error")
    methods = neighbours(known, pool.pred, ensemble)
    rows = repeat_methods(
        known, methods, settings.budgets, settings.repetitions, seed=int(rng.integers(2**32))
    )
    about = {
        "task": task,
        "pool_size": len(known),
        "risk": known.risk,
        "surrogate_risk": float(expected_loss(pool.pred, ensemble).mean()),
    }
    return pa.Table.from_pylist(
        [about | _measured(row, known.uniform_variance(row["budget"]), known.risk) for row in rows]
    )


def _measured(row: Row, of_uniform: float, risk: float) -> Row:
    """The label factor by the exact variance, or else by squared errors, and the bias."""
    n = row["repetitions"]
    exact = row["method"] not in BIASED
    kind = "label_factor" if exact else "label_factor_mse"
    z = row["bias_z"]
    # The standard error that bias_z divides by, from the mean square E: with an unknown variance
    # z^2 = (n - 1) b^2 / (E - b^2) for the mean error b.
    square = of_uniform / row[kind]
    stderr = np.sqrt(square / n) if exact else np.sqrt(square / (n - 1 + z**2))
    return {
        "method": row["method"],
        "budget": row["budget"],
        "label_factor": row[kind],
        "label_factor_se": row[f"{kind}_se"],
        "by": "variance" if exact else "squared errors",
        "bias": float(z * stderr / risk),
        "bias_se": float(stderr / risk),
        "repetitions": n,
    }


def read_cells(table: pa.Table) -> Cells:
    """The rows of a table by pool and budget, then by method."""
    cells: dict[tuple[str, int], dict[str, Row]] = {}
    for row in table.to_pylist():
        cells.setdefault((row["task"], row["budget"]), {})[row["method"]] = row
    return cells


_ORDERS = {
    "orders": (
        "section 3.2; Des Raj (1956) and Murthy (1957)",
        "With scores that never change, R_LURE is as precise as R_PURE (Des Raj's mean) or more, "
        "and Murthy's estimator as R_LURE or more.",
        ("R_PURE", "R_LURE", "Murthy"),
    ),
    "without-replacement": (
        "section 5, on Ganti and Gray (2012)",
        "Drawing without replacement (R_LURE) is more precise than importance weighting with "
        "replacement by the same scores, also where repeats are free.",
        ("with replacement", "with replacement, repeats free", "R_LURE"),
    ),
    "fixed-number": (
        "section 5, on Beygelzimer et al. (2009)",
        "A fixed number of draws (R_LURE) is more precise than asking for each item by chance "
        "(Poisson) with the same scores and number of labels on average.",
        ("Poisson", "R_LURE"),
    ),
    "surrogate": (
        "Active Testing (Kossen et al., 2021)",
        "The expected loss under a surrogate ensemble is a better proposal than that under the "
        "model itself.",
        ("Active Testing, own", EXPECTED),
    ),
    "root": (
        "Levelled, scores",
        "The root of the ensemble's E[L^2] is a better score than its E[L].",
        (EXPECTED, ROOT),
    ),
}
"""Claims on label factors: their names, where they stand, and the methods in ascending order."""


def claims(table: pa.Table, settings: NeighbourSettings) -> list[Claim]:
    """The paper's fifth rule of thumb, and comparisons with its neighbours."""
    cells = read_cells(table)
    ordered = {name: _ordered(cells, name, *_ORDERS[name]) for name in _ORDERS}
    root = replace(ordered.pop("root"), because=_trust(cells))
    return [_fifth_rule(cells), *ordered.values(), root, _importance_bias(cells)]


def _trust(cells: Cells) -> str:
    """How far the ensemble's expected risk is from the risk, for each pool."""
    rows = {task: cell["R_LURE"] for (task, _), cell in cells.items()}
    listed = ", ".join(
        f"{row['surrogate_risk']:.1%} on {task}, where it is {row['risk']:.1%}"
        for task, row in rows.items()
    )
    return (
        f"The root is best where the probabilities are right. These forests expect an error of "
        f"{listed}: too unsure of easy items, so that the root asks for too many of them. 3 "
        f"standard errors were allowed."
    )


def _fifth_rule(cells: Cells) -> Claim:
    rows = [(cell["R_LURE"], cell["naive"]) for cell in cells.values()]
    better = [_ahead(lure, naive) and _above_one(lure) for lure, naive in rows]
    listed = ", ".join(
        f"{lure['task']} at {lure['budget']} {_text(lure)} and {_text(naive)}"
        for lure, naive in rows
    )
    return Claim(
        "fifth-rule",
        "section 8, fifth rule of thumb",
        "At test time there is little cost to using R_LURE to evaluate a model, and it will "
        "usually be beneficial.",
        f"label factors of R_LURE and of the naive mean of draws by the same scores: {listed}",
        verdict(better),
        "Beneficial: above 1, the mean of random labels, and above the naive mean, by 3 standard "
        "errors each.",
    )


def _ordered(cells: Cells, name: str, where: str, says: str, methods: Sequence[str]) -> Claim:
    """The claim that these methods are in ascending order of their label factors."""
    verdicts = [
        _rule(cell[low], cell[high], ties=name == "orders")
        for cell in cells.values()
        for low, high in pairwise(methods)
    ]
    listed = "; ".join(
        f"{task} at {budget}: " + ", ".join(f"{cell[each]['label_factor']:.3f}" for each in methods)
        for (task, budget), cell in cells.items()
    )
    return Claim(
        name,
        where,
        says,
        f"label factors of {', '.join(methods)}: {listed}",
        _combined(verdicts),
        "3 standard errors were allowed.",
    )


def _rule(low: Row, high: Row, *, ties: bool) -> Ruling:
    if _ahead(low, high):
        return "does not hold"
    return "holds" if ties or _ahead(high, low) else "cannot tell"


def _combined(verdicts: Sequence[Ruling]) -> Ruling:
    """One verdict on several comparisons of the same kind."""
    kinds = {*verdicts}
    if len(kinds) == 1:
        return verdicts[0]
    return "holds partly" if "holds" in kinds else "cannot tell"


def _ahead(one: Row, other: Row) -> bool:
    """True if the label factor of `one` is above that of `other`, beyond chance."""
    stderr = np.hypot(one["label_factor_se"], other["label_factor_se"])
    return bool(one["label_factor"] - other["label_factor"] > _ALLOWANCE * stderr)


def _above_one(row: Row) -> bool:
    return bool(row["label_factor"] - _ALLOWANCE * row["label_factor_se"] > 1)


def _importance_bias(cells: Cells) -> Claim:
    rows = [
        cell[name]
        for cell in cells.values()
        for name in ("importance weights", "importance weights, normalised")
    ]
    listed = "; ".join(
        f"{row['task']} at {row['budget']}"
        f"{' normalised' if 'normalised' in row['method'] else ''} "
        f"({row['bias']:+.1%} ± {row['bias_se']:.1%})"
        for row in rows
    )
    return Claim(
        "importance-weights",
        "section 3.1; Sugiyama (2006)",
        "Importance weights made for independent draws bias the estimate where draws are without "
        "replacement.",
        f"bias as a share of the risk: {listed}",
        _combined(
            [
                "holds" if abs(row["bias"]) > _BIASED * row["bias_se"] else "cannot tell"
                for row in rows
            ]
        ),
        f"Shown from {_BIASED:.0f} standard errors on. The bias grows with the share of the pool "
        f"that is labelled.",
    )


def _text(row: Row) -> str:
    return f"{row['label_factor']:.3f} ± {row['label_factor_se']:.3f}"


def figures(table: pa.Table, settings: NeighbourSettings) -> Mapping[str, Plot]:
    """Label factors of each method, a panel for each pool."""
    cells = read_cells(table)
    methods = [name for name in next(iter(cells.values())) if name not in ("uniform", "naive")]
    naive = max(cell["naive"]["label_factor"] for cell in cells.values())
    tasks = list(dict.fromkeys(task for task, _ in cells))
    budgets = sorted({budget for _, budget in cells})
    figure = optional("matplotlib.figure", extra="plots").Figure(
        figsize=(2.2 + 1.6 * len(tasks), 0.9 + 0.2 * len(methods)), layout="constrained"
    )
    panels = figure.subplots(1, len(tasks), sharey=True, squeeze=False)[0]
    for axes, task in zip(panels, tasks, strict=True):
        for budget, colour in zip(budgets, _SHADES, strict=False):
            rows = [cells[task, budget][name] for name in methods]
            factors = [row["label_factor"] for row in rows]
            errors = [2 * row["label_factor_se"] for row in rows]
            axes.errorbar(
                factors, range(len(methods)), xerr=errors, fmt="o", color=colour, markersize=4,
                linewidth=0.8, label=f"{budget} labels",
            )  # fmt: skip
        axes.axvline(1, color=plots.BLACK, linestyle="--", linewidth=0.7)
        axes.grid(axis="y", linewidth=0.3)
        axes.set_title(task, fontsize=8, loc="left")
        axes.tick_params(labelsize=7)
    panels[0].set_yticks(range(len(methods)), methods)
    panels[0].invert_yaxis()
    plots.legend(panels[-1], "center right")
    figure.supxlabel(
        f"label factor; bars: two standard errors; naive mean off scale (at most {naive:.2f})",
        fontsize=7,
    )
    return {"neighbours": figure}


CPU = NeighbourSettings()
PAPER = NeighbourSettings(repetitions=4000)
SMOKE = NeighbourSettings(pools=("digits",), budgets=(40, 120), repetitions=12)

STUDIES = {
    "neighbours": Study(
        name="neighbours",
        title="Methods of other papers beside R_LURE, on the same real pools",
        presets={"smoke": SMOKE, "cpu": CPU, "paper": PAPER},
        tasks=lambda settings: settings.pools,
        run=run,
        figures=figures,
        claims=claims,
    )
}
