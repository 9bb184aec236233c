"""Rows of figures as aligned text."""

from collections.abc import Iterable, Sequence

from levelled.estimators.record import Estimate

__all__ = ["aligned", "cells", "footnotes"]

_NAMED = 6
"""Rows that a footnote names; it counts the others."""


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in plain text: the first column to the left, the others to the right.

    >>> print(aligned(["slice", "labels"], [["mobile", "12"], ["web", "7"]]))
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


def cells(found: Estimate) -> list[str]:
    """An estimate as the three cells value, low, high."""
    value = "undefined" if found.value is None else f"{found.value:.4g}"
    return [value, f"{found.low:.4g}", f"{found.high:.4g}"]


def footnotes(rows: Iterable[tuple[str, Estimate]]) -> str:
    """What a reader must know, each warning once with the rows it is about; starts a new line."""
    about: dict[str, list[str]] = {}
    for name, found in rows:
        for told in found.warnings:
            about.setdefault(told, []).append(name)
    return "".join(f"\nnote ({_named(names)}): {told}" for told, names in about.items())


def _named(names: Sequence[str]) -> str:
    told = ", ".join(names[:_NAMED])
    return told if len(names) <= _NAMED else f"{told} and {len(names) - _NAMED} more"
