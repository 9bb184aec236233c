"""Commands that read campaigns, from `levelled list` to `levelled audit`."""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

import levelled as lv
from levelled._files import replace_file
from levelled.campaigns.options import OPTIONS
from levelled.cli import show
from levelled.cli.options import (
    DEFAULT_STORAGE,
    Form,
    Format,
    Number,
    Opened,
    OpenedWithFiles,
    OpenedWithPool,
    Raw,
    Storage,
    argument,
    choose_one,
    complete_campaigns,
    flag,
    refuse,
)

if TYPE_CHECKING:
    from levelled.campaigns import Campaign, Figures, GateClaim
    from levelled.estimators import Estimate
    from levelled.metrics import Comparison
    from levelled.metrics.judging import JudgeReport

Expect = Annotated[
    str | None, flag("Hash of an event that was noted earlier, or its first 12 digits.")
]

NOT_YET, REFUTED = 3, 4
"""The exit codes while a target is not reached or a claim not decided, and once it is refuted."""


def list_(form: Format = None, storage: Storage = DEFAULT_STORAGE) -> None:
    """List the campaigns of a storage."""
    from levelled.campaigns.log.log import CampaignLog
    from levelled.campaigns.summary import summarise

    with lv.campaigns.open_store(storage, create=False) as store:
        logs = [CampaignLog(name, store) for name in store.names()]
        summaries, refusals = [], []
        for log in logs:  # one that cannot be trusted hides no other
            try:
                summaries.append(summarise(*log.overview()))
            except lv.errors.LevelledError as refused:
                refusals.append(str(refused))
    columns = ["name", "metrics", "n_labels", "n_settled", "n_pending", "budget", "pool_size"]
    rows = [
        [
            *(_cell(row[column]) for column in columns),
            "open" if row["closed"] is None else f"closed: {_cell(row['closed'])}",
        ]
        for row in summaries
    ]
    _tell_not_checked(*chain.from_iterable(row["metrics"] for row in summaries))
    names = [*(column.removeprefix("n_") for column in columns), "state"]
    show.data(form, summaries, lambda: show.show_rows("Campaigns", names, rows))
    for refusal in refusals:
        show.tell(f"levelled: {refusal}")
    if refusals:
        raise click.exceptions.Exit(1)


def status(campaign: Opened, form: Format = None) -> None:
    """Show the progress and the settings of a campaign."""
    from levelled.campaigns.summary import summarise

    summary = summarise(campaign.state, campaign.last_hash)
    campaign.keep()
    _tell_not_checked(*summary["metrics"])
    show.data(form, [summary], lambda: _show_status(campaign, summary))
    show.tell_waiting(campaign)


def _tell_not_checked(*metrics: str) -> None:
    """Say which metrics of one's own are but names so far; none of them is imported for it."""
    for metric in dict.fromkeys(name for name in metrics if ":" in name):
        from levelled.campaigns.trust import why_not_approved  # others need no metric here
        from levelled.metrics.named import own_module

        module = own_module(metric)
        if module is not None and (why := why_not_approved(module)):
            show.tell(f"not checked: {show.plain(metric, 200)}. {show.plain(why, 1000)}")


def _show_status(campaign: "Campaign", summary: dict[str, Any]) -> None:
    """Print a summary without what is as usual."""
    defaults = lv.sources.ColumnChoices().to_json()
    columns = [
        f"{column} {_cell([*value] if isinstance(value, tuple) else value)}"
        for column, value in campaign.settings.columns.to_json().items()
        if value != defaults.get(column, {})
    ]
    usual: dict[str, Any] = {
        **{one.name: one.default for one in OPTIONS.values() if one.quiet},
        **dict.fromkeys(one.name for one in OPTIONS.values() if one.only_static),
        **{key: [] for key in ("features", "columns", "questions", "pair")},
        **dict.fromkeys(("agreement", "group", "n_groups")),
    }
    shown = {**summary, "agreement": campaign.agreement(), "columns": columns}
    rows = [
        (key.removeprefix("n_"), _cell(value))
        for key, value in shown.items()
        if key not in usual or value != usual[key]
    ]
    show.show_rows("", ["", show.plain(campaign.name)], rows, figures=False)


def _cell(value: object) -> str:
    if isinstance(value, dict):
        value = [f"{column}={'+'.join(roles)}" for column, roles in value.items()]
    if isinstance(value, list):
        return ", ".join(show.plain(one or "(unnamed)") for one in value)
    return show.plain(value)


