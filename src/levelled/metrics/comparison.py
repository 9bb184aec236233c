"""Comparisons of models on the same labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from levelled._check import FloatArray, between, choice, floats, same_length
from levelled.draws import Draws, check_draws
from levelled.errors import InputError
from levelled.estimators.estimate import estimate
from levelled.estimators.intervals.logical import LARGEST, Bounds, as_bounds, bounds_of
from levelled.estimators.record import Estimate
from levelled.metrics.table import align, cells, footnotes

__all__ = ["Comparison", "Ranking", "compare", "compare_all"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two models on the same labels: the loss of `a` minus that of `b`, and a verdict."""

    a: str
    b: str
    difference: Estimate
    metric: str = ""
    in_points: bool = False
    """True where the metric is a share, whose differences are told in percentage points."""

    @property
    def better(self) -> str | None:
        """The model with the smaller loss, or None while that cannot be told."""
        if self.difference.high < 0:
            return self.a
        return self.b if self.difference.low > 0 else None

    @property
    def verdict(self) -> str:
        """The difference as a sentence."""
        low, high, level = self.difference.low, self.difference.high, self.difference.level
        if self.better is None:
            if low == high:
                return f"{self.a} and {self.b} are equally good on this pool"
            better, worse = self._number(max(-low, 0)), self._number(max(high, 0))
            return (
                f"cannot tell yet: {self.a} may be better by up to {better} or worse by up to "
                f"{worse}{self._unit}, {100 * level:.4g}% confidence"
            )
        gain = self._number(abs(self.difference.value or 0.0))
        if low == high:
            return f"{self.better} is better by {gain}{self._unit}, known exactly"
        near, far = map(self._number, sorted((abs(low), abs(high))))
        return (
            f"{self.better} is better by {gain}{self._unit} [{near}, {far}], "
            f"{100 * level:.4g}% confidence"
        )

    @property
    def _unit(self) -> str:
        return " points" if self.in_points else ""

    def _number(self, value: float) -> str:
        if not self.in_points:
            return f"{value:.4g}"
        points = 100 * value
        return f"{points:.1f}" if abs(points) >= 1 else f"{points:.2g}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: `b` as the model, compared with `a`, and the difference.

        A positive value says that the model is better.
        """
        names = {"metric": self.metric, "model": self.b, "against": self.a}
        found = {"better": self.better, "verdict": self.verdict}
        return names | found | self.difference.as_dict()

    def __str__(self) -> str:
        about = f"{self.metric}: " if self.metric else ""
        notes = "".join(f"; note: {note}" for note in self.difference.warnings)
        return f"{about}{self.verdict}{notes}"


@dataclass(frozen=True, slots=True)
class Ranking:
    """Several models, the best first, each compared with one of them.

    `level` is for all `n_compared` differences at once (Bonferroni); each has a stricter level,
    which is in its own estimate.
    """

    against: str
    risks: Mapping[str, Estimate]
    comparisons: tuple[Comparison, ...]
    level: float
    n_compared: int

    def as_dicts(self) -> list[dict[str, Any]]:
        """One dict of plain values a comparison, ready for JSON or a data frame."""
        return [
            {"model": row.a, "against": row.b, "verdict": row.verdict} | row.difference.as_dict()
            for row in self.comparisons
        ]

    def __str__(self) -> str:
        differences = {row.a: cells(row.difference) for row in self.comparisons}
        rows = [
            [name, cells(risk)[0], *differences.get(name, ["", "", ""])]
            for name, risk in self.risks.items()
        ]
        levels = (
            f"differences from {self.against}; all hold at once at {self.level:.4g} "
            f"(Bonferroni over {self.n_compared})"
        )
        notes = footnotes(
            [(f"risk of {name}", risk) for name, risk in self.risks.items()]
            + [(f"difference of {row.a}", row.difference) for row in self.comparisons]
        )
        return f"{align(['model', 'risk', 'difference', 'low', 'high'], rows)}\n{levels}{notes}"


def compare(
    loss_a: ArrayLike,
    loss_b: ArrayLike,
    draws: Draws,
    *,
    level: float = 0.95,
    interval: str = "auto",
    bounds: tuple[float, float] | None = None,
    names: tuple[str, str] = ("a", "b"),
) -> Comparison:
    """The mean difference of the losses of `a` and `b` on the same items.

    Errors that both make cancel, so this takes fewer labels than two separate estimates.
    `bounds` are those of each loss; 0/1 losses need none. Before the models have been seen to
    disagree, the interval is what betting or logic allows, never [0, 0].

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> compare([1, 0, 1, 0], [0, 0, 1, 0], draws).difference.value
    0.25
    >>> compare([1, 0, 1, 0], [1, 0, 1, 0], draws).better is None
    True
    """
    if names[0] == names[1]:
        raise InputError(f"The two models need two names; both are {names[0]!r}.")
    a, b = _check_losses({names[0]: loss_a, names[1]: loss_b}, draws, bounds).values()
    limits = _bounds(bounds, a, b)
    return Comparison(*names, estimate(a - b, draws, level=level, interval=interval, bounds=limits))


def compare_all(
    losses: Mapping[str, ArrayLike],
    draws: Draws,
    *,
    baseline: str | None = None,
    level: float = 0.95,
    interval: str = "auto",
    bounds: tuple[float, float] | None = None,
) -> Ranking:
    """Each of several models against the best one, or against a named `baseline`.

    All differences hold at once with probability `level`. Against a baseline these are k - 1;
    which model is best is known from the same labels only, so against the best all k (k - 1) / 2
    pairs must hold. Each is given the level 1 - (1 - level) / number.

    >>> draws = Draws([4, 1, 0, 7], [0.05, 1 / 19, 1 / 18, 1 / 17], pool_size=20)
    >>> ranking = compare_all({"v1": [1, 0, 1, 0], "v2": [0, 0, 1, 0], "v3": [0, 0, 0, 0]}, draws)
    >>> ranking.against, ranking.n_compared
    ('v3', 3)
    """
    level = between("level", level, 0, 1, open_=True)
    _check_named(losses)
    models = _check_losses(losses, draws, bounds)
    if len(models) < 2:
        raise InputError(f"A comparison needs two models or more; there are {len(models)}.")
    if baseline is not None:
        choice("baseline", baseline, list(models))
    risks = {
        name: estimate(loss, draws, level=level, interval=interval, bounds=bounds)
        for name, loss in models.items()
    }
    order = sorted(models, key=lambda name: risks[name].value or 0.0)
    against = order[0] if baseline is None else baseline
    k = len(models)
    number = k * (k - 1) // 2 if baseline is None else k - 1
    each, limits = 1 - (1 - level) / number, _bounds(bounds, *models.values())
    differences = {name: models[name] - models[against] for name in order if name != against}
    comparisons = tuple(
        Comparison(name, against, estimate(loss, draws, "lure", each, interval, limits))
        for name, loss in differences.items()
    )
    return Ranking(against, {name: risks[name] for name in order}, comparisons, level, number)


def _check_named(losses: object) -> None:
    if not isinstance(losses, Mapping) or not all(isinstance(name, str) for name in losses):
        raise InputError(
            "losses must map the name of each model, as text, to its losses, for example "
            "{'v1': losses_1, 'v2': losses_2}."
        )


def _check_losses(
    losses: Mapping[str, ArrayLike], draws: Draws, bounds: tuple[float, float] | None
) -> dict[str, FloatArray]:
    named = {f"losses of {name}": loss for name, loss in losses.items()}
    check_draws(draws, **named)
    arrays = {
        name: floats(f"losses of {name}", loss, ndim=1, largest=LARGEST)
        for name, loss in losses.items()
    }
    for name, loss in arrays.items():
        same_length(**{f"losses of {name}": loss, "draws": draws.index})
        bounds_of(loss, bounds)
    return arrays


def _bounds(bounds: tuple[float, float] | None, *losses: FloatArray) -> Bounds:
    """The bounds of a difference of two losses; 0/1 losses need not declare theirs."""
    if bounds is not None:
        low, high = as_bounds(bounds)
        return low - high, high - low
    if all(np.isin(loss, (0, 1)).all() for loss in losses):
        return -1.0, 1.0
    return -np.inf, np.inf
