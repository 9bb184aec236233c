"""Figures: a list of figures that shows itself as a table, in a terminal and in a notebook."""

import io
import shutil
from collections.abc import Callable, Iterable, Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from levelled._optional import optional
from levelled._text import plain
from levelled.metrics.comparison import Figure
from levelled.reports.numbers import FIXED, VALIDITY, figure_cells, figure_notes, number_format
from levelled.reports.plots import Axes, draw_figures

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.table import Table

_NAMES, _NUMBERS = ("metric", "model", "slice"), ("value", "interval")
_LAYOUTS = (
    (*_NAMES, *_NUMBERS, "random labels"),
    (*_NAMES, *_NUMBERS, "random labels\nfor this width"),
    (*_NAMES, *_NUMBERS),
    ("figure", *_NUMBERS),
)
"""The columns of a table of figures; the first that fit the terminal are shown."""
_WIDEST = 1000
_CELL = "padding:0.2em 0.8em;text-align:"


class Figures(list[Figure]):
    """The figures of a campaign: a list that prints as the table of `levelled estimate`.

    `name` is that of the campaign. `learnt` says in one sentence what the campaign has learnt; it
    is asked only when the table is printed, because that may open the pool.

    >>> from levelled.estimators import Estimate
    >>> est = Estimate(
    ...     0.12, 0.08, 0.17, 0.95, 0.02, 60, 5000, 55.0, 2.0, "lure", "betting", worth=380.0
    ... )
    >>> one = Figure("error", "", None, est, n_labels=60, n_settled=60, n_pending=0)
    >>> print(Figures([one], "mail"))
    mail: 60 labels, 60 draws settled; 95% confidence, valid however often you look
    <BLANKLINE>
      metric    value           interval              random labels
     ───────────────────────────────────────────────────────────────
      error    0.1200   0.0800 to 0.1700   about 380 for this width
    <BLANKLINE>
    """

    def __init__(
        self,
        figures: Iterable[Figure],
        name: str = "",
        learnt: Callable[[], str | None] = lambda: None,
    ) -> None:
        super().__init__(figures)
        self.name = name
        self._learnt = learnt

    @property
    def title(self) -> str:
        """The number of labels, the confidence, and when the intervals are valid."""
        first, est = self[0], self[0].estimate
        pending = f", {first.n_pending} pending" if first.n_pending else ""
        return (
            f"{self.name}: {first.n_labels} labels, {first.n_settled} draws settled{pending}; "
            f"{est.level * 100:.4g}% confidence, {VALIDITY.get(est.interval, FIXED)}"
        )

    def notes(self, number: Callable[[float], str] | None = None) -> list[str]:
        """How the figures were read, what was learnt, and each warning once."""
        if not self:
            return []
        warnings = dict.fromkeys(text for one in self for text in one.estimate.warnings)
        said = [*figure_notes(self[0], number), *filter(None, [self._learnt()])]
        return [*(f"{text}." for text in said), *(f"note: {plain(one, 500)}" for one in warnings)]

    def to_pandas(self) -> Any:  # noqa: ANN401
        """A frame with a row for each figure, and the fields of the file format."""
        pandas = optional("pandas", extra="pandas")
        return pandas.DataFrame([one.as_dict() for one in self])

    def plot(self, axes: Axes = None) -> Axes:
        """Draw each figure with its interval, and in grey that of as many random labels.

        The axes are those of matplotlib; without any there are new ones.
        """
        return draw_figures(self, axes)

    def __str__(self) -> str:
        from rich.console import Console

        width = shutil.get_terminal_size().columns
        console = Console(file=io.StringIO(), width=width, color_system=None, legacy_windows=False)
        with console.capture() as text:
            console.print(self)
        return "\n".join(line.rstrip() for line in text.get().splitlines())

    __repr__ = __str__

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> Iterator[Any]:
        """The title, the widest table that fits, and the notes."""
        from rich.text import Text

        if not self:
            yield Text("no figures")
            return
        yield Text(plain(self.title, 500), style="bold")
        wide = options.update(width=_WIDEST)
        tables = map(self._table, _LAYOUTS)
        yield next(
            (one for one in tables if console.measure(one, options=wide).maximum <= console.width),
            self._table(_LAYOUTS[-1]),
        )
        yield from map(Text, self.notes())

    def _table(self, columns: tuple[str, ...]) -> "Table":
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text

        rows, table = [_cells_of(one) for one in self], Table(box=SIMPLE_HEAD)
        shown = [column for column in columns if any(row[column] for row in rows)]
        for column in shown:
            is_name = column in ("figure", *_NAMES)
            table.add_column(
                column,
                justify="left" if is_name else "right",
                no_wrap=not is_name,
                overflow="fold",
            )
        for figure, row in zip(self, rows, strict=True):
            style = "bold" if figure.slice is None else ""
            table.add_row(*(Text(row[column], style=style) for column in shown))
        return table

    def _repr_html_(self) -> str:
        """The same table for a notebook, in per cent where that is usual."""
        if not self:
            return "<p>no figures</p>"
        rows = [figure_cells(one, number_format(one)) for one in self]
        columns = [column for column in rows[0] if any(row[column] for row in rows)]
        side = {column: "left" if column in _NAMES else "right" for column in columns}
        head = "".join(f'<th style="{_CELL}{side[one]}">{one}</th>' for one in columns)
        lines = (
            "".join(f'<td style="{_CELL}{side[one]}">{_cell(row[one])}</td>' for one in columns)
            for row in rows
        )
        body = "".join(f"<tr>{line}</tr>" for line in lines)
        notes = "<br>".join(_cell(note, 600) for note in self.notes(number_format(self[0])))
        return (
            f"<p>{_cell(self.title, 500)}</p><table><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table><p><small>{notes}</small></p>"
        )


def _cell(text: str, most: int = 60) -> str:
    return escape(plain(text, most))


def _cells_of(figure: Figure) -> dict[str, str]:
    """A row of safe cells, also with one name for all three and with fewer words."""
    row = {column: plain(cell, 40) for column, cell in figure_cells(figure).items()}
    row["figure"] = (
        f"  {row['slice']}" if row["slice"] else f"{row['metric']} {row['model']}".rstrip()
    )
    row["random labels\nfor this width"] = row["random labels"].removesuffix(" for this width")
    return row
