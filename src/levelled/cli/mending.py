"""`levelled mine`, `return`, `open`, `undo`, `reopen`, `rename` and `delete`."""

import sys
from dataclasses import asdict
from typing import Annotated

import typer

import levelled as lv
from levelled.cli import show
from levelled.cli.labelling import show_asks
from levelled.cli.options import (
    DEFAULT_STORAGE,
    Form,
    Format,
    Name,
    NewName,
    Owner,
    Raw,
    Storage,
)


def mine(
    name: Name,
    form: Format = None,
    raw: Raw = False,
    owner: Owner = None,
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Print the labeller's open items again, with the same numbers; their leases begin anew."""
    campaign = lv.load_campaign(name, storage=storage)
    asks = campaign.mine(owner)
    show_asks(campaign, asks, form, raw=raw)
    if campaign.note is not None:
        show.tell(f"{len(asks)} items: {campaign.note}")
    elif not asks:
        show.tell(f"no open items {_of(owner)}")


def return_(
    name: Name,
    draw: Annotated[
        list[int] | None,
        typer.Option(min=1, help="Number of a draw; may be repeated. By default all."),
    ] = None,
    everyone: Annotated[
        bool, typer.Option("--all", help="Also items of other labellers, to free them.")
    ] = False,
    owner: Owner = None,
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Give open items back, so that the next labeller who asks gets them."""
    campaign = lv.load_campaign(name, storage=storage)
    draws = campaign.give_back(owner=owner, draws=draw or None, everyone=everyone)
    count = "1 item" if len(draws) == 1 else f"{len(draws)} items"
    show.tell(f"{count} returned" if draws else f"no open items {_of(owner)}")


def _of(owner: str | None) -> str:
    return "of labellers without a name" if owner is None else f"of {owner}"


def open_(name: Name, form: Format = None, storage: Storage = DEFAULT_STORAGE) -> None:
    """List the items that wait for a label: who has them, since when and until when."""
    items = lv.load_campaign(name, storage=storage).open_items()
    chosen = show.chosen(form)
    if chosen is Form.table:
        rows = [
            (str(one.draw), *map(show.plain, (one.id, one.owner, one.since, one.until)))
            for one in items
        ]
        columns = ["draw", "id", "labeller", "since", "until"]
        show.show_rows(f"Open items of {name}", columns, rows, figures=False)
    else:
        show.records([asdict(one) for one in items], chosen)


def undo(name: Name, owner: Owner = None, storage: Storage = DEFAULT_STORAGE) -> None:
    """Withdraw the labeller's last label, amendment or mark of an unlabelable item."""
    campaign = lv.load_campaign(name, storage=storage)
    draw = campaign.undo(owner=owner)
    state = campaign.state
    if draw in state.unlabelable:
        now = "is unlabelable again"
    elif draw in state.answers:
        now = f"is {state.answers[draw].label}"
    else:
        now = "is open again"
    show.tell(f"undone: draw {draw} (item {state.draws[draw - 1].id}) {now}")


def reopen(name: Name, owner: Owner = None, storage: Storage = DEFAULT_STORAGE) -> None:
    """Let a closed campaign go on."""
    lv.load_campaign(name, storage=storage).reopen(owner=owner)
    show.tell(f"reopened {name}. Next: levelled ask {name}")


def rename(
    name: Name, new_name: NewName, owner: Owner = None, storage: Storage = DEFAULT_STORAGE
) -> None:
    """Give a campaign another name; the log records it."""
    lv.load_campaign(name, storage=storage).rename(new_name, owner=owner)
    show.tell(f"{name} is now {new_name}")


def delete(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for the name first.")] = False,
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Delete a campaign with all its labels for good; asks for its name first."""
    campaign = lv.load_campaign(name, storage=storage)
    if not yes:
        if sys.stdin.isatty():
            n = len(campaign.state.answers)
            labels = "1 label" if n == 1 else f"{n} labels"
            show.tell(f"this deletes {labels} for good. Type the name {name} to confirm:")
        if sys.stdin.readline().strip() != name:
            raise lv.errors.CampaignError(
                f"{name!r} was not deleted: type its name to confirm, or give --yes."
            )
    campaign.delete()
    show.tell(f"deleted {name}")
