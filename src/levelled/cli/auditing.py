"""`levelled audit`: check a campaign, compare a hash that was kept, sign the log."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import levelled as lv
from levelled.cli import show
from levelled.cli.options import DEFAULT_STORAGE, Name, PoolFile, ScoreFiles, Storage

if TYPE_CHECKING:
    from levelled.campaigns import Audit


def audit(
    name: Name,
    expect: Annotated[
        str | None,
        typer.Option(help="Hash of an event that was noted earlier, or its first 12 digits."),
    ] = None,
    sign: Annotated[
        Path | None,
        typer.Option(help="Private key (Ed25519, PEM) to sign the log with, if the audit passes."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The file that --sign writes; by default audit.json.")
    ] = None,
    verify: Annotated[
        Path | None, typer.Option(help="A file that --sign wrote, to compare the log with.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="Public key (Ed25519, PEM) of the file for --verify.")
    ] = None,
    storage: Storage = DEFAULT_STORAGE,
    pool: PoolFile = None,
    scores: ScoreFiles = [],  # noqa: B006
) -> None:
    """Compute again all that log and pool determine; print ok and the last hash, or differences."""
    from levelled.campaigns.log.signing import LogEnd, read_signature, write_signature

    if (verify is None) != (key is None):
        raise typer.BadParameter("--verify needs the public key (--key), and --key a file.")
    if out is not None and sign is None:
        raise typer.BadParameter("--out is for the signature, and needs a key (--sign).")
    if verify is not None and expect is not None:
        raise typer.BadParameter("Name a hash with --expect or a file with --verify, not both.")
    signed = None if verify is None or key is None else read_signature(verify, key)
    campaign = lv.load_campaign(name, storage=storage, pool=pool, scores=scores)
    result = campaign.audit(expect=expect if signed is None else signed.last_hash)
    if signed is not None and result.since != result.n_events - signed.n_events:
        result.append(
            f"the signature is of {signed.campaign!r} after {signed.n_events:,} events, and not of "
            f"this log"
        )
    _show(result)
    if sign is not None:
        written = out or Path("audit.json")
        write_signature(LogEnd(name, result.n_events, result.last_hash), sign, written)
        show.tell(f"signed: {written}")


def _show(result: "Audit") -> None:
    """Print the differences and end with 1, or print ok and the last hash."""
    for note in result.notes:
        show.tell(f"not checked: {note}")
    for difference in result:
        typer.echo(show.plain(difference, 1000))
    if result:
        raise typer.Exit(1)
    typer.echo(f"ok: {result.n_events:,} events, last {result.last_hash}")
    if result.since:
        unchanged = result.n_events - result.since
        typer.echo(f"events up to {unchanged:,} unchanged, {result.since:,} more since")
