"""`levelled estimate`, `compare`, `judge`, `gate`, `audit`, `report` and `export`."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple
from xml.etree import ElementTree as ET

import typer

import levelled as lv
from levelled._files import replace_file
from levelled.cli import show
from levelled.cli.options import (
    DEFAULT_STORAGE,
    Form,
    Format,
    Name,
    PoolFile,
    Raw,
    ScoreFiles,
    Storage,
)

if TYPE_CHECKING:
    from levelled.campaigns import Audit, Campaign, Figure, GateClaim
    from levelled.estimators import Estimate
    from levelled.metrics.judge import JudgeReport

NOT_REACHED = 3
"""The exit code while an interval is wider than its target."""


def estimate(
    name: Name,
    watch: Annotated[
        bool, typer.Option("--watch", help="Print it again whenever labels come in.")
    ] = False,
    target_width: Annotated[
        float | None,
        typer.Option(help="Exit with 3 while the first interval is wider; else the campaign's."),
    ] = None,
    every: Annotated[float, typer.Option(min=0.05, help="Seconds between looks of --watch.")] = 1.0,
    form: Format = None,
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Print each metric with its interval; the exit code is 3 until the target is reached."""
    campaign = lv.load_campaign(name, storage=storage)
    chosen = show.chosen(form)
    if watch:
        looks = campaign.watch(target_width=target_width, every=every)
        figures = _show_looks(looks, chosen, campaign)
        reached = campaign.is_reached(figures, target_width)
    else:
        figures, last_hash = campaign.estimate(), campaign.last_hash
        reached = campaign.is_reached(figures, target_width)
        _show_figures(figures, chosen, campaign, last_hash)
    campaign.keep()
    if not reached:
        raise typer.Exit(NOT_REACHED)


def _show_looks(
    looks: "Iterator[Sequence[Figure]]", chosen: Form, campaign: "Campaign"
) -> "Sequence[Figure]":
    """Show each look until the last one or Ctrl-C; returns the figures shown last."""
    from rich.console import Console
    from rich.live import Live

    figures = first = next(looks)
    try:
        if chosen is not Form.table:
            for figures in chain([first], looks):
                _show_figures(figures, chosen, campaign, campaign.last_hash)
            return figures
        with Live(console=Console(), auto_refresh=False) as live:
            for figures in chain([first], looks):
                live.update(show.figure_table(figures, campaign), refresh=True)
    except KeyboardInterrupt:
        pass  # the way to stop watching
    return figures


def _show_figures(
    figures: "Sequence[Figure]", chosen: Form, campaign: "Campaign", last_hash: str
) -> None:
    from rich.console import Console

    from levelled.campaigns.summary import figure_records

    if chosen is Form.table:
        Console().print(show.figure_table(figures, campaign))
    else:
        show.records(figure_records(figures, last_hash), chosen)


