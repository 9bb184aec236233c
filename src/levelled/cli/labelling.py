"""`levelled ask`, `tell`, `skip`, `unlabelable`, `amend`, `mine`, `return`, `open` and `undo`."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

import levelled as lv
from levelled.cli import show
from levelled.cli.show import (
    DEFAULT_STORAGE,
    Draw,
    Form,
    Format,
    Name,
    Owner,
    PoolFile,
    Raw,
    Reason,
    ScoreFiles,
    Storage,
    argument,
    flag,
)

if TYPE_CHECKING:
    from levelled.campaigns import Ask, Campaign
    from levelled.campaigns.log.state import CampaignState


def ask(
    name: Name,
    count: Annotated[int, flag("Number of items.", "-n", "--count", min=1)] = 1,
    form: Format = None,
    raw: Raw = False,
    owner: Owner = None,
    storage: Storage = DEFAULT_STORAGE,
    pool: PoolFile = None,
    scores: ScoreFiles = [],  # noqa: B006
) -> None:
    """Print the next items to label, first those that the labeller already has.

    They are kept for the labeller until the lease runs out. As csv they have a column for the
    label. Without a name of the labeller all are new.
    """
    campaign = lv.load_campaign(name, storage=storage, pool=pool, scores=scores)
    n_out = sum(one.since is not None and one.owner is None for one in campaign.open_items())
    asks = campaign.ask(count, owner=owner)
    try:
        show_asks(campaign, asks, form, raw=raw)
        sys.stdout.flush()
    except OSError:  # nobody saw them, and without a name nobody could ask for them again
        if owner is None and asks:
            campaign.give_back(draws=[one.draw for one in asks])
        raise
    if campaign.note is not None:
        show.tell(f"{len(asks)} of {count} items: {campaign.note}")
    if owner is None and n_out:
        show.tell(
            f"{n_out} items that were asked for without a name wait for a label: levelled mine "
            f"{name} prints them again"
        )


def show_asks(campaign: "Campaign", asks: "Sequence[Ask]", form: Form | None, *, raw: bool) -> None:
    """Print items to label: a table on a terminal, else JSONL by default."""
    chosen = show.chosen(form, Form.jsonl)
    if chosen is Form.table:
        rows = [(str(one.draw), show.plain(one.id), _describe(one)) for one in asks]
        title = f"To label in {campaign.name}"
        show.show_rows(title, ["draw", "id", "item"], rows, figures=False)
    elif chosen is Form.csv:  # rows to write a label into, and answers to the other questions
        blanks = dict.fromkeys(question.name for question in campaign.questions)
        taken = ("draw", "id", "answer", "lease_until", "note", *blanks)
        sheet = []
        for one in asks:
            data = {f"data.{key}" if key in taken else key: one.data[key] for key in one.data}
            sheet.append({"draw": one.draw, "id": one.id, **blanks, **data})
        show.records(sheet, chosen, raw=raw)
    else:
        show.records([asdict(one) for one in asks], chosen)


def _describe(one: "Ask") -> str:
    if len(one.data) == 1:
        return show.plain(next(iter(one.data.values())))
    return "\n".join(
        f"{show.plain(name, 40)}: {show.plain(value)}" for name, value in one.data.items()
    )


def tell(
    campaign: "Campaign",
    files: Annotated[
        list[str],
        typer.Argument(help="JSONL, CSV or Parquet with labels, by draw or id; - is stdin."),
    ],
    owner: Owner = None,
) -> None:
    """Record labels: all of them, or none if one is wrong."""
    rows = [row for file in files for row in _read_rows(file, campaign)]
    answers = [row for row in rows if row["label"] is not None]
    before = campaign.state
    n_stored = campaign.tell_all(answers, owner=owner)
    after = campaign.state
    n_new = len(after.answers.keys() - before.answers.keys())
    n_opinions = _count_opinions(after) - _count_opinions(before)
    counts = [
        (n_new, "new answer" if n_new == 1 else "new answers"),
        (len(answers) - n_stored, "already known"),
        (n_opinions, "kept as second opinions"),
        (n_stored - n_new - n_opinions, "with other notes or answers than before"),
        (len(rows) - len(answers), "without a label, passed over"),
    ]
    show.tell(", ".join(f"{n} {what}" for n, what in counts if n) or "the files have no labels")


def _count_opinions(state: "CampaignState") -> int:
    return sum(map(len, state.opinions.values()))


def _read_rows(file: str, campaign: "Campaign") -> list[dict[str, Any]]:
    """The rows of a file of answers, each with its place for messages; - is standard input."""
    source, name = (sys.stdin.buffer, "standard input") if file == "-" else (file, file)
    questions = [one.name for one in campaign.settings.questions]
    rows = []
    for row in lv.sources.read_answers(source, remarks=["note", "rubric", *questions]):
        note, rubric = row.remarks.get("note"), row.remarks.get("rubric")
        answers = {one: row.remarks[one] for one in questions if one in row.remarks}
        if isinstance(rubric, dict):  # answers are in columns, or in this object
            answers = {**rubric, **answers}
        rows.append(
            {
                "draw": row.draw,
                "id": row.id,
                "label": row.label,
                "where": f"Row {row.row} of {name}",
                "note": None if note is None else str(note),
                "rubric": answers or rubric,
            }
        )
    return rows


def skip(
    campaign: "Campaign",
    draw: Draw,
    reason: Reason = "",
    owner: Owner = None,
) -> None:
    """Pass an item on to another labeller; it keeps its number and is not dropped."""
    campaign.skip(draw, reason=reason, owner=owner)
    show.tell(f"skipped draw {draw}; another labeller will get it")


def unlabelable(
    campaign: "Campaign",
    draw: Draw,
    reason: Annotated[str, flag("Why it cannot be labelled.")],
    owner: Owner = None,
) -> None:
    """Mark an item that cannot be labelled; estimates are then over the items that can."""
    campaign.mark_unlabelable(draw, reason=reason, owner=owner)
    show.tell(f"draw {draw} cannot be labelled: {reason}")


def amend(
    campaign: "Campaign",
    what: Annotated[
        str,
        argument(
            "Number of a draw, or a file of corrections like those of tell; - is stdin.",
            metavar="DRAW|FILE",
        ),
    ],
    label: Annotated[str | None, argument("The correct label of the draw.")] = None,
    owner: Owner = None,
) -> None:
    """Replace labels, all or none; those before stay in the log and in the report."""
    if label is not None:
        if not what.isdecimal():
            raise typer.BadParameter(f"{what!r} is no number of a draw.", param_hint="DRAW")
        campaign.amend(int(what), label, owner=owner)
        show.tell(f"draw {what} is now {label}")
        return
    if what.isdecimal():
        raise typer.BadParameter(f"Draw {what} needs its correct label.", param_hint="LABEL")
    rows = [row for row in _read_rows(what, campaign) if row["label"] is not None]
    n_changed = campaign.amend_all(rows, owner=owner)
    same = len(rows) - n_changed
    labels = "1 label" if n_changed == 1 else f"{n_changed} labels"
    show.tell(f"{labels} replaced" + (f", {same} as they were" if same else ""))


def mine(campaign: "Campaign", form: Format = None, raw: Raw = False, owner: Owner = None) -> None:
    """Print the labeller's open items again, with the same numbers; their leases begin anew."""
    asks = campaign.mine(owner)
    show_asks(campaign, asks, form, raw=raw)
    if campaign.note is not None:
        show.tell(f"{len(asks)} items: {campaign.note}")
    elif not asks:
        show.tell(f"no open items {_of(owner)}")


