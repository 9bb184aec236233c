"""The average loss of each slice of the pool, from the same labels."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled._check import BoolArray, FloatArray, choice, same_length
from levelled.draws import Draws
from levelled.errors import InputError
from levelled.estimators.intervals.fixed import log_t_interval, t_interval
from levelled.estimators.intervals.logical import (
    bounds_of,
    check_bounds,
    checked_pair,
    logical_limits,
)
from levelled.estimators.loss_sample import Kind, checked_losses, kind_of
from levelled.estimators.moments import worth
from levelled.estimators.record import Estimate
from levelled.labels import Class, class_names
from levelled.metrics.linearised import draws_ratio
from levelled.metrics.ratio import (
    Limits,
    Pairs,
    check_level,
    make_estimate,
    ratio_estimate,
    scaled,
    undefined_estimate,
)
from levelled.metrics.table import align, cells, footnotes

__all__ = ["Slice", "SliceTable", "by_slice"]

_FEW = 25
"""Labels below which an interval for losses other than 0/1 is rough."""

_RARE = 5
"""Losses other than the commonest one below which their spread is not relied on."""

_SAME = 1e-7
"""Losses that differ by less than this share of the largest differ by rounding only."""

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

    `slices` names the slice of each drawn item, `pool_slices` that of every item of the pool.
    A slice none of whose items has been drawn is undefined, between what its losses may be. The
    interval is Wilson's for 0/1 losses, on the log scale for positive ones, symmetric for ones
    of either sign, all for a number of labels fixed beforehand; "betting" holds at any number
    and needs losses with bounds. Where nearly all losses of a slice are the same, such as
    ratings that are all 5 but a few, the last two would be too narrow: the interval is then
    "betting" with bounds, and without them what is logically possible. With `simultaneous` all K
    intervals hold at once: each is given the level 1 - (1 - level) / K.

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
    loss, level = checked_losses(losses, draws), check_level(level, draws)
    if bounds is not None:
        bounds = checked_pair(bounds)
        check_bounds(loss, bounds)
    limits = bounds_of(loss) if bounds is None else bounds
    kind = kind_of(loss, bounds)
    drawn, pool = _check_slices(slices, pool_slices, draws)
    names, sizes = np.unique(pool, return_counts=True)
    each = 1 - (1 - level) / len(names) if simultaneous else level
    rows = []
    for name, pool_size in zip(names.tolist(), sizes.tolist(), strict=True):
        part = _Part(loss, draws, np.asarray(drawn == name), pool_size, kind, limits)
        rows.append(Slice(name, pool_size, part.n_labels, _estimate(part, each, interval)))
    return SliceTable(tuple(rows), level, simultaneous)


def slice_estimate(
    losses: FloatArray,
    draws: Draws,
    inside: BoolArray,
    pool_size: int,
    *,
    level: float,
    bounds: Limits,
) -> Estimate:
    """One slice of `by_slice`: `inside` says which drawn items it holds, of `pool_size` in all."""
    part = _Part(losses, draws, inside, pool_size, kind_of(losses, bounds), bounds)
    return _estimate(part, level, "auto")


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The labels of one slice within all of them."""

    losses: FloatArray
    draws: Draws
    inside: BoolArray
    pool_size: int
    kind: Kind
    bounds: Limits

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

    def spread(self, variance: FloatArray) -> bool:
        """True if the losses differ by more than rounding."""
        return float(variance) > (_SAME * float(np.abs(self.losses[self.inside]).max())) ** 2


def _estimate(part: _Part, level: float, interval: str) -> Estimate:
    method = "wilson" if part.finite else {"signed": "t"}.get(part.kind, "log_t")
    choice("interval", interval, ("auto", method, "betting", "none"))
    if not part.n_labels:
        estimate = undefined_estimate(part.draws, part.bounds, level, "label of this slice")
    elif part.finite or interval == "betting":
        estimate = _bounded(part, level, interval)
    else:
        estimate = _continuous(part, method, level, interval)
    return replace(estimate, pool_size=part.pool_size, n_labels=part.n_labels)


