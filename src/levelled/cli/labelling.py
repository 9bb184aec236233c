"""`levelled ask`, `tell`, `skip`, `resolve` and `amend`: items go out, labels come in."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from levelled.cli.options import DEFAULT_STORAGE, Draw, Form, Format, Name, Owner, PoolFile, Storage

if TYPE_CHECKING:
    from levelled.campaigns import Ask, Campaign
    from levelled.sources import AnswerRow

__all__ = ["amend", "ask", "resolve", "skip", "tell"]

_OF_A_LABEL = ("draw", "id", "label", "answer", "lease_until")


def ask(
    name: Name,
    count: Annotated[int, typer.Option("-n", "--count", min=1, help="How many items.")] = 1,
    form: Format = None,
    owner: Owner = None,
    storage: Storage = DEFAULT_STORAGE,
    pool: PoolFile = None,
) -> None:
    """Print the next items to label.

    They are kept for the owner until the lease runs out. As csv they have a column for the label.
    """
    from levelled.campaigns import load_campaign
    from levelled.cli import show

    campaign = load_campaign(name, storage=storage, pool=pool)
    asks = campaign.ask(count, owner=owner)
    wanted = show.chosen(form, Form.jsonl)
    if wanted is Form.table:
        rows = [(str(one.draw), show.plain(one.id), _described(one)) for one in asks]
        show.show_rows(f"To label in {name}", ["draw", "id", "item"], rows, figures=False)
    else:
        show.records([_sheet(one) if wanted is Form.csv else _item(one) for one in asks], wanted)
    if campaign.note is not None:
        show.tell(f"{len(asks)} of {count} items: {campaign.note}")


def tell(
    name: Name,
    files: Annotated[
        list[str],
        typer.Argument(help="JSONL, CSV or Parquet with labels, by draw or id; - is stdin."),
    ],
    owner: Owner = None,
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Record labels: all that are given, or none if one of them is wrong."""
    from levelled.campaigns import load_campaign
    from levelled.cli import show
    from levelled.sources import read_answers

    campaign = load_campaign(name, storage=storage)
    told: list[AnswerRow] = []
    waiting = 0
    for file in files:
        found = read_answers(sys.stdin.buffer if file == "-" else file)
        given = [answer for answer in found if answer.label is not None]
        _check(campaign, given, "standard input" if file == "-" else file, owner)
        told.extend(given)
        waiting += len(found) - len(given)
    before = campaign.state.answers
    stored = campaign.tell_all([_row(answer) for answer in told], owner=owner)
    new = len(campaign.state.answers.keys() - before.keys())
    counts = [
        (new, "new"),
        (len(told) - stored, "already known"),
        (stored - new, "kept as second opinions"),
        (waiting, "without a label, passed over"),
    ]
    show.tell(", ".join(f"{n} {what}" for n, what in counts if n) or "no labels were given")


def skip(
    name: Name,
    draw: Draw,
    reason: Annotated[str, typer.Option(help="Why.")] = "",
    owner: Owner = None,
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Pass an item on to somebody else; it keeps its number and is not dropped."""
    from levelled.campaigns import load_campaign
    from levelled.cli import show

    load_campaign(name, storage=storage).skip(draw, reason=reason, owner=owner)
    show.tell(f"skipped draw {draw}; somebody else will be asked")


def resolve(
    name: Name,
    draw: Draw,
    reason: Annotated[str, typer.Option(help="Why it cannot be labelled.")],
    owner: Owner = None,
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Declare that an item cannot be labelled; estimates are then over what can be."""
    from levelled.campaigns import load_campaign
    from levelled.cli import show

    load_campaign(name, storage=storage).resolve(draw, reason=reason, owner=owner)
    show.tell(f"draw {draw} cannot be labelled: {reason}")


def amend(
    name: Name,
    draw: Draw,
    label: Annotated[str, typer.Argument(help="What it should have been.", show_default=False)],
    owner: Owner = None,
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Replace an answer; the one before stays in the log and in the report."""
    from levelled.campaigns import load_campaign
    from levelled.cli import show

    load_campaign(name, storage=storage).amend(draw, label, owner=owner)
    show.tell(f"draw {draw} is now {label}")


def _item(one: "Ask") -> dict[str, Any]:
    return {
        "draw": one.draw,
        "id": one.id,
        "data": dict(one.data),
        "lease_until": one.lease_until,
    }


def _sheet(one: "Ask") -> dict[str, Any]:
    """An item as a row that a label can be written into."""
    data = {
        f"data.{name}" if name in _OF_A_LABEL else name: value for name, value in one.data.items()
    }
    return {"draw": one.draw, "id": one.id, "label": None, **data}


def _described(one: "Ask") -> str:
    from levelled.cli.show import plain

    if len(one.data) == 1:
        return plain(next(iter(one.data.values())))
    return "\n".join(f"{plain(name, 40)}: {plain(value)}" for name, value in one.data.items())


def _row(answer: "AnswerRow") -> dict[str, Any]:
    return {"draw": answer.draw, "id": answer.id, "label": answer.label}


def _check(
    campaign: "Campaign", answers: "Sequence[AnswerRow]", source: str, owner: str | None
) -> None:
    """Name the first row that cannot be told, before anything is stored."""
    from datetime import UTC, datetime

    from levelled.campaigns import decide
    from levelled.errors import CampaignError, LevelledError

    state, now = campaign.state, datetime.now(UTC)
    for answer in answers:
        try:
            item = decide.find_draw(state, draw=answer.draw, id=answer.id)
            decide.tell(state, item, answer.label, owner, now)
        except LevelledError as wrong:
            raise CampaignError(
                f"Row {answer.row} of {source}: {wrong} Nothing was stored."
            ) from wrong