def return_(
    campaign: "Campaign",
    draw: Annotated[
        list[int] | None, flag("Number of a draw; may be repeated. By default all.", min=1)
    ] = None,
    everyone: Annotated[
        bool, flag("Also items of other labellers, to free them.", "--all")
    ] = False,
    owner: Owner = None,
) -> None:
    """Give open items back, so that the next labeller who asks gets them."""
    draws = campaign.give_back(owner=owner, draws=draw or None, everyone=everyone)
    count = "1 item" if len(draws) == 1 else f"{len(draws)} items"
    show.tell(f"{count} returned" if draws else f"no open items {_of(owner)}")


def _of(owner: str | None) -> str:
    return "of labellers without a name" if owner is None else f"of {owner}"


def open_(campaign: "Campaign", form: Format = None) -> None:
    """List the items that wait for a label: who has them, since when and until when."""
    items = [asdict(one) for one in campaign.open_items()]
    rows = [[show.plain(value) for value in one.values()] for one in items]
    columns = ["draw", "id", "labeller", "since", "until"]
    title = f"Open items of {campaign.name}"
    show.data(form, items, lambda: show.show_rows(title, columns, rows, figures=False))


def undo(campaign: "Campaign", owner: Owner = None) -> None:
    """Withdraw the labeller's last label, amendment or mark of an unlabelable item."""
    draw = campaign.undo(owner=owner)
    state = campaign.state
    if draw in state.unlabelable:
        now = "is unlabelable again"
    elif draw in state.answers:
        now = f"is {state.answers[draw].label}"
    else:
        now = "is open again"
    show.tell(f"undone: draw {draw} (item {state.draws[draw - 1].id}) {now}")
