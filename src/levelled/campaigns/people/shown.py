"""Items, questions and labels as labellers see them, who are not told what is behind a pair.

The two columns of a pair are shown as `left` and `right`. Which one is left follows from the seed
of the campaign and the number of the draw alone, so the log need not record it.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from levelled.campaigns.log.records import DrawnItem
from levelled.campaigns.settings import CampaignSettings, Question
from levelled.errors import CampaignError
from levelled.labels import list_names
from levelled.sources.content import ShownField, check_content, shown_fields

if TYPE_CHECKING:
    from levelled.sources import Pool

TIE = "tie"
"""The label of a pair of which neither is better."""
SIDES = ("left", "right")
"""The names under which the columns of a pair are shown."""
_MOST_CLASSES = 20
"""Predicted classes up to which a labeller is offered them all."""
_MOST_RATINGS = 20
_LONGEST_GUIDELINES = 100_000


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
    counted = {one.positive for one in settings.metrics if one.needs == "label" and one.positive}
    named = _verdicts(settings) | counted
    if not 0 < len(named) <= _MOST_CLASSES:
        return Question("label", "text")
    return Question("label", "classes", tuple(sorted(named)), more=True)


def _verdicts(settings: CampaignSettings) -> set[str]:
    """The classes that models predict; ratings are none where another model predicts words."""
    by_model = [{*counts} for counts in settings.pred_counts.values()]
    words = [names for names in by_model if not all(map(_is_number, names))]
    return set().union(*(words or by_model))


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _number_question(settings: CampaignSettings) -> Question:
    bounds = [one.bounds for one in settings.metrics if one.needs == "label" and one.bounds]
    if not bounds:
        return Question("label", "number")
    low, high = max(low for low, _ in bounds), min(high for _, high in bounds)
    whole = low == int(low) and high == int(high)
    is_rating = whole and 1 < high - low < _MOST_RATINGS  # from 0 to 1 it may be a share
    return Question("label", "rating" if is_rating else "number", low=low, high=high)


def check_guidelines(text: str) -> str:
    """Guidelines in Markdown; refuses more than the log should hold."""
    if not isinstance(text, str):
        raise CampaignError(f"Guidelines are text in Markdown; {text!r:.80} is none.")
    if len(text) > _LONGEST_GUIDELINES:
        raise CampaignError(
            f"The guidelines have {len(text):,} characters, and at most {_LONGEST_GUIDELINES:,} "
            f"are kept: shorten them, or link to a longer text."
        )
    return text


def check_folder(folder: str | PathLike[str]) -> str:
    """The absolute path of the folder of images."""
    path = Path(folder)
    if not path.is_dir():
        raise CampaignError(f"There is no folder {str(folder)!r} of images.")
    return str(path.resolve())


def check_shown(settings: CampaignSettings, pool: "Pool") -> None:
    """Refuse a pair or kinds of content that do not fit the columns that labellers see."""
    columns = [*pool.shown([0])[0]] if len(pool) else []
    check_content(settings.content, columns)
    if settings.pair:
        _check_pair(settings, columns)


def refuse_no_pair(pair: Sequence[str]) -> None:
    """Refuse a pair that is not two columns."""
    if len({*pair}) != 2 or len(pair) != 2:
        raise CampaignError(f"A pair is two columns, such as answer_a,answer_b; it is {[*pair]}.")


def _check_pair(settings: CampaignSettings, columns: Sequence[str]) -> None:
    pair, classes = settings.pair, settings.classes or ()
    refuse_no_pair(pair)
    for column in pair:
        if column not in columns:
            raise CampaignError(
                f"There is no column {column!r} for the pair; labellers see "
                f"{list_names(columns, 12) or 'none'}."
            )
    taken = [
        name for name in (*columns, *(one.name for one in settings.questions)) if name in SIDES
    ]
    if taken:
        raise CampaignError(
            f"A pair is shown as left and right, and there is a column or question {taken[0]!r}: "
            f"rename it."
        )
    if settings.numeric or not {*pair} <= {*classes}:
        raise CampaignError(
            f"The label of a pair is {pair[0]!r}, {pair[1]!r} or {TIE!r}, so these must be the "
            f"classes, and the metric one of classes, such as share:{pair[0]}. The classes are "
            f"{list_names(classes, 12) or 'none'}."
        )
