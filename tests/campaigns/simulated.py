"""Small pools with known labels, and campaigns on them, for the tests of this folder."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from levelled.campaigns import Campaign, create_campaign
from levelled.campaigns.drawing.drawing import draw_further
from levelled.campaigns.log import decide
from levelled.campaigns.log.events import Created, Drawn, Event
from levelled.campaigns.log.records import DrawnItem
from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.settings import CampaignSettings
from levelled.sources import open_pool

START = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)


def spam(n: int, seed: int = 0) -> tuple[pa.Table, dict[str, str]]:
    """A pool with the model's probabilities and a column to slice by, and the true labels."""
    rng = np.random.default_rng(seed)
    chance = rng.beta(0.6, 0.9, n)
    ids = [f"r{i}" for i in range(n)]
    table = pa.table(
        {
            "id": ids,
            "proba_ham": 1 - chance,
            "proba_spam": chance,
            "country": [["de", "fr", "uk"][i % 3] for i in range(n)],
            "text": [f"text {i}" for i in range(n)],
        }
    )
    labels = np.where(rng.random(n) < chance, "spam", "ham").tolist()
    return table, dict(zip(ids, labels, strict=True))


def numbers(n: int, seed: int = 0, **more: Sequence[Any]) -> tuple[pa.Table, dict[str, float]]:
    """A pool of predicted numbers, and the true ones."""
    rng = np.random.default_rng(seed)
    pred = rng.gamma(2.0, 1.0, n)
    ids = [f"r{i}" for i in range(n)]
    table = pa.table({"id": ids, "pred": pred, **more})
    labels = (pred + rng.normal(0, 0.5, n)).tolist()
    return table, dict(zip(ids, labels, strict=True))


def beginning(table: pa.Table, ahead: int, **settings: object) -> list[Event]:
    """The events of a new campaign on a pool in memory, without a store."""
    slices: Any = settings.get("slices", ())
    pool = open_pool(table, slices=slices)
    given: dict[str, Any] = {
        "name": "spam",
        "metric_names": ("error",),
        "source": None,
        "fingerprint": pool.fingerprint,
        "pool_size": len(pool),
        "seed": 7,
        "models": pool.models or ("",),
        "classes": pool.classes,
        "slice_counts": {name: pool.slice_values(name).counts() for name in slices},
        "pred_counts": {model: pool.predictions(model).counts() for model in pool.models},
        **settings,
    }
    if "metrics" in given:
        given["metric_names"] = given.pop("metrics")
    made = CampaignSettings(**given)
    draws, at = draw_further(pool, made, [], ahead), START.isoformat(timespec="seconds")
    return [
        Created(at=at, by=None, settings=made.to_json()),
        Drawn(at=at, by=None, draws=tuple(draws)),
    ]


def begun(
    path: Path, pool: object, metric: str | Sequence[str] = "error", **more: object
) -> Campaign:
    """A campaign named "spam" in the SQLite file at `path`."""
    given: dict[str, Any] = {"storage": path, "seed": 7, "kind": "static", **more}
    return create_campaign("spam", pool, metric, **given)


def label(campaign: Campaign, n: int, truth: Mapping[Any, object]) -> None:
    """Ask for n items and tell their labels."""
    asks = campaign.ask(n)
    campaign.tell_all([{"draw": one.draw, "label": truth[one.id]} for one in asks])


def by_hand(state: CampaignState, losses: Sequence[float]) -> float:
    """R_LURE of the first draws, term by term, from the probabilities on record."""
    return float(np.mean(np.array(weights_by_hand(state, len(losses))) * losses))


def weights_by_hand(state: CampaignState, M: int) -> list[float]:
    """v_m of the first M draws, from the formula of the paper."""
    N = state.settings.pool_size
    if M == N:
        return [1.0] * N
    q = [item.probability for item in state.draws[:M]]
    return [1 + (N - M) / (N - m) * (1 / ((N - m + 1) * q[m - 1]) - 1) for m in range(1, M + 1)]


def tell_one(
    state: CampaignState, item: DrawnItem, label: object, owner: str | None, now: datetime
) -> tuple[Event, ...]:
    """The events of one label for an item."""
    return decide.tell_all(state, [{"draw": item.draw, "label": label}], owner, now)


def amend_one(
    state: CampaignState, item: DrawnItem, label: object, owner: str | None, now: datetime
) -> tuple[Event, ...]:
    """The events of one corrected label."""
    return decide.amend_all(state, [{"draw": item.draw, "label": label}], owner, now)
