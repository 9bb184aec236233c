"""The constants that were chosen, not derived: what half and twice each of them would do.

Every constant is set to half and to twice its value, or to the nearest values that make sense, and
campaigns with the same random numbers are run again. Where a constant concerns the interval alone
the draws are kept. Variances are exact given the draws before each term, and so far less noisy than
squared errors.

    python -m levelled_studies.constants docs        # writes the table into docs/paper/studies.md
"""

import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from numpy.random import Generator

from levelled import looks
from levelled._check import FloatArray
from levelled._optional import optional
from levelled.campaigns.figures.expected import Expectations
from levelled.campaigns.figures.figures import Subject, read_once
from levelled.campaigns.figures.settled import SettledDraws
from levelled.estimators import estimate
from levelled.estimators.intervals import wealth
from levelled.estimators.intervals.limits import plan_looks
from levelled.looks import PlannedLook
from levelled.reports import plots
from levelled.simulation import KnownLosses, known_losses
from levelled.simulation.methods import LEVEL, LOOKS
from levelled_studies.efficiency.pools import load_losses
from levelled_studies.learning.page import replace_section
from levelled_studies.real_pools import load_real_pool
from levelled_studies.study import Claim, Plot, Row, Study, StudySettings

__all__ = ["CONSTANTS", "STUDIES", "ConstantSettings", "Effect", "changed", "effects", "write"]

Values = Mapping[str, Any]
"""Values of constants by their place, the module below levelled and the name."""
_INTERVALS = "estimators.intervals"
_JUDGED_BY_WIDTH = ("interval", "static", "betting", "hedged")
"""Groups of constants of intervals; others change the variance of the estimate, which is exact."""
_BETTER, _COVERED = 0.97, 0.005
"""Another value is better where the ratio is below the first, and coverage falls by no more than
the second."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant by its place, and where half and twice it are not meant, what is set instead."""

    place: str
    group: str = "campaign"
    half: Values = field(default_factory=dict)
    twice: Values = field(default_factory=dict)

    @property
    def changes_pools(self) -> bool:
        """True if pools are prepared with it, before the first draw."""
        of_pools = tuple(f"{_PREDICTOR}.{name}" for name in _OF_POOLS)
        prefixes = ("surrogates.covariates.", "predictions.")
        return self.place.startswith(prefixes) or self.place in of_pools

    @property
    def changes_draws(self) -> bool:
        """True if campaigns draw by it."""
        return not self.place.startswith(("estimators.", "looks.", "metrics."))

    @property
    def value(self) -> Any:  # noqa: ANN401
        """The value that the product has."""
        return _value(self.place)

    def changes(self, side: str) -> Values:
        """The values of one side, half or twice."""
        if own := {"half": self.half, "twice": self.twice}[side]:
            return own
        scaled = self.value * (2 if side == "twice" else 0.5)
        return {self.place: type(self.value)(scaled)}


def _locate(place: str) -> tuple[Any, str]:
    module, _, name = place.rpartition(".")
    return importlib.import_module(f"levelled.{module}"), name


def _value(place: str) -> Any:  # noqa: ANN401
    return getattr(*_locate(place))


@contextmanager
def changed(values: Values) -> Iterator[None]:
    """Set constants of the product for the time of a block, and restore them after it."""
    new = [(*_locate(place), value) for place, value in values.items()]
    old = [(module, name, getattr(module, name)) for module, name, _ in new]
    try:
        for module, name, value in new:
            setattr(module, name, value)
        yield
    finally:
        for module, name, value in old:
            setattr(module, name, value)


def _scaled(module: str, names: str, group: str = "campaign") -> list[Constant]:
    """Constants of a module that are halved and doubled."""
    return [Constant(f"{module}.{name}", group) for name in names.split()]


def _moved(place: str, half: object, twice: object, group: str = "campaign") -> Constant:
    """A constant of which other values than half and twice are set."""
    return Constant(place, group, {place: half}, {place: twice})


