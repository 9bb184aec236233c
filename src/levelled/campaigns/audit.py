"""Recompute everything a campaign says from its log and its pool, and say where they differ."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from levelled.campaigns.campaign import Campaign
from levelled.campaigns.drawing import draw_further, frozen_proposal, sampled_draws
from levelled.campaigns.figures import figures
from levelled.campaigns.hashing import verify
from levelled.campaigns.state import CampaignState, fold
from levelled.campaigns.stores import Store
from levelled.errors import CampaignError, LevelledError
from levelled.sources import Pool

__all__ = ["audit"]

_CLOSE = 1e-12
"""Probabilities and figures may differ by rounding on another machine, and no more."""


def audit(campaign: Campaign, store: Store, *, pool: Pool | None = None) -> list[str]:
    """What does not agree with the log: nothing, if all is well.

    The chain of hashes, the draws and their probabilities (from the pool and the seed), and the
    estimates (from scratch, against the ones kept between looks).
    """
    stored = store.events(campaign.name)
    if not stored:
        raise CampaignError(f"There is no campaign {campaign.name!r} in this storage.")
    broken = verify(stored)
    if broken is not None:
        return [f"event {broken.seq}: {broken.because}"]
    state = fold(event.event for event in stored)
    return [*_draws(campaign, state, pool), *_figures(campaign, state)]


def _draws(campaign: Campaign, state: CampaignState, pool: Pool | None) -> Iterator[str]:
    try:
        pool = campaign.pool() if pool is None else pool
        again = _again(state, pool)
    except LevelledError as wrong:
        yield str(wrong)
        return
    for item, expected in zip(state.draws, again, strict=True):
        if (item.row, item.id) != (expected["row"], expected["id"]):
            yield f"draw {item.draw}: {item.id!r} is on record, the pool gives {expected['id']!r}"
        elif not _same(item.probability, expected["probability"]):
            yield (
                f"draw {item.draw}: probability {item.probability!r} is on record, the pool gives "
                f"{expected['probability']!r}"
            )
        elif any(not _same(item.design[k], v) for k, v in expected["design"].items()):
            yield f"draw {item.draw}: its design columns differ from what the pool gives"
        elif item.pred != expected["pred"] or item.slices != expected["slices"]:
            yield f"draw {item.draw}: its predictions or slices differ from what the pool gives"
        elif {model: [*proba] for model, proba in item.proba.items()} != expected["proba"]:
            yield f"draw {item.draw}: its probabilities of the classes differ from the pool's"


def _again(state: CampaignState, pool: Pool) -> list[dict[str, Any]]:
    settings = state.settings
    if pool.fingerprint != settings.fingerprint:
        raise CampaignError(
            f"The pool {pool.source} is not the one on record: its content differs."
        )
    rows = [item.row for item in state.draws]
    first: list[dict[str, Any]] = []
    if settings.n_sampled:
        sample = np.array(rows[: settings.n_sampled], dtype=np.int64)
        first = sampled_draws(pool, settings, sample, frozen_proposal(pool, settings))
    if len(rows) == settings.n_sampled:
        return first
    return [*first, *draw_further(pool, settings, rows[: settings.n_sampled], len(rows))]


def _figures(campaign: Campaign, state: CampaignState) -> Iterator[str]:
    try:
        scratch, _ = figures(state, {})
        kept = campaign.estimate()
    except LevelledError as wrong:
        yield f"no figures can be made from this log: {wrong}"
        return
    for now, expected in zip(kept, scratch, strict=True):
        ours = (now.estimate.value, now.estimate.low, now.estimate.high)
        theirs = (expected.estimate.value, expected.estimate.low, expected.estimate.high)
        if not all(_same(a, b) for a, b in zip(ours, theirs, strict=True)):
            name = " ".join(filter(None, (now.metric, now.model, now.slice)))
            yield f"{name}: {ours} is kept, {theirs} follows from the log"


def _same(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return a is b
    return a == b or abs(a - b) <= _CLOSE * max(abs(a), abs(b))
