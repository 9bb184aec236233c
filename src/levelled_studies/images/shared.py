"""Studies that look at the same trajectories, each at those that go its ways."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import pyarrow as pa

from levelled_studies.images.loop import TRAJECTORIES, Way
from levelled_studies.images.settings import (
    CPU,
    PAPER,
    SMOKE,
    ImageSettings,
    NetworkSettings,
    differences,
)
from levelled_studies.study import Claim, Plot, Study

__all__ = ["DROPOUT", "KL", "WEIGHT_DECAY", "make_study", "small_print", "tasks"]


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


KL, WEIGHT_DECAY, DROPOUT = 0.1, 1e-4, 0.5
"""Values that Table 1 does not give; they are the defaults of `levelled.bayes`."""


def small_print(
    settings: NetworkSettings,
    ways: Iterable[Way],
    *shown: str,
    paper_ran: str,
    paper: NetworkSettings = PAPER,
) -> str:
    """One statement a line: trajectories, what is shown, and every difference from Table 1."""
    ways = list(ways)
    lines = [
        f"{settings.trajectories:,} trajectories ({paper_ran}), seed {settings.seed}.",
        *shown,
        f"Differences from Table 1: {differences(settings, paper)}."
        if differences(settings, paper) != differences(paper, paper)
        else "Everything is as in Table 1.",
        *_tested({way.data for way in ways}),
        *_left_open({way.network for way in ways}),
    ]
    return "\n".join(lines)


def _tested(data: set[str]) -> list[str]:
    balanced = {name for name in data if name.endswith("-balanced")}
    statements = {
        "Test images are in the unbalanced class ratios of the pool, with clean labels.": (
            data - balanced
        ),
        "Test images are of all classes alike, with clean labels.": balanced,
    }
    return [line for line, some in statements.items() if some]


def _left_open(networks: set[str]) -> list[str]:
    """The choices made where the paper leaves something open."""
    lines = []
    if networks - {"dropout"}:
        lines.append(
            f"Where Table 1 gives no value, docs/bayes.md says which was chosen: the KL divergence "
            f"times {KL:g} is divided by the number of labels and not weighted, weight decay is "
            f"{WEIGHT_DECAY:g}."
        )
    if "dropout" in networks:
        lines.append(
            f"MC dropout leaves out channels and hidden units with probability {DROPOUT:g}, other "
            f"ones for each image; it has no KL term, and weight decay is {WEIGHT_DECAY:g}."
        )
    return lines
