"""`levelled demo`, `plan`, `storage` and `doctor`: commands beside a campaign."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import levelled as lv
from levelled.cli import show
from levelled.cli.figure_table import figure_table
from levelled.cli.options import DEFAULT_STORAGE, ClassNames, Form, Format, Storage
from levelled.cli.serving import PORT, serve_local

_NEEDED = ("numpy", "scipy", "pyarrow", "sqlalchemy", "typer", "rich")
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

storage_app = typer.Typer(help="Back up, copy or upgrade a storage.", no_args_is_help=True)


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("demo"),
    labels: Annotated[int, typer.Option(min=2, help="Budget of the campaign.")] = 200,
    repetitions: Annotated[
        int, typer.Option(min=2, help="How often the estimate is then repeated.")
    ] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 0,
    serve: Annotated[
        bool, typer.Option("--serve", help="Show the campaign in the browser at the end.")
    ] = False,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of --serve.")] = PORT,
) -> None:
    """Evaluate a digit classifier in a campaign with a simulated labeller.

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
    if serve:
        serve_local(storage, port)


def _run_campaign(
    campaign: "lv.Campaign", all_labels: Mapping[str, str], budget: int
) -> "Sequence[lv.campaigns.Figure]":
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
            live.update(Group(figure_table(figures, campaign), bar))
    console.print(figure_table(figures, campaign))
    return figures


def _repeat(out: Path, labels: int, repetitions: int, seed: int) -> None:
    """Repeat the estimate with new draws, and show each estimator's bias."""
    from levelled import demo

    settings = demo.RepetitionSettings(labels=labels, repetitions=repetitions, seed=seed)
    table = demo.repeat(settings, backend=show.with_progress(map, "repeating the estimate"))
    show.show_rows(
        f"Estimates from {labels} labels, repeated {repetitions:,} times with new static draws",
        ["", "mean", "bias", "± s.e.", "spread", "RMSE", "95% interval contains the truth"],
        [row.cells() for row in demo.summarise(table)],
    )
    for path in demo.save(table, settings, out):
        show.tell(f"written: {path}")


def plan(
    width: Annotated[float, typer.Option(help="How narrow the interval should be.")],
    pool: Annotated[
        str | None, typer.Option(help="File, folder or pattern with the predictions.")
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(help="A metric of classes; by default error, or the campaign's first."),
    ] = None,
    campaign: Annotated[
        str | None, typer.Option("--from", help="Campaign whose labels the plan rests on.")
    ] = None,
    expected: Annotated[
        float | None, typer.Option(help="The value of the metric that you believe in.")
    ] = None,
    level: Annotated[
        float | None,
        typer.Option(help="Confidence level of the interval; by default 0.95, or the campaign's."),
    ] = None,
    floor: Annotated[
        float | None,
        typer.Option(help="The share of draws made uniformly; by default 0.5, or the campaign's."),
    ] = None,
    classes: ClassNames = None,
    form: Format = None,
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Compute how many labels an interval of this width will take: low, likely and high.

    From the predictions alone, whose probabilities are doubted, or from the labels of a campaign.
    """
    if campaign is None:
        planned = _plan_pool(pool, width, metric or "error", expected, level, floor, classes)
    elif (level, floor, classes) != (None, None, None):
        raise lv.errors.InputError(
            f"--level, --floor and --classes do not go with --from: {campaign!r} has its own."
        )
    else:
        planned = lv.load_campaign(campaign, storage=storage, pool=pool).plan(
            width, metric, expected=expected
        )
        if not planned.n_labels:
            show.tell(f"{campaign} has no settled label yet: planned from the predictions alone")
    chosen = show.chosen(form)
    if chosen is Form.table:
        typer.echo(f"{planned}.")
    else:
        show.records([planned.as_dict()], chosen)


def _plan_pool(
    pool: str | None,
    width: float,
    metric: str,
    expected: float | None,
    level: float | None,
    floor: float | None,
    classes: str | None,
) -> "lv.metrics.Plan":
    if pool is None:
        raise lv.errors.InputError("A plan needs --pool, or --from with the name of a campaign.")
    return lv.campaigns.plan_campaign(
        pool,
        width,
        metric,
        expected=expected,
        level=0.95 if level is None else level,
        floor=0.5 if floor is None else floor,
        classes=None if classes is None else classes.split(","),
    )


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
    source: Annotated[str, typer.Argument(help="The storage to read.", show_default=False)],
    file: Annotated[str, typer.Argument(help="The new SQLite file to write.", show_default=False)],
) -> None:
    """Write a storage to a new file, also while others use it and before an upgrade."""
    show.tell(f"written: {lv.campaigns.backup(source, file)}")


@storage_app.command()
def copy(
    source: Annotated[str, typer.Argument(help="The storage to read.", show_default=False)],
    target: Annotated[str, typer.Argument(help="The storage to write.", show_default=False)],
) -> None:
    """Copy all campaigns to another storage, event by event, with the same hashes.

    Run it again to copy what has been added since.
    """
    names = lv.campaigns.copy(source, target)
    show.tell(f"copied: {', '.join(names)}" if names else "nothing to copy: all is there already")


def doctor(form: Format = None, storage: Storage = DEFAULT_STORAGE) -> None:
    """Show versions, optional extras and the state of the storage; exit 1 if it does not open."""
    import platform

    opens, state = _check_storage(storage)
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
    chosen = show.chosen(form)
    if chosen is Form.table:
        rows = [(name, show.plain(value)) for name, value in parts.items()]
        show.show_rows("", ["part", "version or state"], rows, figures=False)
    else:
        show.records([parts], chosen)
    if not opens:
        raise typer.Exit(1)


def _version(name: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _check_storage(storage: str) -> tuple[bool, str]:
    """True if the storage can be used, and its state; the default need not exist yet."""
    if storage == DEFAULT_STORAGE and not Path("levelled.db").exists():
        return True, "not there yet; the first levelled create makes it"
    try:
        with lv.campaigns.open_store(storage, create=False) as store:
            return True, f"opens, {len(store.names())} campaigns"
    except lv.errors.LevelledError as refused:
        return False, str(refused)
