"""A model that came later, judged by the labels that are there already.

The draws did not depend on it, so its losses are weighted without bias like any other's.
"""

from collections.abc import Sequence
from typing import Any

from levelled.campaigns.drawing import as_label, place_of
from levelled.campaigns.records import CampaignSettings, DrawnItem, Event
from levelled.errors import CampaignError
from levelled.metrics.named import parse_metric
from levelled.sources import Pool

__all__ = ["attached"]


def attached(
    settings: CampaignSettings,
    items: Sequence[DrawnItem],
    predictions: Pool,
    model: str,
    *,
    at: str,
) -> Event:
    """The event that attaches the predictions of `model` for the drawn items."""
    if not model or not model.isprintable() or len(model) > 100:
        raise CampaignError(f"{model!r} is no name for a model: give it a short printable one.")
    if model in settings.models:
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
    name = predictions.models[0] if predictions.models else ""
    for metric in settings.metrics:
        parse_metric(metric).require(predictions.predictions(name))
    rows = predictions.rows_of([item.id for item in items])
    said = predictions.predictions(name)
    pred, proba = said.of(rows), None if said.proba is None else said.proba[rows]
    order = _order(settings, predictions)
    return {
        "type": "attached",
        "at": at,
        "by": None,
        "model": model,
        "source": place_of(predictions),
        "fingerprint": predictions.fingerprint,
        "pred_counts": said.counts() if len(predictions) == settings.pool_size else {},
        "pred": _by_draw(items, [] if pred is None else [as_label(one, settings) for one in pred]),
        "proba": _by_draw(
            items, [] if proba is None else [[float(p[c]) for c in order] for p in proba]
        ),
    }


def _order(settings: CampaignSettings, predictions: Pool) -> list[int]:
    """The columns of the new probabilities in the campaign's order of classes."""
    if predictions.classes is None or settings.classes is None:
        return []
    return [predictions.classes.index(name) for name in settings.classes]


def _by_draw(items: Sequence[DrawnItem], values: Sequence[Any]) -> dict[str, Any]:
    return {str(item.draw): value for item, value in zip(items, values, strict=False)}
