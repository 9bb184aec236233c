"""`levelled demo`, `plan` and `simulate`: try it before labels are paid for."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import levelled as lv
from levelled.campaigns.options import OPTIONS
from levelled.cli import show
from levelled.cli.managing import PORT
from levelled.cli.managing import serve as serve_campaigns
from levelled.cli.show import (
    DEFAULT_STORAGE,
    Address,
    BackendName,
    ClassNames,
    Format,
    Storage,
    Workers,
    flag,
    takes,
)


def demo(
    out: Annotated[Path, flag("Folder for the files.")] = Path("demo"),
    labels: Annotated[int, flag("Budget of the campaign.", min=2)] = 200,
    repetitions: Annotated[int, flag("How often the estimate is then repeated.", min=2)] = 2000,
    seed: Annotated[int, flag("Seed of the draws.", min=0)] = 0,
    serve: Annotated[bool, flag("Show the campaign in the browser at the end.", "--serve")] = False,
    port: Annotated[int, flag("Port of --serve.", min=1, max=65535)] = PORT,
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
        serve_campaigns(port=port, storage=storage)


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
            live.update(Group(show.figure_table(figures, campaign), bar))
    console.print(show.figure_table(figures, campaign))
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
    """Compute how many labels an interval of this width will take: low, likely and high.

    From the predictions alone, whose probabilities are doubted, or from the labels of a campaign.
    """
    if campaign is None:
        if pool is None:
            raise lv.errors.InputError(
                "A plan needs --pool, or --from with the name of a campaign."
            )
        planned = lv.campaigns.plan_campaign(
            pool,
            width,
            metric or "error",
            expected=expected,
            level=0.95 if level is None else level,
            floor=0.5 if floor is None else floor,
            classes=None if classes is None else classes.split(","),
        )
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
    show.data(form, [planned.as_dict()], lambda: typer.echo(f"{planned}."))


@takes(*(OPTIONS[name] for name in ("features", "classes", "id_column")))
def simulate(
    pool: Annotated[str, flag("File, folder or pattern with predictions and labels.")],
    label: Annotated[str, flag("Column of the labels.")] = "label",
    metric: Annotated[
        str, flag("error, accuracy, brier, log_loss:CAP, f1:CLASS, recall:CLASS, mse, ...")
    ] = "error",
    methods: Annotated[
        str,
        flag(
            "all, or some of uniform, static, adaptive, guaranteed (slow, not in all), "
            "active-testing, ppi, with-replacement, with commas between."
        ),
    ] = "all",
    budgets: Annotated[str, flag("Numbers of labels, as 100,500.")] = "100,500",
    repetitions: Annotated[int, flag("Number of repetitions.", min=2)] = 200,
    seed: Annotated[int, flag("Seed of all random numbers.", min=0)] = 0,
    workers: Workers = 1,
    backend: BackendName = "local",
    address: Address = None,
    out: Annotated[Path | None, flag("A PNG or SVG file for a plot of the factors.")] = None,
    form: Format = None,
    **columns: Any,  # noqa: ANN401
) -> None:
    """Compute what each method would have given on a pool whose labels are known.

    The label factor is the number of random labels that one label of the method is worth. The
    width factor says the same of the interval that is shown. Coverage of static and adaptive
    campaigns is that of five planned looks at once.
    """
    from levelled._optional import optional
    from levelled.backends import named
    from levelled.simulation import (
        METHODS,
        applicable_methods,
        known_losses,
        plot_factors,
        repeat_methods,
    )
    from levelled.simulation.methods import SLOW
    from levelled.simulation.running import check_budgets, check_methods, factor_table

    if out is not None:
        if out.suffix.lower() not in (".png", ".svg", ".pdf") or not out.parent.is_dir():
            raise lv.errors.InputError(
                f"--out must be a .png, .svg or .pdf file in a folder that exists: {out}."
            )
        optional("matplotlib", extra="plots")
    run = show.with_progress(named(backend, workers=workers, address=address), "simulating")
    known = known_losses(pool, label, metric, **columns)
    names = check_methods(applicable_methods(known) if methods == "all" else methods.split(","))
    parts = [part.strip() for part in budgets.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise typer.BadParameter(f"--budgets must be whole numbers, as 100,500; it is {budgets!r}.")
    sizes = check_budgets([int(part) for part in parts], len(known))
    show.tell(f"{len(known):,} items, {known.metric} {known.risk:.4g} from all labels")
    left_out = [name for name in METHODS if name not in (*names, *SLOW)]
    if methods == "all" and left_out:
        show.tell(f"note: left out for lack of columns that they need: {', '.join(left_out)}")
    chosen = {name: METHODS[name] for name in names}
    rows = repeat_methods(known, chosen, sizes, repetitions, seed=seed, backend=run)
    about = f"{known.metric} of {len(known):,} items, {repetitions} repetitions"
    show.data(form, rows, lambda: show.show_rows(about, *factor_table(rows)))
    if out is not None:
        plot_factors(rows, about=about).savefig(out, dpi=200)
        show.tell(f"written: {out}")
