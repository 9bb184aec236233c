"""Commands about whole campaigns, their storage, and the web page with those who may use it."""

import secrets
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

import levelled as lv
from levelled._optional import optional
from levelled.campaigns.options import DEFAULT_STORAGE, GROUPS, OPTIONS
from levelled.cli import show
from levelled.cli.show import (
    Form,
    Format,
    Name,
    NewName,
    Owner,
    PoolFile,
    Reason,
    Storage,
    argument,
    flag,
    takes,
)

PORT = 8765
token_app = typer.Typer(help="Links for labellers and analysts.", no_args_is_help=True)
storage_app = typer.Typer(help="Back up, copy or upgrade a storage.", no_args_is_help=True)
_NEEDED = ("numpy", "scipy", "pyarrow", "typer", "rich", "jinja2")
_EXTRAS = {
    "matplotlib": "plots",
    "scikit-learn": "sklearn",
    "pandas": "pandas",
    "torch": "torch",
    "psycopg": "postgres",
    "distributed": "dask",
    "ray": "ray",
    "fastapi": "web",
}
_OF_COLUMNS = ("classes", "id_column", "pred_column", "judge_columns", "show", "hide", "reader")


@takes(*(OPTIONS[name] for name in _OF_COLUMNS))
def look(
    pool: Annotated[str, argument("File or folder.")],
    form: Format = None,
    **columns: Any,  # noqa: ANN401
) -> None:
    """Print what is recognised in a file: items, verdicts, what is shown and what is hidden.

    Nothing is stored. The last line is a command that creates a campaign of this file.
    """
    recognised = lv.open_pool(pool, **columns).recognised
    words = []
    for option in (OPTIONS[name] for name in _OF_COLUMNS):
        flag, value = f"--{option.flag or option.name.replace('_', '-')}", columns[option.name]
        if option.repeated:
            words += [word for one in value for word in (flag, one)]
        elif value != option.default:
            words += [flag, ",".join(value) if option.kind is list else value]
    command = recognised.command(pool, words)
    texts = [*recognised.lines(), f"next: {command}"]
    row = {**recognised.as_dict(), "command": command}
    show.data(form or Form.table, [row], lambda: show.lines(texts, 5000))


@takes(*sorted(OPTIONS.values(), key=lambda one: GROUPS.index(one.group)))
def create(
    name: Name,
    pool: Annotated[
        list[str], flag("File, folder or pattern with the predictions; may be repeated.")
    ],
    metric: Annotated[
        list[str], flag("Metric to estimate; the first decides which items are drawn.")
    ] = ["error"],  # noqa: B006
    storage: Storage = DEFAULT_STORAGE,
    **options: Any,  # noqa: ANN401
) -> None:
    """Create a campaign that evaluates a model on a pool without labels."""
    from levelled.sources.features import lengths_left_out

    if options["seed"] is None:
        options["seed"] = secrets.randbits(32)
    several = pool if len(pool) > 1 else pool[0]
    campaign = lv.create_campaign(name, several, metric, storage=storage, **options)
    settings = campaign.settings
    if settings.columns != lv.sources.ColumnChoices():  # else columns are recognised by name alone
        for line in campaign.pool().recognised.lines():
            show.tell(line)
    if settings.kind == "adaptive" and (lengths := lengths_left_out(campaign.pool())):
        show.tell(
            f"note: lengths of text are no features of a pool of this size unless they are named, "
            f"as in --features {lengths[0]}"
        )
    show.tell(
        f"created {name}: {settings.pool_size} items, {', '.join(settings.metric_names)}, "
        f"{settings.kind}, seed {settings.seed}. Next: levelled ask {name}"
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
    campaign: "lv.Campaign",
    predictions: Annotated[Path, flag("File with the other model's predictions.")],
    model: Annotated[str, flag("Name of the other model.")],
) -> None:
    """Estimate another model from the labels that are already there."""
    campaign.attach(str(predictions), model)
    show.tell(f"attached {model} to {campaign.name}. Next: levelled estimate {campaign.name}")


