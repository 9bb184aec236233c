"""A campaign as plain records: settings and progress, and figures. Every surface shows these."""

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.options import OPTIONS, CampaignOptions
from levelled.campaigns.people.labellers import agreement_of

if TYPE_CHECKING:
    from levelled.metrics.comparison import Figure


def summarise(state: CampaignState, last_hash: str) -> dict[str, Any]:
    """The settings and the progress of a campaign."""
    agreement = agreement_of(state)
    settings = state.settings
    kept = [OPTIONS[one.name] for one in fields(CampaignOptions)]
    unused = [one.name for one in kept if one.only_static and settings.kind != "static"]
    return {
        "name": settings.name,
        "metrics": [*settings.metric_names],
        "models": [settings.shown_name(model) for model in (*settings.models, *state.attached)],
        "slices": list(settings.slices),
        "classes": list(settings.label_classes) or None,
        "pool_size": settings.pool_size,
        "n_known": len(state.known_items),
        "n_labels": len(state.answers),
        "n_settled": state.n_settled,
        "n_pending": len(state.open_draws()),
        "next_look": settings.next_look(state.n_settled),
        "planned": settings.planned,
        "n_unlabelable": len(state.unlabelable),
        "n_amended": len(state.relabelled()),
        "n_second_opinions": sum(map(len, state.opinions.values())),
        "agreement": None if agreement is None else agreement.as_dict(),
        **{one.name: getattr(settings, one.name) for one in kept},
        **dict.fromkeys(unused),
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


def figure_records(figures: "Sequence[Figure]", last_hash: str) -> list[dict[str, Any]]:
    """The figures as `levelled estimate --format json` prints them."""
    return [{**one.as_dict(), "last_hash": last_hash} for one in figures]