def _bounded(part: _Part, level: float, interval: str) -> Estimate:
    """The mean of losses in [A, B] as A + (B - A) times a ratio between 0 and 1."""
    low, high = part.bounds
    if not part.finite:
        raise InputError(
            f"interval='betting' needs losses with bounds; these have {part.bounds}. Declare "
            f"them, for example bounds=(0, 1)."
        )
    unit = np.clip((part.losses - low) / (high - low), 0, 1)
    pairs = Pairs.over_part(unit, part.inside, part.pool_size, part.draws, "label of this slice")
    return scaled(
        ratio_estimate(pairs, part.draws, level=level, interval=interval), high - low, low
    )


def _continuous(part: _Part, method: str, level: float, interval: str) -> Estimate:
    """The mean of losses without an upper bound, or of either sign."""
    draws, count, D = part.draws, part.n_labels, part.inside.astype(np.float64)
    ratio = draws_ratio(part.losses * D, D, draws)
    total = np.asarray(part.losses[part.inside].sum())
    possible = logical_limits(total, count, part.pool_size, part.bounds)

    def asymptotic() -> Limits | None:
        hidden = not part.spread(ratio.residual.variance) or (interval == "auto" and part.alike)
        if count < 2 or hidden or (ratio.value <= 0 and method == "log_t"):
            return None
        # The residuals sum to zero: theta^ itself has spent a degree of freedom.
        moments = replace(
            ratio.residual,
            value=ratio.value,
            variance=ratio.residual.variance * count / (count - 1),
            df=np.minimum(ratio.residual.df, count - 1),
        )
        low, high = (log_t_interval if method == "log_t" else t_interval)(moments, level)
        return _widen_for_excluded((float(low), float(high)), part)

    estimate = make_estimate(
        float(ratio.value),
        float(ratio.residual.variance),
        draws,
        units=part.inside,
        possible=(float(possible[0]), float(possible[1])),
        level=level,
        interval=interval,
        worth=worth(ratio.residual, ratio.residuals, draws.probability),
        methods={method: asymptotic},
    )
    return replace(estimate, warnings=(*estimate.warnings, *_notes(part, estimate, method)))


def _notes(part: _Part, estimate: Estimate, method: str) -> tuple[str, ...]:
    few = part.n_labels < _FEW or part.alike
    if estimate.interval == method and few:
        why = f"only {part.n_labels} labels" if part.n_labels < _FEW else _ALIKE
        return (f"{why}: the interval cannot allow for losses of a kind not seen yet",)
    if estimate.interval == "logical" and part.alike and not part.finite:
        return (f"{_ALIKE}: declare bounds for a narrower interval",)
    return ()


def _widen_for_excluded(limits: Limits, part: _Part) -> Limits:
    """Limits widened as if the items that could never be drawn were in this slice."""
    unknown = min(part.draws.excluded, part.pool_size - part.n_labels)
    if not unknown:
        return limits
    share = unknown / part.pool_size
    low, high = part.bounds
    return limits[0] * (1 - share) + low * share, limits[1] * (1 - share) + high * share


def _check_slices(
    slices: ArrayLike, pool_slices: ArrayLike, draws: Draws
) -> tuple[NDArray[Any], NDArray[Any]]:
    drawn, pool = class_names("slices", slices), class_names("pool_slices", pool_slices)
    same_length(slices=drawn, draws=draws.index)
    if len(pool) != draws.pool_size:
        raise InputError(
            f"pool_slices must name the slice of each of the {draws.pool_size} items of the pool; "
            f"it has {len(pool)}."
        )
    if (drawn.dtype.kind == "U") != (pool.dtype.kind == "U"):
        raise InputError(f"slices hold {drawn.dtype}, pool_slices {pool.dtype}: write both alike.")
    differ = np.flatnonzero(pool[draws.index] != drawn)
    if differ.size:
        item = draws.index[differ[0]]
        raise InputError(
            f"slices and pool_slices differ at {differ.size} of {len(drawn)} drawn items: item "
            f"{item} is in {drawn[differ[0]].item()!r} by slices and in {pool[item].item()!r} by "
            f"pool_slices. slices goes by draw: slices = pool_slices[draws.index]."
        )
    return drawn, pool
