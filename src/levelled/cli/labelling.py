"""`levelled ask`, `tell` and `open`."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import click

import levelled as lv
from levelled.cli import show
from levelled.cli.options import (
    Form,
    Opened,
    OpenedWithFiles,
    Owner,
    Raw,
    Reason,
    argument,
    choose_one,
    flag,
    format_flag,
    refuse,
)

if TYPE_CHECKING:
    from levelled.campaigns import Ask, Campaign
    from levelled.campaigns.log.state import CampaignState


_Actor = dict[str, str | None]
"""The owner, and the labeller on whose behalf an analyst acts."""


def ask(
    campaign: OpenedWithFiles,
    count: Annotated[int, flag("Number of items.", "-n", "--count", min=1)] = 1,
    form: Annotated[Form | None, format_flag("jsonl")] = None,
    raw: Raw = False,
    owner: Owner = None,
) -> None:
    """Print the next items to label and keep them for the labeller.

    Items that the labeller already has come first. The lease ends by itself. As csv they have a
    column for the label. Without a name of the labeller all are new.
    """
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
            f"{n_out} items that were asked for without a name wait for a label: levelled open "
            f"{campaign.name} --mine prints them again"
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
        taken = {"draw", "id", "answer", "lease_until", "note", *map(str.casefold, blanks)}
        sheet = []
        for one in asks:
            data = {
                f"data.{key}" if key.strip().casefold() in taken else key: value
                for key, value in one.data.items()
            }
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
    campaign: Opened,
    what: Annotated[
        list[str],
        argument(
            "Files with labels, by draw or id (- is stdin), in any format of a pool; or the number "
            "of a draw, and its label.",
            metavar="FILE...|DRAW [LABEL]",
        ),
    ] = [],  # noqa: B006
    amend: Annotated[
        bool, flag("Replace labels; those before stay in the log and in the report.")
    ] = False,
    skip: Annotated[
        bool, flag("Pass the draw on to another labeller; it keeps its number.")
    ] = False,
    unlabelable: Annotated[
        bool, flag("Nobody can label the draw; estimates are over the items that can.")
    ] = False,
    undo: Annotated[
        bool, flag("Withdraw the labeller's last label, amendment or unlabelable mark.")
    ] = False,
    behalf: Annotated[
        str | None,
        flag(
            "Name of the labeller whose label or step it is, where you enter it as an analyst; the "
            "log names both of you.",
            "--for",
        ),
    ] = None,
    reason: Reason = None,
    label_column: Annotated[str | None, flag("Column of labels in files, if not label.")] = None,
    id_column: Annotated[str, flag("Column of ids in files.")] = "id",
    owner: Owner = None,
) -> None:
    """Record labels: all of them, or none if one is wrong.

    A number is a draw; any other word is a file. Labels without a name of the labeller are of those
    who have the items.
    """
    action = choose_one(amend=amend, skip=skip, unlabelable=unlabelable, undo=undo)
    if action not in ("skip", "unlabelable"):
        refuse("goes only with --skip and --unlabelable", "reason")
    actor: _Actor = {"owner": owner, "on_behalf_of": behalf}
    columns = {"label_column": label_column, "id_column": id_column}
    if action in ("skip", "unlabelable", "undo"):
        refuse("is of files", "label_column", "id_column")
    if undo:
        if what:
            raise click.UsageError("--undo takes no file and no draw.")
        _undo(campaign, actor)
    elif skip or unlabelable:
        _set_aside(campaign, _draw_of(what, action), reason, actor, for_good=unlabelable)
    elif amend:
        _amend(campaign, _read_all(what, campaign, columns), actor)
    else:
        _tell(campaign, _read_all(what, campaign, columns), actor)


def _tell(campaign: "Campaign", rows: list[dict[str, Any]], actor: _Actor) -> None:
    answers = [row for row in rows if row["label"] is not None]
    before = campaign.state
    n_stored = campaign.tell_all(answers, **actor)
    after, why_late = campaign.state, campaign.note
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
    if why_late is not None:
        show.tell(why_late)


def _count_opinions(state: "CampaignState") -> int:
    return sum(map(len, state.opinions.values()))


def _amend(campaign: "Campaign", rows: list[dict[str, Any]], actor: _Actor) -> None:
    answers = [row for row in rows if row["label"] is not None]
    n_changed = campaign.amend_all(answers, **actor)
    same = len(answers) - n_changed
    labels = "1 label" if n_changed == 1 else f"{n_changed} labels"
    show.tell(f"{labels} replaced" + (f", {same} as they were" if same else ""))
    if campaign.note is not None:
        show.tell(campaign.note)


def _set_aside(
    campaign: "Campaign", draw: int, reason: str | None, actor: _Actor, *, for_good: bool
) -> None:
    if not for_good:
        campaign.skip(draw, reason=reason or "", **actor)
        show.tell(f"skipped draw {draw}; another labeller will get it")
        return
    if reason is None:
        raise click.UsageError("--unlabelable needs --reason: say why nobody can label it.")
    campaign.mark_unlabelable(draw, reason=reason, **actor)
    show.tell(f"draw {draw} cannot be labelled: {reason}")


def _undo(campaign: "Campaign", actor: _Actor) -> None:
    draw = campaign.undo(owner=actor["owner"], on_behalf_of=actor["on_behalf_of"])
    state = campaign.state
    if draw in state.unlabelable:
        now = "is unlabelable again"
    elif draw in state.answers:
        now = f"is {state.answers[draw].label}"
    else:
        now = "is open again"
    show.tell(f"undone: draw {draw} (item {state.draws[draw - 1].id}) {now}")


def _draw_of(what: list[str], action: str) -> int:
    """The draw that is alone named on the command line."""
    if len(what) != 1 or not what[0].isdecimal():
        raise click.UsageError(f"--{action} needs the number of one draw, and nothing else.")
    return int(what[0])


def _read_all(
    what: list[str], campaign: "Campaign", columns: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The answers of some files, or the one that the words are."""
    if not what:
        raise click.UsageError("Name a file of labels, or a draw and its label.")
    first, *rest = what
    if not first.isdecimal():
        return [row for file in what for row in _read_rows(file, campaign, columns)]
    refuse("is of files", "label_column", "id_column")
    if len(rest) != 1:
        raise click.UsageError(f"Draw {first} needs one label: levelled tell NAME {first} LABEL.")
    return [{"draw": int(first), "label": rest[0]}]


