"""`levelled report`: a campaign as one HTML file."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from levelled.cli.options import DEFAULT_STORAGE, Name, Storage

if TYPE_CHECKING:
    from levelled.campaigns import Campaign, Figure
    from levelled.campaigns.state import CampaignState
    from levelled.reports import Figure as Line
    from levelled.reports import Report, Section

__all__ = ["report", "report_of"]

_LOOKS = 150
"""How many points a line needs to look like one."""


def report(
    name: Name,
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("report.html"),
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Write a campaign as one HTML file: figures, pictures, settings, and what was changed."""
    from levelled.campaigns import load_campaign, open_store
    from levelled.cli.show import tell
    from levelled.reports import page

    campaign = load_campaign(name, storage=storage)
    with open_store(storage, create=False) as store:
        last = store.last(name)
    text = page(report_of(campaign, "" if last is None else last.hash))
    out.write_text(text, encoding="utf-8", errors="backslashreplace")
    tell(f"written: {out}")


def report_of(campaign: "Campaign", last_hash: str) -> "Report":
    """What a report says of a campaign."""
    from datetime import UTC, datetime

    from levelled import __version__
    from levelled.reports import Report

    state, figures = campaign.state, campaign.estimate()
    now = datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC")
    return Report(
        title=campaign.name,
        at=f"Evaluation by Levelled {__version__}, {now}",
        facts=list(_facts(state)),
        figures=[_line(figure) for figure in figures],
        history=[_line(figure) for figure in _history(state)],
        target_width=state.settings.target_width,
        sections=list(_sections(state, figures[0])),
        record=[
            ("last hash", last_hash),
            ("events", str(state.n_events)),
            ("check it", f"levelled audit {campaign.name}"),
        ],
    )


def _history(state: "CampaignState") -> "Iterator[Figure]":
    """The first figure as it would have been read after ever more draws."""
    from levelled.campaigns.figures import figures

    settings = replace(
        state.settings,
        metrics=state.settings.metrics[:1],
        models=state.settings.models[:1],
        slices=(),
    )
    games: dict[str, object] = {}
    step = max(state.n_settled // _LOOKS, 1)
    for n in [*range(step, state.n_settled, step), state.n_settled]:
        if n:
            then = replace(state, settings=settings, attached={}, n_settled=n)
            found, games = figures(then, games)
            yield found[0]


def _line(figure: "Figure") -> "Line":
    from levelled.reports import Figure as Line

    told = figure.as_dict()
    return Line(
        figure.metric,
        figure.model,
        figure.slice,
        told["value"],
        told["low"],
        told["high"],
        told["level"],
        told["interval"],
        figure.n_settled,
        told["ess"],
        figure.pending_low,
        figure.pending_high,
        figure.estimate.warnings,
    )


def _facts(state: "CampaignState") -> Iterator[tuple[str, str]]:
    settings = state.settings
    yield "pool", f"{settings.pool_size} items, {settings.source or 'in memory'}"
    yield "fingerprint (sha256)", settings.fingerprint
    yield "metrics", ", ".join(settings.metrics)
    yield "models", ", ".join(name or "(unnamed)" for name in (*settings.models, *state.attached))
    if settings.classes is not None:
        yield "classes", ", ".join(settings.classes)
    if settings.slices:
        yield "slices", ", ".join(settings.slices)
    yield "labels", f"{len(state.answers)}, of a budget of {settings.budget or 'any number'}"
    yield "draws settled", f"{state.n_settled}; {len(state.open_draws())} are still out"
    if settings.n_sampled:
        yield "labelled beforehand", f"{settings.n_sampled}, a random sample"
    yield "drawn by", f"score {settings.score}, {settings.proposal}, floor {settings.floor:g}"
    yield "seed", str(settings.seed)
    yield "closed", state.closed or "no"


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _sections(state: "CampaignState", first: "Figure") -> "Iterator[Section]":
    """What was changed, doubted or could not be done."""
    from levelled.reports import Section

    changed = list(_amended(state))
    about = f"{_count(len(changed), 'answer')} replaced." if changed else "None."
    yield Section("Amended answers", about, ("draw", "id", "before", "now"), changed)
    second = list(_opinions(state))
    about = "None that differ."
    if second:
        about = f"{_count(len(second), 'answer')} to draws that had another one, which counts."
    columns = ("draw", "id", "counts", "second opinion", "by", "at")
    yield Section("Second opinions", about, columns, second)
    without = [(*_named(state, draw), why) for draw, why in sorted(state.resolved.items())]
    about = "None."
    if without:
        about = (
            f"{_count(len(without), 'draw')}; the estimated share of such items in the pool is "
            f"{first.unlabelable:.2%}, and the figures are over the rest."
        )
    yield Section("Items that cannot be labelled", about, ("draw", "id", "reason"), without)


def _amended(state: "CampaignState") -> Iterator[tuple[str, ...]]:
    for draw, before in sorted(state.amended.items()):
        was = " → ".join("(none)" if one is None else str(one) for one in before)
        yield *_named(state, draw), was, str(state.answers[draw].label)


def _opinions(state: "CampaignState") -> Iterator[tuple[str, ...]]:
    for draw, answers in sorted(state.opinions.items()):
        counts = state.answers.get(draw)
        for one in answers:
            kept = "(none)" if counts is None else str(counts.label)
            yield *_named(state, draw), kept, str(one.label), one.by or "", one.at


def _named(state: "CampaignState", draw: int) -> tuple[str, str]:
    return str(draw), str(state.draws[draw - 1].id)
