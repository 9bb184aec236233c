"""Items, questions and labels as labellers see them, who are not told what is behind a pair.

The two columns of a pair are shown as `left` and `right`. Which one is left follows from the seed
of the campaign and the number of the draw alone, so the log need not record it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from levelled.campaigns.log.records import DrawnItem
from levelled.campaigns.settings import CampaignSettings, Question
from levelled.errors import CampaignError
from levelled.labels import is_number, list_names, refuse_mixed_words, with_opposite
from levelled.sources.content import ShownField, check_content, shown_fields

if TYPE_CHECKING:
    from levelled.sources import Pool

TIE = "tie"
"""The label of a pair of which neither is better."""
SIDES = ("left", "right")
"""The names under which the columns of a pair are shown."""
_MOST_CLASSES = 20
"""Predicted classes up to which a labeller is offered them all."""
_MOST_LABELS, _FEW_LABELS = 1000, 50
"""More classes than this, or more than this and than half of the items, are free text."""
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
    """The fields that a labeller sees, in the order chosen by `show`, else by name as in logs."""
    chosen = {name: at for at, name in enumerate(settings.columns.show or ())}
    names = sorted(item.data, key=lambda name: (chosen.get(name, len(chosen)), name))
    data = {name: item.data[name] for name in names if name not in settings.pair}
    sides = zip(SIDES, shown_pair(settings, item.draw), strict=False)
    return {**data, **{side: item.data.get(column) for side, column in sides}}


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
    named = settings.label_classes or named_labels(settings)
    if settings.classes is None and not 0 < len(named) <= _MOST_CLASSES:
        return Question("label", "text")
    return Question("label", "classes", named, more=not settings.label_classes)


def named_labels(settings: CampaignSettings) -> tuple[str, ...]:
    """The classes of metrics and predictions; ratings are none where another predicts words."""
    by_model = [{*counts} for counts in settings.pred_counts.values()]
    words = [names for names in by_model if not all(map(is_number, names))]
    positive = {one.positive for one in settings.label_checks if one.positive}
    names = positive.union(*(words or by_model))
    return tuple(sorted(names, key=float) if all(map(is_number, names)) else sorted(names))


def fix_labels(settings: CampaignSettings, *, is_open: bool) -> CampaignSettings:
    """The settings with the classes that labels may be; refuses a pool that does not name them."""
    if settings.classes is not None and is_open:
        raise CampaignError(
            f"The classes are {list_names(settings.classes, 12)}, by --classes or by the columns "
            f"of probabilities, and no label outside has a loss: leave --open-classes out."
        )
    by_word: dict[str, str] = {}
    for name in (*(settings.classes or ()), *named_labels(settings)):
        other = by_word.setdefault(name.strip().casefold(), name)
        if settings.normalise and other != name:
            raise CampaignError(
                f"The classes {other!r} and {name!r} differ only in capitals or blanks, which "
                f"normalise ignores: leave it out, or write them the same way in the pool."
            )
    of_classes = any(one.label_kind == "class" for one in settings.metrics)
    if settings.classes is not None or settings.numeric or not of_classes:
        return settings
    if is_open:
        return replace(settings, allowed_labels=())
    names, N = with_opposite(named_labels(settings)), settings.pool_size
    predicted = {name for counts in settings.pred_counts.values() for name in counts}
    n, unknown = len(names), {one.positive for one in settings.metrics if one.positive} - predicted
    why = ""
    if n > _MOST_LABELS or _FEW_LABELS < n > N / 2:
        why = f"{n:,} classes are predicted for {N:,} items; quantities need mse or mae"
    elif n < 2:
        why = f"The pool names {f'only the class {names[0]!r}' if names else 'no class'}"
    elif len(predicted) > 1 and unknown:
        near = get_close_matches(min(unknown).casefold(), predicted, 1)
        listed = list_names(sorted(predicted), 12)
        why = f"The class {min(unknown)!r} is none of those predicted, {listed}"
        why += f"; did you mean {near[0]!r}?" if near else ""
    if why:
        raise CampaignError(
            f"{why}, and labels must be known classes: name all with --classes A,B,... (classes=), "
            f"or take any label with --open-classes (open_classes=True)."
        )
    if any(one.needs != "label" for one in settings.metrics):
        refuse_mixed_words(sorted(predicted))
    return replace(settings, allowed_labels=names)


def _number_question(settings: CampaignSettings) -> Question:
    bounds = [one.bounds for one in settings.label_checks if one.needs == "label" and one.bounds]
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
