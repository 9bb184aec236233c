"""The interval that fits the losses: the defaults, and the checks of a thin design.

A design is thin where its weights are so uneven that the labels are worth only a few uniform
ones (`design_size`).
"""

from dataclasses import dataclass

import numpy as np

from levelled._check import FloatArray
from levelled.errors import InputError
from levelled.estimators.diagnostics import design_size, heaviest_size, thin_warning
from levelled.estimators.intervals import anytime
from levelled.estimators.intervals.betting import betting_interval
from levelled.estimators.intervals.fixed import (
    cp_safe,
    effective,
    log_t_interval,
    ranked_weights,
    signed_cp_safe,
    t_interval,
)
from levelled.estimators.intervals.hedged import COLUMNS, hedged_interval
from levelled.estimators.intervals.score import score_t
from levelled.estimators.loss_sample import LossSample

INTERVALS = ("auto", "t", "log_t", "cp_safe", "score_t", "anytime", "betting", "hedged", "none")
_FIXED = ("t", "log_t", "cp_safe")
_POOR, _THIN, _HOPELESS = 30, 15, 5
"""Design sizes below which asymptotic intervals get a warning, are not chosen, are refused."""
_FEW = 20
"""Losses other than zero below which the spread of signed losses without bounds is doubtful."""

Limits = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Interval:
    """Limits, the method that computed them, and warnings for the reader."""

    low: float
    high: float
    method: str
    warnings: tuple[str, ...] = ()


def interval_for(sample: LossSample, wanted: str) -> Interval:
    """The `wanted` interval, or with "auto" the one that holds for losses like these.

    It is cut to what is logically possible, and widened by the items that could never be drawn.
    """
    lowest, highest = sample.possible
    if sample.complete:
        return _widen(sample, lowest, highest, "point", ())
    if wanted == "none":
        return Interval(lowest, highest, "none")
    size = design_size(sample.draws)
    method = _default(sample, size) if wanted == "auto" else wanted
    _check_method(sample, method, size)
    warnings = (*_thin_warnings(sample, method, size), *_few_warnings(sample, method))
    limits = _limits(sample, method)
    if limits is None:
        warnings = (*warnings, _why_logical(sample, method))
        return _widen(sample, lowest, highest, "logical", warnings)
    low, high = max(limits[0], lowest), min(limits[1], highest)
    if low > high:
        note = (
            "the estimate lies outside what is logically possible after these labels; the "
            "interval is what is possible"
        )
        return _widen(sample, lowest, highest, "logical", (*warnings, note))
    return _widen(sample, low, high, method, warnings)


def _default(sample: LossSample, size: float) -> str:
    """The default method for a number of labels that was fixed beforehand."""
    bounded = bool(np.isfinite(sample.bounds).all())
    if sample.predicted_variance is not None and bounded and not sample.population:
        return "score_t"
    signed_population = sample.population and sample.kind == "signed"
    if bounded and not signed_population:
        return "cp_safe"
    enough = sample.population or (sample.has_spread and size >= _THIN)
    if sample.kind == "signed":
        return "t" if enough else "betting"
    return "log_t" if enough and sample.moments.value > 0 else "betting"


def _check_method(sample: LossSample, method: str, size: float) -> None:
    """Refuse a method that does not hold for these losses."""
    signed = sample.kind == "signed"
    if sample.population and (method not in _FIXED or (method == "cp_safe" and signed)):
        instead = "t" if signed else ", ".join(_FIXED)
        raise InputError(f"There is no {method!r} interval for the population: use {instead}.")
    if method == "cp_safe" and not np.isfinite(sample.bounds).all():
        raise InputError(
            f"interval='cp_safe' is for losses with bounds; these have {sample.bounds}. Declare "
            f"them, for example bounds=(0, 1), or leave the choice to interval='auto'."
        )
    if method == "score_t" and (
        sample.predicted_variance is None or not np.isfinite(sample.bounds).all()
    ):
        raise InputError(
            "interval='score_t' is for estimator='ramped' and losses with bounds: declare them, or "
            "leave the choice to interval='auto'."
        )
    if method == "hedged":
        _check_hedged(sample)
    if method in ("log_t", "anytime") and sample.kind == "signed":
        instead = "'t'" if method == "log_t" else "'betting' with declared bounds"
        raise InputError(
            f"interval={method!r} is for losses that are never negative: use {instead}."
        )
    continuous = sample.kind != "0/1" and method in ("t", "log_t", "anytime")
    if continuous and size < _HOPELESS <= len(sample.draws):
        raise InputError(
            f"interval={method!r} cannot be trusted here: {thin_warning(sample.draws, size)}, "
            f"or choose interval='betting'."
        )


