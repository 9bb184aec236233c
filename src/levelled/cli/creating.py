"""`levelled create`, `change`, `attach` and `close`: a campaign begins, changes and ends."""

from pathlib import Path
from typing import Annotated, Any

import typer

from levelled.cli.options import DEFAULT_STORAGE, Name, Owner, Storage

__all__ = ["attach", "change", "close", "create"]

_YEAR = 366 * 24 * 3600


def create(
    name: Name,
    pool: Annotated[
        list[str],
        typer.Option(help="File, folder or pattern with the predictions; may be repeated."),
    ],
    metric: Annotated[
        list[str],
        typer.Option(help="What to estimate; the first decides which items are drawn."),
    ] = ["error"],  # noqa: B006
    slice_: Annotated[
        list[str],
        typer.Option(
            "--slice",
            envvar="LEVELLED_CREATE_SLICE",
            help="A column to report by; may be repeated.",
        ),
    ] = [],  # noqa: B006
    budget: Annotated[int | None, typer.Option(min=1, help="The most labels to ask for.")] = None,
    target_width: Annotated[
        float | None, typer.Option(help="How narrow the first metric's interval should become.")
    ] = None,
    level: Annotated[float, typer.Option(help="How often an interval must hold.")] = 0.95,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Where the randomness starts; chosen and kept if not given."),
    ] = None,
    classes: Annotated[
        str | None, typer.Option(help="The classes, as a,b,c, where no columns name them.")
    ] = None,
    score: Annotated[
        str,
        typer.Option(help="Which items are of interest: auto, entropy, margin, ... or uniform."),
    ] = "auto",
    proposal: Annotated[
        str, typer.Option(help="proportional, boltzmann:B, power:A, rank:A or uniform.")
    ] = "proportional",
    floor: Annotated[float, typer.Option(help="The share of draws made uniformly.")] = 0.5,
    labelled: Annotated[
        str | None,
        typer.Option(help="A file of ids and labels: a random sample to begin with."),
    ] = None,
    lease_seconds: Annotated[
        int,
        typer.Option(min=1, max=_YEAR, help="How long an item is kept for whom it was given to."),
    ] = 24 * 3600,
    in_flight: Annotated[int, typer.Option(min=1, help="The most items out at once.")] = 200,
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Begin to evaluate a model on a pool that nobody has labelled."""
    import secrets

    from levelled.campaigns import create_campaign
    from levelled.cli.show import tell

    campaign = create_campaign(
        name,
        pool[0] if len(pool) == 1 else pool,
        metric,
        storage=storage,
        seed=secrets.randbits(32) if seed is None else seed,
        budget=budget,
        target_width=target_width,
        level=level,
        slices=slice_,
        classes=None if classes is None else classes.split(","),
        score=score,
        proposal=proposal,
        floor=floor,
        lease_seconds=lease_seconds,
        in_flight=in_flight,
        labelled=labelled,
    )
    settings = campaign.settings
    tell(
        f"created {name}: {settings.pool_size} items, {', '.join(settings.metrics)}, "
        f"seed {settings.seed}. Now: levelled ask {name}"
    )


def change(
    name: Name,
    budget: Annotated[int | None, typer.Option(min=1, help="The most labels to ask for.")] = None,
    target_width: Annotated[
        float | None, typer.Option(help="How narrow the first metric's interval should become.")
    ] = None,
    lease_seconds: Annotated[
        int | None, typer.Option(min=1, max=_YEAR, help="How long an item is kept for its owner.")
    ] = None,
    in_flight: Annotated[
        int | None, typer.Option(min=1, help="The most items out at once.")
    ] = None,
    owner: Owner = None,
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Change the budget of a campaign, its target width, its leases or its items in flight."""
    from levelled.campaigns import load_campaign
    from levelled.cli.show import tell

    wanted: dict[str, Any] = {
        "budget": budget,
        "target_width": target_width,
        "lease_seconds": lease_seconds,
        "in_flight": in_flight,
    }
    given = {option: value for option, value in wanted.items() if value is not None}
    if not given:
        raise typer.BadParameter("Nothing to change: name at least one option, such as --budget.")
    load_campaign(name, storage=storage).change(owner=owner, **given)
    tell(f"changed {name}: {', '.join(f'{option} {value}' for option, value in given.items())}")


def attach(
    name: Name,
    predictions: Annotated[Path, typer.Option(help="The other model's predictions, by id.")],
    model: Annotated[str, typer.Option(help="What to call it.")],
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Estimate another model from the labels that are already there."""
    from levelled.campaigns import load_campaign
    from levelled.cli.show import tell

    load_campaign(name, storage=storage).attach(str(predictions), model)
    tell(f"attached {model} to {name}. Now: levelled estimate {name}")


def close(
    name: Name,
    reason: Annotated[str, typer.Option(help="Why it ends.")] = "finished",
    owner: Owner = None,
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """End a campaign: nothing is asked or told any more, its estimates remain."""
    from levelled.campaigns import load_campaign
    from levelled.cli.show import tell

    load_campaign(name, storage=storage).close(reason=reason, owner=owner)
    tell(f"closed {name}: {reason}")
