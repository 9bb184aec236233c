"""The table of estimates on a terminal, and the notes below it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from levelled.cli import show

if TYPE_CHECKING:
    from rich.console import Group

    from levelled.campaigns import Campaign, Figure

_LATEST, _WORTH = "with all labels", "as precise as"
_NAMES = ("metric", "model", "slice")
_NUMBERS = ("value", "interval", _LATEST, _WORTH)


def figure_table(figures: "Sequence[Figure]", campaign: "Campaign") -> "Group":
    """The figures as a table; below it what was learnt, how they were read, and each warning."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console, Group
    from rich.table import Table
    from rich.text import Text

    from levelled.reports.numbers import figure_notes

    rows = _fit_rows([_figure_row(figure) for figure in figures], Console().width)
    title = Text(f"{show.plain(campaign.name, 60)}: {_progress(figures[0])}", style="bold")
    table = Table(box=SIMPLE_HEAD)
    for column in rows[0]:
        number = column.replace("\n", " ") in _NUMBERS
        justify: Literal["left", "right"] = "right" if number else "left"
        table.add_column(column, justify=justify, no_wrap=number, overflow="fold")
    for figure, row in zip(figures, rows, strict=True):
        style = "bold" if figure.slice is None else ""
        table.add_row(*(Text(cell, style=style) for cell in row.values()))
    warnings = dict.fromkeys(text for figure in figures for text in figure.estimate.warnings)
    learnt = campaign.predictor
    notes = [f"{note}." for note in figure_notes(figures[0])]
    notes += [] if learnt is None else [f"{learnt.summary}."]
    notes += [f"note: {show.plain(text, 500)}" for text in warnings]
    return Group(title, table, *map(Text, notes))


def _figure_row(figure: "Figure") -> dict[str, str]:
    """The cells of a figure; the note below the table says what pending labels may change."""
    from levelled.reports.numbers import figure_cells

    return {column: show.plain(cell, 40) for column, cell in figure_cells(figure).items()}


def _fit_rows(rows: list[dict[str, str]], width: int) -> list[dict[str, str]]:
    """The rows without empty columns, and with fewer words where they are wider than `width`."""
    filled = [column for column in rows[0] if any(row[column] for row in rows)]
    rows = [{column: row[column] for column in filled} for row in rows]
    for shorten in (_shorten_worth, _break_heading, _drop_worth, _join_names, _drop_latest):
        if _width_of(rows) <= width:
            break
        rows = [shorten(row) for row in rows]
    return rows


def _width_of(rows: list[dict[str, str]]) -> int:
    """The characters that a table of these rows takes, with its rules and blanks."""
    from rich.cells import cell_len

    texts = [[*column.split("\n"), *(row[column] for row in rows)] for column in rows[0]]
    return sum(max(map(cell_len, column)) + 3 for column in texts) + 1


def _shorten_worth(row: dict[str, str]) -> dict[str, str]:
    if _WORTH not in row:
        return row
    return row | {_WORTH: row[_WORTH].removeprefix("about ").removesuffix(" labels")}


def _break_heading(row: dict[str, str]) -> dict[str, str]:
    broken = {_LATEST: "with all\nlabels"}
    return {broken.get(column, column): cell for column, cell in row.items()}


def _drop_worth(row: dict[str, str]) -> dict[str, str]:
    return {column: cell for column, cell in row.items() if column != _WORTH}


def _join_names(row: dict[str, str]) -> dict[str, str]:
    """One column for the names: the slice, or the metric and the model of the whole pool."""
    whole = " ".join(filter(None, (row["metric"], row.get("model", ""))))
    rest = {column: cell for column, cell in row.items() if column not in _NAMES}
    return {"figure": f"  {row['slice']}" if row.get("slice") else whole, **rest}


def _drop_latest(row: dict[str, str]) -> dict[str, str]:
    return {
        column: cell for column, cell in row.items() if _LATEST not in column.replace("\n", " ")
    }


def _progress(figure: "Figure") -> str:
    from levelled.reports.numbers import FIXED, VALIDITY

    est = figure.estimate
    pending = f", {figure.n_pending} pending" if figure.n_pending else ""
    return (
        f"{figure.n_labels} labels, {figure.n_settled} draws settled{pending}; "
        f"{est.level * 100:.4g}% confidence, {VALIDITY.get(est.interval, FIXED)}"
    )
