"""Predictions that are added to a campaign later, and where its files lie."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from levelled._check import FloatArray
from levelled.campaigns.drawing.drawing import as_labels, draw_next
from levelled.campaigns.drawing.pools import RecordedFile
from levelled.campaigns.log.events import Drawn, Event, PredictionsAttached, RoundBegun
from levelled.campaigns.log.records import Attached, DrawnItem
from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.settings import CampaignSettings
from levelled.errors import CampaignError, PoolError
from levelled.sources import Pool


def place_of(pool: Pool) -> str | list[str] | None:
    """The full path of a pool, or paths; None for a frame in memory."""
    if pool.source is None:
        return None
    if isinstance(pool.source, str):
        return str(Path(pool.source).absolute())
    return [str(Path(path).absolute()) for path in pool.source]


def attach_event(
    settings: CampaignSettings,
    items: Sequence[DrawnItem],
    predictions: Pool,
    model: str,
    *,
    at: str,
) -> PredictionsAttached:
    """The event that adds the predictions of `model` for the drawn items.

    The draws did not depend on the model, so its losses are weighted without bias.
    """
    _check_model(settings, predictions, model)
    predicted = predictions.predictions()
    for metric in settings.metrics:
        metric.require(predicted)
    try:
        rows = predictions.rows_of([item.id for item in items])
    except PoolError as wrong:
        raise CampaignError(
            f"{wrong} {model!r} needs a prediction for every item that is drawn: attach it from a "
            f"file with all of them."
        ) from wrong
    pred = predicted.of(rows)
    proba: list[list[float]] = []
    if predicted.proba is not None:
        classes = predictions.classes
        order = [] if classes is None else [classes.index(one) for one in settings.classes or ()]
        proba = predicted.proba[rows][:, order].tolist()
    return PredictionsAttached(
        at=at,
        by=None,
        model=model,
        source=place_of(predictions),
        fingerprint=predictions.fingerprint,
        pred_counts=predicted.counts() if len(predictions) == settings.pool_size else {},
        pred=_by_draw(items, [] if pred is None else as_labels(pred, settings)),
        proba=_by_draw(items, map(tuple, proba)),
    )


def draw_events(pool: Pool, state: CampaignState, needed: int, *, at: str) -> list[Event]:
    """The events of further draws up to number `needed`, with the predictions attached by then."""
    begun, items = draw_next(pool, state, needed)
    events: list[Event] = [] if begun is None else [RoundBegun.of(begun, at=at)]
    events.append(Drawn(at=at, by=None, draws=tuple(items)))
    for model, attached in state.attached.items():
        predictions = _open_attached(state.settings, model, attached)
        events.append(attach_event(state.settings, items, predictions, model, at=at))
    return events


def predicted_numbers(
    state: CampaignState, open_pool: Callable[[], Pool], model: str
) -> FloatArray:
    """The numbers that a model of the pool, or one attached later, predicts for the whole pool."""
    pool, later = open_pool(), state.attached.get(model)
    source = pool if later is None else _open_attached(state.settings, model, later)
    number = (source.predictions(model) if later is None else source.predictions()).number
    if number is None:
        raise CampaignError(f"The model {model or 'first'!r} does not predict numbers.")
    rows = slice(None) if later is None else source.rows_of(pool.ids(range(len(pool))))
    return np.asarray(number, dtype=np.float64)[rows]


def check_model_name(model: str) -> None:
    """Refuse a text that cannot name a model."""
    if not model or not model.isprintable() or len(model) > 100:
        raise CampaignError(f"{model!r} is no name for a model: give it a short printable one.")


def _open_attached(settings: CampaignSettings, model: str, attached: Attached) -> Pool:
    """The file of a model that was attached, for items other than those drawn then."""
    recorded = RecordedFile(
        f"The table of predictions of {model!r}",
        attached.source,
        attached.fingerprint,
        f"New items need theirs: attach {model!r} again from its file, or under a new name.",
    )
    return recorded.open(classes=settings.classes)


def _check_model(settings: CampaignSettings, predictions: Pool, model: str) -> None:
    check_model_name(model)
    if model in map(settings.shown_name, settings.models):
        raise CampaignError(
            f"The pool of {settings.name!r} has predictions of {model!r} already: choose another "
            f"name."
        )
    if predictions.classes is not None and settings.classes is not None:
        unknown = set(predictions.classes) ^ set(settings.classes)
        if unknown:
            raise CampaignError(
                f"The classes of these predictions are not those of {settings.name!r}: they "
                f"differ in {', '.join(sorted(unknown))}."
            )


def _by_draw(items: Sequence[DrawnItem], values: Iterable[Any]) -> dict[int, Any]:
    return {item.draw: value for item, value in zip(items, values, strict=False)}
