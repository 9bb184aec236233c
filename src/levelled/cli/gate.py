"""`levelled gate`: claims about a campaign, decided for a build pipeline by the exit code."""

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

import levelled as lv
from levelled.cli import show
from levelled.cli.junit import write_junit
from levelled.cli.options import DEFAULT_STORAGE, Form, Format, Name, Storage

if TYPE_CHECKING:
    from levelled.campaigns import Campaign, GateClaim

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
        asked.insert(0, Asked(metric, "better than", margin, better_than))
    if at_most is not None:
        asked.insert(0, Asked(metric, "<=", at_most))
    if at_least is not None:
        asked.insert(0, Asked(metric, ">=", at_least))
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
    _show(campaign, claims, show.chosen(form))
    if junit is not None:
        write_junit(junit, name, claims, allow_undecided=allow_undecided)
    raise typer.Exit(_exit_code(claims, allow_undecided=allow_undecided))


class Asked(NamedTuple):
    """A claim as it was asked: a metric and its limit, or the margin over another model."""

    metric: str | None
    relation: str
    limit: float
    against: str | None = None


def _read_claim(text: str) -> Asked:
    """A claim that is written as METRIC>=LIMIT or METRIC<=LIMIT."""
    match = _CLAIM.fullmatch(text)
    if match is None:
        raise typer.BadParameter(
            f"{text!r} is not METRIC>=LIMIT or METRIC<=LIMIT, such as 'share:pass>=0.92'.",
            param_hint="--claim",
        )
    try:
        return Asked(match["metric"], match["sign"], float(match["limit"]))
    except ValueError as wrong:
        raise typer.BadParameter(
            f"{match['limit']!r} in {text!r} is no number.", param_hint="--claim"
        ) from wrong


def _gate(campaign: "Campaign", one: Asked, model: str | None, level: float | None) -> "GateClaim":
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


def _show(campaign: "Campaign", claims: "Sequence[GateClaim]", chosen: Form) -> None:
    """Print one line a claim, or its values."""
    if chosen is Form.table:
        for one in claims:
            typer.echo(show.plain(str(one), 1000))
        return
    about = {"campaign": campaign.name, "last_hash": campaign.last_hash}
    show.records([{**one.as_dict(), **about} for one in claims], chosen)


def _exit_code(claims: "Sequence[GateClaim]", *, allow_undecided: bool) -> int:
    """The code of the worst word."""
    words, passing = {one.word for one in claims}, {"shown"}
    if allow_undecided:
        passing.add("not yet")
    if "refuted" in words:
        return REFUTED
    return 0 if words and words <= passing else NOT_YET