_PREDICTOR = "surrogates.label_predictor"
_OF_POOLS = ("_LEAST", "_MOST", "_BINS")
"""Constants of the predictor by which a pool is prepared."""
_GRID = _value(f"{_PREDICTOR}._BACKGROUND")
_NEAR = np.array(_value(f"{_INTERVALS}.betting._STAKES_NEAR"))
_FAR = np.array(_value(f"{_INTERVALS}.betting._STAKES_FAR"))


def _background(shares: FloatArray, power: float = -0.25) -> Values:
    """Another grid of background shares, or another prior of them."""
    place = f"{_PREDICTOR}._BACKGROUND"
    return {place: shares, f"{place}_PRIOR": shares**power}


def _first_fit(labels: int) -> Values:
    """Another number of labels before the first fit."""
    places = ("surrogates.driver._FIRST_FIT", "campaigns.drawing.learner._FIRST_FIT")
    return dict.fromkeys(places, labels)


def _stakes(near: FloatArray, far: FloatArray) -> Values:
    """Other weights of the betting fractions, or another number of them."""
    fractions = wealth.FRACTIONS
    return {
        f"{_INTERVALS}.wealth.FRACTIONS": np.geomspace(fractions[0], fractions[-1], len(near)),
        f"{_INTERVALS}.betting._STAKES_NEAR": tuple(near),
        f"{_INTERVALS}.betting._STAKES_FAR": tuple(far),
    }


def _variants(times: float) -> Values:
    """Another weight of the bets with the predictor."""
    places = [f"{_INTERVALS}.betting._SHARES_{side}" for side in ("NEAR", "FAR")]
    shares = {place: _value(place) for place in places}
    return {place: own | {"control": times * own["control"]} for place, own in shares.items()}


def _candidates(times: float) -> Values:
    """Another number of candidates for the limits of betting."""
    place = f"{_INTERVALS}.betting.spread_candidates"
    return {place: partial(wealth.spread_candidates, n=int(times * wealth.N_CANDIDATES))}


def _hedged_candidates(times: float) -> Values:
    places = [f"{_INTERVALS}.hedged.{name}" for name in ("_MANY", "_FEW")]
    return {place: int(times * _value(place)) for place in places}


def _everywhere(name: str, half: float, twice: float, *modules: str) -> Constant:
    """A constant that several modules have under the same name."""
    places = [f"{module}.{name}" for module in modules]
    sides = ({place: times * _value(place) for place in places} for times in (half, twice))
    return Constant(places[0], "interval", *sides)