def estimate(
    campaign: Opened,
    watch: Annotated[bool, flag("Print it again whenever labels come in.")] = False,
    target_width: Annotated[
        float | None, flag("Exit with 3 while the first interval is wider; else the campaign's.")
    ] = None,
    every: Annotated[float, flag("Seconds between looks of --watch.", min=0.05)] = 1.0,
    form: Format = None,
) -> None:
    """Print each metric with its interval.

    The exit code is 3 until the target width is reached.
    """
    chosen = show.chosen(form)
    if watch:
        looks = campaign.watch(target_width=target_width, every=every)
        figures = _show_looks(looks, chosen, campaign)
        reached = campaign.is_reached(figures, target_width)
    else:
        figures, last_hash = campaign.estimate(), campaign.last_hash
        reached = campaign.is_reached(figures, target_width)
        _show_figures(figures, chosen, last_hash)
    show.tell_waiting(campaign)
    campaign.keep()
    if not reached:
        raise click.exceptions.Exit(NOT_YET)


def _show_looks(looks: "Iterator[Figures]", chosen: Form, campaign: "Campaign") -> "Figures":
    """Show each look until the last one or Ctrl-C; returns the figures shown last."""
    from rich.console import Console
    from rich.live import Live

    figures = first = next(looks)
    try:
        if chosen is not Form.table or not sys.stdout.isatty():  # where none is drawn over
            for figures in chain([first], looks):
                _show_figures(figures, chosen, campaign.last_hash)
            return figures
        with Live(console=Console(), auto_refresh=False) as live:
            for figures in chain([first], looks):
                live.update(figures, refresh=True)
    except KeyboardInterrupt:
        pass  # the way to stop watching
    return figures


def _show_figures(figures: "Figures", chosen: Form, last_hash: str) -> None:
    from rich.console import Console

    from levelled.campaigns.summary import figure_records

    if chosen is Form.table:
        Console().print(figures)
    else:
        show.records(figure_records(figures, last_hash), chosen)


