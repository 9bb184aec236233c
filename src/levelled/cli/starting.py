"""`levelled demo`, `look`, `plan`, `create` and `serve`: the way to a first figure."""

import re
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import click

import levelled as lv
from levelled._optional import optional
from levelled.campaigns.options import GROUPS, OPTIONS
from levelled.cli import show
from levelled.cli.options import (
    DEFAULT_STORAGE,
    ClassNames,
    Form,
    Format,
    Name,
    Owner,
    Storage,
    argument,
    choose_one,
    flag,
    refuse,
    takes,
)

PORT = 8765
_OF_CAMPAIGN = ("model", "open_classes")  # of a campaign, not of its pool
_OF_COLUMNS = [
    name for name, one in OPTIONS.items() if one.group == "Columns" and name not in _OF_CAMPAIGN
]
_PEOPLE = "People who may use the page"


def demo(
    out: Annotated[Path, flag("Folder for the files.")] = Path("demo"),
    labels: Annotated[int, flag("Budget of the campaign.", min=2)] = 200,
    repetitions: Annotated[int, flag("How often the estimate is then repeated.", min=2)] = 2000,
    seed: Annotated[int, flag("Seed of the draws.", min=0)] = 0,
    then_serve: Annotated[
        bool, flag("Show the campaign in the browser at the end.", "--serve")
    ] = False,
    port: Annotated[int, flag("Port of --serve.", min=1, max=65535)] = PORT,
) -> None:
    """Evaluate a digit classifier with a simulated labeller.

    Writes a pool of 1,647 digits, a database and a report, and compares the estimate with the
    true value. Then repeats the estimate many times, to show which estimators are unbiased.
    """
    import shutil

    from levelled.demo import digits_pool, start, truth

    folder = out / "campaign"
    if (folder / "levelled.db").exists():
        shutil.rmtree(folder)  # of an earlier demo
    folder.mkdir(parents=True, exist_ok=True)
    pool, storage = folder / "preds.parquet", f"sqlite:///{folder}/levelled.db"
    all_labels = digits_pool(pool)
    campaign = start(pool, storage, labels=labels, seed=seed)
    est = _run_campaign(campaign, all_labels, labels)[0].estimate
    campaign.report(folder / "report.html")
    true_value = truth(pool, all_labels)
    contains = "contains" if est.low <= true_value <= est.high else "misses"
    show.tell(
        f"Estimated error rate from {est.n_labels} labels: {est.value:.1%}, "
        f"{est.level:.0%} interval {est.low:.1%} to {est.high:.1%}; it {contains} the true value, "
        f"{true_value:.1%} (from all {len(all_labels)} labels)."
    )
    show.tell(f"written: {folder / 'report.html'}")
    show.tell(f"look at the campaign with: levelled estimate digits --storage {storage}")
    _repeat(out, min(labels, 100), repetitions, seed)
    if then_serve:
        serve(port=port, storage=storage)


def _run_campaign(
    campaign: "lv.Campaign", all_labels: Mapping[str, str], budget: int
) -> "lv.campaigns.Figures":
    """Label all that the campaign asks for, under a table that shows the figures so far."""
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress import Progress

    from levelled.demo import label_all

    bar = Progress(transient=True)
    task = bar.add_task("a simulated labeller at work", total=budget)
    figures = campaign.estimate()
    console = Console()
    with Live(console=console, refresh_per_second=8, transient=True) as live:
        for figures in label_all(campaign, all_labels, batch=5):
            bar.update(task, completed=figures[0].n_labels)
            live.update(Group(figures, bar))
    console.print(figures)
    return figures


def _repeat(out: Path, labels: int, repetitions: int, seed: int) -> None:
    """Repeat the estimate with new draws, and show each estimator's bias."""
    from levelled import demo

    backend = show.with_progress(map, "repeating the estimate")
    table = demo.repeat(labels, repetitions, seed, backend=backend)
    show.show_rows(
        f"Estimates from {labels} labels, repeated {repetitions:,} times with new static draws",
        demo.SUMMARY,
        demo.summarise(table),
    )
    for path in demo.save(table, seed, out):
        show.tell(f"written: {path}")


