"""Checks of what labellers are shown, when a campaign is created."""

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path

from levelled.campaigns.records import CampaignSettings
from levelled.campaigns.shown import SIDES, TIE
from levelled.errors import CampaignError
from levelled.labels import list_names
from levelled.sources import Pool
from levelled.sources.content import check_content

__all__ = ["check_folder", "check_guidelines", "check_shown", "open_for_pair"]

_LONGEST_GUIDELINES = 100_000


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


def open_for_pair(
    open_with: Callable[..., Pool], classes: Sequence[str] | None, pair: Sequence[str]
) -> Pool:
    """The pool; where nothing names the classes, those of a pair are its columns and tie."""
    opened = open_with(classes=classes)
    if pair and opened.classes is None:
        return open_with(classes=[*pair, TIE])
    return opened


def check_shown(settings: CampaignSettings, pool: Pool) -> None:
    """Refuse a pair or kinds of content that do not fit the columns that labellers see."""
    columns = [*pool.shown([0])[0]] if len(pool) else []
    check_content(settings.content, columns)
    if settings.pair:
        _check_pair(settings, columns)


def _check_pair(settings: CampaignSettings, columns: Sequence[str]) -> None:
    pair, classes = settings.pair, settings.classes or ()
    if len({*pair}) != 2 or len(pair) != 2:
        raise CampaignError(f"A pair is two columns, such as answer_a,answer_b; it is {[*pair]}.")
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
