"""The rules of a campaign that several steps share: labels, texts, names, leases."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from levelled._check import whole
from levelled.campaigns.log.records import DrawnItem
from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.settings import CampaignSettings
from levelled.errors import CampaignError
from levelled.labels import Label
from levelled.metrics.named import Metric
from levelled.metrics.planning import check_range

_LONGEST = 1000
"""Characters of a label, a reason or a name in the log."""


def find_draw(
    state: CampaignState,
    *,
    draw: int | None = None,
    id: str | int | None = None,  # noqa: A002
) -> DrawnItem:
    """The item that was asked for under this number or id; refuses any other."""
    if draw is None and id is None:
        raise CampaignError("A label needs the number of its draw, or the id of its item.")
    if draw is None:
        draw = state.draw_of.get(str(id), 0)
        name = f"Item {id!r}"
    else:
        draw = whole("draw", draw, least=1)
        name = f"Draw {draw}"
        if id is not None and state.draw_of.get(str(id)) != draw:
            raise CampaignError(f"Draw {draw} is not item {id!r}: one of the two is mistaken.")
    for reason in why_not_asked(state, draw, name):
        raise CampaignError(reason)
    return state.draws[draw - 1]


def check_labels(settings: CampaignSettings, labels: Sequence[object]) -> list[Label]:
    """Labels as the campaign keeps them: names of classes, or numbers."""
    if any(label is None or str(label).strip() == "" for label in labels):
        raise CampaignError(
            "An empty label is no answer: skip the item, or mark it as unlabelable."
        )
    for label in labels:
        check_text("A label", label if isinstance(label, str) else None)
    for metric in settings.label_checks:  # a label that one metric refuses could not be used
        labels = metric.labels(labels, settings.classes)
    if settings.classes is None:
        _refuse_near_misses(settings, labels)
    return [label if isinstance(label, float) else str(label) for label in labels]


def _refuse_near_misses(settings: CampaignSettings, labels: Sequence[object]) -> None:
    """Refuse a label that is a predicted class but for capitals or blanks around it."""
    predicted = {name for counts in settings.pred_counts.values() for name in counts}
    plain = {name.strip().casefold(): name for name in predicted}
    for label in labels:
        if isinstance(label, str) and label not in predicted:
            near = plain.get(label.strip().casefold())
            if near is not None:
                raise CampaignError(
                    f"The label {label!r} differs from the predicted class {near!r} only in "
                    f"capitals or blanks, and would count as an error: write {near!r}."
                )


def check_width(metric: Metric, width: float | None) -> float | None:
    """A target width; refused if it is reached anyway, or for a metric that cannot be watched."""
    if width is None:
        return None
    if metric.interval != "betting":
        raise CampaignError(
            f"A target width needs an interval that is valid whenever one stops, and "
            f"{metric.name} has only an asymptotic one. Declare a bound, for example "
            f"log_loss:10, or fix the budget instead."
        )
    return check_range("target_width", metric, width)


def check_text(name: str, text: str | None) -> None:
    """Refuse text that is too long for the log."""
    if text is not None and len(text) > _LONGEST:
        raise CampaignError(
            f"{name} has {len(text):,} characters, and at most {_LONGEST:,} are kept: shorten it."
        )


def check_owner(owner: str | None) -> None:
    """Refuse a name that looks like another labeller's, or is too long."""
    check_text("The name of the owner", owner)
    if owner is not None and not (owner and owner.isprintable() and owner == owner.strip()):
        raise CampaignError(
            f"{owner!r} is no name of a labeller: printable characters, without blanks at the ends."
        )


def why_closed(state: CampaignState) -> Iterator[str]:
    """The reason why a closed campaign does not take a step."""
    if state.closed is not None:
        name = state.settings.name
        yield f"{name!r} is closed ({state.closed}). To go on: levelled reopen {name}"


def refuse_closed(state: CampaignState) -> None:
    """Refuse a step that a closed campaign does not take."""
    for reason in why_closed(state):
        raise CampaignError(reason)


def why_not_asked(state: CampaignState, draw: int, name: str | None = None) -> Iterator[str]:
    """The reason why there can be no label of this draw, under this name of it."""
    if not 1 <= draw <= state.n_asked:
        yield (
            f"{name or f'Draw {draw}'} was never asked in {state.settings.name!r}. A label the "
            f"sampler did not choose has no probability and cannot be weighted."
        )


def why_settled(state: CampaignState, draw: int) -> Iterator[str]:
    """The reason why a draw is not open."""
    if draw in state.answers:
        yield f"Draw {draw} has an answer already: amend it instead."
    elif draw in state.unlabelable:
        yield f"Draw {draw} is already marked as unlabelable."


def check_name(name: str) -> str:
    """The name of a campaign; refuses one that cannot be typed or would be misread."""
    if not name or len(name) > 100 or not name.isprintable() or "/" in name or name != name.strip():
        raise CampaignError(
            f"{name!r} is no name for a campaign: up to 100 printable characters, without a slash "
            f"and without blanks at the ends."
        )
    return name


def lease_end(state: CampaignState, now: datetime, seconds: int | None = None) -> str:
    """The time until which an item that is handed out now is kept for its owner.

    It is kept for the time that the campaign says, or for fewer `seconds`.
    """
    most = state.settings.lease_seconds
    end = now + timedelta(seconds=most if seconds is None else min(seconds, most))
    return end.isoformat(timespec="seconds")


def name_owner(owner: str | None) -> str:
    """The owner in a sentence; one without a name is addressed as you."""
    return "you" if owner is None else owner
