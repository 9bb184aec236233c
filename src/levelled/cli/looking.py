"""`levelled list` and `status`: what there is, and how far it is."""

from typing import TYPE_CHECKING, Any

from levelled.cli.options import DEFAULT_STORAGE, Form, Format, Name, Storage

if TYPE_CHECKING:
    from levelled.campaigns import Campaign

__all__ = ["list_", "status"]


def list_(form: Format = None, storage: Storage = DEFAULT_STORAGE) -> None:
    """List the campaigns of a storage."""
    from levelled.campaigns import Campaign, open_store
    from levelled.cli import show

    with open_store(storage, create=False) as store:
        found = [_summary(Campaign(name, store)) for name in store.names()]
    wanted = show.chosen(form)
    if wanted is not Form.table:
        show.records(found, wanted)
        return
    columns = ["name", "metrics", "n_labels", "n_settled", "n_pending", "budget", "pool_size"]
    rows = [[_told(row[column]) for column in columns] + [_state(row)] for row in found]
    show.show_rows("Campaigns", [*(c.removeprefix("n_") for c in columns), "state"], rows)


def status(name: Name, form: Format = None, storage: Storage = DEFAULT_STORAGE) -> None:
    """Show how far a campaign is and what it was created with."""
    from levelled.campaigns import load_campaign
    from levelled.cli import show

    found = _summary(load_campaign(name, storage=storage))
    wanted = show.chosen(form)
    if wanted is Form.table:
        rows = [(key.removeprefix("n_"), _told(value)) for key, value in found.items()]
        show.show_rows("", ["", show.plain(name)], rows, figures=False)
    else:
        show.records([found], wanted)


def _summary(campaign: "Campaign") -> dict[str, Any]:
    state = campaign.state
    settings = state.settings
    return {
        "name": settings.name,
        "metrics": list(settings.metrics),
        "models": [*settings.models, *state.attached],
        "slices": list(settings.slices),
        "pool_size": settings.pool_size,
        "n_labels": len(state.answers),
        "n_settled": state.n_settled,
        "n_pending": len(state.open_draws()),
        "n_unlabelable": len(state.resolved),
        "n_amended": len(state.amended),
        "n_second_opinions": sum(map(len, state.opinions.values())),
        "budget": settings.budget,
        "target_width": settings.target_width,
        "level": settings.level,
        "score": settings.score,
        "proposal": settings.proposal,
        "floor": settings.floor,
        "seed": settings.seed,
        "in_flight": settings.in_flight,
        "lease_seconds": settings.lease_seconds,
        "pool": settings.source,
        "fingerprint": settings.fingerprint,
        "closed": state.closed,
    }


def _told(value: object) -> str:
    from levelled.cli.show import plain

    if isinstance(value, list):
        return ", ".join(plain(one or "(unnamed)") for one in value)
    return plain(value)


def _state(row: dict[str, Any]) -> str:
    return "open" if row["closed"] is None else f"closed: {_told(row['closed'])}"
