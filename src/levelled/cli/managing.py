"""`levelled change`, `attach`, `storage`, `doctor` and `trust`."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import click

import levelled as lv
from levelled.campaigns.options import OPTIONS
from levelled.cli import show
from levelled.cli.options import (
    DEFAULT_STORAGE,
    Format,
    Opened,
    OpenedWithPool,
    Owner,
    Storage,
    argument,
    choose_one,
    flag,
    make_group,
    refuse,
    takes,
)

_WHOLE = "The campaign as a whole"


@takes(*(one for one in OPTIONS.values() if one.changeable), unset=True)
def change(
    campaign: OpenedWithPool,
    close: Annotated[
        bool, flag("End it: no more labels; its estimates remain.", panel=_WHOLE)
    ] = False,
    reason: Annotated[str, flag("Why it is closed, for the record.", panel=_WHOLE)] = "finished",
    reopen: Annotated[bool, flag("Let it go on after --close.", panel=_WHOLE)] = False,
    rename: Annotated[
        str | None, flag("Give it another name.", metavar="NAME", panel=_WHOLE)
    ] = None,
    delete: Annotated[
        bool, flag("Delete it for good; asks for its name first.", panel=_WHOLE)
    ] = False,
    yes: Annotated[bool, flag("Do not ask for the name.", panel=_WHOLE)] = False,
    owner: Owner = None,
    **options: Any,  # noqa: ANN401
) -> None:
    """Change, close, reopen, rename or delete a campaign."""
    changes = {option: value for option, value in options.items() if value is not None}
    action = choose_one(close=close, reopen=reopen, rename=rename, delete=delete)
    if action:
        refuse(f"does not go with --{action}", *changes, "pool")
    for what, of in {"reason": "close", "yes": "delete"}.items():
        if action != of:
            refuse(f"goes only with --{of}", what)
    if not action and not changes:
        refuse("goes only with a change, such as --kind static", "pool")
        raise click.UsageError("Nothing to change: name at least one option, such as --budget.")
    name = campaign.name
    if close:
        campaign.close(reason=reason, owner=owner)
        show.tell(f"closed {name}: {reason}")
    elif reopen:
        campaign.reopen(owner=owner)
        show.tell(f"reopened {name}. Next: levelled ask {name}")
    elif rename is not None:
        campaign.rename(rename, owner=owner)
        show.tell(f"{name} is now {rename}")
    elif delete:
        _delete(campaign, sure=yes)
    else:
        _change(campaign, changes, owner)


def _change(campaign: "lv.Campaign", changes: dict[str, Any], owner: str | None) -> None:
    before = campaign.settings.kind
    campaign.change(owner=owner, **changes)
    listed = ", ".join(f"{option} {value}" for option, value in changes.items())
    show.tell(f"changed {campaign.name}: {listed}")
    if campaign.note is not None:
        show.tell(f"note: {campaign.note}")
    after = campaign.settings.kind
    if before != after and "adaptive" in (before, after) and campaign.state.n_asked:
        show.tell(
            "once items of both kinds are labelled, estimates are R_LURE without the predictor, "
            "unbiased as before but wider than those of an adaptive campaign"
        )


def _delete(campaign: "lv.Campaign", *, sure: bool) -> None:
    name = campaign.name
    if not sure:
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


def attach(
    campaign: Opened,
    predictions: Annotated[Path | None, flag("File with another model's predictions.")] = None,
    model: Annotated[str | None, flag("Name of the other model.")] = None,
    predictor: Annotated[
        Path | None,
        flag(
            "File of ids with a column loss_hat or columns surrogate_<class>: the predicted losses "
            "that guide the draws from the next item on."
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        flag(
            "File of ids and labels that you have already, however the items were chosen: they "
            "count as they are and are not drawn any more."
        ),
    ] = None,
    owner: Owner = None,
) -> None:
    """Add predictions or known labels, or replace the predictor."""
    name = campaign.name
    if labels is not None:
        refuse("does not go with --labels", "predictions", "model", "predictor")
        count = campaign.attach_labels(str(labels), owner=owner)
        if campaign.note is not None:
            show.tell(f"note: {campaign.note}")
        show.tell(f"{name} knows {count} more labels. Next: levelled ask {name}")
        return
    if predictor is not None:
        refuse("does not go with --predictor", "predictions", "model")
        campaign.rescore(str(predictor), owner=owner)
        show.tell(f"replaced the predictor of {name} by {predictor}. Next: levelled ask {name}")
        return
    if predictions is None or model is None:
        raise click.UsageError("Name --predictions with --model, --labels, or --predictor.")
    campaign.attach(str(predictions), model)
    show.tell(f"attached {model} to {name}. Next: levelled estimate {name}")


def upgrade(storage: Storage = DEFAULT_STORAGE) -> None:
    """Upgrade a database of an older version to the current one."""
    before, after, kept = lv.campaigns.upgrade(storage)
    if kept is not None:
        show.tell(f"a backup of version {before} is in {kept}")
    outcome = "is of the current version" if before == after else f"upgraded from {before}"
    show.tell(f"{lv.campaigns.place_of(storage)} {outcome}: {after}")


def backup(
    source: Annotated[str, argument("The storage to read.")],
    file: Annotated[str, argument("The new SQLite file to write.")],
) -> None:
    """Write a storage to a new file, also while others use it and before an upgrade."""
    show.tell(f"written: {lv.campaigns.backup(source, file)}")


def copy(
    source: Annotated[str, argument("The storage to read.")],
    target: Annotated[str, argument("The storage to write.")],
) -> None:
    """Copy all campaigns to another storage, event by event, with the same hashes.

    Run it again to copy what has been added since.
    """
    names = lv.campaigns.copy(source, target)
    show.tell(f"copied: {', '.join(names)}" if names else "nothing to copy: all is there already")


storage = make_group("Back up, copy or upgrade a storage.", upgrade, backup, copy)


def doctor(form: Format = None, storage: Storage = DEFAULT_STORAGE) -> None:
    """Show versions, extras and the state of the storage.

    The exit code is 1 if the storage does not open.
    """
    import platform

    opens, state = True, "not there yet; the first levelled create makes it"
    if storage != DEFAULT_STORAGE or Path("levelled.db").exists():
        try:
            with lv.campaigns.open_store(storage, create=False) as store:
                state = f"opens, {len(store.names())} campaigns"
        except lv.errors.LevelledError as refused:
            opens, state = False, str(refused)
    parts: dict[str, Any] = {
        "python": platform.python_version(),
        "levelled": lv.__version__,
        **dict(_requirements()),
        "storage": f"{lv.campaigns.place_of(storage)}: {state}",
    }
    rows = [(name, show.plain(value)) for name, value in parts.items()]
    columns = ["part", "version or state"]
    show.data(form, [parts], lambda: show.show_rows("", columns, rows, figures=False))
    if not opens:
        raise click.exceptions.Exit(1)


_REQUIREMENT = re.compile(
    r"""(?P<name>[\w.-]+)(\[.*\])?\s*(>=(?P<least>[\d.]+))?.*?(extra == ['"](?P<extra>.+)['"])?"""
)


def _requirements() -> Iterator[tuple[str, str]]:
    """The packages that this one says it needs, or may use, each with its version."""
    from importlib.metadata import PackageNotFoundError, requires, version

    for text in requires("levelled") or ():
        match = _REQUIREMENT.fullmatch(text)
        if match is None or match["name"] == "levelled" or match["extra"] == "dev":
            continue  # a list of extras, or a tool of those who work on Levelled
        name, least, extra = match["name"], match["least"], match["extra"]
        install = f"pip install '{f'levelled[{extra}]' if extra else text}'"
        try:
            there = version(name)
        except PackageNotFoundError:
            yield name, f"not installed: {install}"
        else:
            old = least is not None and _numbers(there) < _numbers(least)
            yield name, f"{there} is older than {least}: {install}" if old else there


def _numbers(version: str) -> list[int]:
    """A version as numbers that can be compared.

    >>> _numbers("2.10.0rc1") > _numbers("2.9")
    True
    """
    return [int(part) for part in re.findall(r"\d+", version)]


def trust(
    module: Annotated[
        str, argument("The module as a metric names it: package.module, without the function.")
    ],
) -> None:
    """Approve the code of a module that a metric of your own names.

    Read its file first. Until it is approved, and again after each change of it, nothing of it is
    run. A campaign that you create yourself approves the modules that you name.
    """
    from levelled.campaigns.trust import approvals_path, approve

    for source in approve(module.partition(":")[0]):
        click.echo(f"approved: {source.module} {source.path} sha256 {source.sha256}")
    show.tell(f"approvals are in {approvals_path()}; delete a line to take one back")
