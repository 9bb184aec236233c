"""Exports of doccano (JSONL) as pools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from levelled.sources.readers.items import Contents, Item, as_text, note_labels

_LABELS = ("label", "entities", "relations", "cats")
_COMMENTS = ("Comments", "comments")


def matches(sample: Mapping[str, Any], *, is_list: bool) -> bool:
    """True for a line with a text and a list of labels or entities."""
    has_text = isinstance(sample.get("text", sample.get("data")), str)
    labels = sample.get("label", sample.get("entities"))
    return is_list and "id" in sample and has_text and isinstance(labels, list)


def read(document: Sequence[Mapping[str, Any]], name: str) -> Contents:
    """An item for each text; its other columns are metadata, which are shown."""
    n_labelled = sum(any(row.get(key) for key in _LABELS) for row in document)
    hidden = {"id", *_LABELS, *_COMMENTS}
    items = [
        Item(
            as_text(row.get("id")),
            {key: one for key, one in row.items() if key not in hidden},
            hidden={"label": _only(row.get("label"))},
        )
        for row in document
    ]
    return Contents(items, "", note_labels(n_labelled, len(document)))


def _only(labels: object) -> object:
    """The label of a text that has one, several as JSON."""
    return labels[0] if isinstance(labels, list) and len(labels) == 1 else as_text(labels or None)
