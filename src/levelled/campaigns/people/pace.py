"""The pace of each labeller: how many labels, since when, and how long one takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from statistics import median

from levelled.campaigns.log.state import CampaignState

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
    open_by = [lease.owner for draw in state.open_draws() if (lease := state.leases.get(draw))]
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
