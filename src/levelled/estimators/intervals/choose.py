"""The right interval for these losses: the table of defaults, and the gates of a thin design."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from levelled.errors import InputError
from levelled.estimators.diagnostics import design_size, thin_warning
from levelled.estimators.intervals import anytime
from levelled.estimators.intervals.betting import betting_interval
from levelled.estimators.intervals.fixed import (
    NO_VARIANCE,
    cp_safe,
    effective,
    log_t_interval,
    ranked_weights,
    t_interval,
)
from levelled.estimators.intervals.logical import logical_limits
from levelled.estimators.loss_sample import LossSample

__all__ = ["INTERVALS", "Interval", "interval_for"]

INTERVALS = ("auto", "t", "log_t", "cp_safe", "anytime", "betting", "none")
_FIXED = ("t", "log_t", "cp_safe")
_POOR, _THIN, _HOPELESS = 30, 15, 5
"""Design sizes below which asymptotic intervals get a warning, are not chosen, are refused."""

_FEW = 5
"""Differences other than zero below which their spread is not to be believed."""

Limits = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Interval:
    """Limits, the method they came from, and what a reader must know about them."""

    low: float
    high: float
    method: str
    warnings: tuple[str, ...] = ()


def interval_for(problem: LossSample, wanted: str) -> Interval:
    """The `wanted` interval, or with "auto" the one that holds for losses like these.

    Cut to what is logically possible, and widened by what could never be drawn.
    """
    if problem.complete:
        return _final(problem, *_logical(problem), "point", ())
    if wanted == "none":
        return Interval(*_logical(problem), "none")
    size = design_size(problem.draws)
    method = _automatic(problem, size) if wanted == "auto" else wanted
    _refuse(problem, method, size)
    warnings = _thin(problem, method, size)
    limits = _METHODS[method](problem)
    if limits is None:
        told = _unavailable(problem, method)
        return _final(problem, *_logical(problem), "logical", (*warnings, told))
    low, high = limits
    lowest, highest = _logical(problem)
    low, high = max(low, lowest), min(high, highest)
    if low > high:
        told = (
            "the estimate lies outside what is logically possible after these labels; the "
            "interval is what is possible"
        )
        return _final(problem, lowest, highest, "logical", (*warnings, told))
    return _final(problem, low, high, method, warnings)


def _automatic(problem: LossSample, size: float) -> str:
    """The default for a fixed number of labels."""
    if problem.kind == "0/1" or _sparse(problem):
        return "cp_safe"
    spread = _spread(problem)
    if problem.population:
        return "t" if problem.kind == "signed" else "log_t"
    if problem.kind == "signed":
        known = np.count_nonzero(problem.losses) >= _FEW
        return "t" if known and spread and size >= _THIN else "betting"
    return "log_t" if spread and problem.found.value > 0 and size >= _THIN else "betting"


def _spread(problem: LossSample) -> bool:
    """Whether the terms differ by more than rounding."""
    largest = float(np.abs(problem.losses).max())
    return NO_VARIANCE * largest**2 < float(problem.found.variance) < np.inf


def _sparse(problem: LossSample) -> bool:
    """Bounded losses most of which are zero behave like 0/1 losses."""
    low, high = problem.bounds
    mostly_zero = 2 * int(np.count_nonzero(problem.losses)) < len(problem.losses)
    return problem.kind == "positive" and low == 0 and high < np.inf and mostly_zero


def _refuse(problem: LossSample, method: str, size: float) -> None:
    if problem.population and method not in _FIXED:
        raise InputError(
            f"There is no {method!r} interval for the population: use one of {', '.join(_FIXED)}."
        )
    if method == "cp_safe" and (problem.bounds[0] != 0 or not np.isfinite(problem.bounds[1])):
        raise InputError(
            f"interval='cp_safe' is for losses in [0, B]: these have bounds {problem.bounds}. "
            f"Declare them, for example bounds=(0, 1), or leave the choice to interval='auto'."
        )
    if method in ("log_t", "anytime") and problem.kind == "signed":
        instead = "'t'" if method == "log_t" else "'betting' with declared bounds"
        raise InputError(
            f"interval={method!r} is for losses that are never negative: use {instead}."
        )
    continuous = problem.kind != "0/1" and method in ("t", "log_t", "anytime")
    if continuous and size < _HOPELESS <= len(problem.draws):
        raise InputError(
            f"interval={method!r} cannot be trusted here: {thin_warning(problem.draws, size)}, "
            f"or ask for interval='betting'."
        )


def _thin(problem: LossSample, method: str, size: float) -> tuple[str, ...]:
    M = len(problem.draws)
    if size >= min(_POOR, 0.8 * M) or method == "betting" or M == 1:
        return ()
    return (thin_warning(problem.draws, size),)


def _final(
    problem: LossSample, low: float, high: float, method: str, warnings: tuple[str, ...]
) -> Interval:
    """The interval for what could be drawn, widened by whatever the rest may be."""
    draws, (lowest, highest) = problem.draws, problem.bounds
    if not draws.excluded:
        return Interval(low, high, method, warnings)
    share = draws.excluded / draws.pool_size
    told = (
        f"{draws.excluded} of {draws.pool_size} items could never be drawn; the interval allows "
        f"for any loss of theirs"
    )
    return Interval(low + lowest * share, high + highest * share, method, (*warnings, told))


def _logical(problem: LossSample) -> Limits:
    """What is certain about the drawable items' share of the risk.

    Of a population nothing is certain but that its losses keep within their bounds.
    """
    draws, found = problem.draws, problem.found
    if problem.population:
        return problem.bounds
    drawable = draws.pool_size - draws.excluded
    low, high = logical_limits(found.total, found.budget, drawable, problem.bounds)
    share = drawable / draws.pool_size
    return float(low) * share, float(high) * share


def _t(problem: LossSample) -> Limits | None:
    if not _spread(problem):
        return None
    return _plain(t_interval(problem.found, problem.level))


def _log_t(problem: LossSample) -> Limits | None:
    if not _spread(problem) or problem.found.value <= 0:
        return None
    return _plain(log_t_interval(problem.found, problem.level))


def _cp_safe(problem: LossSample) -> Limits | None:
    if problem.found.budget < 2:
        return None
    high = problem.bounds[1]
    low, up = cp_safe(
        problem.found.over(high),
        *_losses_and_weights(problem),
        problem.level,
        population=problem.population,
    )
    return _plain((low * high, up * high))


def _anytime(problem: LossSample) -> Limits | None:
    found, level = problem.found, problem.level
    if found.budget < anytime.LEAST:
        return None
    if problem.kind == "0/1":
        sample = effective(found, *_losses_and_weights(problem), level)
        kappa = anytime.boundary(found.budget, found.pool_size, level)
        return _plain(anytime.wilson(sample, kappa))
    if not _spread(problem):
        return None
    return _plain(anytime.anytime_log_t(found, level)) if found.value > 0 else None


def _betting(problem: LossSample) -> Limits | None:
    draws = problem.draws
    if np.isinf(problem.bounds[0]):
        return None
    low, high = betting_interval(
        problem.losses,
        draws.probability,
        draws.pool_size,
        problem.bounds,
        problem.level,
        design=draws.design,
        excluded=draws.excluded,
    )
    return (low, high) if low < high else None


def _losses_and_weights(problem: LossSample) -> tuple[np.ndarray, np.ndarray]:
    draws = problem.draws
    return problem.losses, ranked_weights(draws.probability, draws.pool_size)


def _plain(limits: tuple[np.ndarray, np.ndarray]) -> Limits:
    return float(limits[0]), float(limits[1])


_METHODS: dict[str, Callable[[LossSample], Limits | None]] = {
    "t": _t,
    "log_t": _log_t,
    "cp_safe": _cp_safe,
    "anytime": _anytime,
    "betting": _betting,
}


def _unavailable(problem: LossSample, method: str) -> str:
    """Why the interval is only what is logically possible."""
    if method == "anytime":
        why = f"an asymptotic interval needs {anytime.LEAST} labels and some spread"
    elif method == "betting" and np.isinf(problem.bounds[0]):
        why = "losses of either sign have a finite-sample interval only with declared bounds"
    elif method == "betting":
        why = (
            "these labels contradict their probabilities: no risk at all is likely to give them. "
            "Are the losses in the order of the draws, and the probabilities those of each draw"
        )
    elif problem.found.budget == 1:
        why = "one label shows no spread"
    else:
        why = "the labels so far show no spread"
    return f"{why}; the interval is what is logically possible"
