"""The labels of an evaluation campaign, as those of a learner."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from levelled.campaigns.settled import settled_draws
from levelled.campaigns.state import CampaignState
from levelled.draws import Draws
from levelled.errors import InputError
from levelled.learning.state import LearnerState

__all__ = ["from_campaign", "left_out"]


def from_campaign(
    campaign: CampaignState, n_rows: int, ids: ArrayLike | None = None
) -> LearnerState:
    """The settled draws of a campaign with their labels; draws after a gap are left out.

    Rows are those of the campaign's pool, or the places of its ids in `ids`.
    """
    N = campaign.settings.pool_size
    if n_rows != N:
        raise InputError(
            f"X_pool has {n_rows} rows and the pool of {campaign.settings.name!r} has {N} items: "
            f"the probabilities of its draws are among all of them."
        )
    base = settled_draws(campaign)
    rows = base.draws.index
    if ids is not None:
        place = _places(ids, N)
        rows = np.array([_found(place, item.id) for item in campaign.draws[: len(base)]], np.int64)
    known = base.draws.design or {}
    kept = {name: known[name] for name in ("max_weight",) if name in known}
    draws = Draws(rows, base.draws.probability, N, design=kept or None)
    return LearnerState(draws, dict(zip(rows.tolist(), base.labels, strict=True)))


def left_out(campaign: CampaignState) -> str | None:
    """What a reader must know of labels after a gap."""
    n = sum(draw > campaign.n_settled for draw in campaign.answers)
    if not n:
        return None
    return (
        f"{n} labels of {campaign.settings.name!r} after draw {campaign.n_settled + 1}, which has "
        f"none, are left out, and their rows may be drawn again"
    )


def _places(ids: ArrayLike, pool_size: int) -> Mapping[str, int]:
    given = np.asarray(ids)
    names = [str(one) for one in given.tolist()] if given.ndim == 1 else []
    if len(set(names)) != pool_size or len(names) != pool_size:
        raise InputError(
            f"ids must be {pool_size} different ids, one for each row of X_pool; there are "
            f"{len(names)}, {len(set(names))} of them different."
        )
    return {name: at for at, name in enumerate(names)}


def _found(place: Mapping[str, int], wanted: str | int) -> int:
    if str(wanted) not in place:
        raise InputError(f"The campaign drew the item {wanted!r}, which is not among ids.")
    return place[str(wanted)]
