"""Figures and claims of a learning study: effects of weights, rules of thumb, and the share."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from levelled._check import BoolArray
from levelled_studies.learning.reading import CaseRuns, Effect, read
from levelled_studies.learning.settings import Case, LearningSettings, cases
from levelled_studies.regret import Bars, Cell, share_claims
from levelled_studies.regret_plots import plot_cells
from levelled_studies.study import Claim, Plot
from levelled_studies.tables import alarm_rate, at_budgets, judge

__all__ = ["claims", "figures"]

WHERE = "Levelled, learning"
Pair = tuple[str, str]

SMALLER: tuple[Pair, ...] = (
    ("hours ridge geometric", "hours-all ridge geometric"),
    ("adult-few logistic entropy", "adult logistic entropy"),
    ("adult-coded tree entropy", "adult-coded forest entropy"),
    ("fashion tree entropy", "fashion forest entropy"),
    ("breast-cancer tree entropy", "breast-cancer forest entropy"),
    ("adult-coded stumps entropy", "adult-coded boosting entropy"),
    ("fraud stumps entropy", "fraud boosting entropy"),
    ("breast-cancer stumps entropy", "breast-cancer boosting entropy"),
)
"""The same to learn, by a model that overfits less and by one that overfits more."""
UNEVEN: tuple[Pair, ...] = (
    ("fashion-uneven logistic entropy", "fashion logistic entropy"),
    ("fashion-uneven tree entropy", "fashion tree entropy"),
    ("fraud logistic entropy", "adult logistic entropy"),
    ("fraud stumps entropy", "adult-coded stumps entropy"),
    ("fraud boosting entropy", "adult-coded boosting entropy"),
)
"""Uneven classes, and the same classes or others that are even, or less uneven."""
BARS = dict.fromkeys(("learning-linear", "learning-logistic"), Bars(worst=0.01))
"""Tighter limits of the regret, of models whose share is well known."""


def claims(study: str, table: pa.Table, settings: LearningSettings) -> list[Claim]:
    """One claim a case, one for each rule of thumb that pairs of cases test, and the share's."""
    runs = {str(case): read(table, case) for case in cases(settings)}
    text = [_case(Case(*case.split()), one) for case, one in runs.items()]
    smaller, uneven = (
        [pair for pair in pairs if runs.keys() >= set(pair)] for pairs in (SMALLER, UNEVEN)
    )
    if smaller:
        text.append(_less_overfitting(runs, smaller))
    if uneven:
        text.append(_uneven(runs, uneven))
    text.append(_prefer_lure(runs))
    text += share_claims(_cells(table, settings), BARS.get(study, Bars()), WHERE)
    return [replace(claim, name=f"{study}-{claim.name}") for claim in text]


def _rule(effects: Iterable[Effect], comparisons: int) -> str:
    """The rule by which a difference counts."""
    n = min(each.n for each in effects)
    return f"By Student's t over {n} trajectories, with {alarm_rate(comparisons)}"


def _case(case: Case, runs: CaseRuns) -> Claim:
    lure, pure, looks = runs.change(), runs.change("PURE"), len(runs.labels)
    lower, higher = (lure.shows(sign, comparisons=looks) for sign in (-1, 1))
    others = ", ".join(
        f"{each} {runs.change(measure=each).text()}" for each in list(runs.tested)[1:]
    )
    because = f"{_rule([lure], looks)}: lower at {at_budgets(runs.labels, lower)}, higher at "
    because += at_budgets(runs.labels, higher)
    return Claim(
        "-".join(case),
        WHERE,
        f"Training with the weights of R_LURE lowers the test risk of {case.phrase}.",
        f"{runs.measure} {runs.risk('naive')[:, -1].mean():.4g} without weights at M = "
        f"{runs.labels[-1]}; with R_LURE {lure.text()} beside it, with R_PURE {pure.text()}",
        judge(lower, higher),
        f"{because}." + (f" By other measures with R_LURE: {others}." if others else ""),
    )


