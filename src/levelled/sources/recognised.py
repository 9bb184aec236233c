"""A description of a pool in words: what was recognised in its source, and what a labeller sees."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from levelled.labels import list_names
from levelled.predictions import Categorical, Numbers

_MOST_CLASSES = 8


@dataclass(frozen=True, slots=True)
class Recognised:
    """The tool whose output was recognised, the roles of its columns, and what is hidden.

    `predictions` holds for each model or judge the count of each class, or "low" and "high" of
    its ratings. The model without a name has the empty one.
    """

    reader: str
    tool: str
    n_items: int
    ids: tuple[str | int, ...]
    """The first ids, as examples."""
    predictions: Mapping[str, Mapping[str, float]]
    shown: tuple[str, ...]
    hidden: tuple[str, ...]
    group: str | None = None
    n_groups: int | None = None
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {name: getattr(self, name) for name in self.__slots__}

    def lines(self) -> list[str]:
        """The description, a line for each part."""
        lines = [
            f"recognised: {self.tool}",
            f"items: {self.n_items:,}, with ids such as {list_names(self.ids, 2)}",
        ]
        if self.group is not None:
            lines.append(
                f"groups: {self.n_groups:,} samples with several outputs, each of which is an item "
                f"(column {self.group})"
            )
        for model, counts in self.predictions.items():
            lines.append(f"verdicts of {model}: " if model else "predictions: ")
            lines[-1] += _describe_counts(counts)
        if not self.predictions:
            lines.append("predictions: none")
        lines.append(f"shown to labellers: {', '.join(self.shown) or 'nothing but the id'}")
        lines.append(f"hidden: {', '.join(self.hidden) or 'nothing'}")
        return lines + [f"note: {note}" for note in self.notes]

    def command(self, source: str, options: Sequence[str] = ()) -> str:
        """A command that creates a campaign of this pool."""
        words = ["levelled", "create", "NAME", "--pool", source, *options]
        return shlex.join([*words, "--metric", self.metric])

    @property
    def metric(self) -> str:
        """A metric that goes with the predictions: a share, the error, or a mean."""
        classes = [counts for counts in self.predictions.values() if "low" not in counts]
        if any("pass" in counts for counts in classes):
            return "share:pass"
        return "error" if classes else "mean" if self.predictions else "share:CLASS"


def describe_verdicts(values: Categorical | Numbers) -> dict[str, float]:
    """The count of each class, or the lowest and the highest number.

    >>> describe_verdicts(np.array([3, 1, 5]))
    {'low': 1.0, 'high': 5.0}
    """
    if isinstance(values, Categorical):
        return {name: int(count) for name, count in values.counts().items()}
    return {"low": float(np.min(values)), "high": float(np.max(values))}


def _describe_counts(counts: Mapping[str, float]) -> str:
    if "low" in counts and "high" in counts and len(counts) == 2:
        return f"numbers from {counts['low']:g} to {counts['high']:g}"
    shown = sorted(counts.items(), key=lambda one: -one[1])[:_MOST_CLASSES]
    rest = f", and {len(counts) - len(shown)} more classes" if len(counts) > len(shown) else ""
    return ", ".join(f"{name} {count:,}" for name, count in shown) + rest
