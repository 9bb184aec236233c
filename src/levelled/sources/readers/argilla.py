"""Records of Argilla 2 (`dataset.records.to_json`) as pools, with suggestions as judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from levelled.sources.readers.items import (
    Contents,
    Item,
    as_object,
    as_text,
    flatten,
    note_labels,
    objects,
)


def matches(sample: Mapping[str, Any], *, is_list: bool) -> bool:
    """True for a record."""
    return is_list and isinstance(sample.get("fields"), Mapping) and "responses" in sample


def read(document: Sequence[Mapping[str, Any]], name: str) -> Contents:
    """An item for each record; suggestions for a question are the verdicts of a judge."""
    items = [_item(record) for record in document]
    counts = Counter(column for item in items for column in item.hidden if "label@" in column)
    notes = [note_labels(count, len(items), column) for column, count in counts.items()]
    return Contents(items, "", tuple(chain.from_iterable(notes)))


def _item(record: Mapping[str, Any]) -> Item:
    verdicts = {
        question: given.get("value") if isinstance(given, Mapping) else given
        for question, given in as_object(record.get("suggestions")).items()
    }
    return Item(
        as_text(record.get("id")),
        {name: _text(value) for name, value in as_object(record.get("fields")).items()},
        verdicts,
        {**_labels(record.get("responses")), **flatten(record.get("metadata"), "metadata")},
    )


def _labels(responses: object) -> dict[str, Any]:
    """The first response to each question."""
    return {
        f"label@{question}": answers[0].get("value")
        for question, given in as_object(responses).items()
        if (answers := objects(given))
    }


def _text(value: object) -> object:
    """A field; that of a chat in lines of who said what."""
    turns = objects(value)
    if not turns:
        return value
    return "\n".join(f"{turn.get('role')}: {turn.get('content')}" for turn in turns)