def _less_overfitting(runs: Mapping[str, CaseRuns], pairs: Sequence[Pair]) -> Claim:
    """Compare pairs, in each of which the case that overfits less comes first."""
    ordered = [sorted(pair, key=lambda case: _overfits(runs[case])) for pair in pairs]
    return _compare(
        ("overfitting", "second", "The less a model overfits, the more R_LURE helps its training."),
        runs,
        {(less, more): runs[more].change() - runs[less].change() for less, more in ordered},
    )


def _uneven(runs: Mapping[str, CaseRuns], pairs: Sequence[Pair]) -> Claim:
    return _compare(
        ("uneven", "third", "R_LURE has more of an effect where classes are highly imbalanced."),
        runs,
        {(one, even): runs[one].change().size - runs[even].change().size for one, even in pairs},
    )


def _compare(
    rule: tuple[str, str, str], runs: Mapping[str, CaseRuns], apart: Mapping[Pair, Effect]
) -> Claim:
    """A rule of thumb by pairs of cases, each with a difference that it says is above 0."""
    name, place, says = rule
    looks = sum(len(each.labels) for each in apart.values())
    so, reverse = (
        {pair: each.shows(sign, comparisons=looks) for pair, each in apart.items()}
        for sign in (1, -1)
    )
    text = (" against ".join(_describe(case, runs[case]) for case in pair) for pair in apart)
    return Claim(
        name,
        f"{WHERE}; section 8, {place} rule of thumb",
        says,
        "R_LURE beside no weights after the last label: " + "; ".join(text),
        judge(np.concatenate([*so.values()]), np.concatenate([*reverse.values()])),
        f"{_rule(apart.values(), looks)}: so for {_where(runs, so)}; the reverse for "
        f"{_where(runs, reverse)}.",
    )


def _describe(case: str, runs: CaseRuns) -> str:
    return (
        f"{runs.change().text()} for {_title(case)} (overfitting bias {_overfits(runs):z.0%}, "
        f"active learning bias {runs.share_of(runs.bias):z.0%} of the risk)"
    )


def _overfits(runs: CaseRuns) -> float:
    return runs.share_of(runs.overfitting)


def _where(runs: Mapping[str, CaseRuns], held: Mapping[Pair, BoolArray]) -> str:
    text = [
        f"{_title(case)} at {at_budgets(runs[case].labels, own)}"
        for (case, _), own in held.items()
        if own.any()
    ]
    return "; ".join(text) or "none"


def _title(case: str) -> str:
    return Case(*case.split()).title


def _prefer_lure(runs: Mapping[str, CaseRuns]) -> Claim:
    changes = {case: one.change("LURE", "PURE") for case, one in runs.items()}
    last = [change.at(-1, comparisons=len(changes)) for change in changes.values()]
    better, worse = ([each.shows(sign) for each in last] for sign in (-1, 1))
    return Claim(
        "lure-pure",
        f"{WHERE}; section 8",
        "For training R_LURE is to be preferred to R_PURE.",
        "R_LURE beside R_PURE after the last label: "
        + "; ".join(f"{change.text()} for {_title(case)}" for case, change in changes.items()),
        judge(better, worse),
        f"{_rule(changes.values(), len(last))}: better in {sum(better)} of {len(last)} cases, "
        f"worse in {sum(worse)}.",
    )


def figures(table: pa.Table, settings: LearningSettings) -> Mapping[str, Plot]:
    """Regrets of all ways of training, cell by cell."""
    return {"regret": plot_cells(_cells(table, settings), _small_print(settings))}


def _cells(table: pa.Table, settings: LearningSettings) -> list[Cell]:
    """All cells of a study."""
    return [cell for case in cases(settings) for cell in read(table, case).cells(case)]


def _small_print(settings: LearningSettings) -> str:
    return (
        f"{settings.trajectories} trajectories, pools of up to {settings.pool_size:,}, seed "
        f"{settings.seed}\n"
        "risk: Brier score of classifiers, squared error of regressions; grey: less than 2%"
    )
