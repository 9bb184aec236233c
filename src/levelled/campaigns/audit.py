"""The audit of a campaign: draws, probabilities and figures recomputed from log and pool."""

from collections.abc import Callable, Iterator, Sequence

from levelled.campaigns.drawing import draw_again
from levelled.campaigns.figures import estimate_figures
from levelled.campaigns.hashing import StoredEvent, verify
from levelled.campaigns.records import CampaignSettings, DrawnItem
from levelled.campaigns.settled import FigureCache
from levelled.campaigns.state import CampaignState, apply_events
from levelled.errors import LevelledError
from levelled.metrics.figure import Figure
from levelled.sources import Pool

__all__ = ["find_differences"]

_CLOSE = 1e-12
"""The relative rounding error allowed between machines."""


def find_differences(
    events: Sequence[StoredEvent],
    pool_at: Callable[[CampaignState, int], Pool],
    estimate: Callable[[], Sequence[Figure]],
) -> list[str]:
    """Each difference between a campaign and its log in a line; none if all is well.

    Checks the chain of hashes, then the draws with their probabilities, which follow from the
    rounds on record, the seed and the pool as it was at each draw (`pool_at`), then the figures
    that `estimate` gives, which follow from the log.
    """
    broken = verify(events)
    if broken is not None:
        return [f"event {broken.seq}: {broken.because}"]
    created = apply_events([events[0].event]).settings
    state = apply_events(stored.event for stored in events)
    return [*_compare_draws(state, created, pool_at), *_compare_figures(state, estimate)]


def _compare_draws(
    state: CampaignState,
    created: CampaignSettings,
    pool_at: Callable[[CampaignState, int], Pool],
) -> Iterator[str]:
    rows = [item.row for item in state.draws]
    try:
        rounds = [(one, pool_at(state, one.first)) for one in state.rounds]
        items = draw_again(pool_at(state, 1), created, rows, len(rows), rounds)
    except LevelledError as wrong:
        yield str(wrong)
        return
    for item, expected in zip(state.draws, items, strict=True):
        difference = _compare_items(item, expected)
        if difference is not None:
            yield f"draw {item.draw}: {difference}"


def _compare_items(item: DrawnItem, expected: DrawnItem) -> str | None:
    if (item.row, item.id) != (expected.row, expected.id):
        return f"{item.id!r} is on record, the pool gives {expected.id!r}"
    if not _same(item.probability, expected.probability):
        return (
            f"probability {item.probability!r} is on record, the pool gives "
            f"{expected.probability!r}"
        )
    if any(not _same(item.design[name], value) for name, value in expected.design.items()):
        return "its design columns differ from what the pool gives"
    if item.pred != expected.pred or item.slices != expected.slices:
        return "its predictions or slices differ from what the pool gives"
    if item.proba != expected.proba:
        return "its probabilities of the classes differ from the pool's"
    return None


def _compare_figures(
    state: CampaignState, estimate: Callable[[], Sequence[Figure]]
) -> Iterator[str]:
    try:
        recomputed = estimate_figures(state, FigureCache())
        shown = estimate()
    except LevelledError as wrong:
        yield f"no figures can be made from this log: {wrong}"
        return
    for figure, expected in zip(shown, recomputed, strict=True):
        ours, theirs = (
            (one.estimate.value, one.estimate.low, one.estimate.high) for one in (figure, expected)
        )
        if not all(_same(a, b) for a, b in zip(ours, theirs, strict=True)):
            yield f"{figure.name}: the campaign gives {ours}, its log gives {theirs}"


def _same(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return a is b
    return a == b or abs(a - b) <= _CLOSE * max(abs(a), abs(b))
