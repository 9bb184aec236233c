"""Studies that look at the same trajectories, each at those that go its ways."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import pyarrow as pa

from levelled_studies.images.loop import TRAJECTORIES, Way
from levelled_studies.images.networks import n_weights
from levelled_studies.images.settings import CPU, FULL, PAPER, SMOKE, ImageSettings, NetworkSettings
from levelled_studies.study import Claim, Plot, Study

__all__ = ["make_study", "small_print", "tasks"]


def tasks(ways: Iterable[Way], settings: ImageSettings) -> list[str]:
    """The names of all trajectories that go these ways."""
    return [way.task(number) for way in ways for number in range(settings.trajectories)]


def make_study(
    name: str,
    title: str,
    ways: Iterable[Way],
    figures: Callable[[pa.Table, ImageSettings], Mapping[str, Plot]],
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


def small_print(settings: NetworkSettings, ways: Iterable[Way], *shown: str, paper_ran: str) -> str:
    """One statement a line: trajectories and sizes of images and networks, then what is shown."""
    kinds = dict.fromkeys(way.network for way in ways)
    paper = "" if settings.size == FULL else f" (the paper: {_size(kinds, FULL)})"
    first = (
        f"{settings.trajectories:,} trajectories ({paper_ran}), seed {settings.seed}; "
        f"{_size(kinds, settings.size)}{paper}."
    )
    return "\n".join([first, *shown])


def _size(kinds: Iterable[str], size: int) -> str:
    weights = [f"{n_weights(kind, size):,} weights" for kind in kinds if kind != "mlp"][:1]
    weights += [f"{n_weights(kind, size):,} weights of the MLP" for kind in kinds if kind == "mlp"]
    return f"{size} x {size} pixels, {', '.join(weights)}"