@takes(*(OPTIONS[name] for name in _OF_COLUMNS))
def look(
    pool: Annotated[str, argument("File or folder.")],
    form: Format = None,
    **columns: Any,  # noqa: ANN401
) -> None:
    """Print what is recognised in a file of predictions.

    That is its items, verdicts, and the role of each column: how it was found, and whether
    labellers see it. Nothing is stored. The last line is a command that creates a campaign.
    """
    from levelled.sources.files import is_remote
    from levelled.sources.pool import Recognised
    from levelled.sources.untrusted import look as look_in_child

    if is_remote(pool):  # of which nobody knows how long it takes
        recognised = lv.open_pool(pool, **columns).recognised
    else:
        recognised = Recognised(**look_in_child([pool], columns))
    words = []
    for option in (OPTIONS[name] for name in _OF_COLUMNS):
        named, value = f"--{option.flag or option.name.replace('_', '-')}", columns[option.name]
        if option.kind is dict:
            value = [f"{column}={role}" for column, role in value.items()]
        if option.repeated or option.kind is dict:
            words += [word for one in value for word in (named, one)]
        elif value != option.default:
            words += [named, ",".join(value) if option.kind is list else value]
    command = recognised.command(pool, words)
    texts = [*recognised.lines(), f"next: {command}"]
    row = {**recognised.as_dict(), "command": command}
    show.data(form or Form.table, [row], lambda: show.lines(texts, 5000))


def _about_metrics() -> str:
    from levelled.metrics.named import NAMES

    return (
        f"Metric to estimate; may be repeated, and the first decides which items are drawn: "
        f"{', '.join(NAMES[:-1])}, or {NAMES[-1]} of your own."
    )


@takes(*sorted(OPTIONS.values(), key=lambda one: GROUPS.index(one.group)))
def create(
    name: Name,
    pool: Annotated[
        list[str], flag("File, folder or pattern with the predictions; may be repeated.")
    ],
    metric: Annotated[list[str], flag(_about_metrics, metavar="METRIC")] = ["error"],  # noqa: B006
    storage: Storage = DEFAULT_STORAGE,
    **options: Any,  # noqa: ANN401
) -> None:
    """Create a campaign to evaluate a model on unlabelled items."""
    from levelled.sources.pool import lengths_left_out

    if options["seed"] is None:
        options["seed"] = secrets.randbits(32)
    several = pool if len(pool) > 1 else pool[0]
    campaign = lv.create_campaign(name, several, metric, storage=storage, **options)
    settings = campaign.settings
    for line in campaign.pool().recognised.lines():
        show.tell(line)
    if settings.kind == "adaptive" and (lengths := lengths_left_out(campaign.pool())):
        show.tell(
            f"note: lengths of text are no features of a pool of this size unless they are named, "
            f"as in --features {lengths[0]}"
        )
    if campaign.note is not None:
        show.tell(f"note: {campaign.note}")
    known = f" ({settings.n_known} with known labels)" if settings.n_known else ""
    show.tell(
        f"created {name}: {settings.pool_size} items{known}, {', '.join(settings.metric_names)}, "
        f"{settings.kind}, seed {settings.seed}. Next: levelled ask {name}"
    )


