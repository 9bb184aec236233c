"""A metric by its name, as a campaign writes it down.

    error  accuracy                    of predicted classes
    log_loss  log_loss:CAP  brier      of predicted probabilities
    mse  mae                           of predicted numbers
    mean  mean:LOW:HIGH  share:CLASS   of the label itself
    precision:CLASS  recall:CLASS  f1:CLASS
    package.module:function            your own: function(labels, predictions) -> losses

Classes are text: 1, 1.0 and "1" are the same class.
"""

import difflib
import importlib
from collections.abc import Callable, Sequence
from functools import partial

from levelled._check import between
from levelled.errors import InputError
from levelled.estimators.intervals.logical import checked_pair
from levelled.metrics.class_ratio import ClassRatio
from levelled.metrics.classes import check_class, class_text
from levelled.metrics.kinds import Errors, Mean, NumberLosses, ProbabilityLosses, Share
from levelled.metrics.labelled import is_number
from levelled.metrics.metric import Metric
from levelled.metrics.own import OwnLosses, one_line

__all__ = ["NAMES", "parse"]

NAMES = (
    "error",
    "accuracy",
    "log_loss",
    "log_loss:CAP",
    "brier",
    "mse",
    "mae",
    "mean",
    "mean:LOW:HIGH",
    "share:CLASS",
    "precision:CLASS",
    "recall:CLASS",
    "f1:CLASS",
    "package.module:function",
)
"""What `parse` understands."""

_PLAIN: dict[str, Metric] = {
    "error": Errors(name="error"),
    "accuracy": Errors(name="accuracy", complemented=True, higher_is_better=True),
    "log_loss": ProbabilityLosses(name="log_loss", base="log_loss"),
    "brier": ProbabilityLosses(name="brier", base="brier", bounds=(0.0, 2.0)),
    "mse": NumberLosses(name="mse", base="mse"),
    "mae": NumberLosses(name="mae", base="mae"),
    "mean": Mean(name="mean"),
}
"""Metrics whose name says everything."""

_OF_CLASS: dict[str, Callable[..., Metric]] = {
    "share": Share,
    "precision": partial(ClassRatio, base="precision", d_max=1.0),
    "recall": partial(ClassRatio, base="recall", d_max=1.0),
    "f1": partial(ClassRatio, base="f1", d_max=2.0),
}
"""Metrics that are about one class."""


def parse(name: str, *, classes: Sequence[str] | None = None) -> Metric:
    """The metric of this name, one of `NAMES`; `classes` are those it may be about.

    A function of your own may have the attributes `bounds`, the least and the largest loss,
    without which only an asymptotic interval may be watched, and `higher_is_better`.

    >>> parse("f1:spam").needs, parse("log_loss:10").bounds, parse("accuracy").interval
    ('pred', (0.0, 10.0), 'betting')
    """
    name = str(name).strip()
    head, colon, rest = name.partition(":")
    if head in _PLAIN and not colon:
        return _PLAIN[head]
    if head in _OF_CLASS:
        return _of_class(name, head, rest, classes)
    if head == "log_loss":
        cap = between(f"The cap of {name}", _part_number(name, rest), 0, 1000, open_=True)
        return ProbabilityLosses(name=name, base="log_loss", bounds=(0.0, cap), cap=cap)
    if head == "mean":
        low, _, high = rest.partition(":")
        bounds = checked_pair((_part_number(name, low), _part_number(name, high)))
        return Mean(name=name, bounds=bounds)
    if head in _PLAIN:
        raise InputError(f"{head} takes nothing after a colon; write {head} instead of {name!r}.")
    if colon:
        return _of_function(name, head, rest)
    raise _unknown(name)


def _of_class(name: str, head: str, about: str, classes: Sequence[str] | None) -> Metric:
    if not about:
        raise InputError(f"{head} is about one class: write {head}:CLASS, for example {head}:spam.")
    positive = class_text(about)
    if classes is not None:
        check_class(positive, classes)
    return _OF_CLASS[head](name=name, positive=positive)


def _of_function(name: str, module: str, attribute: str) -> Metric:
    """Somebody's own loss, with what it declares about itself."""
    try:
        found = getattr(importlib.import_module(module), attribute)
    except Exception as wrong:  # somebody else's module may raise anything
        if isinstance(wrong, ModuleNotFoundError) and "." not in module:
            raise _unknown(name) from wrong
        raise InputError(
            f"The function {name} cannot be imported ({one_line(wrong)}). Install its package, or "
            f"put its folder on PYTHONPATH."
        ) from wrong
    if not callable(found):
        raise InputError(f"{name} is a {type(found).__name__}, not a function of labels, pred.")
    bounds = getattr(found, "bounds", None)
    return OwnLosses(
        name=name,
        bounds=None if bounds is None else checked_pair(bounds),
        higher_is_better=bool(getattr(found, "higher_is_better", False)),
        function=found,
    )


def _part_number(name: str, text: str) -> float:
    if not is_number(text):
        raise InputError(
            f"{name!r} must hold numbers after the colon, as in log_loss:10 or mean:1:5."
        )
    return float(text)


def _unknown(name: str) -> InputError:
    head = name.partition(":")[0]
    near = difflib.get_close_matches(head, [known.partition(":")[0] for known in NAMES], n=1)
    told = f" Did you mean {near[0]}?" if near else ""
    return InputError(f"There is no metric {name!r}.{told} Metrics are {', '.join(NAMES)}.")
