"""`levelled audit`, `export` and `storage`: what is on record, and where."""

from pathlib import Path
from typing import Annotated

import typer

from levelled.cli.options import DEFAULT_STORAGE, Name, PoolFile, Storage

__all__ = ["audit", "export", "storage_app"]

storage_app = typer.Typer(
    help="Bring a storage to this version, or copy it to another.", no_args_is_help=True
)


def audit(name: Name, storage: Storage = DEFAULT_STORAGE, pool: PoolFile = None) -> None:
    """Recompute draws, probabilities and estimates from the log; say ok, or where they differ."""
    from levelled.campaigns import audit as audited
    from levelled.campaigns import load_campaign, open_store
    from levelled.cli.show import plain

    campaign = load_campaign(name, storage=storage, pool=pool)
    with open_store(storage, create=False) as store:
        problems = audited(campaign, store)
    for problem in problems:
        typer.echo(plain(problem, 1000))
    if problems:
        raise typer.Exit(1)
    typer.echo("ok")


def export(
    name: Name,
    out: Annotated[Path, typer.Option(help="A file ending in .parquet, .csv or .jsonl.")],
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Write draws, labels, predictions and training weights to a file."""
    from levelled.campaigns import load_campaign
    from levelled.cli.show import tell

    load_campaign(name, storage=storage).export(out)
    tell(f"written: {out}")


@storage_app.command()
def upgrade(storage: Storage = DEFAULT_STORAGE) -> None:
    """Bring a database of an older version to the current one."""
    from levelled.campaigns import upgrade as upgraded
    from levelled.cli.show import tell

    before, after = upgraded(storage)
    done = "is of the current version" if before == after else f"upgraded from {before}"
    tell(f"{storage} {done}: {after}")


@storage_app.command()
def copy(
    source: Annotated[str, typer.Argument(help="The storage to read.", show_default=False)],
    target: Annotated[str, typer.Argument(help="The storage to write.", show_default=False)],
) -> None:
    """Copy all campaigns to another storage, event by event, with the same hashes."""
    from levelled.campaigns import copy as copied
    from levelled.cli.show import tell

    names = copied(source, target)
    tell(f"copied: {', '.join(names)}" if names else "nothing to copy: all is there already")
