"""Judges and detectors checked with few labels: how many labels are saved, and what intervals hold.

The rate is measured as in `levelled simulate`, beside methods of others that label at random. The
figures of the judge (TPR, TNR, precision and kappa) come from the same draws; their intervals
count as right only if those of all five planned looks are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled._check import BoolArray, choice
from levelled._optional import optional
from levelled.campaigns.figures.figures import read_once
from levelled.metrics.judging import Kappa
from levelled.metrics.named import ClassRatio, Metric
from levelled.reports import plots
from levelled.simulation import METHODS, KnownLosses, Method, Reading, known_losses
from levelled.simulation.methods import LEVEL, planned_looks
from levelled.simulation.running import repeat_methods
from levelled_studies.datasets import load_data
from levelled_studies.efficiency.peers import PACKAGES
from levelled_studies.study import Claim, Plot, Row, Study, StudySettings

__all__ = ["STUDIES", "JudgeSettings", "make_pool"]

_BOOTSTRAPS = 2000
"""Of judgy, whose default is ten times as many."""
_FIGURES = ("TPR", "TNR", "precision", "kappa")
_ALPACA, _RARE = "AlpacaEval", "rare detector"
_BARS = {_ALPACA: 1.30, _RARE: 3.0}
"""The least label factor of the rate."""


@dataclass(frozen=True, slots=True)
class JudgeSettings(StudySettings):
    """The pools, and the repetitions on each."""

    pools: tuple[str, ...] = (
        _ALPACA,
        "AlpacaEval, verdicts alone",
        _RARE,
        "lenient judge",
        "strict judge",
        "small pool",
    )
    trajectories: int = 400


class JudgedPool(NamedTuple):
    """Labels and verdicts of all items, True where they are positive, and what describes them."""

    label: BoolArray
    verdict: BoolArray
    features: dict[str, Any]
    budget: int = 200

    def known(self) -> KnownLosses:
        """The losses of the share of positive labels, with the verdict as what is expected."""
        names = np.array(["no", "yes"])
        columns = {
            "id": np.arange(len(self.label)),
            "pred": names[self.verdict.astype(int)],
            "y": names[self.label.astype(int)],
        }
        known = known_losses(pa.table(columns | self.features), "y", "share:yes")
        verdict = self.verdict.astype(np.float64)
        return replace(known, expected_values=np.stack([verdict, np.ones(len(verdict))]))


def _alpaca(*, lengths: bool) -> JudgedPool:
    """Claude's verdict on pairs of outputs, and GPT-4's as the label.

    With `lengths`, the feature is length:output_2/output_1.
    """
    data = load_data("alpaca-eval")
    first, second = np.log1p(data.X[:, 2:]).T
    features = {"f_ratio": second - first} if lengths else {}
    return JudgedPool(data.y == 1, data.X[:, 0] == 1, features)


def make_pool(size: int, rate: float, tpr: float, tnr: float, budget: int = 200) -> JudgedPool:
    """A pool with exactly these rates; items differ in nothing but label and verdict."""
    n = round(size * rate)
    label = np.arange(size) < n
    right = [np.arange(n) < round(n * tpr), np.arange(size - n) < round((size - n) * tnr)]
    return JudgedPool(label, np.concatenate([right[0], ~right[1]]), {}, budget)


_POOLS: dict[str, Callable[[], JudgedPool]] = {
    _ALPACA: lambda: _alpaca(lengths=True),
    "AlpacaEval, verdicts alone": lambda: _alpaca(lengths=False),
    _RARE: lambda: make_pool(10_000, 0.01, 0.8, 0.98, budget=300),
    "lenient judge": lambda: make_pool(4000, 0.8, 0.95, 0.6),
    "strict judge": lambda: make_pool(3000, 0.3, 0.7, 0.97),
    "small pool": lambda: make_pool(600, 0.5, 0.85, 0.85),
}


def judgy(known: KnownLosses, budgets: Sequence[int], rng: Generator) -> list[Reading]:
    """The package judgy: the judge's rate corrected by its TPR and TNR on random labels."""
    package, f = import_module("judgy"), known.expected
    assert f is not None
    order, readings = rng.permutation(len(known)), []
    for n in budgets:
        rows = order[:n]
        np.random.seed(int(rng.integers(2**31)))  # noqa: NPY002
        try:
            value, low, high = package.estimate_success_rate(
                known.losses[rows], f[rows], f[order[n:]], _BOOTSTRAPS, LEVEL
            )
        except (ValueError, RuntimeError):  # a TPR of 0, or no positive label
            value, low, high = known.losses[rows].mean(), 0.0, 1.0
        covers = bool(low <= known.risk <= high)
        readings.append(Reading(float(value) - known.risk, np.nan, float(high - low), covers))
    return readings