CONSTANTS = (
    *_scaled("surrogates.covariates", "_SLOPE"),
    *_scaled(_PREDICTOR, "_LEAST _BINS"),
    _moved(f"{_PREDICTOR}._MOST", 0.25, 0.9),
    *_scaled(
        _PREDICTOR,
        "_RIDGE_ALPHA _RIDGE_SCORES _RIDGE_CLASSES _RIDGE_FEATURES _RIDGE_SLOPES _RIDGE_STEPS "
        "_COST _LEAST_SHARE _FIRST_BACKGROUND _PRIOR_LABELS _LEAST_ERRORS",
    ),
    Constant(
        f"{_PREDICTOR}._BACKGROUND",
        half=_background(_GRID[::2]),
        twice=_background(np.geomspace(0.001, 1, 13)),
    ),
    Constant(
        f"{_PREDICTOR}._BACKGROUND_PRIOR",
        half=_background(_GRID, -0.125),
        twice=_background(_GRID, -0.5),
    ),
    *_scaled("surrogates.driver", "_LEAST_FLOOR _HALVED_AT _ROUNDS"),
    Constant("surrogates.driver._FIRST_FIT", half=_first_fit(5), twice=_first_fit(20)),
    _moved("surrogates.driver._FIRST_FLOOR", 0.375, 1.0),
    _moved("surrogates.driver._LEAST_ROUND", 3, 10),
    *_scaled(_PREDICTOR, "_RIDGE_OF_VERDICTS _RIDGE_BESIDE_VERDICTS", "verdicts"),
    _moved("predictions._AGREEMENT", 0.875, 0.5, "verdicts"),
    Constant("campaigns.figures.expected._HALF_TRUSTED", "static"),
    Constant("estimators.lure.RAMP", "interval"),
    _everywhere("PRIOR_DF", 0.5, 2.0, f"{_INTERVALS}.limits", "metrics.controlled"),
    _everywhere("DF_OF_ERROR", 0.5, 2.0, f"{_INTERVALS}.limits", "metrics.controlled"),
    _moved("looks.SHARE", 0.95, 0.8, "interval"),
    Constant(
        f"{_INTERVALS}.wealth.FRACTIONS",
        "betting",
        _stakes(_NEAR.reshape(3, 2).sum(axis=1), _FAR.reshape(3, 2).sum(axis=1)),
        _stakes(_NEAR.repeat(2), _FAR.repeat(2)),
    ),
    Constant(
        f"{_INTERVALS}.wealth.N_CANDIDATES",
        "betting",
        _candidates(0.5),
        _candidates(2.0),
    ),
    _moved(f"{_INTERVALS}.betting._UNEVEN", 1.05, 1.2, "betting"),
    Constant(
        f"{_INTERVALS}.betting._STAKES_FAR",
        "betting",
        _stakes(_NEAR**0.5, _FAR**0.5),
        _stakes(_NEAR**2, _FAR**2),
    ),
    Constant(f"{_INTERVALS}.betting._SHARES_FAR", "betting", _variants(0.5), _variants(2.0)),
    _moved("surrogates.driver.GUARANTEED_FLOOR", 0.375, 1.0, "hedged"),
    _moved(f"{_INTERVALS}.hedged.SPLIT", (0.2, 0.8), (0.6, 0.4), "hedged"),
    *_scaled(
        f"{_INTERVALS}.hedged",
        "_OPTIMISM _FINE _COARSE _UNSEEN _LEAST_JUMP _LEAST_RATIO _HEAVIEST",
        "hedged",
    ),
    _moved(f"{_INTERVALS}.hedged._MOST", 0.98, 0.995, "hedged"),
    Constant(
        f"{_INTERVALS}.hedged._MANY", "hedged", _hedged_candidates(0.5), _hedged_candidates(2.0)
    ),
)
"""The constants that are measured; half and twice of a share near one are those of the rest."""


@dataclass(frozen=True, slots=True)
class ConstantSettings(StudySettings):
    """The pools, the numbers of labels, and the campaigns in each pool."""

    pools: tuple[str, ...] = (
        "digits",
        "spam",
        "adult",
        "useless",
        "invisible",
        "sharp",
    )
    judged: tuple[str, ...] = ("judge", "spam")
    """Pools whose probabilities are left out, so that only verdicts and features are known."""
    groups: tuple[str, ...] = (
        "campaign",
        "interval",
        "verdicts",
        "static",
        "betting",
        "hedged",
    )
    budgets: tuple[int, ...] = (100, 300)
    trajectories: int = 10


_CAMPAIGNS = {"static": "static", "hedged": "guaranteed"}
"""The campaigns of groups that are not of an adaptive one."""
_TIMES = {"interval": 4.0, "static": 4.0, "hedged": 0.4}
"""Repetitions of a group in multiples of `trajectories`: draws that are kept cost little, hedged
intervals much."""


def tasks(settings: ConstantSettings) -> list[str]:
    """The groups of constants on each of their pools."""
    pools = {
        "verdicts": settings.judged,
        "hedged": settings.pools[:3],  # they are slow
    }
    return [
        f"{group} {pool}" for group in settings.groups for pool in pools.get(group, settings.pools)
    ]