def compare(
    name: Name,
    model: Annotated[str, typer.Argument(help="Name of the model.", show_default=False)],
    against: Annotated[
        str | None, typer.Option(help="Name of the other model; by default the first one.")
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="Metric to compare; by default all of the campaign.")
    ] = None,
    form: Format = None,
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Say which of two models is better, from the same labels, and by how much."""
    from levelled.campaigns.figures.comparing import why_not_compared

    campaign = lv.load_campaign(name, storage=storage)
    comparisons = campaign.compare(model, against, metric)
    notes = [f"note: {text}" for one in comparisons for text in one.difference.warnings]
    texts = [*(f"{one.metric}: {one.verdict}" for one in comparisons), *dict.fromkeys(notes)]
    rows = [one.as_dict() for one in comparisons]
    show.data(form, rows, lambda: show.lines(texts, 500))
    for other in campaign.settings.metrics if metric is None else ():
        if why := why_not_compared(other):
            show.tell(f"not compared: {why}")
    campaign.keep()


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
    rows = report.as_dicts() if form is Form.csv else [report.as_dict()]
    show.data(form, rows, lambda: _show_report(name, report))
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
    show.lines(report.comparisons, 500)
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


NOT_YET, REFUTED = 3, 4
"""The exit codes while a claim is not decided, and once one is refuted."""


_CLAIM = re.compile(r"\s*(?P<metric>\S.*?)\s*(?P<sign>>=|<=)\s*(?P<limit>[^<>=]+?)\s*", re.DOTALL)


def gate(
    name: Name,
    metric: Annotated[
        str | None, typer.Option(help="Metric of the claim; by default the first one.")
    ] = None,
    at_least: Annotated[
        float | None, typer.Option(help="Claim that the metric is at least this.")
    ] = None,
    at_most: Annotated[
        float | None, typer.Option(help="Claim that the metric is at most this.")
    ] = None,
    better_than: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Claim that a model is better than this.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Model of the claims; by default the first, or the other.")
    ] = None,
    margin: Annotated[
        float, typer.Option(help="Claim that it is better by more than this; may be negative.")
    ] = 0.0,
    claim: Annotated[
        list[str],
        typer.Option(metavar="TEXT", help="A claim such as 'share:pass>=0.92'; repeatable."),
    ] = [],  # noqa: B006
    level: Annotated[
        float | None, typer.Option(help="Confidence in each claim; by default the campaign's.")
    ] = None,
    allow_undecided: Annotated[
        bool, typer.Option("--allow-undecided", help="Let claims pass that are not decided yet.")
    ] = False,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the claims as JUnit XML too.")
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for labels until every claim is decided.")
    ] = False,
    timeout: Annotated[
        float | None, typer.Option(min=0, help="The most seconds that --wait waits.")
    ] = None,
    every: Annotated[float, typer.Option(min=0.05, help="Seconds between looks of --wait.")] = 1.0,
    form: Format = None,
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Decide claims: exit with 0 if all are shown, 4 if one is refuted, 3 if one is open.

    Each claim is decided by an interval with a finite-sample guarantee, and may be checked as
    often as you like. Nothing is stored.
    """
    asked = [_read_claim(text) for text in claim]
    if better_than is not None:
        asked.insert(0, _Asked(metric, "better than", margin, better_than))
    if at_most is not None:
        asked.insert(0, _Asked(metric, "<=", at_most))
    if at_least is not None:
        asked.insert(0, _Asked(metric, ">=", at_least))
    if not asked or (metric is not None and len(asked) == len(claim)):
        raise typer.BadParameter("say what to decide, as by --at-least 0.92.", param_hint="NAME")
    if margin and better_than is None:
        raise typer.BadParameter("it is for --better-than MODEL.", param_hint="--margin")
    if timeout is not None and not wait:
        raise typer.BadParameter("it is for --wait.", param_hint="--timeout")
    campaign = lv.load_campaign(name, storage=storage)
    claims: list[GateClaim] = []
    with suppress(KeyboardInterrupt):  # the way to stop waiting
        for _ in campaign.changes(every=every, timeout=timeout if wait else 0):
            claims = [_gate(campaign, one, model, level) for one in asked]
            if all(one.word != "not yet" for one in claims):
                break
    about = {"campaign": campaign.name, "last_hash": campaign.last_hash}
    rows = [{**one.as_dict(), **about} for one in claims]
    show.data(form, rows, lambda: show.lines(claims, 1000))
    if junit is not None:
        _write_junit(junit, name, claims, allow_undecided=allow_undecided)
    raise typer.Exit(_exit_code(claims, allow_undecided=allow_undecided))


class _Asked(NamedTuple):
    """A claim as it was asked: a metric and its limit, or the margin over another model."""

    metric: str | None
    relation: str
    limit: float
    against: str | None = None


def _read_claim(text: str) -> _Asked:
    """A claim that is written as METRIC>=LIMIT or METRIC<=LIMIT."""
    match = _CLAIM.fullmatch(text)
    if match is None:
        raise typer.BadParameter(
            f"{text!r} is not METRIC>=LIMIT or METRIC<=LIMIT, such as 'share:pass>=0.92'.",
            param_hint="--claim",
        )
    try:
        return _Asked(match["metric"], match["sign"], float(match["limit"]))
    except ValueError as wrong:
        raise typer.BadParameter(
            f"{match['limit']!r} in {text!r} is no number.", param_hint="--claim"
        ) from wrong


def _gate(campaign: "Campaign", one: _Asked, model: str | None, level: float | None) -> "GateClaim":
    """The word on a claim."""
    return campaign.gate(
        one.metric,
        at_least=one.limit if one.relation == ">=" else None,
        at_most=one.limit if one.relation == "<=" else None,
        better_than=one.against,
        margin=0.0 if one.against is None else one.limit,
        model=model,
        level=level,
    )