def tasks(settings: JudgeSettings) -> list[str]:
    """The pools."""
    return list(settings.pools)


def run(settings: JudgeSettings, task: str, rng: Generator) -> pa.Table:
    """A row for each method and the rate, and for each figure of the judge."""
    pool = _POOLS[choice("The name of a pool", task, tuple(_POOLS))]()
    known, n = pool.known(), settings.trajectories
    packages = {name: method for name, (module, method) in PACKAGES.items() if find_spec(module)}
    packages.pop("ssepy", None)  # its strata need more than two predictions
    methods: dict[str, Method] = {
        "adaptive": METHODS["adaptive"],
        "ppi": METHODS["ppi"],
        **packages,
    }
    if find_spec("judgy"):
        methods["judgy"] = judgy
    seed = int(rng.integers(2**32))
    rows = repeat_methods(known, methods, [pool.budget], n, seed=seed)
    table = [{"pool": task, "figure": "rate", "width": None, **row} for row in rows]
    return pa.Table.from_pylist(table + _figure_rows(task, pool, known, n, rng))


def _figure_rows(
    task: str, pool: JudgedPool, known: KnownLosses, repetitions: int, rng: Generator
) -> list[Row]:
    """Coverage and width of the judge's figures in adaptive campaigns."""
    empty = ("label_factor", "label_factor_se", "label_factor_mse", "label_factor_mse_se")
    read = np.array([_read(pool, known, one) for one in rng.spawn(repetitions)])
    return [
        {
            "pool": task,
            "figure": name,
            "width": float(read[:, k, 1].mean()),
            "method": "adaptive",
            "budget": pool.budget,
            **dict.fromkeys(empty),
            "width_factor": None,
            "bias_z": None,
            "coverage": float(read[:, k, 0].mean()),
            "repetitions": repetitions,
        }
        for k, name in enumerate(_FIGURES)
    ]


def _read(pool: JudgedPool, known: KnownLosses, rng: Generator) -> list[tuple[bool, float]]:
    """For each figure, if the intervals of all looks hold, and the width of the last one."""
    campaign = known.campaign_of("adaptive")
    base = campaign.run(pool.budget, int(rng.integers(2**31)))
    counts = campaign.settings.pred_counts[campaign.settings.models[0]]
    readings = []
    for metric in _metrics(tuple(counts.items())):
        subject = campaign.subject(metric, campaign.settings.models[0])
        truth, covers, width = campaign.truth(subject).value, True, 0.0
        for look in planned_looks(pool.budget, len(known)):
            est = read_once(base.first(look.n), subject, look.level, "auto")
            covers, width = covers and est.low <= truth <= est.high, est.high - est.low
        readings.append((covers, width * (metric.scale if isinstance(metric, Kappa) else 1.0)))
    return readings


@cache
def _metrics(counts: tuple[tuple[str, int], ...]) -> list[Metric]:
    """The metrics of `_FIGURES`."""
    ratios: tuple[Literal["recall", "specificity", "precision"], ...]
    ratios = ("recall", "specificity", "precision")
    classes = [ClassRatio(name=one, ratio=one, positive="yes", d_max=1.0) for one in ratios]
    return [*classes, Kappa.of(dict(counts), "yes")]


def claims(table: pa.Table, settings: JudgeSettings) -> list[Claim]:
    """The bars on label factors, against peers, and on coverage."""
    rows = table.to_pylist()
    pools = [name for name in (_ALPACA, _RARE) if name in settings.pools]
    made = [_factor_claim(rows, pool) for pool in pools]
    made += [_peer_claim(rows, pool) for pool in pools]
    return [*made, _coverage_claim(rows, "rate", 0.94), _coverage_claim(rows, "figures", 0.93)]


def _pick(rows: Sequence[Row], **wanted: object) -> list[Row]:
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def _factor(row: Row) -> float:
    """The label factor, from squared errors where the exact variance is not known."""
    return float(row["label_factor"] or row["label_factor_mse"])


def _factor_claim(rows: Sequence[Row], pool: str) -> Claim:
    (own,) = _pick(rows, pool=pool, figure="rate", method="adaptive")
    bar, factor, error = _BARS[pool], own["label_factor"], own["label_factor_se"]
    return Claim(
        f"label factor, {pool}",
        "Levelled, judges",
        f"The rate from {own['budget']} labels is as precise as that from {bar:g} times as many "
        f"random labels.",
        f"{factor:.3f} ± {error:.3f}",
        "holds" if factor >= bar else "does not hold",
    )


