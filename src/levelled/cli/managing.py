"""`levelled create`, `list`, `status`, `change`, `attach`, `rescore`, `close`, ..."""

from pathlib import Path
from typing import Annotated, Any

import typer

import levelled as lv
from levelled.cli import show
from levelled.cli.options import (
    DEFAULT_STORAGE,
    Budget,
    ClassNames,
    Content,
    Drive,
    Floor,
    Form,
    Format,
    Guarantee,
    Guidelines,
    Images,
    Kind,
    Looks,
    Name,
    Owner,
    Pair,
    PoolFile,
    Questions,
    Raw,
    Storage,
    TargetWidth,
    read_guidelines,
    split_content,
)

__all__ = [
    "attach",
    "change",
    "close",
    "create",
    "export",
    "list_",
    "report",
    "rescore",
    "status",
]

_YEAR = 366 * 24 * 3600
_LEASE = typer.Option(min=1, max=_YEAR, help="How long an item is kept for its labeller.")
_IN_FLIGHT = typer.Option(min=1, help="The most items that may wait for a label at once.")


def create(
    name: Name,
    pool: Annotated[
        list[str],
        typer.Option(help="File, folder or pattern with the predictions; may be repeated."),
    ],
    metric: Annotated[
        list[str],
        typer.Option(help="Metric to estimate; the first decides which items are drawn."),
    ] = ["error"],  # noqa: B006
    slice_: Annotated[
        list[str],
        typer.Option(
            "--slice",
            envvar="LEVELLED_CREATE_SLICE",
            help="A column to report by; may be repeated.",
        ),
    ] = [],  # noqa: B006
    budget: Budget = None,
    looks: Looks = 5,
    guarantee: Guarantee = "asymptotic",
    target_width: TargetWidth = None,
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Seed of the draws; chosen and recorded if not given."),
    ] = None,
    classes: ClassNames = None,
    kind: Kind = "auto",
    drive: Drive = "first",
    features: Annotated[
        list[str],
        typer.Option(help="Columns to learn losses from, or a pattern such as 'f_*'; repeatable."),
    ] = [],  # noqa: B006
    score: Annotated[
        str,
        typer.Option(help="Static: interest of an item: auto, entropy, margin, ... or uniform."),
    ] = "auto",
    proposal: Annotated[
        str, typer.Option(help="Static: proportional, boltzmann:B, power:A, rank:A or uniform.")
    ] = "proportional",
    floor: Floor = 0.5,
    labelled: Annotated[
        str | None,
        typer.Option(help="A file of ids and labels: a random sample to begin with."),
    ] = None,
    model: Annotated[str, typer.Option(help="Name of the model, for tables.")] = "",
    question: Questions = [],  # noqa: B006
    guidelines: Guidelines = None,
    pair: Pair = None,
    content: Content = [],  # noqa: B006
    images: Images = None,
    lease_seconds: Annotated[int, _LEASE] = 24 * 3600,
    in_flight: Annotated[int, _IN_FLIGHT] = 200,
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Create a campaign that evaluates a model on a pool without labels."""
    import secrets

    campaign = lv.create_campaign(
        name,
        pool[0] if len(pool) == 1 else pool,
        metric,
        storage=storage,
        seed=secrets.randbits(32) if seed is None else seed,
        budget=budget,
        looks=looks,
        guarantee=guarantee,
        target_width=target_width,
        level=level,
        slices=slice_,
        classes=None if classes is None else classes.split(","),
        score=score,
        proposal=proposal,
        floor=floor,
        kind=kind,
        drive=drive,
        features=features or None,
        lease_seconds=lease_seconds,
        in_flight=in_flight,
        labelled=labelled,
        model=model,
        questions=question,
        guidelines=read_guidelines(guidelines),
        pair=() if pair is None else pair.split(","),
        content=split_content(content),
        images=images,
    )
    settings = campaign.settings
    show.tell(
        f"created {name}: {settings.pool_size} items, {', '.join(settings.metric_names)}, "
        f"{settings.kind}, seed {settings.seed}. Next: levelled ask {name}"
    )


def change(
    name: Name,
    budget: Budget = None,
    target_width: TargetWidth = None,
    lease_seconds: Annotated[int | None, _LEASE] = None,
    in_flight: Annotated[int | None, _IN_FLIGHT] = None,
    kind: Annotated[
        str | None, typer.Option(help="Way to draw the next items: adaptive, static or uniform.")
    ] = None,
    owner: Owner = None,
    storage: Storage = DEFAULT_STORAGE,
    pool: PoolFile = None,
) -> None:
    """Change the kind, the budget, the target width, the leases or the items in flight."""
    options: dict[str, Any] = {
        "kind": kind,
        "budget": budget,
        "target_width": target_width,
        "lease_seconds": lease_seconds,
        "in_flight": in_flight,
    }
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
    from levelled.campaigns.log import CampaignLog
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
    from levelled.campaigns.summary import OF_STATIC, summarise

    campaign = lv.load_campaign(name, storage=storage)
    summary = summarise(campaign.state, campaign.last_hash)
    show.keep(campaign)
    chosen = show.chosen(form)
    if chosen is Form.table:
        summary["agreement"] = campaign.agreement()
        usual: dict[str, Any] = {
            **dict.fromkeys((*OF_STATIC, "agreement")),
            "guarantee": "asymptotic",
            "drive": "first",
            **{key: [] for key in ("features", "questions", "pair")},
        }
        rows = [
            (key.removeprefix("n_"), _cell(value))
            for key, value in summary.items()
            if key not in usual or value != usual[key]
        ]
        show.show_rows("", ["", show.plain(name)], rows, figures=False)
    else:
        show.records([summary], chosen)


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
