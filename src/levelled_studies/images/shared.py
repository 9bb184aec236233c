"""Studies that look at the same trajectories, each at those that go its ways."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import pyarrow as pa

from levelled_studies.images.loop import TRAJECTORIES, Way
from levelled_studies.images.settings import CPU, PAPER, SMOKE, ImageSettings
from levelled_studies.study import Claim, Figure, Study

__all__ = ["shared", "tasks"]


def tasks(ways: Iterable[Way], settings: ImageSettings) -> list[str]:
    """The names of all trajectories that go these ways."""
    return [way.task(number) for way in ways for number in range(settings.trajectories)]


def shared(
    name: str,
    title: str,
    ways: Iterable[Way],
    figures: Callable[[pa.Table, ImageSettings], Mapping[str, Figure]],
    claims: Callable[[pa.Table, ImageSettings], Sequence[Claim]],
    caption: Callable[[ImageSettings], str],
) -> Study:
    """A study of trajectories that go these ways, at the three sizes."""
    ways = tuple(ways)
    return Study(
        name=name,
        title=title,
        presets={"smoke": SMOKE, "cpu": CPU, "paper": PAPER},
        tasks=lambda settings: tasks(ways, settings),
        run=TRAJECTORIES,
        figures=figures,
        claims=claims,
        caption=caption,
    )