def _peer_claim(rows: Sequence[Row], pool: str) -> Claim:
    of_pool = _pick(rows, pool=pool, figure="rate")
    factors = {row["method"]: _factor(row) for row in of_pool}
    own = factors.pop("adaptive")
    listed = ", ".join(f"{name} {factor:.2f}" for name, factor in factors.items())
    return Claim(
        f"against peers, {pool}",
        "Levelled, judges",
        "No method of others needs fewer labels for the same precision of the rate.",
        f"Levelled {own:.2f}; {listed}",
        "holds" if own >= max(factors.values()) else "does not hold",
        "From exact variances; that of judgy from squared errors, which are noisy.",
    )


def _coverage_claim(rows: Sequence[Row], what: str, bar: float) -> Claim:
    own = _pick(rows, method="adaptive")
    chosen = [row for row in own if (row["figure"] == "rate") == (what == "rate")]
    worst = min(chosen, key=lambda row: row["coverage"])
    slack = 3 * np.sqrt(bar * (1 - bar) / worst["repetitions"])
    least = worst["coverage"]
    named = "the rate" if what == "rate" else "TPR, TNR, precision and kappa"
    return Claim(
        f"coverage of the {what}",
        "Levelled, judges",
        f"95% intervals of {named} hold at all planned looks at once in at least {bar:.0%} of the "
        f"campaigns.",
        f"least {least:.3f}: {worst['figure']}, {worst['pool']}",
        "holds" if least >= bar else "cannot tell" if least + slack >= bar else "does not hold",
    )


def figures(table: pa.Table, settings: JudgeSettings) -> dict[str, Plot]:
    """Label factors of each method, and coverage of each figure."""
    rows = table.to_pylist()
    return {"factors": _factor_plot(rows, settings), "coverage": _coverage_plot(rows, settings)}


def _factor_plot(rows: Sequence[Row], settings: JudgeSettings) -> Plot:
    figure = optional("matplotlib.figure", extra="plots").Figure(
        figsize=(6.4, 1.0 + 0.55 * len(settings.pools)), layout="constrained"
    )
    axes = figure.add_subplot()
    axes.axvline(1, color=plots.BLACK, linewidth=0.8, linestyle="--")
    names = [*dict.fromkeys(row["method"] for row in _pick(rows, figure="rate"))]
    height = 0.8 / len(names)
    for k, name in enumerate(names):
        own = {row["pool"]: row for row in _pick(rows, figure="rate", method=name)}
        at = [-y - k * height for y in range(len(settings.pools))]
        values = [
            own[pool]["label_factor"] or own[pool]["label_factor_mse"] for pool in settings.pools
        ]
        label = "Levelled" if name == "adaptive" else name
        axes.barh(at, values, height=0.9 * height, label=label, color=_COLOURS[k % len(_COLOURS)])
    axes.set_yticks([-y - 0.4 + height / 2 for y in range(len(settings.pools))], settings.pools)
    axes.tick_params(labelsize=8)
    axes.set_xlabel("label factor of the rate (random labels: 1)", fontsize=8)
    axes.legend(fontsize=7, loc="lower right")
    return figure


_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9")


def _coverage_plot(rows: Sequence[Row], settings: JudgeSettings) -> Plot:
    figure = optional("matplotlib.figure", extra="plots").Figure(
        figsize=(6.4, 1.0 + 0.35 * len(settings.pools)), layout="constrained"
    )
    axes = figure.add_subplot()
    axes.axvline(LEVEL, color=plots.BLACK, linewidth=0.8, linestyle="--")
    for k, name in enumerate(("rate", *_FIGURES)):
        own = {row["pool"]: row for row in _pick(rows, figure=name, method="adaptive")}
        at = [-y - 0.12 * (k - 2) for y in range(len(settings.pools))]
        values = [own[pool]["coverage"] for pool in settings.pools]
        axes.plot(values, at, "o", markersize=4, label=name, color=_COLOURS[k % len(_COLOURS)])
    axes.set_yticks([-y for y in range(len(settings.pools))], settings.pools)
    axes.tick_params(labelsize=8)
    axes.set_xlabel("campaigns whose intervals hold at all looks", fontsize=8)
    figure.legend(fontsize=7, loc="outside right center")
    return figure


FULL = JudgeSettings()
SCALED = JudgeSettings(trajectories=200)
SMOKE = JudgeSettings(pools=(_RARE, "small pool"), trajectories=3)

STUDIES = {
    "judges": Study(
        name="judges",
        title="Judges and detectors checked with 200 labels, beside methods of others",
        presets={"smoke": SMOKE, "cpu": SCALED, "paper": FULL},
        tasks=tasks,
        run=run,
        figures=figures,
        claims=claims,
    )
}