def run(settings: ConstantSettings, task: str, rng: Generator) -> pa.Table:
    """The rows of one group of constants on one pool: half and twice each, at each budget."""
    group, _, pool = task.partition(" ")
    known = _load(group, pool, settings.seed)
    n = max(round(settings.trajectories * _TIMES.get(group, 1.0)), 2)
    budgets = settings.budgets[:1] if group == "hedged" else settings.budgets
    seeds = rng.integers(2**63, size=n).tolist()
    draws = [_draw(group, known, max(budgets), seed) for seed in seeds]
    before = _read(group, known, draws, budgets)
    rows = []
    for constant in CONSTANTS:
        if constant.group != group:
            continue
        for side in ("half", "twice"):
            with changed(constant.changes(side)):
                pool_now = _load(group, pool, settings.seed) if constant.changes_pools else known
                draws_now = draws
                if constant.changes_draws:
                    draws_now = [_draw(group, pool_now, max(budgets), seed) for seed in seeds]
                now = _read(group, pool_now, draws_now, budgets)
            about = {"constant": constant.place, "side": side, "group": group, "pool": pool}
            for k, budget in enumerate(budgets):
                rows.append({**about, "budget": budget, **_compare(before[:, k], now[:, k])})
    return pa.Table.from_pylist(rows)


def _load(group: str, pool: str, seed: int) -> KnownLosses:
    if group != "verdicts":
        return load_losses(pool, seed)
    real = load_real_pool(pool)
    columns = {"id": np.arange(len(real)), "y": real.label, "pred": real.pred.argmax(axis=1)}
    columns |= {f"f_{k}": x for k, x in enumerate(real.features.T)}
    texts = {name: columns[name].astype(str) for name in ("y", "pred")}
    return known_losses(pa.table(columns | texts), "y")


def _draw(group: str, known: KnownLosses, budget: int, seed: int) -> SettledDraws:
    """One campaign of a group."""
    return known.campaign_of(_CAMPAIGNS.get(group, "adaptive")).run(budget, seed)


def _read(
    group: str, known: KnownLosses, draws: Sequence[SettledDraws], budgets: Sequence[int]
) -> FloatArray:
    """Exact variance, width at the budget, and 1 if intervals hold: [trajectories, budgets, 3]."""
    watched = group in ("betting", "hedged")
    read = partial(_read_watched, group) if watched else _read_looks
    campaign = known.campaign_of(_CAMPAIGNS.get(group, "adaptive"))
    subject, table = campaign.subject(), []
    for base in draws:
        base.cache.expected = Expectations(lambda *_: campaign.pool)  # of constants as they are now
        variances = campaign.term_variances(base, subject)
        table.append(
            [
                (
                    campaign.exact_variance(base.first(budget), variances),
                    *read(known, base, subject, budget),
                )
                for budget in budgets
            ]
        )
    return np.array(table, dtype=np.float64)


def _read_looks(
    known: KnownLosses, base: SettledDraws, subject: Subject, budget: int
) -> tuple[float, bool]:
    """The width of the last planned look, and True if all of them hold."""
    covers = True
    for look in _plan(budget, len(known), looks.SHARE):
        est = read_once(base.first(look.n), subject, look.level, "auto")
        covers &= est.low <= known.risk <= est.high
    return est.high - est.low, covers


@cache
def _plan(budget: int, pool_size: int, share: float) -> tuple[PlannedLook, ...]:
    return plan_looks(budget, pool_size, LOOKS, share * (1 - LEVEL))


def _read_watched(
    group: str, known: KnownLosses, base: SettledDraws, subject: Subject, budget: int
) -> tuple[float, bool]:
    """The width of an interval that may be watched, at the budget, and True if it holds there."""
    own = base.first(budget).draws
    losses, bounds = known.losses[own.index], known.bounds
    est = estimate(losses, own, "ramped", level=LEVEL, interval=group, bounds=bounds, budget=budget)
    return est.high - est.low, est.low <= known.risk <= est.high


