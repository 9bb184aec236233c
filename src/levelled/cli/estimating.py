"""`levelled estimate`: what a campaign says so far, once or while labels come in."""

import math
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from levelled.cli.options import DEFAULT_STORAGE, Form, Format, Name, Storage

if TYPE_CHECKING:
    from rich.console import Group

    from levelled.campaigns import Campaign, Figure

__all__ = ["NOT_REACHED", "estimate", "picture"]

NOT_REACHED = 3
"""The exit code while an interval is wider than its target."""

_NUMBERS = ("value", "interval", "with those out", "ess")


def estimate(
    name: Name,
    watch: Annotated[
        bool, typer.Option("--watch", help="Show it anew whenever labels come in.")
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
    from levelled.campaigns import load_campaign
    from levelled.cli import show

    campaign = load_campaign(name, storage=storage)
    target = _target(campaign, target_width)
    wanted = show.chosen(form)
    looks = _looks(campaign, target, every) if watch else iter([campaign.estimate()])
    figures = _watched(looks, wanted, name) if watch else next(looks)
    if not watch:
        _show(figures, wanted, name)
    _keep(campaign)
    if not _reached(figures, target):
        raise typer.Exit(NOT_REACHED)


def _target(campaign: "Campaign", width: float | None) -> float | None:
    """The width to be reached, which only an interval that may be watched can promise."""
    from levelled._check import between
    from levelled.errors import CampaignError
    from levelled.metrics.named import parse_metric

    settings = campaign.settings
    if width is None:
        return settings.target_width
    if parse_metric(settings.metrics[0]).interval != "betting":
        raise CampaignError(
            f"--target-width needs an interval that holds whenever one stops, and "
            f"{settings.metrics[0]} has only an asymptotic one."
        )
    return between("--target-width", width, 0, math.inf, open_=True)


def _reached(figures: "Sequence[Figure]", target: float | None) -> bool:
    first = figures[0].estimate
    return target is None or first.high - first.low <= target


def _looks(
    campaign: "Campaign", target: float | None, every: float
) -> "Iterator[Sequence[Figure]]":
    """The estimates after each change, until the target is reached or the campaign closed."""
    seen = -1
    while True:
        state = campaign.state
        if state.n_events != seen:
            seen = state.n_events
            figures = campaign.estimate()
            yield figures
            if state.closed is not None or (target is not None and _reached(figures, target)):
                return
        time.sleep(every)


def _watched(looks: "Iterator[Sequence[Figure]]", wanted: Form, name: str) -> "Sequence[Figure]":
    """Show each look until there are no more or Ctrl-C; returns the last."""
    from rich.console import Console
    from rich.live import Live

    figures = next(looks)
    try:
        if wanted is not Form.table:
            _show(figures, wanted, name)
            for figures in looks:
                _show(figures, wanted, name)
            return figures
        console = Console()
        with Live(picture(figures, name), console=console, auto_refresh=False) as live:
            live.refresh()
            for figures in looks:
                live.update(picture(figures, name), refresh=True)
    except KeyboardInterrupt:
        pass  # that is how one stops watching
    return figures


def _show(figures: "Sequence[Figure]", wanted: Form, name: str) -> None:
    from rich.console import Console

    from levelled.cli import show

    if wanted is Form.table:
        Console().print(picture(figures, name))
    else:
        show.records([figure.as_dict() for figure in figures], wanted)


def picture(figures: "Sequence[Figure]", name: str) -> "Group":
    """The table of an estimate, and below it each warning once."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from levelled.cli.show import plain

    rows = [_cells(figure) for figure in figures]
    title = Text(f"{plain(name, 60)}: {_labels(figures[0])}", style="bold")
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    columns = [column for column in rows[0] if any(row[column] for row in rows)]
    for column in columns:
        number = column in _NUMBERS
        table.add_column(column, justify="right" if number else "left", no_wrap=number)
    for figure, row in zip(figures, rows, strict=True):
        style = "bold" if figure.slice is None else ""
        table.add_row(*(Text(row[column], style=style) for column in columns))
    warnings = dict.fromkeys(told for figure in figures for told in figure.estimate.warnings)
    return Group(table, *(Text(f"note: {plain(told, 500)}") for told in warnings))


def _labels(figure: "Figure") -> str:
    told = f"{figure.n_labels} labels, {figure.n_settled} draws settled"
    if figure.n_pending:
        told += f", {figure.n_pending} still out"
    return f"{told}, intervals at {figure.estimate.level:.4g}"


def _cells(figure: "Figure") -> dict[str, str]:
    from levelled.cli.show import plain

    est = figure.estimate
    value = "–" if est.value is None else _number(est.value)  # noqa: RUF001
    bracket = ""
    if figure.pending_low is not None and figure.pending_high is not None:
        bracket = f"{_number(figure.pending_low)} – {_number(figure.pending_high)}"  # noqa: RUF001
    return {
        "metric": plain(figure.metric, 40),
        "model": plain(figure.model, 40),
        "slice": plain(figure.slice, 40),
        "value": value,
        "interval": f"{_number(est.low)} – {_number(est.high)}",  # noqa: RUF001
        "with those out": bracket,
        "ess": f"{est.ess:.0f}",
    }


def _number(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:.6g}"


def _keep(campaign: "Campaign") -> None:
    """Spare the next look the replay; a storage that may only be read is no reason to fail."""
    from levelled.cli.show import tell
    from levelled.errors import StorageError

    try:
        campaign.keep()
    except StorageError as refused:
        tell(f"the estimate could not be kept for the next time: {refused}")
