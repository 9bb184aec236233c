"""What a learning study says: where weights help, and whether the rules of thumb hold."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from levelled._check import BoolArray
from levelled.studies.learning.reading import Advised, Effect, Found, advised, effect, read
from levelled.studies.learning.settings import Case, LearningSettings, cases
from levelled.studies.learning.words import named, titled
from levelled.studies.study import Claim, Verdict
from levelled.studies.tables import verdict, where_told

__all__ = ["claims"]

FAR = 3.0
"""Standard errors from which on a difference counts."""
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


def claims(study: str, table: pa.Table, settings: LearningSettings) -> list[Claim]:
    """One claim a case, one for each rule of thumb that pairs of cases test, and the verdicts."""
    found = {str(case): read(table, case) for case in cases(settings)}
    told = [_case(Case(*case.split()), one) for case, one in found.items()]
    smaller, uneven = (
        [pair for pair in pairs if found.keys() >= set(pair)] for pairs in (SMALLER, UNEVEN)
    )
    if smaller:
        told.append(_less_overfitting(found, smaller))
    if uneven:
        told.append(_uneven(found, uneven))
    told += [_prefer_lure(found), _verdicts(found)]
    return [replace(claim, name=f"{study}-{claim.name}") for claim in told]


def _gain(
    found: Found, objective: str = "LURE", beside: str = "naive", measure: str = ""
) -> Effect:
    risks = found.tested[measure or found.measure]
    return effect(found.labels, risks[objective], risks[beside])


def _case(case: Case, found: Found) -> Claim:
    lure, pure = _gain(found), _gain(found, "PURE")
    lower, higher = lure.z < -FAR, lure.z > FAR
    others = ", ".join(
        f"{each} {_gain(found, measure=each).told()}" for each in list(found.tested)[1:]
    )
    because = f"Lower by {FAR:g} standard errors at {where_told(found.labels, lower)}, higher at "
    because += where_told(found.labels, higher)
    return Claim(
        "-".join(case),
        WHERE,
        f"Training with the weights of R_LURE lowers the test risk of {named(case)}.",
        f"{found.measure} {found.risk('naive')[:, -1].mean():.4g} without weights at M = "
        f"{found.labels[-1]}; with R_LURE {lure.told()} beside it, with R_PURE {pure.told()}",
        "cannot tell" if not (lower | higher).any() else verdict(lower),
        f"{because}." + (f" By other measures with R_LURE: {others}." if others else ""),
    )


def _less_overfitting(found: Mapping[str, Found], pairs: Sequence[Pair]) -> Claim:
    """In each pair first comes what in fact overfits less."""
    ordered = [sorted(pair, key=lambda case: _overfits(found[case])) for pair in pairs]
    told = [
        " against ".join(_overfitting_told(case, found[case]) for case in pair) for pair in ordered
    ]
    held = [_lower(*(_gain(found[case]) for case in pair)) for pair in ordered]
    return Claim(
        "overfitting",
        f"{WHERE}; section 8, second rule of thumb",
        "The less a model overfits, the more R_LURE helps its training.",
        "R_LURE beside no weights after the last label: " + "; ".join(told),
        verdict(np.concatenate(held)),
        _where([pair[0] for pair in ordered], found, held),
    )


def _overfitting_told(case: str, found: Found) -> str:
    return (
        f"{_gain(found).told()} for {_title(case)} (overfitting bias {_overfits(found):z.0%}, "
        f"active learning bias {found.share(found.bias):z.0%} of the risk)"
    )


def _overfits(found: Found) -> float:
    return found.share(found.overfitting)


def _uneven(found: Mapping[str, Found], pairs: Sequence[Pair]) -> Claim:
    told = [
        " against ".join(f"{_gain(found[case]).told()} for {_title(case)}" for case in pair)
        for pair in pairs
    ]
    held = [_lower(*(_gain(found[case]).size for case in reversed(pair))) for pair in pairs]
    return Claim(
        "uneven",
        f"{WHERE}; section 8, third rule of thumb",
        "R_LURE has more of an effect where classes are highly imbalanced.",
        "R_LURE beside no weights after the last label: " + "; ".join(told),
        verdict(np.concatenate(held)),
        _where([pair[0] for pair in pairs], found, held),
    )


def _lower(one: Effect, other: Effect) -> BoolArray:
    """Where one effect is below another of other trajectories, by 3 standard errors."""
    return other.value - one.value > FAR * np.hypot(one.stderr, other.stderr)


def _where(names: Sequence[str], found: Mapping[str, Found], held: Sequence[BoolArray]) -> str:
    told = "; ".join(
        f"{_title(case)} at {where_told(found[case].labels, own)}"
        for case, own in zip(names, held, strict=True)
    )
    return f"So by {FAR:g} standard errors: {told}."


def _title(case: str) -> str:
    return titled(Case(*case.split()))


def _prefer_lure(found: Mapping[str, Found]) -> Claim:
    changes = {case: _gain(one, "LURE", "PURE") for case, one in found.items()}
    z = np.array([change.z[-1] for change in changes.values()])
    said: Verdict = "does not hold" if (z > FAR).any() else "holds partly"
    if (z < -FAR).any():
        said = "holds partly" if (z > FAR).any() else "holds"
    return Claim(
        "lure-pure",
        f"{WHERE}; section 8",
        "For training R_LURE is to be preferred to R_PURE.",
        "R_LURE beside R_PURE after the last label: "
        + "; ".join(f"{change.told()} for {_title(case)}" for case, change in changes.items()),
        said,
        f"Better by {FAR:g} standard errors in {(z < -FAR).sum()} of {len(z)} cases, worse in "
        f"{(z > FAR).sum()}.",
    )


def _verdicts(found: Mapping[str, Found]) -> Claim:
    said = {case: advised(one) for case, one in found.items()}
    losses = {case: _worse(one) for case, one in said.items()}
    held = [bool(loss.z[0] <= FAR) for loss in losses.values()]
    told = "; ".join(
        f"{_title(case)}: {_counted(said[case].counts)}, {loss.told(0)}"
        for case, loss in losses.items()
    )
    return Claim(
        "verdicts",
        WHERE,
        "Who corrects only where `advise` says so does no worse than with always or never.",
        f"{sum(one.agree for one in said.values())} of {sum(one.decided for one in said.values())} "
        f"verdicts that decide are confirmed by the test set; verdicts, and the risk of following "
        f"them beside the better of always and never: {told}",
        verdict(held),
        f"Not worse by {FAR:g} standard errors in {sum(held)} of {len(held)} cases. Where labels "
        f"are not enough for a verdict nothing is corrected.",
    )


def _worse(said: Advised) -> Effect:
    never, always = said.beside_naive, said.beside_lure
    return never if never.value[0] > always.value[0] else always


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {name}" for name, n in counts.items() if n)
