"""Exports of Label Studio (JSON) as pools: tasks, with predictions of models as judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from levelled.errors import PoolError
from levelled.sources.readers.items import Contents, Item, as_text, flatten, note_labels, objects


def matches(sample: Mapping[str, Any], *, is_list: bool) -> bool:
    """True for a task of the export JSON, or a row of JSON-MIN."""
    parts = sample.get("annotations", sample.get("predictions"))
    is_task = isinstance(sample.get("data"), Mapping) and isinstance(parts, list)
    return is_list and (is_task or {*sample} >= {"annotation_id", "annotator", "lead_time"})


def read(document: Sequence[Mapping[str, Any]], name: str) -> Contents:
    """An item for each task; predictions of a model version are those of a judge."""
    if not all(isinstance(task.get("data"), Mapping) for task in document):
        raise PoolError(
            f"{name} has tasks without data, like the export JSON-MIN of Label Studio, which mixes "
            f"data and labels: export as JSON instead."
        )
    n_labelled = sum(_given(task) is not None for task in document)
    return Contents([_item(task) for task in document], "", note_labels(n_labelled, len(document)))


def _item(task: Mapping[str, Any]) -> Item:
    verdicts = {
        str(one.get("model_version") or "prediction"): _choice(one.get("result"))
        for one in objects(task.get("predictions"))
    }
    hidden = {"label": _choice(_given(task)), **flatten(task.get("meta"), "meta")}
    return Item(as_text(task.get("id")), {**task["data"]}, verdicts, hidden)


def _given(task: Mapping[str, Any]) -> object:
    """The result of the first person who labelled a task."""
    given = [one for one in objects(task.get("annotations")) if not one.get("was_cancelled")]
    return given[0].get("result") if given else None


def _choice(result: object) -> Any:  # noqa: ANN401
    """The choice or the rating in a result."""
    for part in objects(result):
        value = part.get("value")
        for kind in ("choices", "rating", "number", "labels", "text"):
            if isinstance(value, Mapping) and kind in value:
                given = value[kind]
                return ", ".join(map(str, given)) if isinstance(given, list) else given
    return None
