"""The rules of the claims of the learning studies, as the ledger states them."""

from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np
from scipy import stats

from levelled._check import BoolArray, FloatArray
from levelled_studies.learning.report import SMALLER, UNEVEN
from studies.rules.reading import ALARM, Row, Rule, Settings, column, pick, shown, yes
from studies.rules.regret import judge_share
from studies.rules.regret import ratio as one_ratio

__all__ = ["PATTERNS"]

WAYS = ("naive", "PURE", "LURE", "verdict", "share", "shuffled")
Effect = tuple[FloatArray, FloatArray, int]
"""Relative change at each checkpoint, its standard error, and the number of trajectories."""


def of_case(rows: Sequence[Row], case: str) -> list[Row]:
    data, model, score = case.split()
    return pick(rows, data=data, model=model, score=score)


def grid(rows: Sequence[Row], name: str) -> FloatArray:
    """[trajectories, checkpoints]."""
    return column(rows, name).reshape(-1, len({row["labels"] for row in rows}))


def measure(rows: Sequence[Row]) -> str:
    return "MSE" if rows[0].get("naive MSE") is not None else "Brier score"


def change(rows: Sequence[Row], one: str, other: str) -> Effect:
    """The ratio of mean risks less one, with the standard error of the linearised ratio."""
    return ratio(*(grid(rows, f"{name} {measure(rows)}") for name in (one, other)))


def ratio(risks: FloatArray, base: FloatArray) -> Effect:
    value = risks.mean(axis=0) / base.mean(axis=0)
    residual = (risks - value * base) / base.mean(axis=0)
    n = len(risks)
    return value - 1, residual.std(axis=0, ddof=1) / np.sqrt(n), n


def signs(effect: Effect, comparisons: int, limit: float = 0.0) -> tuple[BoolArray, BoolArray]:
    """Where it is shown to be above the limit, and where below."""
    value, stderr, n = effect
    margin = stats.t.ppf(1 - ALARM / (2 * comparisons), n - 1) * stderr
    return value - margin > limit, value + margin < limit


def lowers(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """With R_LURE the risk is shown to be lower; one comparison a checkpoint."""
    (case,) = (one for one in settings["cases"] if name.endswith(one.replace(" ", "-")))
    effect = change(of_case(rows, case), "LURE", "naive")
    higher, lower = signs(effect, len(effect[0]))
    return shown(lower, higher)


def apart(one: Effect, other: Effect) -> Effect:
    return one[0] - other[0], np.hypot(one[1], other[1]), min(one[2], other[2])


def compare(effects: Iterable[Effect]) -> str:
    """Each difference is shown to be above 0; one comparison a pair and checkpoint."""
    found = list(effects)
    looks = sum(len(effect[0]) for effect in found)
    held, refuted = zip(*(signs(effect, looks) for effect in found), strict=True)
    return shown(np.concatenate(held), np.concatenate(refuted))


def pairs_of(pairs: Sequence[tuple[str, str]], settings: Settings) -> list[tuple[str, str]]:
    return [pair for pair in pairs if set(pair) <= set(settings["cases"])]


def overfits(rows: Sequence[Row]) -> float:
    """Overfitting bias after the last label as a share of the naive risk."""
    risk = grid(rows, f"naive {measure(rows)}")[:, -1]
    return float(grid(rows, "overfitting")[:, -1].mean() / risk.mean())


def less_overfitting(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """R_LURE helps the one of a pair more that overfits less."""
    effects = []
    for pair in pairs_of(SMALLER, settings):
        less, more = sorted((of_case(rows, case) for case in pair), key=lambda own: overfits(own))
        effects.append(apart(change(more, "LURE", "naive"), change(less, "LURE", "naive")))
    return compare(effects)


def uneven(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """The size of the effect is larger in the case with uneven classes."""
    effects = []
    for pair in pairs_of(UNEVEN, settings):
        one, other = (change(of_case(rows, case), "LURE", "naive") for case in pair)
        effects.append(apart((np.abs(one[0]), *one[1:]), (np.abs(other[0]), *other[1:])))
    return compare(effects)


def prefer_lure(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """R_LURE is shown to be better than R_PURE after the last label; one comparison a case."""
    cases = settings["cases"]
    found = [signs(change(of_case(rows, case), "LURE", "PURE"), len(cases)) for case in cases]
    return shown((lower[-1] for _, lower in found), (higher[-1] for higher, _ in found))


def share(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """The regret of the share over the cells; for linear and logistic regressions at most 1%."""
    cells = []
    for case, labels in product(settings["cases"], settings["checkpoints"]):
        own = pick(of_case(rows, case), labels=labels)
        cells.append({way: column(own, f"{way} {measure(own)}") for way in WAYS})
    tight = settings["study"] in ("learning-linear", "learning-logistic")
    claim = name.removeprefix(settings["study"]).removeprefix("-")
    return judge_share(cells, claim, worst=0.01 if tight else 0.07)


def floor_cells(rows: Sequence[Row], settings: Settings, name: str) -> list[tuple[float, float]]:
    """Changes of a column from the first floor to that of the claim, with standard errors."""
    _, floor, what = name.split("-")
    column_of = {"training": "share", "evaluation": "variance"}[what]
    found = []
    for case in settings["cases"]:
        for labels in settings["checkpoints"]:
            own = pick(of_case(rows, case), labels=labels)
            at = (pick(own, floor=each) for each in (float(floor), settings["floors"][0]))
            found.append(one_ratio(*(column(each, column_of) for each in at)))
    return found


def floor_cost(rows: Sequence[Row], settings: Settings, name: str) -> str:
    changes = floor_cells(rows, settings, name)
    sure = [change for change, error in changes if change > 2 * error]
    mean = np.mean([change for change, _ in changes])
    return yes(mean <= 0.01 and max(sure, default=0) <= 0.05)


def floor_gain(rows: Sequence[Row], settings: Settings, name: str) -> str:
    return yes(np.mean([change for change, _ in floor_cells(rows, settings, name)]) <= -0.25)


PATTERNS: dict[str, Rule] = {
    r"learning-\w+-overfitting": less_overfitting,
    r"learning-\w+-uneven": uneven,
    r"learning-\w+-lure-pure": prefer_lure,
    r"learning-\w+-share-\w+": share,
    r"floor-[\d.]+-training": floor_cost,
    r"floor-[\d.]+-evaluation": floor_gain,
    r"learning-\w+-.+-(entropy|variance|geometric)": lowers,
}
