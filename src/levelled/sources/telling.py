"""Columns from whose content a labeller could tell the prediction."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import numpy as np

_WORD = re.compile(r"-?\d+(?:[.,]\d+)?|[^\W\d_]+")
_MISSED = 10
"""Guard: a column tells the prediction if it misses one in so many of those that the most frequent
class misses. So a column that is constant, or a slice with other classes in it, tells nothing."""
_LEAST_OTHERS = 6
"""Guard: rows of other classes than the most frequent. Six of each of two classes lie apart by
chance in one of 462 columns of numbers."""
_FEW = 5  # guard: values for each class; items that repeat may have one prediction each


def told_by(pred: Sequence[str | int | float]) -> Callable[[Sequence[Any], bool], bool]:
    """A function that says if the values of a column tell these predictions, in random order.

    They do if nearly all of them name the predicted class and no other one, or (unless its second
    argument is true) if rows of one value, or with numbers next to each other, have one prediction.

    >>> tells = told_by(["pass", "fail"] * 6)
    >>> tells(["I say pass", "I say fail"] * 6, False), tells([0.9, 0.2] * 6, False)
    (True, True)
    >>> tells(["pass or fail?"] * 12, False), tells([0.9, 0.2] * 6, True)
    (False, False)
    """
    n, texts, names = len(pred), [str(one).lower() for one in pred], [*map(_words, pred)]
    others = {own: [one for one in {*names} if one not in own] for own in {*names}}
    classes = np.unique(np.asarray(pred), return_inverse=True)[1]
    if not isinstance(pred[0], str) and 2 * len({*pred}) > n:
        classes = (np.asarray(pred) > np.median(np.asarray(pred))).astype(np.int64)
    n_classes, n_others = len({*classes.tolist()}), n - max(Counter(classes.tolist()).values())
    varied, most = n_others >= _LEAST_OTHERS, n_others // _MISSED
    have_names = varied and len({*names}) == len({*texts})  # else any text may have the word in it

    def named(value: object, text: str, own: str) -> bool:
        if str(value).strip().lower() == text or not have_names:
            return str(value).strip().lower() == text
        words = _words(value)
        return own in words and not any(one in words for one in others[own])

    def tells(values: Sequence[Any], only_names: bool) -> bool:
        rows = zip(values, texts, names, strict=True)
        missed = (1 for value, text, own in rows if not named(value, text, own))
        if sum(islice(missed, most + 1)) <= most:  # given up early: there may be 20,000 columns
            return True
        if only_names or not varied or 2 * n_classes > n:
            return False
        try:
            keys = np.array([np.nan if v in (None, "") else _number(v) for v in values])
        except (TypeError, ValueError):
            codes: dict[str, int] = {}
            keys = np.array([codes.setdefault(str(value), len(codes)) for value in values])
            if len(codes) > _FEW * n_classes:
                return False
        changes = np.count_nonzero(np.diff(classes[np.argsort(keys, kind="stable")]))
        return bool(changes - (n_classes - 1) <= 2 * most)  # a row out of place changes it twice

    return tells


def _words(value: object) -> str:
    return f" {' '.join(_WORD.findall(str(value).lower()))} "


def _number(value: object) -> float:
    return float(value.replace(",", ".") if isinstance(value, str) else value)  # type: ignore[arg-type]