def _compare(before: FloatArray, now: FloatArray) -> Row:
    """Ratios of mean variance and of squared mean width, with paired standard errors."""
    (variance, width, covers), (variance_now, width_now, covers_now) = before.T, now.T
    by_variance, by_variance_se = _ratio(variance_now, variance)
    by_width, by_width_se = _ratio(width_now, width)
    return {
        "variance": round(by_variance, 4),
        "variance_se": round(by_variance_se, 4),
        "squared_width": round(by_width**2, 4),
        "squared_width_se": round(2 * by_width * by_width_se, 4),
        "coverage": round(float(covers_now.mean()), 4),
        "coverage_before": round(float(covers.mean()), 4),
        "repetitions": len(before),
    }


def _ratio(above: FloatArray, below: FloatArray) -> tuple[float, float]:
    """The ratio of two means and its standard error (delta method)."""
    mean = float(below.mean())
    ratio = float(above.mean()) / mean
    return ratio, float(np.std(above - ratio * below, ddof=1)) / mean / float(np.sqrt(len(below)))


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of one side of a constant over all pools and budgets.

    `variance` is the ratio of exact variances, `width` that of squared widths. Ratios are geometric
    means, each with the standard error that repetitions leave. `lowest` and `highest` are those of
    single pools by which the constant is judged; `coverage` is the change of the coverage.
    """

    place: str
    group: str
    side: str
    variance: float
    variance_se: float
    width: float
    width_se: float
    lowest: float
    highest: float
    coverage: float

    @property
    def name(self) -> str:
        """The name of the constant as tables show it."""
        return self.place.rpartition(".")[2].lstrip("_")

    @property
    def judged(self) -> tuple[float, float]:
        """The ratio by which the constant is judged, and its standard error."""
        by_width = self.group in _JUDGED_BY_WIDTH
        return (self.width, self.width_se) if by_width else (self.variance, self.variance_se)

    @property
    def is_better(self) -> bool:
        """True if the other value is surely better by 3%, without a loss of coverage.

        Bets hold by proof, whatever their stakes.
        """
        value, stderr = self.judged
        holds = self.group in ("betting", "hedged") or self.coverage >= -_COVERED
        return value + 2 * stderr < _BETTER and holds


def effects(table: pa.Table) -> list[Effect]:
    """The effect of each side of each constant in a table."""
    rows = table.to_pylist()
    keys = dict.fromkeys((row["constant"], row["group"], row["side"]) for row in rows)
    return [
        _effect(*key, [r for r in rows if (r["constant"], r["group"], r["side"]) == key])
        for key in keys
    ]


def _effect(place: str, group: str, side: str, rows: Sequence[Row]) -> Effect:
    def column(name: str) -> FloatArray:
        return np.array([row[name] for row in rows], dtype=np.float64)

    def mean(name: str) -> tuple[float, float]:
        ratios = column(name)
        value = float(np.exp(np.log(ratios).mean()))
        return value, value * float(np.linalg.norm(column(f"{name}_se") / ratios)) / len(rows)

    judged = np.log(column("squared_width" if group in _JUDGED_BY_WIDTH else "variance"))
    pools = [row["pool"] for row in rows]
    single = [float(np.exp(judged[np.array(pools) == pool].mean())) for pool in sorted({*pools})]
    coverage = column("coverage") - column("coverage_before")
    return Effect(
        place, group, side, *mean("variance"), *mean("squared_width"), min(single), max(single),
        float(coverage.mean()),
    )  # fmt: skip


def claims(table: pa.Table, settings: ConstantSettings) -> list[Claim]:
    """The claim that no constant is far from its best value."""
    found = effects(table)
    better = [_say(one) for one in found if one.is_better]
    worst = max(found, key=lambda one: one.judged[0])
    return [
        Claim(
            "half and twice each constant",
            "Levelled, constants",
            "Neither half nor twice any chosen constant makes the variance of the estimate, or the "
            "squared width where the constant is of the interval, smaller by more than 3% on "
            "average over the pools without a loss of coverage. (Bets hold by proof.)",
            f"{len(found)} changes; better: {', '.join(better) or 'none'}; worst: {_say(worst)}",
            "does not hold" if better else "holds",
        )
    ]


def _say(effect: Effect) -> str:
    value, stderr = effect.judged
    return f"{effect.name} {effect.side} {value:.2f} ± {stderr:.2f}"


def write(docs: Path) -> None:
    """Write the table of all constants into paper/studies.md."""
    page = docs / "paper" / "studies.md"
    table = pacsv.read_csv(docs / "results" / "constants" / "table.csv")
    page.write_text(replace_section(page.read_text(), "constants", _lines(effects(table))))


def _lines(found: Sequence[Effect]) -> Iterator[str]:
    titles = "variance | squared width | coverage"
    yield f"| constant | half: {titles} | twice: {titles} |"
    yield "| --- " * 7 + "|"
    for half in (one for one in found if one.side == "half"):
        (twice,) = (
            one
            for one in found
            if (one.place, one.group, one.side) == (half.place, half.group, "twice")
        )
        yield f"| `{half.name}` ({half.group}) | {_cells(half)} | {_cells(twice)} |"


def _cells(effect: Effect) -> str:
    ratios = ((effect.variance, effect.variance_se), (effect.width, effect.width_se))
    shown = [
        f"{100 * (value - 1):+z.1f} ± {100 * stderr:.1f}%" if stderr or value != 1 else "0"
        for value, stderr in ratios
    ]
    return " | ".join([*shown, f"{100 * effect.coverage:+z.1f}" if effect.coverage else "0"])


_SIDES = {"half": ("#0072B2", "v"), "twice": ("#D55E00", "^")}
"""Colour and marker of each side."""


def figures(table: pa.Table, settings: Any) -> dict[str, Plot]:  # noqa: ANN401
    """The ratio by which each constant is judged, for half and twice, and its range over pools."""
    found = effects(table)
    names = list(dict.fromkeys((one.group, one.name) for one in found))[::-1]
    figure = optional("matplotlib.figure", extra="plots").Figure(
        figsize=(6.6, 1.3 + 0.2 * len(names)), layout="constrained"
    )
    axes = figure.add_subplot()
    axes.axvline(1, color=plots.BLACK, linewidth=0.7)
    for side, (colour, marker) in _SIDES.items():
        own = [one for one in found if one.side == side]
        shift = 0.16 if side == "half" else -0.16
        y = [names.index((one.group, one.name)) + shift for one in own]
        axes.hlines(
            y, [one.lowest for one in own], [one.highest for one in own], color=colour,
            linewidth=0.8, alpha=0.6,
        )  # fmt: skip
        axes.plot([one.judged[0] for one in own], y, marker, color=colour, ms=4, label=side)
    axes.set_xscale("log")
    ticks = (0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0)
    axes.set_xticks(ticks, [f"{one:g}" for one in ticks])
    axes.minorticks_off()
    axes.set_yticks(range(len(names)), [f"{name} ({group})" for group, name in names], fontsize=6)
    axes.set_ylim(-0.7, len(names) - 0.3)
    axes.tick_params(axis="x", labelsize=7)
    axes.grid(axis="y", linewidth=0.3)
    axes.set_xlabel("variance or squared width, over that with the value chosen", fontsize=8)
    figure.legend(loc="outside upper center", ncols=2, fontsize=7, frameon=False)
    return {"constants": figure}


CPU = ConstantSettings()
PAPER = replace(CPU, trajectories=200)
SMOKE = replace(
    CPU, pools=("useless",), judged=(), groups=("static", "betting"),
    budgets=(20, 40), trajectories=2,
)  # fmt: skip

STUDIES = {
    "constants": Study(
        name="constants",
        title="What half and twice each chosen constant of campaigns and intervals would do",
        presets={"smoke": SMOKE, "cpu": CPU, "paper": PAPER},
        tasks=tasks,
        run=run,
        figures=figures,
        claims=claims,
    )
}

if __name__ == "__main__":
    write(Path(sys.argv[1]))