def rescore(
    campaign: "lv.Campaign",
    pool: Annotated[Path, flag("File of ids with a column loss_hat or columns surrogate_<class>.")],
    owner: Owner = None,
) -> None:
    """Replace the predicted losses that guide the draws, from the next item on."""
    campaign.rescore(str(pool), owner=owner)
    show.tell(f"rescored {campaign.name} with {pool}. Next: levelled ask {campaign.name}")


def close(
    campaign: "lv.Campaign",
    reason: Reason = "finished",
    owner: Owner = None,
) -> None:
    """End a campaign: it takes no more labels, and its estimates remain."""
    campaign.close(reason=reason, owner=owner)
    show.tell(f"closed {campaign.name}: {reason}")


def list_(form: Format = None, storage: Storage = DEFAULT_STORAGE) -> None:
    """List the campaigns of a storage."""
    from levelled.campaigns.log.log import CampaignLog
    from levelled.campaigns.summary import summarise

    with lv.campaigns.open_store(storage, create=False) as store:
        logs = [CampaignLog(name, store) for name in store.names()]
        summaries = [summarise(*log.overview()) for log in logs]
    columns = ["name", "metrics", "n_labels", "n_settled", "n_pending", "budget", "pool_size"]
    rows = [
        [
            *(_cell(row[column]) for column in columns),
            "open" if row["closed"] is None else f"closed: {_cell(row['closed'])}",
        ]
        for row in summaries
    ]
    names = [*(column.removeprefix("n_") for column in columns), "state"]
    show.data(form, summaries, lambda: show.show_rows("Campaigns", names, rows))


def status(campaign: "lv.Campaign", form: Format = None) -> None:
    """Show the progress and the settings of a campaign."""
    from levelled.campaigns.summary import summarise

    summary = summarise(campaign.state, campaign.last_hash)
    campaign.keep()
    chosen = show.chosen(form)
    if chosen is Form.table:
        summary["agreement"] = campaign.agreement()
        defaults = lv.sources.ColumnChoices().to_json()
        summary["columns"] = [
            f"{column} {_cell([*value] if isinstance(value, tuple) else value)}"
            for column, value in campaign.settings.columns.to_json().items()
            if value != defaults[column]
        ]
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
        show.show_rows("", ["", show.plain(campaign.name)], rows, figures=False)
    else:
        show.records([summary], chosen)