def _check_hedged(sample: LossSample) -> None:
    missing = set(COLUMNS) - set(sample.draws.design or {})
    if sample.kind != "0/1":
        why = "is for losses of 0 and 1, and these are others"
    elif sample.predicted_variance is None:
        why = "is for estimator='ramped', whose predictor it bets with"
    elif missing:
        why = f"needs draws with the design columns {', '.join(sorted(missing))}"
    elif sample.budget is None:
        why = "needs the number of labels that was fixed beforehand, for example budget=500"
    else:
        return
    raise InputError(
        f"interval='hedged' {why}. interval='betting' holds for any losses with bounds, any draws "
        f"and any number of labels."
    )


def _thin_warnings(sample: LossSample, method: str, size: float) -> tuple[str, ...]:
    M = len(sample.draws)
    if size >= min(_POOR, 0.8 * M) or method in ("betting", "hedged") or M == 1:
        return ()
    return (thin_warning(sample.draws, size),)


def _few_warnings(sample: LossSample, method: str) -> tuple[str, ...]:
    count = int(np.count_nonzero(sample.losses))
    if method != "t" or count >= _FEW:
        return ()
    return (
        f"only {count} losses differ from 0, too few to judge their spread: declare bounds, or "
        f"label more",
    )


def _widen(
    sample: LossSample, low: float, high: float, method: str, warnings: tuple[str, ...]
) -> Interval:
    """The interval of what could be drawn, widened by any loss of what could not."""
    draws, (lowest, highest) = sample.draws, sample.bounds
    if not draws.excluded:
        return Interval(low, high, method, warnings)
    share = draws.excluded / draws.pool_size
    note = (
        f"{draws.excluded} of {draws.pool_size} items could never be drawn; the interval allows "
        f"for any loss of theirs"
    )
    return Interval(low + lowest * share, high + highest * share, method, (*warnings, note))


def _limits(sample: LossSample, method: str) -> Limits | None:
    """The limits that a method computes, or None where it has none for these labels."""
    summary, level, draws = sample.moments, sample.level, sample.draws
    if method == "betting":
        return _betting(sample)
    if method == "hedged":
        q, N, design = draws.probability, draws.pool_size, draws.design or {}
        return hedged_interval(sample.losses, q, N, sample.budget or N, level, design=design)
    if summary.budget < {"cp_safe": 2, "anytime": anytime.LEAST}.get(method, 1):
        return None
    weights = ranked_weights(draws.probability, draws.pool_size)
    if method == "cp_safe":
        return _cp_safe(sample, weights)
    if method == "score_t":
        predicted = np.asarray(sample.predicted_variance)
        low, high = score_t(summary, predicted, sample.bounds, level, sample.predicted_jump)
        return float(low), float(high)
    if method == "anytime" and sample.kind == "0/1":
        width = anytime.boundary(summary.budget, draws.pool_size, level)
        size = design_size(draws)
        binomial = effective(summary, sample.losses, weights, level, design_size=size)
        limits = anytime.wilson(*binomial, width)
    elif not sample.has_spread or (method != "t" and summary.value <= 0):
        return None
    else:
        compute = {"t": t_interval, "log_t": log_t_interval, "anytime": anytime.anytime_log_t}
        limits = compute[method](sample.blended, level)
    return float(limits[0]), float(limits[1])


def _cp_safe(sample: LossSample, weights: FloatArray) -> Limits:
    """`cp_safe` of losses as shares of their upper bound; of signed ones by square-and-add."""
    lowest, highest = sample.bounds
    if sample.kind != "signed":
        scaled, losses = sample.moments.over(highest), sample.losses / highest
        size, population = design_size(sample.draws), sample.population
        low, high = cp_safe(
            scaled, losses, weights, sample.level, design_size=size, population=population
        )
        return float(low * highest), float(high * highest)
    q, N, size = sample.draws.probability, sample.draws.pool_size, heaviest_size(sample.draws)
    low, high = signed_cp_safe(
        sample.losses, q, N, sample.level, bounds=(lowest, highest), size=size
    )
    return float(low), float(high)


def _betting(sample: LossSample) -> Limits | None:
    draws, bounds, level = sample.draws, sample.bounds, sample.level
    if np.isinf(bounds[0]):
        return None
    q, N = draws.probability, draws.pool_size
    low, high = betting_interval(
        sample.losses, q, N, bounds, level, design=draws.design, excluded=draws.excluded
    )
    return (low, high) if low < high else None


def _why_logical(sample: LossSample, method: str) -> str:
    """The reason why the interval is only what is logically possible."""
    if method == "anytime":
        why = f"an asymptotic interval needs {anytime.LEAST} labels and some spread"
    elif method == "betting" and np.isinf(sample.bounds[0]):
        why = "losses of either sign have a finite-sample interval only with declared bounds"
    elif method == "betting":
        why = (
            "these labels contradict their probabilities: no risk at all is likely to give them. "
            "Are the losses in the order of the draws, and the probabilities those of each draw"
        )
    elif sample.moments.budget == 1:
        why = "one label shows no spread"
    else:
        why = "the labels so far show no spread"
    return f"{why}; the interval is what is logically possible"
