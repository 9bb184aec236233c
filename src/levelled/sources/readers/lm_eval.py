"""Samples of the lm-evaluation-harness (`--log_samples`): JSON lines, one for each document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from levelled.sources.readers.items import Contents, Item, as_text, flatten

_NEEDED = {"doc_id", "doc", "arguments", "filtered_resps"}


def matches(sample: Mapping[str, Any], *, is_list: bool) -> bool:
    """True for a line of a file of samples."""
    return is_list and {*sample} >= _NEEDED


def read(document: Sequence[Mapping[str, Any]], name: str) -> Contents:
    """An item for each document, and for each filter of its output if there are several."""
    filters = dict.fromkeys(as_text(row.get("filter")) for row in document)
    items = [_item(row, several=len(filters) > 1) for row in document]
    return Contents(items, f"filters {', '.join(map(str, filters))}" if len(filters) > 1 else "")


def _item(row: Mapping[str, Any], *, several: bool) -> Item:
    prompts = _prompts(row.get("arguments"))
    choices = [prompt[1] for prompt in prompts if len(prompt) > 1]
    likelihoods = _likelihoods(row.get("filtered_resps"))
    first = row.get("filtered_resps")
    while isinstance(first, list):
        first = first[0] if first else None
    output = as_text(first)
    target = as_text(row.get("target"))
    shown: dict[str, Any] = {"input": as_text(prompts[0][0]) if prompts and prompts[0] else None}
    if len(choices) > 1 and likelihoods is not None and len(likelihoods) == len(choices):
        shown["choices"] = "\n".join(str(one).strip() for one in choices)
        output = str(choices[likelihoods.index(max(likelihoods))]).strip()
        if target is not None and target.isdecimal() and int(target) < len(choices):
            target = str(choices[int(target)]).strip()
    shown |= {"output": output, "target": target}
    names = row.get("metrics")
    names = [one for one in names if isinstance(one, str)] if isinstance(names, list) else []
    verdicts = {metric: row.get(metric) for metric in names}
    hidden = {**flatten(row.get("doc"), "doc"), "filter": as_text(row.get("filter"))}
    document = as_text(row.get("doc_id"))
    name = f"{document}#{row.get('filter')}" if several else document
    return Item(name, shown, verdicts, hidden, group=document if several else None)


def _prompts(arguments: object) -> list[list[Any]]:
    """The arguments of each request: lists, or objects with arg_0, arg_1, ..."""
    several = [*arguments.values()] if isinstance(arguments, Mapping) else arguments
    prompts = several if isinstance(several, list) else []
    return [
        [*one.values()] if isinstance(one, Mapping) else one if isinstance(one, list) else [one]
        for one in prompts
    ]


def _likelihoods(responses: object) -> list[float] | None:
    """The log-likelihoods of choices, whose responses are pairs of it and whether it is greedy."""
    try:
        return [float(one[0]) for one in responses if len(one) == 2]  # type: ignore[attr-defined]
    except (TypeError, ValueError, KeyError, IndexError):
        return None