def plan(
    width: Annotated[float, flag("How narrow the interval should be.")],
    pool: Annotated[str | None, flag("File, folder or pattern with the predictions.")] = None,
    metric: Annotated[
        str | None, flag("A metric of classes; by default error, or the campaign's first.")
    ] = None,
    campaign: Annotated[
        str | None, flag("Campaign whose labels the plan rests on.", "--from")
    ] = None,
    expected: Annotated[float | None, flag("The value of the metric that you believe in.")] = None,
    level: Annotated[
        float | None, flag("Confidence level of the interval; by default 0.95, or the campaign's.")
    ] = None,
    floor: Annotated[
        float | None, flag("The share of draws made uniformly; by default 0.5, or the campaign's.")
    ] = None,
    classes: ClassNames = None,
    form: Format = None,
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Compute how many labels an interval of some width takes.

    Prints a low, a likely and a high number. From the predictions alone, whose probabilities are
    doubted, or from the labels of a campaign.
    """
    if campaign is None:
        if pool is None:
            raise click.UsageError("A plan needs --pool, or --from with the name of a campaign.")
        planned = lv.campaigns.plan_campaign(
            pool,
            width,
            metric or "error",
            expected=expected,
            level=0.95 if level is None else level,
            floor=0.5 if floor is None else floor,
            classes=None if classes is None else classes.split(","),
        )
    else:
        refuse("does not go with --from: a campaign has its own", "level", "floor", "classes")
        planned = lv.load_campaign(campaign, storage=storage, pool=pool).plan(
            width, metric, expected=expected
        )
        if not planned.n_labels:
            show.tell(f"{campaign} has no settled label yet: planned from the predictions alone")
    show.data(form, [planned.as_dict()], lambda: click.echo(f"{planned}."))


class Role(StrEnum):
    """The kinds of people who use the page."""

    labeller = "labeller"
    analyst = "analyst"


def serve(
    file: Annotated[Path | None, argument("A file to create a campaign from.")] = None,
    host: Annotated[
        str, flag("Address to listen on; others than this machine need links by --invite.")
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
    invite: Annotated[
        str | None,
        flag("Print a link for this person; it is shown only once.", metavar="NAME", panel=_PEOPLE),
    ] = None,
    role: Annotated[Role, flag("Role of the invited person.", panel=_PEOPLE)] = Role.labeller,
    campaign: Annotated[
        list[str],
        flag("The only campaign that the link is for; may be repeated.", panel=_PEOPLE),
    ] = [],  # noqa: B006
    expires: Annotated[
        str | None,
        flag(
            "How long the link is valid, such as 12h, 30d or 4w; by default until --revoke.",
            metavar="TIME",
            panel=_PEOPLE,
        ),
    ] = None,
    url: Annotated[
        str, flag("Address at which the server is reached, for the link.", panel=_PEOPLE)
    ] = f"http://127.0.0.1:{PORT}/",
    people: Annotated[bool, flag("List those who have a link.", panel=_PEOPLE)] = False,
    form: Format = None,
    revoke: Annotated[
        str | None,
        flag(
            "Remove all links of this person; pages that are open stop within a second.",
            metavar="NAME",
            panel=_PEOPLE,
        ),
    ] = None,
) -> None:
    """Label in the browser and watch the figures, until Ctrl-C.

    Prints a link to the page. The options about people start no server.
    """
    action = choose_one(invite=invite, people=people, revoke=revoke)
    if action != "invite":
        refuse("needs --invite", "role", "campaign", "expires", "url")
    if action != "people":
        refuse("needs --people", "format")
    if action:
        others = ("file", "host", "port", "root_path", "allow_host", "uploads", "images", "owner")
        refuse(f"does not go with --{action}", *others)
        if invite is not None:
            limits = {"campaigns": campaign or None, "expires": _expiry(expires)}
            _invite(invite, role, url, storage, **limits)
        elif revoke is not None:
            _revoke(revoke, storage)
        else:
            _list_people(form, storage)
        return
    import getpass

    for module in ("fastapi", "uvicorn", "markdown_it", "nh3"):
        optional(module, extra="web")
    from levelled import web

    is_local = host in web.LOOPBACK
    settings = web.WebSettings(
        storage,
        owner=owner or getpass.getuser(),
        port=port,
        hosts=(*web.LOOPBACK, *allow_host) if is_local else tuple(allow_host),
        root_path=root_path,
        file=file,
        uploads=uploads,
        images=images,
    )
    web.serve(settings, host, click.echo)


_HOURS = {"h": 1, "d": 24, "w": 7 * 24}


def _expiry(text: str | None) -> datetime | None:
    """The end of a time that begins now."""
    if text is None:
        return None
    match = re.fullmatch(r"([1-9][0-9]{0,3})([hdw])", text.strip())
    if match is None:
        raise click.BadParameter(
            f"{text!r} is no time: write hours, days or weeks, as in 12h, 30d or 4w.",
            param_hint="--expires",
        )
    return datetime.now(UTC) + timedelta(hours=int(match[1]) * _HOURS[match[2]])


def _invite(name: str, role: Role, url: str, storage: str, **limits: Any) -> None:  # noqa: ANN401
    optional("fastapi", extra="web")
    from levelled.web import link_to

    with lv.campaigns.open_store(storage) as store:
        token = store.tokens.add(name, role.value, **limits)
    click.echo(link_to(f"{url.rstrip('/')}/", token))


def _list_people(form: Form | None, storage: str) -> None:
    """Print what each link is for; the tokens in the links are not kept."""
    columns = ["name", "role", "campaigns", "expires", "created"]
    with lv.campaigns.open_store(storage, create=False) as store:
        tokens = store.tokens.all()
    rows = [{column: getattr(one, column) for column in columns} for one in tokens]
    cells = [
        [
            show.plain(one.name),
            one.role,
            "all" if one.campaigns is None else show.plain(", ".join(one.campaigns)),
            "never" if one.expires is None else one.expires + ("" if one.is_valid else " (over)"),
            one.created,
        ]
        for one in tokens
    ]
    show.data(form, rows, lambda: show.show_rows("People", columns, cells, figures=False))


def _revoke(name: str, storage: str) -> None:
    with lv.campaigns.open_store(storage, create=False) as store:
        count = store.tokens.remove(name)
    if not count:
        raise lv.errors.InputError(f"{name!r} has no link: levelled serve --people lists all.")
    show.tell(f"removed {count} {'link' if count == 1 else 'links'} of {name}")
