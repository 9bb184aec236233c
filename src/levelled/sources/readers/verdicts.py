"""Verdicts of judges as predictions: classes or ratings, one for every item."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from levelled.labels import class_text

NO_VERDICT = "no verdict"
"""The class of items on which a judge said nothing, for example because the run failed there."""

PASS_FAIL = {True: "pass", False: "fail"}


def read_verdicts(judge: str, values: Sequence[Any]) -> tuple[list[Any] | None, str | None]:
    """Verdicts fit to be predictions, or None if they cannot be, and a note on what was done.

    Where all are 0 or 1, or booleans, they become fail and pass; other numbers stay ratings, and
    text stays text. Gaps among classes become a class of their own; ratings with gaps cannot be
    predictions.

    >>> read_verdicts("exact", [1, 0.0, True])
    (['pass', 'fail', 'pass'], None)
    >>> read_verdicts("stars", [4, 2.5])
    ([4, 2.5], None)
    >>> read_verdicts("tone", ["kind", None])[0]
    ['kind', 'no verdict']
    """
    known = [value for value in values if not _is_gap(value)]
    n_gaps = len(values) - len(known)
    gaps = f"{n_gaps} of {len(values)} items have no verdict of {judge!r}"
    if not known:
        return None, f"no item has a verdict of {judge!r}, so it is no judge here"
    if any(isinstance(value, list | tuple | dict) for value in known):
        return None, f"the verdicts of {judge!r} have parts, so it is no judge here"
    if all(value in (0, 1) for value in known if not isinstance(value, str)) and not any(
        isinstance(value, str) for value in known
    ):
        classes = [None if _is_gap(value) else PASS_FAIL[bool(value)] for value in values]
    elif all(_is_number(value) for value in known):
        if n_gaps:
            return None, f"{gaps}, and ratings need one each, so it is no judge here"
        return [*values], None
    else:
        classes = [None if _is_gap(value) else class_text(value) for value in values]
    if not n_gaps:
        return classes, None
    return [NO_VERDICT if one is None else one for one in classes], f"{gaps}: {NO_VERDICT!r}"


def _is_gap(value: object) -> bool:
    return value is None or value == "" or (isinstance(value, float) and not math.isfinite(value))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