def _read_rows(file: str, campaign: "Campaign", columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of a file of answers, each with its place for messages; - is standard input."""
    source, name = (sys.stdin.buffer, "standard input") if file == "-" else (file, file)
    questions = [one.name for one in campaign.settings.questions]
    rows = []
    remarks = ["note", "rubric", *questions]
    for row in lv.sources.read_answers(source, remarks=remarks, **columns):
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


def open_(
    campaign: Opened,
    mine: Annotated[
        bool, flag("Print the labeller's items again; their leases begin anew.")
    ] = False,
    give_back: Annotated[
        bool, flag("Give the labeller's items back, for whoever asks next.", "--return")
    ] = False,
    draw: Annotated[
        list[int], flag("Number of a draw to return; may be repeated. By default all.", min=1)
    ] = [],  # noqa: B006
    everyone: Annotated[
        bool, flag("Also return items of other labellers, to free them.", "--all")
    ] = False,
    form: Annotated[Form | None, format_flag("json or, with --mine, jsonl")] = None,
    raw: Raw = False,
    owner: Owner = None,
) -> None:
    """List the items that wait for a label, with those who have them.

    To take over the items of somebody else: levelled open NAME --return --all, then levelled ask.
    """
    choose_one(**{"mine": mine, "return": give_back})
    if not give_back:
        refuse("needs --return", "draw", "all")
    if give_back:
        refuse("does not go with --return", "format", "raw")
        draws = campaign.give_back(owner=owner, draws=draw or None, everyone=everyone)
        count = "1 item" if len(draws) == 1 else f"{len(draws)} items"
        show.tell(
            f"{count} returned" if draws else f"no open items{'' if everyone else _of(owner)}"
        )
    elif mine:
        asks = campaign.mine(owner)
        show_asks(campaign, asks, form, raw=raw)
        if campaign.note is not None:
            show.tell(f"{len(asks)} items: {campaign.note}")
        elif not asks:
            show.tell(f"no open items{_of(owner)}")
    else:
        items = [asdict(one) for one in campaign.open_items()]
        rows = [[show.plain(value) for value in one.values()] for one in items]
        columns = ["draw", "id", "labeller", "since", "until"]
        title = f"Open items of {campaign.name}"
        show.data(form, items, lambda: show.show_rows(title, columns, rows, figures=False))
        show.tell_waiting(campaign)


def _of(owner: str | None) -> str:
    return " of labellers without a name" if owner is None else f" of {owner}"
