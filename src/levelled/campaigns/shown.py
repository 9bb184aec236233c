"""Items, questions and labels as labellers see them, who are not told what is behind a pair.

The two columns of a pair are shown as `left` and `right`. Which one is left follows from the seed
of the campaign and the number of the draw alone, so the log need not record it.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from levelled.campaigns.questions import Question
from levelled.campaigns.records import CampaignSettings, DrawnItem
from levelled.metrics.named import Mean, Share
from levelled.sources.content import ShownField, shown_fields

__all__ = [
    "SIDES",
    "TIE",
    "fields_of",
    "label_question",
    "shown_data",
    "shown_label",
    "shown_pair",
    "stored_label",
]

TIE = "tie"
"""The label of a pair of which neither is better."""
SIDES = ("left", "right")
"""The names under which the columns of a pair are shown."""
_MOST_CLASSES = 20
"""Predicted classes up to which a labeller is offered them all."""
_MOST_RATINGS = 20


def shown_pair(settings: CampaignSettings, draw: int) -> tuple[str, ...]:
    """The columns of the pair as they are shown, left and right; empty without a pair."""
    if not settings.pair:
        return ()
    a, b = settings.pair
    order = sha256(f"pair {settings.seed} {draw}".encode()).digest()[0] & 1
    return (b, a) if order else (a, b)


def shown_data(settings: CampaignSettings, item: DrawnItem) -> Mapping[str, Any]:
    """The fields of an item that a labeller sees."""
    if not settings.pair:
        return item.data
    sides = zip(SIDES, shown_pair(settings, item.draw), strict=True)
    rest = {name: value for name, value in item.data.items() if name not in settings.pair}
    return {**rest, **{side: item.data.get(column) for side, column in sides}}


def fields_of(settings: CampaignSettings, data: Mapping[str, Any]) -> list[ShownField]:
    """The fields of an item that was asked for, each with the kind of its content."""
    kinds = {name: kind for name, kind in settings.content.items() if name not in settings.pair}
    for column in settings.pair:
        if column in settings.content:  # both sides look the same, or they could be told apart
            kinds |= dict.fromkeys(SIDES, settings.content[column])
    return shown_fields(data, kinds, has_images=settings.images is not None)


def stored_label(settings: CampaignSettings, draw: int, label: object) -> object:
    """The label that is kept for what a labeller says: the column of the side of a pair."""
    if settings.pair and label in SIDES:
        return shown_pair(settings, draw)[SIDES.index(str(label))]
    return label


def shown_label(settings: CampaignSettings, draw: int, label: object) -> object:
    """The label as its labeller gave it: the side of a pair instead of its column."""
    pair = shown_pair(settings, draw)
    return SIDES[pair.index(str(label))] if label in pair else label


def label_question(settings: CampaignSettings) -> Question:
    """The first question, whose answer is the label that the metrics use."""
    if settings.pair:
        others = tuple(name for name in settings.classes or () if name not in settings.pair)
        return Question("label", "classes", (*SIDES, *others))
    if settings.numeric:
        return _number_question(settings)
    if settings.classes is not None:
        return Question("label", "classes", settings.classes)
    named = {name for counts in settings.pred_counts.values() for name in counts}
    named |= {one.positive for one in settings.metrics if isinstance(one, Share)}
    if not 0 < len(named) <= _MOST_CLASSES:
        return Question("label", "text")
    return Question("label", "classes", tuple(sorted(named)), more=True)


def _number_question(settings: CampaignSettings) -> Question:
    bounds = [one.bounds for one in settings.metrics if isinstance(one, Mean) and one.bounds]
    if not bounds:
        return Question("label", "number")
    low, high = max(low for low, _ in bounds), min(high for _, high in bounds)
    whole = low == int(low) and high == int(high)
    is_rating = whole and 1 < high - low < _MOST_RATINGS  # from 0 to 1 it may be a share
    return Question("label", "rating" if is_rating else "number", low=low, high=high)