def _cell(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(show.plain(one or "(unnamed)") for one in value)
    return show.plain(value)


def reopen(campaign: "lv.Campaign", owner: Owner = None) -> None:
    """Let a closed campaign go on."""
    campaign.reopen(owner=owner)
    show.tell(f"reopened {campaign.name}. Next: levelled ask {campaign.name}")


def rename(campaign: "lv.Campaign", new_name: NewName, owner: Owner = None) -> None:
    """Give a campaign another name; the log records it."""
    before = campaign.name
    campaign.rename(new_name, owner=owner)
    show.tell(f"{before} is now {new_name}")


def delete(
    campaign: "lv.Campaign",
    yes: Annotated[bool, flag("Do not ask for the name first.", "--yes")] = False,
) -> None:
    """Delete a campaign with all its labels for good; asks for its name first."""
    name = campaign.name
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


class Role(StrEnum):
    """What a token allows."""

    labeller = "labeller"
    analyst = "analyst"


def serve(
    file: Annotated[Path | None, argument("A file to create a campaign from.")] = None,
    host: Annotated[
        str, flag("Address to listen on; others than this machine need tokens.")
    ] = "127.0.0.1",
    port: Annotated[int, flag("Port to listen on.", min=1, max=65535)] = PORT,
    root_path: Annotated[str, flag("Path that a proxy puts in front, such as /levelled.")] = "",
    allow_host: Annotated[
        list[str], flag("A further name of the server, behind a proxy; may be repeated.")
    ] = [],  # noqa: B006
    uploads: Annotated[
        Path | None, flag("Folder of files to create campaigns from, and for uploads.")
    ] = None,
    images: Annotated[Path | None, flag("Folder of the items' images.")] = None,
    owner: Owner = None,
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Label in the browser, and watch the figures: prints a link and serves it until Ctrl-C."""
    import getpass

    for module in ("fastapi", "uvicorn", "markdown_it", "nh3"):
        optional(module, extra="web")
    from levelled import web

    is_local = host in web.LOOPBACK
    settings = web.WebSettings(
        storage,
        owner=owner or getpass.getuser(),
        token=web.link_token(storage) if is_local else None,  # others need one of their own
        port=port,
        hosts=(*web.LOOPBACK, *allow_host) if is_local else tuple(allow_host),
        root_path=root_path,
        file=file,
        uploads=uploads,
        images=images,
    )
    web.serve(settings, host, typer.echo)


@token_app.command()
def add(
    name: Annotated[str, argument("Name of the person.")],
    role: Annotated[Role, flag("What the person may do.")] = Role.labeller,
    url: Annotated[
        str, flag("Address at which the server is reached, for the link.")
    ] = f"http://127.0.0.1:{PORT}/",
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Print a link for a person; it is shown only once."""
    optional("fastapi", extra="web")
    from levelled.web import link_to

    with lv.campaigns.open_store(storage) as store:
        token = store.tokens.add(name, role.value)
    typer.echo(link_to(f"{url.rstrip('/')}/", token))


@token_app.command(name="list")
def list_tokens(form: Format = None, storage: Storage = DEFAULT_STORAGE) -> None:
    """List who has a token; the tokens themselves are not kept."""
    columns = ["name", "role", "created"]
    with lv.campaigns.open_store(storage, create=False) as store:
        tokens = store.tokens.all()
    rows = [{column: getattr(one, column) for column in columns} for one in tokens]
    cells = [[show.plain(value) for value in row.values()] for row in rows]
    show.data(form, rows, lambda: show.show_rows("Tokens", columns, cells, figures=False))


@token_app.command()
def remove(
    name: Annotated[str, argument("Name of the person.")],
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Remove all tokens of a person; pages that are open stop working within a second."""
    with lv.campaigns.open_store(storage, create=False) as store:
        count = store.tokens.remove(name)
    if not count:
        raise lv.errors.InputError(f"{name!r} has no token: levelled token list shows all.")
    show.tell(f"removed {count} {'token' if count == 1 else 'tokens'} of {name}")


@storage_app.command()
def upgrade(storage: Storage = DEFAULT_STORAGE) -> None:
    """Upgrade a database of an older version to the current one."""
    before, after, kept = lv.campaigns.upgrade(storage)
    if kept is not None:
        show.tell(f"a backup of version {before} is in {kept}")
    outcome = "is of the current version" if before == after else f"upgraded from {before}"
    show.tell(f"{lv.campaigns.place_of(storage)} {outcome}: {after}")


@storage_app.command()
def backup(
    source: Annotated[str, argument("The storage to read.")],
    file: Annotated[str, argument("The new SQLite file to write.")],
) -> None:
    """Write a storage to a new file, also while others use it and before an upgrade."""
    show.tell(f"written: {lv.campaigns.backup(source, file)}")


@storage_app.command()
def copy(
    source: Annotated[str, argument("The storage to read.")],
    target: Annotated[str, argument("The storage to write.")],
) -> None:
    """Copy all campaigns to another storage, event by event, with the same hashes.

    Run it again to copy what has been added since.
    """
    names = lv.campaigns.copy(source, target)
    show.tell(f"copied: {', '.join(names)}" if names else "nothing to copy: all is there already")


def doctor(form: Format = None, storage: Storage = DEFAULT_STORAGE) -> None:
    """Show versions, optional extras and the state of the storage; exit 1 if it does not open."""
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
        **{name: _version(name) or "missing" for name in _NEEDED},
        **{
            name: _version(name) or f"not installed: pip install 'levelled[{extra}]'"
            for name, extra in _EXTRAS.items()
        },
        "storage": f"{lv.campaigns.place_of(storage)}: {state}",
    }
    rows = [(name, show.plain(value)) for name, value in parts.items()]
    columns = ["part", "version or state"]
    show.data(form, [parts], lambda: show.show_rows("", columns, rows, figures=False))
    if not opens:
        raise typer.Exit(1)


def _version(name: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None
