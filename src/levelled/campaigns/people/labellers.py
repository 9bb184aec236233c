"""Labellers: how far they agree (share of equal labels, Cohen's kappa), and the pace of each."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import pairwise
from statistics import NormalDist, median
from typing import Any

import numpy as np

from levelled._check import FloatArray
from levelled.campaigns.log.state import CampaignState
from levelled.errors import InputError
from levelled.labels import Label


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two labellers agree on the items that both labelled.

    The items are those that happen to have a second opinion, so this is not an estimate for the
    pool. `kappa` is None where it is undefined, because all labels are the same, or are numbers.
    `low` and `high` are None where the standard error is 0 or undefined.
    """

    n_items: int
    share: float
    kappa: float | None
    low: float | None
    high: float | None
    level: float

    def __str__(self) -> str:
        text = f"the same label for {self.share:.1%} of {self.n_items} items labelled twice"
        if self.kappa is None:
            return text
        text += f"; Cohen's kappa {self.kappa:.2f}"
        if self.low is None or self.high is None:
            return text
        return f"{text}, {self.level * 100:.4g}% interval {self.low:.2f} to {self.high:.2f}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON and tables."""
        plain = asdict(self)
        del plain["level"]
        return plain


def cohen_kappa(first: Sequence[Label], second: Sequence[Label]) -> tuple[float, float]:
    """Cohen's kappa of two labellers and its large-sample standard error; nan where undefined.

        kappa = (p_o - p_e) / (1 - p_e)

    p_o is the share of equal labels, p_e = sum of p_i. p_.i the share expected by chance. The
    standard error is that of Fleiss, Cohen and Everitt (1969, Psychological Bulletin 72, 323-327),
    for kappa other than 0:

        n (1 - p_e)^2 se^2 = sum_i p_ii (1 - (p_i. + p_.i) (1 - kappa))^2
                             + (1 - kappa)^2 sum_{i != j} p_ij (p_.i + p_j.)^2
                             - (kappa - p_e (1 - kappa))^2

    >>> kappa, se = cohen_kappa(["a", "a", "b", "b", "b"], ["a", "b", "b", "b", "b"])
    >>> round(kappa, 3), round(se, 3)
    (0.545, 0.362)
    """
    if len(first) != len(second) or not len(first):
        raise InputError(
            f"Kappa needs as many labels of one labeller as of the other, and at least one; there "
            f"are {len(first)} and {len(second)}."
        )
    p = _shares(first, second)
    row, column, equal = p.sum(axis=1), p.sum(axis=0), np.diag(p)
    by_chance = float(row @ column)
    if by_chance >= 1.0:
        return math.nan, math.nan
    kappa = (float(equal.sum()) - by_chance) / (1 - by_chance)
    unequal = p - np.diag(equal)
    variance = float(
        equal @ (1 - (row + column) * (1 - kappa)) ** 2
        + (1 - kappa) ** 2 * np.sum(unequal * (column[:, None] + row[None, :]) ** 2)
        - (kappa - by_chance * (1 - kappa)) ** 2
    )
    return kappa, math.sqrt(max(variance, 0.0) / len(first)) / (1 - by_chance)


def _shares(first: Sequence[Label], second: Sequence[Label]) -> FloatArray:
    """The share of each pair of labels, by the first one (row) and the second one (column)."""
    place = {label: at for at, label in enumerate(dict.fromkeys([*first, *second]))}
    counts = np.zeros((len(place), len(place)))
    for a, b in zip(first, second, strict=True):
        counts[place[a], place[b]] += 1
    return counts / len(first)


def agreement_of(state: CampaignState) -> Agreement | None:
    """How far the labellers of a campaign agree; None if no item was labelled by two of them."""
    pairs = [*_pairs(state)]
    if not pairs:
        return None
    first, second = [one for one, _ in pairs], [other for _, other in pairs]
    share = float(np.mean([one == other for one, other in pairs]))
    kappa, se = (math.nan, math.nan) if state.settings.numeric else cohen_kappa(first, second)
    low, high, level = None, None, state.settings.level
    if se > 1e-12:  # that no spread was seen is no proof that there is none
        half = NormalDist().inv_cdf((1 + level) / 2) * se
        low, high = max(kappa - half, -1.0), min(kappa + half, 1.0)
    return Agreement(len(pairs), share, None if math.isnan(kappa) else kappa, low, high, level)


def _pairs(state: CampaignState) -> Iterator[tuple[Label, Label]]:
    """Labels of two labellers with names, one pair for each item that has them.

    They are what each labeller said: corrections of their own count, amendments of others do not.
    """
    for draw, opinions in sorted(state.opinions.items()):
        if draw not in state.answers:
            continue
        answer, earlier = state.answers[draw], state.amended.get(draw, ())
        told = [(one.by, one.label) for one in earlier if one.label is not None]
        told.append((answer.by, answer.label))
        labeller = told[0][0]
        own = next(label for by, label in reversed(told) if by == labeller)
        other = next((one for one in opinions if one.by not in (None, labeller)), None)
        if labeller is not None and other is not None:
            yield own, other.label


_PAUSE = 30 * 60
"""Seconds between two labels after which a labeller has been away."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The work of one labeller; None is the name of those without one.

    `seconds` is the median time from one label to the next, pauses left out; None where that
    cannot be said.
    """

    name: str | None
    n_labels: int
    n_open: int
    first: str | None
    last: str | None
    seconds: float | None


def paces_of(state: CampaignState) -> list[Pace]:
    """The pace of everybody who has labelled or has items, the busiest first."""
    answers = [*state.answers.values(), *(one for each in state.opinions.values() for one in each)]
    open_by = [lease.owner for lease in state.open_leases().values()]
    names = dict.fromkeys([*(one.by for one in answers), *open_by])
    paces = []
    for name in names:
        times = sorted(one.at for one in answers if one.by == name)
        first, last = (times[0], times[-1]) if times else (None, None)
        seconds = _median_seconds(times)
        paces.append(Pace(name, len(times), open_by.count(name), first, last, seconds))
    return sorted(paces, key=lambda one: -one.n_labels)


def _median_seconds(times: Sequence[str]) -> float | None:
    at = [datetime.fromisoformat(one).timestamp() for one in times]
    gaps = [later - one for one, later in pairwise(at) if later - one <= _PAUSE]
    return median(gaps) if gaps else None
