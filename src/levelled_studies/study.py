"""Records of a study: frozen settings in, a table out, figures and claims from the table."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
from numpy.random import Generator

from levelled.errors import LevelledError

__all__ = ["Claim", "Plot", "Resumable", "Row", "Ruling", "Study", "StudyError", "StudySettings"]


class StudyError(LevelledError):
    """A study that does not exist, or results that belong to another one."""


Ruling = Literal["holds", "holds partly", "does not hold", "cannot tell"]
Plot = Any
"""A matplotlib figure; matplotlib is an extra and imported at first use."""
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class StudySettings:
    """Settings that all studies share; each study adds its own."""

    seed: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement that was checked, with its evidence."""

    name: str
    where: str
    """The place in the paper, or in Levelled, that makes the claim."""
    says: str
    measured: str
    verdict: Ruling
    because: str = ""


@dataclass(frozen=True, slots=True)
class Resumable:
    """Parts that take long, and so are saved row by row and shared between studies.

    `steps` yields the rows of a part that come after those it is given, so that an interrupted
    one goes on after its last row, with the same numbers as if nothing had happened. Studies
    with the same `home` use the same trajectories: the name of a part and the settings that
    `made_of` returns determine it, and more may be added at any time. `variant` is the ending of
    the folder for settings that are run beside others. Parts of the same `stream` use the same
    random numbers, so that they can be compared pair by pair. `version` goes up when `steps` gives
    other numbers, so that old parts are not mixed with new ones.
    """

    home: str
    steps: Callable[[Any, str, Generator, Sequence[Row]], Iterator[Row]]
    made_of: Callable[[Any], Mapping[str, object]]
    stream: Callable[[str], str] = lambda task: task
    version: int = 1
    variant: Callable[[Any], str] = lambda settings: ""

    def folder(self, settings: StudySettings) -> str:
        """The name of the folder that parts with these settings are kept in."""
        return self.home + self.variant(settings)


@dataclass(frozen=True, slots=True)
class Study:
    """A study as functions of its settings.

    `tasks` lists the parts that can be run apart, by name; `run` runs one of them with a
    generator of its own, so results depend neither on the order nor on the number of workers.
    `figures` are drawn from the table of all parts together, each under its name; `caption` is
    what goes below all of them, one statement a line. `variant` names the folder of these
    settings where a study has several kinds of results.
    """

    name: str
    title: str
    presets: Mapping[str, StudySettings]
    tasks: Callable[[Any], Sequence[str]]
    run: Callable[[Any, str, Generator], pa.Table] | Resumable
    figures: Callable[[pa.Table, Any], Mapping[str, Plot]]
    claims: Callable[[pa.Table, Any], Sequence[Claim]]
    variant: Callable[[Any], str] = lambda settings: ""
    caption: Callable[[Any], str] = lambda settings: ""
