"""What a study is: frozen settings in, a table out, a figure and claims from the table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
from numpy.random import Generator

__all__ = ["Claim", "Figure", "Settings", "Study", "Verdict"]

Verdict = Literal["holds", "holds partly", "does not hold"]
Figure = Any
"""A matplotlib figure; matplotlib is optional and imported at first use."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What all settings have: where the randomness starts. Studies add their own."""

    seed: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement that was checked, with its evidence."""

    name: str
    where: str
    """Where the paper, or Levelled, makes it."""
    says: str
    measured: str
    verdict: Verdict
    because: str = ""


@dataclass(frozen=True, slots=True)
class Study:
    """A study as functions of its settings.

    `tasks` lists the parts that can be run apart, by name; `run` runs one of them with a
    generator of its own, so results depend neither on the order nor on the number of workers.
    `figures` are drawn from the table of all parts together, each under its name.
    """

    name: str
    title: str
    presets: Mapping[str, Settings]
    tasks: Callable[[Any], Sequence[str]]
    run: Callable[[Any, str, Generator], pa.Table]
    figures: Callable[[pa.Table, Any], Mapping[str, Figure]]
    claims: Callable[[pa.Table, Any], Sequence[Claim]]
