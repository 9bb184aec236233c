"""The command that checks a judge against people."""

from typing import TYPE_CHECKING, Annotated

import typer

import levelled as lv
from levelled.cli import show
from levelled.cli.options import DEFAULT_STORAGE, Form, Format, Name, PoolFile, Storage

if TYPE_CHECKING:
    from levelled.estimators import Estimate
    from levelled.metrics.judge import JudgeReport


def judge(
    name: Name,
    model: Annotated[
        str | None,
        typer.Option("--judge", help="Model whose verdicts are checked; the first by default."),
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="Another judge, compared on the same labels.")
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(help="Verdict to count; by default the class of the first metric."),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="Slice to look at; by default all of the campaign.")
    ] = None,
    tpr: Annotated[
        float, typer.Option(min=0, max=1, help="TPR asked of a judge that is used unattended.")
    ] = 0.9,
    tnr: Annotated[float, typer.Option(min=0, max=1, help="TNR asked of it.")] = 0.9,
    pool: PoolFile = None,
    form: Format = None,
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Check a judge against people: corrected rate, TPR, TNR, kappa, and where it fails."""
    campaign = lv.load_campaign(name, storage=storage, pool=pool)
    report = campaign.judge(model, against=against, positive=positive, by=by, tpr=tpr, tnr=tnr)
    chosen = show.chosen(form)
    if chosen is Form.table:
        _show_report(name, report)
    elif chosen is Form.csv:
        show.records(report.as_dicts(), chosen)
    else:
        show.records([report.as_dict()], chosen)
    campaign.keep()


def _show_report(name: str, report: "JudgeReport") -> None:
    rows = [
        (report.rate_name, *_cells(report.rate)),
        ("as the judge says", f"{report.raw:.3f}", ""),
    ]
    rows += [(figure, *_cells(one)) for figure, one in report.figures.items()]
    est = report.rate
    title = (
        f"{show.plain(name, 60)}: {show.plain(report.judge, 60)} against {est.n_labels} labels; "
        f"{100 * est.level:.4g}% confidence"
    )
    show.show_rows(title, ("", "value", "interval"), rows)
    if report.parts:
        parts = [
            (show.plain(part.name, 40), part.figure, *_cells(part.estimate))
            for part in report.parts
        ]
        show.show_rows("where it is worst", ("", "figure", "value", "interval"), parts)
    if report.decision is not None:
        typer.echo(f"used unattended? {report.decision.answer}: {report.decision.because}.")
    for one in report.comparisons:
        typer.echo(show.plain(one, 500))
    figures = {report.rate_name: report.rate, **report.figures}
    notes: dict[str, list[str]] = {}
    for figure, estimate in figures.items():
        for note in estimate.warnings:
            notes.setdefault(note, []).append(figure)
    for note, of in notes.items():
        about = "" if len(of) == len(figures) else f"{', '.join(of)}: "
        typer.echo(f"note: {show.plain(f'{about}{note}', 500)}")


def _cells(estimate: "Estimate") -> tuple[str, str]:
    value = "undefined" if estimate.value is None else f"{estimate.value:.3f}"
    return value, f"{estimate.low:.3f} to {estimate.high:.3f}"
