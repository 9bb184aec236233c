"""Estimates in tables of plain text."""

from collections.abc import Iterable, Sequence

from levelled.estimators.record import Estimate

_NAMED = 6
"""Rows that a footnote names; it counts the others."""


def align(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in plain text: the first column to the left, the others to the right.

    >>> print(align(["slice", "labels"], [["mobile", "12"], ["web", "7"]]))
    slice   labels
    mobile      12
    web          7
    """
    table = [list(header), *[list(row) for row in rows]]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    lines = []
    for first, *rest in table:
        right = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *right]).rstrip())
    return "\n".join(lines)


def cells(estimate: Estimate) -> list[str]:
    """The three cells value, low, high of an estimate."""
    value = "undefined" if estimate.value is None else f"{estimate.value:.4g}"
    return [value, f"{estimate.low:.4g}", f"{estimate.high:.4g}"]


def footnotes(rows: Iterable[tuple[str, Estimate]]) -> str:
    """The warnings below a table, each once with the rows it is about; starts a new line."""
    about: dict[str, list[str]] = {}
    for name, estimate in rows:
        for warning in estimate.warnings:
            about.setdefault(warning, []).append(name)
    return "".join(f"\nnote ({_join(names)}): {warning}" for warning, names in about.items())


def _join(names: Sequence[str]) -> str:
    text = ", ".join(names[:_NAMED])
    return text if len(names) <= _NAMED else f"{text} and {len(names) - _NAMED} more"
