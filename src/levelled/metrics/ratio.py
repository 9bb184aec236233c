"""Estimates of a ratio of two pool means, with the values that are possible and an interval."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import BoolArray, FloatArray, between, choice, floats, same_length
from levelled.draws import Draws, check_draws
from levelled.errors import InputError, LossError
from levelled.estimators import lure
from levelled.estimators.diagnostics import design_size, effective_size, thin_warning
from levelled.estimators.intervals.betting import RatioBetting
from levelled.estimators.intervals.fixed import ranked_weights
from levelled.estimators.intervals.logical import LARGEST
from levelled.estimators.moments import worth
from levelled.estimators.record import Estimate
from levelled.metrics.fieller import fieller_limits
from levelled.metrics.linearised import draws_ratio, wilson_limits

Limits = tuple[float, float]
Unseen = Sequence[tuple[int, Sequence[tuple[float, float]]]]
"""Items without a label, in groups: how many, and the pairs (A, D) that each may turn out as."""

_POOR, _THIN = 30, 15
"""Design sizes below which an interval gets a warning, and one that advises against it."""

_UNEVEN = 0.01
"""Weights that differ by less are those of uniform draws."""

_FIXED = ("wilson", "cp_safe")


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """One reading of an estimate: after these draws, at this level, by this method."""

    draws: Draws
    level: float
    interval: str

    def __post_init__(self) -> None:
        check_draws(self.draws)
        if not len(self.draws):
            raise InputError("An estimate needs at least one label.")
        object.__setattr__(self, "level", between("level", self.level, 0, 1, open_=True))


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """The numerator A and denominator D of each drawn item, and those that the others may have.

    `what` names what must be seen for the ratio to be defined; `denominator_mean` is the pool
    mean of D, where it follows from predictions or slices. `is_share` is False for a ratio that
    is no share of anything, such as that of kappa: its interval is Fieller's, not Wilson's.
    """

    numerator: FloatArray
    denominator: FloatArray
    unseen: Unseen
    what: str
    denominator_mean: float | None = None
    is_share: bool = True

    @classmethod
    def over_part(
        cls, values: FloatArray, inside: BoolArray, size: int, draws: Draws, what: str
    ) -> "Pairs":
        """The mean of values in [0, 1] over a part of the pool with `size` items in all."""
        D = inside.astype(np.float64)
        unseen = [(size - int(inside.sum()), [(0.0, 1.0), (1.0, 1.0)])]
        return cls(values * D, D, unseen, what, size / draws.pool_size)

    @property
    def most(self) -> float:
        """The largest D an item may have."""
        return max(d for _, pairs in self.unseen for _, d in pairs)

    @property
    def settled(self) -> bool:
        """True if no item without a label can add to the denominator."""
        return not any(count and d for count, pairs in self.unseen for _, d in pairs)

    @property
    def possible(self) -> Limits:
        """The least and the largest ratio that the labels so far leave possible.

        A ratio of sums is largest and smallest where all items of a group turn out alike.

        >>> unseen = [(5, [(0, 0), (0, 1), (1, 1)])]
        >>> Pairs(np.array([1.0, 1, 0]), np.ones(3), unseen, "label").possible
        (0.25, 0.875)
        """
        seen_A, seen_D = float(self.numerator.sum()), float(self.denominator.sum())
        counts, ratios = [n for n, _ in self.unseen], []
        for outcome in product(*(pairs for _, pairs in self.unseen)):
            A = seen_A + sum(n * a for n, (a, _) in zip(counts, outcome, strict=True))
            D = seen_D + sum(n * d for n, (_, d) in zip(counts, outcome, strict=True))
            if D > 0:
                ratios.append(A / D)
        return (min(ratios), max(ratios)) if ratios else (0.0, 1.0)


def ratio(
    numerator: ArrayLike,
    denominator: ArrayLike,
    draws: Draws,
    *,
    most: float = 1.0,
    level: float = 0.95,
    interval: str = "auto",
) -> Estimate:
    """A ratio of your own, sum of A over sum of D in the whole pool, with 0 <= A <= D <= `most`.

        theta^ = sum_m v_m A_m / sum_m v_m D_m

    with the weights v_m of R_LURE. Before any item with D > 0 has been drawn it is undefined;
    its value is then None, and its limits say what is possible. "wilson", the default, holds
    for a number of labels fixed beforehand, "betting" for any number, however often one looks.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> print(ratio([1, 0, 1, 0], [1, 1, 1, 0], draws))
    0.6667 [0.1111, 0.9474], 95% confidence; 4 labels of 20 (lure, wilson)
    """
    check_draws(draws, numerator=numerator, denominator=denominator)
    A = floats("numerator", numerator, ndim=1, largest=LARGEST)
    D = floats("denominator", denominator, ndim=1, largest=LARGEST)
    same_length(numerator=A, denominator=D, draws=draws.index)
    most = between("most", most, 0, LARGEST, open_=True)
    wrong = np.flatnonzero((A < 0) | (A > D) | (most < D))
    if wrong.size:
        raise LossError(
            f"A ratio needs 0 <= numerator <= denominator <= {most:g} (most) for every item; "
            f"{wrong.size} of {len(A)} are not so, the first is {A[wrong[0]]:g} of "
            f"{D[wrong[0]]:g}."
        )
    unseen = [(draws.pool_size - len(draws), [(0.0, 0.0), (0.0, most), (most, most)])]
    pairs = Pairs(A, D, unseen, "denominator above 0")
    return ratio_estimate(pairs, Look(draws, level, interval))


def ratio_estimate(pairs: Pairs, look: Look) -> Estimate:
    """The estimate of a ratio whose pairs have been checked."""
    fixed = "wilson" if pairs.is_share else "fieller"
    choice("interval", look.interval, ("auto", fixed, "betting", "none"))
    draws, D = look.draws, pairs.denominator
    if not D.any():
        return undefined_estimate(look, pairs.possible, pairs.what, final=pairs.settled)
    moments = draws_ratio(pairs.numerator, D, draws)

    def asymptotic() -> Limits | None:
        limits: Limits | None = fieller_limits(pairs.numerator, D, moments, draws, look.level)
        if pairs.is_share:
            low, high = wilson_limits(moments, look.level)
            limits = float(low), float(high)
        if limits is None:  # the denominator is not clear of 0
            return None
        return widen_for_excluded(limits, float(moments.denominator), pairs.most, draws)

    methods = {fixed: asymptotic, "betting": lambda: _betting(pairs, look)}
    variance = moments.residual.variance
    est = make_estimate(look, moments.value, variance, D > 0, pairs.possible, methods)
    return replace(est, worth=worth(moments.residual, moments.residuals, draws.probability))


def make_estimate(
    look: Look,
    value: FloatArray | float,
    variance: FloatArray,
    units: BoolArray,
    possible: Limits,
    methods: Mapping[str, Callable[[], Limits | None]],
) -> Estimate:
    """The estimate with this value and the interval of `look` ("auto": the first of `methods`).

    Value and interval are cut to what is possible. `units` are the draws that count in it.
    """
    draws = look.draws
    method = next(iter(methods)) if look.interval == "auto" else look.interval
    (low, high), method, warnings = _limits(possible, method, methods, draws)
    spread = None if len(draws) < 2 else float(np.sqrt(variance))
    weights = lure.lure_weights(draws)[units]
    return replace(
        undefined_estimate(look, (low, high), ""),
        value=float(np.clip(value, *possible)),
        stderr=0.0 if method == "point" else spread,
        ess=effective_size(weights),
        max_weight=float(weights.max()),
        interval=method,
        warnings=warnings,
    )


def undefined_estimate(look: Look, limits: Limits, what: str, *, final: bool = False) -> Estimate:
    """An estimate without a value, only with the limits of what is possible."""
    low, high = limits
    note = f"no {what} seen yet: undefined so far, between {low:.4g} and {high:.4g}"
    if final:
        note = f"no {what} in the whole pool: undefined"
    return Estimate(
        value=None,
        low=low,
        high=high,
        level=look.level,
        stderr=None,
        n_labels=len(look.draws),
        pool_size=look.draws.pool_size,
        ess=0.0,
        max_weight=float(lure.lure_weights(look.draws).max()),
        estimator="lure",
        interval="undefined",
        warnings=(note,),
    )


def scaled(estimate: Estimate, by: float, start: float = 0.0) -> Estimate:
    """`start` + `by` times an estimate."""
    low, high = sorted(start + by * limit for limit in (estimate.low, estimate.high))
    return replace(
        estimate,
        value=None if estimate.value is None else start + by * estimate.value,
        low=low,
        high=high,
        stderr=None if estimate.stderr is None else abs(by) * estimate.stderr,
    )


def widen_for_excluded(
    limits: tuple[FloatArray | float, FloatArray | float],
    denominator: float,
    most: float,
    draws: Draws,
) -> Limits:
    """Limits widened for any values of the items that could never be drawn."""
    low, high = (float(limit) for limit in limits)
    drawable = draws.pool_size * denominator
    total = drawable + draws.excluded * most
    return low * drawable / total, (high * drawable + total - drawable) / total


def _thin_notes(draws: Draws) -> tuple[str, ...]:
    """Warnings where items had little chance of being drawn, or it is not known how little."""
    notes, size = [], design_size(draws)
    weights = ranked_weights(draws.probability, draws.pool_size)
    if size < min(_POOR, 0.8 * len(draws)):
        note = thin_warning(draws, size)
        notes.append(note if size >= _THIN else f"{note}; until then do not rely on this interval")
    if "max_weight" not in (draws.design or {}) and np.ptp(weights) > _UNEVEN:
        notes.append(
            "these draws do not say how heavy an item they could have drawn, so the interval "
            "relies on the heaviest one that was drawn: use levelled.samplers.with_design"
        )
    return tuple(notes)


def translate_fixed(method: str, interval: str) -> str:
    """`interval`, where both "wilson" and "cp_safe" become this `method`.

    Both hold for a number of labels fixed beforehand, Wilson's for a ratio and `cp_safe` for an
    average. Where a figure may be computed either way, callers may use either name.
    """
    choice("interval", interval, ("auto", *_FIXED, "betting", "none"))
    return method if interval in _FIXED else interval


def _limits(
    possible: Limits, method: str, methods: Mapping[str, Callable[[], Limits | None]], draws: Draws
) -> tuple[Limits, str, tuple[str, ...]]:
    """Limits, the method they came from, and warnings about them."""
    if possible[0] == possible[1]:
        return possible, "point", ()
    if method == "none":
        return possible, "none", ()
    if len(draws) < 2 and method != "betting":
        note = "one label shows no spread; the interval is what is logically possible"
        return possible, "logical", (note,)
    limits = methods[method]()
    warnings = () if method == "betting" else _thin_notes(draws)
    if draws.excluded:
        note = (
            f"{draws.excluded} of {draws.pool_size} items could never be drawn; the interval "
            f"allows for whatever they are"
        )
        warnings = (*warnings, note)
    if limits is None or max(limits[0], possible[0]) > min(limits[1], possible[1]):
        note = f"no {method} interval after these labels; this one is what is logically possible"
        return possible, "logical", (*warnings, note)
    return (max(limits[0], possible[0]), min(limits[1], possible[1])), method, warnings


def _betting(pairs: Pairs, look: Look) -> Limits | None:
    """Limits valid however often one looks; None where items could never be drawn."""
    draws = look.draws
    if draws.excluded:
        return None
    watch = RatioBetting(draws.pool_size, pairs.most, look.level, pairs.denominator_mean)
    weights = (draws.design or {}).get("max_weight")
    for m, (a, d, q) in enumerate(
        zip(pairs.numerator, pairs.denominator, draws.probability, strict=True)
    ):
        watch.update(a, d, q, max_weight=None if weights is None else weights[m])
    return watch.interval()