def _exit_code(claims: "Sequence[GateClaim]", *, allow_undecided: bool) -> int:
    """The code of the worst word."""
    words = {one.word for one in claims}
    passing = {"shown", "not yet"} if allow_undecided else {"shown"}
    if "refuted" in words:
        return REFUTED
    return 0 if words and words <= passing else NOT_YET


def _write_junit(
    path: Path, campaign: str, claims: "Sequence[GateClaim]", *, allow_undecided: bool
) -> None:
    """Write a test suite with one test case a claim.

    A refuted claim is a failure. One that is not decided yet is a failure too, or a skipped test
    if those are allowed.
    """
    undecided = "skipped" if allow_undecided else "failure"
    suite = ET.Element("testsuite", name=_text(f"levelled gate {campaign}"))
    for one in claims:
        case = ET.SubElement(suite, "testcase", classname=_text(campaign), name=_text(one.text))
        if one.word != "shown":
            kind = "failure" if one.word == "refuted" else undecided
            result = ET.SubElement(case, kind, message=_text(one.sentence))
            if kind == "failure":
                result.set("type", one.word)
        ET.SubElement(case, "system-out").text = _text(one)
    suite.set("tests", str(len(claims)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", "0")
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    root = ET.Element("testsuites")
    root.append(suite)
    tree = ET.ElementTree(root)
    replace_file(path, lambda file: tree.write(file, encoding="utf-8", xml_declaration=True))


def _text(value: object) -> str:
    """Text that XML may hold: control characters are escaped as a terminal shows them."""
    return show.plain(value, 2000)


def audit(
    name: Name,
    expect: Annotated[
        str | None,
        typer.Option(help="Hash of an event that was noted earlier, or its first 12 digits."),
    ] = None,
    sign: Annotated[
        Path | None,
        typer.Option(help="Private key (Ed25519, PEM) to sign the log with, if the audit passes."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The file that --sign writes; by default audit.json.")
    ] = None,
    verify: Annotated[
        Path | None, typer.Option(help="A file that --sign wrote, to compare the log with.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="Public key (Ed25519, PEM) of the file for --verify.")
    ] = None,
    storage: Storage = DEFAULT_STORAGE,
    pool: PoolFile = None,
    scores: ScoreFiles = [],  # noqa: B006
) -> None:
    """Compute again all that log and pool determine; print ok and the last hash, or differences."""
    from levelled.campaigns.audit import LogEnd, read_signature, write_signature

    if (verify is None) != (key is None):
        raise typer.BadParameter("--verify needs the public key (--key), and --key a file.")
    if out is not None and sign is None:
        raise typer.BadParameter("--out is for the signature, and needs a key (--sign).")
    if verify is not None and expect is not None:
        raise typer.BadParameter("Name a hash with --expect or a file with --verify, not both.")
    signed = None if verify is None or key is None else read_signature(verify, key)
    campaign = lv.load_campaign(name, storage=storage, pool=pool, scores=scores)
    result = campaign.audit(expect=expect if signed is None else signed.last_hash)
    if signed is not None and result.since != result.n_events - signed.n_events:
        result.append(
            f"the signature is of {signed.campaign!r} after {signed.n_events:,} events, and not of "
            f"this log"
        )
    _show_audit(result)
    if sign is not None:
        written = out or Path("audit.json")
        write_signature(LogEnd(name, result.n_events, result.last_hash), sign, written)
        show.tell(f"signed: {written}")


def _show_audit(result: "Audit") -> None:
    """Print the differences and end with 1, or print ok and the last hash."""
    for note in result.notes:
        show.tell(f"not checked: {note}")
    show.lines(result, 1000)
    if result:
        raise typer.Exit(1)
    typer.echo(f"ok: {result.n_events:,} events, last {result.last_hash}")
    if result.since:
        unchanged = result.n_events - result.since
        typer.echo(f"events up to {unchanged:,} unchanged, {result.since:,} more since")


def report(
    name: Name,
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("report.html"),
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Write a campaign as one HTML file: figures, plots, settings and corrections."""
    lv.load_campaign(name, storage=storage).report(out)
    show.tell(f"written: {out}")


def export(
    name: Name,
    out: Annotated[Path, typer.Option(help="A file ending in .parquet, .csv or .jsonl.")],
    raw: Raw = False,
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Write draws, labels, predictions and training weights to a file."""
    lv.load_campaign(name, storage=storage).export(out, raw=raw)
    show.tell(f"written: {out}")
