"""The estimate of a pool risk from the losses of drawn items, with the interval that fits them.

A design is thin where its weights are so uneven that the labels are worth only a few uniform
ones (`design_size`). R_PURE and R_LURE are the plain and the levelled unbiased risk estimator
(`lure`).
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import LARGEST, FloatArray, between, choice, floats, same_length, whole
from levelled.draws import Draws, check_draws, check_losses
from levelled.errors import InputError
from levelled.estimators import lure
from levelled.estimators.intervals import limits
from levelled.estimators.intervals.betting import betting_interval
from levelled.estimators.intervals.hedged import COLUMNS, hedged_interval
from levelled.estimators.intervals.limits import Bounds
from levelled.estimators.moments import (
    HOPELESS,
    POOR,
    THIN,
    GivenValues,
    Moments,
    design_size,
    effective_size,
    heaviest_size,
    moments,
    pool_variance,
    ramp_of,
    ramped_shares_of,
    thin_warning,
    uniform_probability,
    worth,
)
from levelled.estimators.record import CONTRADICTION, SURE, Estimate

Kind = Literal["0/1", "positive", "signed"]
Control = tuple[FloatArray, FloatArray]
"""A predictor of the loss: its value at each drawn item, and its sum over what was left."""


@dataclass(frozen=True, slots=True, eq=False)
class LossSample:
    """Losses of drawn items, their bounds and kind, and the moments of their estimate."""

    losses: FloatArray
    draws: Draws
    level: float
    bounds: Bounds
    kind: Kind
    moments: Moments
    population: bool
    predicted_jump: float = 0.0
    """The third moment that the predictor expects of the estimate, over its variance."""
    predicted_variance: float | None = None
    """The variance that the predictor behind "ramped" draws expects of the estimate."""
    budget: int | None = None
    """The number of labels that was fixed beforehand, where an interval depends on it."""
    given: GivenValues | None = None

    @property
    def n_known(self) -> int:
        """The number of items whose losses are known: drawn, or given between draws."""
        return len(self.draws) + (0 if self.given is None else len(self.given))

    @property
    def total(self) -> float:
        """The sum of the losses that are known."""
        given = 0.0 if self.given is None else float(self.given.values.sum())
        return float(self.moments.total) + given

    @property
    def complete(self) -> bool:
        """True if all that can be drawn is labelled, so that nothing is left to estimate."""
        return not self.population and self.n_known == self.draws.pool_size - self.draws.excluded

    @property
    def value(self) -> float:
        """The estimate; exact where all that can be drawn is labelled."""
        if self.complete:
            return self.total / self.draws.pool_size
        return float(self.moments.value)

    @property
    def weights(self) -> FloatArray:
        """The weights w~_m of the draws, of mean one at every step."""
        return lure.ranked_weights(self.draws.probability, self.draws.pool_size)

    @property
    def blended(self) -> Moments:
        """The moments, with a variance that the predictor shares in where there is one."""
        if self.predicted_variance is None:
            return self.moments
        V, df = limits.blended_variance(
            self.moments, np.asarray(self.predicted_variance), self.bounds
        )
        return replace(self.moments, variance=V, df=df)

    @property
    def has_spread(self) -> bool:
        """True if the terms of the estimate differ by more than rounding."""
        largest = float(np.abs(self.losses).max())
        return limits.NO_VARIANCE * largest**2 < float(self.moments.variance) < np.inf

    @property
    def possible(self) -> Bounds:
        """The logical limits of the drawable items' share of the risk.

        Of a population nothing is certain but that its losses keep within their bounds.
        """
        if self.population:
            return self.bounds
        draws, total = self.draws, np.asarray(self.total)
        drawable = draws.pool_size - draws.excluded
        low, high = limits.logical_limits(total, self.n_known, drawable, self.bounds)
        share = drawable / draws.pool_size
        return float(low) * share, float(high) * share


def kind_of(losses: FloatArray, bounds: Bounds) -> Kind:
    """The family of intervals that fits: for 0/1 losses, positive ones, or ones of either sign.

    >>> kind_of(np.array([0.0, 1.0]), (0.0, 1.0)), kind_of(np.array([0.0, 1.0]), (-1.0, 1.0))
    ('0/1', 'signed')
    """
    if bounds[0] < 0 or (losses < 0).any():
        return "signed"
    return "0/1" if bounds == (0, 1) and np.isin(losses, (0, 1)).all() else "positive"


def control_columns(
    control: ArrayLike | str | None, control_mean: float | None, draws: Draws
) -> Control | None:
    """The predictor that the arguments of `estimate` describe, as `lure.terms` takes it."""
    if control is None:
        if control_mean is not None:
            raise InputError("control_mean is the pool mean of control: give control as well.")
        return None
    if isinstance(control, str):
        choice("control", control, ("design",))
        design = draws.design or {}
        if not {"control", "control_left"} <= set(design):
            raise InputError(
                "control='design' needs draws with the design columns control and control_left: "
                "see levelled.samplers.with_design."
            )
        return design["control"], design["control_left"]
    check_draws(draws, control=control)
    values = floats("control", control, ndim=1, largest=LARGEST)
    same_length(control=values, draws=draws.index)
    if control_mean is None:
        raise InputError(
            "control needs control_mean, the mean of the same predictor over the whole pool."
        )
    mean = float(floats("control_mean", control_mean, ndim=0))
    before = np.cumsum(values) - values
    return values, draws.pool_size * mean - before


def _predicted(draws: Draws) -> tuple[float, float]:
    """The variance that the predictor expects of the estimate, and its third moment over that.

    The sums of u_m^2 and u_m^3 times the moments that it expects of term m.
    """
    design = draws.design or {}
    if "predicted_variance" not in design:
        raise InputError(
            "estimator='ramped' needs draws with the design column predicted_variance: see "
            "spread= of levelled.samplers.with_design."
        )
    shares, third = ramped_shares_of(draws), design.get("predicted_skew")
    variance = float(shares**2 @ design["predicted_variance"])
    if third is None or not variance > 0:
        return variance, 0.0
    return variance, float(shares**3 @ third) / variance


def _moments(
    losses: FloatArray,
    draws: Draws,
    estimator: str,
    control: Control | None,
    given: GivenValues | None,
    population: bool,
) -> Moments:
    """Moments of the difference form if there is a control that helps, else without it."""
    q, N = draws.probability, draws.pool_size
    find = partial(
        moments,
        losses,
        q,
        N,
        estimator=estimator if estimator in ("pure", "ramped") else "lure",
        ramp=ramp_of(draws),
        given=0.0 if given is None else given.before(len(draws)),
    )
    result = find()
    if control is not None:
        values, left = control
        other = find(control=values, control_left=left)
        decided = estimator == "ramped" or (losses < 0).any()
        result = other if decided else result.unless_clear(other)
    if not population:
        return result
    # The pool itself is a sample: its mean varies around the population's with s^2 / N.
    s2 = max(pool_variance(result, losses, q), 0.0)
    return replace(result, variance=result.variance + s2 / N)


INTERVALS = ("auto", "t", "log_t", "cp_safe", "score_t", "anytime", "betting", "hedged", "none")
_FIXED = ("t", "log_t", "cp_safe")
_FEW = 20
"""Losses other than zero below which the spread of signed losses without bounds is doubtful: a
warning only."""


def interval_for(sample: LossSample, wanted: str) -> tuple[Bounds, str, list[str]]:
    """The `wanted` interval, its method and warnings; with "auto" one for losses like these.

    It is cut to what is logically possible, and widened by the items that could never be drawn.
    """
    (low, high), draws, notes = sample.possible, sample.draws, []
    if wanted == "none" and not sample.complete:
        return (low, high), "none", []
    method = "point"
    if not sample.complete:
        size = design_size(draws)
        method = _default(sample, size) if wanted == "auto" else wanted
        _check_method(sample, method, size)
        M, count = len(draws), int(np.count_nonzero(sample.losses))
        # Uniform draws have size M: a few of them are few, not thin.
        if size < min(POOR, 0.8 * M) and method not in ("betting", "hedged") and M > 1:
            notes.append(thin_warning(draws, size))
        if method == "t" and count < _FEW:
            notes.append(
                f"only {count} losses differ from 0, too few to judge their spread: declare "
                f"bounds, or label more"
            )
        ends = _limits(sample, method)
        if ends is not None and max(ends[0], low) <= min(ends[1], high):
            low, high = max(ends[0], low), min(ends[1], high)
        else:
            why = f"{_why_logical(sample, method, ends)}; the interval is what is possible"
            notes, none = [*notes, why], method == "betting" and np.isfinite(sample.bounds[0])
            ends = _limits(replace(sample, level=SURE), method)
            none = none if ends is None else max(ends[0], low) > min(ends[1], high)
            method = "contradiction" if none else "logical"
    if draws.excluded:
        share = draws.excluded / draws.pool_size
        low, high = low + sample.bounds[0] * share, high + sample.bounds[1] * share
        notes.append(
            f"{draws.excluded} of {draws.pool_size} items could never be drawn; the interval "
            f"allows for any loss of theirs"
        )
    return (low, high), method, notes


def _default(sample: LossSample, size: float) -> str:
    """The default method for a number of labels that was fixed beforehand."""
    bounded = bool(np.isfinite(sample.bounds).all())
    if sample.predicted_variance is not None and bounded and not sample.population:
        return "score_t"
    signed_population = sample.population and sample.kind == "signed"
    if bounded and not signed_population:
        return "cp_safe"
    enough = sample.population or (sample.has_spread and size >= THIN)
    if sample.kind == "signed":
        return "t" if enough else "betting"
    return "log_t" if enough and sample.moments.value > 0 else "betting"


def _check_method(sample: LossSample, method: str, size: float) -> None:
    """Refuse a method that does not hold for these losses."""
    signed, bounded = sample.kind == "signed", bool(np.isfinite(sample.bounds).all())
    if sample.population and (method not in _FIXED or (method == "cp_safe" and signed)):
        instead = "t" if signed else ", ".join(_FIXED)
        raise InputError(f"There is no {method!r} interval for the population: use {instead}.")
    if method == "cp_safe" and not bounded:
        raise InputError(
            f"interval='cp_safe' is for losses with bounds; these have {sample.bounds}. Declare "
            f"them, for example bounds=(0, 1), or leave the choice to interval='auto'."
        )
    if method == "score_t" and (sample.predicted_variance is None or not bounded):
        raise InputError(
            "interval='score_t' is for estimator='ramped' and losses with bounds: declare them, or "
            "leave the choice to interval='auto'."
        )
    if method == "hedged":
        _check_hedged(sample)
    if method in ("log_t", "anytime") and signed:
        instead = "'t'" if method == "log_t" else "'betting' with declared bounds"
        raise InputError(
            f"interval={method!r} is for losses that are never negative: use {instead}."
        )
    continuous = sample.kind != "0/1" and method in ("t", "log_t", "anytime")
    if continuous and size < HOPELESS <= len(sample.draws):
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


def _limits(sample: LossSample, method: str) -> Bounds | None:
    """The limits that a method computes, or None where it has none for these labels."""
    summary, level, draws = sample.moments, sample.level, sample.draws
    q, N, design = draws.probability, draws.pool_size, draws.design or {}
    if method == "betting":
        if np.isinf(sample.bounds[0]):
            return None
        low, high = betting_interval(
            sample.losses,
            q,
            N,
            sample.bounds,
            level,
            design=design,
            excluded=draws.excluded,
            given=sample.given,
        )
        return (low, high) if low < high else None
    if method == "hedged":
        return hedged_interval(sample.losses, q, N, sample.budget or N, level, design=design)
    if summary.budget < {"cp_safe": 2, "anytime": limits.ANYTIME_LEAST}.get(method, 1):
        return None
    if method == "cp_safe" and sample.kind == "signed":
        size = heaviest_size(draws)
        ends = limits.signed_cp_safe(sample.losses, q, N, level, bounds=sample.bounds, size=size)
    elif method == "cp_safe":
        shares = limits.cp_safe(_effective(sample), N, level)
        ends = shares[0] * sample.bounds[1], shares[1] * sample.bounds[1]
    elif method == "score_t":
        predicted = np.asarray(sample.predicted_variance)
        ends = limits.score_t(summary, predicted, sample.bounds, level, sample.predicted_jump)
    elif method == "anytime" and sample.kind == "0/1":
        ends = limits.wilson(*_effective(sample), limits.boundary(summary.budget, N, level))
    elif not sample.has_spread or (method != "t" and summary.value <= 0):
        return None
    else:
        log = limits.log_t_interval if method == "log_t" else limits.anytime_log_t
        ends = (limits.t_interval if method == "t" else log)(sample.blended, level)
    return float(ends[0]), float(ends[1])


def _effective(sample: LossSample) -> limits.Ends:
    """The binomial sample that losses, as shares of their upper bound, amount to."""
    most, size = sample.bounds[1], design_size(sample.draws)
    scaled, losses = sample.moments.over(most), sample.losses / most
    return limits.effective(
        scaled, losses, sample.weights, sample.level, size, population=sample.population
    )


def _why_logical(sample: LossSample, method: str, ends: Bounds | None) -> str:
    """The reason why the interval is only what is logically possible."""
    if ends is not None:
        return "the estimate lies outside what is logically possible after these labels"
    if method == "anytime":
        return f"an asymptotic interval needs {limits.ANYTIME_LEAST} labels and some spread"
    if method == "betting" and np.isinf(sample.bounds[0]):
        return "losses of either sign have a finite-sample interval only with declared bounds"
    if method == "betting":
        return CONTRADICTION
    seen = "one label shows" if sample.moments.budget == 1 else "the labels so far show"
    return f"{seen} no spread"


_WEIGHTS = {
    "lure": lure.lure_weights,
    "pure": lure.pure_weights,
    "naive": lure.naive_weights,
    "murthy": lure.murthy_weights,
    "ramped": lure.lure_weights,
}


_LIGHT, _ENOUGH = 0.2, 10
"""A mean weight that hardly occurs by chance, and the draws from which on it is looked at: a
warning only."""
_FEW_RESIDUALS = 5
"""Residuals of a control below which their spread is not known: a warning only."""


def estimate(
    losses: ArrayLike,
    draws: Draws,
    estimator: str = "lure",
    level: float = 0.95,
    interval: str = "auto",
    bounds: tuple[float, float] | None = None,
    control: ArrayLike | str | None = None,
    control_mean: float | None = None,
    population: bool = False,
    budget: int | None = None,
    known: ArrayLike = (),
    given: GivenValues | None = None,
    lean: bool = False,
) -> Estimate:
    """The average loss over the whole pool, from the losses of the drawn items.

    A good `control` makes the standard error smaller; a poor one cannot bias the estimate, it
    only widens the interval. The value is then control_mean plus the estimated mean of loss minus
    control, unless the variance is smaller without it. A warning says where hardly any of these
    residuals differ.

    Parameters
    ----------
    losses : The losses of the drawn items, in the order of the draws.
    draws : The draws, as a sampler made them.
    estimator : "lure" (the default), "pure", "naive", "murthy" for frozen scores, or "ramped" for
        adaptive draws with a predictor.
    level : The confidence of the interval.
    interval : "auto" picks one that holds for losses like these when the number of labels was fixed
        beforehand: "cp_safe" for 0/1 losses and all that have `bounds`, "log_t" for positive ones
        without, "t" for ones of either sign, "betting" where the design is too thin for "log_t". If
        you look while labels come in, or stop when you like what you see, choose "betting" (holds
        for any number of labels) or "anytime" (from 25 labels). "hedged" is for 0/1 losses of
        adaptive draws: it also holds for any number, and is narrow at the `budget`. "none" still
        gives the standard error.
    bounds : Limits no loss can pass, such as (0, 1): they narrow the interval, and a loss outside
        them is an error.
    control : A predictor of the loss at each drawn item, or "design" for the one that came with the
        draws.
    control_mean : Its mean over the pool.
    population : True if the interval is to be for the population that the pool was sampled from,
        not for the pool.
    budget : The number of labels, fixed beforehand, that "hedged" aims at.
    known : Losses of further items, whose labels were known beforehand, however these were chosen.
        They are no part of the pool of the draws; the average is over both.
    given : Losses of items of the pool that became known without a draw, after the first draw.
    lean : True if "score_t" leans further where rare errors of large weight are to be expected, as
        in campaigns of the first predictor.

    >>> draws = Draws(np.arange(40), 1 / np.arange(100, 60, -1), pool_size=100)
    >>> print(estimate([1, 0, 0, 0] * 10, draws))  # doctest: +NORMALIZE_WHITESPACE
    0.25 [0.1469, 0.3763], 95% confidence; 40 labels of 100 (lure, cp_safe);
    random labels: about 40 for this width
    """
    choice("interval", interval, INTERVALS)
    columns = control_columns(control, control_mean, draws)
    values = check_losses(losses, draws)
    if not len(values):
        raise InputError("An estimate needs at least one label.")
    choice("estimator", estimator, tuple(_WEIGHTS))
    if estimator == "naive":
        uniform = uniform_probability(draws.pool_size, len(draws))
        draws = Draws(draws.index, uniform, draws.pool_size, draws.excluded)
    predictor, predicted, jump = columns, None, 0.0
    if estimator == "ramped":
        predictor, (predicted, jump) = control_columns("design", None, draws), _predicted(draws)
    declared, exact = limits.bounds_of(values, bounds), floats("known", known, ndim=1)
    limits.check_bounds(exact, declared)
    if population and (len(exact) or given is not None):
        raise InputError(
            "Labels that were known beforehand may be of any choice of items, so they say nothing "
            "of a population: leave out population, or known."
        )
    sample = LossSample(
        losses=values,
        draws=draws,
        level=between("level", level, 0, 1, open_=True),
        bounds=declared,
        kind=kind_of(values, declared),
        moments=_moments(values, draws, estimator, predictor, given, population),
        population=population,
        predicted_variance=predicted,
        predicted_jump=jump if lean else 0.0,
        budget=None if budget is None else whole("budget", budget, least=len(values)),
        given=given,
    )
    weights = _WEIGHTS[estimator](draws)
    (low, high), method, notes = interval_for(sample, interval)
    stderr = float(np.sqrt(sample.moments.variance)) if sample.moments.budget > 1 else None
    value = float(np.mean(weights * sample.losses)) if estimator == "murthy" else sample.value
    warnings = _sample_warnings(sample, estimator) + notes
    est = Estimate(
        value=value,
        low=low,
        high=high,
        level=sample.level,
        stderr=0.0 if sample.complete else stderr,
        n_labels=sample.moments.budget,
        pool_size=sample.moments.pool_size,
        ess=effective_size(weights),
        max_weight=float(weights.max()),
        worth=worth(sample.blended, sample.losses, draws.probability),
        estimator=estimator,
        interval=method,
        warnings=(*warnings, *_control_warnings(sample, columns)),
    )
    if method == "contradiction":
        est = est.contradicted
    if not len(exact):
        return est
    share = draws.pool_size / (draws.pool_size + len(exact))
    joined = est.scaled(share, share * float(exact.sum()) / draws.pool_size)
    return replace(joined, pool_size=draws.pool_size + len(exact))


def _control_warnings(sample: LossSample, control: Control | None) -> tuple[str, ...]:
    """A warning where the spread of the residuals e = L - g of a control rests on a few labels.

    With d = e - median(e), these are (sum d^2)^2 / sum d^4: k, if k residuals differ from all
    others by as much, and a third of the labels for normal ones.
    """
    if control is None or sample.complete or len(sample.draws) < _ENOUGH:
        return ()
    residuals = sample.losses - control[0]
    squares = (residuals - np.median(residuals)) ** 2
    largest = float(squares.max())
    squares = squares / largest if largest > 0 else squares
    size = float(squares.sum()) ** 2 / float((squares**2).sum()) if largest > 0 else 0.0
    if size >= _FEW_RESIDUALS:
        return ()
    without = moments(sample.losses, sample.draws.probability, sample.draws.pool_size)
    same_value = np.isclose(sample.moments.value, without.value, rtol=1e-9, atol=0)
    left_out = same_value and sample.moments.variance >= (1 - 1e-9) * without.variance
    then = "it is left out" if left_out else "compare with the estimate without it"
    return (
        f"the spread of loss minus control rests on about {size:.0f} of {len(residuals)} labels, "
        f"too few to judge the control by: {then}",
    )


def _sample_warnings(sample: LossSample, estimator: str) -> list[str]:
    warnings = []
    if estimator == "naive":
        warnings.append("the naive estimate is biased unless the draws were uniform")
    if not sample.moments.exact and sample.moments.budget > 1:
        warnings.append("the standard error is only rough with two labels, or with one item left")
    if (mean := float(sample.weights.mean())) < _LIGHT and len(sample.draws) >= _ENOUGH:
        warnings.append(
            f"the weights 1 / (left * probability) have the mean {mean:.2g} where 1 is expected: "
            f"are these probabilities of being drawn at all, instead of at each draw?"
        )
    return warnings


def running(losses: ArrayLike, draws: Draws, estimator: str = "lure") -> FloatArray:
    """The estimate after 1, 2, ..., M labels, as it would have been read at the time.

    Stopping when the estimate looks right biases it (the scale of R_LURE's error depends on M).
    Decide by an interval that may be watched instead, such as `Betting`.

    >>> running([1.0, 0.0], Draws([2, 0], [0.5, 0.25], pool_size=4))
    array([0.5       , 0.33333333])
    """
    losses = check_losses(losses, draws)
    compute = _RUNNING[choice("estimator", estimator, tuple(_RUNNING))]
    return compute(losses, draws.probability, draws.pool_size)


def running_naive(losses: FloatArray, probability: FloatArray, pool_size: int) -> FloatArray:
    """The mean of the first m losses, [..., M]."""
    return np.cumsum(losses, axis=-1) / np.arange(1, losses.shape[-1] + 1)


def running_pure(losses: FloatArray, probability: FloatArray, pool_size: int) -> FloatArray:
    """R_PURE of every prefix, [..., M]: the mean of the first m terms."""
    total = np.cumsum(lure.terms(losses, probability, pool_size), axis=-1)
    return total / np.arange(1, losses.shape[-1] + 1)


def running_lure(losses: FloatArray, probability: FloatArray, pool_size: int) -> FloatArray:
    """R_LURE of every prefix, [..., M], from two cumulative sums.

    The weights depend on M only through the factor N - M:

        R_LURE(M) = 1/M (sum_m L_m + (N - M) sum_m slope_m L_m)
    """
    M = np.arange(1.0, losses.shape[-1] + 1)
    levelled = np.cumsum(lure.slopes(probability, pool_size) * losses, axis=-1)
    levelled *= pool_size - M
    levelled += np.cumsum(losses, axis=-1)
    levelled /= M
    return levelled


_RUNNING = {"lure": running_lure, "pure": running_pure, "naive": running_naive}
