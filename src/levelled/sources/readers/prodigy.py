"""Data sets of Prodigy (`prodigy db-out`, JSONL) as pools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from levelled.sources.readers.items import Contents, Item, flatten, note_labels

_LABELS = ("label", "accept", "spans", "answer")
_SHOWN = ("text", "html", "image", "audio", "video")


def matches(sample: Mapping[str, Any], *, is_list: bool) -> bool:
    """True for a task with Prodigy's hashes."""
    return is_list and {*sample} >= {"_input_hash", "_task_hash"}


def read(document: Sequence[Mapping[str, Any]], name: str) -> Contents:
    """An item for each task, once if several people or sessions had it."""
    tasks: dict[str, Mapping[str, Any]] = {}
    for row in document:
        tasks.setdefault(str(row.get("_task_hash")), row)
    items = [
        Item(
            key,
            {name: row.get(name) for name in _SHOWN} | flatten(row.get("meta"), "meta"),
            hidden={name: row.get(name) for name in _LABELS},
        )
        for key, row in tasks.items()
    ]
    notes = note_labels(sum("answer" in row for row in tasks.values()), len(tasks))
    if len(tasks) < len(document):
        notes += (f"{len(document)} answers are on {len(tasks)} tasks: each is one item",)
    return Contents(items, "", notes)
