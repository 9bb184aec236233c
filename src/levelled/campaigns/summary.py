"""A campaign as plain records: settings and progress, and figures. Every surface shows these."""

from collections.abc import Sequence
from typing import Any

from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.people.agreement import agreement_of
from levelled.metrics.figure import Figure

_SETTINGS = ("kind", "budget", "target_width", "level", "seed", "in_flight", "lease_seconds")
"""The settings that every summary shows."""

OF_STATIC = ("score", "proposal", "floor")
"""The settings that only static campaigns use."""


def summarise(state: CampaignState, last_hash: str) -> dict[str, Any]:
    """The settings and the progress of a campaign."""
    agreement = agreement_of(state)
    settings = state.settings
    is_static = settings.kind == "static"
    return {
        "name": settings.name,
        "metrics": settings.metric_names,
        "models": [settings.shown_name(model) for model in (*settings.models, *state.attached)],
        "slices": list(settings.slices),
        "pool_size": settings.pool_size,
        "n_labels": len(state.answers),
        "n_settled": state.n_settled,
        "n_pending": len(state.open_draws()),
        "n_unlabelable": len(state.unlabelable),
        "n_amended": len(state.relabelled()),
        "n_second_opinions": sum(map(len, state.opinions.values())),
        "agreement": None if agreement is None else agreement.as_dict(),
        **{name: getattr(settings, name) for name in _SETTINGS},
        **{name: getattr(settings, name) if is_static else None for name in OF_STATIC},
        "guarantee": settings.guarantee,
        "drive": settings.drive,
        "features": list(settings.features),
        "group": settings.group,
        "n_groups": settings.n_groups,
        "columns": settings.columns.to_json(),
        "questions": [one.notation for one in settings.questions],
        "pair": list(settings.pair),
        "pool": settings.source,
        "fingerprint": settings.fingerprint,
        "closed": state.closed,
        "n_events": state.n_events,
        "last_hash": last_hash,
    }


def figure_records(figures: Sequence[Figure], last_hash: str) -> list[dict[str, Any]]:
    """The figures as `levelled estimate --format json` prints them."""
    return [{**one.as_dict(), "last_hash": last_hash} for one in figures]