def compare(
    name: Annotated[
        str,
        argument(
            "Name of the campaign, or a file of predictions.",
            metavar="NAME|FILE",
            shell_complete=complete_campaigns,
        ),
    ],
    model: Annotated[
        str,
        argument("Name of the model, or the other model's file.", metavar="MODEL|FILE"),
    ],
    against: Annotated[
        str | None, flag("Name of the other model; by default the first one.")
    ] = None,
    metric: Annotated[
        str | None, flag("Metric to compare; by default all of the campaign, or error.")
    ] = None,
    labels: Annotated[
        str | None,
        flag(
            "For files: ids and labels of a random sample, or draws as levelled export writes "
            "them; by default the column label of the first file."
        ),
    ] = None,
    form: Format = None,
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Say which of two models is better, and by how much.

    The labels are those of a campaign, or of a file if the first word names one.
    """
    if Path(name).is_file():
        from levelled.campaigns.file_comparison import compare_files

        refuse("does not go with files", "against", "storage")
        _show_comparisons([compare_files(name, model, labels, metric or "error")], form)
        return
    from levelled.campaigns.figures.comparing import why_not_compared

    try:
        campaign = lv.load_campaign(name, storage=storage)
    except lv.errors.LevelledError as unknown:
        if "/" not in name and not Path(name).suffix:
            raise
        raise lv.errors.InputError(f"There is no file {name!r}. {unknown}") from unknown
    refuse("does not go with a campaign", "labels")
    _show_comparisons(campaign.compare(model, against, metric), form)
    for other in campaign.settings.metrics if metric is None else ():
        if why := why_not_compared(other):
            show.tell(f"not compared: {why}")
    campaign.keep()


def _show_comparisons(comparisons: "Sequence[Comparison]", form: Form | None) -> None:
    notes = [f"note: {text}" for one in comparisons for text in one.difference.warnings]
    texts = [*(f"{one.metric}: {one.verdict}" for one in comparisons), *dict.fromkeys(notes)]
    rows = [one.as_dict() for one in comparisons]
    show.data(form, rows, lambda: show.lines(texts, 500))


def judge(
    campaign: OpenedWithPool,
    model: Annotated[
        str | None, flag("Model whose verdicts are checked; the first by default.", "--judge")
    ] = None,
    against: Annotated[str | None, flag("Another judge, compared on the same labels.")] = None,
    positive: Annotated[
        str | None, flag("Verdict to count; by default the class of the first metric.")
    ] = None,
    by: Annotated[str | None, flag("Slice to look at; by default all of the campaign.")] = None,
    tpr: Annotated[
        float, flag("TPR asked of a judge that is used unattended.", min=0, max=1)
    ] = 0.9,
    tnr: Annotated[float, flag("TNR asked of it.", min=0, max=1)] = 0.9,
    form: Format = None,
) -> None:
    """Check a judge against the labels of people.

    Prints the corrected rate, TPR, TNR and kappa of the judge, and where it fails.
    """
    report = campaign.judge(model, against=against, positive=positive, by=by, tpr=tpr, tnr=tnr)
    rows = report.as_dicts() if form is Form.csv else [report.as_dict()]
    show.data(form, rows, lambda: _show_report(campaign.name, report))
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
        click.echo(f"used unattended? {report.decision.answer}: {report.decision.because}.")
    show.lines(report.comparisons, 500)
    figures = {report.rate_name: report.rate, **report.figures}
    notes: dict[str, list[str]] = {}
    for figure, estimate in figures.items():
        for note in estimate.warnings:
            notes.setdefault(note, []).append(figure)
    for note, of in notes.items():
        about = "" if len(of) == len(figures) else f"{', '.join(of)}: "
        click.echo(f"note: {show.plain(f'{about}{note}', 500)}")


def _cells(estimate: "Estimate") -> tuple[str, str]:
    value = estimate.value_text if estimate.value is None else f"{estimate.value:.3f}"
    return value, f"{estimate.low:.3f} to {estimate.high:.3f}"


_CLAIM = re.compile(r"\s*(?P<metric>\S.*?)\s*(?P<sign>>=|<=)\s*(?P<limit>[^<>=]+?)\s*", re.DOTALL)


def gate(
    campaign: Opened,
    metric: Annotated[str | None, flag("Metric of the claim; by default the first one.")] = None,
    at_least: Annotated[float | None, flag("Claim that the metric is at least this.")] = None,
    at_most: Annotated[float | None, flag("Claim that the metric is at most this.")] = None,
    better_than: Annotated[
        str | None, flag("Claim that a model is better than this.", metavar="MODEL")
    ] = None,
    model: Annotated[
        str | None, flag("Model of the claims; by default the first, or the other.")
    ] = None,
    margin: Annotated[
        float, flag("Claim that it is better by more than this; may be negative.")
    ] = 0.0,
    claim: Annotated[
        list[str], flag("A claim such as 'share:pass>=0.92'; repeatable.", metavar="TEXT")
    ] = [],  # noqa: B006
    level: Annotated[
        float | None, flag("Confidence in each claim; by default the campaign's.")
    ] = None,
    allow_undecided: Annotated[bool, flag("Let claims pass that are not decided yet.")] = False,
    junit: Annotated[
        Path | None, flag("Write the claims as JUnit XML too.", metavar="FILE")
    ] = None,
    wait: Annotated[bool, flag("Wait for labels until every claim is decided.")] = False,
    timeout: Annotated[float | None, flag("The most seconds that --wait waits.", min=0)] = None,
    every: Annotated[float, flag("Seconds between looks of --wait.", min=0.05)] = 1.0,
    expect: Expect = None,
    form: Format = None,
) -> None:
    """Decide claims about a model, such as that it is good enough.

    Exits with 0 if all are shown, 4 if one is refuted, 3 if one is open, 1 if the labels contradict
    the probabilities of their draws. Each claim is decided by an interval with a finite-sample
    guarantee, and may be checked as often as you like. Nothing is stored.
    """
    limits = {"at_least": at_least, "at_most": at_most, "better_than": better_than}
    asked: list[dict[str, Any]] = [
        {"metric": metric, word: limit} for word, limit in limits.items() if limit is not None
    ]
    if better_than is not None:
        asked[-1]["margin"] = margin
    asked += map(_read_claim, claim)
    if not asked:
        raise click.UsageError("Name a claim: --at-least, --at-most, --better-than or --claim.")
    if len(asked) == len(claim):
        refuse("is for --at-least, --at-most and --better-than; --claim names its own", "metric")
    if better_than is None:
        refuse("needs --better-than", "margin")
    if not wait:
        refuse("needs --wait", "timeout")
    if expect is not None:
        campaign.expect(expect)
    claims: list[GateClaim] = []
    with suppress(KeyboardInterrupt):  # the way to stop waiting
        for _ in campaign.changes(every=every, timeout=timeout if wait else 0):
            claims = [campaign.gate(**one, model=model, level=level) for one in asked]
            if all(one.word != "not yet" for one in claims):
                break
    about = {"campaign": campaign.name, "last_hash": campaign.last_hash}
    rows = [{**one.as_dict(), **about} for one in claims]
    show.data(form, rows, lambda: show.lines([*claims, f"last hash: {campaign.last_hash}"], 1000))
    if junit is not None:
        _write_junit(junit, campaign.name, claims, allow_undecided=allow_undecided)
    words = {one.word for one in claims}
    if "contradiction" in words:
        raise click.exceptions.Exit(1)
    if "refuted" in words:
        raise click.exceptions.Exit(REFUTED)
    passing = {"shown", "not yet"} if allow_undecided else {"shown"}
    raise click.exceptions.Exit(0 if words and words <= passing else NOT_YET)


def _read_claim(text: str) -> dict[str, Any]:
    """A claim that is written as METRIC>=LIMIT or METRIC<=LIMIT, as `Campaign.gate` takes it."""
    match = _CLAIM.fullmatch(text)
    if match is None:
        raise click.BadParameter(
            f"{text!r} is not METRIC>=LIMIT or METRIC<=LIMIT, such as 'share:pass>=0.92'.",
            param_hint="--claim",
        )
    try:
        limit = "at_least" if match["sign"] == ">=" else "at_most"
        return {"metric": match["metric"], limit: Number().convert(match["limit"], None, None)}
    except click.BadParameter as wrong:
        raise click.BadParameter(
            f"{match['limit']!r} in {text!r} is no number.", param_hint="--claim"
        ) from wrong


def _write_junit(
    path: Path, campaign: str, claims: "Sequence[GateClaim]", *, allow_undecided: bool
) -> None:
    """Write a test suite with one test case a claim.

    A refuted claim is a failure, and so is a contradiction. One that is not decided yet is a
    failure too, or a skipped test if those are allowed.
    """
    from xml.etree import ElementTree as ET

    kinds = {"not yet": "skipped" if allow_undecided else "failure", "shown": ""}
    results = [kinds.get(one.word, "failure") for one in claims]
    suite = ET.Element(
        "testsuite",
        name=_text(f"levelled gate {campaign}"),
        tests=str(len(claims)),
        failures=str(results.count("failure")),
        errors="0",
        skipped=str(results.count("skipped")),
    )
    for one, kind in zip(claims, results, strict=True):
        case = ET.SubElement(suite, "testcase", classname=_text(campaign), name=_text(one.text))
        if kind:
            result = ET.SubElement(case, kind, message=_text(one.sentence))
            if kind == "failure":
                result.set("type", one.word)
        ET.SubElement(case, "system-out").text = _text(one)
    root = ET.Element("testsuites")
    root.append(suite)
    tree = ET.ElementTree(root)
    replace_file(path, lambda file: tree.write(file, encoding="utf-8", xml_declaration=True))


def _text(value: object) -> str:
    """Text that XML may hold: control characters are escaped as a terminal shows them."""
    return show.plain(value, 2000)


def audit(
    campaign: OpenedWithFiles,
    expect: Expect = None,
    anchor: Annotated[
        Path | None, flag("File of noted hashes; by default the campaign's own, if it has one.")
    ] = None,
    sign: Annotated[
        Path | None, flag("Private key (Ed25519, PEM) to sign the log with, if the audit passes.")
    ] = None,
    out: Annotated[Path | None, flag("The file that --sign writes; by default audit.json.")] = None,
    verify: Annotated[
        Path | None, flag("A file that --sign wrote, to compare the log with.")
    ] = None,
    key: Annotated[Path | None, flag("Public key (Ed25519, PEM) of the file for --verify.")] = None,
) -> None:
    """Compute again all that log and pool determine, and compare.

    Prints ok and the hash of the last event, or each difference.
    """
    from levelled.campaigns.audit import LogEnd, read_signature, write_signature

    if (verify is None) != (key is None):
        raise click.UsageError("--verify and --key go together.")
    if sign is None:
        refuse("needs --sign", "out")
    choose_one(expect=expect, verify=verify)
    signed = None if verify is None or key is None else read_signature(verify, key)
    if anchor is not None and not anchor.is_file():
        raise lv.errors.InputError(f"There is no anchor {str(anchor)!r}.")
    noted = expect if signed is None else signed.last_hash
    result = campaign.audit(expect=noted, anchor=anchor)
    if signed is not None and result.since != result.n_events - signed.n_events:
        result.append(
            f"the signature is of {signed.campaign!r} after {signed.n_events:,} events, and not of "
            f"this log"
        )
    for note in result.notes:
        show.tell(f"not checked: {note}")
    show.lines(result, 1000)
    if result:
        raise click.exceptions.Exit(1)
    click.echo(f"ok: {result.n_events:,} events, last {result.last_hash}")
    if result.since:
        unchanged = result.n_events - result.since
        click.echo(f"events up to {unchanged:,} unchanged, {result.since:,} more since")
    if sign is not None:
        written = out or Path("audit.json")
        write_signature(LogEnd(campaign.name, result.n_events, result.last_hash), sign, written)
        show.tell(f"signed: {written}")


def report(
    campaign: Opened, out: Annotated[Path, flag("A file ending in .html.")] = Path("report.html")
) -> None:
    """Write figures, plots, settings and corrections as an HTML file."""
    campaign.report(out)
    show.tell(f"written: {out}; last hash: {campaign.last_hash}")


def export(
    campaign: Opened,
    out: Annotated[Path, flag("A file ending in .parquet, .csv or .jsonl.")],
    raw: Raw = False,
) -> None:
    """Write draws, labels, predictions and training weights to a file."""
    campaign.export(out, raw=raw)
    show.tell(f"written: {out}")
