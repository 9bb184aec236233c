"""Averages of the label or of a loss: over the pool, and over each slice of it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from levelled import losses
from levelled._check import BoolArray, FloatArray, choice, floats, same_length
from levelled.draws import Draws, check_draws, check_losses, check_pool_column
from levelled.errors import InputError
from levelled.estimators.estimate import estimate, kind_of
from levelled.estimators.intervals.limits import (
    UNBOUNDED,
    bounds_of,
    log_t_interval,
    logical_limits,
    t_interval,
)
from levelled.estimators.record import Estimate, align, cells, footnotes
from levelled.labels import (
    Class,
    class_names,
    class_numbers,
    is_class,
    quantity_notes,
    refuse_fractions,
)
from levelled.metrics.ratios import (
    Limits,
    Look,
    Pairs,
    draws_ratio,
    figure_estimate,
    make_estimate,
    undefined_estimate,
)


class EstimateOptions(TypedDict, total=False):
    """The options that every average passes on to `estimate`."""

    estimator: str
    level: float
    interval: str
    control: ArrayLike | str | None
    control_mean: float | None
    population: bool


class BoundedOptions(EstimateOptions, total=False):
    """The options of an average whose losses have no bounds of their own."""

    bounds: tuple[float, float] | None
    """The least and the largest loss of an item."""


def mean(labels: ArrayLike, draws: Draws, **options: Unpack[BoundedOptions]) -> Estimate:
    """The pool mean of a numeric label, such as a rating given by people.

    `bounds` are the least and the largest label. If a judge has rated the whole pool, pass its
    scores of the drawn items as `control` and its mean score over the pool as `control_mean`. The
    better it agrees with people, the fewer labels are needed; a poor judge cannot bias the mean.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> mean([4, 5, 2, 4], draws, bounds=(1, 5)).value
    3.75
    >>> judge = [4.5, 5.0, 2.0, 4.0]
    >>> round(mean([4, 5, 2, 4], draws, control=judge, control_mean=3.5).value, 3)
    3.375
    """
    check_draws(draws, labels=labels)
    return estimate(floats("labels", labels, ndim=1), draws, **options)


def share(
    labels: ArrayLike, draws: Draws, *, of: Class, **options: Unpack[EstimateOptions]
) -> Estimate:
    """The share of the pool that has this label: its prevalence.

    Parameters
    ----------
    labels : The label of each drawn item, in the order of the draws.
    draws : The draws, as a sampler made them.
    of : The class that is counted.
    options : Further options of `levelled.estimate`, such as `level` and `interval`.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> share(["spam", "ham", "ham", "spam"], draws, of="spam").value
    0.5
    """
    check_draws(draws, labels=labels)
    inside = is_class(class_names("labels", labels), of)
    return estimate(inside.astype(np.float64), draws, bounds=(0, 1), **options)


def error(
    labels: ArrayLike, pred: ArrayLike, draws: Draws, **options: Unpack[EstimateOptions]
) -> Estimate:
    """The share of the pool that the model gets wrong.

    Parameters
    ----------
    labels, pred : The label and the prediction of each drawn item, in the order of the draws.
    draws : The draws, as a sampler made them.
    options : Further options of `levelled.estimate`, such as `level` and `interval`.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> error(["spam", "ham", "ham", "spam"], ["spam", "ham", "spam", "spam"], draws).value
    0.25
    """
    check_draws(draws, labels=labels, pred=pred)
    classes = {"labels": class_names("labels", labels), "pred": class_names("pred", pred)}
    refuse_fractions(**classes)
    est = estimate(losses.zero_one(**classes), draws, bounds=(0, 1), **options)
    return replace(est, warnings=(*est.warnings, *quantity_notes(est.value, **classes)))


def accuracy(
    labels: ArrayLike, pred: ArrayLike, draws: Draws, **options: Unpack[EstimateOptions]
) -> Estimate:
    """The share of the pool that the model gets right: one minus the error.

    Parameters
    ----------
    labels, pred, draws : As for `error`.
    options : Further options of `levelled.estimate`. A `control` predicts accuracy here: the chance
        that the model is right.
    """
    control, control_mean = options.get("control"), options.get("control_mean")
    if control is not None and not isinstance(control, str):
        check_draws(draws, control=control)
        options["control"] = 1 - floats("control", control, ndim=1)
    if control_mean is not None:
        options["control_mean"] = 1 - control_mean
    return error(labels, pred, draws, **options).scaled(-1.0, 1.0)


def log_loss(
    labels: ArrayLike,
    proba: ArrayLike,
    draws: Draws,
    *,
    classes: Sequence[Class] | None = None,
    cap: float | None = None,
    **options: Unpack[EstimateOptions],
) -> Estimate:
    """The mean log loss, -log of the probability [M, C] that the model gave to the label.

    One label of probability 0 makes the mean infinite, so declare a `cap`.

    Parameters
    ----------
    labels, proba : The label and the probabilities [C] of each drawn item, in the order of the
        draws.
    draws : The draws, as a sampler made them.
    classes : The names of the columns of `proba`; without them labels are column numbers.
    cap : The most that one item counts; the interval may rely on it.
    options : Further options of `levelled.estimate`, such as `level` and `interval`.
    """
    check_draws(draws, labels=labels, proba=proba)
    y = label_columns(labels, proba, classes)
    bounds = UNBOUNDED if cap is None else (0.0, cap)
    return estimate(losses.log_loss(y, proba, cap=cap), draws, bounds=bounds, **options)


def brier(
    labels: ArrayLike,
    proba: ArrayLike,
    draws: Draws,
    *,
    classes: Sequence[Class] | None = None,
    **options: Unpack[EstimateOptions],
) -> Estimate:
    """The mean Brier score, sum_c (p_c - 1[y = c])^2, between 0 and 2.

    For two classes it is twice what scikit-learn calls the Brier score of the positive class.

    Parameters
    ----------
    labels, proba, draws, classes, options : As for `log_loss`.
    """
    check_draws(draws, labels=labels, proba=proba)
    y = label_columns(labels, proba, classes)
    return estimate(losses.brier(y, proba), draws, bounds=(0, 2), **options)


def mse(
    labels: ArrayLike, pred: ArrayLike, draws: Draws, **options: Unpack[BoundedOptions]
) -> Estimate:
    """The mean squared error.

    Parameters
    ----------
    labels, pred, draws : As for `error`.
    options : Further options of `levelled.estimate`; `bounds` are those of one squared error.
    """
    check_draws(draws, labels=labels, pred=pred)
    return estimate(losses.squared(labels, pred), draws, **{"bounds": UNBOUNDED} | options)


def mae(
    labels: ArrayLike, pred: ArrayLike, draws: Draws, **options: Unpack[BoundedOptions]
) -> Estimate:
    """The mean absolute error.

    Parameters
    ----------
    labels, pred, draws : As for `error`.
    options : Further options of `levelled.estimate`; `bounds` are those of one absolute error.
    """
    check_draws(draws, labels=labels, pred=pred)
    return estimate(losses.absolute(labels, pred), draws, **{"bounds": UNBOUNDED} | options)


def average(
    loss: Callable[..., ArrayLike],
    labels: Sequence[object] | FloatArray,
    pred: Sequence[object] | FloatArray,
    draws: Draws,
    **options: Unpack[BoundedOptions],
) -> Estimate:
    """The pool mean of a loss of your own: `loss(labels, pred)` gives one number an item.

    If the losses are at hand already, `levelled.estimate(losses, draws)` does the same.

    Parameters
    ----------
    loss : A function of labels and predictions.
    labels, pred, draws : As for `error`.
    options : Further options of `levelled.estimate`; `bounds` are the least and the largest loss.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> too_low = lambda labels, pred: np.maximum(np.subtract(labels, pred), 0)
    >>> average(too_low, [3.0, 2.0, 5.0, 1.0], [2.0, 2.5, 5.0, 1.0], draws).value
    0.25
    """
    check_draws(draws, labels=labels, pred=pred)
    values = floats("The loss", loss(labels, pred))
    if values.shape != (len(draws),):
        raise InputError(
            f"The loss must give one number a draw, {len(draws)} in all; it gave an array of "
            f"shape {values.shape}."
        )
    return estimate(values, draws, **options)


def label_columns(
    labels: ArrayLike, proba: ArrayLike, classes: Sequence[Class] | None
) -> ArrayLike:
    """Labels as columns of `proba`."""
    if classes is None:
        return labels
    if np.shape(proba)[-1:] != (len(classes),):
        raise InputError(
            f"proba must have one column for each of the {len(classes)} classes; its shape is "
            f"{np.shape(proba)}."
        )
    return class_numbers("labels", labels, classes)


_FEW = 25
"""Labels below which an interval for losses other than 0/1 is rough: a warning only."""

_RARE = 5
"""Losses other than the commonest one below which their spread is not relied on: the variance of k
of them has a standard error of about 1 / sqrt(k) of itself."""

_SAME = 1e-7
"""Losses that differ by less than this share of the largest differ by rounding only: that of
numbers with 32 bits."""

_ALIKE = "nearly all losses are the same"


@dataclass(frozen=True, slots=True)
class Slice:
    """One slice: its items in the pool, its labels, and its estimate."""

    name: Class
    pool_size: int
    n_labels: int
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class SliceTable:
    """All slices of a pool. Prints as a table; `table[name]` is one row."""

    rows: tuple[Slice, ...]
    level: float
    simultaneous: bool
    """`level` is for all intervals at once."""

    def __iter__(self) -> Iterator[Slice]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: Class) -> Slice:
        for row in self.rows:
            if row.name == name:
                return row
        raise InputError(f"There is no slice {name!r}.")

    def as_dicts(self) -> list[dict[str, Any]]:
        """One dict of plain values a slice, ready for JSON or a data frame."""
        return [{"slice": row.name} | row.estimate.as_dict() for row in self.rows]

    def __str__(self) -> str:
        rows = [
            [str(row.name), f"{row.pool_size}", f"{row.n_labels}", *cells(row.estimate)]
            for row in self.rows
        ]
        header = ["slice", "pool", "labels", "value", "low", "high"]
        levels = f"intervals at {self.level:.4g}" + (", all at once" if self.simultaneous else "")
        notes = footnotes((str(row.name), row.estimate) for row in self.rows)
        return f"{align(header, rows)}\n{levels}{notes}"


def by_slice(
    losses: ArrayLike,
    draws: Draws,
    slices: ArrayLike,
    pool_slices: ArrayLike,
    *,
    level: float = 0.95,
    interval: str = "auto",
    bounds: tuple[float, float] | None = None,
    simultaneous: bool = False,
) -> SliceTable:
    """The average loss of each slice, with its interval and number of labels.

        theta^ = sum_{m in slice} v_m L_m / sum_{m in slice} v_m

    A slice none of whose items has been drawn is undefined, between what its losses may be. The
    interval is Wilson's for 0/1 losses, on the log scale for positive ones, symmetric for ones
    of either sign, all for a number of labels fixed beforehand. Where nearly all losses of a
    slice are the same, such as ratings that are all 5 but a few, the last two would be too
    narrow: the interval is then "betting" with bounds, and without them what is logically possible.

    Parameters
    ----------
    losses : The loss of each drawn item, in the order of the draws.
    draws : The draws, as a sampler made them.
    slices : The name of the slice of each drawn item.
    pool_slices : That of every item of the pool.
    level : The confidence of the interval.
    interval : "auto", "none", "betting" (holds at any number of labels and needs bounds), or the
        one that "auto" chooses.
    bounds : The least and the largest loss of an item.
    simultaneous : All K intervals hold at once: each is given the level 1 - (1 - level) / K.

    >>> draws = Draws([4, 1, 0, 3], [0.2, 1 / 4, 1 / 3, 1 / 2], pool_size=5)
    >>> table = by_slice([1, 0, 1, 0], draws, ["a", "a", "b", "b"], ["b", "a", "c", "b", "a"])
    >>> print(table)
    slice  pool  labels      value  low  high
    a         2       2        0.5  0.5   0.5
    b         2       2        0.5  0.5   0.5
    c         1       0  undefined    0     1
    intervals at 0.95
    note (c): no label of this slice seen yet: undefined so far, between 0 and 1
    """
    loss, look = check_losses(losses, draws), Look(draws, level, interval)
    limits = bounds_of(loss, bounds)
    check_draws(draws, slices=slices)
    drawn, pool = class_names("slices", slices), class_names("pool_slices", pool_slices)
    same_length(slices=drawn, draws=draws.index)
    if (drawn.dtype.kind == "U") != (pool.dtype.kind == "U"):
        raise InputError(f"slices hold {drawn.dtype}, pool_slices {pool.dtype}: write both alike.")
    check_pool_column("slices", drawn, pool, draws)
    names, sizes = np.unique(pool, return_counts=True)
    each = replace(look, level=1 - (1 - look.level) / len(names)) if simultaneous else look
    rows = []
    for name, pool_size in zip(names.tolist(), sizes.tolist(), strict=True):
        estimate = slice_estimate(each, loss, drawn == name, pool_size, limits)
        rows.append(Slice(name, pool_size, estimate.n_labels, estimate))
    return SliceTable(tuple(rows), look.level, simultaneous)


def slice_estimate(
    look: Look,
    losses: FloatArray,
    inside: BoolArray,
    pool_size: int,
    bounds: Limits,
    known: FloatArray | None = None,
) -> Estimate:
    """One slice of `by_slice`: `inside` says which drawn items it holds, of `pool_size` in all.

    `known` [2, M] are the summed losses, and the number, of items whose losses without an upper
    bound were known without a draw before each one.
    """
    part = _Part(look.draws, look.level, look.interval, losses, inside, pool_size, bounds, known)
    unbounded = "t" if kind_of(losses, bounds) == "signed" else "log_t"
    method = "wilson" if part.finite else unbounded
    choice("interval", part.interval, ("auto", method, "betting", "none"))
    if not part.n_labels:
        estimate = undefined_estimate(part, part.bounds, "label of this slice")
    elif part.finite:  # the mean of losses in [A, B] is A + (B - A) times a ratio between 0 and 1
        low, high = bounds
        unit = np.clip((losses - low) / (high - low), 0, 1)
        pairs = Pairs.over_part(unit, inside, pool_size, part.draws, "label of this slice")
        estimate = figure_estimate([pairs], part).scaled(high - low, low)
    elif part.interval == "betting":
        raise InputError(
            f"interval='betting' needs losses with bounds; these have {bounds}. Declare "
            f"them, for example bounds=(0, 1)."
        )
    else:
        estimate = _continuous(part, method)
    return replace(estimate, pool_size=pool_size, n_labels=part.n_labels)


@dataclass(frozen=True, slots=True, eq=False)
class _Part(Look):
    """The labels of one slice within all of them."""

    losses: FloatArray
    inside: BoolArray
    pool_size: int
    bounds: Limits
    known: FloatArray | None

    @property
    def n_labels(self) -> int:
        return int(self.inside.sum())

    @property
    def finite(self) -> bool:
        """True if its losses have bounds on both sides."""
        return bool(np.isfinite(self.bounds).all())

    @property
    def alike(self) -> bool:
        """True if too few of its losses differ from the commonest to know their spread."""
        losses = self.losses[self.inside]
        step = _SAME * max(float(np.abs(losses).max()), np.finfo(np.float64).tiny)
        _, counts = np.unique(np.round(losses / step), return_counts=True)
        commonest = int(counts.max())
        return commonest > 1 and len(losses) - commonest < _RARE


def _continuous(part: _Part, method: str) -> Estimate:
    """The mean of losses without an upper bound, or of either sign."""
    draws, count, D = part.draws, part.n_labels, part.inside.astype(np.float64)
    ratio = draws_ratio(part.losses * D, D, draws, part.known)
    total = np.asarray(part.losses[part.inside].sum())
    least, most = logical_limits(total, count, part.pool_size, part.bounds)
    possible = float(least), float(most)

    def asymptotic() -> Limits | None:
        rounding = (_SAME * float(np.abs(part.losses[part.inside]).max())) ** 2
        same = not float(ratio.residual.variance) > rounding
        hidden = same or (part.interval == "auto" and part.alike)
        if count < 2 or hidden or (ratio.value <= 0 and method == "log_t"):
            return None
        # The residuals sum to zero: theta^ itself has spent a degree of freedom.
        moments = replace(
            ratio.residual,
            value=ratio.value,
            variance=ratio.residual.variance * count / (count - 1),
            df=np.minimum(ratio.residual.df, count - 1),
        )
        limits = (log_t_interval if method == "log_t" else t_interval)(moments, part.level)
        low, high = (float(limit) for limit in limits)
        # As if the items that could never be drawn were in this slice.
        share = min(part.draws.excluded, part.pool_size - count) / part.pool_size
        if not share:
            return low, high
        A, B = part.bounds
        return low * (1 - share) + A * share, high * (1 - share) + B * share

    variance, methods = ratio.residual.variance, {method: asymptotic}
    estimate = make_estimate(part, ratio.value, variance, part.inside, possible, methods)
    if estimate.interval == method and (count < _FEW or part.alike):
        why = f"only {count} labels" if count < _FEW else _ALIKE
        note = f"{why}: the interval cannot allow for losses of a kind not seen yet"
    elif estimate.interval == "logical" and part.alike and not part.finite:
        note = f"{_ALIKE}: declare bounds for a narrower interval"
    else:
        return estimate
    return replace(estimate, warnings=(*estimate.warnings, note))
