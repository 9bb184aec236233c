"""`levelled demo`: the first thing a newcomer runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from levelled.campaigns import Campaign, Figure

__all__ = ["demo"]


def demo(
    out: Annotated[Path, typer.Option(help="Where the files go.")] = Path("demo"),
    labels: Annotated[int, typer.Option(min=2, help="Labels the campaign may buy.")] = 200,
    repetitions: Annotated[
        int, typer.Option(min=2, help="How often the estimate is then made anew.")
    ] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Where the randomness starts.")] = 0,
) -> None:
    """Evaluate a digit classifier in a campaign with a simulated labeller.

    A pool of 1,647 digits, a database, a live table, a report, and at the end the truth. Then the
    same many times over, to see which estimates centre on it.
    """
    import shutil

    from levelled.campaigns import open_store
    from levelled.cli.report import report_of
    from levelled.cli.show import tell
    from levelled.demo import digits_pool, start, truth
    from levelled.reports import page

    folder = out / "campaign"
    if (folder / "levelled.db").exists():
        shutil.rmtree(folder)  # of an earlier demo
    folder.mkdir(parents=True, exist_ok=True)
    pool, storage = folder / "preds.parquet", f"sqlite:///{folder}/levelled.db"
    answers = digits_pool(pool)
    campaign = start(pool, storage, labels=labels, seed=seed)
    first = _labelled(campaign, answers, labels)[0].estimate
    last = open_store(storage).last(campaign.name)
    report = folder / "report.html"
    report.write_text(page(report_of(campaign, "" if last is None else last.hash)))
    known = truth(pool, answers)
    holds = "which holds it" if first.low <= known <= first.high else "which misses it"
    tell(
        f"The truth, from all {len(answers)} labels: an error rate of {known:.2%}. Estimated from "
        f"{first.n_labels}: {first.value:.2%}, between {first.low:.2%} and {first.high:.2%}, "
        f"{holds}."
    )
    tell(f"written: {report}")
    tell(f"it goes on with: levelled estimate digits --storage {storage}")
    _again(out, min(labels, 100), repetitions, seed)


def _labelled(
    campaign: "Campaign", answers: "Mapping[str, str]", labels: int
) -> "Sequence[Figure]":
    """Answer what the campaign asks for, with the table growing more certain."""
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress import Progress

    from levelled.cli.estimating import picture
    from levelled.demo import label_all

    bar = Progress(transient=True)
    task = bar.add_task("a simulated labeller answers", total=labels)
    figures: Sequence[Figure] = campaign.estimate()
    console = Console()
    with Live(console=console, refresh_per_second=8, transient=True) as live:
        for figures in label_all(campaign, answers, batch=5):
            bar.update(task, completed=figures[0].n_labels)
            live.update(Group(picture(figures, campaign.name), bar))
    console.print(picture(figures, campaign.name))
    return figures


def _again(out: Path, labels: int, times: int, seed: int) -> None:
    """Was that luck? The estimate many times over, beside what others would compute."""
    from levelled.cli.show import show_rows, tell, with_progress
    from levelled.demo import repetitions

    settings = repetitions.RepetitionSettings(labels=labels, repetitions=times, seed=seed)
    table = repetitions.run(settings, backend=with_progress(map, "the same again and again"))
    show_rows(
        f"Was that luck? {labels} chosen labels, {times:,} times",
        ["", "mean", "bias", "± s.e.", "spread", "RMSE", "95% interval holds"],
        [
            (
                row.name,
                f"{row.mean:.2%}",
                f"{row.bias:+.2%}",
                f"{row.bias_stderr:.2%}",
                f"{row.spread:.2%}",
                f"{row.rmse:.2%}",
                "" if row.coverage is None else f"{row.coverage:.1%}",
            )
            for row in repetitions.summary(table)
        ],
    )
    for path in repetitions.save(table, settings, out):
        tell(f"written: {path}")
