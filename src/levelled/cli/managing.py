"""`levelled list`, `status`, `change`, `attach`, `rescore`, `close`, `report`, `export`."""

from pathlib import Path
from typing import Annotated, Any

import typer

import levelled as lv
from levelled.campaigns.options import DEFAULT_STORAGE, OPTIONS
from levelled.cli import show
from levelled.cli.options import (
    Form,
    Format,
    Name,
    Owner,
    PoolFile,
    Raw,
    Storage,
    takes,
)


@takes(*(one for one in OPTIONS.values() if one.changeable), unset=True)
def change(
    name: Name,
    owner: Owner = None,
    storage: Storage = DEFAULT_STORAGE,
    pool: PoolFile = None,
    **options: Any,  # noqa: ANN401
) -> None:
    """Change the kind, the budget, the target width, the leases or the items in flight."""
    changes = {option: value for option, value in options.items() if value is not None}
    if not changes:
        raise typer.BadParameter("Nothing to change: name at least one option, such as --budget.")
    campaign = lv.load_campaign(name, storage=storage, pool=pool)
    before = campaign.settings.kind
    campaign.change(owner=owner, **changes)
    show.tell(
        f"changed {name}: {', '.join(f'{option} {value}' for option, value in changes.items())}"
    )
    after = campaign.settings.kind
    if before != after and "adaptive" in (before, after) and campaign.state.n_asked:
        show.tell(
            "once items of both kinds are labelled, estimates are R_LURE without the predictor, "
            "unbiased as before but wider than those of an adaptive campaign"
        )


def attach(
    name: Name,
    predictions: Annotated[Path, typer.Option(help="File with the other model's predictions.")],
    model: Annotated[str, typer.Option(help="Name of the other model.")],
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Estimate another model from the labels that are already there."""
    lv.load_campaign(name, storage=storage).attach(str(predictions), model)
    show.tell(f"attached {model} to {name}. Next: levelled estimate {name}")


def rescore(
    name: Name,
    pool: Annotated[
        Path,
        typer.Option(help="File of ids with a column loss_hat or columns surrogate_<class>."),
    ],
    owner: Owner = None,
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Replace the predicted losses that guide the draws, from the next item on."""
    lv.load_campaign(name, storage=storage).rescore(str(pool), owner=owner)
    show.tell(f"rescored {name} with {pool}. Next: levelled ask {name}")


def close(
    name: Name,
    reason: Annotated[str, typer.Option(help="The reason, for the record.")] = "finished",
    owner: Owner = None,
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """End a campaign: it takes no more labels, and its estimates remain."""
    lv.load_campaign(name, storage=storage).close(reason=reason, owner=owner)
    show.tell(f"closed {name}: {reason}")


def list_(form: Format = None, storage: Storage = DEFAULT_STORAGE) -> None:
    """List the campaigns of a storage."""
    from levelled.campaigns.log.log import CampaignLog
    from levelled.campaigns.summary import summarise

    with lv.campaigns.open_store(storage, create=False) as store:
        logs = [CampaignLog(name, store) for name in store.names()]
        summaries = [summarise(*log.overview()) for log in logs]
    chosen = show.chosen(form)
    if chosen is not Form.table:
        show.records(summaries, chosen)
        return
    columns = ["name", "metrics", "n_labels", "n_settled", "n_pending", "budget", "pool_size"]
    rows = [
        [
            *(_cell(row[column]) for column in columns),
            "open" if row["closed"] is None else f"closed: {_cell(row['closed'])}",
        ]
        for row in summaries
    ]
    show.show_rows("Campaigns", [*(c.removeprefix("n_") for c in columns), "state"], rows)


def status(name: Name, form: Format = None, storage: Storage = DEFAULT_STORAGE) -> None:
    """Show the progress and the settings of a campaign."""
    from levelled.campaigns.summary import summarise

    campaign = lv.load_campaign(name, storage=storage)
    summary = summarise(campaign.state, campaign.last_hash)
    campaign.keep()
    chosen = show.chosen(form)
    if chosen is Form.table:
        summary["agreement"] = campaign.agreement()
        summary["columns"] = _changed_columns(campaign.settings.columns)
        usual: dict[str, Any] = {
            **{one.name: one.default for one in OPTIONS.values() if one.quiet},
            **dict.fromkeys(one.name for one in OPTIONS.values() if one.only_static),
            **{key: [] for key in ("features", "columns", "questions", "pair")},
            **dict.fromkeys(("agreement", "group", "n_groups")),
        }
        rows = [
            (key.removeprefix("n_"), _cell(value))
            for key, value in summary.items()
            if key not in usual or value != usual[key]
        ]
        show.show_rows("", ["", show.plain(name)], rows, figures=False)
    else:
        show.records([summary], chosen)


def _changed_columns(columns: "lv.sources.ColumnChoices") -> list[str]:
    """The choices of columns that are not the usual ones, in words."""
    usual = lv.sources.ColumnChoices().to_json()
    return [
        f"{name} {_cell([*value] if isinstance(value, tuple) else value)}"
        for name, value in columns.to_json().items()
        if value != usual[name]
    ]


def _cell(value: object) -> str:

    if isinstance(value, list):
        return ", ".join(show.plain(one or "(unnamed)") for one in value)
    return show.plain(value)


def export(
    name: Name,
    out: Annotated[Path, typer.Option(help="A file ending in .parquet, .csv or .jsonl.")],
    raw: Raw = False,
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Write draws, labels, predictions and training weights to a file."""
    lv.load_campaign(name, storage=storage).export(out, raw=raw)
    show.tell(f"written: {out}")


def report(
    name: Name,
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("report.html"),
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Write a campaign as one HTML file: figures, plots, settings and corrections."""
    lv.load_campaign(name, storage=storage).report(out)
    show.tell(f"written: {out}")
